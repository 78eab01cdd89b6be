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

/* The node whose chunks a directory may hold. */
struct owner {
    const char *array;                /* its path; NULL: a group's, or not known */
    const struct zs_array_meta *meta; /* NULL: the document is missing, or cannot be read */
    bool has_document;
    const char *above; /* path of the closest node above that has one; NULL: there is none */
};

/* A directory that is searched. */
struct directory {
    char *key;
    struct owner owner;   /* as seen from the directory above; once it was read, of this one */
    char **names;         /* NULL: it is gone */
    bool has_document;
    struct zs_node *node; /* of the document; NULL: that is none of a node */
};

struct search {
    struct zs_store *store;
    struct zs_contents *contents;
    struct directory *list; /* in the order of their depths */
    size_t count, capacity, first; /* of those that are not read yet */
};

/* ---- Names ---- */

/* The key of a chunk at the end of a path, of an array whose document is missing: the last "c", with numbers behind it.
 * The array lies below the node `above`, or below the root: "a/c/0" is a chunk of "a", "c/0" is none. NULL: there is
 * none. */
static const char *guess_key(const char *path, const char *above)
{
    const char *below = above != NULL ? zs_path_below(above, path) : path, *p = path + strlen(path);
    while (p > below && strchr("0123456789./", p[-1]) != NULL)
        p--;
    return p - below > 2 && p[-1] == 'c' && p[-2] == '/' ? p - 1 : NULL;
}

/* Whether a key is that of a chunk of the owner, or with is_directory of a directory that may hold chunks: numbers
 * behind a "c", with one separator of the two: an array that replaces another takes the other one, and old chunks may
 * be left. By the encoding "v2" numbers alone, with its separator. */
static bool is_chunk_key(const struct owner *owner, const char *key, bool is_directory)
{
    const struct zs_array_meta *meta = owner->meta;
    const char *begin = owner->array != NULL ? zs_path_below(owner->array, key)
                                             : owner->has_document ? NULL : guess_key(key, owner->above);
    const char *p = begin;
    if (begin == NULL)
        return false;
    const bool is_v2 = meta != NULL ? meta->key_is_v2 : owner->has_document && *p != 'c';
    char separator = meta != NULL && is_v2 ? meta->key_separator : '\0';
    int numbers = 0;
    if (!is_v2 && *p++ != 'c')
        return false;
    while (*p != '\0') {
        if (p > begin && (separator != '\0' ? *p != separator : *p != '.' && *p != '/'))
            return false;
        if (p > begin)
            separator = *p++;
        const size_t digits = strspn(p, "0123456789");
        if (digits == 0)
            return false;
        p += digits;
        numbers++;
    }
    if (is_directory)
        return meta == NULL || numbers < meta->ndim;
    if (meta == NULL)
        return numbers > 0 || owner->has_document;
    return numbers == (meta->ndim == 0 && meta->key_is_v2 ? 1 : meta->ndim);
}

/* Whether a file in a directory belongs to the store. */
static bool is_own(const struct directory *d, const char *name, const char *key)
{
    if (strcmp(name, DOCUMENT) == 0)
        return d->node != NULL;
    return zs_is_temporary_name(name) || strcmp(name, DOCUMENT ".aux.xml") == 0 ||
           strcmp(name, DOCUMENT ".ovr") == 0 || is_chunk_key(&d->owner, key, false);
}

/* ---- The walk ---- */

/* Takes over the key of a file or a link; NULL: without memory. */
static enum zs_status take(struct zs_contents *contents, char *key, bool is_own, struct zs_error *err)
{
    if (key == NULL || is_own)
        return zs_names_add(&contents->own, key, err);
    if (contents->foreign_count++ == 0)
        contents->foreign = key;
    else
        free(key);
    return ZS_OK;
}

static enum zs_status take_file(const struct search *search, const struct directory *d, const char *name,
                                struct zs_error *err)
{
    if (d->key[0] == '\0' && strcmp(name, ZS_MARK_NAME) == 0) {
        search->contents->is_marked = true;
        return ZS_OK;
    }
    char *key = zs_path_join(d->key, name);
    return take(search->contents, key, key != NULL && is_own(d, name, key), err);
}

/* Reads the document in a directory. A file that is not JSON, or not a Zarr v3 node, does not belong to the store. */
static enum zs_status load(const struct search *search, const char *path, struct zs_node **node, struct zs_error *err)
{
    *node = NULL;
    const enum zs_status status = zs_document_get_node(search->store, path, node, err);
    return zs_is_no_node(status) || status == ZS_CORRUPT ? ZS_OK : status;
}

