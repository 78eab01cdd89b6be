#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zarr/dtype.h"
#include "zarr/json.h"

/* The bit pattern of NaN that the specification gives to "NaN", by width in bytes. */
static uint64_t quiet_nan(size_t size)
{
    return size == 2 ? 0x7e00U : size == 4 ? 0x7fc00000U : UINT64_C(0x7ff8000000000000);
}

/* ---- Reading: each returns whether the type can hold what is there ---- */

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

/* ---- Writing ---- */

/* A float, or a part of a complex number; a float32 as the double it is, so that readers need not know where to
 * round. */
static zs_json *add_float(zs_json *parent, const char *name, const struct zs_dtype *dtype, const void *value)
{
    const size_t size = dtype->swap_unit;
    const uint64_t bits = zs_bits_load(size, value);
    const double number = zs_dtype_to_double(dtype, value);
    if (!isnan(number) || bits == quiet_nan(size))
        return zs_json_add_double(parent, name, number);
    char text[24];
    (void)snprintf(text, sizeof text, "0x%0*" PRIx64, (int)(2 * size), bits);
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
