#include "codec/codec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of any codec. */
#define MAX_MEMBERS 9

extern const struct zs_codec zs_codec_packbits, zs_codec_transpose, zs_codec_scale_offset, zs_codec_cast_value,
    zs_codec_bitround, zs_codec_bytes, zs_codec_sharding, zs_codec_crc32c, zs_codec_gzip, zs_codec_zstd, zs_codec_blosc;
extern const struct zs_codec zs_codec_numcodecs_fixedscaleoffset, zs_codec_numcodecs_quantize,
    zs_codec_numcodecs_astype, zs_codec_numcodecs_delta, zs_codec_numcodecs_packbits, zs_codec_numcodecs_zlib,
    zs_codec_numcodecs_bz2, zs_codec_numcodecs_lzma, zs_codec_numcodecs_lz4, zs_codec_numcodecs_blosc,
    zs_codec_numcodecs_shuffle, zs_codec_numcodecs_crc32, zs_codec_numcodecs_crc32c, zs_codec_numcodecs_adler32,
    zs_codec_numcodecs_fletcher32, zs_codec_numcodecs_jenkins;
extern const struct zs_codec zs_codec_zfp, zs_codec_numcodecs_zfpy, zs_codec_vlen_utf8;

static const struct {
    const char *name;
    const struct zs_codec *codec;
} known[] = {
    /* Core specification and zarr-extensions */
    {"transpose", &zs_codec_transpose},
    {"scale_offset", &zs_codec_scale_offset},
    {"cast_value", &zs_codec_cast_value},
    {"bitround", &zs_codec_bitround},
    {"bytes", &zs_codec_bytes},
    {"packbits", &zs_codec_packbits},
    {"zfp", &zs_codec_zfp},
    {"endian", &zs_codec_bytes}, /* its name before 2023 */
    {"sharding_indexed", &zs_codec_sharding},
    {"gzip", &zs_codec_gzip},
    {"zstd", &zs_codec_zstd},
    {"blosc", &zs_codec_blosc},
    {"crc32c", &zs_codec_crc32c},
    {"vlen-utf8", &zs_codec_vlen_utf8}, /* of texts alone */
    /* The numcodecs library, as zarr-python writes them */
    {"numcodecs.bitround", &zs_codec_bitround},
    {"numcodecs.fixedscaleoffset", &zs_codec_numcodecs_fixedscaleoffset},
    {"numcodecs.quantize", &zs_codec_numcodecs_quantize},
    {"numcodecs.astype", &zs_codec_numcodecs_astype},
    {"numcodecs.delta", &zs_codec_numcodecs_delta},
    {"numcodecs.zfpy", &zs_codec_numcodecs_zfpy},
    {"numcodecs.packbits", &zs_codec_numcodecs_packbits},
    {"numcodecs.gzip", &zs_codec_gzip},
    {"numcodecs.zlib", &zs_codec_numcodecs_zlib},
    {"numcodecs.zstd", &zs_codec_zstd},
    {"numcodecs.blosc", &zs_codec_numcodecs_blosc},
    {"numcodecs.bz2", &zs_codec_numcodecs_bz2},
    {"numcodecs.lzma", &zs_codec_numcodecs_lzma},
    {"numcodecs.lz4", &zs_codec_numcodecs_lz4},
    {"numcodecs.shuffle", &zs_codec_numcodecs_shuffle},
    {"numcodecs.crc32", &zs_codec_numcodecs_crc32},
    {"numcodecs.crc32c", &zs_codec_numcodecs_crc32c},
    {"numcodecs.adler32", &zs_codec_numcodecs_adler32},
    {"numcodecs.fletcher32", &zs_codec_numcodecs_fletcher32},
    {"numcodecs.jenkins_lookup3", &zs_codec_numcodecs_jenkins},
};

enum zs_status zs_codec_find(const char *name, const struct zs_codec **codec, struct zs_error *err)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].name, name) != 0)
            continue;
        *codec = known[i].codec;
        if ((*codec)->lacks != NULL)
            return zs_fail(err, ZS_UNSUPPORTED, "codec \"%s\" needs %s, which this build does not have", name,
                           (*codec)->lacks);
        return ZS_OK;
    }
    return zs_fail(err, ZS_UNSUPPORTED, "codec \"%s\" is not supported", name);
}

