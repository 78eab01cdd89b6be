/* Takes back nodes that were added to a store, and no others. */
#include <stdlib.h>

#include "store/mark.h"
#include "zarr/contents.h"
#include "zarr/document.h"
#include "zarr/hierarchy_private.h"

/* What is at and below a path. */
struct search {
    const struct zs_hierarchy *hierarchy; /* to which the nodes were added */
    struct zs_store *store;
    struct zs_contents found;
    struct zs_names groups; /* of others */
    struct zs_names theirs; /* arrays of others, and what others are making: all below is theirs */
};

/* Whether a stored document says what was added here, before a later change or after it. */
static bool is_as_added(const struct zs_hierarchy *hierarchy, const struct zs_hierarchy_entry *entry,
                        const zs_json *stored)
{
    const struct zs_change *change = zs_changes_find(&hierarchy->pending, entry->path);
    zs_json *theirs = zs_document_own(stored), *present = zs_document_own(entry->node->document);
    const zs_json *ours[] = {present, change != NULL ? change->before : NULL, change != NULL ? change->tried : NULL};
    bool is = false;
    for (size_t i = 0; i < sizeof ours / sizeof ours[0] && theirs != NULL && !is; i++)
        is = ours[i] != NULL && zs_json_is_same(theirs, ours[i]);
    zs_json_free(theirs);
    zs_json_free(present);
    return is;
}

/* Reads the document at a path. *is_ours: this hierarchy added it, and no other writer changed it since. *is_group: it
 * describes a group. */
static enum zs_status read_owner(const struct search *search, const char *path, bool *is_ours, bool *is_group,
                                 struct zs_error *err)
{
    const struct zs_hierarchy_entry *entry = zs_hierarchy_entry_at(search->hierarchy, path);
    zs_json *stored = NULL;
    *is_ours = *is_group = false;
    const enum zs_status status = zs_document_load(search->store, path, &stored, err);
    if (status != ZS_OK)
        return status == ZS_CORRUPT ? ZS_OK : status;
    *is_group = zs_json_equals(zs_json_get(stored, "node_type"), "group");
    *is_ours = stored != NULL && entry != NULL && entry->is_added && entry->node != NULL &&
               is_as_added(search->hierarchy, entry, stored);
    zs_json_free(stored);
    return ZS_OK;
}

/* Whether a mark is of this process, or of a maker that is dead. */
static bool is_ours_or_dead(struct zs_store *store, const char *mark)
{
    return zs_mark_is_own(store, mark) || zs_mark_check(store, mark, false, NULL) == ZS_OK;
}

static enum zs_status find_theirs(struct search *search, struct zs_error *err)
{
    for (size_t i = 0; i < search->found.own.count; i++) {
        const char *key = search->found.own.list[i];
        const bool is_document = zs_is_document(key);
        bool is_ours = !is_document && (!zs_is_mark(key) || is_ours_or_dead(search->store, key)), is_group = false;
        if (is_ours)
            continue;
        char *path = zs_path_parent(key);
        enum zs_status status = path != NULL ? ZS_OK : zs_fail_memory(err);
        if (status == ZS_OK && is_document)
            status = read_owner(search, path, &is_ours, &is_group, err);
        if (status == ZS_OK && !is_ours)
            status = zs_names_add(is_group ? &search->groups : &search->theirs, path, err);
        else
            free(path);
        ZS_TRY(status);
    }
    return ZS_OK;
}

/* Whether a path is, or lies above, one of some paths. */
static bool is_above(const char *path, const struct zs_names *paths)
{
    bool is = false;
    for (size_t i = 0; i < paths->count && !is; i++)
        is = zs_path_is_within(paths->list[i], path);
    return is;
}

/* Whether a path is, or lies below, one of some paths. */
static bool is_below(const char *path, const struct zs_names *paths)
{
    bool is = false;
    for (size_t i = 0; i < paths->count && !is; i++)
        is = zs_path_is_within(path, paths->list[i]);
    return is;
}

/* Whether an object stays: it is of others, or the document of a group in which something of others is. */
static bool stays(const struct search *search, const char *key)
{
    char *path = zs_path_parent(key);
    const bool is = path == NULL || is_below(path, &search->theirs) ||
                    (zs_is_document(key) && (is_above(path, &search->theirs) || is_above(path, &search->groups)));
    free(path);
    return is;
}

static void keep_theirs(struct search *search)
{
    struct zs_names *own = &search->found.own;
    size_t count = 0;
    for (size_t i = 0; i < own->count; i++)
        if (stays(search, own->list[i]))
            free(own->list[i]);
        else
            own->list[count++] = own->list[i];
    if (own->list != NULL)
        own->list[count] = NULL;
    own->count = count;
}

/* Takes the nodes out of consolidated metadata, as they are by now. Nothing lists them where another writer removed the
 * root meanwhile. */
static enum zs_status unlist(const struct search *search, struct zs_error *err)
{
    struct zs_hierarchy *now = NULL;
    const struct zs_names *own = &search->found.own;
    ZS_TRY(zs_hierarchy_recover(search->store, err));
    enum zs_status status = zs_hierarchy_open(search->store, true, &now, err);
    if (status != ZS_OK)
        return status == ZS_NOT_FOUND ? ZS_OK : status;
    for (size_t i = 0; i < own->count && status == ZS_OK && zs_hierarchy_is_consolidated(now); i++) {
        const struct zs_node *node;
        char *path = zs_is_document(own->list[i]) ? zs_path_parent(own->list[i]) : NULL;
        if (path != NULL && zs_hierarchy_find(now, path, false, &node, NULL) != ZS_NOT_FOUND)
            status = zs_hierarchy_unlist(now, path, err);
        free(path);
    }
    if (status == ZS_OK)
        status = zs_hierarchy_flush(now, err);
    zs_hierarchy_free(now);
    return status;
}

/* Finds the documents of added nodes, where nothing can be listed. */
static enum zs_status find_documents(struct search *search, const char *path, struct zs_error *err)
{
    const struct zs_hierarchy *hierarchy = search->hierarchy;
    size_t first, end;
    zs_hierarchy_within(hierarchy, path, &first, &end);
    for (size_t i = first; i < end; i++)
        if (hierarchy->entries[i].is_added && hierarchy->entries[i].node != NULL)
            ZS_TRY(zs_names_add(&search->found.own, zs_document_key(hierarchy->entries[i].path), err));
    return ZS_OK;
}

static enum zs_status take_back(struct search *search, const char *path, struct zs_error *err)
{
    enum zs_status status = zs_contents_find_below(search->store, path, &search->found, err);
    if (status == ZS_UNSUPPORTED)
        status = find_documents(search, path, err);
    ZS_TRY(status);
    ZS_TRY(find_theirs(search, err));
    keep_theirs(search);
    ZS_TRY(unlist(search, err));
    return zs_contents_remove(search->store, &search->found, ZS_MARKS_STAY, err);
}

enum zs_status zs_hierarchy_take_back(const struct zs_hierarchy *hierarchy, struct zs_store *store, const char *path,
                                      struct zs_error *err)
{
    struct search search = {.hierarchy = hierarchy, .store = store};
    const enum zs_status status = take_back(&search, path, err);
    zs_contents_clear(&search.found);
    zs_names_free(search.groups.list);
    zs_names_free(search.theirs.list);
    return status;
}
