#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cpl_conv.h>
#include <cpl_string.h>

#include "base/memory.h"
#include "geo/axes.h"
#include "geo/cf_time.h"
#include "geo/coordinates.h"
#include "geo/extra_axis.h"
#include "geo/meaning.h"

/* How the elements of one coordinate variable become texts. */
struct printer {
    const struct zs_dtype *dtype;
    bool is_time;
    struct zs_time_unit unit;
    struct zs_meaning meaning;
    bool masks; /* meaning.nodata marks missing elements */
};

/* A double in the shortest form that reads back the same; a float32 in the shortest that is the same float32. */
static void print_number(double value, bool is_single, char *out, size_t capacity)
{
    if (isnan(value)) {
        out[0] = '\0';
        return;
    }
    for (int digits = is_single ? 6 : 15; digits <= 17; digits++) {
        CPLsnprintf(out, capacity, "%.*g", digits, value);
        const double back = CPLAtof(out);
        if (is_single ? (float)back == (float)value : back == value)
            return;
    }
}

static int64_t read_signed(const struct zs_dtype *dtype, const void *e)
{
    int64_t v64;
    if (dtype->size == 8) {
        memcpy(&v64, e, 8);
        return v64;
    }
    return (int64_t)zs_dtype_to_double(dtype, e); /* exact below 64 bits */
}

static void print_element(const struct printer *p, const void *e, char *out, size_t capacity)
{
    const enum zs_data_type type = p->dtype->type;
    const bool is_packed = p->meaning.has_scale || p->meaning.has_offset;
    const bool is_datetime = type == ZS_DATETIME64 || type == ZS_TIMEDELTA64;
    const bool is_whole = !is_packed && (is_datetime || (type >= ZS_INT8 && type <= ZS_INT64));
    out[0] = '\0';
    if (p->masks && memcmp(e, p->meaning.nodata, p->dtype->size) == 0)
        return;
    if (is_datetime && read_signed(p->dtype, e) == INT64_MIN) /* NaT */
        return;
    if (type == ZS_BOOL) {
        snprintf(out, capacity, "%s", zs_dtype_to_double(p->dtype, e) != 0 ? "true" : "false");
    } else if (is_whole && type != ZS_UINT64) {
        const int64_t v = read_signed(p->dtype, e);
        if (!p->is_time || !zs_time_print_int(&p->unit, v, out, capacity))
            snprintf(out, capacity, "%lld", (long long)v);
    } else if (type == ZS_UINT64 && !is_packed && !p->is_time) {
        uint64_t v;
        memcpy(&v, e, sizeof v);
        snprintf(out, capacity, "%llu", (unsigned long long)v);
    } else {
        const double v = zs_dtype_to_double(p->dtype, e) * (p->meaning.has_scale ? p->meaning.scale : 1) +
                         (p->meaning.has_offset ? p->meaning.offset : 0);
        if (!p->is_time || !zs_time_print_double(&p->unit, v, out, capacity))
            print_number(v, (type == ZS_FLOAT32 || type == ZS_FLOAT16) && !is_packed, out, capacity);
    }
}

/* A single element that is the fill value may be one that its writer left out because it is (xarray counts "days since"
 * the day of its only time step, which is then 0). It is not believed where it could not be a value: NaN, or a time of
 * the year 1970, in which nobody's only time step lies but where stores without chunks all begin. */
static bool believes_single(const struct printer *p, const void *e)
{
    char text[64];
    print_element(p, e, text, sizeof text);
    return text[0] != '\0' && !(p->is_time && strncmp(text, "1970-01-01T00:00:00", 19) == 0);
}

