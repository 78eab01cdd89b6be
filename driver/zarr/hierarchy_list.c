/* Lists many nodes at once: from consolidated metadata, or by walking through the store. */
#include <stdlib.h>
#include <string.h>

#include "zarr/document.h"
#include "zarr/hierarchy_private.h"

/* ---- Consolidated metadata ---- */

static int compare_entries(const void *a, const void *b)
{
    return zs_path_compare(((const struct zs_hierarchy_entry *)a)->path, ((const struct zs_hierarchy_entry *)b)->path);
}

/* Keeps the first name that is left out; without memory none, and nothing else fails. */
static void note_left_out(struct zs_hierarchy *hierarchy, const char *name)
{
    (void)pthread_mutex_lock(&hierarchy->lock);
    if (hierarchy->left_out == NULL)
        hierarchy->left_out = zs_strdup(name);
    (void)pthread_mutex_unlock(&hierarchy->lock);
}

const char *zs_hierarchy_left_out(struct zs_hierarchy *hierarchy)
{
    (void)pthread_mutex_lock(&hierarchy->lock);
    const char *name = hierarchy->left_out; /* never changes once it is set */
    (void)pthread_mutex_unlock(&hierarchy->lock);
    return name;
}

/* Returns whether a key is a path below the root, within the limits of listing; notes one that is not. */
static bool is_usable_key(struct zs_hierarchy *hierarchy, const char *key)
{
    int depth = 1;
    for (const char *p = key; *p != '\0'; p++)
        depth += *p == '/';
    if (zs_path_is_clean(key) && strlen(key) <= ZS_HIERARCHY_MAX_PATH && depth <= ZS_HIERARCHY_MAX_DEPTH)
        return true;
    note_left_out(hierarchy, key);
    return false;
}

/* Builds the entry of one listed document. */
static enum zs_status make_entry(const struct zs_store *store, const char *path, const zs_json *document,
                                 struct zs_hierarchy_entry *entry, struct zs_error *err)
{
    struct zs_error reason = {0};
    *entry = (struct zs_hierarchy_entry){0};
    /* The cast is safe: a node that does not own its document only reads it. */
    entry->status = zs_node_create(path, (zs_json *)document, false, &entry->node, &reason);
    if (entry->status != ZS_NO_MEMORY) {
        if (entry->status != ZS_OK) {
            (void)zs_fail_in(&reason, entry->status, "%s: consolidated metadata", store->root);
            entry->message = zs_strdup(reason.message);
        }
        entry->path = zs_strdup(path);
    }
    if (entry->path == NULL || (entry->node == NULL && entry->message == NULL)) {
        zs_hierarchy_entry_free(entry);
        return zs_fail_memory(err);
    }
    return ZS_OK;
}

/* Puts a group without zarr.json into the table. */
static enum zs_status add_implicit_group(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err)
{
    struct zs_hierarchy_entry entry = {.path = zs_strdup(path)};
    const struct zs_hierarchy_entry *kept = NULL;
    if (entry.path != NULL && zs_node_create_implicit(path, &entry.node, err) == ZS_OK) {
        (void)pthread_mutex_lock(&hierarchy->lock);
        kept = zs_hierarchy_insert(hierarchy, entry);
        (void)pthread_mutex_unlock(&hierarchy->lock);
    }
    if (kept != NULL)
        return ZS_OK;
    zs_hierarchy_entry_free(&entry);
    return zs_fail_memory(err);
}

/* Adds the groups above `path`, but for those above `before`, its predecessor in order: these are listed or were added
 * already. */
static enum zs_status add_implicit_groups(struct zs_hierarchy *hierarchy, const char *before, const char *path,
                                          size_t *added, struct zs_error *err)
{
    for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        const size_t n = (size_t)(slash - path);
        if (strncmp(before, path, n) == 0 && (before[n] == '/' || before[n] == '\0'))
            continue;
        if (++*added > ZS_HIERARCHY_MAX_NODES)
            return zs_fail(err, ZS_INVALID,
                           "%s/zarr.json: consolidated_metadata: expected at most %d groups that are not listed",
                           hierarchy->store->root, ZS_HIERARCHY_MAX_NODES);
        char *group = zs_strndup(path, n);
        const enum zs_status status = group != NULL ? add_implicit_group(hierarchy, group, err) : zs_fail_memory(err);
        free(group);
        ZS_TRY(status);
    }
    return ZS_OK;
}

