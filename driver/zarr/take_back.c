/* Takes back nodes that were added to a store, and no others. */
#include <stdlib.h>
#include <string.h>

#include "store/mark.h"
#include "zarr/contents.h"
#include "zarr/document.h"
#include "zarr/hierarchy_private.h"

/* What is at and below a path. */
struct taking {
    const struct zs_hierarchy *h; /* to which the nodes were added */
    struct zs_store *store;
    struct zs_contents found;
    struct zs_names groups; /* of others */
    struct zs_names theirs; /* arrays of others, and what others are making: all below is theirs */
};

/* The path of the node whose document, or in whose folder a mark, is at a key. */
static char *path_of(const char *key)
{
    const char *name = zs_path_name(key);
    return zs_strndup(key, name > key ? (size_t)(name - key - 1) : 0);
}

static const struct zs_hierarchy_entry *entry_of(const struct zs_hierarchy *h, const char *path)
{
    size_t i, end;
    zs_hierarchy_within(h, path, &i, &end);
    return i < end && strcmp(h->entries[i].path, path) == 0 ? &h->entries[i] : NULL;
}

/* Whether a stored document says what was added here, before a later change or after it. */
static bool is_as_added(const struct zs_hierarchy *h, const struct zs_hierarchy_entry *entry, const zs_json *stored)
{
    const struct zs_change *change = zs_changes_find(&h->pending, entry->path);
    zs_json *a = zs_document_own(stored), *b = zs_document_own(entry->node->document);
    const bool is = a != NULL && b != NULL &&
                    (zs_json_is_same(a, b) || (change != NULL && change->before != NULL &&
                                               zs_json_is_same(a, change->before)) ||
                     (change != NULL && change->tried != NULL && zs_json_is_same(a, change->tried)));
    zs_json_free(a);
    zs_json_free(b);
    return is;
}

/* Reads the document at a path. *is_ours: this hierarchy added it, and no other writer changed it since. *is_group: it
 * describes a group. */
static enum zs_status read_owner(const struct taking *t, const char *path, bool *is_ours, bool *is_group,
                                 struct zs_error *err)
{
    const struct zs_hierarchy_entry *entry = entry_of(t->h, path);
    zs_json *stored = NULL;
    *is_ours = *is_group = false;
    const enum zs_status status = zs_document_load(t->store, path, &stored, err);
    if (status != ZS_OK)
        return status == ZS_CORRUPT ? ZS_OK : status;
    *is_group = zs_json_equals(zs_json_get(stored, "node_type"), "group");
    *is_ours = stored != NULL && entry != NULL && entry->is_added && entry->node != NULL &&
               is_as_added(t->h, entry, stored);
    zs_json_free(stored);
    return ZS_OK;
}

/* Whether a mark is of this process, or of a maker that is dead. */
static bool is_ours_or_dead(struct zs_store *store, const char *mark)
{
    return zs_mark_is_own(store, mark) || zs_mark_check(store, mark, NULL) == ZS_OK;
}

static enum zs_status find_theirs(struct taking *t, struct zs_error *err)
{
    for (size_t i = 0; i < t->found.own.count; i++) {
        const char *key = t->found.own.list[i];
        const bool is_document = zs_is_document(key);
        bool is_ours = !is_document && (!zs_is_mark(key) || is_ours_or_dead(t->store, key)), is_group = false;
        if (is_ours)
            continue;
        char *path = path_of(key);
        enum zs_status status = path != NULL ? ZS_OK : zs_fail_memory(err);
        if (status == ZS_OK && is_document)
            status = read_owner(t, path, &is_ours, &is_group, err);
        if (status == ZS_OK && !is_ours)
            status = zs_names_add(is_group ? &t->groups : &t->theirs, path, err);
        else
            free(path);
        ZS_TRY(status);
    }
    return ZS_OK;
}

static bool is_above(const char *path, const struct zs_names *of)
{
    bool is = false;
    for (size_t i = 0; i < of->count && !is; i++)
        is = zs_path_is_within(of->list[i], path);
    return is;
}

/* Whether an object stays: it is of others, or the document of a group in which something of others is. */
static bool stays(const struct taking *t, const char *key)
{
    char *path = path_of(key);
    bool is = path == NULL;
    for (size_t i = 0; i < t->theirs.count && !is; i++)
        is = zs_path_is_within(path, t->theirs.list[i]);
    is = is || (zs_is_document(key) && (is_above(path, &t->theirs) || is_above(path, &t->groups)));
    free(path);
    return is;
}

static void keep_theirs(struct taking *t)
{
    struct zs_names *own = &t->found.own;
    size_t n = 0;
    for (size_t i = 0; i < own->count; i++)
        if (stays(t, own->list[i]))
            free(own->list[i]);
        else
            own->list[n++] = own->list[i];
    if (own->list != NULL)
        own->list[n] = NULL;
    own->count = n;
}

/* Takes the nodes out of consolidated metadata. Nothing lists them where another writer removed the root meanwhile. */
static enum zs_status unlist(const struct taking *t, struct zs_error *err)
{
    struct zs_hierarchy *now = NULL;
    enum zs_status status = zs_hierarchy_recover(t->store, err);
    if (status == ZS_OK)
        status = zs_hierarchy_open(t->store, true, &now, err);
    if (status == ZS_NOT_FOUND)
        return ZS_OK;
    for (size_t i = 0; i < t->found.own.count && status == ZS_OK && zs_hierarchy_is_consolidated(now); i++) {
        const struct zs_node *node;
        char *path = zs_is_document(t->found.own.list[i]) ? path_of(t->found.own.list[i]) : NULL;
        if (path != NULL && zs_hierarchy_find(now, path, false, &node, NULL) != ZS_NOT_FOUND)
            status = zs_hierarchy_unlist(now, path, err);
        free(path);
    }
    if (status == ZS_OK)
        status = zs_hierarchy_flush(now, err);
    zs_hierarchy_free(now);
    return status;
}

/* Where nothing can be listed: only documents are known. */
static enum zs_status find_documents(struct taking *t, const char *path, struct zs_error *err)
{
    size_t i, end;
    zs_hierarchy_within(t->h, path, &i, &end);
    for (; i < end; i++)
        if (t->h->entries[i].is_added && t->h->entries[i].node != NULL)
            ZS_TRY(zs_names_add(&t->found.own, zs_document_key(t->h->entries[i].path), err));
    return ZS_OK;
}

enum zs_status zs_hierarchy_take_back(const struct zs_hierarchy *h, struct zs_store *store, const char *path,
                                      struct zs_error *err)
{
    struct taking t = {.h = h, .store = store};
    enum zs_status status = zs_contents_find_below(store, path, &t.found, err);
    if (status == ZS_UNSUPPORTED)
        status = find_documents(&t, path, err);
    if (status == ZS_OK)
        status = find_theirs(&t, err);
    if (status == ZS_OK) {
        keep_theirs(&t);
        status = unlist(&t, err);
    }
    if (status == ZS_OK)
        status = zs_contents_remove_unmarked(store, &t.found, err);
    zs_contents_clear(&t.found);
    zs_names_free(t.groups.list);
    zs_names_free(t.theirs.list);
    return status;
}
