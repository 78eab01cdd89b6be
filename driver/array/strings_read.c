#include "array/strings.h"

#include <stdlib.h>
#include <string.h>

#include "array/strings_private.h"
#include "base/checked.h"
#include "shard/walk.h"

/* Shards of at most so many bytes are fetched as a whole where more than one of their chunks is wanted: each request
 * waits for the network. */
#define SMALL_SHARD ((uint64_t)1 << 20)

struct reader {
    const struct zs_texts *texts;
    zs_text_take_fn take;
    void *ctx;
    bool is_blank;
    struct zs_text_items *items; /* of the chunk that is read; NULL: it is missing */
};

/* ---- Requests ---- */

enum zs_status zs_strings_shape(const struct zs_node *node, int *ndim, uint64_t *shape, struct zs_error *err)
{
    const zs_json *list = node->is_text ? zs_json_get(node->document, "shape") : NULL;
    if (!zs_json_is_array(list) || zs_json_size(list) > ZS_MAX_NDIM)
        return zs_fail(err, ZS_INVALID, "%s: shape: expected a list of at most %d sizes", node->key, ZS_MAX_NDIM);
    *ndim = 0;
    for (const zs_json *size = zs_json_first(list); size != NULL; size = zs_json_next(size))
        if (!zs_json_uint64(size, &shape[(*ndim)++]))
            return zs_fail(err, ZS_INVALID, "%s: shape: expected sizes of 0 and more", node->key);
    return ZS_OK;
}

bool zs_strings_length(const struct zs_node *node, uint64_t *length)
{
    uint64_t shape[ZS_MAX_NDIM];
    int ndim;
    if (!node->is_text || zs_strings_shape(node, &ndim, shape, NULL) != ZS_OK || ndim != 1)
        return false;
    *length = shape[0];
    return true;
}

enum zs_status zs_text_check(const struct zs_node *node, const struct zs_text_request *r, struct zs_text_part *all,
                             struct zs_error *err)
{
    uint64_t shape[ZS_MAX_NDIM];
    int ndim;
    if (!node->is_text)
        return zs_fail(err, ZS_ARGUMENT, "%s: expected an array of text", node->path);
    ZS_TRY(zs_strings_shape(node, &ndim, shape, err));
    if (ndim != r->ndim)
        return zs_fail(err, ZS_ARGUMENT, "%s: expected elements of %d dimensions, found %d", node->path, ndim, r->ndim);
    all->all = r;
    for (int d = 0; d < ndim; d++) {
        const uint64_t n = r->count[d], step = r->step[d];
        if (n == 0 || r->start[d] >= shape[d] || (step > 0 && n - 1 > (shape[d] - 1 - r->start[d]) / step))
            return zs_fail(err, ZS_ARGUMENT, "%s: dimension %d: expected elements below %llu, found %llu from %llu on",
                           node->path, d, (unsigned long long)shape[d], (unsigned long long)n,
                           (unsigned long long)r->start[d]);
        all->from[d] = 0;
        all->to[d] = n;
    }
    return ZS_OK;
}

/* ---- Chunks ---- */

static enum zs_status take_element(void *ctx, const uint64_t *number, uint64_t stored, struct zs_error *err)
{
    struct reader *r = ctx;
    const char *text = r->texts->fill;
    size_t n = 0;
    if (r->items == NULL)
        n = strlen(text);
    else if (zs_text_item(r->items, stored, &text, &n, err) != ZS_OK)
        return zs_fail_in(err, ZS_CORRUPT, "element %llu of the chunk", (unsigned long long)stored);
    return r->take(r->ctx, number, text, n, err);
}

/* Gives the fill value for the elements of a part. */
static enum zs_status take_missing(struct reader *r, const struct zs_text_part *whole, struct zs_error *err)
{
    struct zs_text_part part;
    uint64_t at[ZS_MAX_NDIM];
    const int innermost = r->texts->chain.count - 1;
    r->items = NULL;
    for (bool first = true; zs_text_next(r->texts, innermost, whole, first, &part, at); first = false)
        ZS_TRY(zs_text_each(r->texts, &part, at, take_element, r, err));
    return ZS_OK;
}

static enum zs_status take_innermost(struct reader *r, const struct zs_text_part *part, const uint64_t *at,
                                     const void *data, size_t n, struct zs_error *err)
{
    struct zs_text_items items;
    enum zs_status status = zs_text_items_open(r->texts, data, n, &items, err);
    r->items = &items;
    r->is_blank = false;
    if (status == ZS_OK)
        status = zs_text_each(r->texts, part, at, take_element, r, err);
    zs_text_items_close(&items);
    r->items = NULL;
    return status;
}

