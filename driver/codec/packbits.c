/* The packbits codec (zarr-extensions): of each element the bits first_bit to last_bit, one after another, the lowest
 * first. numcodecs.packbits: truths, the first in the highest bit of a byte, behind a byte with the number of unused
 * bits in the last one. */
#include <stddef.h>
#include <string.h>

#include "codec/codec.h"

enum padding { PADDING_NONE, PADDING_FIRST, PADDING_LAST };

struct packbits {
    int64_t padding;     /* which byte holds the number of unused bits in the last byte */
    int64_t first, last; /* bits of a component that are stored; last is -1 for all */
    int count;
    int components; /* of an element: two of complex ones */
    int width;      /* bits that a component has */
    bool is_signed;
    bool is_mirrored; /* in each byte the highest bit is the first; count is 1 */
};

static enum zs_status configure(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    const struct zs_dtype *in = &stage->in;
    struct packbits *p = stage->state;
    if (in->type == ZS_RAW)
        return zs_fail(err, ZS_INVALID, "expected an array of numbers, found %s", in->name);
    stage->out = zs_dtype_of(ZS_UINT8);
    p->components = (int)(in->size / in->swap_unit);
    p->width = in->type == ZS_BOOL ? 1 : in->is_bfloat16 ? 16 : (int)(8 * in->swap_unit);
    p->is_signed = in->type == ZS_INT8 || in->type == ZS_INT16 || in->type == ZS_INT32 || in->type == ZS_INT64 ||
                   in->type == ZS_DATETIME64 || in->type == ZS_TIMEDELTA64;
    if (p->last < 0)
        p->last = p->width - 1;
    if (p->first > p->last || p->last >= p->width)
        return zs_fail(err, ZS_INVALID, "first_bit, last_bit: expected 0 to %d in order, found %d and %d",
                       p->width - 1, (int)p->first, (int)p->last);
    p->count = (int)(p->last - p->first) + 1;
    return ZS_OK;
}

static enum zs_status configure_numcodecs(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    if (stage->in.type != ZS_BOOL)
        return zs_fail(err, ZS_INVALID, "expected an array of bool, found %s", stage->in.name);
    struct packbits *p = stage->state;
    p->padding = PADDING_FIRST;
    p->last = -1;
    p->is_mirrored = true;
    return configure(configuration, stage, err);
}

static size_t packed_bits(const struct packbits *p, size_t n)
{
    /* no chunk has more than 2^31 bytes: 2^34 bits, and a bool's 8 are one */
    return n * (size_t)p->components * (size_t)p->count;
}

static size_t packed_size(const struct zs_stage *stage, size_t n)
{
    const struct packbits *p = stage->state;
    return (packed_bits(p, n) + 7) / 8 + (p->padding != PADDING_NONE);
}

/* ---- A component as bits ---- */

static uint64_t low_bits(int count)
{
    return count == 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1;
}

static bool load(const struct zs_dtype *dtype, const unsigned char *bytes, uint64_t *bits)
{
    float number;
    uint16_t stored = 0;
    *bits = zs_bits_load(dtype->swap_unit, bytes);
    if (dtype->type == ZS_BOOL)
        *bits = *bits != 0;
    if (!dtype->is_bfloat16)
        return true;
    memcpy(&number, bytes, sizeof number);
    const bool ok = zs_bfloat16_from_float(number, &stored);
    *bits = stored;
    return ok;
}

/* The component that decoding restores from the stored bits. */
static uint64_t restored(const struct packbits *p, uint64_t packed)
{
    uint64_t bits = packed << p->first;
    if (p->is_signed && (packed >> (p->count - 1) & 1) != 0)
        bits |= ~low_bits((int)p->last + 1);
    return bits & low_bits(p->width);
}

/* ---- Bits in a row ---- */

/* Of the lowest bit of a component. */
static size_t position(const struct packbits *p, size_t index)
{
    const size_t first = index * (size_t)p->count;
    return p->is_mirrored ? first ^ 7 : first;
}

static void put_bits(unsigned char *dst, size_t at, int count, uint64_t bits)
{
    for (int done = 0; done < count;) {
        const int shift = (int)((at + (size_t)done) % 8), part = 8 - shift < count - done ? 8 - shift : count - done;
        dst[(at + (size_t)done) / 8] |= (unsigned char)((bits >> done & low_bits(part)) << shift);
        done += part;
    }
}

static uint64_t get_bits(const unsigned char *src, size_t at, int count)
{
    uint64_t bits = 0;
    for (int done = 0; done < count;) {
        const int shift = (int)((at + (size_t)done) % 8), part = 8 - shift < count - done ? 8 - shift : count - done;
        bits |= ((uint64_t)src[(at + (size_t)done) / 8] >> shift & low_bits(part)) << done;
        done += part;
    }
    return bits;
}