/* Takes over the key. */
static enum zs_status add_directory(struct search *search, char *key, struct owner owner, struct zs_error *err)
{
    enum zs_status status = key != NULL ? ZS_OK : zs_fail_memory(err);
    if (key != NULL && zs_path_depth(key) > MAX_DEPTH)
        status = zs_fail(err, ZS_UNSUPPORTED, "%s/%s: expected at most %d directories above each other",
                         search->store->root, key, MAX_DEPTH);
    struct directory *grown =
        status == ZS_OK ? zs_grow(search->list, search->count, &search->capacity, sizeof *grown) : NULL;
    if (grown == NULL) {
        free(key);
        return status != ZS_OK ? status : zs_fail_memory(err);
    }
    search->list = grown;
    grown[search->count++] = (struct directory){.key = key, .owner = owner};
    return ZS_OK;
}

/* Takes a directory, for the search to go on in, or a link, which is not followed. */
static enum zs_status take_directory(struct search *search, const struct directory *d, const char *name,
                                     struct zs_error *err)
{
    char *key = zs_path_join(d->key, name);
    ZS_TRY_MEMORY(key, err);
    const bool is_for_chunks = is_chunk_key(&d->owner, key, true);
    const struct owner other = {.above = d->owner.has_document ? d->key : d->owner.above};
    enum zs_link link;
    struct zs_node *node = NULL;
    enum zs_status status = zs_store_is_link(search->store, key, &link, err);
    if (status == ZS_OK && link == ZS_LINK_NONE)
        return add_directory(search, key, is_for_chunks ? d->owner : other, err);
    if (status == ZS_OK)
        status = load(search, key, &node, err);
    const bool is_own_link = is_for_chunks || node != NULL;
    zs_node_free(node);
    if (status == ZS_OK)
        return take(search->contents, key, is_own_link, err);
    free(key);
    return status;
}

/* Lists a directory and loads its document; directories of one depth side by side. */
static enum zs_status read_directory(void *ctx, size_t item, struct zs_error *err)
{
    const struct search *search = ctx;
    struct directory *d = &search->list[search->first + item];
    const enum zs_status status = /* all names, also those that no key can have */
        search->store->ops->list(search->store, d->key, &d->names, err);
    if (status != ZS_OK)
        return status == ZS_NOT_FOUND ? ZS_OK : status;
    d->has_document = zs_is_one_of(DOCUMENT, (const char *const *)d->names);
    if (d->has_document)
        ZS_TRY(load(search, d->key, &d->node, err));
    if (d->node != NULL)
        d->owner = (struct owner){d->node->type == ZS_NODE_ARRAY ? d->key : NULL, d->node->array, true, NULL};
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
    return d.key[0] != '\0' ? zs_names_add(&search->contents->directories, zs_strdup(d.key), err) : ZS_OK;
}

/* Searches what is at and below a path, which may be nothing. The root is no directory that may go. */
static enum zs_status find(struct zs_store *store, const char *path, struct zs_contents *contents,
                           struct zs_error *err)
{
    struct search search = {.store = store, .contents = contents};
    enum zs_link link = ZS_LINK_NONE;
    if (path[0] != '\0')
        ZS_TRY(zs_store_is_link(store, path, &link, err));
    if (link != ZS_LINK_NONE) /* its target, even a document, does not belong to this store */
        return zs_names_add(&contents->own, zs_strdup(path), err);
    (void)zs_store_wait_commits(store, NULL); /* what failed is removed, too */
    enum zs_status status = add_directory(&search, zs_strdup(path), (struct owner){0}, err);
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
    return find(store, "", contents, err);
}

enum zs_status zs_contents_remove(struct zs_store *store, const struct zs_contents *contents, struct zs_error *err)
{
    const enum zs_status status =
        zs_store_remove_all(store, (const char *const *)contents->own.list, contents->own.count, err);
    for (size_t i = contents->directories.count; i-- > 0 && status == ZS_OK && !store->is_remote;)
        zs_store_remove_directory(store, contents->directories.list[i]);
    return status;
}

enum zs_status zs_contents_remove_below(struct zs_store *store, const char *path, bool is_left, struct zs_error *err)
{
    struct zs_contents found = {0};
    const char *last = NULL;
    enum zs_status status = find(store, path, &found, err);
    for (size_t i = 0; i < found.own.count && is_left; i++)
        if (zs_is_document(found.own.list[i]))
            last = found.own.list[i]; /* of a node in a group rather than the group */
    if (status == ZS_OK && last != NULL)
        status = zs_fail(err, ZS_ARGUMENT,
                         "%s: there is a /%.*s already: it is not replaced; choose another name, or remove /%s",
                         store->root, (int)(strlen(last) - strlen("/" DOCUMENT)), last, path);
    else if (status == ZS_OK)
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