/* The encoded bytes of a chunk, or of a shard: those at hand, or read into `buffer`. */
static enum zs_status fetch(const struct reader *r, const struct zs_source *source, struct zs_buffer *buffer,
                            const unsigned char **bytes, struct zs_error *err)
{
    if (source->size > zs_bytes_bound(r->texts->max_chunk))
        return zs_fail(err, ZS_UNSUPPORTED, "expected chunks of at most %zu bytes of text", r->texts->max_chunk);
    return zs_source_fetch(source, SIZE_MAX, buffer, bytes, err);
}

static enum zs_status take_shard(struct reader *r, int k, const struct zs_text_part *whole,
                                 const struct zs_source *shard, struct zs_error *err);

/* Hands over the elements of a part that lie in a chunk of level k. */
static enum zs_status take_chunk(struct reader *r, int k, const struct zs_text_part *part, const uint64_t *at,
                                 const struct zs_source *chunk, struct zs_error *err)
{
    const struct zs_level *level = &r->texts->chain.levels[k];
    struct zs_buffer fetched = {0}, decoded = {0};
    const unsigned char *bytes;
    if (level->is_shard && level->bytes_codec_count == 0)
        return take_shard(r, k, part, chunk, err);
    enum zs_status status = fetch(r, chunk, &fetched, &bytes, err);
    if (status == ZS_OK && level->is_shard)
        status = zs_text_decode(level, bytes, (size_t)chunk->size, zs_bytes_bound(r->texts->max_chunk), &decoded, err);
    if (status == ZS_OK && level->is_shard) {
        const struct zs_source shard = {.memory = decoded.data, .size = decoded.size, .version = chunk->version};
        status = take_shard(r, k, part, &shard, err);
    } else if (status == ZS_OK) {
        status = take_innermost(r, part, at, bytes, (size_t)chunk->size, err);
    }
    zs_buffer_free(&fetched);
    zs_buffer_free(&decoded);
    return status;
}

/* Hands over the elements of `whole`, which lie in a shard of level k whose own codecs are undone. */
static enum zs_status take_shard(struct reader *r, int k, const struct zs_text_part *whole,
                                 const struct zs_source *shard, struct zs_error *err)
{
    const struct zs_level *level = &r->texts->chain.levels[k];
    struct zs_text_part part;
    uint64_t at[ZS_MAX_NDIM], inside[ZS_MAX_NDIM];
    struct zs_shard_index *index;
    if (level->index_size > r->texts->max_chunk)
        return zs_fail(err, ZS_UNSUPPORTED, "shard index: expected at most %zu bytes", r->texts->max_chunk);
    ZS_TRY(zs_source_index(level, shard, &index, err));
    enum zs_status status = ZS_OK;
    for (bool first = true; status == ZS_OK && zs_text_next(r->texts, k + 1, whole, first, &part, at); first = false) {
        bool is_empty;
        struct zs_source chunk;
        zs_grid_inside(&r->texts->grid, k, at, inside);
        status = zs_source_chunk(level, shard, index, zs_shard_index_number(level, inside), UINT64_MAX, &is_empty,
                                 &chunk, err);
        if (status == ZS_OK)
            status = is_empty ? take_missing(r, &part, err) : take_chunk(r, k + 1, &part, at, &chunk, err);
    }
    free(index);
    return status;
}

/* Whether the elements lie in several innermost chunks. */
static bool is_many(const struct reader *r, const struct zs_text_part *whole)
{
    struct zs_text_part part;
    uint64_t at[ZS_MAX_NDIM];
    const int innermost = r->texts->chain.count - 1;
    return zs_text_next(r->texts, innermost, whole, true, &part, at) &&
           zs_text_next(r->texts, innermost, whole, false, &part, at);
}

static enum zs_status take_shard_object(struct reader *r, const struct zs_text_part *part, const uint64_t *at,
                                        struct zs_object *object, struct zs_error *err)
{
    struct zs_buffer data = {0};
    struct zs_source shard = zs_source_of(object);
    enum zs_status status = ZS_OK;
    if (shard.size > 0 && shard.size <= SMALL_SHARD && is_many(r, part))
        status = fetch(r, &shard, &data, &shard.memory, err);
    if (status == ZS_OK)
        status = take_chunk(r, 0, part, at, &shard, err);
    zs_buffer_free(&data);
    return status;
}

