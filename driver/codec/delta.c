/* Codecs of numcodecs that depend on the order of a chunk's elements: delta and packbits. */
#include <string.h>

#include "codec/cast.h"
#include "codec/codec.h"

/* ---- delta: the first element, then differences to the one before, in the arithmetic of the array's type ---- */

static enum zs_status parse_delta(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    ZS_TRY(zs_numcodecs_check_input(stage, configuration, "dtype", true, err));
    ZS_TRY(zs_numcodecs_dtype(stage->codec, configuration, "astype", &stage->in, &stage->out, err));
    const bool are_integers = zs_is_integer(stage->in.type) && zs_is_integer(stage->out.type);
    if (!are_integers && stage->in.type != stage->out.type)
        return zs_fail(err, ZS_UNSUPPORTED, "codec \"%s\" from %s to %s is not supported", stage->codec->name,
                       stage->in.name, stage->out.name);
    return ZS_OK;
}

/* An integer, its sign extended. */
static uint64_t load(const struct zs_dtype *dtype, const unsigned char *bytes)
{
    uint16_t b16;
    uint32_t b32;
    uint64_t b64;
    switch (dtype->type) {
    case ZS_INT8:
        return (uint64_t)(int64_t)(int8_t)*bytes;
    case ZS_UINT8:
        return *bytes;
    case ZS_INT16:
        memcpy(&b16, bytes, 2);
        return (uint64_t)(int64_t)(int16_t)b16;
    case ZS_UINT16:
        memcpy(&b16, bytes, 2);
        return b16;
    case ZS_INT32:
        memcpy(&b32, bytes, 4);
        return (uint64_t)(int64_t)(int32_t)b32;
    case ZS_UINT32:
        memcpy(&b32, bytes, 4);
        return b32;
    default:
        memcpy(&b64, bytes, 8);
        return b64;
    }
}

static void store(const struct zs_dtype *dtype, uint64_t value, unsigned char *bytes)
{
    const uint16_t b16 = (uint16_t)value;
    const uint32_t b32 = (uint32_t)value;
    if (dtype->size == 1)
        *bytes = (unsigned char)value;
    else if (dtype->size == 2)
        memcpy(bytes, &b16, 2);
    else if (dtype->size == 4)
        memcpy(bytes, &b32, 4);
    else
        memcpy(bytes, &value, 8);
}

/* Uses what decoding will make of the element: a NaN or a rounded sum would change every element after it. */
#define DIFFERENCES(T)                                                                                                 \
    do {                                                                                                               \
        const T *s = src;                                                                                              \
        T *d = dst;                                                                                                    \
        T sum = 0;                                                                                                     \
        for (size_t i = 0; i < n; i++) {                                                                               \
            d[i] = i == 0 ? s[0] : s[i] - s[i - 1];                                                                    \
            sum = i == 0 ? s[0] : sum + d[i];                                                                          \
            is_exact = is_exact && (sum == s[i] || (sum != sum && s[i] != s[i]));                                      \
        }                                                                                                              \
    } while (0)

#define SUMS(T)                                                                                                        \
    do {                                                                                                               \
        const T *s = src;                                                                                              \
        T *d = dst;                                                                                                    \
        for (size_t i = 0; i < n; i++)                                                                                 \
            d[i] = i == 0 ? s[0] : d[i - 1] + s[i];                                                                    \
    } while (0)

/* float16: each sum or difference is rounded. */
static bool encode_halves(size_t n, const uint16_t *src, uint16_t *dst)
{
    double before = 0, sum = 0;
    bool is_exact = true;
    for (size_t i = 0; i < n; i++) {
        const double v = zs_half_to_double(src[i]);
        dst[i] = i == 0 ? src[0] : zs_half_from_double(v - before);
        sum = i == 0 ? v : zs_half_to_double(zs_half_from_double(sum + zs_half_to_double(dst[i])));
        is_exact = is_exact && (sum == v || (sum != sum && v != v));
        before = v;
    }
    return is_exact;
}

static void decode_halves(size_t n, const uint16_t *src, uint16_t *dst)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = i == 0 ? src[0] : zs_half_from_double(zs_half_to_double(dst[i - 1]) + zs_half_to_double(src[i]));
}

