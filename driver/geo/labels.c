#include "geo/labels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cpl_conv.h>
#include <cpl_string.h>

#include "base/memory.h"
#include "geo/coordinates.h"

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

static int64_t read_signed(const struct zs_dtype *dtype, const void *element)
{
    int64_t v64;
    if (dtype->size == 8) {
        memcpy(&v64, element, 8);
        return v64;
    }
    return (int64_t)zs_dtype_to_double(dtype, element); /* exact below 64 bits */
}

static bool is_packed(const struct zs_label_source *s)
{
    return s->properties.has_scale || s->properties.has_offset;
}

static const void *element_at(const struct zs_label_source *s, uint64_t index)
{
    return (const unsigned char *)s->elements + index * s->dtype->size;
}

/* Whether an element is a whole number of at most 64 bits with a sign, as it is. */
static bool is_signed(const struct zs_label_source *s)
{
    const enum zs_data_type type = s->dtype->type;
    return !is_packed(s) && (type == ZS_DATETIME64 || type == ZS_TIMEDELTA64 || (type >= ZS_INT8 && type <= ZS_INT64));
}

/* Missing: _FillValue, or NaT. */
static bool is_missing(const struct zs_label_source *s, const void *element)
{
    const bool is_datetime = s->dtype->type == ZS_DATETIME64 || s->dtype->type == ZS_TIMEDELTA64;
    return (s->masks && memcmp(element, s->properties.nodata, s->dtype->size) == 0) ||
           (is_datetime && read_signed(s->dtype, element) == INT64_MIN);
}

static double unpacked(const struct zs_label_source *s, const void *element)
{
    return zs_dtype_to_double(s->dtype, element) * (s->properties.has_scale ? s->properties.scale : 1) +
           (s->properties.has_offset ? s->properties.offset : 0);
}

void zs_label_print(const struct zs_label_source *s, uint64_t index, char *out, size_t capacity)
{
    const enum zs_data_type type = s->dtype->type;
    const void *e = element_at(s, index);
    out[0] = '\0';
    if (is_missing(s, e))
        return;
    if (type == ZS_BOOL) {
        snprintf(out, capacity, "%s", zs_dtype_to_double(s->dtype, e) != 0 ? "true" : "false");
    } else if (is_signed(s)) {
        const int64_t v = read_signed(s->dtype, e);
        if (!s->is_time || !zs_time_print_int(&s->unit, v, out, capacity))
            snprintf(out, capacity, "%lld", (long long)v);
    } else if (type == ZS_UINT64 && !is_packed(s) && !s->is_time) {
        uint64_t v;
        memcpy(&v, e, sizeof v);
        snprintf(out, capacity, "%llu", (unsigned long long)v);
    } else {
        const double v = unpacked(s, e);
        if (!s->is_time || !zs_time_print_double(&s->unit, v, out, capacity))
            print_number(v, (type == ZS_FLOAT32 || type == ZS_FLOAT16) && !is_packed(s), out, capacity);
    }
}

double zs_label_number(const struct zs_label_source *s, uint64_t index)
{
    const void *e = element_at(s, index);
    return is_missing(s, e) ? NAN : unpacked(s, e);
}

bool zs_label_instant(const struct zs_label_source *s, uint64_t index, struct zs_instant *instant)
{
    const void *e = element_at(s, index);
    if (!s->is_time || is_missing(s, e))
        return false;
    return is_signed(s) ? zs_time_instant_int(&s->unit, read_signed(s->dtype, e), instant)
                        : zs_time_instant_double(&s->unit, unpacked(s, e), instant);
}

/* A single element that is the fill value may be one that its writer left out because it is (xarray counts "days since"
 * the day of its only time step, which is then 0). It counts as none where it could not be a value: NaN, or a time of
 * the year 1970, where stores without chunks begin, and no real single time step lies. */
static bool is_single_value(const struct zs_label_source *s)
{
    char text[ZS_LABEL_SIZE];
    zs_label_print(s, 0, text, sizeof text);
    return text[0] != '\0' && !(s->is_time && strncmp(text, "1970-01-01T00:00:00", 19) == 0);
}

bool zs_has_labels(const struct zs_node *coordinate)
{
    const enum zs_data_type type = coordinate->array->dtype.type;
    return type != ZS_RAW && type != ZS_COMPLEX64 && type != ZS_COMPLEX128;
}

