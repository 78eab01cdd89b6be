#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zarr/dtype.h"
#include "zarr/json.h"

/* ---- Reading ---- */

static enum zs_status mismatch(const struct zs_dtype *dtype, const zs_json *found, const char *expected,
                               struct zs_error *err)
{
    return zs_fail_found(err, ZS_INVALID, found, "fill_value of %s: expected %s", dtype->name, expected);
}

/* A number, also one in quotes: writers whose JSON library has no 64-bit integers do that. */
static bool number_token(const zs_json *node, const char **token)
{
    return zs_json_number(node, token) || zs_json_string(node, token);
}

static enum zs_status parse_bool(const struct zs_dtype *dtype, const zs_json *node, void *value, struct zs_error *err)
{
    bool truth;
    int64_t number;
    if (!zs_json_bool(node, &truth)) {
        if (!zs_json_int64(node, &number) || number < 0 || number > 1)
            return mismatch(dtype, node, "true or false", err);
        truth = number != 0;
    }
    *(unsigned char *)value = truth;
    return ZS_OK;
}

static enum zs_status parse_integer(const struct zs_dtype *dtype, const zs_json *node, void *value,
                                    struct zs_error *err)
{
    const char *token;
    const bool is_unsigned = dtype->name[0] == 'u'; /* uint8 ... */
    const uint64_t max = UINT64_MAX >> (64 - 8 * dtype->size + !is_unsigned);
    const int64_t min = is_unsigned ? 0 : -(int64_t)max - 1;
    uint64_t number = 0;
    int64_t below = 0; /* of a negative one */
    if (number_token(node, &token) &&
        (zs_number_uint64(token, &number) ? number <= max
                                          : zs_number_int64(token, &below) && below < 0 && below >= min)) {
        zs_bits_store(dtype->size, number | (uint64_t)below, value);
        return ZS_OK;
    }
    char expected[80];
    (void)snprintf(expected, sizeof expected, "an integer of %" PRId64 " to %" PRIu64, min, max);
    return mismatch(dtype, node, expected, err);
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

/* The bit pattern of NaN that the specification gives to "NaN", by width in bytes. */
static uint64_t quiet_nan(size_t size)
{
    return size == 2 ? 0x7e00U : size == 4 ? 0x7fc00000U : UINT64_C(0x7ff8000000000000);
}

/* One IEEE number of `size` bytes. */
static bool parse_float(const zs_json *node, size_t size, void *value)
{
    const char *token;
    if (!number_token(node, &token))
        return false;
    uint64_t bits;
    if (zs_json_typeof(node) == ZS_JSON_STRING && parse_bits(token, size, &bits)) {
        zs_bits_store(size, bits, value);
        return true;
    }
    if (strcmp(token, "+Infinity") == 0)
        token++;
    double number;
    float single;
    if (!zs_number_double(token, &number))
        return false;
    if (isnan(number)) {
        zs_bits_store(size, quiet_nan(size), value);
    } else if (size == 8) {
        memcpy(value, &number, sizeof number);
    } else if (size == 4) {
        if (!zs_number_float(token, &single))
            return false;
        memcpy(value, &single, sizeof single);
    } else {
        const uint16_t half = zs_half_from_double(number);
        if (!isinf(number) && (half & 0x7fffU) == 0x7c00U)
            return false;
        memcpy(value, &half, sizeof half);
    }
    return true;
}

/* Numbers are rounded to what the type has, as those of other floats are. */
static bool parse_bfloat16(const zs_json *node, void *value)
{
    const char *token;
    uint64_t bits;
    uint16_t stored;
    float number;
    if (!parse_float(node, sizeof number, &number) || !zs_bfloat16_from_float(number, &stored))
        return false;
    if (zs_json_string(node, &token) && parse_bits(token, sizeof number, &bits)) {
        if (bits > UINT16_MAX)
            return false;
        stored = (uint16_t)bits;
    }
    number = zs_bfloat16_to_float(stored);
    memcpy(value, &number, sizeof number);
    return true;
}

static const char float_expected[] = "a number in range, \"NaN\", \"Infinity\", \"-Infinity\" or \"0x\" and its bits";

static enum zs_status parse_complex(const struct zs_dtype *dtype, const zs_json *node, void *value,
                                    struct zs_error *err)
{
    const size_t half = dtype->size / 2;
    const bool is_pair = zs_json_is_array(node);
    const zs_json *real = is_pair ? zs_json_first(node) : node;
    memset(value, 0, dtype->size);
    if ((is_pair && zs_json_size(node) != 2) || !parse_float(real, half, value) ||
        (is_pair && !parse_float(zs_json_next(real), half, (unsigned char *)value + half)))
        return mismatch(dtype, node, "[real, imaginary], each a number in range or a string for one", err);
    return ZS_OK;
}

/* Of r8: one byte, as a list or as base64. */
static enum zs_status parse_raw(const struct zs_dtype *dtype, const zs_json *node, void *value, struct zs_error *err)
{
    const char *text;
    int64_t byte = -1;
    if (zs_json_string(node, &text) && zs_base64_decode(text, value, 1) == 1)
        return ZS_OK;
    if (zs_json_size(node) != 1 || !zs_json_int64(zs_json_first(node), &byte) || byte < 0 || byte > 255)
        return mismatch(dtype, node, "a byte, as a list of an integer or as base64", err);
    *(unsigned char *)value = (unsigned char)byte;
    return ZS_OK;
}

enum zs_status zs_fill_value_parse(const struct zs_dtype *dtype, const zs_json *fill_value, void *value, bool *was_null,
                                   struct zs_error *err)
{
    const bool is_null = zs_json_typeof(fill_value) == ZS_JSON_NULL;
    if (was_null != NULL)
        *was_null = is_null;
    const bool is_float = dtype->type == ZS_FLOAT16 || dtype->type == ZS_FLOAT32 || dtype->type == ZS_FLOAT64;
    if (is_null) {
        memset(value, 0, dtype->size);
        if (fill_value != NULL && is_float)
            zs_bits_store(dtype->size, quiet_nan(dtype->size), value);
        return ZS_OK;
    }
    const struct zs_dtype declared = zs_dtype_declared(dtype);
    if (dtype->is_declared_signed && zs_fill_value_parse(&declared, fill_value, value, NULL, NULL) == ZS_OK)
        return ZS_OK;
    switch (dtype->type) {
    case ZS_BOOL:
        return parse_bool(dtype, fill_value, value, err);
    case ZS_FLOAT16:
    case ZS_FLOAT32:
    case ZS_FLOAT64:
        if (dtype->is_bfloat16 ? parse_bfloat16(fill_value, value) : parse_float(fill_value, dtype->size, value))
            return ZS_OK;
        return mismatch(dtype, fill_value, float_expected, err);
    case ZS_COMPLEX64:
    case ZS_COMPLEX128:
        return parse_complex(dtype, fill_value, value, err);
    case ZS_RAW:
        return parse_raw(dtype, fill_value, value, err);
    case ZS_DATETIME64:
    case ZS_TIMEDELTA64:
        if (zs_json_equals(fill_value, "NaT")) {
            zs_bits_store(dtype->size, (uint64_t)INT64_MIN, value);
            return ZS_OK;
        }
        return parse_integer(dtype, fill_value, value, err);
    default:
        return parse_integer(dtype, fill_value, value, err);
    }
}

/* ---- Writing ---- */

/* Adds a number, or the bits of a NaN that is not the quiet one: of the upper `stored` bytes, which a document has. */
static zs_json *add_float(zs_json *parent, const char *name, size_t size, size_t stored, const void *value)
{
    const uint64_t bits = zs_bits_load(size, value);
    double number;
    float single;
    if (size == 2) {
        number = zs_half_to_double((uint16_t)bits);
    } else if (size == 4) {
        memcpy(&single, value, sizeof single);
        number = (double)single; /* written as the double it is, so that readers need not know where to round */
    } else {
        memcpy(&number, value, sizeof number);
    }
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
    switch (declared.type) {
    case ZS_BOOL:
        return zs_json_add_bool(parent, name, bytes[0] != 0);
    case ZS_FLOAT16:
    case ZS_FLOAT32:
    case ZS_FLOAT64:
        return add_float(parent, name, dtype->size, zs_dtype_stored_size(dtype), value);
    case ZS_COMPLEX64:
    case ZS_COMPLEX128: {
        const size_t half = dtype->size / 2;
        zs_json *pair = zs_json_add_array(parent, name);
        const bool ok = add_float(pair, NULL, half, half, bytes) && add_float(pair, NULL, half, half, bytes + half);
        return ok ? pair : NULL;
    }
    case ZS_RAW: {
        zs_json *list = zs_json_add_array(parent, name);
        return zs_json_add_int64(list, NULL, bytes[0]) != NULL ? list : NULL;
    }
    case ZS_DATETIME64:
    case ZS_TIMEDELTA64:
        if (number == INT64_MIN)
            return zs_json_add_string(parent, name, "NaT");
        return zs_json_add_int64(parent, name, number);
    default:
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
    for (; *text != '\0' && *text != '='; text++) {
        const char *figure = strchr(alphabet, *text);
        if (figure == NULL)
            return -1;
        bits = (bits << 6) | (uint32_t)(figure - alphabet);
        if (++figures % 4 == 1)
            continue; /* six bits are no byte yet */
        if (n == capacity)
            return -1;
        const unsigned left = (unsigned)(6 - 2 * ((figures - 1) % 4)); /* bits of the next byte already here: 4, 2, 0 */
        bytes[n++] = (unsigned char)(bits >> left);
    }
    size_t padding = 0;
    while (text[padding] == '=')
        padding++;
    const size_t expected = (4 - figures % 4) % 4;
    if (text[padding] != '\0' || figures % 4 == 1 || (padding != 0 && padding != expected))
        return -1;
    return (long)n;
}
