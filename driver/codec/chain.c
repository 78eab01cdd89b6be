#include "codec/chain.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

/* Largest decoded innermost chunk: it must fit in memory whole, and its size in what every codec library takes. */
#define MAX_LEAF_BYTES ((uint64_t)INT32_MAX)

/* ---- Chunks whose last stage gives bytes that are no elements ---- */

size_t zs_stored_count(const struct zs_stored_shape *chunk)
{
    uint64_t n = 0;
    return zs_product_u64(chunk->shape, chunk->ndim, &n) ? (size_t)n : 0;
}

bool zs_chunk_is_packed(const struct zs_level *level)
{
    return level->stage_count > 0 && level->stages[level->stage_count - 1].codec->unpack != NULL;
}

static const struct zs_stage *packer_of(const struct zs_level *level)
{
    return &level->stages[level->stage_count - 1];
}

static struct zs_stored_shape extent_of(const struct zs_level *level)
{
    struct zs_stored_shape chunk = {.ndim = level->ndim};
    for (int j = 0; j < level->ndim; j++)
        chunk.shape[j] = level->shape[level->axis[j]];
    return chunk;
}

static enum zs_status packed_bound(const struct zs_level *level, uint64_t *bound, struct zs_error *err)
{
    const struct zs_stored_shape chunk = extent_of(level);
    return packer_of(level)->codec->packed_bound(packer_of(level), &chunk, bound, err);
}

/* Like zs_chunk_decode() and zs_chunk_encode(), for such a chunk. */
static enum zs_status decode_packed(const struct zs_level *level, struct zs_scratch *scratch, const void *src,
                                    size_t n, void *dst, struct zs_error *err)
{
    const struct zs_stage *packer = packer_of(level);
    const struct zs_stored_shape chunk = extent_of(level);
    const size_t count = (size_t)level->decoded_size / level->item_size;
    struct zs_buffer *packed = zs_scratch_buffer(scratch, ZS_SCRATCH_PACKED);
    ZS_TRY(zs_bytes_decode_up_to(level->bytes_codecs, level->bytes_codec_count, scratch, src, n,
                                 (size_t)level->stored_size, packed, err));
    if (!level->is_text) /* the codec may look at what is behind */
        ZS_TRY(zs_buffer_reserve(packed, (size_t)level->stored_size, err));
    const bool is_direct = level->stage_count == 1 && (uintptr_t)dst % packer->in.swap_unit == 0;
    struct zs_buffer *stored = zs_scratch_buffer(scratch, ZS_SCRATCH_STORED);
    if (!is_direct)
        ZS_TRY(zs_buffer_reset(stored, count * packer->in.size, err));
    ZS_TRY(packer->codec->unpack(packer, &chunk, scratch, packed, is_direct ? dst : stored->data, err));
    if (level->stage_count > 1)
        return zs_stages_decode(level->stages, level->stage_count - 1, count, scratch, stored->data, dst, err);
    if (!is_direct)
        memcpy(dst, stored->data, (size_t)level->decoded_size);
    return ZS_OK;
}

static enum zs_status encode_packed(const struct zs_level *level, struct zs_scratch *scratch, void *src,
                                    const void **encoded, size_t *n, struct zs_error *err)
{
    const struct zs_stage *packer = packer_of(level);
    const struct zs_stored_shape chunk = extent_of(level);
    const size_t count = (size_t)level->decoded_size / level->item_size;
    const void *data;
    struct zs_buffer *packed = zs_scratch_buffer(scratch, ZS_SCRATCH_STORED); /* texts may lie in the other one */
    ZS_TRY(zs_stages_encode(level->stages, level->stage_count - 1, count, scratch, src, &data, err));
    ZS_TRY(packer->codec->pack(packer, &chunk, scratch, data, packed, err));
    return zs_bytes_encode(level->bytes_codecs, level->bytes_codec_count, scratch, packed->data, packed->size, encoded,
                           n, err);
}

/* ---- Compiling ---- */