enum zs_status zs_hierarchy_consolidate(struct zs_hierarchy *hierarchy, struct zs_error *err)
{
    const zs_json *consolidated = zs_json_get(hierarchy->entries[0].node->document, "consolidated_metadata");
    const zs_json *metadata = zs_document_listing(hierarchy->entries[0].node->document);
    if (!zs_json_equals(zs_json_get(consolidated, "kind"), "inline") || metadata == NULL)
        return ZS_OK;
    const size_t members = zs_json_size(metadata);
    struct zs_hierarchy_entry *found = zs_calloc(members, sizeof *found);
    ZS_TRY_MEMORY(found, err);
    enum zs_status status = ZS_OK;
    size_t n = 0;
    for (const zs_json *c = zs_json_first(metadata); c != NULL && status == ZS_OK; c = zs_json_next(c))
        if (is_usable_key(hierarchy, zs_json_name(c)) &&
            (status = make_entry(hierarchy->store, zs_json_name(c), c, &found[n], err)) == ZS_OK)
            n++;

    /* In order, each entry is appended at the end of the table, and the members of a group follow it. */
    if (n > 1)
        qsort(found, n, sizeof *found, compare_entries);
    size_t inserted = 0, added = 0;
    const char *before = "";
    while (status == ZS_OK && inserted < n) {
        status = add_implicit_groups(hierarchy, before, found[inserted].path, &added, err);
        if (status != ZS_OK)
            break;
        const struct zs_hierarchy_entry *kept = zs_hierarchy_name_dimensions(hierarchy, found[inserted].node)
                                                    ? zs_hierarchy_insert(hierarchy, found[inserted])
                                                    : NULL;
        if (kept == NULL) {
            status = zs_fail_memory(err);
            break;
        }
        before = kept->path; /* an entry for a path that was there already is freed */
        inserted++;
    }
    for (size_t i = inserted; i < n; i++)
        zs_hierarchy_entry_free(&found[i]);
    free(found);
    hierarchy->is_consolidated = status == ZS_OK && n > 0;
    return status;
}

/* ---- The walk, which puts all nodes of the store into the table ---- */

struct walk {
    struct zs_hierarchy *hierarchy;
    size_t directories; /* number of directories listed */
    size_t nodes;       /* number of nodes found */
};

static enum zs_status walk_below(struct walk *w, const char *path, int depth, struct zs_error *err);

/* Walks the node at `path` and all below it. */
static enum zs_status walk_child(struct walk *w, const char *path, int depth, struct zs_error *err)
{
    if (++w->directories > ZS_HIERARCHY_MAX_NODES || depth > ZS_HIERARCHY_MAX_DEPTH)
        return zs_fail(err, ZS_UNSUPPORTED,
                       "%s: expected at most %d directories to look for arrays in, and %d one in the other; name the "
                       "array to open it", w->hierarchy->store->root, ZS_HIERARCHY_MAX_NODES, ZS_HIERARCHY_MAX_DEPTH);
    const struct zs_node *node = NULL;
    const enum zs_status status = zs_hierarchy_find(w->hierarchy, path, false, &node, err);
    if (status == ZS_INVALID || status == ZS_UNSUPPORTED)
        return ZS_OK; /* not a node that can be read; the rest of the store stays usable */
    if (status != ZS_OK && status != ZS_NOT_FOUND)
        return status;
    const bool is_listed = node != NULL && !node->is_implicit;
    const size_t before = w->nodes;
    w->nodes += is_listed;
    if (is_listed && node->type == ZS_NODE_ARRAY)
        return ZS_OK; /* only chunks are below an array */
    ZS_TRY(walk_below(w, path, depth, err));
    return node == NULL && w->nodes > before ? add_implicit_group(w->hierarchy, path, err) : ZS_OK;
}

static enum zs_status walk_below(struct walk *w, const char *path, int depth, struct zs_error *err)
{
    char **names;
    enum zs_status status = zs_store_list(w->hierarchy->store, path, &names, err);
    if (status == ZS_NOT_FOUND || (status == ZS_UNSUPPORTED && depth > 0))
        return ZS_OK; /* removed meanwhile, or not a directory */
    if (status != ZS_OK)
        return status;
    zs_names_sort(names); /* in order, each node is appended at the end of the table */
    const char *before = "";
    for (char **name = names; *name != NULL && status == ZS_OK; name++) {
        const size_t n = zs_prefix_length(*name);
        if (n == 0)
            continue;
        (*name)[n] = '\0';
        /* Listed twice (draft.c), or beside a store in archives of macOS. */
        if (strcmp(*name, before) == 0 || strcmp(*name, "__MACOSX") == 0)
            continue;
        before = *name;
        if (!zs_is_inside_name(*name)) {
            note_left_out(w->hierarchy, *name);
            continue;
        }
        enum zs_link link = ZS_LINK_NONE;
        char *child = zs_path_join(path, *name);
        status = child != NULL ? zs_store_is_link(w->hierarchy->store, child, &link, err) : zs_fail_memory(err);
        if (status == ZS_OK && link != ZS_LINK_LOOP) /* what is below that is listed above */
            status = walk_child(w, child, depth + 1, err);
        free(child);
    }
    zs_names_free(names);
    return status;
}

