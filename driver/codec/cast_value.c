/* The cast_value codec (zarr-extensions): elements stored as another data type, by value. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "codec/codec.h"

/* Values that are mapped: a mask of a few, in practice one. Each costs a pass over the chunk. */
#define MAX_MAPPED 256

struct cast_value {
    int64_t rounding, out_of_range; /* as enum zs_rounding; as enum zs_out_of_range, but -1 is ZS_RANGE_ERROR */
    struct zs_cast encode, decode;
    struct zs_mapped map[]; /* of encode, then of decode */
};

/* [[from, to], ...] */
static enum zs_status parse_pairs(const zs_json *pairs, const struct zs_dtype *from, const struct zs_dtype *to,
                                  struct zs_mapped *map, struct zs_error *err)
{
    for (const zs_json *pair = zs_json_first(pairs); pair != NULL; pair = zs_json_next(pair), map++) {
        bool from_null, to_null;
        unsigned char key[ZS_MAX_ITEM_SIZE], value[ZS_MAX_ITEM_SIZE];
        if (!zs_json_is_array(pair) || zs_json_size(pair) != 2)
            return zs_fail_found(err, ZS_INVALID, pair, "expected pairs of values");
        ZS_TRY(zs_fill_value_parse(from, zs_json_at(pair, 0), key, &from_null, err));
        ZS_TRY(zs_fill_value_parse(to, zs_json_at(pair, 1), value, &to_null, err));
        if (from_null || to_null)
            return zs_fail(err, ZS_INVALID, "expected pairs of values, found null");
        memcpy(map->from, key, sizeof map->from);
        memcpy(map->to, value, sizeof map->to);
    }
    return ZS_OK;
}

static enum zs_status check_map(const zs_json *map, struct zs_error *err)
{
    static const char *const known[] = {"encode", "decode", NULL};
    if (map != NULL && !zs_json_is_object(map))
        return zs_fail_found(err, ZS_INVALID, map, "expected an object");
    ZS_TRY(zs_members_check(map, known, err));
    for (const zs_json *m = zs_json_first(map); m != NULL; m = zs_json_next(m)) {
        if (!zs_json_is_array(m))
            return zs_fail_found(err, ZS_INVALID, m, "%s: expected a list", zs_json_name(m));
        if (zs_json_size(m) > MAX_MAPPED)
            return zs_fail(err, ZS_UNSUPPORTED, "%s: expected at most %d pairs, found %zu", zs_json_name(m),
                           MAX_MAPPED, zs_json_size(m));
    }
    return ZS_OK;
}

/* Makes the state one with room for the map. */
static enum zs_status parse_map(const zs_json *map, struct zs_stage *stage, struct zs_error *err)
{
    ZS_TRY(check_map(map, err));
    const zs_json *encode = zs_json_get(map, "encode"), *decode = zs_json_get(map, "decode");
    const size_t n_encode = zs_json_size(encode), n_decode = zs_json_size(decode);
    struct cast_value *c = realloc(stage->state, sizeof *c + (n_encode + n_decode) * sizeof c->map[0]);
    ZS_TRY_MEMORY(c, err);
    stage->state = c;
    c->encode = (struct zs_cast){.from = stage->in.type,
                                 .to = stage->out.type,
                                 .rounding = (enum zs_rounding)c->rounding,
                                 .out_of_range = (enum zs_out_of_range)(c->out_of_range + 1),
                                 .map = c->map,
                                 .map_count = n_encode};
    c->decode = c->encode;
    c->decode.from = stage->out.type;
    c->decode.to = stage->in.type;
    c->decode.map = c->map + n_encode;
    c->decode.map_count = n_decode;
    enum zs_status status = parse_pairs(encode, &stage->in, &stage->out, c->map, err);
    if (status != ZS_OK)
        return zs_fail_in(err, status, "encode");
    status = parse_pairs(decode, &stage->out, &stage->in, c->map + n_encode, err);
    return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "decode");
}

static enum zs_status configure(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    const bool wraps = ((const struct cast_value *)stage->state)->out_of_range + 1 == ZS_RANGE_WRAP;
    ZS_TRY(zs_dtype_parse(zs_json_get(configuration, "data_type"), &stage->out, err));
    if (!zs_is_number(stage->in.type) || !zs_is_number(stage->out.type))
        return zs_fail(err, ZS_INVALID, "data_type: expected integers or floats, found %s to %s", stage->in.name,
                       stage->out.name);
    if (wraps && !zs_is_integer(stage->out.type))
        return zs_fail(err, ZS_INVALID, "out_of_range: \"wrap\" is for integers, found %s", stage->out.name);
    const enum zs_status status = parse_map(zs_json_get(configuration, "scalar_map"), stage, err);
    return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "scalar_map");
}

static enum zs_status encode_array(const struct zs_stage *stage, size_t n, const void *src, void *dst,
                                   struct zs_error *err)
{
    const struct cast_value *c = stage->state;
    const enum zs_status status = zs_cast_elements(&c->encode, n, src, dst, err);
    return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "codec \"cast_value\"");
}

static enum zs_status decode_array(const struct zs_stage *stage, size_t n, const void *src, void *dst,
                                   struct zs_error *err)
{
    const struct cast_value *c = stage->state;
    return zs_cast_elements(&c->decode, n, src, dst, err) == ZS_OK
               ? ZS_OK
               : zs_fail_in(err, ZS_CORRUPT, "codec \"cast_value\"");
}

static const char *const roundings[] = {"nearest-even",     "towards-zero", "towards-positive",
                                        "towards-negative", "nearest-away", NULL};
static const char *const ranges[] = {"clamp", "wrap", NULL};
static const struct zs_member members[] = {
    {.name = "data_type"},
    {"rounding", ZS_MEMBER_CHOICE, offsetof(struct cast_value, rounding), .choices = roundings},
    {"out_of_range", ZS_MEMBER_CHOICE, offsetof(struct cast_value, out_of_range), .choices = ranges, .standard = -1},
    {.name = "scalar_map"},
    {0}};
const struct zs_codec zs_codec_cast_value = {.name = "cast_value",
                                             .kind = ZS_ARRAY_TO_ARRAY,
                                             .members = members,
                                             .state_size = sizeof(struct cast_value),
                                             .configure = configure,
                                             .is_elementwise = true,
                                             .encodes_fill = true,
                                             .encode_array = encode_array,
                                             .decode_array = decode_array};
