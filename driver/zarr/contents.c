#include "zarr/contents.h"

#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "store/mark.h"
#include "zarr/document.h"
#include "zarr/name.h"

/* As deep as nodes and chunk keys go (store.c). */
#define MAX_DEPTH 128
/* Listings at once: object stores take as many without slowing down. */
#define LISTING_THREADS 16

/* The array of a directory, which decides which files in the directory belong to the store. */
struct owner {
    const char *array;                /* path of the array whose chunks the directory holds; NULL: of none */
    const struct zs_array_meta *meta; /* NULL: the document is missing, or cannot be read */
    bool has_document;
};

struct search {
    struct zs_store *store;
    struct zs_contents *contents;
};

static enum zs_status add_foreign(struct zs_contents *contents, const char *key, struct zs_error *err)
{
    if (contents->foreign_count++ == 0 && (contents->foreign = zs_strdup(key)) == NULL)
        return zs_fail_memory(err);
    return ZS_OK;
}

/* ---- Names ---- */

static bool is_number(const char *text, size_t n)
{
    return n > 0 && strspn(text, "0123456789") >= n;
}

/* Whether `key`, relative to the array, names a chunk, or with `is_directory` a directory that may hold chunks. */
static bool is_chunk_key(const struct owner *owner, const char *key, size_t n, bool is_directory)
{
    const struct zs_array_meta *meta = owner->meta;
    const bool is_prefixed = n > 0 && key[0] == 'c';
    if (is_prefixed ? meta != NULL && meta->key_is_v2 : !owner->has_document || (meta != NULL && !meta->key_is_v2))
        return false;
    int numbers = 0;
    size_t i = is_prefixed ? 1 : 0;
    /* Either separator behind "c": an array that replaces another takes the other one, and old chunks may be left. */
    const char separator = is_prefixed && n > 1 && key[1] == '.' ? '.' : '/';
    const bool is_dotted = is_prefixed ? separator == '.' : meta != NULL && meta->key_separator == '.';
    if (is_prefixed && i < n && key[i++] != separator)
        return false;
    while (i < n) {
        const size_t length = strcspn(key + i, meta == NULL ? "./" : is_dotted ? "." : "/");
        const size_t end = i + length < n ? i + length : n;
        if (!is_number(key + i, end - i))
            return false;
        numbers++;
        i = end + 1;
    }
    if (is_directory)
        return meta == NULL || numbers < meta->ndim;
    if (meta == NULL)
        return numbers > 0 || owner->has_document;
    return numbers == meta->ndim || (meta->ndim == 0 && meta->key_is_v2 && numbers == 1);
}

/* Whether a file belongs to the store. `key` is relative to the root. */
static bool is_own(const struct owner *owner, const char *key)
{
    const char *name = zs_path_name(key);
    if (zs_is_temporary_name(name) || zs_is_mark(name))
        return true;
    if (strcmp(name, "zarr.json") == 0)
        return owner->has_document;
    if (strcmp(name, "zarr.json.aux.xml") == 0 || strcmp(name, "zarr.json.ovr") == 0)
        return true;
    if (owner->array == NULL)
        return false;
    const size_t above = strlen(owner->array) + (owner->array[0] != '\0' ? 1 : 0);
    return is_chunk_key(owner, key + above, strlen(key + above), false);
}

/* ---- The walk ---- */

/* Reads the document in a directory. A file that is not JSON, or not a Zarr v3 node, does not belong to the store. */
static enum zs_status load(const struct search *search, const char *path, struct zs_node **node, struct zs_error *err)
{
    *node = NULL;
    const enum zs_status status = zs_document_get_node(search->store, path, node, err);
    return zs_is_no_node(status) || status == ZS_CORRUPT ? ZS_OK : status;
}

static enum zs_status walk(const struct search *search, const char *path, struct owner above, int depth,
                           struct zs_error *err);

static enum zs_status take_file(const struct search *search, const struct owner *owner, const char *key,
                                struct zs_error *err)
{
    if (!is_own(owner, key))
        return add_foreign(search->contents, key, err);
    return zs_names_add(&search->contents->own, zs_strdup(key), err);
}

static enum zs_status take_directory(const struct search *search, const struct owner *owner, const char *key, int depth,
                                     struct zs_error *err)
{
    const size_t skip = owner->array != NULL && owner->array[0] != '\0' ? strlen(owner->array) + 1 : 0;
    const bool is_for_chunks = owner->array != NULL && is_chunk_key(owner, key + skip, strlen(key + skip), true);
    enum zs_link link;
    ZS_TRY(zs_store_is_link(search->store, key, &link, err));
    if (link != ZS_LINK_NONE) {
        struct zs_node *node;
        ZS_TRY(load(search, key, &node, err));
        const bool is_node = node != NULL;
        zs_node_free(node);
        return is_for_chunks || is_node ? zs_names_add(&search->contents->own, zs_strdup(key), err)
                                        : add_foreign(search->contents, key, err);
    }
    ZS_TRY(walk(search, key, is_for_chunks ? *owner : (struct owner){0}, depth + 1, err));
    return zs_names_add(&search->contents->directories, zs_strdup(key), err);
}