/* Configures a stage and puts it behind the others of its list. */
static enum zs_status add_stage(struct zs_stage **stages, int *count, const struct zs_codec *codec,
                                const zs_json *configuration, struct zs_form *form, struct zs_error *err)
{
    struct zs_stage stage;
    ZS_TRY(zs_stage_parse(codec, configuration, form, &stage, err));
    size_t room = (size_t)*count; /* the list is short, and never longer than it is */
    struct zs_stage *grown = stage.is_void ? NULL : zs_grow(*stages, room, &room, sizeof *grown);
    if (grown == NULL) {
        const bool is_void = stage.is_void;
        zs_stage_clear(&stage);
        return is_void ? ZS_OK : zs_fail_memory(err);
    }
    grown[*count] = stage;
    *stages = grown;
    ++*count;
    return ZS_OK;
}

/* Number of stages that are elementwise, from the first. */
static int elementwise_count(const struct zs_level *level)
{
    int n = 0;
    while (n < level->stage_count && level->stages[n].codec->is_elementwise)
        n++;
    return n;
}

bool zs_level_keeps_element(const struct zs_level *level, const void *element)
{
    return zs_stages_keep_element(level->stages, elementwise_count(level), element);
}

/* Reads one codec of a list, which adds a stage to the level or sets its layout. */
static enum zs_status compile_codec(const struct zs_codec *codec, const zs_json *configuration, struct zs_level *level,
                                    struct zs_form *form, struct zs_error *err)
{
    if (codec->arrange != NULL && elementwise_count(level) < level->stage_count && codec->kind == ZS_ARRAY_TO_ARRAY)
        return zs_fail(err, ZS_UNSUPPORTED, "codec \"%s\" behind \"%s\" is not supported", codec->name,
                       level->stages[level->stage_count - 1].codec->name);
    if (codec->arrange != NULL) {
        enum zs_status status = codec->arrange(configuration, level, err);
        if (status == ZS_OK)
            status = zs_codec_check_members(codec, configuration, err);
        return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "codec \"%s\"", codec->name);
    }
    if (codec->kind == ZS_BYTES_TO_BYTES)
        return add_stage(&level->bytes_codecs, &level->bytes_codec_count, codec, configuration, form, err);
    return add_stage(&level->stages, &level->stage_count, codec, configuration, form, err);
}

/* Reads all codecs of one list. *inner_codecs are those of a shard's chunks, else NULL. */
static enum zs_status compile_list(const zs_json *codecs, struct zs_level *level, bool is_last, struct zs_form *form,
                                   const zs_json **inner_codecs, struct zs_error *err)
{
    bool have_bytes = false, is_uint8 = false;
    for (const zs_json *c = zs_json_first(codecs); c != NULL; c = zs_json_next(c)) {
        const zs_json *configuration;
        const struct zs_codec *codec;
        const char *name = zs_extension_name(c, &configuration);
        if (name == NULL)
            return zs_fail_found(err, ZS_INVALID, c, "codecs: expected a name or an object with a name");
        ZS_TRY(zs_codec_find(name, &codec, err));
        if (form->dtype.text != ZS_TEXT_NONE)
            ZS_TRY(zs_codec_of_texts(&form->dtype, &codec, err));
        if (have_bytes && is_uint8 && strcmp(codec->name, "bytes") == 0) {
            is_uint8 = false;
            continue;
        }
        is_uint8 = codec->gives_uint8;
        if (codec->kind != ZS_BYTES_TO_BYTES && have_bytes)
            return zs_fail(err, ZS_INVALID, "codecs: \"%s\" takes an array, but stands behind a codec that gives bytes",
                           name);
        if (codec->kind == ZS_BYTES_TO_BYTES && !have_bytes)
            return zs_fail(err, ZS_INVALID, "codecs: \"%s\" takes bytes, but stands before a codec that gives bytes",
                           name);
        have_bytes = codec->kind != ZS_ARRAY_TO_ARRAY;
        if (is_last && codec->arrange != NULL && have_bytes)
            return zs_fail(err, ZS_UNSUPPORTED, "codec \"sharding_indexed\": nested more than %d deep",
                           ZS_MAX_LEVELS - 1);
        ZS_TRY(compile_codec(codec, configuration, level, form, err));
        if (codec->arrange != NULL && have_bytes)
            *inner_codecs = zs_json_get(configuration, "codecs");
    }
    if (!have_bytes)
        return zs_fail(err, ZS_INVALID,
                       "codecs: expected a codec that gives bytes (bytes or sharding_indexed), found none");
    return ZS_OK;
}