/* ---- Configurations ---- */

enum zs_status zs_codec_check_members(const struct zs_codec *codec, const zs_json *configuration, struct zs_error *err)
{
    const char *names[MAX_MEMBERS + 1] = {NULL};
    for (int i = 0; codec->members != NULL && codec->members[i].name != NULL; i++)
        names[i] = codec->members[i].name;
    return zs_members_check(configuration, names, err) == ZS_OK ? ZS_OK : ZS_INVALID;
}

/* "a", "b" or "c" */
static void print_choices(const char *const *choices, char *text, size_t n)
{
    size_t at = 0;
    for (int i = 0; choices[i] != NULL && at < n; i++)
        at += (size_t)snprintf(text + at, n - at, "%s\"%s\"",
                               i == 0 ? "" : choices[i + 1] != NULL ? ", " : " or ", choices[i]);
}

static enum zs_status read_member(const struct zs_stage *stage, const struct zs_member *m, const zs_json *given,
                                  struct zs_error *err)
{
    char expected[160];
    int64_t value = m->standard;
    double number = (double)m->standard;
    bool truth = m->standard != 0, is_read = false;
    if (zs_json_typeof(given) == ZS_JSON_NULL && !m->is_required) {
        is_read = true;
    } else if (m->kind == ZS_MEMBER_INTEGER) {
        is_read = zs_json_int64(given, &value) && value >= m->low && value <= m->high;
        (void)snprintf(expected, sizeof expected, m->low < m->high ? "an integer from %lld to %lld" : "%lld",
                       (long long)m->low, (long long)m->high);
    } else if (m->kind == ZS_MEMBER_CHOICE) {
        for (value = 0; m->choices[value] != NULL && !is_read; value += !is_read)
            is_read = zs_json_equals(given, m->choices[value]);
        print_choices(m->choices, expected, sizeof expected);
    } else if (m->kind == ZS_MEMBER_NUMBER) {
        is_read = zs_json_double(given, &number) && isfinite(number);
        (void)snprintf(expected, sizeof expected, "a finite number");
    } else {
        is_read = zs_json_bool(given, &truth);
        value = truth;
        (void)snprintf(expected, sizeof expected, "true or false");
    }
    if (!is_read)
        return zs_fail_found(err, ZS_INVALID, given, "%s: expected %s", m->name, expected);
    const bool is_number = m->kind == ZS_MEMBER_NUMBER;
    memcpy((char *)stage->state + m->offset, is_number ? (const void *)&number : &value, sizeof value);
    return ZS_OK;
}

/* Reads the whole configuration. */
static enum zs_status configure(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    const struct zs_codec *codec = stage->codec;
    if (codec->state_size > 0) {
        stage->state = zs_calloc(1, codec->state_size);
        ZS_TRY_MEMORY(stage->state, err);
    }
    for (const struct zs_member *m = codec->members; m != NULL && m->name != NULL; m++)
        if (m->kind != ZS_MEMBER_OTHER)
            ZS_TRY(read_member(stage, m, zs_json_get(configuration, m->name), err));
    if (codec->configure != NULL)
        ZS_TRY(codec->configure(configuration, stage, err));
    ZS_TRY(zs_codec_check_members(codec, configuration, err));
    /* Their arithmetic would round to fewer digits, and clamp to other limits, than that of the type in memory. */
    if (codec->kind == ZS_ARRAY_TO_ARRAY && (stage->in.is_bfloat16 || stage->out.is_bfloat16))
        return zs_fail(err, ZS_UNSUPPORTED, "data type bfloat16 is not supported");
    return ZS_OK;
}

