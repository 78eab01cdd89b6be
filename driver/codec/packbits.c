/* The packbits codec (zarr-extensions): of each element the bits first_bit to last_bit, one after another, the lowest
 * first. */
#include <string.h>

#include "codec/codec.h"

enum padding { PADDING_NONE, PADDING_FIRST, PADDING_LAST };

struct packbits {
    enum padding padding; /* which byte holds the number of unused bits in the last byte */
    int first, count;     /* bits of a component that are stored: the first, how many */
    int components;       /* of an element: two of complex ones */
    int width;            /* bits that a component has */
    bool is_signed;
};

static enum zs_status parse_padding(const zs_json *given, enum padding *padding, struct zs_error *err)
{
    static const char *const names[] = {"none", "first_byte", "last_byte"};
    *padding = PADDING_NONE;
    for (int i = 0; i < 3; i++)
        if (zs_json_equals(given, names[i]))
            *padding = (enum padding)i;
    if (given == NULL || zs_json_equals(given, names[*padding]))
        return ZS_OK;
    return zs_fail_found(err, ZS_INVALID, given,
                         "padding_encoding: expected \"none\", \"first_byte\" or \"last_byte\"");
}

static enum zs_status parse_bit(const zs_json *configuration, const char *name, int least, int most, int standard,
                                int *out, struct zs_error *err)
{
    const zs_json *given = zs_json_get(configuration, name);
    int64_t bit = standard;
    if (zs_json_typeof(given) != ZS_JSON_NULL && (!zs_json_int64(given, &bit) || bit < least || bit > most))
        return zs_fail_found(err, ZS_INVALID, given, "%s: expected an integer from %d to %d", name, least, most);
    *out = (int)bit;
    return ZS_OK;
}

static enum zs_status read(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    const struct zs_dtype *in = &stage->in;
    if (in->type == ZS_RAW)
        return zs_fail(err, ZS_INVALID, "expected an array of numbers, found %s", in->name);
    struct packbits *p = zs_calloc(1, sizeof *p);
    ZS_TRY_MEMORY(p, err);
    stage->state = p;
    stage->out = zs_dtype_of(ZS_UINT8);
    p->components = (int)(in->size / in->swap_unit);
    p->width = in->type == ZS_BOOL ? 1 : in->is_bfloat16 ? 16 : (int)(8 * in->swap_unit);
    p->is_signed = in->type == ZS_INT8 || in->type == ZS_INT16 || in->type == ZS_INT32 || in->type == ZS_INT64 ||
                   in->type == ZS_DATETIME64 || in->type == ZS_TIMEDELTA64;
    ZS_TRY(parse_padding(zs_json_get(configuration, "padding_encoding"), &p->padding, err));
    int last;
    ZS_TRY(parse_bit(configuration, "first_bit", 0, p->width - 1, 0, &p->first, err));
    ZS_TRY(parse_bit(configuration, "last_bit", p->first, p->width - 1, p->width - 1, &last, err));
    p->count = last - p->first + 1;
    return ZS_OK;
}

static enum zs_status parse(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    const enum zs_status status = read(configuration, stage, err);
    return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "codec \"packbits\"");
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
    uint16_t b16;
    uint32_t b32;
    if (dtype->is_bfloat16) {
        float number;
        memcpy(&number, bytes, sizeof number);
        const bool ok = zs_bfloat16_from_float(number, &b16);
        *bits = b16;
        return ok;
    }
    switch (dtype->swap_unit) {
    case 1:
        *bits = dtype->type == ZS_BOOL ? *bytes != 0 : *bytes;
        break;
    case 2:
        memcpy(&b16, bytes, 2);
        *bits = b16;
        break;
    case 4:
        memcpy(&b32, bytes, 4);
        *bits = b32;
        break;
    default:
        memcpy(bits, bytes, 8);
    }
    return true;
}

static void store(const struct zs_dtype *dtype, uint64_t bits, unsigned char *bytes)
{
    const uint16_t b16 = (uint16_t)bits;
    const uint32_t b32 = (uint32_t)bits;
    const float wide = zs_bfloat16_to_float(b16);
    if (dtype->is_bfloat16)
        memcpy(bytes, &wide, sizeof wide);
    else if (dtype->swap_unit == 1)
        *bytes = (unsigned char)bits;
    else if (dtype->swap_unit == 2)
        memcpy(bytes, &b16, 2);
    else if (dtype->swap_unit == 4)
        memcpy(bytes, &b32, 4);
    else
        memcpy(bytes, &bits, 8);
}

/* The component that decoding restores from the stored bits. */
static uint64_t restored(const struct packbits *p, uint64_t packed)
{
    uint64_t bits = packed << p->first;
    if (p->is_signed && (packed >> (p->count - 1) & 1) != 0)
        bits |= ~low_bits(p->first + p->count);
    return bits & low_bits(p->width);
}

/* ---- Bits in a row ---- */

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

static enum zs_status encode_array(const struct zs_stage *stage, size_t n, const void *src, void *dst,
                                   struct zs_error *err)
{
    const struct packbits *p = stage->state;
    const size_t unit = stage->in.swap_unit, total = packed_bits(p, n);
    unsigned char *const d = dst, *const packed = d + (p->padding == PADDING_FIRST);
    memset(d, 0, packed_size(stage, n));
    for (size_t i = 0; i < n * (size_t)p->components; i++) {
        uint64_t bits;
        const bool ok = load(&stage->in, (const unsigned char *)src + i * unit, &bits);
        const uint64_t kept = bits >> p->first & low_bits(p->count);
        if (!ok || restored(p, kept) != bits)
            return zs_fail(err, ZS_INVALID, "codec \"packbits\": an element of %s has more than its bits %d to %d",
                           stage->in.name, p->first, p->first + p->count - 1);
        put_bits(packed, i * (size_t)p->count, p->count, kept);
    }
    const unsigned char padding = (unsigned char)((8 - total % 8) % 8);
    if (p->padding == PADDING_FIRST)
        d[0] = padding;
    else if (p->padding == PADDING_LAST)
        packed[(total + 7) / 8] = padding;
    return ZS_OK;
}

static enum zs_status decode_array(const struct zs_stage *stage, size_t n, const void *src, void *dst,
                                   struct zs_error *err)
{
    const struct packbits *p = stage->state;
    const size_t unit = stage->in.swap_unit, total = packed_bits(p, n);
    const unsigned char *const s = src, *const packed = s + (p->padding == PADDING_FIRST);
    const int padding = p->padding == PADDING_FIRST ? s[0] : p->padding == PADDING_LAST ? packed[(total + 7) / 8] : -1;
    if (padding >= 0 && padding != (int)((8 - total % 8) % 8))
        return zs_fail(err, ZS_CORRUPT, "codec \"packbits\": expected %d bits of padding, found %d",
                       (int)((8 - total % 8) % 8), padding);
    for (size_t i = 0; i < n * (size_t)p->components; i++)
        store(&stage->in, restored(p, get_bits(packed, i * (size_t)p->count, p->count)),
              (unsigned char *)dst + i * unit);
    return ZS_OK;
}

static const char *const members[] = {"padding_encoding", "first_bit", "last_bit", NULL};
const struct zs_codec zs_codec_packbits = {.name = "packbits",
                                           .kind = ZS_ARRAY_TO_BYTES,
                                           .members = members,
                                           .parse = parse,
                                           .encoded_size = packed_size,
                                           .encode_array = encode_array,
                                           .decode_array = decode_array};
