/* The bytes codec (core specification): elements one after another, in either byte order. */
#include <string.h>

#include "codec/bytes.h"
#include "codec/codec.h"

static bool is_little_endian_machine(void)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1;
}

enum zs_status zs_endian_parse(const zs_json *configuration, bool *big_endian, struct zs_error *err)
{
    const zs_json *endian = zs_json_get(configuration, "endian");
    const char *found = "something that is not a string";
    *big_endian = zs_json_equals(endian, "big");
    /* Required by the specification for more than one byte; but writers that leave it out have all meant little. */
    if (*big_endian || zs_json_equals(endian, "little") || zs_json_typeof(endian) == ZS_JSON_NULL)
        return ZS_OK;
    (void)zs_json_string(endian, &found);
    return zs_fail(err, ZS_INVALID, "codec \"bytes\": endian: expected \"little\" or \"big\", found %s", found);
}

static enum zs_status parse(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    bool big_endian;
    ZS_TRY(zs_endian_parse(configuration, &big_endian, err));
    stage->is_void = stage->in.swap_unit == 1 || big_endian != is_little_endian_machine();
    return ZS_OK;
}

void zs_swap_bytes(const void *from, void *to, size_t n, size_t unit)
{
    const unsigned char *p = from;
    unsigned char *q = to;
    switch (unit) {
    case 2:
        for (size_t i = 0; i + 2 <= n; i += 2) {
            uint16_t v;
            memcpy(&v, p + i, 2);
            v = (uint16_t)(v << 8 | v >> 8);
            memcpy(q + i, &v, 2);
        }
        break;
    case 4:
        for (size_t i = 0; i + 4 <= n; i += 4) {
            uint32_t v;
            memcpy(&v, p + i, 4);
            v = v << 24 | (v & 0xFF00u) << 8 | (v >> 8 & 0xFF00u) | v >> 24;
            memcpy(q + i, &v, 4);
        }
        break;
    default:
        for (size_t i = 0; i + unit <= n; i += unit)
            for (size_t j = 0; j < (unit + 1) / 2; j++) { /* in pairs: the two may be the same memory */
                const unsigned char low = p[i + j];
                q[i + j] = p[i + unit - 1 - j];
                q[i + unit - 1 - j] = low;
            }
    }
}

static enum zs_status swap(const struct zs_stage *stage, size_t n, const void *src, void *dst, struct zs_error *err)
{
    (void)err;
    zs_swap_bytes(src, dst, n * stage->in.size, stage->in.swap_unit);
    return ZS_OK;
}

const struct zs_codec zs_codec_bytes = {
    .name = "bytes", .kind = ZS_ARRAY_TO_BYTES, .parse = parse, .is_elementwise = true, .encode_array = swap, .decode_array = swap};
