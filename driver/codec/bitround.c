/* The bitround codec (zarr-extensions; numcodecs.bitround is its older name): floats with fewer digits, so that they
 * compress better. Decoding changes nothing. */

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

static enum zs_status parse(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    const int digits = fraction_digits(stage->in.type);
    int64_t keep;
    ZS_TRY(zs_stage_integer(stage, configuration, "keepbits", true, 0, digits != 0 ? digits : 64, &keep, err));
    if (stage->in.type == ZS_BOOL || stage->in.type == ZS_RAW)
        return zs_fail(err, ZS_INVALID, "codec \"bitround\": expected an array of numbers, found %s", stage->in.name);
    /* Binary digits of the fraction that become zero. Integers keep all their digits: correct, only larger. */
    stage->number = digits != 0 ? digits - keep : 0;
    stage->is_void = stage->number == 0;
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
    const int cut = (int)stage->number;
    const size_t count = n * (stage->in.size / stage->in.swap_unit);
    (void)err;
    if (stage->in.swap_unit == 2)
        ROUND_BITS(uint16_t, 10);
    else if (stage->in.swap_unit == 4)
        ROUND_BITS(uint32_t, 23);
    else
        ROUND_BITS(uint64_t, 52);
    return ZS_OK;
}

static const char *const members[] = {"keepbits", NULL};
const struct zs_codec zs_codec_bitround = {.name = "bitround",
                                           .kind = ZS_ARRAY_TO_ARRAY,
                                           .members = members,
                                           .parse = parse,
                                           .is_elementwise = true,
                                           .encode_array = encode_array};
