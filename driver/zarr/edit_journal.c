#include "zarr/edit_journal.h"

#include <stdlib.h>
#include <string.h>

#include "zarr/document.h"
#include "zarr/hierarchy_private.h"

/* ---- Storing ---- */

static enum zs_status put_json(struct zs_store *store, const zs_json *json, struct zs_error *err)
{
    char *key = zs_journal_key("zarr.json");
    char *text = json != NULL ? zs_json_print(json) : NULL;
    enum zs_status status = key != NULL && text != NULL ? ZS_OK : zs_fail_memory(err);
    if (status == ZS_OK && strlen(text) <= ZS_JSON_MAX_BYTES) /* a longer journal could not be read */
        status = zs_store_put(store, key, text, strlen(text), err);
    free(key);
    free(text);
    return status;
}

enum zs_status zs_edit_journal_remove(struct zs_store *store, struct zs_error *err)
{
    char *key = zs_journal_key("zarr.json");
    const enum zs_status status = key != NULL ? zs_store_remove(store, key, err) : zs_fail_memory(err);
    free(key);
    return status;
}

void zs_edit_journal_clear(struct zs_edit_journal *journal)
{
    zs_json_free(journal->json);
    *journal = (struct zs_edit_journal){0};
}

/* ---- What a flush is about to do ---- */

/* How many changes of each kind a flush writes. */
struct change_counts {
    size_t edits;      /* of stored documents, among them: */
    size_t structural; /* ... of more than attributes */
    size_t listed;     /* ... of nodes that consolidated metadata list, too */
    size_t added, removed;
};

/* Whether a change edits a document that is there, or replaces it. */
static bool is_edit(const struct zs_change *change)
{
    return change->kind == ZS_CHANGE_EDIT && (!change->may_be_gone || change->replaced != NULL);
}

static bool is_structural(const struct zs_change *change, const struct zs_node *node)
{
    return is_edit(change) && zs_change_is_structural(change, node);
}

static struct change_counts count_changes(const struct zs_hierarchy *hierarchy)
{
    struct change_counts counts = {0};
    for (size_t i = 0; i < hierarchy->pending.count; i++) {
        const struct zs_change *change = hierarchy->pending.list[i];
        const struct zs_node *node = zs_hierarchy_known(hierarchy, change->path);
        counts.edits += is_edit(change);
        counts.structural += node != NULL && is_structural(change, node);
        counts.listed += is_edit(change) && hierarchy->is_consolidated && change->path[0] != '\0';
        counts.added += change->kind == ZS_CHANGE_NEW;
        counts.removed += change->kind == ZS_CHANGE_REMOVED;
    }
    return counts;
}

/* Whether other documents refer to new nodes. */
static bool has_new(const struct zs_hierarchy *hierarchy, const struct change_counts *counts)
{
    return counts->added > 0 &&
           (hierarchy->is_consolidated || counts->added + counts->edits + counts->removed > 1);
}

/* Whether a flush writes or removes several documents that belong together. */
static bool has_several(const struct zs_hierarchy *hierarchy, const struct change_counts *counts)
{
    return counts->edits > 1 || counts->listed > 0 || counts->removed > 0 || has_new(hierarchy, counts);
}

/* ---- Noting it ---- */

static bool note_edit(zs_json *edits, const struct zs_change *change, const struct zs_node *node)
{
    zs_json *edit = zs_json_add_object(edits, change->path);
    return zs_json_add(edit, "before", zs_json_copy(change->before)) != NULL &&
           (change->own == NULL || zs_json_add(edit, "own", zs_document_own(change->own)) != NULL) &&
           zs_json_add(edit, "after", zs_document_own(node->document)) != NULL;
}

/* Notes a new node, or one that replaces another or an implicit group. */
static enum zs_status note_new(const struct zs_hierarchy *hierarchy, const struct zs_change *change,
                               const struct zs_node *node, struct zs_edit_journal *journal, struct zs_error *err)
{
    zs_json *stored = NULL;
    if (zs_json_add(journal->added, change->path, zs_document_own(node->document)) == NULL)
        return zs_fail_memory(err);
    if (change->kind != ZS_CHANGE_NEW)
        return ZS_OK;
    const enum zs_status status = zs_document_load(hierarchy->store, change->path, &stored, err);
    const bool is_made = status == ZS_OK && stored == NULL;
    zs_json_free(stored);
    if (status != ZS_OK)
        return status == ZS_CORRUPT ? ZS_OK : status; /* the flush reports it */
    return !is_made || zs_json_add_string(journal->made, NULL, change->path) != NULL ? ZS_OK : zs_fail_memory(err);
}

/* Notes the change of a path, if it edits or adds a node. journal->added is NULL when nothing refers to new nodes. */
static enum zs_status note_change(const struct zs_hierarchy *hierarchy, const struct zs_change *change,
                                  bool is_one_of_several, struct zs_edit_journal *journal, struct zs_error *err)
{
    const struct zs_node *node = zs_hierarchy_known(hierarchy, change->path);
    if (node == NULL)
        return ZS_OK;
    const bool is_alone = is_structural(change, node); /* it counts even if the new nodes are undone */
    if (is_alone || (is_edit(change) && is_one_of_several)) {
        zs_json *edits = is_alone || journal->added == NULL ? journal->changes : journal->beside;
        return note_edit(edits, change, node) ? ZS_OK : zs_fail_memory(err);
    }
    if (journal->added != NULL && (change->kind == ZS_CHANGE_NEW || change->may_be_gone))
        return note_new(hierarchy, change, node, journal, err);
    return ZS_OK;
}