static size_t element_count(const struct zs_level *level)
{
    return (size_t)level->decoded_size / level->item_size;
}

/* Sets the sizes in bytes that the stages of an innermost chunk receive and give. */
static enum zs_status size_stages(struct zs_level *level, struct zs_error *err)
{
    if (level->decoded_size > MAX_LEAF_BYTES)
        return zs_fail(err, ZS_UNSUPPORTED, "chunk_shape: expected chunks of at most %llu bytes, found %llu",
                       (unsigned long long)MAX_LEAF_BYTES, (unsigned long long)level->decoded_size);
    level->stored_size = level->decoded_size;
    for (int i = 0; i < level->stage_count; i++) {
        level->stored_size = element_count(level) * level->stages[i].out.size;
        if (level->stages[i].codec->unpack != NULL)
            ZS_TRY(packed_bound(level, &level->stored_size, err));
        if (level->stored_size > MAX_LEAF_BYTES)
            return zs_fail(err, ZS_UNSUPPORTED, "codec \"%s\": expected chunks of at most %llu bytes, found %llu",
                           level->stages[i].codec->name, (unsigned long long)MAX_LEAF_BYTES,
                           (unsigned long long)level->stored_size);
    }
    return ZS_OK;
}

/* The stages before a shard are those of its chunks, too: there an empty chunk is the fill value as they made it, which
 * must be the array's again when they are undone. */
static enum zs_status push_stages(struct zs_level *level, const void *fill, struct zs_error *err)
{
    const int n = elementwise_count(level);
    if (n < level->stage_count)
        return zs_fail(err, ZS_UNSUPPORTED,
                       "codec \"%s\" before \"sharding_indexed\" is not supported: a chunk could not be read by itself",
                       level->stages[n].codec->name);
    if (!zs_stages_keep_element(level->stages, n, fill))
        return zs_fail(err, ZS_UNSUPPORTED,
                       "codec \"%s\" before \"sharding_indexed\": it does not give the fill_value back",
                       level->stages[0].codec->name);
    level[1].stages = level->stages;
    level[1].stage_count = n;
    level->stages = NULL;
    level->stage_count = 0;
    return ZS_OK;
}

/* Compiles one `codecs` list into chain->levels[chain->count], whose ndim, shape and axis are set, and recurses into
 * shards. `form` is what its first codec receives; what stages before it there are is in the level. */
static enum zs_status compile_level(const zs_json *codecs, const struct zs_array_meta *meta, struct zs_form *form,
                                    struct zs_chain *chain, struct zs_error *err)
{
    const struct zs_dtype *dtype = &meta->dtype;
    struct zs_level *level = &chain->levels[chain->count++], *inner = level + 1;
    if (!zs_json_is_array(codecs) || zs_json_size(codecs) == 0)
        return zs_fail_found(err, ZS_INVALID, codecs, "codecs: expected a list of at least one codec");
    const zs_json *inner_codecs = NULL;
    ZS_TRY(compile_list(codecs, level, chain->count == ZS_MAX_LEVELS, form, &inner_codecs, err));