/* Reads the stored object at position `at` of the grid; one that is absent gives the fill value. */
static enum zs_status take_object(struct reader *r, const struct zs_text_part *part, const uint64_t *at,
                                  struct zs_error *err)
{
    const struct zs_texts *texts = r->texts;
    char *key = zs_chunk_key(texts->bytes->array, texts->node->path, at);
    if (key == NULL)
        return zs_fail_memory(err);
    struct zs_object *object = NULL;
    struct zs_buffer data = {0};
    const bool is_sharded = texts->chain.count > 1;
    enum zs_status status = is_sharded ? zs_object_open(texts->store, key, &object, err)
                                       : zs_store_get(texts->store, key, zs_bytes_bound(texts->max_chunk), &data, err);
    if (status == ZS_NOT_FOUND)
        status = take_missing(r, part, err);
    else if (status == ZS_OK)
        status = is_sharded ? take_shard_object(r, part, at, object, err)
                            : take_innermost(r, part, at, data.data, data.size, err);
    zs_object_close(object);
    zs_buffer_free(&data);
    status = status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "%s/%s", texts->store->root, key);
    free(key);
    return status;
}

enum zs_status zs_texts_read(struct zs_hierarchy *h, const struct zs_node *node, const struct zs_text_request *request,
                             zs_text_take_fn take, void *ctx, bool *is_blank, struct zs_error *err)
{
    struct zs_text_part all, part;
    struct zs_texts t;
    uint64_t at[ZS_MAX_NDIM] = {0};
    ZS_TRY(zs_text_check(node, request, &all, err));
    ZS_TRY(zs_texts_open(zs_hierarchy_store(h), node,
                         request->max_chunk != 0 ? request->max_chunk : ZS_STRINGS_MAX_BYTES, &t, err));
    struct reader r = {.texts = &t, .take = take, .ctx = ctx, .is_blank = true};
    enum zs_status status = ZS_OK;
    for (bool first = true; status == ZS_OK && zs_text_next(&t, 0, &all, first, &part, at); first = false)
        status = take_object(&r, &part, at, err);
    if (status == ZS_OK && is_blank != NULL)
        *is_blank = r.is_blank;
    zs_texts_close(&t);
    return status;
}

enum zs_status zs_strings_chunks(struct zs_hierarchy *h, const struct zs_node *node, uint64_t *chunk, uint64_t *object,
                                 struct zs_error *err)
{
    struct zs_texts t;
    ZS_TRY(zs_texts_open(zs_hierarchy_store(h), node, ZS_STRINGS_MAX_BYTES, &t, err));
    memcpy(chunk, t.chain.levels[t.chain.count - 1].shape, (size_t)t.grid.ndim * sizeof *chunk);
    memcpy(object, t.chain.levels[0].shape, (size_t)t.grid.ndim * sizeof *object);
    zs_texts_close(&t);
    return ZS_OK;
}

/* ---- Lists ---- */

void zs_strings_free(char **values, size_t count)
{
    for (size_t i = 0; i < count && values != NULL; i++)
        free(values[i]);
    free(values);
}

struct list {
    char **values;
    size_t total; /* bytes of all */
};

static enum zs_status take_value(void *ctx, const uint64_t *number, const char *text, size_t n, struct zs_error *err)
{
    struct list *l = ctx;
    if (n > ZS_STRINGS_MAX_BYTES - l->total)
        return zs_fail(err, ZS_UNSUPPORTED, "expected at most %zu bytes of text", ZS_STRINGS_MAX_BYTES);
    l->total += n;
    l->values[number[0]] = zs_strndup(text, n);
    return l->values[number[0]] != NULL ? ZS_OK : zs_fail_memory(err);
}

enum zs_status zs_strings_read(struct zs_hierarchy *h, const struct zs_node *node, uint64_t first, uint64_t count,
                               char ***values, bool *is_blank, struct zs_error *err)
{
    struct zs_text_part all;
    const struct zs_text_request request = {.ndim = 1, .start = {first}, .count = {count}, .step = {1}};
    struct list l = {0};
    ZS_TRY(zs_text_check(node, &request, &all, err));
    if (count > ZS_STRINGS_MAX_BYTES / sizeof(char *))
        return zs_fail(err, ZS_UNSUPPORTED, "%s: expected at most %zu texts", node->path,
                       ZS_STRINGS_MAX_BYTES / sizeof(char *));
    l.values = zs_calloc((size_t)count, sizeof *l.values);
    if (l.values == NULL)
        return zs_fail_memory(err);
    const enum zs_status status = zs_texts_read(h, node, &request, take_value, &l, is_blank, err);
    if (status != ZS_OK)
        zs_strings_free(l.values, (size_t)count);
    else
        *values = l.values;
    return status;
}
