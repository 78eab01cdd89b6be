/* Shows a hive as a flat store: opening makes its documents of those of the first leaf; keys of chunks are translated
 * to keys in leaves. */
#include "zarr/hive.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "zarr/document.h"
#include "zarr/name.h"
#include "zarr/node.h"

#define STAMP "morton_hive_commit"
/* Most directories that the search for the first leaf lists. */
#define MAX_LISTINGS 4096

/* An array of all cells of a level. */
struct hive_array {
    struct zs_node *shown, *stored; /* both at "6/count", in the flat store and in a leaf */
    char *folder;                   /* of the chunks of `shown` */
    const struct zs_hive_level *level;
    uint64_t chunks;      /* stored in a leaf, along the cells */
    struct zs_map leaves; /* which leaves have the array, as far as was checked */
};

struct hive_store {
    struct zs_store base;
    struct zs_hive hive;
    zs_json *root;            /* its document */
    const zs_json *documents; /* of all other nodes, by path: the consolidated metadata of the root */
    struct hive_array *arrays;
    size_t count, capacity;
    pthread_mutex_t lock;
    struct zs_map stamps[ZS_HIVE_MAX_ORDER + 1]; /* of each level: leaves whose stamp was checked */
};

static char is_in_leaf[1], is_absent[1];

static struct hive_store *hive_of(const struct zs_store *s)
{
    return (struct hive_store *)s;
}

/* ---- Leaves ---- */

static enum zs_status load(struct zs_store *store, zs_json **document, struct zs_error *err, const char *leaf,
                           const char *path)
{
    char *key = zs_format("%s%s/zarr.json", leaf, path);
    const enum zs_status status = key != NULL ? zs_document_get(store, key, document, err) : zs_fail_memory(err);
    free(key);
    return status;
}

/* Whether a leaf is there and finished. */
static enum zs_status check_stamp(struct zs_store *store, const char *leaf, bool *is_there, struct zs_error *err)
{
    zs_json *document = NULL;
    const enum zs_status status = load(store, &document, err, leaf, "");
    *is_there = status == ZS_OK && zs_json_is_object(zs_json_get(zs_json_get(document, "attributes"), STAMP));
    zs_json_free(document);
    return status == ZS_NOT_FOUND ? ZS_OK : status;
}

/* Whether a member is null, [] or {}, which some writers leave out. */
static bool is_nothing(const zs_json *node)
{
    return zs_json_typeof(node) == ZS_JSON_NULL ||
           ((zs_json_is_array(node) || zs_json_is_object(node)) && zs_json_size(node) == 0);
}

/* Returns the name of a member of a, except attributes, that differs in b; NULL when none does. */
static const char *find_difference(const zs_json *a, const zs_json *b)
{
    for (const zs_json *m = zs_json_first(a); m != NULL; m = zs_json_next(m)) {
        const zs_json *other = zs_json_get(b, zs_json_name(m));
        if (strcmp(zs_json_name(m), "attributes") != 0 && !(is_nothing(m) && is_nothing(other)) &&
            !zs_json_is_same(m, other))
            return zs_json_name(m);
    }
    return NULL;
}

/* Finds an attribute that changes what values mean (CF 2.5.1, 3.1, 8.1) and differs; other attributes may describe one
 * leaf alone. */
static const char *find_attribute_difference(const zs_json *a, const zs_json *b)
{
    static const char *const names[] = {"_FillValue", "missing_value", "scale_factor", "add_offset", "units"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!zs_json_is_same(zs_json_get(zs_json_get(a, "attributes"), names[i]),
                             zs_json_get(zs_json_get(b, "attributes"), names[i])))
            return names[i];
    return NULL;
}

/* Checks whether a leaf has an array. Fails when its elements are stored otherwise than in the first leaf, or mean
 * something else. */