    level->item_size = dtype->size;
    if (!zs_product_u64(level->shape, level->ndim, &level->decoded_size) ||
        !zs_mul_u64(level->decoded_size, dtype->size, &level->decoded_size))
        return zs_fail(err, ZS_INVALID, "chunk_shape: the size of a chunk does not fit 64 bits");
    if (!level->is_shard) {
        level->keeps_fill = zs_level_keeps_element(level, meta->fill_value);
        for (int i = 0; i < level->stage_count; i++)
            if (!level->stages[i].codec->is_elementwise && level->stages[i].codec->pack == NULL)
                level->only_read = level->stages[i].codec->name;
        level->is_text = dtype->text != ZS_TEXT_NONE;
        return size_stages(level, err);
    }
    ZS_TRY(push_stages(level, meta->fill_value, err));
    const enum zs_status status = compile_level(inner_codecs, meta, form, chain, err);
    if (status != ZS_OK)
        return zs_fail_in(err, status, "codec \"sharding_indexed\"");
    if (!zs_mul_u64(level->inner_count, inner->stored_size, &level->stored_size))
        return zs_fail(err, ZS_INVALID, "chunk_shape: the size of a shard does not fit 64 bits");
    if (dtype->text == ZS_TEXT_UTF8 && level->bytes_codec_count > 0)
        level->stored_size = inner->stored_size; /* what bounds one chunk of any size, times many, is no bound */
    return ZS_OK;
}

/* Checks that shards of all edges consist of whole inner chunks; the level has the longest edges. */
static enum zs_status check_edges(const struct zs_array_meta *meta, const struct zs_level *shard, struct zs_error *err)
{
    for (int d = 0; d < meta->ndim; d++)
        for (size_t i = 0; meta->edges[d] != NULL && i < meta->edges[d]->run_count; i++)
            if (meta->edges[d]->runs[i].edge % shard[1].shape[d] != 0)
                return zs_fail(err, ZS_INVALID,
                               "codec \"sharding_indexed\": chunk_shape: expected a divisor of all shards' edges of "
                               "dimension %d, found %llu, and a shard of %llu",
                               d, (unsigned long long)shard[1].shape[d],
                               (unsigned long long)meta->edges[d]->runs[i].edge);
    return ZS_OK;
}

enum zs_status zs_chain_compile(const struct zs_array_meta *meta, struct zs_chain *chain, struct zs_error *err)
{
    memset(chain, 0, sizeof *chain);
    struct zs_level *outer = &chain->levels[0];
    struct zs_form form = {.dtype = zs_dtype_declared(&meta->dtype)};
    memcpy(form.fill, meta->fill_value, sizeof form.fill);
    outer->ndim = meta->ndim;
    for (int d = 0; d < meta->ndim; d++) {
        outer->shape[d] = meta->chunk_shape[d];
        outer->axis[d] = d;
    }
    enum zs_status status = compile_level(meta->codecs, meta, &form, chain, err);
    if (status == ZS_OK && outer->is_shard)
        status = check_edges(meta, outer, err);
    if (status != ZS_OK)
        zs_chain_clear(chain);
    return status;
}

static void clear_stages(struct zs_stage *stages, int count)
{
    for (int i = 0; i < count; i++)
        zs_stage_clear(&stages[i]);
    free(stages);
}

void zs_level_resize(const struct zs_level *level, const uint64_t *shape, struct zs_level *resized)
{
    struct zs_level *r = resized;
    *r = *level;
    memcpy(r->shape, shape, (size_t)level->ndim * sizeof *shape);
    r->decoded_size = r->item_size;
    r->inner_count = 1;
    for (int d = 0; d < level->ndim; d++) {
        r->decoded_size *= shape[d];
        if (level->is_shard)
            r->inner_count *= r->grid[d] = shape[d] / level[1].shape[d];
    }
    if (level->is_shard) {
        r->index_size = 16 * r->inner_count + 4 * (uint64_t)r->index_checksums;
        r->stored_size = r->inner_count * level[1].stored_size;
    } else if (!zs_chunk_is_packed(level)) { /* else the bound of the largest is used */
        r->stored_size = level->stage_count > 0 ? element_count(r) * level->stages[level->stage_count - 1].out.size
                                                : r->decoded_size;
    }
}

