#include "geo/axes.h"

#include <stdlib.h>
#include <string.h>

#include <cpl_string.h>

#include "base/memory.h"
#include "geo/band_properties_json.h"
#include "geo/labels.h"

const char *zs_extra_axis_attribute(char *const *attributes, const char *name)
{
    const size_t n = strlen(name);
    for (; attributes != NULL && *attributes != NULL; attributes++)
        if (strncmp(*attributes, name, n) == 0 && (*attributes)[n] == '=')
            return *attributes + n + 1;
    return NULL;
}

/* The type that `data_type` names; none that is not of real numbers. */
static bool declared_type(char *const *attributes, struct zs_dtype *dtype)
{
    const char *name = zs_extra_axis_attribute(attributes, ZS_AXIS_TYPE);
    zs_json *holder = zs_json_new_array();
    const zs_json *json = name != NULL ? zs_json_add_string(holder, NULL, name) : NULL;
    const bool ok = json != NULL && zs_dtype_parse(json, dtype, NULL) == ZS_OK;
    zs_json_free(holder);
    return ok && ((dtype->type >= ZS_INT8 && dtype->type <= ZS_UINT64) || dtype->type == ZS_FLOAT32 ||
                  dtype->type == ZS_FLOAT64);
}

/* One element of the type; false when the text is no number that it can be. */
static bool parse_number(const struct zs_dtype *dtype, const char *text, void *element)
{
    zs_json *holder = zs_json_new_array();
    const zs_json *json = CPLGetValueType(text) != CPL_VALUE_STRING ? zs_json_add_raw(holder, NULL, text) : NULL;
    const bool ok =
        zs_json_typeof(json) == ZS_JSON_NUMBER && zs_fill_value_parse(dtype, json, element, NULL, NULL) == ZS_OK;
    zs_json_free(holder);
    return ok;
}

/* The same of a number or an instant. */
static bool parse_element(const struct zs_dtype *dtype, const struct zs_time_unit *unit, const char *text,
                          void *element)
{
    int64_t count;
    double value;
    if (parse_number(dtype, text, element))
        return true;
    if (unit == NULL || !zs_time_count(unit, text, &count, &value))
        return false;
    char number[32];
    if (count != INT64_MIN)
        CPLsnprintf(number, sizeof number, "%lld", (long long)count);
    else
        CPLsnprintf(number, sizeof number, "%.17g", value);
    return parse_number(dtype, number, element);
}

static bool parse_all(const struct zs_dtype *dtype, const struct zs_time_unit *unit, const char *const *texts,
                      size_t count, unsigned char *elements)
{
    for (size_t i = 0; i < count; i++)
        if (!parse_element(dtype, unit, texts[i], elements + i * dtype->size))
            return false;
    return true;
}

enum zs_status zs_extra_axis_parse(const char *const *texts, size_t count, char *const *attributes,
                                   enum zs_data_type *type, void **elements, struct zs_error *err)
{
    struct zs_time_unit unit;
    const bool is_time = zs_cf_time_parse(zs_extra_axis_attribute(attributes, "units"),
                                          zs_extra_axis_attribute(attributes, "calendar"), &unit);
    if (zs_extra_axis_attribute(attributes, "scale_factor") != NULL ||
        zs_extra_axis_attribute(attributes, "add_offset") != NULL)
        return zs_fail(err, ZS_INVALID, "coordinates are packed, and may be given as packed");
    struct zs_dtype tried[3];
    size_t n = declared_type(attributes, &tried[0]) ? 1 : 0;
    tried[n++] = zs_dtype_of(ZS_INT64);
    tried[n++] = zs_dtype_of(ZS_FLOAT64);
    unsigned char *out = zs_calloc(count, sizeof(double));
    ZS_TRY_MEMORY(out, err);
    for (size_t i = 0; i < n; i++)
        if (parse_all(&tried[i], is_time ? &unit : NULL, texts, count, out)) {
            *type = tried[i].type;
            *elements = out;
            return ZS_OK;
        }
    free(out);
    return zs_fail(err, ZS_INVALID, "expected coordinates that are numbers or times, found %s and others", texts[0]);
}

/* The narrowest type of classic netCDF that holds what these are; ZS_RAW where there is none. */
static enum zs_data_type classic_type(const struct zs_dtype *dtype, const unsigned char *elements, size_t count)
{
    const double most_exact = 9007199254740992.0; /* 2^53 */
    bool is_int32 = true, is_exact = true;
    if (dtype->type == ZS_INT8 || dtype->type == ZS_INT16 || dtype->type == ZS_INT32 || dtype->type == ZS_FLOAT32 ||
        dtype->type == ZS_FLOAT64)
        return dtype->type;
    for (size_t i = 0; i < count; i++) {
        const double v = zs_dtype_to_double(dtype, elements + i * dtype->size);
        is_int32 = is_int32 && v >= INT32_MIN && v <= INT32_MAX;
        is_exact = is_exact && v > -most_exact && v < most_exact;
    }
    return is_int32 ? ZS_INT32 : is_exact ? ZS_FLOAT64 : ZS_RAW;
}

enum zs_status zs_extra_axis_numbers(const char *const *texts, size_t count, char *const *attributes,
                                     enum zs_data_type *type, char ***numbers, struct zs_error *err)
{
    void *elements = NULL;
    enum zs_data_type found;
    char text[ZS_LABEL_SIZE];
    ZS_TRY(zs_extra_axis_parse(texts, count, attributes, &found, &elements, err));
    const struct zs_dtype dtype = zs_dtype_of(found);
    const struct zs_label_source source = {.dtype = &dtype, .elements = elements, .count = count};
    struct zs_names list = {0};
    enum zs_status status = ZS_OK;
    for (size_t i = 0; i < count && status == ZS_OK; i++) {
        zs_label_print(&source, i, text, sizeof text);
        status = zs_names_add(&list, zs_strdup(text), err);
    }
    *type = classic_type(&dtype, elements, count);
    free(elements);
    if (status == ZS_OK && *type == ZS_RAW)
        status = zs_fail(err, ZS_INVALID, "coordinates are beyond what a double holds");
    return zs_names_finish(&list, status, numbers, err);
}

/* Attributes that are another's business: of how it was stored, or of variables that are not copied. */
static bool is_left_out(const char *name)
{
    static const char *const names[] = {ZS_AXIS_TYPE,   "missing_value", "bounds",    "climatology",
                                        "coordinates",  "valid_min",     "valid_max", "valid_range",
                                        "actual_range", "NAME",          "CLASS",     NULL};
    return zs_is_one_of(name, names) || name[0] == '_' || name[0] == '\0';
}

enum zs_status zs_write_extra_axis(zs_json *attributes, const struct zs_extra_axis *axis, struct zs_error *err)
{
    for (char *const *item = axis->attributes; item != NULL && *item != NULL; item++) {
        char *name;
        const char *value;
        bool ok = zs_item_split(*item, &name, &value);
        if (name != NULL && !is_left_out(name) && zs_json_get(attributes, name) == NULL)
            ok = zs_json_add_string(attributes, name, value) != NULL;
        free(name);
        if (!ok)
            return zs_fail_memory(err);
    }
    return ZS_OK;
}