static enum zs_status compare_array(struct hive_store *s, const struct hive_array *a, const char *leaf, bool *is_there,
                                    struct zs_error *err)
{
    zs_json *document = NULL;
    char *below = zs_format("/%s", a->stored->path);
    enum zs_status status = below != NULL ? load(s->base.inner, &document, err, leaf, below) : zs_fail_memory(err);
    *is_there = status == ZS_OK;
    const zs_json *first = a->stored->document;
    const char *other = *is_there ? find_difference(first, document) : NULL;
    if (*is_there && other == NULL)
        other = find_difference(document, first);
    if (*is_there && other == NULL)
        other = find_attribute_difference(first, document);
    if (other != NULL)
        status = zs_fail(err, ZS_INVALID,
                         "%s/%s%s/zarr.json: expected the same \"%.60s\" as in the first leaf, found another",
                         s->base.root, leaf, below, other);
    zs_json_free(document);
    free(below);
    return status == ZS_NOT_FOUND ? ZS_OK : status;
}

/* Returns is_in_leaf or is_absent, NULL when the leaf was not checked yet. */
static const void *recall(struct hive_store *s, const struct zs_map *leaves, uint64_t number)
{
    (void)pthread_mutex_lock(&s->lock);
    const void *known = zs_map_get(leaves, number);
    (void)pthread_mutex_unlock(&s->lock);
    return known;
}

static void remember(struct hive_store *s, struct zs_map *leaves, uint64_t number, bool is_there)
{
    (void)pthread_mutex_lock(&s->lock);
    (void)zs_map_set(leaves, number, is_there ? is_in_leaf : is_absent); /* without memory it is checked again */
    (void)pthread_mutex_unlock(&s->lock);
}

/* Checks, once for each leaf and each of its arrays, whether a finished leaf has the array. */
static enum zs_status check_leaf(struct hive_store *s, struct hive_array *a, uint64_t number, const char *leaf,
                                 bool *is_there, struct zs_error *err)
{
    struct zs_map *stamps = &s->stamps[a->level - s->hive.levels];
    const void *known = recall(s, &a->leaves, number);
    const void *stamp = known != NULL ? NULL : recall(s, stamps, number);
    *is_there = known == is_in_leaf || stamp == is_in_leaf;
    if (known != NULL)
        return ZS_OK;
    if (stamp == NULL) {
        ZS_TRY(check_stamp(s->base.inner, leaf, is_there, err));
        remember(s, stamps, number, *is_there);
    }
    if (*is_there)
        ZS_TRY(compare_array(s, a, leaf, is_there, err));
    remember(s, &a->leaves, number, *is_there);
    return ZS_OK;
}

struct search {
    struct hive_store *s;
    uint64_t number; /* of the leaf that is found */
    bool is_found;
    int listings;
};

/* Lists the directories below a prefix, sorted, so that each process finds the same leaf. Free with zs_names_free(). */
static enum zs_status list_folders(struct zs_store *store, const char *prefix, char ***names, struct zs_error *err)
{
    size_t kept = 0;
    ZS_TRY(zs_store_list(store, prefix, names, err));
    zs_names_sort(*names);
    for (char **name = *names; *name != NULL; name++) {
        char *folder = *name, *end = folder + strlen(folder);
        *name = NULL;
        if (end > folder && end[-1] == '/') {
            end[-1] = '\0';
            (*names)[kept++] = folder;
        } else {
            free(folder);
        }
    }
    return ZS_OK;
}

