#include "zarr/contents.h"

#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "store/staging.h"
#include "zarr/document.h"
#include "zarr/name.h"

/* As deep as nodes and chunk keys go (store.c). */
#define MAX_DEPTH 128
/* Listings at once: object stores take as many without slowing down. */
#define LISTING_THREADS 16
#define DOCUMENT "zarr.json"

/* The array of a directory, which decides which files in the directory belong to the store. */
struct owner {
    const char *array;                /* path of the array whose chunks the directory holds; NULL: of none */
    const struct zs_array_meta *meta; /* NULL: the document is missing, or cannot be read */
    bool has_document;
};

/* A directory that is searched. */
struct directory {
    char *key;
    int depth;
    struct owner owner; /* of the directory above; once it was read, of this one */
    char **names;       /* NULL: it is gone */
    struct zs_node *node;
    bool has_document;
};

struct search {
    struct zs_store *store;
    struct zs_contents *contents;
    struct directory *list; /* in the order of their depths */
    size_t count, capacity, first; /* of those that are not read yet */
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
    if (zs_is_temporary_name(name) || strcmp(name, ZS_MARK_NAME) == 0) /* of a former version, below the root */
        return true;
    if (strcmp(name, DOCUMENT) == 0)
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

/* Takes over the key. */
static enum zs_status add_directory(struct search *search, char *key, struct owner owner, int depth,
                                    struct zs_error *err)
{
    enum zs_status status = key != NULL ? ZS_OK : zs_fail_memory(err);
    if (depth > MAX_DEPTH)
        status = zs_fail(err, ZS_UNSUPPORTED, "%s/%s: expected at most %d directories above each other",
                         search->store->root, key, MAX_DEPTH);
    struct directory *grown =
        status == ZS_OK ? zs_grow(search->list, search->count, &search->capacity, sizeof *grown) : NULL;
    if (grown == NULL) {
        free(key);
        return status != ZS_OK ? status : zs_fail_memory(err);
    }
    search->list = grown;
    grown[search->count++] = (struct directory){.key = key, .owner = owner, .depth = depth};
    return ZS_OK;
}

static enum zs_status take_file(const struct search *search, const struct directory *d, const char *name,
                                struct zs_error *err)
{
    char *key = zs_path_join(d->key, name);
    if (key != NULL && strcmp(key, ZS_MARK_NAME) == 0) {
        search->contents->is_marked = true;
        free(key);
        return ZS_OK;
    }
    if (key == NULL || is_own(&d->owner, key))
        return zs_names_add(&search->contents->own, key, err);
    const enum zs_status status = add_foreign(search->contents, key, err);
    free(key);
    return status;
}

/* Takes a directory, for the search to go on in, or a link, which is not followed. */
static enum zs_status take_directory(struct search *search, const struct directory *d, const char *name,
                                     struct zs_error *err)
{
    char *key = zs_format("%s%s%.*s", d->key, d->key[0] != '\0' ? "/" : "", (int)zs_prefix_length(name), name);
    const struct owner owner = d->owner;
    const size_t skip = owner.array != NULL && owner.array[0] != '\0' ? strlen(owner.array) + 1 : 0;
    ZS_TRY_MEMORY(key, err);
    const bool is_for_chunks = owner.array != NULL && is_chunk_key(&owner, key + skip, strlen(key + skip), true);
    enum zs_link link;
    struct zs_node *node = NULL;
    enum zs_status status = zs_store_is_link(search->store, key, &link, err);
    if (status == ZS_OK && link == ZS_LINK_NONE)
        return add_directory(search, key, is_for_chunks ? owner : (struct owner){0}, d->depth + 1, err);
    if (status == ZS_OK)
        status = load(search, key, &node, err);
    const bool is_own = is_for_chunks || node != NULL;
    zs_node_free(node);
    if (status == ZS_OK && is_own)
        return zs_names_add(&search->contents->own, key, err);
    if (status == ZS_OK)
        status = add_foreign(search->contents, key, err);
    free(key);
    return status;
}

/* Lists a directory and loads its document; directories of one depth side by side. */
static enum zs_status read_directory(void *ctx, size_t item, struct zs_error *err)
{
    const struct search *search = ctx;
    struct directory *d = &search->list[search->first + item];
    bool has_chunks = false;
    (void)zs_store_wait_commits(search->store, NULL); /* what failed is removed, too */
    const enum zs_status status =
        search->store->ops->list(search->store, d->key, &d->names, err); /* temporary files too */
    if (status != ZS_OK)
        return status == ZS_NOT_FOUND ? ZS_OK : status;
    for (char **name = d->names; *name != NULL; name++) {
        d->has_document |= strcmp(*name, DOCUMENT) == 0;
        has_chunks |= strcmp(*name, "c/") == 0;
    }
    if (d->has_document)
        ZS_TRY(load(search, d->key, &d->node, err));
    /* Without documents, an array called c looks like the chunks of an array above it. */
    if (has_chunks && !d->owner.has_document)
        d->owner = (struct owner){0};
    if (d->node != NULL)
        d->owner = (struct owner){d->node->type == ZS_NODE_ARRAY ? d->key : NULL, d->node->array, true};
    else if (d->owner.array == NULL)
        d->owner = (struct owner){d->key, NULL, false};
    else if (d->has_document) /* one that is no node */
        d->owner.has_document = false;
    return ZS_OK;
}

/* Takes everything in a directory, its document first. */
static enum zs_status take_all(struct search *search, size_t i, struct zs_error *err)
{
    const struct directory d = search->list[i]; /* the list may grow */
    if (d.has_document)
        ZS_TRY(take_file(search, &d, DOCUMENT, err));
    for (char **name = d.names; name != NULL && *name != NULL; name++) {
        if ((*name)[strspn(*name, "./")] == '\0' || strcmp(*name, DOCUMENT) == 0) /* "./", "../" */
            continue;
        ZS_TRY(zs_prefix_length(*name) > 0 ? take_directory(search, &d, *name, err)
                                           : take_file(search, &d, *name, err));
    }
    return d.depth > 0 ? zs_names_add(&search->contents->directories, zs_strdup(d.key), err) : ZS_OK;
}

/* Searches what is at and below a path. `depth`: 0 for the root, which is no directory that may go. */
static enum zs_status find(struct zs_store *store, const char *path, int depth, struct zs_contents *contents,
                           struct zs_error *err)
{
    struct search search = {.store = store, .contents = contents};
    enum zs_status status = add_directory(&search, zs_strdup(path), (struct owner){0}, depth, err);
    const int threads = store->is_remote ? LISTING_THREADS : 1; /* each listing there is a request */
    while (status == ZS_OK && search.first < search.count) {
        const size_t end = search.count;
        status = zs_parallel_for(threads, end - search.first, read_directory, &search, err);
        for (; search.first < end && status == ZS_OK; search.first++)
            status = take_all(&search, search.first, err);
    }
    for (size_t i = 0; i < search.count; i++) {
        free(search.list[i].key);
        zs_names_free(search.list[i].names);
        zs_node_free(search.list[i].node);
    }
    free(search.list);
    return status;
}

enum zs_status zs_contents_find(struct zs_store *store, struct zs_contents *contents, struct zs_error *err)
{
    *contents = (struct zs_contents){0};
    return find(store, "", 0, contents, err);
}

enum zs_status zs_contents_remove(struct zs_store *store, const struct zs_contents *contents, struct zs_error *err)
{
    const enum zs_status status =
        zs_store_remove_all(store, (const char *const *)contents->own.list, contents->own.count, err);
    for (size_t i = contents->directories.count; i-- > 0 && status == ZS_OK && !store->is_remote;)
        zs_store_remove_directory(store, contents->directories.list[i]);
    return status;
}

/* Finds what is at and below a path (not ""), which may be nothing. */
static enum zs_status find_below(struct zs_store *store, const char *path, struct zs_contents *contents,
                                 struct zs_error *err)
{
    enum zs_link link;
    ZS_TRY(zs_store_is_link(store, path, &link, err));
    if (link != ZS_LINK_NONE) /* its target, even a document, does not belong to this store */
        return zs_names_add(&contents->own, zs_strdup(path), err);
    return find(store, path, 1, contents, err);
}

enum zs_status zs_contents_remove_left(struct zs_store *store, const char *path, struct zs_error *err)
{
    struct zs_contents found = {0};
    const char *last = NULL;
    enum zs_status status = find_below(store, path, &found, err);
    for (size_t i = 0; i < found.own.count && status == ZS_OK; i++)
        if (zs_is_document(found.own.list[i]))
            last = found.own.list[i]; /* of a node in a group rather than the group */
    if (last != NULL)
        status = zs_fail(err, ZS_ARGUMENT,
                         "%s: there is a /%.*s already: it is not replaced; choose another name, or remove /%s",
                         store->root, (int)(strlen(last) - strlen("/" DOCUMENT)), last, path);
    else if (status == ZS_OK)
        status = zs_contents_remove(store, &found, err);
    zs_contents_clear(&found);
    return status == ZS_UNSUPPORTED ? ZS_OK : status;
}

enum zs_status zs_contents_remove_below(struct zs_store *store, const char *path, struct zs_error *err)
{
    struct zs_contents found = {0};
    enum zs_status status = find_below(store, path, &found, err);
    if (status == ZS_OK)
        status = zs_contents_remove(store, &found, err);
    zs_contents_clear(&found);
    return status;
}

void zs_contents_clear(struct zs_contents *contents)
{
    zs_names_free(contents->own.list);
    zs_names_free(contents->directories.list);
    free(contents->foreign);
    *contents = (struct zs_contents){0};
}