void zs_chain_clear(struct zs_chain *chain)
{
    for (int i = 0; i < ZS_MAX_LEVELS; i++) {
        clear_stages(chain->levels[i].stages, chain->levels[i].stage_count);
        clear_stages(chain->levels[i].bytes_codecs, chain->levels[i].bytes_codec_count);
    }
    memset(chain, 0, sizeof *chain);
}

size_t zs_level_bound(const struct zs_level *level)
{
    if (!level->is_shard)
        return zs_bytes_bound((size_t)level->stored_size);
    uint64_t limit = zs_bytes_bound(level->stored_size > SIZE_MAX / 4 ? SIZE_MAX / 4 : (size_t)level->stored_size);
    if (!zs_add_u64(limit, 2 * level->index_size, &limit) || limit > SIZE_MAX / 4)
        return SIZE_MAX / 4;
    return zs_bytes_bound((size_t)limit);
}

/* ---- Innermost chunks ---- */

/* Undoes the bytes codecs: *data are the stored elements; in dst where they are as large as those of the array, else in
 * src or scratch. */
static enum zs_status decode_bytes(const struct zs_level *level, struct zs_scratch *scratch, const void *src, size_t n,
                                   void *dst, const void **data, struct zs_error *err)
{
    const size_t stored = (size_t)level->stored_size;
    if (level->bytes_codec_count == 0 && level->stage_count > 0 &&
        level->stages[level->stage_count - 1].codec->is_elementwise && n == stored) {
        *data = src;
        return ZS_OK;
    }
    if (!zs_stages_keep_size(level->stages, level->stage_count)) {
        struct zs_buffer *buffer = zs_scratch_buffer(scratch, ZS_SCRATCH_STORED);
        ZS_TRY(zs_buffer_reset(buffer, stored, err));
        dst = buffer->data;
    }
    *data = dst;
    return zs_bytes_decode(level->bytes_codecs, level->bytes_codec_count, scratch, src, n, dst, stored, err);
}

enum zs_status zs_chunk_decode(const struct zs_level *level, struct zs_scratch *scratch, const void *src, size_t n,
                               void *dst, struct zs_error *err)
{
    const size_t count = element_count(level);
    const void *data;
    if (zs_chunk_is_packed(level))
        return decode_packed(level, scratch, src, n, dst, err);
    ZS_TRY(decode_bytes(level, scratch, src, n, dst, &data, err));
    return zs_stages_decode(level->stages, level->stage_count, count, scratch, data, dst, err);
}

bool zs_chunk_is_plain(const struct zs_level *level, const void *src, size_t n)
{
    return level->stage_count == 0 && level->bytes_codec_count == 0 && n == level->decoded_size &&
           (uintptr_t)src % ZS_MAX_ITEM_SIZE == 0;
}

/* Bytes of an element as the bytes codecs receive it; 0 where elements have no bytes of their own. */
static size_t stored_item(const struct zs_level *level)
{
    if (elementwise_count(level) < level->stage_count)
        return 0;
    return level->stage_count > 0 ? level->stages[level->stage_count - 1].out.size : level->item_size;
}

bool zs_chunk_has_blocks(const struct zs_level *level)
{
    const bool is_cut = level->bytes_codec_count == 1 && level->bytes_codecs[0].codec->read_blocks != NULL;
    return stored_item(level) > 0 && (level->bytes_codec_count == 0 || is_cut);
}

enum zs_status zs_chunk_read_blocks(const struct zs_level *level, const void *head, size_t have, uint64_t n,
                                    uint64_t plain_size, size_t *need, struct zs_blocks **blocks, struct zs_error *err)
{
    *need = 0;
    *blocks = NULL;
    if (level->bytes_codec_count > 0) {
        ZS_TRY(level->bytes_codecs[0].codec->read_blocks(head, have, n, level->stored_size, plain_size, need, blocks,
                                                         err));
        if (*blocks != NULL && (*blocks)->block_size % stored_item(level) != 0)
            (*blocks)->count = 0; /* an element lies in two blocks */
        return ZS_OK;
    }
    *blocks = n == level->stored_size ? zs_blocks_plain(n, 0, plain_size) : zs_blocks_alloc(0, true);
    return *blocks != NULL ? ZS_OK : zs_fail_memory(err);
}