static enum zs_status packed_bound(const struct zs_stage *stage, const struct zs_stored_shape *chunk, uint64_t *bound,
                                   struct zs_error *err)
{
    *bound = packed_size(stage, zs_stored_count(chunk));
    return ZS_OK;
}

static enum zs_status pack(const struct zs_stage *stage, const struct zs_stored_shape *chunk,
                           struct zs_scratch *scratch, const void *src, struct zs_buffer *out, struct zs_error *err)
{
    const struct packbits *p = stage->state;
    const size_t n = zs_stored_count(chunk), unit = stage->in.swap_unit, total = packed_bits(p, n);
    ZS_TRY(zs_buffer_reset(out, packed_size(stage, n), err));
    out->size = packed_size(stage, n);
    unsigned char *const d = out->data, *const packed = d + (p->padding == PADDING_FIRST);
    memset(d, 0, out->size);
    for (size_t i = 0; i < n * (size_t)p->components; i++) {
        uint64_t bits;
        const bool ok = load(&stage->in, (const unsigned char *)src + i * unit, &bits);
        const uint64_t kept = bits >> p->first & low_bits(p->count);
        if (!ok || restored(p, kept) != bits)
            return zs_fail(err, ZS_INVALID, "codec \"packbits\": an element of %s has more than its bits %d to %d",
                           stage->in.name, (int)p->first, (int)p->last);
        put_bits(packed, position(p, i), p->count, kept);
    }
    const unsigned char padding = (unsigned char)((8 - total % 8) % 8);
    if (p->padding == PADDING_FIRST)
        d[0] = padding;
    else if (p->padding == PADDING_LAST)
        packed[(total + 7) / 8] = padding;
    return ZS_OK;
}

static enum zs_status unpack(const struct zs_stage *stage, const struct zs_stored_shape *chunk,
                             struct zs_scratch *scratch, struct zs_buffer *from, void *dst, struct zs_error *err)
{
    const struct packbits *p = stage->state;
    const size_t n = zs_stored_count(chunk), unit = stage->in.swap_unit, total = packed_bits(p, n);
    if (from->size != packed_size(stage, n))
        return zs_fail(err, ZS_CORRUPT, "expected %zu bytes after decoding, found %zu", packed_size(stage, n),
                       from->size);
    const unsigned char *const s = from->data, *const packed = s + (p->padding == PADDING_FIRST);
    const int padding = p->padding == PADDING_FIRST ? s[0] : p->padding == PADDING_LAST ? packed[(total + 7) / 8] : -1;
    if (padding >= 0 && padding != (int)((8 - total % 8) % 8))
        return zs_fail(err, ZS_CORRUPT, "codec \"%s\": expected %d bits of padding, found %d",
                       stage->codec->name, (int)((8 - total % 8) % 8), padding);
    for (size_t i = 0; i < n * (size_t)p->components; i++) {
        uint64_t bits = restored(p, get_bits(packed, position(p, i), p->count));
        if (stage->in.is_bfloat16)
            bits <<= 16; /* of the float32 that it is the upper half of */
        zs_bits_store(unit, bits, (unsigned char *)dst + i * unit);
    }
    return ZS_OK;
}

static const char *const paddings[] = {"none", "first_byte", "last_byte", NULL}; /* in the order of enum padding */
static const struct zs_member members[] = {
    {"padding_encoding", ZS_MEMBER_CHOICE, offsetof(struct packbits, padding), .choices = paddings},
    {"first_bit", ZS_MEMBER_INTEGER, offsetof(struct packbits, first), .high = 63},
    {"last_bit", ZS_MEMBER_INTEGER, offsetof(struct packbits, last), .high = 63, .standard = -1},
    {0}};
#define PACKBITS(variable, text, known, own, takes_bytes)                                                              \
    const struct zs_codec variable = {.name = text,                                                                    \
                                      .kind = ZS_ARRAY_TO_BYTES,                                                       \
                                      .members = known,                                                                \
                                      .state_size = sizeof(struct packbits),                                           \
                                      .configure = own,                                                                \
                                      .gives_uint8 = takes_bytes,                                                      \
                                      .packed_bound = packed_bound,                                                    \
                                      .pack = pack,                                                                    \
                                      .unpack = unpack}
PACKBITS(zs_codec_packbits, "packbits", members, configure, false);
PACKBITS(zs_codec_numcodecs_packbits, "numcodecs.packbits", NULL, configure_numcodecs, true);