enum zs_status zs_stage_parse(const struct zs_codec *codec, const zs_json *configuration, struct zs_form *form,
                              struct zs_stage *stage, struct zs_error *err)
{
    struct zs_stage parsed = {.codec = codec, .in = form->dtype, .out = form->dtype};
    memcpy(parsed.fill, form->fill, sizeof parsed.fill);
    enum zs_status status = configure(configuration, &parsed, err);
    if (status != ZS_OK) {
        status = zs_fail_in(err, status, "codec \"%s\"", codec->name);
    } else if (codec->is_elementwise && !parsed.is_void) {
        _Alignas(16) unsigned char in[ZS_MAX_ITEM_SIZE], out[ZS_MAX_ITEM_SIZE] = {0};
        memcpy(in, form->fill, sizeof in);
        status = codec->encode_array(&parsed, 1, in, out, codec->encodes_fill ? err : NULL);
        if (status != ZS_OK)
            status = codec->encodes_fill ? zs_fail_in(err, ZS_INVALID, "fill_value") : ZS_OK;
        memcpy(form->fill, out, sizeof out);
    }
    if (status != ZS_OK) {
        zs_stage_clear(&parsed);
        return status;
    }
    form->dtype = parsed.out;
    *stage = parsed;
    return ZS_OK;
}

void zs_stage_clear(struct zs_stage *stage)
{
    free(stage->state);
    *stage = (struct zs_stage){0};
}

/* ---- Bytes to bytes ---- */

size_t zs_bytes_bound(size_t n)
{
    const size_t slack = (size_t)64 << 10;
    return n > (SIZE_MAX - slack) / 2 ? SIZE_MAX : 2 * n + slack;
}

/* The output of a step whose input is `data`: the one of the two codec buffers that does not hold it. */
static struct zs_buffer *other_buffer(struct zs_scratch *scratch, const void *data)
{
    struct zs_buffer *a = zs_scratch_buffer(scratch, ZS_SCRATCH_CODEC_A);
    const bool is_in_a = (uintptr_t)data - (uintptr_t)a->data < a->capacity;
    return !is_in_a ? a : zs_scratch_buffer(scratch, ZS_SCRATCH_CODEC_B);
}

/* Decodes *n bytes of *data, to at most `limit` bytes, into dst or, where that is NULL, into one of the two codec
 * buffers. `grows`: how many there will be is not known, and dst is NULL. */
static enum zs_status decode_one(const struct zs_stage *stage, struct zs_scratch *scratch, const unsigned char **data,
                                 size_t *n, unsigned char *dst, size_t limit, bool grows, struct zs_error *err)
{
    struct zs_buffer *out = other_buffer(scratch, *data);
    if (grows && stage->codec->decode_growing != NULL) {
        ZS_TRY(stage->codec->decode_growing(stage, scratch, *data, *n, limit, out, err));
        *data = out->data;
        *n = out->size;
        return ZS_OK;
    }
    if (dst == NULL) {
        ZS_TRY(zs_buffer_reset(out, limit, err));
        dst = out->data;
    }
    size_t produced = 0;
    ZS_TRY(stage->codec->decode(stage, scratch, *data, *n, dst, limit, &produced, err));
    *data = dst;
    *n = produced;
    return ZS_OK;
}

/* Decodes *n bytes of *data with all codecs to at most `limit` bytes, which the caller checks where none of them
 * compresses. The last step that produces bytes writes into dst (room for `limit`; NULL where there may be fewer),
 * unless checksums inside the compression come out with the data; checksums outside only strip. The result stays where
 * it is: src, dst or one of the two codec buffers. */
static enum zs_status decode_within(const struct zs_stage *codecs, int count, struct zs_scratch *scratch,
                                    const unsigned char **data, size_t *n, void *dst, size_t limit,
                                    struct zs_error *err)
{
    int inside = 0; /* checksums */
    while (inside < count && codecs[inside].codec->strip != NULL)
        inside++;
    for (int i = count - 1; i >= 0; i--) {
        const size_t most = i > inside ? zs_bytes_bound(limit) : limit + ZS_STRIP_BYTES * (size_t)inside;
        if (codecs[i].codec->strip != NULL)
            ZS_TRY(codecs[i].codec->strip(&codecs[i], data, n, err));
        else
            ZS_TRY(decode_one(&codecs[i], scratch, data, n, i == 0 ? dst : NULL, most, dst == NULL, err));
    }
    return ZS_OK;
}