/* Directories that are walked side by side. Each has its own results, which are joined in the order of the
 * directories. */
struct branches {
    const struct search *search;
    const struct owner *owner;
    int depth;
    struct zs_names keys;
    struct zs_contents *found;
};

static enum zs_status walk_branch(void *ctx, size_t item, struct zs_error *err)
{
    const struct branches *branches = ctx;
    const struct search search = {branches->search->store, &branches->found[item]};
    return take_directory(&search, branches->owner, branches->keys.list[item], branches->depth, err);
}

/* Moves names to the end of others. */
static enum zs_status move_names(struct zs_names *from, struct zs_names *to, struct zs_error *err)
{
    enum zs_status status = ZS_OK;
    for (size_t i = 0; i < from->count; i++) {
        char *name = from->list[i];
        from->list[i] = NULL;
        if (status == ZS_OK)
            status = zs_names_add(to, name, err);
        else
            free(name);
    }
    from->count = 0;
    return status;
}

static enum zs_status move_contents(struct zs_contents *from, struct zs_contents *to, struct zs_error *err)
{
    ZS_TRY(move_names(&from->own, &to->own, err));
    ZS_TRY(move_names(&from->directories, &to->directories, err));
    to->foreign_count += from->foreign_count;
    if (to->foreign == NULL) {
        to->foreign = from->foreign;
        from->foreign = NULL;
    }
    return ZS_OK;
}

/* Walks directories, in a remote store side by side, because each listing is a request. */
static enum zs_status take_directories(struct branches *branches, struct zs_error *err)
{
    const size_t n = branches->keys.count;
    branches->found = zs_calloc(n, sizeof *branches->found);
    ZS_TRY_MEMORY(branches->found, err);
    const int threads = branches->search->store->is_remote ? LISTING_THREADS : 1;
    enum zs_status status = zs_parallel_for(threads, n, walk_branch, branches, err);
    for (size_t i = 0; i < n; i++) {
        if (status == ZS_OK)
            status = move_contents(&branches->found[i], branches->search->contents, err);
        zs_contents_clear(&branches->found[i]);
    }
    free(branches->found);
    return status;
}

/* In which order the names of a directory are taken. */
enum pass { TAKES_DOCUMENT, TAKES_FILES, TAKES_DIRECTORIES, PASSES };

static enum pass pass_of(const char *name)
{
    if (name[strspn(name, "./")] == '\0') /* "./", "../" */
        return PASSES;
    if (zs_prefix_length(name) > 0)
        return TAKES_DIRECTORIES;
    return strcmp(name, "zarr.json") == 0 ? TAKES_DOCUMENT : TAKES_FILES;
}

/* Takes a file, or adds a directory to those that are walked later. */
static enum zs_status take_name(const char *path, const char *name, struct branches *branches, struct zs_error *err)
{
    const bool is_directory = pass_of(name) == TAKES_DIRECTORIES;
    char *key = zs_path_join(path, name);
    if (key != NULL && is_directory)
        key[strlen(key) - 1] = '\0';
    if (key == NULL || is_directory)
        return zs_names_add(&branches->keys, key, err);
    const enum zs_status status = take_file(branches->search, branches->owner, key, err);
    free(key);
    return status;
}

/* Takes everything in a directory: its document first, then files, then directories. */
static enum zs_status take_all(const struct search *search, const char *path, const struct owner *owner, char **names,
                               int depth, struct zs_error *err)
{
    enum zs_status status = ZS_OK;
    struct branches branches = {.search = search, .owner = owner, .depth = depth};
    for (int pass = 0; pass < PASSES; pass++)
        for (char **name = names; *name != NULL && status == ZS_OK; name++)
            if (pass_of(*name) == (enum pass)pass)
                status = take_name(path, *name, &branches, err);
    if (status == ZS_OK && branches.keys.count > 0)
        status = take_directories(&branches, err);
    zs_names_free(branches.keys.list);
    return status;
}

