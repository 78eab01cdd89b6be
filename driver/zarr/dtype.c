#include "zarr/dtype.h"

#include <errno.h>
#include <inttypes.h>
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

/* The bit pattern of NaN that the specification gives to "NaN", by width in bytes. */
static uint64_t quiet_nan(size_t size)
{
    return size == 2 ? 0x7e00U : size == 4 ? 0x7fc00000U : UINT64_C(0x7ff8000000000000);
}

/* ---- Fill values are read: each returns whether the type can hold what is there ---- */

/* A number, also one in quotes: writers whose JSON library has no 64-bit integers do that. */
static bool number_token(const zs_json *node, const char **token)
{
    return zs_json_number(node, token) || zs_json_string(node, token);
}

static bool parse_bool(const zs_json *node, unsigned char *value)
{
    bool truth;
    uint64_t number;
    if (!zs_json_bool(node, &truth)) {
        if (!zs_json_uint64(node, &number) || number > 1)
            return false;
        truth = number != 0;
    }
    *value = truth;
    return true;
}

/* An integer, or a count of time. `expected` says which numbers there are. */
static bool parse_integer(const struct zs_dtype *dtype, const zs_json *node, void *value, char expected[80])
{
    const char *token;
    const bool is_unsigned = dtype->name[0] == 'u'; /* uint8 ... */
    const uint64_t max = UINT64_MAX >> (64 - 8 * dtype->size + !is_unsigned);
    const int64_t min = is_unsigned ? 0 : -(int64_t)max - 1;
    uint64_t number = 0;
    int64_t below = 0; /* of a negative one */
    if (dtype->unit[0] != '\0' && zs_json_equals(node, "NaT"))
        below = INT64_MIN;
    else if (!number_token(node, &token) ||
             !(zs_number_uint64(token, &number) ? number <= max
                                                : zs_number_int64(token, &below) && below < 0 && below >= min)) {
        (void)snprintf(expected, 80, "an integer of %" PRId64 " to %" PRIu64, min, max);
        return false;
    }
    zs_bits_store(dtype->size, number | (uint64_t)below, value);
    return true;
}

/* "0x..." or "0b...": the bits of a value of `size` bytes as an unsigned integer. */
static bool parse_bits(const char *text, size_t size, uint64_t *bits)
{
    const int base = strncmp(text, "0x", 2) == 0 ? 16 : strncmp(text, "0b", 2) == 0 ? 2 : 0;
    const char *const figures = base == 16 ? "0123456789abcdefABCDEF" : "01";
    if (base == 0 || text[2] == '\0' || text[2 + strspn(text + 2, figures)] != '\0')
        return false;
    errno = 0;
    *bits = strtoull(text + 2, NULL, base);
    return errno == 0 && (size == 8 || *bits >> (8 * size) == 0);
}

/* One IEEE number of `size` bytes; of a bfloat16 the upper half of four. Numbers are rounded to what the type has. */
static bool parse_float(const zs_json *node, size_t size, bool is_bfloat16, void *value)
{
    const char *token;
    uint64_t bits;
    uint16_t upper = 0;
    double number;
    float single;
    if (!number_token(node, &token))
        return false;
    if (parse_bits(token, is_bfloat16 ? sizeof upper : size, &bits)) {
        zs_bits_store(size, is_bfloat16 ? bits << 16 : bits, value);
        return true;
    }
    if (strcmp(token, "+Infinity") == 0)
        token++;
    if (!zs_number_double(token, &number))
        return false;
    if (isnan(number)) {
        bits = quiet_nan(size);
    } else if (size == 8) {
        bits = zs_bits_load(size, &number);
    } else if (size == 4) {
        if (!zs_number_float(token, &single) || (is_bfloat16 && !zs_bfloat16_from_float(single, &upper)))
            return false;
        bits = is_bfloat16 ? (uint64_t)upper << 16 : zs_bits_load(size, &single);
    } else {
        bits = zs_half_from_double(number);
        if (!isinf(number) && (bits & 0x7fffU) == 0x7c00U)
            return false;
    }
    zs_bits_store(size, bits, value);
    return true;
}

/* A pair, or the real part alone. */
static bool parse_complex(const zs_json *node, size_t size, unsigned char *value)
{
    const bool is_pair = zs_json_is_array(node);
    const zs_json *real = is_pair ? zs_json_first(node) : node;
    memset(value, 0, size);
    return (!is_pair || zs_json_size(node) == 2) && parse_float(real, size / 2, false, value) &&
           (!is_pair || parse_float(zs_json_next(real), size / 2, false, value + size / 2));
}

/* Of r8: one byte, as a list or as base64. */
static bool parse_raw(const zs_json *node, unsigned char *value)
{
    const char *text;
    uint64_t byte;
    if (zs_json_string(node, &text) && zs_base64_decode(text, value, 1) == 1)
        return true;
    if (zs_json_size(node) != 1 || !zs_json_uint64(zs_json_first(node), &byte) || byte > UINT8_MAX)
        return false;
    *value = (unsigned char)byte;
    return true;
}