enum zs_status zs_label_source_read(struct zs_hierarchy *hierarchy, const struct zs_node *coordinate, uint64_t first,
                                    uint64_t count, struct zs_label_source *source, struct zs_error *err)
{
    struct zs_label_source s = {.dtype = &coordinate->array->dtype, .count = count};
    const enum zs_data_type type = s.dtype->type;
    bool is_blank;
    ZS_TRY(zs_band_properties_read(coordinate, &s.properties, err));
    const enum zs_status status =
        zs_coordinate_elements(hierarchy, coordinate, first, count, &s.elements, &is_blank, err);
    if (status != ZS_OK) {
        zs_band_properties_clear(&s.properties);
        return status;
    }
    const char *units = zs_json_text(coordinate->attributes, "units", NULL);
    const char *calendar = zs_json_text(coordinate->attributes, "calendar", NULL);
    if (type == ZS_DATETIME64)
        s.is_time = zs_datetime_unit(s.dtype->unit, s.dtype->unit_scale, &s.unit);
    else if (type != ZS_TIMEDELTA64 && type != ZS_BOOL)
        s.is_time = zs_cf_time_parse(units, calendar, &s.unit);
    s.masks = s.properties.has_nodata && zs_json_get(coordinate->attributes, "_FillValue") != NULL;
    /* A stretch of a longer axis may be all fill for good reasons: one look at the whole would cost too much. */
    s.has_values = s.elements != NULL && (!is_blank || (count == 1 && is_single_value(&s)));
    *source = s;
    return ZS_OK;
}

void zs_label_source_clear(struct zs_label_source *s)
{
    free(s->elements);
    zs_band_properties_clear(&s->properties);
    memset(s, 0, sizeof *s);
}

/* The labels of `count` elements, or of those at at[0..count), where the source begins with at[0]. */
static enum zs_status print_all(const struct zs_label_source *s, const uint64_t *at, size_t count,
                                struct zs_labels *labels, struct zs_error *err)
{
    char text[ZS_LABEL_SIZE];
    labels->values = zs_calloc(count, sizeof *labels->values);
    labels->count = labels->values != NULL ? count : 0;
    for (size_t i = 0; i < labels->count; i++) {
        zs_label_print(s, at != NULL ? at[i] - at[0] : i, text, sizeof text);
        labels->values[i] = zs_strdup(text);
        if (labels->values[i] == NULL)
            break;
    }
    if (count == 0 || (labels->values != NULL && labels->values[count - 1] != NULL))
        return ZS_OK;
    zs_labels_clear(labels);
    return zs_fail_memory(err);
}

/* Whether whole numbers without a unit are indices: they count, or are the numbers of bands. */
static bool is_index(const struct zs_label_source *s, uint64_t first, const char *name)
{
    const bool is_band = name != NULL && strcmp(name, "band") == 0;
    const double start = zs_dtype_to_double(s->dtype, s->elements) - (double)first;
    bool counts = start == 0 || start == 1, is_whole = true;
    for (uint64_t i = 0; i < s->count; i++) {
        const double v = zs_dtype_to_double(s->dtype, element_at(s, i));
        counts = counts && v == start + (double)(first + i);
        is_whole = is_whole && v == floor(v);
    }
    return counts || (is_band && is_whole);
}

/* The unit of values that are no times; NULL where there is none. */
static char *unit_of(const struct zs_label_source *s)
{
    if (s->properties.unit != NULL)
        return zs_strdup(s->properties.unit);
    if (s->dtype->type != ZS_TIMEDELTA64 || s->dtype->unit[0] == '\0' || strcmp(s->dtype->unit, "generic") == 0)
        return NULL;
    return s->dtype->unit_scale == 1 ? zs_strdup(s->dtype->unit)
                                     : zs_format("%lld %s", (long long)s->dtype->unit_scale, s->dtype->unit);
}

/* Texts are their own labels. Those that are not picked are freed. */
static void take_texts(char **texts, uint64_t count, const uint64_t *at, size_t n, struct zs_labels *labels)
{
    size_t taken = 0;
    for (uint64_t i = 0; texts != NULL && i < count; i++) {
        char *text = texts[i];
        if (at == NULL || (taken < n && at[taken] - at[0] == i))
            texts[taken++] = text;
        else
            free(text);
    }
    labels->values = texts;
    labels->count = taken;
}

