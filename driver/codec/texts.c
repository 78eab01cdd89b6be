/* Codecs of text: what is stored of each element, one after another. "bytes" for texts of one length; "vlen-utf8"
 * (zarr-extensions) for others, with the number of elements before them, and before each its length. */
#include "codec/codec.h"

#include <string.h>

extern const struct zs_codec zs_codec_bytes, zs_codec_vlen_utf8;

bool zs_text_equals(const struct zs_dtype *dtype, const unsigned char *a, const unsigned char *b)
{
    const size_t n = zs_text_stored_size(dtype, a);
    return n == zs_text_stored_size(dtype, b) && memcmp(a, b, n) == 0;
}

/* ---- Stages ---- */

/* Whether the code points are stored with the first byte last; else as in memory. */
static bool swaps(const struct zs_stage *stage)
{
    return stage->in.text == ZS_TEXT_UTF32 && *(const int64_t *)stage->state != 0;
}

static enum zs_status configure(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    if (stage->in.text == ZS_TEXT_NONE)
        return zs_fail(err, ZS_UNSUPPORTED, "%s is not supported", stage->in.name);
    stage->out = zs_dtype_of(ZS_UINT8);
    return ZS_OK;
}

static enum zs_status packed_bound(const struct zs_stage *stage, const struct zs_stored_shape *chunk, uint64_t *bound,
                                   struct zs_error *err)
{
    const struct zs_dtype *in = &stage->in;
    *bound = in->text_most;
    if (in->text_size == 0 || (zs_mul_u64(zs_stored_count(chunk), in->text_size, bound) && *bound <= in->text_most))
        return ZS_OK;
    return zs_fail(err, ZS_UNSUPPORTED, "expected chunks of at most %zu bytes of text", in->text_most);
}

static enum zs_status pack(const struct zs_stage *stage, const struct zs_stored_shape *chunk,
                           struct zs_scratch *scratch, const void *src, struct zs_buffer *out, struct zs_error *err)
{
    const struct zs_dtype *in = &stage->in;
    const unsigned char *const *texts = src;
    const uint64_t n = zs_stored_count(chunk);
    unsigned char head[4];
    uint64_t size = in->text_size == 0 ? sizeof head : 0;
    for (uint64_t i = 0; i < n; i++)
        size += zs_text_stored_size(in, texts[i]);
    if (size > in->text_most)
        return zs_fail(err, ZS_ARGUMENT, "expected chunks of at most %zu bytes of text, found %llu", in->text_most,
                       (unsigned long long)size);
    ZS_TRY(zs_buffer_reset(out, (size_t)size, err));
    zs_store_le(head, n, sizeof head);
    if (in->text_size == 0)
        ZS_TRY(zs_buffer_append(out, head, sizeof head, err));
    for (uint64_t i = 0; i < n; i++)
        ZS_TRY(zs_buffer_append(out, texts[i], zs_text_stored_size(in, texts[i]), err));
    if (swaps(stage))
        zs_swap_bytes(out->data, out->data, out->size, 4);
    return ZS_OK;
}

static enum zs_status unpack(const struct zs_stage *stage, const struct zs_stored_shape *chunk,
                             struct zs_scratch *scratch, struct zs_buffer *packed, void *dst, struct zs_error *err)
{
    const struct zs_dtype *in = &stage->in;
    const unsigned char **texts = dst, *fill;
    const uint64_t n = zs_stored_count(chunk);
    const size_t size = packed->size;
    size_t at = in->text_size == 0 ? 4 : 0;
    memcpy(&fill, stage->fill, sizeof fill);
    if (in->text_size != 0 && size != n * in->text_size)
        return zs_fail(err, ZS_CORRUPT, "expected %llu bytes of text, found %zu",
                       (unsigned long long)(n * in->text_size), size);
    if (in->text_size == 0 && (size < at || zs_load_le32(packed->data) != n))
        return zs_fail(err, ZS_CORRUPT, "codec \"vlen-utf8\": expected %llu elements, found %lu", (unsigned long long)n,
                       size < at ? 0UL : (unsigned long)zs_load_le32(packed->data));
    if (swaps(stage))
        zs_swap_bytes(packed->data, packed->data, size, 4);
    for (uint64_t i = 0; i < n; i++) {
        const unsigned char *text = packed->data + at;
        if (in->text_size == 0 && (size - at < 4 || zs_load_le32(text) > size - at - 4))
            return zs_fail(err, ZS_CORRUPT, "codec \"vlen-utf8\": element %llu ends beyond the %zu bytes of its chunk",
                           (unsigned long long)i, size);
        texts[i] = zs_text_equals(in, text, fill) ? fill : text;
        at += zs_text_stored_size(in, text);
    }
    return at == size ? ZS_OK
                      : zs_fail(err, ZS_CORRUPT, "codec \"vlen-utf8\": expected %zu bytes, found %zu", at, size);
}

static const struct zs_codec bytes_of_texts = {.name = "bytes",
                                               .kind = ZS_ARRAY_TO_BYTES,
                                               .members = zs_endian_members,
                                               .state_size = sizeof(int64_t),
                                               .configure = configure,
                                               .packed_bound = packed_bound,
                                               .pack = pack,
                                               .unpack = unpack};
const struct zs_codec zs_codec_vlen_utf8 = {.name = "vlen-utf8",
                                            .kind = ZS_ARRAY_TO_BYTES,
                                            .configure = configure,
                                            .packed_bound = packed_bound,
                                            .pack = pack,
                                            .unpack = unpack};

enum zs_status zs_codec_of_texts(const struct zs_dtype *dtype, const struct zs_codec **codec, struct zs_error *err)
{
    const bool is_bytes = *codec == &zs_codec_bytes;
    if ((*codec)->arrange != NULL || (*codec)->kind == ZS_BYTES_TO_BYTES)
        return ZS_OK;
    if (!is_bytes && *codec != &zs_codec_vlen_utf8)
        return zs_fail(err, ZS_UNSUPPORTED, "codec \"%s\" of text is not supported", (*codec)->name);
    if (is_bytes != (dtype->text_size != 0))
        return zs_fail(err, ZS_INVALID, "codecs: expected vlen-utf8 for strings and only for them");
    if (is_bytes)
        *codec = &bytes_of_texts;
    return ZS_OK;
}