/* Looks for the first finished leaf below a node. */
static enum zs_status find_leaf(struct search *f, const char *prefix, int order, uint64_t number, struct zs_error *err)
{
    const struct zs_hive *hive = &f->s->hive;
    const struct zs_hive_level *level = &hive->levels[0];
    if (order == level->node) {
        char *leaf = zs_hive_leaf(hive, level, number);
        f->number = number;
        const enum zs_status status = leaf != NULL ? check_stamp(f->s->base.inner, leaf, &f->is_found, err)
                                                   : zs_fail_memory(err);
        free(leaf);
        return status;
    }
    char **names = NULL;
    if (f->listings++ >= MAX_LISTINGS)
        return zs_fail(err, ZS_UNSUPPORTED, "expected a leaf within %d directories", MAX_LISTINGS);
    enum zs_status status = list_folders(f->s->base.inner, prefix, &names, err);
    for (char **name = names; status == ZS_OK && *name != NULL && !f->is_found; name++) {
        int child_order;
        uint64_t child;
        if (!zs_hive_step(hive, level->node, order, number, *name, &child_order, &child))
            continue;
        char *below = zs_path_join(prefix, *name);
        status = below != NULL ? find_leaf(f, below, child_order, child, err) : zs_fail_memory(err);
        free(below);
    }
    zs_names_free(names);
    return status;
}

/* ---- Documents ---- */

/* Describes the cells of a level as all cells in nested order, without a coordinate of their numbers. */
static bool describe_all_cells(zs_json *document)
{
    zs_json *dggs = zs_json_get_mutable(zs_json_get_mutable(document, "attributes"), "dggs");
    if (!zs_json_is_object(dggs))
        return false;
    zs_json_remove(dggs, "name");
    zs_json_remove(dggs, "coordinate");
    zs_json_remove(dggs, "compression");
    zs_json_remove(dggs, "indexing_scheme");
    return zs_json_add_string(dggs, "name", "healpix") != NULL &&
           zs_json_add_string(dggs, "indexing_scheme", "nested") != NULL;
}

/* Makes the document of an array of all cells. NULL unless the leaf's array has all its cells, in whole chunks. */
static zs_json *make_whole_array(const struct zs_node *stored, const struct zs_hive_level *level, const char *dimension)
{
    const struct zs_array_meta *meta = stored->array;
    const uint64_t cells = (uint64_t)1 << (2 * (level->cells - level->node));
    if (meta == NULL || meta->ndim == 0 || meta->dimension_names[0] == NULL ||
        strcmp(meta->dimension_names[0], dimension) != 0 || meta->shape[0] != cells || meta->edges[0] != NULL ||
        cells % meta->chunk_shape[0] != 0)
        return NULL;
    zs_json *out = zs_json_copy(stored->document), *shape = zs_json_new_array();
    bool ok = out != NULL && shape != NULL &&
              zs_json_add_uint64(shape, NULL, (uint64_t)ZS_HIVE_FACES << (2 * level->cells)) != NULL;
    for (int d = 1; d < meta->ndim && ok; d++)
        ok = zs_json_add_uint64(shape, NULL, meta->shape[d]) != NULL;
    if (ok && zs_json_set(out, "shape", shape) != NULL)
        return out;
    if (!ok)
        zs_json_free(shape);
    zs_json_free(out);
    return NULL;
}

static enum zs_status add_array(struct hive_store *s, const struct zs_hive_level *level, const char *path,
                                zs_json *document, const char *dimension, zs_json *documents, struct zs_error *err)
{
    struct hive_array a = {.level = level};
    struct hive_array *grown = zs_grow(s->arrays, s->count, &s->capacity, sizeof *grown);
    if (grown == NULL) {
        zs_json_free(document);
        return zs_fail_memory(err);
    }
    s->arrays = grown;
    ZS_TRY(zs_node_create(path, document, true, &a.stored, err));
    zs_json *shown = make_whole_array(a.stored, level, dimension);
    if (shown == NULL) { /* such as times, which differ between leaves; or an array that cannot be read */
        zs_json *same = a.stored->array == NULL ? zs_json_copy(a.stored->document) : NULL;
        const bool ok = a.stored->array != NULL || zs_json_add(documents, path, same) != NULL;
        zs_node_free(a.stored);
        return ok ? ZS_OK : zs_fail_memory(err);
    }
    const zs_json *member = zs_json_add(documents, path, shown);
    enum zs_status status = member != NULL ? zs_node_create(path, zs_json_copy(member), true, &a.shown, err)
                                           : zs_fail_memory(err);
    if (status == ZS_OK && a.shown->array == NULL)
        status = zs_fail(err, a.shown->array_status, "%s", a.shown->array_error->message);
    if (status == ZS_OK && (a.folder = zs_chunk_folder(a.shown->array, path)) == NULL)
        status = zs_fail_memory(err);
    if (status != ZS_OK) {
        zs_node_free(a.shown);
        zs_node_free(a.stored);
        return status;
    }
    a.chunks = a.stored->array->shape[0] / a.stored->array->chunk_shape[0];
    s->arrays[s->count++] = a;
    return ZS_OK;
}

