#include "zarr/dtype.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/memory.h"

static const char BFLOAT16[] = "bfloat16";

static const struct {
    const char *name;
    enum zs_data_type type;
    unsigned char size;
    unsigned char swap_unit;
} types[] = {
    {"bool", ZS_BOOL, 1, 1},
    {"int8", ZS_INT8, 1, 1},
    {"uint8", ZS_UINT8, 1, 1},
    {"int16", ZS_INT16, 2, 2},
    {"uint16", ZS_UINT16, 2, 2},
    {"int32", ZS_INT32, 4, 4},
    {"uint32", ZS_UINT32, 4, 4},
    {"int64", ZS_INT64, 8, 8},
    {"uint64", ZS_UINT64, 8, 8},
    {"float16", ZS_FLOAT16, 2, 2},
    {"float32", ZS_FLOAT32, 4, 4},
    {"float64", ZS_FLOAT64, 8, 8},
    {"complex64", ZS_COMPLEX64, 8, 4},
    {"complex128", ZS_COMPLEX128, 16, 8},
    {"numpy.datetime64", ZS_DATETIME64, 8, 8},
    {"numpy.timedelta64", ZS_TIMEDELTA64, 8, 8},
    {"complex_float32", ZS_COMPLEX64, 8, 4}, /* other names */
    {"complex_float64", ZS_COMPLEX128, 16, 8},
    {BFLOAT16, ZS_FLOAT32, 4, 4},
    {"r8", ZS_RAW, 1, 1},
};
#define TYPE_COUNT (sizeof types / sizeof types[0])

static struct zs_dtype make(size_t index)
{
    struct zs_dtype dtype = {
        .type = types[index].type, .size = types[index].size, .swap_unit = types[index].swap_unit, .unit_scale = 1};
    (void)snprintf(dtype.name, sizeof dtype.name, "%s", types[index].name);
    dtype.is_bfloat16 = strcmp(dtype.name, BFLOAT16) == 0;
    if (dtype.type == ZS_DATETIME64 || dtype.type == ZS_TIMEDELTA64)
        (void)snprintf(dtype.unit, sizeof dtype.unit, "generic");
    return dtype;
}

struct zs_dtype zs_dtype_of(enum zs_data_type type)
{
    for (size_t i = 0; i < TYPE_COUNT; i++)
        if (types[i].type == type)
            return make(i);
    return make(TYPE_COUNT - 1);
}

/* The other of two integer types of one size. */
static struct zs_dtype of_other_sign(const struct zs_dtype *dtype, bool is_unsigned)
{
    const bool is_other = dtype->type >= ZS_INT8 && dtype->type <= ZS_UINT64 && (dtype->name[0] == 'u') != is_unsigned;
    return is_other ? zs_dtype_of(is_unsigned ? dtype->type + 1 : dtype->type - 1) : *dtype; /* an enum of pairs */
}

void zs_dtype_apply_unsigned(struct zs_dtype *dtype, const zs_json *attributes)
{
    const struct zs_dtype as_unsigned = of_other_sign(dtype, true);
    const zs_json *attribute = zs_json_get(attributes, ZS_UNSIGNED_ATTRIBUTE);
    const bool is_unsigned = /* in any case, as netCDF's users write it */
        zs_json_equals(attribute, "true") || zs_json_equals(attribute, "True") || zs_json_equals(attribute, "TRUE");
    if (!is_unsigned || as_unsigned.type == dtype->type)
        return;
    *dtype = as_unsigned;
    dtype->is_declared_signed = true;
}

struct zs_dtype zs_dtype_declared(const struct zs_dtype *dtype)
{
    return dtype->is_declared_signed ? of_other_sign(dtype, false) : *dtype;
}

size_t zs_dtype_stored_size(const struct zs_dtype *dtype)
{
    return dtype->is_bfloat16 ? sizeof(uint16_t) : dtype->size;
}