/* Differences wrap in the array's type before they are stored. */
static bool encode_integers(const struct zs_stage *stage, size_t n, const unsigned char *src, unsigned char *dst)
{
    const struct zs_dtype *in = &stage->in, *out = &stage->out;
    unsigned char part[8];
    uint64_t before = 0, sum = 0;
    bool is_exact = true;
    for (size_t i = 0; i < n; i++, dst += out->size) {
        const uint64_t v = load(in, src + i * in->size);
        store(in, v - before, part);
        store(out, load(in, part), dst);
        sum += load(out, dst);
        store(in, sum, part);
        is_exact = is_exact && load(in, part) == v;
        before = v;
    }
    return is_exact;
}

static enum zs_status encode_delta(const struct zs_stage *stage, size_t n, const void *src, void *dst,
                                   struct zs_error *err)
{
    bool is_exact = true;
    if (stage->in.type == ZS_FLOAT32)
        DIFFERENCES(float);
    else if (stage->in.type == ZS_FLOAT64)
        DIFFERENCES(double);
    else if (stage->in.type == ZS_FLOAT16)
        is_exact = encode_halves(n, src, dst);
    else
        is_exact = encode_integers(stage, n, src, dst);
    return is_exact ? ZS_OK
                    : zs_fail(err, ZS_UNSUPPORTED, "codec \"%s\": the sums of its differences are not these pixels",
                              stage->codec->name);
}

static enum zs_status decode_delta(const struct zs_stage *stage, size_t n, const void *src, void *dst,
                                   struct zs_error *err)
{
    (void)err;
    if (stage->in.type == ZS_FLOAT32) {
        SUMS(float);
    } else if (stage->in.type == ZS_FLOAT64) {
        SUMS(double);
    } else if (stage->in.type == ZS_FLOAT16) {
        decode_halves(n, src, dst);
    } else {
        uint64_t sum = 0;
        for (size_t i = 0; i < n; i++) {
            sum += load(&stage->out, (const unsigned char *)src + i * stage->out.size);
            store(&stage->in, sum, (unsigned char *)dst + i * stage->in.size);
        }
    }
    return ZS_OK;
}

static const char *const members[] = {"dtype", "astype", NULL};
const struct zs_codec zs_codec_numcodecs_delta = {.name = "numcodecs.delta",
                                                  .kind = ZS_ARRAY_TO_ARRAY,
                                                  .members = members,
                                                  .parse = parse_delta,
                                                  .encode_array = encode_delta,
                                                  .decode_array = decode_delta};

/* ---- packbits: a byte with the number of padding bits in the last one, then eight elements in each, the first in
 * its highest bit ---- */

static enum zs_status parse_packbits(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    (void)configuration;
    if (stage->in.type != ZS_BOOL)
        return zs_fail(err, ZS_INVALID, "codec \"%s\": expected an array of bool, found %s", stage->codec->name,
                       stage->in.name);
    stage->out = zs_dtype_of(ZS_UINT8);
    return ZS_OK;
}

static size_t packed_size(const struct zs_stage *stage, size_t n)
{
    (void)stage;
    return 1 + (n + 7) / 8;
}

static enum zs_status encode_packbits(const struct zs_stage *stage, size_t n, const void *src, void *dst,
                                      struct zs_error *err)
{
    const unsigned char *s = src;
    unsigned char *d = dst;
    (void)stage;
    (void)err;
    memset(d, 0, packed_size(stage, n));
    d[0] = (unsigned char)((8 - n % 8) % 8);
    for (size_t i = 0; i < n; i++)
        d[1 + i / 8] |= (unsigned char)((s[i] != 0) << (7 - i % 8));
    return ZS_OK;
}

static enum zs_status decode_packbits(const struct zs_stage *stage, size_t n, const void *src, void *dst,
                                      struct zs_error *err)
{
    const unsigned char *s = src;
    unsigned char *d = dst;
    if (s[0] != (8 - n % 8) % 8)
        return zs_fail(err, ZS_CORRUPT, "codec \"%s\": expected %zu bits of padding, found %d", stage->codec->name,
                       (8 - n % 8) % 8, s[0]);
    for (size_t i = 0; i < n; i++)
        d[i] = s[1 + i / 8] >> (7 - i % 8) & 1;
    return ZS_OK;
}

const struct zs_codec zs_codec_numcodecs_packbits = {.name = "numcodecs.packbits",
                                                     .kind = ZS_ARRAY_TO_BYTES,
                                                     .gives_uint8 = true,
                                                     .parse = parse_packbits,
                                                     .encoded_size = packed_size,
                                                     .encode_array = encode_packbits,
                                                     .decode_array = decode_packbits};