static enum zs_status print_all(const struct printer *p, const unsigned char *elements, size_t count,
                                struct zs_labels *labels, struct zs_error *err)
{
    char text[64];
    labels->values = zs_calloc(count, sizeof *labels->values);
    labels->count = labels->values != NULL ? count : 0;
    for (size_t i = 0; i < labels->count; i++) {
        print_element(p, elements + i * p->dtype->size, text, sizeof text);
        labels->values[i] = zs_strdup(text);
        if (labels->values[i] == NULL)
            break;
    }
    if (count == 0 || (labels->values != NULL && labels->values[count - 1] != NULL))
        return ZS_OK;
    zs_labels_clear(labels);
    return zs_fail(err, ZS_NO_MEMORY, "no memory for %zu labels", count);
}

/* Whether whole numbers without a unit are indices: they count, or are the numbers of bands. */
static bool is_index(const struct zs_dtype *dtype, const unsigned char *elements, size_t count, uint64_t first,
                     const char *name)
{
    const bool is_band = name != NULL && strcmp(name, "band") == 0;
    const double start = zs_dtype_to_double(dtype, elements) - (double)first;
    bool counts = start == 0 || start == 1, is_whole = true;
    for (size_t i = 0; i < count; i++) {
        const double v = zs_dtype_to_double(dtype, elements + i * dtype->size);
        counts = counts && v == start + (double)(first + i);
        is_whole = is_whole && v == floor(v);
    }
    return counts || (is_band && is_whole);
}

enum zs_status zs_labels_read(struct zs_hierarchy *h, const struct zs_node *node, int dim, uint64_t first,
                              uint64_t count, struct zs_labels *labels, struct zs_error *err)
{
    memset(labels, 0, sizeof *labels);
    if (node->array == NULL || dim < 0 || dim >= node->array->ndim || first > node->array->shape[dim] ||
        count > node->array->shape[dim] - first)
        return zs_fail(err, ZS_ARGUMENT, "%s: no elements %llu and on of dimension %d", node->path,
                       (unsigned long long)first, dim);
    const struct zs_node *c = zs_coordinate_find(h, node, dim);
    if (count == 0 || count > ZS_LABELS_MAX)
        return ZS_OK;
    if (c == NULL) {
        ZS_TRY(zs_coordinate_texts(h, node, dim, first, count, &labels->values, err));
        labels->count = labels->values != NULL ? (size_t)count : 0;
        return ZS_OK;
    }
    const enum zs_data_type type = c->array->dtype.type;
    if (type == ZS_RAW || type == ZS_COMPLEX64 || type == ZS_COMPLEX128)
        return ZS_OK;

    void *elements;
    bool is_blank;
    ZS_TRY(zs_coordinate_elements(h, c, first, count, &elements, &is_blank, err));
    if (elements == NULL)
        return ZS_OK;
    struct printer p = {.dtype = &c->array->dtype};
    enum zs_status status = zs_meaning_read(c, &p.meaning, err);
    if (status == ZS_OK) {
        const char *units = NULL, *calendar = NULL;
        zs_json_string(zs_json_get(c->attributes, "units"), &units);
        zs_json_string(zs_json_get(c->attributes, "calendar"), &calendar);
        if (type == ZS_DATETIME64)
            p.is_time = zs_datetime_unit(p.dtype->unit, p.dtype->unit_scale, &p.unit);
        else if (type != ZS_TIMEDELTA64 && type != ZS_BOOL)
            p.is_time = zs_cf_time_parse(units, calendar, &p.unit);
        p.masks = p.meaning.has_nodata && zs_json_get(c->attributes, "_FillValue") != NULL;
        /* A stretch of a longer axis may be all fill for good reasons: one look at the whole would cost too much. */
        const bool is_believed = !is_blank || (count == 1 && believes_single(&p, elements));
        if (is_believed)
            status = print_all(&p, elements, (size_t)count, labels, err);
        const bool is_plain = !p.is_time && type != ZS_TIMEDELTA64 && type != ZS_BOOL && p.meaning.unit == NULL &&
                              !p.meaning.has_scale && !p.meaning.has_offset;
        labels->is_index = is_plain && is_index(p.dtype, elements, (size_t)count, first, zs_dimension_name(node, dim));
        if (is_believed && status == ZS_OK && !p.is_time && p.meaning.unit != NULL)
            labels->unit = zs_strdup(p.meaning.unit);
        else if (is_believed && status == ZS_OK && type == ZS_TIMEDELTA64 && p.dtype->unit[0] != '\0' &&
                 strcmp(p.dtype->unit, "generic") != 0)
            labels->unit = p.dtype->unit_scale == 1
                               ? zs_strdup(p.dtype->unit)
                               : zs_format("%lld %s", (long long)p.dtype->unit_scale, p.dtype->unit);
        zs_meaning_clear(&p.meaning);
    }
    free(elements);
    return status;
}