static enum zs_status walk(const struct search *search, const char *path, struct owner above, int depth,
                           struct zs_error *err)
{
    if (depth > MAX_DEPTH)
        return zs_fail(err, ZS_UNSUPPORTED, "%s/%s: expected at most %d directories above each other",
                       search->store->root, path, MAX_DEPTH);
    char **names;
    struct zs_node *node = NULL;
    enum zs_status status = search->store->ops->list(search->store, path, &names, err); /* temporary files too */
    if (status != ZS_OK)
        return status == ZS_NOT_FOUND ? ZS_OK : status;
    bool has_document = false, has_chunks = false;
    for (char **name = names; *name != NULL; name++) {
        has_document |= strcmp(*name, "zarr.json") == 0;
        has_chunks |= strcmp(*name, "c/") == 0;
    }
    if (has_document)
        status = load(search, path, &node, err);
    /* Without documents, an array called c looks like the chunks of an array above it. */
    if (has_chunks && !above.has_document)
        above = (struct owner){0};
    struct owner owner = above;
    if (node != NULL)
        owner = (struct owner){node->type == ZS_NODE_ARRAY ? path : NULL, node->array, true};
    else if (above.array == NULL)
        owner = (struct owner){path, NULL, false};
    else if (has_document) /* one that is no node */
        owner.has_document = false;
    if (status == ZS_OK)
        status = take_all(search, path, &owner, names, depth, err);
    zs_node_free(node);
    zs_names_free(names);
    return status;
}

enum zs_status zs_contents_find(struct zs_store *store, struct zs_contents *contents, struct zs_error *err)
{
    *contents = (struct zs_contents){0};
    const struct search search = {store, contents};
    return walk(&search, "", (struct owner){0}, 0, err);
}

/* Removes the marks among the keys, or all others. */
static enum zs_status remove_marks(struct zs_store *store, const struct zs_names *own, bool are_marks,
                                   struct zs_error *err)
{
    const char **keys = zs_calloc(own->count + 1, sizeof *keys);
    size_t n = 0;
    ZS_TRY_MEMORY(keys, err);
    for (size_t i = 0; i < own->count; i++)
        if (zs_is_mark(own->list[i]) == are_marks)
            keys[n++] = own->list[i];
    const enum zs_status status = zs_store_remove_all(store, keys, n, err);
    free(keys);
    return status;
}

enum zs_status zs_contents_remove(struct zs_store *store, const struct zs_contents *contents, enum zs_marks marks,
                                  struct zs_error *err)
{
    ZS_TRY(remove_marks(store, &contents->own, false, err));
    if (marks == ZS_MARKS_GO)
        ZS_TRY(remove_marks(store, &contents->own, true, err));
    for (size_t i = 0; i < contents->directories.count && !store->is_remote; i++)
        zs_store_remove_directory(store, contents->directories.list[i]);
    return ZS_OK;
}

enum zs_status zs_contents_find_below(struct zs_store *store, const char *path, struct zs_contents *contents,
                                      struct zs_error *err)
{
    const struct search search = {store, contents};
    enum zs_link link;
    ZS_TRY(zs_store_is_link(store, path, &link, err));
    if (link != ZS_LINK_NONE) /* its target, even a document, does not belong to this store */
        return zs_names_add(&contents->own, zs_strdup(path), err);
    ZS_TRY(walk(&search, path, (struct owner){0}, 0, err));
    return zs_names_add(&contents->directories, zs_strdup(path), err);
}

/* Finds the objects below the path of an array that need not be stored: its chunks are known by the keys of its
 * metadata. */
static enum zs_status find_objects_at(struct zs_store *store, const struct zs_node *array,
                                      struct zs_contents *contents, struct zs_error *err)
{
    const struct search search = {store, contents};
    ZS_TRY(walk(&search, array->path, (struct owner){array->path, array->array, true}, 0, err));
    return zs_names_add(&contents->directories, zs_strdup(array->path), err);
}

enum zs_status zs_contents_remove_left(struct zs_store *store, const struct zs_node *array, struct zs_error *err)
{
    struct zs_contents contents = {0};
    bool has_document = false;
    enum zs_status status = find_objects_at(store, array, &contents, err);
    for (size_t i = 0; i < contents.own.count; i++)
        has_document = has_document || zs_is_document(contents.own.list[i]);
    if (status == ZS_OK && !has_document)
        status = zs_contents_remove(store, &contents, ZS_MARKS_STAY, err);
    zs_contents_clear(&contents);
    return status == ZS_UNSUPPORTED ? ZS_OK : status;
}

enum zs_status zs_contents_remove_below(struct zs_store *store, const char *path, enum zs_marks marks,
                                        struct zs_error *err)
{
    struct zs_contents contents = {0};
    enum zs_status status = zs_contents_find_below(store, path, &contents, err);
    if (status == ZS_OK)
        status = zs_contents_remove(store, &contents, marks, err);
    zs_contents_clear(&contents);
    return status;
}

void zs_contents_clear(struct zs_contents *contents)
{
    zs_names_free(contents->own.list);
    zs_names_free(contents->directories.list);
    free(contents->foreign);
    *contents = (struct zs_contents){0};
}
