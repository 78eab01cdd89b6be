#include "array/array.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "array/pending.h"
#include "base/limits.h"
#include "base/parallel.h"

/* Opened objects. Beyond half the budget of files they are opened for each read (base/descriptors.h). */
#define OPEN_OBJECTS 4096
/* A few valid kilobytes may decode to a chunk of gigabytes, needed as a whole for one pixel. The largest published
 * chunks have 64 MB (global forecasts: all steps of a small tile), some users choose a few hundred MB; these work.
 * Larger ones must be in proportion to the budget: four budgets are all of GDAL_CACHEMAX, or a twentieth of a machine's
 * memory. */
#define MAX_CHUNK_BYTES ((uint64_t)512 << 20)
#define MAX_CHUNK_BUDGETS 4
/* Most overlaps of windows with chunks in one plan: some 250 bytes each, 16 MB in all. A chunk takes at least 5
 * microseconds to decode, so the wait for the last threads at the end of a plan is negligible. */
#define PLAN_OVERLAPS ((uint64_t)1 << 16)
/* Decoded bytes from which on a chunk may be read block by block. Of a smaller one the rest is likely to be wanted too,
 * and finding its blocks for every line of a raster takes longer than copying from the whole chunk: lines of chunks of
 * 512 x 512 took 1.5 times as long (blosc) and 2.3 times (plain). Over a network the bytes that are not fetched count,
 * too. */
#define BLOCK_THRESHOLD_BYTES ((uint64_t)2 << 20)
#define REMOTE_BLOCK_THRESHOLD_BYTES ((uint64_t)1 << 20)

static atomic_int open_arrays; /* of the process */

static void object_close(void *object)
{
    zs_object_close(object);
}

void zs_array_lock(struct zs_array *array, bool shared)
{
    /* Held while waiting: a waiting writer lets no new reader in, else it might wait for ever. */
    (void)pthread_mutex_lock(&array->gate);
    (void)(shared ? pthread_rwlock_rdlock : pthread_rwlock_wrlock)(&array->lock);
    (void)pthread_mutex_unlock(&array->gate);
}

void zs_dense_strides(const struct zs_level *level, const uint64_t *count, ptrdiff_t *stride)
{
    ptrdiff_t s = (ptrdiff_t)level->item_size;
    for (int j = level->ndim - 1; j >= 0; j--) {
        stride[level->axis[j]] = s;
        s *= (ptrdiff_t)count[level->axis[j]];
    }
}

enum zs_status zs_chunk_size_check(const struct zs_array *array, const struct zs_level *level, struct zs_error *err)
{
    if (level->decoded_size <= array->max_chunk)
        return ZS_OK;
    return zs_fail(err, ZS_UNSUPPORTED,
                   "chunk: expected at most %llu bytes decoded, found %llu; the open option MAX_CHUNK_SIZE allows more",
                   (unsigned long long)array->max_chunk, (unsigned long long)level->decoded_size);
}

enum zs_status zs_shard_key(const struct zs_array *array, uint64_t shard, char **key, struct zs_error *err)
{
    uint64_t position[ZS_MAX_NDIM];
    zs_grid_position(&array->grid, 0, shard, position);
    *key = zs_chunk_key(array->meta, array->node->path, position);
    return *key != NULL ? ZS_OK : zs_fail_memory(err);
}

enum zs_status zs_fail_in_chunk(const struct zs_array *array, uint64_t chunk, enum zs_status status,
                                struct zs_error *err)
{
    char where[512];
    uint64_t position[ZS_MAX_NDIM], outer[ZS_MAX_NDIM];
    const int ndim = array->meta->ndim;
    zs_grid_position(&array->grid, array->chain.count - 1, chunk, position);
    zs_grid_around(&array->grid, array->chain.count - 1, position, 0, outer);
    char *key = zs_chunk_key(array->meta, array->node->path, outer);
    int used = snprintf(where, sizeof where, "%s/%s", array->store->root, key != NULL ? key : "?");
    free(key);
    for (int d = 0; array->chain.count > 1 && d < ndim && used > 0 && (size_t)used < sizeof where; d++) {
        const uint64_t before = zs_grid_span(&array->grid, 0, d, outer[d]).start / array->innermost->shape[d];
        used += snprintf(where + used, sizeof where - (size_t)used, "%s%llu%s", d == 0 ? ", inner chunk [" : ",",
                         (unsigned long long)(position[d] - before), d == ndim - 1 ? "]" : "");
    }
    return zs_fail_in(err, status, "%s", where);
}

enum zs_status zs_array_open_node(struct zs_hierarchy *h, const struct zs_node *node,
                                  const struct zs_array_options *options, struct zs_array **array, struct zs_error *err)
{
    ZS_TRY(zs_array_open_in(zs_hierarchy_store(h), node, options, array, err));
    (*array)->hierarchy = h;
    (*array)->asked = time(NULL);
    return ZS_OK;
}

/* Takes the options, and what the kind of store asks for. */
static void set_options(struct zs_array *array, const struct zs_array_options *options)
{
    const bool is_remote = array->store->is_remote;
    array->update = options->update;
    array->threads = options->threads > 0 ? options->threads : zs_cpu_count();
    array->fetch_threads = array->threads;
    if (is_remote && array->fetch_threads < ZS_MOST_FETCHES)
        array->fetch_threads = ZS_MOST_FETCHES;
    array->ranges = zs_range_policy_of(is_remote);
    if (options->merge_gap != 0)
        array->ranges.max_gap = options->merge_gap;
    array->max_chunk = options->max_chunk_bytes != 0 ? options->max_chunk_bytes
                                                     : zs_max_u64(MAX_CHUNK_BYTES, MAX_CHUNK_BUDGETS * zs_budget());
    array->plan_overlaps = PLAN_OVERLAPS;
    array->block_threshold = is_remote ? REMOTE_BLOCK_THRESHOLD_BYTES : BLOCK_THRESHOLD_BYTES;
}