/* Adds the arrays in a group of a leaf. */
static enum zs_status add_arrays(struct hive_store *s, const struct zs_hive_level *level, const char *leaf,
                                 const char *group, const char *dimension, zs_json *documents, struct zs_error *err)
{
    char **names = NULL, *folder = zs_format("%s/%s", leaf, group);
    enum zs_status status = folder != NULL ? list_folders(s->base.inner, folder, &names, err) : zs_fail_memory(err);
    free(folder);
    for (char **name = names; status == ZS_OK && *name != NULL; name++) {
        zs_json *document = NULL;
        if (!zs_is_node_name(*name) || strcmp(*name, "morton") == 0 || strcmp(*name, "cell_ids") == 0)
            continue; /* numbers of the leaf's cells */
        char *path = zs_format("%s/%s", group, *name), *below = zs_format("/%s/%s", group, *name);
        status = path != NULL && below != NULL ? load(s->base.inner, &document, err, leaf, below) : zs_fail_memory(err);
        if (status == ZS_OK)
            status = add_array(s, level, path, document, dimension, documents, err);
        else if (status == ZS_NOT_FOUND)
            status = ZS_OK;
        free(path);
        free(below);
    }
    zs_names_free(names);
    return status;
}

/* Adds a level as its first leaf describes it. Only an overview may lack that leaf. */
static enum zs_status add_level(struct hive_store *s, const struct zs_hive_level *level, uint64_t number,
                                zs_json *documents, struct zs_error *err)
{
    char *leaf = zs_hive_leaf(&s->hive, level, number), *group = zs_format("%d", level->cells);
    char *below = zs_format("/%d", level->cells);
    zs_json *document = NULL;
    const char *dimension = "cells";
    enum zs_status status = leaf != NULL && group != NULL && below != NULL
                                ? load(s->base.inner, &document, err, leaf, below) : zs_fail_memory(err);
    if (status == ZS_OK && describe_all_cells(document)) {
        const zs_json *kept = zs_json_add(documents, group, document);
        document = NULL;
        (void)zs_json_string(zs_json_get(zs_json_get(zs_json_get(kept, "attributes"), "dggs"), "spatial_dimension"),
                             &dimension);
        status = kept != NULL ? add_arrays(s, level, leaf, group, dimension, documents, err) : zs_fail_memory(err);
    } else if (status == ZS_OK && !level->is_overview) {
        status = zs_fail(err, ZS_INVALID, "%s/%s/zarr.json: expected a member dggs of its attributes", leaf, group);
    }
    if (status == ZS_NOT_FOUND && level->is_overview)
        status = ZS_OK;
    zs_json_free(document);
    free(leaf);
    free(group);
    free(below);
    return status;
}

/* Reports that leaves cannot be shown as one array: a dimension of times stands before the cells, and each leaf has its
 * own times. */
static enum zs_status no_map(const struct hive_store *s, uint64_t number, struct zs_error *err)
{
    char *leaf = zs_hive_leaf(&s->hive, &s->hive.levels[0], number);
    const enum zs_status status = leaf == NULL ? zs_fail_memory(err)
                     : zs_fail(err, ZS_UNSUPPORTED,
                               "expected arrays whose first dimension is that of the cells, found none; leaves open "
                               "one by one: SHARDEDZARR:%s/%s",
                               s->base.root, leaf);
    free(leaf);
    return status;
}

