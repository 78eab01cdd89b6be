/* The transpose codec (core specification): the dimensions of a chunk in another order. */
#include <string.h>

#include "codec/chain.h"

static enum zs_status arrange(const zs_json *configuration, struct zs_level *level, struct zs_error *err)
{
    const zs_json *order = zs_json_get(configuration, "order");
    const int n = level->ndim;
    int composed[ZS_MAX_NDIM];
    bool used[ZS_MAX_NDIM] = {false};
    if (!zs_json_is_array(order) || zs_json_size(order) != (size_t)n)
        return zs_fail_found(err, ZS_INVALID, order, "codec \"transpose\": order: expected a list of %d integers", n);
    for (int j = 0; j < n; j++) {
        int64_t k;
        if (!zs_json_int64(zs_json_at(order, (size_t)j), &k) || k < 0 || k >= n || used[k])
            return zs_fail_found(err, ZS_INVALID, order,
                                 "codec \"transpose\": order: expected a permutation of 0 to %d", n - 1);
        used[k] = true;
        composed[j] = level->axis[k]; /* stored dimension j is input dimension order[j] */
    }
    memcpy(level->axis, composed, sizeof composed[0] * (size_t)n);
    return ZS_OK;
}

static const char *const members[] = {"order", NULL};
const struct zs_codec zs_codec_transpose = {
    .name = "transpose", .kind = ZS_ARRAY_TO_ARRAY, .members = members, .arrange = arrange};