enum zs_status zs_bytes_decode(const struct zs_stage *codecs, int count, struct zs_scratch *scratch, const void *src,
                               size_t n, void *dst, size_t n_dst, struct zs_error *err)
{
    const unsigned char *data = src;
    ZS_TRY(decode_within(codecs, count, scratch, &data, &n, dst, n_dst, err));
    if (n != n_dst)
        return zs_fail(err, ZS_CORRUPT, "expected %zu bytes after decoding, found %zu", n_dst, n);
    if (data != dst)
        memcpy(dst, data, n_dst);
    return ZS_OK;
}

enum zs_status zs_bytes_decode_up_to(const struct zs_stage *codecs, int count, struct zs_scratch *scratch,
                                     const void *src, size_t n, size_t limit, struct zs_buffer *out,
                                     struct zs_error *err)
{
    const unsigned char *data = src;
    ZS_TRY(decode_within(codecs, count, scratch, &data, &n, NULL, limit, err));
    if (n > limit)
        return zs_fail(err, ZS_CORRUPT, "expected at most %zu bytes after decoding, found %zu", limit, n);
    ZS_TRY(zs_buffer_reset(out, n, err));
    return zs_buffer_append(out, data, n, err);
}

enum zs_status zs_bytes_encode(const struct zs_stage *codecs, int count, struct zs_scratch *scratch, const void *src,
                               size_t n, const void **encoded, size_t *n_encoded, struct zs_error *err)
{
    const void *data = src;
    for (int i = 0; i < count; i++) {
        struct zs_buffer *out = other_buffer(scratch, data);
        ZS_TRY(codecs[i].codec->encode(&codecs[i], scratch, data, n, out, err));
        data = out->data;
        n = out->size;
    }
    *encoded = data;
    *n_encoded = n;
    return ZS_OK;
}

/* ---- Blocks ---- */

struct zs_blocks *zs_blocks_alloc(size_t count, bool is_plain)
{
    struct zs_blocks *b = NULL;
    const size_t entries = is_plain ? 0 : count;
    if (entries > (SIZE_MAX - sizeof *b) / sizeof b->at[0])
        return NULL;
    b = zs_calloc(1, sizeof *b + entries * sizeof b->at[0]);
    if (b == NULL)
        return NULL;
    b->count = count;
    b->is_plain = is_plain;
    return b;
}

struct zs_blocks *zs_blocks_plain(uint64_t size, uint64_t plain_at, uint64_t block_size)
{
    struct zs_blocks *b = zs_blocks_alloc((size_t)((size + block_size - 1) / block_size), true);
    if (b == NULL)
        return NULL;
    b->size = size;
    b->block_size = block_size;
    b->plain_at = plain_at;
    return b;
}

size_t zs_blocks_memory(const struct zs_blocks *blocks)
{
    return sizeof *blocks + (blocks->is_plain ? 0 : blocks->count * sizeof blocks->at[0]);
}

static int by_value(const void *x, const void *y)
{
    const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

bool zs_blocks_measure(struct zs_blocks *blocks, uint64_t n, uint64_t most)
{
    /* Several threads write blocks in the order in which they finish them. */
    uint64_t *sorted = zs_calloc(blocks->count, sizeof *sorted);
    if (sorted == NULL)
        return false;
    for (size_t i = 0; i < blocks->count; i++)
        sorted[i] = blocks->at[i].offset;
    qsort(sorted, blocks->count, sizeof *sorted, by_value);
    for (size_t i = 0; i < blocks->count; i++) {
        const uint64_t offset = blocks->at[i].offset;
        const size_t next = zs_find_u64(sorted, blocks->count, offset + 1);
        const uint64_t size = (next < blocks->count ? sorted[next] : n) - offset;
        blocks->at[i].size = (uint32_t)(size < most ? size : most);
    }
    free(sorted);
    return true;
}