/* The labels of elements [first, first + count), or of n of them. */
static enum zs_status read_labels(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim, uint64_t first,
                                  uint64_t count, const uint64_t *at, size_t n, struct zs_labels *labels,
                                  struct zs_error *err)
{
    memset(labels, 0, sizeof *labels);
    if (node->array == NULL || dim < 0 || dim >= node->array->ndim || first > node->array->shape[dim] ||
        count > node->array->shape[dim] - first)
        return zs_fail(err, ZS_ARGUMENT, "%s: no elements %llu and on of dimension %d", node->path,
                       (unsigned long long)first, dim);
    const struct zs_node *c = zs_coordinate_find(hierarchy, node, dim);
    labels->is_unreadable = c != NULL && zs_has_labels(c);
    if (count == 0 || count > ZS_LABELS_MAX)
        return ZS_OK;
    if (c == NULL) {
        char **texts;
        ZS_TRY(zs_coordinate_texts(hierarchy, node, dim, first, count, &texts, err));
        if (texts == NULL) {
            ZS_TRY(zs_channel_names(hierarchy, node, dim, first, count, &texts, err));
            labels->are_names = texts != NULL;
        }
        take_texts(texts, count, at, n, labels);
        return ZS_OK;
    }
    if (!zs_has_labels(c))
        return ZS_OK;

    struct zs_label_source source;
    ZS_TRY(zs_label_source_read(hierarchy, c, first, count, &source, err));
    const enum zs_status status = source.has_values ? print_all(&source, at, n, labels, err) : ZS_OK;
    const enum zs_data_type type = c->array->dtype.type;
    const bool is_plain = !source.is_time && type != ZS_TIMEDELTA64 && type != ZS_BOOL &&
                          source.properties.unit == NULL && !source.properties.has_scale &&
                          !source.properties.has_offset;
    labels->is_index = is_plain && source.elements != NULL && is_index(&source, first, zs_dimension_name(node, dim));
    labels->is_unreadable = !source.has_values;
    if (source.has_values && status == ZS_OK && !source.is_time)
        labels->unit = unit_of(&source);
    zs_label_source_clear(&source);
    return status;
}

enum zs_status zs_labels_read(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim, uint64_t first,
                              uint64_t count, struct zs_labels *labels, struct zs_error *err)
{
    return read_labels(hierarchy, node, dim, first, count, NULL, (size_t)count, labels, err);
}

enum zs_status zs_labels_pick(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim, const uint64_t *at,
                              size_t n, struct zs_labels *labels, struct zs_error *err)
{
    return read_labels(hierarchy, node, dim, at[0], at[n - 1] - at[0] + 1, at, n, labels, err);
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

static enum zs_status add_type(const struct zs_node *coordinate, struct zs_names *items, struct zs_error *err)
{
    const struct zs_dtype *dtype = &coordinate->array->dtype;
    const bool is_packed = zs_json_get(coordinate->attributes, "scale_factor") != NULL ||
                           zs_json_get(coordinate->attributes, "add_offset") != NULL;
    const char *units = dtype->type == ZS_DATETIME64 ? units_of_datetime(dtype->unit) : NULL;
    if (units != NULL) {
        ZS_TRY(zs_names_add(items, zs_format("units=%s since 1970-01-01", units), err));
        return zs_names_add(items, zs_strdup("calendar=proleptic_gregorian"), err);
    }
    const bool is_number = dtype->type >= ZS_INT8 && dtype->type <= ZS_FLOAT64;
    if (!is_number || dtype->type == ZS_INT64 || is_packed)
        return ZS_OK;
    return zs_names_add(items, zs_format("%s=%s", ZS_AXIS_TYPE, dtype->name), err);
}

enum zs_status zs_label_attributes(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim, char ***items,
                                   struct zs_error *err)
{
    *items = NULL;
    const struct zs_node *c = zs_coordinate_find(hierarchy, node, dim);
    if (c == NULL)
        return ZS_OK;
    struct zs_names list = {0};
    enum zs_status status = ZS_OK;
    const char *text;
    for (const zs_json *a = zs_json_first(c->attributes); a != NULL && status == ZS_OK; a = zs_json_next(a)) {
        const char *name = zs_json_name(a);
        const bool is_item = zs_json_string(a, &text) && strchr(name, '=') == NULL && name[0] != '_' && name[0] != '\0';
        if (is_item &&
            !(c->array->dtype.type == ZS_DATETIME64 && (strcmp(name, "units") == 0 || strcmp(name, "calendar") == 0)))
            status = zs_names_add(&list, zs_format("%s=%s", name, text), err);
    }
    if (status == ZS_OK)
        status = add_type(c, &list, err);
    if (status != ZS_OK)
        zs_names_free(list.list);
    else
        *items = list.list;
    return status;
}

void zs_labels_clear(struct zs_labels *labels)
{
    for (size_t i = 0; i < labels->count && labels->values != NULL; i++)
        free(labels->values[i]);
    free(labels->values);
    free(labels->unit);
    memset(labels, 0, sizeof *labels);
}