/* Notes the version of the root's document, which another writer who lists nodes changes. */
static enum zs_status note_root(struct zs_store *store, zs_json *json, struct zs_error *err)
{
    struct zs_object *root;
    const enum zs_status status = zs_object_open(store, "zarr.json", &root, err);
    if (status != ZS_OK)
        return status == ZS_NOT_FOUND ? ZS_OK : status;
    const uint64_t version = root->is_versioned ? root->version : 0;
    zs_object_close(root);
    return version == 0 || zs_json_add_uint64(json, "root", version) != NULL ? ZS_OK : zs_fail_memory(err);
}

/* Notes the documents that go, those below before those of the groups above. */
static enum zs_status note_removals(struct zs_store *store, const struct zs_names *keys,
                                    struct zs_edit_journal *journal, struct zs_error *err)
{
    journal->removed = zs_json_add_object(journal->json, "removed");
    enum zs_status status = journal->removed != NULL ? note_root(store, journal->json, err) : zs_fail_memory(err);
    for (size_t i = keys->count; i-- > 0 && status == ZS_OK;) {
        zs_json *document = NULL;
        char *path = zs_is_document(keys->list[i]) ? zs_path_parent(keys->list[i]) : NULL;
        if (path != NULL)
            status = zs_document_load(store, path, &document, err);
        if (status == ZS_CORRUPT)
            status = ZS_OK;
        if (document != NULL && zs_json_add(journal->removed, path, zs_document_own(document)) == NULL)
            status = zs_fail_memory(err);
        zs_json_free(document);
        free(path);
    }
    return status;
}

static enum zs_status note_all(const struct zs_hierarchy *hierarchy, const struct change_counts *counts,
                               const struct zs_names *removed, struct zs_edit_journal *journal, struct zs_error *err)
{
    const bool are_several = has_several(hierarchy, counts);
    journal->json = zs_json_new_object();
    journal->changes = zs_json_add_object(journal->json, "changes");
    bool ok = journal->changes != NULL;
    if (ok && has_new(hierarchy, counts)) {
        journal->added = zs_json_add_object(journal->json, "new");
        journal->made = zs_json_add_array(journal->json, "made");
        journal->beside = zs_json_add_object(journal->json, "beside");
        ok = journal->added != NULL && journal->made != NULL && journal->beside != NULL;
    }
    if (!ok)
        return zs_fail_memory(err);
    for (size_t i = 0; i < hierarchy->pending.count; i++)
        ZS_TRY(note_change(hierarchy, hierarchy->pending.list[i], are_several, journal, err));
    return counts->removed > 0 ? note_removals(hierarchy->store, removed, journal, err) : ZS_OK;
}

enum zs_status zs_edit_journal_put(const struct zs_hierarchy *hierarchy, const struct zs_names *removed, bool *is_put,
                                   struct zs_error *err)
{
    const struct change_counts counts = count_changes(hierarchy);
    struct zs_edit_journal journal = {0};
    *is_put = has_several(hierarchy, &counts) || counts.structural > 0;
    if (!*is_put)
        return ZS_OK;
    enum zs_status status = note_all(hierarchy, &counts, removed, &journal, err);
    if (status == ZS_OK) {
        status = put_json(hierarchy->store, journal.json, err);
        *is_put = status == ZS_OK;
        if (!*is_put && status != ZS_NO_MEMORY && counts.edits + counts.added == 0)
            status = ZS_OK; /* a full disk does not keep anyone from removing what is on it */
    }
    zs_edit_journal_clear(&journal);
    return status;
}

enum zs_status zs_edit_journal_put_rename(struct zs_store *store, const char *from, const char *to,
                                          struct zs_error *err)
{
    zs_json *json = zs_json_new_object();
    const bool ok = zs_json_add_string(json, "from", from) != NULL && zs_json_add_string(json, "to", to) != NULL;
    const enum zs_status status = ok ? put_json(store, json, err) : zs_fail_memory(err);
    zs_json_free(json);
    return status;
}

/* ---- Reading ---- */

/* A member that is an object; else NULL: elements of a list have no names. */
static zs_json *object_at(zs_json *json, const char *name)
{
    zs_json *member = zs_json_get_mutable(json, name);
    return zs_json_is_object(member) ? member : NULL;
}

static const char *path_at(const zs_json *json, const char *name)
{
    const char *path;
    return zs_json_string(zs_json_get(json, name), &path) && zs_path_is_clean(path) ? path : NULL;
}

enum zs_status zs_edit_journal_read(struct zs_store *store, bool *is_there, struct zs_edit_journal *journal,
                                    struct zs_error *err)
{
    zs_json *json = NULL;
    char *key = zs_journal_key("zarr.json");
    *journal = (struct zs_edit_journal){0};
    ZS_TRY_MEMORY(key, err);
    const enum zs_status status = zs_document_get(store, key, &json, err);
    free(key);
    *is_there = status != ZS_NOT_FOUND;
    if (status != ZS_OK)
        return status == ZS_NOT_FOUND || status == ZS_CORRUPT ? ZS_OK : status;
    *journal = (struct zs_edit_journal){.json = json,
                                        .changes = object_at(json, "changes"),
                                        .added = object_at(json, "new"),
                                        .made = zs_json_get_mutable(json, "made"),
                                        .beside = object_at(json, "beside"),
                                        .removed = object_at(json, "removed"),
                                        .from = path_at(json, "from"),
                                        .to = path_at(json, "to")};
    journal->made = zs_json_is_array(journal->made) ? journal->made : NULL;
    journal->has_root_version = zs_json_uint64(zs_json_get(json, "root"), &journal->root_version);
    return ZS_OK;
}