static enum zs_status make_documents(struct hive_store *s, struct zs_error *err)
{
    struct search first = {.s = s};
    ZS_TRY(find_leaf(&first, "", -1, 0, err));
    if (!first.is_found)
        return zs_fail(err, ZS_UNSUPPORTED, "expected a finished leaf (with the attribute " STAMP "), found none");
    s->root = zs_group_document();
    zs_json *consolidated = s->root != NULL ? zs_json_add_object(s->root, "consolidated_metadata") : NULL;
    zs_json *documents = NULL;
    if (consolidated != NULL && zs_json_add_string(consolidated, "kind", "inline") != NULL &&
        zs_json_add_bool(consolidated, "must_understand", false) != NULL)
        documents = zs_json_add_object(consolidated, "metadata");
    ZS_TRY_MEMORY(documents, err);
    s->documents = documents;
    for (int i = 0; i < s->hive.count; i++)
        ZS_TRY(add_level(s, &s->hive.levels[i], first.number >> (2 * (s->hive.levels[0].node - s->hive.levels[i].node)),
                         documents, err));
    return s->count > 0 ? ZS_OK : no_map(s, first.number, err);
}

/* ---- Keys ---- */

/* Finds the document that a key names; NULL for other keys. */
static const zs_json *document_of(const struct hive_store *s, const char *key)
{
    static const char end[] = "/zarr.json";
    const size_t n = strlen(key), m = sizeof end - 1;
    if (strcmp(key, end + 1) == 0)
        return s->root;
    for (const zs_json *d = zs_json_first(s->documents); d != NULL && n > m; d = zs_json_next(d))
        if (strlen(zs_json_name(d)) == n - m && strncmp(zs_json_name(d), key, n - m) == 0 &&
            strcmp(key + n - m, end) == 0)
            return d;
    return NULL;
}

/* Translates the key of a chunk to that in its leaf. ZS_NOT_FOUND for other keys, and where no finished leaf has the
 * array. */
static enum zs_status key_in_leaf(struct hive_store *s, const char *key, char **inner, struct zs_error *err)
{
    for (size_t i = 0; i < s->count; i++) {
        struct hive_array *a = &s->arrays[i];
        const size_t n = strlen(a->folder);
        uint64_t at[ZS_MAX_NDIM];
        if (strncmp(key, a->folder, n) != 0 || key[n] != '/' || !zs_chunk_key_parse(a->shown->array, key + n + 1, at))
            continue;
        const uint64_t number = at[0] / a->chunks;
        bool is_there = false;
        at[0] %= a->chunks;
        if (number >> (2 * a->level->node) >= ZS_HIVE_FACES)
            break;
        char *leaf = zs_hive_leaf(&s->hive, a->level, number);
        char *below = zs_chunk_key(a->stored->array, a->stored->path, at);
        *inner = leaf != NULL && below != NULL ? zs_format("%s/%s", leaf, below) : NULL;
        enum zs_status status = *inner != NULL ? check_leaf(s, a, number, leaf, &is_there, err) : zs_fail_memory(err);
        if (status == ZS_OK && !is_there)
            status = zs_fail(err, ZS_NOT_FOUND, "%s/%s: there is no finished leaf that has it", s->base.root, leaf);
        if (status != ZS_OK)
            free(*inner);
        free(leaf);
        free(below);
        return status;
    }
    return zs_fail(err, ZS_NOT_FOUND, "%s/%s: no such object", s->base.root, key);
}

/* ---- The store ---- */

/* A document, which exists in memory alone. */
struct document_object {
    struct zs_object base;
    char *text;
};

static enum zs_status open_document(struct zs_store *store, const zs_json *document, struct zs_object **object,
                                    struct zs_error *err)
{
    struct document_object *o = zs_calloc(1, sizeof *o);
    if (o == NULL || (o->text = zs_json_print(document)) == NULL) {
        free(o);
        return zs_fail_memory(err);
    }
    o->base = (struct zs_object){.store = store, .size = strlen(o->text)};
    *object = &o->base;
    return ZS_OK;
}