static enum zs_status walk_store(struct walk *w, struct zs_error *err)
{
    const struct zs_node *root;
    ZS_TRY(zs_hierarchy_find(w->hierarchy, "", true, &root, err));
    return root->type == ZS_NODE_GROUP ? walk_below(w, "", 0, err) : ZS_OK;
}

/* ---- Lists ---- */

bool zs_hierarchy_is_listed(const struct zs_hierarchy *hierarchy, size_t i)
{
    const struct zs_hierarchy_entry *entries = hierarchy->entries;
    const struct zs_node *node = entries[i].node;
    bool is_group = node != NULL && (!node->is_implicit || i == 0);
    for (size_t k = i + 1; node != NULL && !is_group && k < hierarchy->count &&
                           zs_path_is_within(entries[k].path, entries[i].path); k++)
        is_group = entries[k].node != NULL && !entries[k].node->is_implicit;
    return is_group;
}

enum zs_status zs_hierarchy_list_known(struct zs_hierarchy *hierarchy, const struct zs_node ***nodes, size_t *count,
                                       struct zs_error *err)
{
    size_t n = 0;
    (void)pthread_mutex_lock(&hierarchy->lock);
    const struct zs_node **list = zs_calloc(hierarchy->count, sizeof *list);
    for (size_t i = 0; i < hierarchy->count && list != NULL; i++)
        if (zs_hierarchy_is_listed(hierarchy, i))
            list[n++] = hierarchy->entries[i].node; /* the table is in order */
    (void)pthread_mutex_unlock(&hierarchy->lock);
    ZS_TRY_MEMORY(list, err);
    *nodes = list;
    *count = n;
    return ZS_OK;
}

enum zs_status zs_hierarchy_list(struct zs_hierarchy *hierarchy, const struct zs_node ***nodes, size_t *count,
                                 struct zs_error *err)
{
    struct walk w = {.hierarchy = hierarchy};
    struct zs_error reason = {0};
    (void)pthread_mutex_lock(&hierarchy->lock);
    const bool is_complete = hierarchy->is_consolidated || hierarchy->is_walked;
    (void)pthread_mutex_unlock(&hierarchy->lock);
    const enum zs_status status = is_complete ? ZS_OK : walk_store(&w, &reason);
    if (status != ZS_OK && (status != ZS_UNSUPPORTED || w.directories > 0)) { /* else the store cannot be listed */
        zs_hierarchy_note_failure(hierarchy, status, reason.message);
        return zs_fail(err, status, "%s", reason.message);
    }
    (void)pthread_mutex_lock(&hierarchy->lock);
    hierarchy->is_walked = hierarchy->is_walked || status == ZS_OK;
    (void)pthread_mutex_unlock(&hierarchy->lock);
    return zs_hierarchy_list_known(hierarchy, nodes, count, err);
}

static const char *path_of_node(const void *node)
{
    return (*(const struct zs_node *const *)node)->path;
}

enum zs_status zs_nodes_find(const struct zs_node *const *nodes, size_t count, const char *base, const char *name,
                             size_t *at, struct zs_error *err)
{
    char *path = zs_format("%s/%s", base, name), *clean = NULL;
    const enum zs_status status = path != NULL ? zs_path_clean(path, &clean, err) : zs_fail_memory(err);
    free(path);
    *at = count;
    if (status != ZS_OK)
        return status == ZS_NO_MEMORY ? status : ZS_OK; /* else the path is not valid for a node */
    const size_t i = zs_path_position(nodes, count, sizeof *nodes, path_of_node, clean);
    if (i < count && strcmp(nodes[i]->path, clean) == 0)
        *at = i;
    free(clean);
    return ZS_OK;
}

const struct zs_node *zs_nodes_child(const struct zs_node *const *nodes, size_t count, const char *group, size_t *at)
{
    size_t i = *at + zs_path_position(nodes + *at, count - *at, sizeof *nodes, path_of_node, group);
    if (i < count && strcmp(nodes[i]->path, group) == 0)
        i++; /* the group itself */
    for (; i < count; i++) {
        const struct zs_node *node = nodes[i];
        const char *below = zs_path_below(group, node->path);
        if (below == NULL)
            break;
        if (strchr(below, '/') != NULL) /* the group between is not in the list */
            continue;
        *at = i + 1; /* behind all below it */
        while (*at < count && zs_path_is_within(nodes[*at]->path, node->path))
            ++*at;
        return node;
    }
    *at = count;
    return NULL;
}