/* Compiles the chain of codecs, and what follows from it. */
static enum zs_status compile(struct zs_array *array, struct zs_error *err)
{
    ZS_TRY(zs_chain_compile(array->meta, &array->chain, err));
    ZS_TRY(zs_grid_init(&array->grid, array->meta, &array->chain, err));
    array->innermost = &array->chain.levels[array->chain.count - 1];
    const uint64_t size = array->innermost->decoded_size;
    const uint64_t room = zs_max_u64((uint64_t)array->threads, zs_budget() / size);
    array->chunk_threads =
        (int)zs_max_u64(1, zs_min_u64((uint64_t)array->fetch_threads, zs_min_u64(room, array->max_chunk / size)));
    return ZS_OK;
}

static enum zs_status create_caches(struct zs_array *array, uint64_t cache_bytes, struct zs_error *err)
{
    const bool has_one_size = !array->meta->has_edges || array->chain.count > 1; /* all chunks */
    array->chunks = (struct zs_cache){.destroy = zs_blob_free, .budget = cache_bytes};
    array->indexes = (struct zs_cache){.destroy = free};
    array->objects = (struct zs_cache){.destroy = object_close, .budget = OPEN_OBJECTS};
    array->blobs = zs_blob_pool_create(has_one_size ? (size_t)array->innermost->decoded_size : 0);
    return array->blobs != NULL ? ZS_OK : zs_fail_memory(err);
}

enum zs_status zs_array_open_in(struct zs_store *store, const struct zs_node *node,
                                const struct zs_array_options *options, struct zs_array **array, struct zs_error *err)
{
    static const struct zs_array_options defaults;
    if (options == NULL)
        options = &defaults;
    if (node->type != ZS_NODE_ARRAY)
        return zs_fail(err, ZS_NOT_FOUND, "%s/%s: expected an array, found a group", store->root, node->path);
    if (node->array == NULL)
        return zs_fail(err, node->array_status, "%s/%s", store->root, node->array_error->message);
    struct zs_array *opened = zs_calloc(1, sizeof *opened);
    ZS_TRY_MEMORY(opened, err);
    atomic_fetch_add(&open_arrays, 1);
    (void)pthread_mutex_init(&opened->gate, NULL);
    (void)pthread_rwlock_init(&opened->lock, NULL);
    opened->store = store;
    opened->node = node;
    opened->meta = node->array;
    set_options(opened, options);
    enum zs_status status = compile(opened, err);
    status = status == ZS_OK ? create_caches(opened, options->cache_bytes, err)
                             : zs_fail_in(err, status, "%s/%s", store->root, node->key);
    if (status == ZS_OK)
        *array = opened;
    else
        zs_array_close(opened);
    return status;
}

enum zs_status zs_array_open_path(const char *store_path, const char *array_path,
                                  const struct zs_array_options *options, struct zs_array **array, struct zs_error *err)
{
    struct zs_store *store = NULL;
    struct zs_hierarchy *h = NULL;
    const struct zs_node *node = NULL;
    ZS_TRY(zs_store_open(store_path, &store, err));
    enum zs_status status = zs_hierarchy_open(store, true, &h, err);
    if (status == ZS_OK)
        status = zs_hierarchy_node(h, array_path, &node, err);
    if (status == ZS_OK)
        status = zs_array_open_node(h, node, options, array, err);
    if (status != ZS_OK) {
        zs_hierarchy_free(h);
        zs_store_free(store);
        return status;
    }
    (*array)->own_hierarchy = h;
    (*array)->own_store = store;
    return ZS_OK;
}

void zs_array_close(struct zs_array *array)
{
    if (array == NULL)
        return;
    zs_pending_free(array);
    zs_cache_free(&array->chunks);
    zs_blob_pool_free(array->blobs);
    zs_cache_free(&array->indexes);
    zs_cache_free(&array->objects);
    zs_chain_clear(&array->chain);
    zs_hierarchy_free(array->own_hierarchy);
    zs_store_free(array->own_store);
    (void)pthread_rwlock_destroy(&array->lock);
    (void)pthread_mutex_destroy(&array->gate);
    free(array);
    if (atomic_fetch_sub(&open_arrays, 1) == 1)
        zs_scratch_trim();
}

void zs_array_set_order(struct zs_array *array, int chunk_order)
{
    array->order = (enum zs_chunk_order)chunk_order;
}

void zs_array_set_new(struct zs_array *array, int chunk_order)
{
    array->is_new = true;
    zs_array_set_order(array, chunk_order);
}

int zs_array_chunk_order(const struct zs_array *array)
{
    return (int)array->order;
}

int zs_array_threads(const struct zs_array *array)
{
    return array->threads;
}

struct zs_array_info zs_array_get_info(const struct zs_array *array)
{
    return (struct zs_array_info){
        .ndim = array->meta->ndim,
        .shape = array->meta->shape,
        .chunk_shape = array->innermost->shape,
        .shard_shape = array->chain.levels[0].shape,
        .dimension_names = (const char *const *)array->meta->dimension_names,
        .data_type = array->meta->dtype.type,
        .item_size = array->meta->dtype.size,
        .fill_value = array->meta->fill_value,
        .is_sharded = array->chain.count > 1,
        .has_edges = array->meta->has_edges,
    };
}