/* Opens objects of leaves in the inner store. */
static enum zs_status hive_open(struct zs_store *store, const char *key, struct zs_first_read *first,
                                struct zs_object **object, struct zs_error *err)
{
    char *inner;
    const zs_json *document = document_of(hive_of(store), key);
    if (document != NULL)
        return open_document(store, document, object, err);
    ZS_TRY(key_in_leaf(hive_of(store), key, &inner, err));
    const enum zs_status status = zs_object_open_first(store->inner, inner, first, object, err);
    free(inner);
    return status;
}

static enum zs_status hive_read(struct zs_object *object, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    (void)err;
    memcpy(data, ((const struct document_object *)object)->text + offset, n);
    return ZS_OK;
}

static void hive_close(struct zs_object *object)
{
    free(((struct document_object *)object)->text);
    free(object);
}

/* Lists nothing: the root's document has the metadata of all nodes. */
static enum zs_status hive_list(struct zs_store *store, const char *prefix, char ***names, struct zs_error *err)
{
    (void)prefix;
    (void)names;
    return zs_store_check_writable(store, err);
}

static enum zs_status hive_locate(struct zs_store *store, const char *key, struct zs_store **where, char **inner,
                                  uint64_t *offset, struct zs_error *err)
{
    char *below;
    ZS_TRY(key_in_leaf(hive_of(store), key, &below, err));
    const enum zs_status status = zs_store_locate(store->inner, below, where, inner, offset, err);
    free(below);
    return status;
}

/* Frees everything but the store that it stands before. */
static void release(struct hive_store *s)
{
    for (size_t i = 0; i < s->count; i++) {
        zs_node_free(s->arrays[i].shown);
        zs_node_free(s->arrays[i].stored);
        free(s->arrays[i].folder);
        zs_map_free(&s->arrays[i].leaves);
    }
    for (int i = 0; i <= ZS_HIVE_MAX_ORDER; i++)
        zs_map_free(&s->stamps[i]);
    free(s->arrays);
    zs_json_free(s->root);
    (void)pthread_mutex_destroy(&s->lock);
    free(s->base.root);
    free(s);
}

static void hive_free(struct zs_store *store)
{
    zs_store_free(store->inner);
    release(hive_of(store));
}

static const struct zs_store_ops ops = {.open = hive_open,
                                        .read = hive_read,
                                        .close = hive_close,
                                        .list = hive_list,
                                        .free = hive_free,
                                        .locate = hive_locate};

static enum zs_status open_hive(struct hive_store *s, const zs_json *manifest, struct zs_error *err)
{
    const enum zs_status status = zs_hive_parse(manifest, &s->hive, err);
    return status == ZS_OK ? make_documents(s, err) : zs_fail_in(err, status, ZS_HIVE_MANIFEST);
}

enum zs_status zs_hive_open(struct zs_store **store, struct zs_error *err)
{
    zs_json *manifest = NULL;
    ZS_TRY(zs_document_get(*store, ZS_HIVE_MANIFEST, &manifest, err));
    struct hive_store *s = zs_calloc(1, sizeof *s);
    char *root = zs_strdup((*store)->root);
    enum zs_status status = ZS_OK;
    if (s == NULL || root == NULL || pthread_mutex_init(&s->lock, NULL) != 0) {
        free(s);
        free(root);
        zs_json_free(manifest);
        return zs_fail_memory(err);
    }
    s->base = (struct zs_store){.ops = &ops, .inner = *store, .root = root, .is_remote = (*store)->is_remote};
    s->base.manifest = ZS_HIVE_MANIFEST;
    s->base.read_only = "is a store that " ZS_HIVE_MANIFEST " describes, which is only read";
    status = open_hive(s, manifest, err);
    zs_json_free(manifest);
    if (status != ZS_OK) {
        status = zs_fail_in(err, status, "%s", root);
        release(s);
        return status;
    }
    *store = &s->base;
    return ZS_OK;
}
