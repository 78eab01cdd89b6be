/* The nodata value of an array: reading it from attributes or the fill value, and writing it. */
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "geo/band_properties_json.h"
#include "geo/write.h"

/* ---- Reading ---- */

/* A `double` as one element of a floating-point type. */
static bool element_of_double(const struct zs_dtype *dtype, double value, unsigned char *out)
{
    bool was_null = false;
    zs_json *holder = zs_json_new_array();
    const zs_json *number = zs_json_add_double(holder, NULL, value);
    const bool ok = number != NULL && zs_fill_value_parse(dtype, number, out, &was_null, NULL) == ZS_OK;
    zs_json_free(holder);
    return ok;
}

/* xarray's encoding: base64 of a little-endian float64, whatever the width of the array's floats. */
static bool double_of_base64(const char *text, double *out)
{
    unsigned char bytes[8];
    if (zs_base64_decode(text, bytes, sizeof bytes) != 8)
        return false;
    const uint64_t bits = zs_load_le64(bytes);
    memcpy(out, &bits, sizeof *out);
    return true;
}

static bool is_float(enum zs_data_type type)
{
    return type == ZS_FLOAT16 || type == ZS_FLOAT32 || type == ZS_FLOAT64;
}

bool zs_missing_value_read(const struct zs_dtype *dtype, const zs_json *value, unsigned char *out)
{
    const char *text;
    double number;
    bool was_null = false;
    const bool is_text = zs_json_string(value, &text);
    const bool is_complex = dtype->type == ZS_COMPLEX64 || dtype->type == ZS_COMPLEX128;
    if (is_complex) {
        struct zs_dtype part = zs_dtype_of(dtype->type == ZS_COMPLEX64 ? ZS_FLOAT32 : ZS_FLOAT64);
        memset(out, 0, dtype->size);
        if (!zs_json_is_array(value))
            return zs_missing_value_read(&part, value, out);
        return zs_json_size(value) == 2 && zs_missing_value_read(&part, zs_json_at(value, 0), out) &&
               zs_missing_value_read(&part, zs_json_at(value, 1), out + part.size);
    }
    if (zs_json_is_array(value) && zs_json_size(value) == 1 && dtype->type != ZS_RAW)
        value = zs_json_at(value, 0);
    if (is_float(dtype->type)) {
        /* A numeric string first: eleven digits are base64 too. */
        if (is_text && (zs_number_of_text(text, &number) || double_of_base64(text, &number)) &&
            strncmp(text, "0x", 2) != 0)
            return element_of_double(dtype, number, out);
        if (zs_json_double(value, &number))
            return element_of_double(dtype, number, out);
    } else if (is_text && dtype->type != ZS_RAW && dtype->type != ZS_BOOL) {
        if (zs_number_of_text(text, &number) || double_of_base64(text, &number))
            return number == floor(number) && fabs(number) < 9007199254740992.0 &&
                   element_of_double(dtype, number, out);
    }
    return zs_fill_value_parse(dtype, value, out, &was_null, NULL) == ZS_OK && !was_null;
}

void zs_nodata_read(const struct zs_node *node, struct zs_band_properties *band)
{
    const struct zs_array_meta *meta = node->array;
    const zs_json *a = node->attributes, *value = zs_json_get(a, "_FillValue");
    if (zs_json_typeof(value) != ZS_JSON_NULL) {
        /* A value that the type cannot hold masks nothing. It must not be replaced by another source: that would mask
         * pixels that the writer kept. */
        band->has_nodata = zs_missing_value_read(&meta->dtype, value, band->nodata);
        return;
    }
    const enum zs_data_type type = meta->dtype.type;
    if (type == ZS_BOOL || type == ZS_RAW || type == ZS_DATETIME64 || type == ZS_TIMEDELTA64) {
        /* The fill value of these types is an ordinary value, except NaT. */
        int64_t count = 0;
        if (meta->dtype.size == sizeof count)
            memcpy(&count, meta->fill_value, sizeof count);
        band->has_nodata = (type == ZS_DATETIME64 || type == ZS_TIMEDELTA64) && count == INT64_MIN;
        memcpy(band->nodata, meta->fill_value, meta->dtype.size);
        return;
    }
    value = zs_json_get(a, "missing_value");
    if (zs_json_is_array(value) && zs_json_size(value) > 0 && type != ZS_COMPLEX64 && type != ZS_COMPLEX128)
        value = zs_json_at(value, 0); /* GDAL has room for one */
    if (zs_json_typeof(value) != ZS_JSON_NULL) {
        band->has_nodata = zs_missing_value_read(&meta->dtype, value, band->nodata);
        return;
    }
    bool has_none = false;
    zs_json_bool(zs_json_get(a, ZS_NO_NODATA_ATTRIBUTE), &has_none);
    if (!has_none && !meta->fill_value_is_null) {
        memcpy(band->nodata, meta->fill_value, meta->dtype.size);
        band->has_nodata = band->nodata_is_implied = true;
    }
}

/* ---- Writing ---- */

/* Base64 of the eight bytes of a double, little-endian; 12 characters and a zero. */
static void base64_of_double(double value, char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint64_t bits;
    unsigned char b[9] = {0};
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 8; i++)
        b[i] = (unsigned char)(bits >> (8 * i));
    for (int i = 0; i < 3; i++) {
        const unsigned v = (unsigned)b[3 * i] << 16 | (unsigned)b[3 * i + 1] << 8 | b[3 * i + 2];
        for (int j = 0; j < 4; j++)
            out[4 * i + j] = digits[v >> (18 - 6 * j) & 63];
    }
    out[11] = '='; /* the ninth byte is not there */
    out[12] = '\0';
}

enum zs_status zs_write_nodata(zs_json *attributes, const struct zs_dtype *dtype, const void *value, bool is_implied,
                               struct zs_error *err)
{
    zs_json_remove(attributes, "_FillValue");
    zs_json_remove(attributes, "missing_value");
    zs_json_remove(attributes, ZS_NO_NODATA_ATTRIBUTE);
    if (value == NULL)
        return zs_json_add_bool(attributes, ZS_NO_NODATA_ATTRIBUTE, true) != NULL ? ZS_OK : zs_fail_memory(err);
    if (is_implied)
        return ZS_OK;
    char text[13];
    const bool is_complex = dtype->type == ZS_COMPLEX64 || dtype->type == ZS_COMPLEX128;
    bool ok;
    if (is_complex) {
        const struct zs_dtype part = zs_dtype_of(dtype->type == ZS_COMPLEX64 ? ZS_FLOAT32 : ZS_FLOAT64);
        zs_json *pair = zs_json_add_array(attributes, "_FillValue");
        ok = pair != NULL;
        for (size_t i = 0; i < 2 && ok; i++) {
            base64_of_double(zs_dtype_to_double(&part, (const unsigned char *)value + i * part.size), text);
            ok = zs_json_add_string(pair, NULL, text) != NULL;
        }
    } else if (dtype->type == ZS_FLOAT16 || dtype->type == ZS_FLOAT32 || dtype->type == ZS_FLOAT64) {
        base64_of_double(zs_dtype_to_double(dtype, value), text);
        ok = zs_json_add_string(attributes, "_FillValue", text) != NULL;
    } else {
        ok = zs_fill_value_add(attributes, "_FillValue", dtype, value) != NULL;
    }
    return ok ? ZS_OK : zs_fail_memory(err);
}
