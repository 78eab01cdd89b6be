/* The bitround codec (zarr-extensions; numcodecs.bitround is its older name): floats with fewer digits, so that they
 * compress better. Decoding changes nothing. */

#include <stddef.h>

#include "codec/codec.h"

static int fraction_digits(enum zs_data_type type)
{
    switch (type) {
    case ZS_FLOAT16:
        return 10;
    case ZS_FLOAT32:
    case ZS_COMPLEX64:
        return 23;
    case ZS_FLOAT64:
    case ZS_COMPLEX128:
        return 52;
    default:
        return 0;
    }
}

struct bitround {
    int64_t keepbits, cut; /* binary digits of the fraction that are kept, that become zero */
};

static enum zs_status configure(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    struct bitround *b = stage->state;
    const int digits = fraction_digits(stage->in.type);
    if (stage->in.type == ZS_BOOL || stage->in.type == ZS_RAW)
        return zs_fail(err, ZS_INVALID, "expected an array of numbers, found %s", stage->in.name);
    if (digits != 0 && b->keepbits > digits)
        return zs_fail(err, ZS_INVALID, "keepbits: expected an integer from 0 to %d, found %d", digits,
                       (int)b->keepbits);
    /* Integers keep all their digits: correct, only larger. */
    b->cut = digits != 0 ? digits - b->keepbits : 0;
    stage->is_void = b->cut == 0;
    return ZS_OK;
}

/* Half to even, by integer arithmetic on the bits. Infinity and NaN do not change. */
#define ROUND_BITS(T, digits)                                                                                          \
    do {                                                                                                               \
        const T *s = src;                                                                                              \
        T *d = dst;                                                                                                    \
        const T one = 1, rest = (T)((one << cut) - 1);                                                                 \
        const T special = (T)((((T) ~(T)0) >> ((digits) + 1)) << (digits));                                            \
        for (size_t i = 0; i < count; i++) {                                                                           \
            const T rounded = (T)((s[i] + (rest >> 1) + (s[i] >> cut & one)) & (T)~rest);                              \
            d[i] = (s[i] & special) == special ? s[i] : rounded;                                                       \
        }                                                                                                              \
    } while (0)

static enum zs_status encode_array(const struct zs_stage *stage, size_t n, const void *src, void *dst,
                                   struct zs_error *err)
{
    const int cut = (int)((const struct bitround *)stage->state)->cut;
    const size_t count = n * (stage->in.size / stage->in.swap_unit);
    if (stage->in.swap_unit == 2)
        ROUND_BITS(uint16_t, 10);
    else if (stage->in.swap_unit == 4)
        ROUND_BITS(uint32_t, 23);
    else
        ROUND_BITS(uint64_t, 52);
    return ZS_OK;
}

static const struct zs_member members[] = {
    {"keepbits", ZS_MEMBER_INTEGER, offsetof(struct bitround, keepbits), .high = 64, .is_required = true}, {0}};
const struct zs_codec zs_codec_bitround = {.name = "bitround",
                                           .kind = ZS_ARRAY_TO_ARRAY,
                                           .members = members,
                                           .state_size = sizeof(struct bitround),
                                           .configure = configure,
                                           .is_elementwise = true,
                                           .encode_array = encode_array};