void zs_chunk_block_elements(const struct zs_level *level, const struct zs_blocks *blocks, size_t index,
                             uint64_t *first, uint64_t *count)
{
    const size_t item = stored_item(level);
    *first = index * (blocks->block_size / item);
    *count = zs_block_decoded(blocks, index) / item;
}

enum zs_status zs_chunk_decode_block(const struct zs_level *level, struct zs_scratch *scratch,
                                     const struct zs_blocks *blocks, size_t index, const void *src, void *dst,
                                     struct zs_error *err)
{
    const size_t size = (size_t)zs_block_decoded(blocks, index), n = size / stored_item(level);
    const void *data = src;
    if (!blocks->is_plain) {
        void *out = dst;
        if (!zs_stages_keep_size(level->stages, level->stage_count)) {
            struct zs_buffer *buffer = zs_scratch_buffer(scratch, ZS_SCRATCH_STORED);
            ZS_TRY(zs_buffer_reset(buffer, size, err));
            out = buffer->data;
        }
        ZS_TRY(level->bytes_codecs[0].codec->decode_block(blocks, index, scratch, src, out, err));
        data = out;
    }
    if (level->stage_count == 0 && data != dst)
        memcpy(dst, data, size);
    return zs_stages_decode(level->stages, level->stage_count, n, scratch, data, dst, err);
}

static enum zs_status check_writable(const struct zs_level *level, struct zs_error *err)
{
    return level->only_read == NULL
               ? ZS_OK
               : zs_fail(err, ZS_UNSUPPORTED, "chunks of codec \"%s\" are only read", level->only_read);
}

enum zs_status zs_chunk_decode_for_update(const struct zs_level *level, struct zs_scratch *scratch, const void *src,
                                          size_t n, void *dst, struct zs_error *err)
{
    const size_t size = (size_t)level->decoded_size;
    const int count = level->stage_count - zs_chunk_is_packed(level);
    ZS_TRY(check_writable(level, err));
    ZS_TRY(zs_chunk_decode(level, scratch, src, n, dst, err));
    if (count == 0 || level->is_text || (count == 1 && level->stages[0].codec->kind == ZS_ARRAY_TO_BYTES))
        return ZS_OK; /* exact */
    struct zs_buffer copy = {0}, again = {0};
    const void *encoded;
    enum zs_status status = zs_buffer_append(&copy, dst, size, err);
    if (status == ZS_OK)
        status = zs_stages_encode(level->stages, count, element_count(level), scratch, copy.data, &encoded, err);
    if (status == ZS_OK)
        status = zs_buffer_reset(&again, size, err);
    if (status == ZS_OK)
        status = zs_stages_decode(level->stages, count, element_count(level), scratch, encoded, again.data, err);
    if (status == ZS_OK && memcmp(again.data, dst, size) != 0)
        status = zs_fail(err, ZS_UNSUPPORTED, "codec \"%s\": encoded again, pixels that are not written would change",
                         level->stages[0].codec->name);
    zs_buffer_free(&copy);
    zs_buffer_free(&again);
    return status;
}

enum zs_status zs_chunk_encode(const struct zs_level *level, struct zs_scratch *scratch, void *src,
                               const void **encoded, size_t *n, struct zs_error *err)
{
    const void *data;
    ZS_TRY(check_writable(level, err));
    if (!level->keeps_fill)
        return zs_fail(err, ZS_UNSUPPORTED,
                       "the codecs do not give the fill_value back: pixels without a value would get one");
    if (zs_chunk_is_packed(level))
        return encode_packed(level, scratch, src, encoded, n, err);
    ZS_TRY(zs_stages_encode(level->stages, level->stage_count, element_count(level), scratch, src, &data, err));
    return zs_bytes_encode(level->bytes_codecs, level->bytes_codec_count, scratch, data, (size_t)level->stored_size,
                           encoded, n, err);
}