/* {"unit": "ns", "scale_factor": 1}. Both may be missing; numpy calls a count without unit "generic". */
static enum zs_status parse_time_unit(const zs_json *configuration, struct zs_dtype *dtype, struct zs_error *err)
{
    static const char *const units[] = {"Y",  "M",  "W",  "D",  "h",  "m",  "s",       "ms",
                                        "us", "ns", "ps", "fs", "as", "generic", NULL};
    static const char *const known[] = {"unit", "scale_factor", NULL};
    const enum zs_status status = zs_members_check(configuration, known, err);
    if (status != ZS_OK)
        return zs_fail_in(err, status, "data_type \"%s\"", dtype->name);
    const zs_json *unit = zs_json_get(configuration, "unit"), *scale = zs_json_get(configuration, "scale_factor");
    const char *text = zs_json_text(configuration, "unit", unit != NULL ? "(no string)" : "generic");
    if (strcmp(text, "\xce\xbcs") == 0 || strcmp(text, "\xc2\xb5s") == 0)
        text = "us"; /* Greek mu, or the micro sign */
    if (!zs_is_one_of(text, units))
        return zs_fail(err, ZS_INVALID, "data_type \"%s\": expected a unit of time such as \"ns\", found \"%.40s\"",
                       dtype->name, text);
    (void)snprintf(dtype->unit, sizeof dtype->unit, "%s", text);
    int64_t factor = 1;
    if (scale != NULL && (!zs_json_int64(scale, &factor) || factor < 1 || factor > INT32_MAX))
        return zs_fail_found(err, ZS_INVALID, scale, "data_type \"%s\": expected a scale_factor of 1 to 2147483647",
                             dtype->name);
    dtype->unit_scale = factor;
    return ZS_OK;
}

enum zs_text_type zs_text_type_of(const zs_json *data_type, uint64_t *bytes)
{
    static const char *const names[] = {
        [ZS_TEXT_UTF32] = "fixed_length_utf32", [ZS_TEXT_UTF8] = "string", [ZS_TEXT_BYTES] = "null_terminated_bytes"};
    const zs_json *configuration;
    const char *name = zs_extension_name(data_type, &configuration);
    if (bytes != NULL) {
        *bytes = 0;
        (void)zs_json_uint64(zs_json_get(configuration, "length_bytes"), bytes);
    }
    for (int type = ZS_TEXT_UTF32; type <= ZS_TEXT_BYTES && name != NULL; type++)
        if (strcmp(name, names[type]) == 0)
            return (enum zs_text_type)type;
    return ZS_TEXT_NONE;
}

enum zs_status zs_text_dtype_parse(const zs_json *data_type, struct zs_dtype *dtype, struct zs_error *err)
{
    uint64_t bytes;
    const zs_json *configuration;
    const char *name = zs_extension_name(data_type, &configuration);
    const enum zs_text_type text = zs_text_type_of(data_type, &bytes);
    if (text == ZS_TEXT_UTF8)
        bytes = 0;
    else if (bytes == 0 || bytes > SIZE_MAX / 4 || (text == ZS_TEXT_UTF32 && bytes % 4 != 0))
        return zs_fail_found(err, ZS_INVALID, zs_json_get(configuration, "length_bytes"),
                             "data_type of text: length_bytes: expected a number above 0 (UTF-32: a multiple of 4)");
    *dtype = zs_dtype_of(ZS_RAW);
    dtype->size = dtype->swap_unit = sizeof(const unsigned char *);
    (void)snprintf(dtype->name, sizeof dtype->name, "%s", name);
    dtype->text = text;
    dtype->text_size = (size_t)bytes;
    return ZS_OK;
}

enum zs_status zs_dtype_parse(const zs_json *data_type, struct zs_dtype *dtype, struct zs_error *err)
{
    if (data_type == NULL)
        return zs_fail(err, ZS_INVALID, "data_type is missing");
    const zs_json *configuration;
    const char *name = zs_extension_name(data_type, &configuration);
    if (name == NULL)
        return zs_fail_found(err, ZS_INVALID, data_type, "data_type: expected a string or an object with a \"name\"");
    if (configuration != NULL && !zs_json_is_object(configuration))
        return zs_fail_found(err, ZS_INVALID, configuration,
                             "data_type \"%.100s\": expected an object as configuration", name);
    for (size_t i = 0; i < TYPE_COUNT; i++) {
        if (strcmp(types[i].name, name) != 0)
            continue;
        struct zs_dtype found = make(i);
        if (found.unit[0] != '\0')
            ZS_TRY(parse_time_unit(configuration, &found, err));
        else if (zs_json_size(configuration) != 0)
            return zs_fail(err, ZS_UNSUPPORTED, "data_type \"%s\" with a configuration is not supported", name);
        *dtype = found;
        return ZS_OK;
    }
    if (zs_text_type_of(data_type, NULL) != ZS_TEXT_NONE)
        return zs_fail(err, ZS_UNSUPPORTED, "data_type \"%s\" is text, for which there is no GDAL data type", name);
    const zs_json *fallback = zs_json_get(data_type, "fallback"); /* another that does as well, as extensions had it */
    if (zs_json_typeof(fallback) == ZS_JSON_STRING)
        return zs_dtype_parse(fallback, dtype, err);
    return zs_fail(err, ZS_UNSUPPORTED, "data_type \"%.100s\" is not supported", name);
}