enum zs_status zs_fill_value_parse(const struct zs_dtype *dtype, const zs_json *fill_value, void *value, bool *was_null,
                                   struct zs_error *err)
{
    const bool is_null = zs_json_typeof(fill_value) == ZS_JSON_NULL;
    const bool is_float = dtype->type == ZS_FLOAT16 || dtype->type == ZS_FLOAT32 || dtype->type == ZS_FLOAT64;
    if (was_null != NULL)
        *was_null = is_null;
    if (is_null) {
        memset(value, 0, dtype->size);
        if (fill_value != NULL && is_float)
            zs_bits_store(dtype->size, quiet_nan(dtype->size), value);
        return ZS_OK;
    }
    const struct zs_dtype declared = zs_dtype_declared(dtype);
    if (dtype->is_declared_signed && zs_fill_value_parse(&declared, fill_value, value, NULL, NULL) == ZS_OK)
        return ZS_OK;
    char range[80];
    const char *expected = range;
    bool ok;
    switch (dtype->type) {
    case ZS_BOOL:
        expected = "true or false";
        ok = parse_bool(fill_value, value);
        break;
    case ZS_FLOAT16:
    case ZS_FLOAT32:
    case ZS_FLOAT64:
        expected = "a number in range, \"NaN\", \"Infinity\", \"-Infinity\" or \"0x\" and its bits";
        ok = parse_float(fill_value, dtype->size, dtype->is_bfloat16, value);
        break;
    case ZS_COMPLEX64:
    case ZS_COMPLEX128:
        expected = "[real, imaginary], each a number in range or a string for one";
        ok = parse_complex(fill_value, dtype->size, value);
        break;
    case ZS_RAW:
        expected = "a byte, as a list of an integer or as base64";
        ok = parse_raw(fill_value, value);
        break;
    default:
        ok = parse_integer(dtype, fill_value, value, range);
    }
    return ok ? ZS_OK
              : zs_fail_found(err, ZS_INVALID, fill_value, "fill_value of %s: expected %s", dtype->name, expected);
}

/* ---- Fill values are written ---- */

/* A float, or a part of a complex number; a float32 as the double it is, so that readers need not know where to
 * round. A NaN that is not the quiet one as its bits, of which a bfloat16 has the upper ones in a document. */
static zs_json *add_float(zs_json *parent, const char *name, const struct zs_dtype *dtype, const void *value)
{
    const size_t size = dtype->swap_unit, whole = zs_dtype_stored_size(dtype), stored = whole < size ? whole : size;
    const uint64_t bits = zs_bits_load(size, value);
    const double number = zs_dtype_to_double(dtype, value);
    if (!isnan(number) || bits == quiet_nan(size))
        return zs_json_add_double(parent, name, number);
    char text[24];
    (void)snprintf(text, sizeof text, "0x%0*" PRIx64, (int)(2 * stored), bits >> (8 * (size - stored)));
    return zs_json_add_string(parent, name, text);
}

zs_json *zs_fill_value_add(zs_json *parent, const char *name, const struct zs_dtype *dtype, const void *value)
{
    const unsigned char *bytes = value;
    const struct zs_dtype declared = zs_dtype_declared(dtype);
    const uint64_t bits = zs_bits_load(declared.swap_unit, value), sign = (uint64_t)1 << (8 * declared.swap_unit - 1);
    const int64_t number = (int64_t)((bits ^ sign) - sign); /* of a signed integer */
    zs_json *list;
    switch (declared.type) {
    case ZS_BOOL:
        return zs_json_add_bool(parent, name, bytes[0] != 0);
    case ZS_FLOAT16:
    case ZS_FLOAT32:
    case ZS_FLOAT64:
        return add_float(parent, name, dtype, value);
    case ZS_COMPLEX64:
    case ZS_COMPLEX128:
        list = zs_json_add_array(parent, name);
        return add_float(list, NULL, dtype, bytes) != NULL &&
                       add_float(list, NULL, dtype, bytes + dtype->size / 2) != NULL
                   ? list
                   : NULL;
    case ZS_RAW:
        list = zs_json_add_array(parent, name);
        return zs_json_add_int64(list, NULL, bytes[0]) != NULL ? list : NULL;
    default:
        if (declared.unit[0] != '\0' && number == INT64_MIN)
            return zs_json_add_string(parent, name, "NaT");
        if (declared.name[0] == 'u') /* uint8 ... */
            return zs_json_add_uint64(parent, name, bits);
        return zs_json_add_int64(parent, name, number);
    }
}

/* ---- Base64 ---- */

long zs_base64_decode(const char *text, void *out, size_t capacity)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char *bytes = out;
    size_t figures = 0, n = 0;
    uint32_t bits = 0;
    for (const char *figure; *text != '\0' && (figure = strchr(alphabet, *text)) != NULL; text++) {
        bits = (bits << 6) | (uint32_t)(figure - alphabet);
        if (++figures % 4 == 1)
            continue; /* six bits are no byte yet */
        if (n == capacity)
            return -1;
        bytes[n++] = (unsigned char)(bits >> (6 - 2 * ((figures - 1) % 4))); /* 4, 2, 0 bits of the next one follow */
    }
    const size_t padding = strspn(text, "=");
    const bool is_whole = figures % 4 != 1 && (padding == 0 || padding == (4 - figures % 4) % 4);
    return text[padding] == '\0' && is_whole ? (long)n : -1;
}