/* CF units for instants of datetime64, of which labels are exact texts. */
static const char *units_of_datetime(const char *unit)
{
    static const char *const known[][2] = {
        {"ns", "nanoseconds"}, {"us", "microseconds"}, {"ms", "milliseconds"}, {"s", "seconds"}, {"m", "minutes"},
        {"h", "hours"},        {"D", "days"},          {"W", "days"},          {"M", "days"},    {"Y", "days"}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(unit, known[i][0]) == 0)
            return known[i][1];
    return NULL;
}

/* Takes an item made by zs_format(); false without memory. */
static bool take_item(char **items, size_t *count, char *item)
{
    items[*count] = item;
    return items[(*count)++] != NULL;
}

static bool add_type(const struct zs_node *c, char **items, size_t *count)
{
    const struct zs_dtype *dtype = &c->array->dtype;
    const bool is_packed =
        zs_json_get(c->attributes, "scale_factor") != NULL || zs_json_get(c->attributes, "add_offset") != NULL;
    const char *units = dtype->type == ZS_DATETIME64 ? units_of_datetime(dtype->unit) : NULL;
    if (units != NULL)
        return take_item(items, count, zs_format("units=%s since 1970-01-01", units)) &&
               take_item(items, count, zs_strdup("calendar=proleptic_gregorian"));
    const bool is_number = dtype->type >= ZS_INT8 && dtype->type <= ZS_FLOAT64;
    if (!is_number || dtype->type == ZS_INT64 || is_packed)
        return true;
    return take_item(items, count, zs_format("%s=%s", ZS_AXIS_TYPE, dtype->name));
}

enum zs_status zs_label_attributes(struct zs_hierarchy *h, const struct zs_node *node, int dim, char ***items,
                                   struct zs_error *err)
{
    *items = NULL;
    const struct zs_node *c = zs_coordinate_find(h, node, dim);
    if (c == NULL)
        return ZS_OK;
    char **list = zs_calloc(zs_json_size(c->attributes) + 3, sizeof *list);
    size_t count = 0;
    bool ok = list != NULL;
    const char *text;
    for (const zs_json *a = zs_json_first(c->attributes); a != NULL && ok; a = zs_json_next(a)) {
        const char *name = zs_json_name(a);
        const bool is_said = zs_json_string(a, &text) && strchr(name, '=') == NULL && name[0] != '_' && name[0] != '\0';
        if (is_said &&
            !(c->array->dtype.type == ZS_DATETIME64 && (strcmp(name, "units") == 0 || strcmp(name, "calendar") == 0)))
            ok = take_item(list, &count, zs_format("%s=%s", name, text));
    }
    ok = ok && add_type(c, list, &count);
    if (!ok || count == 0) {
        zs_metadata_free(list);
        return ok ? ZS_OK : zs_fail(err, ZS_NO_MEMORY, "%s: no memory for its attributes", c->path);
    }
    *items = list;
    return ZS_OK;
}

void zs_labels_clear(struct zs_labels *labels)
{
    for (size_t i = 0; i < labels->count && labels->values != NULL; i++)
        free(labels->values[i]);
    free(labels->values);
    free(labels->unit);
    memset(labels, 0, sizeof *labels);
}
