/* A journal of edits of documents, of anyone's, in a store of anyone's (zarr/recover.c): the next writer finishes or
 * undoes what it tells. Objects go only where it says so, a document changes only where it says so, and afterwards it
 * is gone: a second writer finds nothing to do. */
#include <stdbool.h>
#include <stdlib.h>

#include "tree.h"
#include "../unit/memory_store.h"
#include "zarr/hierarchy.h"
#include "zarr/json.h"

#define JOURNAL ".shardedzarr-zarr.json.journal"
#define DEEPEST 40

/* All objects of a store, with their bytes. */
struct objects {
    struct zs_names keys;
    struct zs_buffer *bytes;
};

static void list(struct zs_store *store, const char *prefix, int depth, struct zs_names *keys)
{
    char **names;
    if (depth > DEEPEST || store->ops->list(store, prefix, &names, NULL) != ZS_OK)
        return;
    for (char **name = names; *name != NULL; name++) {
        const size_t n = strlen(*name);
        const bool is_prefix = n > 0 && (*name)[n - 1] == '/';
        char *key = zs_format("%s%s%.*s", prefix, prefix[0] != '\0' ? "/" : "", (int)(is_prefix ? n - 1 : n), *name);
        if (is_prefix) {
            list(store, key, depth + 1, keys);
            free(key);
        } else if (zs_names_add(keys, key, NULL) != ZS_OK) {
            abort();
        }
    }
    zs_names_free(names);
}

static struct objects read_all(struct zs_store *store)
{
    struct objects all = {0};
    list(store, "", 0, &all.keys);
    all.bytes = calloc(all.keys.count + 1, sizeof *all.bytes);
    for (size_t i = 0; i < all.keys.count; i++)
        if (zs_store_get(store, all.keys.list[i], SIZE_MAX / 2, &all.bytes[i], NULL) != ZS_OK)
            abort();
    return all;
}

static void free_all(struct objects *all)
{
    for (size_t i = 0; i < all->keys.count; i++)
        zs_buffer_free(&all->bytes[i]);
    free(all->bytes);
    zs_names_free(all->keys.list);
}

static const struct zs_buffer *find(const struct objects *all, const char *key)
{
    for (size_t i = 0; i < all->keys.count; i++)
        if (strcmp(all->keys.list[i], key) == 0)
            return &all->bytes[i];
    return NULL;
}

static bool is_same(const struct zs_buffer *a, const struct zs_buffer *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

/* Whether a member of the journal, an object with paths as names or a list of them, has the path. */
static bool has_path(const zs_json *member, const char *path)
{
    const char *text;
    for (const zs_json *c = zs_json_first(member); c != NULL; c = zs_json_next(c))
        if ((zs_json_name(c) != NULL && strcmp(zs_json_name(c), path) == 0) ||
            (zs_json_string(c, &text) && strcmp(text, path) == 0))
            return true;
    return false;
}

/* Whether the journal, NULL: none, tells that the node in whose folder an object is may go. */
static bool may_go(const zs_json *journal, const char *key)
{
    bool may = false;
    char *path = zs_strdup(key);
    for (char *slash = strrchr(path, '/'); slash != NULL && !may; slash = strrchr(path, '/')) {
        *slash = '\0';
        may = has_path(zs_json_get(journal, "removed"), path) || has_path(zs_json_get(journal, "made"), path);
    }
    free(path);
    return may;
}

/* Whether it tells that a document may be another. Groups above have consolidated metadata. */
static bool may_change(const zs_json *journal, const char *key, const struct zs_buffer *before)
{
    static const char *const members[] = {"changes", "beside", "new"};
    static const char ending[] = "/zarr.json";
    const size_t n = strlen(key);
    const bool is_root = strcmp(key, "zarr.json") == 0;
    if (!is_root && (n < sizeof ending || strcmp(key + n - strlen(ending), ending) != 0))
        return false;
    char *path = zs_strndup(key, is_root ? 0 : n - strlen(ending));
    zs_json *document = NULL;
    bool may = zs_json_parse((const char *)before->data, before->size, &document, NULL) == ZS_OK &&
               zs_json_get(document, "consolidated_metadata") != NULL;
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        may = may || has_path(zs_json_get(journal, members[i]), path);
    zs_json_free(document);
    free(path);
    return may;
}

static void compare(const struct objects *before, const struct objects *after, const zs_json *journal)
{
    for (size_t i = 0; i < before->keys.count; i++) {
        const char *key = before->keys.list[i];
        const struct zs_buffer *now = find(after, key);
        if (strcmp(key, JOURNAL) == 0)
            continue;
        if (now == NULL ? !may_go(journal, key)
                        : !is_same(now, &before->bytes[i]) && !may_change(journal, key, &before->bytes[i]))
            abort();
    }
    for (size_t i = 0; i < after->keys.count; i++)
        if (find(before, after->keys.list[i]) == NULL)
            abort(); /* no object is made */
}

/* What the other functions of the hierarchy make of the store afterwards: an edit of all nodes. */
static void edit_all(struct zs_store *store)
{
    struct zs_hierarchy *h;
    const struct zs_node **nodes = NULL;
    size_t count = 0;
    zs_json *attributes;
    if (zs_hierarchy_open(store, true, &h, NULL) != ZS_OK)
        return;
    if (zs_hierarchy_list(h, &nodes, &count, NULL) == ZS_OK)
        for (size_t i = 0; i < count; i++)
            if (zs_hierarchy_edit(h, nodes[i], &attributes, NULL) == ZS_OK)
                (void)zs_json_set_string(attributes, "k", "v");
    (void)zs_hierarchy_flush(h, NULL);
    free(nodes);
    zs_hierarchy_free(h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tree tree;
    struct zs_store *store;
    tree_parse(data, size, &tree);
    if (zs_store_open_memory(&store, NULL) != ZS_OK)
        abort();
    for (size_t i = 0; i < tree.count; i++) {
        (void)zs_store_put(store, tree.files[i].path, tree.files[i].data, tree.files[i].size, NULL);
    }
    struct objects before = read_all(store);
    const struct zs_buffer *text = find(&before, JOURNAL);
    zs_json *journal = NULL;
    if (text != NULL && zs_json_parse((const char *)text->data, text->size, &journal, NULL) != ZS_OK)
        journal = NULL;
    const enum zs_status status = zs_hierarchy_recover(store, NULL);
    struct objects after = read_all(store);
    compare(&before, &after, journal);
    if (status == ZS_OK && find(&after, JOURNAL) != NULL)
        abort();
    if (status == ZS_OK) {
        if (zs_hierarchy_recover(store, NULL) != ZS_OK)
            abort();
        edit_all(store);
    }
    zs_json_free(journal);
    free_all(&before);
    free_all(&after);
    zs_store_free(store);
    return 0;
}
