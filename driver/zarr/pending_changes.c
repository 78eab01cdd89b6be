/* The table of pending changes. */
#include <stdlib.h>
#include <string.h>

#include "zarr/hierarchy_private.h"

/* ---- The table ---- */

static const char *path_of(const void *change)
{
    return (*(struct zs_change *const *)change)->path;
}

static size_t position(const struct zs_pending_changes *changes, const char *path)
{
    return zs_path_position(changes->list, changes->count, sizeof *changes->list, path_of, path);
}

struct zs_change *zs_changes_find(const struct zs_pending_changes *changes, const char *path)
{
    const size_t i = position(changes, path);
    return i < changes->count && strcmp(changes->list[i]->path, path) == 0 ? changes->list[i] : NULL;
}

/* Adds a change, which it takes over, for a path that is not in the table. Without memory it frees the change and
 * returns NULL. */
static struct zs_change *insert(struct zs_pending_changes *changes, struct zs_change *change)
{
    struct zs_change **grown = zs_grow(changes->list, changes->count, &changes->capacity, sizeof(struct zs_change *));
    if (grown == NULL) {
        zs_change_free(change);
        return NULL;
    }
    changes->list = grown;
    const size_t i = position(changes, change->path);
    memmove(grown + i + 1, grown + i, (changes->count - i) * sizeof *grown);
    grown[i] = change;
    changes->count++;
    return change;
}

struct zs_change *zs_changes_note(struct zs_pending_changes *changes, const char *path)
{
    struct zs_change *change = zs_changes_find(changes, path);
    if (change != NULL)
        return change;
    change = zs_calloc(1, sizeof *change);
    if (change == NULL || (change->path = zs_strdup(path)) == NULL) {
        free(change);
        return NULL;
    }
    return insert(changes, change);
}

void zs_changes_within(const struct zs_pending_changes *changes, const char *path, size_t *first, size_t *end)
{
    *first = *end = position(changes, path);
    while (*end < changes->count && zs_path_is_within(changes->list[*end]->path, path))
        ++*end;
}

void zs_change_free(struct zs_change *change)
{
    if (change == NULL)
        return;
    free(change->path);
    zs_json_free(change->before);
    zs_json_free(change->own);
    zs_json_free(change->tried);
    zs_json_free(change->written);
    zs_json_free(change->loaded);
    free(change);
}

/* Copies a document, which may be NULL; false without memory. */
static bool copy_document(const zs_json *document, zs_json **copy)
{
    *copy = document != NULL ? zs_json_copy(document) : NULL;
    return document == NULL || *copy != NULL;
}

struct zs_change *zs_change_copy(const struct zs_change *change)
{
    struct zs_change *copy = zs_calloc(1, sizeof *copy);
    if (copy == NULL)
        return NULL;
    *copy = *change;
    copy->written = copy->loaded = copy->own = copy->tried = NULL;
    copy->path = zs_strdup(change->path);
    if (copy_document(change->before, &copy->before) && copy_document(change->own, &copy->own) &&
        copy_document(change->tried, &copy->tried) && copy->path != NULL)
        return copy;
    zs_change_free(copy);
    return NULL;
}

/* Removes the changes from `first` to before `end`. */
static void forget(struct zs_pending_changes *changes, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        zs_change_free(changes->list[i]);
    if (end > first)
        memmove(changes->list + first, changes->list + end, (changes->count - end) * sizeof *changes->list);
    changes->count -= end - first;
}

void zs_changes_put(struct zs_pending_changes *changes, const char *path, struct zs_change *change)
{
    const size_t i = position(changes, path);
    if (i < changes->count && strcmp(changes->list[i]->path, path) == 0)
        forget(changes, i, i + 1);
    if (change != NULL)
        (void)insert(changes, change); /* without memory the change is lost: it belongs to an edit that failed */
}

void zs_changes_forget(struct zs_pending_changes *changes, const char *path)
{
    size_t first, end;
    zs_changes_within(changes, path, &first, &end);
    forget(changes, first, end);
}

void zs_changes_clear(struct zs_pending_changes *changes)
{
    while (changes->count > 0)
        zs_change_free(changes->list[--changes->count]);
    free(changes->list);
    *changes = (struct zs_pending_changes){0};
}

/* ---- Questions ---- */

bool zs_change_is_removal(const struct zs_change *change)
{
    return change->kind == ZS_CHANGE_REMOVED || change->kind == ZS_CHANGE_UNLISTED;
}

bool zs_change_has_new_keys(const struct zs_change *change, const struct zs_node *node)
{
    const struct zs_array_meta *old = change->replaced != NULL ? change->replaced->array : NULL;
    return old != NULL && node->array != NULL &&
           (old->key_is_v2 != node->array->key_is_v2 || old->key_separator != node->array->key_separator);
}

/* Returns the change of a path, or of the nearest group above it, that answers a question with yes; NULL when there is
 * none, or without memory. */
static const struct zs_change *find_above(const struct zs_pending_changes *changes, const char *path,
                                          bool (*is_it)(const struct zs_change *))
{
    const struct zs_change *found = NULL;
    char *above = changes->count > 0 ? zs_strdup(path) : NULL;
    while (above != NULL && found == NULL) {
        const struct zs_change *change = zs_changes_find(changes, above);
        found = change != NULL && is_it(change) ? change : NULL;
        char *next = zs_path_parent(above);
        free(above);
        above = next;
    }
    free(above);
    return found;
}

static bool removes_objects(const struct zs_change *change)
{
    return change->kind == ZS_CHANGE_REMOVED;
}

static bool hides(const struct zs_change *change)
{
    return change->was_removed || change->is_fresh;
}

const struct zs_change *zs_changes_removal_of(const struct zs_pending_changes *changes, const char *path)
{
    return find_above(changes, path, removes_objects);
}

bool zs_changes_hide(const struct zs_pending_changes *changes, const char *path)
{
    return find_above(changes, path, hides) != NULL; /* without memory: false, and the store is read */
}

bool zs_hierarchy_root_is_pending(const struct zs_hierarchy *hierarchy)
{
    const struct zs_change *root = zs_changes_find(&hierarchy->pending, "");
    return root != NULL && root->kind == ZS_CHANGE_NEW;
}

bool zs_hierarchy_is_changed(const struct zs_hierarchy *hierarchy)
{
    return hierarchy->pending.count > 0;
}

bool zs_hierarchy_is_unpublished(const struct zs_hierarchy *hierarchy, const struct zs_node *node)
{
    const struct zs_change *change = zs_changes_find(&hierarchy->pending, node->path);
    return change != NULL && !change->is_stored &&
           (change->kind == ZS_CHANGE_NEW || zs_change_has_new_keys(change, node));
}