double zs_half_to_double(uint16_t half)
{
    const double sign = (half & 0x8000U) != 0 ? -1 : 1;
    const int exponent = (half >> 10) & 0x1f;
    const int fraction = half & 0x3ff;
    if (exponent == 0x1f)
        return fraction != 0 ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, -24);
    return sign * ldexp(fraction + 0x400, exponent - 25);
}

uint16_t zs_half_from_double(double value)
{
    const unsigned sign = signbit(value) ? 0x8000U : 0;
    if (isnan(value))
        return 0x7e00;
    const double magnitude = fabs(value);
    if (magnitude >= 65520) /* half of the last step above the largest half */
        return (uint16_t)(sign | 0x7c00U);
    int exponent;
    (void)frexp(magnitude, &exponent); /* magnitude is in [2^(exponent-1), 2^exponent), or 0 */
    if (exponent < -13 || magnitude == 0)
        exponent = -13; /* subnormal: the step stays */
    /* nearbyint rounds half to even. A result of 2^11 carries into the exponent by itself. */
    const unsigned steps = (unsigned)nearbyint(ldexp(magnitude, 11 - exponent));
    return (uint16_t)(sign | (((unsigned)(exponent + 13) << 10) + steps));
}

float zs_bfloat16_to_float(uint16_t stored)
{
    const uint32_t bits = (uint32_t)stored << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

bool zs_bfloat16_from_float(float value, uint16_t *stored)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits += 0x7fffU + (bits >> 16 & 1); /* a carry goes into the exponent by itself */
    *stored = isnan(value) ? 0x7fc0U : (uint16_t)(bits >> 16);
    return !isfinite(value) || (*stored & 0x7f80U) != 0x7f80U;
}

double zs_dtype_to_double(const struct zs_dtype *dtype, const void *value)
{
    const uint64_t bits = zs_bits_load(dtype->swap_unit, value), sign = (uint64_t)1 << (8 * dtype->swap_unit - 1);
    float single = 0;
    double number = 0;
    switch (dtype->type) {
    case ZS_BOOL:
        return bits != 0;
    case ZS_INT8:
    case ZS_INT16:
    case ZS_INT32:
    case ZS_INT64:
    case ZS_DATETIME64:
    case ZS_TIMEDELTA64:
        return (double)(int64_t)((bits ^ sign) - sign);
    case ZS_FLOAT16:
        return zs_half_to_double((uint16_t)bits);
    case ZS_FLOAT32:
    case ZS_COMPLEX64:
        memcpy(&single, value, sizeof single);
        return (double)single;
    case ZS_FLOAT64:
    case ZS_COMPLEX128:
        memcpy(&number, value, sizeof number);
        return number;
    default:
        return (double)bits;
    }
}

/* ---- Extension points ---- */

const char *zs_extension_name(const zs_json *node, const zs_json **configuration)
{
    const char *name = NULL;
    if (configuration != NULL)
        *configuration = NULL;
    if (zs_json_string(node, &name))
        return name;
    if (!zs_json_string(zs_json_get(node, "name"), &name))
        return NULL;
    if (configuration != NULL)
        *configuration = zs_json_get(node, "configuration");
    return name;
}

zs_json *zs_extension_add(zs_json *parent, const char *member, const char *name)
{
    zs_json *extension = zs_json_add_object(parent, member);
    zs_json_add_string(extension, "name", name);
    return zs_json_add_object(extension, "configuration");
}

enum zs_status zs_members_check(const zs_json *object, const char *const *known, struct zs_error *err)
{
    if (zs_json_typeof(object) != ZS_JSON_NULL && !zs_json_is_object(object))
        return zs_fail_found(err, ZS_INVALID, object, "expected an object");
    for (const zs_json *member = zs_json_first(object); member != NULL; member = zs_json_next(member)) {
        bool must_understand = !zs_is_one_of(zs_json_name(member), known);
        if (must_understand)
            (void)zs_json_bool(zs_json_get(member, "must_understand"), &must_understand);
        if (must_understand)
            return zs_fail(err, ZS_UNSUPPORTED, "unknown member \"%.100s\" must be understood", zs_json_name(member));
    }
    return ZS_OK;
}
