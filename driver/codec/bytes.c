/* The bytes codec (core specification): elements one after another, in either byte order. */
#include <string.h>

#include "codec/codec.h"

static const char *const orders[] = {"little", "big", NULL};
/* The specification requires it for elements of several bytes; all writers that leave it out mean little. */
const struct zs_member zs_endian_members[] = {{"endian", ZS_MEMBER_CHOICE, .choices = orders}, {0}};

/* Whether the order in a stage's state is not the machine's. */
static bool swaps(const struct zs_stage *stage)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return *(const int64_t *)stage->state == (first == 1);
}

static enum zs_status configure(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    if (stage->in.is_bfloat16)
        stage->out = zs_dtype_of(ZS_UINT16);
    else
        stage->is_void = stage->in.swap_unit == 1 || !swaps(stage);
    return ZS_OK;
}

void zs_swap_bytes(const void *from, void *to, size_t n, size_t size)
{
    const unsigned char *p = from;
    unsigned char *q = to;
    switch (size) {
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
            v = __builtin_bswap32(v);
            memcpy(q + i, &v, 4);
        }
        break;
    default:
        for (size_t i = 0; i + size <= n; i += size)
            for (size_t j = 0; j < (size + 1) / 2; j++) { /* in pairs: the two may be the same memory */
                const unsigned char low = p[i + j];
                q[i + j] = p[i + size - 1 - j];
                q[i + size - 1 - j] = low;
            }
    }
}

static enum zs_status encode_array(const struct zs_stage *stage, size_t n, const void *src, void *dst,
                                   struct zs_error *err)
{
    if (!stage->in.is_bfloat16) {
        zs_swap_bytes(src, dst, n * stage->in.size, stage->in.swap_unit);
        return ZS_OK;
    }
    const float *s = src;
    uint16_t *d = dst;
    for (size_t i = 0; i < n; i++)
        if (!zs_bfloat16_from_float(s[i], &d[i]))
            return zs_fail(err, ZS_INVALID, "codec \"bytes\": %.9g has no value in bfloat16", (double)s[i]);
    if (swaps(stage))
        zs_swap_bytes(dst, dst, n * sizeof *d, sizeof *d);
    return ZS_OK;
}

static enum zs_status decode_array(const struct zs_stage *stage, size_t n, const void *src, void *dst,
                                   struct zs_error *err)
{
    if (!stage->in.is_bfloat16) {
        zs_swap_bytes(src, dst, n * stage->in.size, stage->in.swap_unit);
        return ZS_OK;
    }
    const uint16_t *s = src;
    float *d = dst;
    const bool is_swapped = swaps(stage);
    for (size_t i = 0; i < n; i++)
        d[i] = zs_bfloat16_to_float((uint16_t)(is_swapped ? s[i] << 8 | s[i] >> 8 : s[i]));
    return ZS_OK;
}

const struct zs_codec zs_codec_bytes = {.name = "bytes",
                                        .kind = ZS_ARRAY_TO_BYTES,
                                        .members = zs_endian_members,
                                        .state_size = sizeof(int64_t),
                                        .configure = configure,
                                        .is_elementwise = true,
                                        .encode_array = encode_array,
                                        .decode_array = decode_array};
