/* Elements of coordinate variables as labels, numbers and times; elements that labels select; and coordinate variables
 * of new rasters, made of labels. */
#include "geo/axes.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cpl_conv.h>
#include <cpl_string.h>

#include "array/array.h"
#include "base/memory.h"
#include "geo/bands.h"
#include "geo/cf_time.h"
#include "geo/variables.h"

/* Longest text of an element, with its end. */
#define ZS_LABEL_SIZE 64

struct zs_label_source {
    const struct zs_dtype *dtype; /* borrowed from the node */
    void *elements; /* `count` of them, or NULL where the variable is of a kind that is not read */
    uint64_t count;
    bool is_time;
    struct zs_time_unit unit; /* where it is */
    struct zs_band_properties properties;
    bool masks;      /* properties.nodata marks missing elements */
    bool has_values; /* there are values, and not only what a store without its chunks looks like */
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

static bool label_instant(const struct zs_label_source *s, uint64_t index, struct zs_instant *instant)
{
    const void *e = element_at(s, index);
    if (!s->is_time || is_missing(s, e))
        return false;
    return is_signed(s) ? zs_time_instant_int(&s->unit, read_signed(s->dtype, e), instant)
                        : zs_time_instant_double(&s->unit, unpacked(s, e), instant);
}

static void label_print(const struct zs_label_source *s, uint64_t index, char *out, size_t capacity)
{
    const enum zs_data_type type = s->dtype->type;
    const void *e = element_at(s, index);
    struct zs_instant at;
    uint64_t bits;
    out[0] = '\0';
    if (is_missing(s, e) ||
        (label_instant(s, index, &at) && zs_instant_print(s->unit.calendar, at, out, capacity)))
        return;
    if (type == ZS_BOOL) {
        snprintf(out, capacity, "%s", zs_dtype_to_double(s->dtype, e) != 0 ? "true" : "false");
    } else if (is_signed(s)) {
        snprintf(out, capacity, "%lld", (long long)read_signed(s->dtype, e));
    } else if (type == ZS_UINT64 && !is_packed(s)) {
        memcpy(&bits, e, sizeof bits);
        snprintf(out, capacity, "%llu", (unsigned long long)bits);
    } else {
        print_number(unpacked(s, e), (type == ZS_FLOAT32 || type == ZS_FLOAT16) && !is_packed(s), out, capacity);
    }
}

static double label_number(const struct zs_label_source *s, uint64_t index)
{
    const void *e = element_at(s, index);
    return is_missing(s, e) ? NAN : unpacked(s, e);
}

/* A single element that is the fill value may be one that its writer left out because it is (xarray counts "days since"
 * the day of its only time step, which is then 0). It counts as none where it could not be a value: NaN, or a time of
 * the year 1970, where stores without chunks begin, and no real single time step lies. */
static bool is_single_value(const struct zs_label_source *s)
{
    char text[ZS_LABEL_SIZE];
    label_print(s, 0, text, sizeof text);
    return text[0] != '\0' && !(s->is_time && strncmp(text, "1970-01-01T00:00:00", 19) == 0);
}

static bool has_labels(const struct zs_node *coordinate)
{
    const enum zs_data_type type = coordinate->array->dtype.type;
    return type != ZS_RAW && type != ZS_COMPLEX64 && type != ZS_COMPLEX128;
}

static enum zs_status label_source_read(struct zs_hierarchy *hierarchy, const struct zs_node *coordinate,
                                        uint64_t first, uint64_t count, struct zs_label_source *source,
                                        struct zs_error *err)
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

static void label_source_clear(struct zs_label_source *s)
{
    free(s->elements);
    zs_band_properties_clear(&s->properties);
    memset(s, 0, sizeof *s);
}

/* The labels of the first `count` elements of the source. */
static enum zs_status print_all(const struct zs_label_source *s, size_t count, struct zs_labels *labels,
                                struct zs_error *err)
{
    char text[ZS_LABEL_SIZE];
    labels->values = zs_calloc(count, sizeof *labels->values);
    labels->count = labels->values != NULL ? count : 0;
    for (size_t i = 0; i < labels->count; i++) {
        label_print(s, i, text, sizeof text);
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

enum zs_status zs_labels_read(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim, uint64_t first,
                              uint64_t count, struct zs_labels *labels, struct zs_error *err)
{
    memset(labels, 0, sizeof *labels);
    if (node->array == NULL || dim < 0 || dim >= node->array->ndim || first > node->array->shape[dim] ||
        count > node->array->shape[dim] - first)
        return zs_fail(err, ZS_ARGUMENT, "%s: no elements %llu and on of dimension %d", node->path,
                       (unsigned long long)first, dim);
    const struct zs_node *c = zs_coordinate_find(hierarchy, node, dim);
    labels->is_unreadable = c != NULL && has_labels(c);
    if (count == 0 || count > ZS_LABELS_MAX)
        return ZS_OK;
    if (c == NULL) {
        char **texts;
        ZS_TRY(zs_coordinate_texts(hierarchy, node, dim, first, count, &texts, err));
        if (texts == NULL) {
            ZS_TRY(zs_channel_names(hierarchy, node, dim, first, count, &texts, err));
            labels->are_names = texts != NULL;
        }
        labels->values = texts;
        labels->count = texts != NULL ? (size_t)count : 0;
        return ZS_OK;
    }
    if (!has_labels(c))
        return ZS_OK;

    struct zs_label_source source;
    ZS_TRY(label_source_read(hierarchy, c, first, count, &source, err));
    const enum zs_status status = source.has_values ? print_all(&source, (size_t)count, labels, err) : ZS_OK;
    const enum zs_data_type type = c->array->dtype.type;
    const bool is_plain = !source.is_time && type != ZS_TIMEDELTA64 && type != ZS_BOOL &&
                          source.properties.unit == NULL && !is_packed(&source);
    labels->is_index = is_plain && source.elements != NULL && is_index(&source, first, zs_dimension_name(node, dim));
    labels->is_unreadable = !source.has_values;
    if (source.has_values && status == ZS_OK && !source.is_time)
        labels->unit = unit_of(&source);
    label_source_clear(&source);
    return status;
}

static enum zs_status add_type(const struct zs_node *coordinate, struct zs_names *items, struct zs_error *err)
{
    const struct zs_dtype *dtype = &coordinate->array->dtype;
    const bool is_packed = zs_json_get(coordinate->attributes, "scale_factor") != NULL ||
                           zs_json_get(coordinate->attributes, "add_offset") != NULL;
    const char *units = dtype->type == ZS_DATETIME64 ? zs_datetime_units(dtype->unit) : NULL;
    if (units != NULL) {
        ZS_TRY(zs_names_add(items, zs_format("units=%s", units), err));
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

/* ---- Selections ---- */

/* A message names at most this many elements. */
#define NAMED 3

struct dimension {
    const char *name; /* "" where it has none */
    uint64_t size;
    const struct zs_node *variable; /* of its coordinates; NULL where there is none that has labels */
};

static struct dimension dimension_of(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim)
{
    const char *name = zs_dimension_name(node, dim);
    const struct zs_node *c = zs_coordinate_find(hierarchy, node, dim);
    return (struct dimension){name != NULL ? name : "", node->array->shape[dim],
                              c != NULL && has_labels(c) ? c : NULL};
}

/* ---- Indices ---- */

static bool is_index_text(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

static enum zs_status parse_index(const struct dimension *d, const char *text, uint64_t *index, struct zs_error *err)
{
    errno = 0;
    *index = strtoull(text, NULL, 10);
    if (errno == ERANGE || *index >= d->size)
        return zs_fail(err, ZS_ARGUMENT, "%s: index %s is out of range: there are %llu elements, counted from 0",
                       d->name, text, (unsigned long long)d->size);
    return ZS_OK;
}

/* ---- Values ---- */

/* The wanted value, to compare with each element. */
struct wanted {
    const char *text;
    double number, tolerance; /* of numbers, relative */
    struct zs_instant from, to;
};

/* The elements that were found. */
struct found {
    uint64_t count, at[NAMED]; /* number of matching elements, and the first ones */
    uint64_t exact_count, exact; /* of these, those whose label is the text itself */
    uint64_t near[2]; /* the two nearest elements, nearest first; a distance is INFINITY where there is none */
    double distance[2];
};

/* Half a step between two numbers of the type: a wanted number is seldom one of them exactly. */
static double tolerance_of(const struct zs_label_source *s)
{
    const enum zs_data_type type = s->dtype->type;
    if (is_packed(s))
        return 1e-12; /* unpacked values were rounded twice */
    return type == ZS_FLOAT16 ? 0x1p-11 : type == ZS_FLOAT32 ? 0x1p-24 : type == ZS_FLOAT64 ? 4 * DBL_EPSILON : 0;
}

/* Distance of the element at `index` from the wanted value; false for a missing element. */
static bool distance_to(const struct zs_label_source *s, uint64_t index, const struct wanted *w, double *distance,
                        bool *is_match)
{
    struct zs_instant at;
    if (!s->is_time) {
        *distance = fabs(label_number(s, index) - w->number);
        *is_match = *distance <= w->tolerance * fabs(w->number);
        return !isnan(*distance);
    }
    if (!label_instant(s, index, &at))
        return false;
    *is_match = zs_instant_compare(at, w->from) >= 0 && zs_instant_compare(at, w->to) < 0;
    *distance = fabs((double)(at.seconds - w->from.seconds) + 1e-9 * (double)(at.nanoseconds - w->from.nanoseconds));
    return true;
}

static void take_near(struct found *f, uint64_t index, double distance)
{
    if (distance < f->distance[0]) {
        f->near[1] = f->near[0];
        f->distance[1] = f->distance[0];
        f->near[0] = index;
        f->distance[0] = distance;
    } else if (distance < f->distance[1]) {
        f->near[1] = index;
        f->distance[1] = distance;
    }
}

static struct found find_all(const struct zs_label_source *s, const struct wanted *w)
{
    struct found f = {.distance = {INFINITY, INFINITY}};
    char text[ZS_LABEL_SIZE];
    for (uint64_t i = 0; i < s->count; i++) {
        double distance;
        bool is_match = false;
        if (!distance_to(s, i, w, &distance, &is_match))
            continue;
        take_near(&f, i, distance);
        if (!is_match)
            continue;
        if (f.count < NAMED)
            f.at[f.count] = i;
        f.count++;
        label_print(s, i, text, sizeof text);
        if (strcmp(text, w->text) == 0) {
            f.exact_count++;
            f.exact = i;
        }
    }
    return f;
}

static enum zs_status none_or_several(const struct dimension *d, const struct zs_label_source *s,
                                      const struct wanted *w, const struct found *f, struct zs_error *err)
{
    char text[NAMED][ZS_LABEL_SIZE] = {"", "", ""};
    for (uint64_t i = 0; i < f->count && i < NAMED; i++)
        label_print(s, f->at[i], text[i], sizeof text[i]);
    if (f->count > 0)
        return zs_fail(err, ZS_ARGUMENT, "%s: %llu elements are %s: %s, %s%s%s; elements %llu, %llu%s", d->name,
                       (unsigned long long)f->count, w->text, text[0], text[1], f->count > 2 ? ", " : "", text[2],
                       (unsigned long long)f->at[0], (unsigned long long)f->at[1], f->count > 2 ? " ..." : "");
    int n = 0;
    for (; n < 2 && isfinite(f->distance[n]); n++)
        label_print(s, f->near[n], text[n], sizeof text[n]);
    return zs_fail(err, ZS_ARGUMENT, "%s: no element is %s%s%s%s%s", d->name, w->text,
                   n == 0 ? "" : n == 1 ? "; the only one is " : "; the nearest are ", text[0], n > 1 ? " and " : "",
                   text[1]);
}

static bool parse_number(const char *text, double *number)
{
    char *end;
    *number = CPLStrtod(text, &end);
    return end != text && *end == '\0' && isfinite(*number);
}

static enum zs_status choose_label(const struct dimension *d, const struct zs_label_source *s, const char *text,
                                   uint64_t *index, struct zs_error *err)
{
    struct wanted w = {.text = text, .tolerance = tolerance_of(s)};
    if (!s->has_values)
        return zs_fail(err, ZS_ARGUMENT, "%s: its coordinates cannot be read; an index i is asked for by i..i",
                       d->name);
    if (s->is_time && !zs_time_span(s->unit.calendar, text, &w.from, &w.to))
        return zs_fail(err, ZS_ARGUMENT,
                       "%s: expected a time, such as 2026-05-01 or 2026-05-01T06:00, first, last, or a range, found %s",
                       d->name, text);
    if (s->dtype->type == ZS_BOOL && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0))
        w.number = text[0] == 't';
    else if (!s->is_time && !parse_number(text, &w.number))
        return zs_fail(err, ZS_ARGUMENT, "%s: expected a number, first, last, or a range, found %s", d->name, text);
    const struct found f = find_all(s, &w);
    if (f.count != 1 && f.exact_count != 1)
        return none_or_several(d, s, &w, &f, err);
    *index = f.count == 1 ? f.at[0] : f.exact;
    return ZS_OK;
}

static enum zs_status choose_text(const struct dimension *d, char *const *texts, const char *text, uint64_t *index,
                                  struct zs_error *err)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < d->size; i++)
        if (strcmp(texts[i], text) == 0 && count++ == 0)
            *index = i;
    if (count == 1)
        return ZS_OK;
    if (count > 1)
        return zs_fail(err, ZS_ARGUMENT, "%s: %llu elements are %s, the first is element %llu", d->name,
                       (unsigned long long)count, text, (unsigned long long)*index);
    return zs_fail(err, ZS_ARGUMENT, "%s: no element is %s; the first are %s%s%s%s%s", d->name, text, texts[0],
                   d->size > 1 ? ", " : "", d->size > 1 ? texts[1] : "", d->size > 2 ? ", " : "",
                   d->size > 2 ? texts[2] : "");
}

static enum zs_status choose_without_numbers(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim,
                                             const struct dimension *d, const char *text, uint64_t *index,
                                             struct zs_error *err)
{
    char **texts;
    ZS_TRY(zs_coordinate_texts(hierarchy, node, dim, 0, d->size, &texts, err));
    const bool is_variable = texts != NULL;
    if (!is_variable)
        ZS_TRY(zs_channel_names(hierarchy, node, dim, 0, d->size, &texts, err));
    if (texts != NULL) {
        const enum zs_status status = choose_text(d, texts, text, index, err);
        zs_strings_free(texts, (size_t)d->size);
        if (status == ZS_OK || is_variable || !is_index_text(text))
            return status;
    }
    if (!is_index_text(text))
        return zs_fail(err, ZS_ARGUMENT,
                       "%s has no coordinates that can be read: expected an index, first, last, or a range, found %s",
                       d->name, text);
    return parse_index(d, text, index, err);
}

static enum zs_status check_length(const struct dimension *d, struct zs_error *err)
{
    if (d->size <= ZS_LABELS_MAX && d->size > 0)
        return ZS_OK;
    return zs_fail(err, ZS_ARGUMENT, "%s: coordinates are looked through up to %d, and there are %llu; an index i is "
                   "asked for by i..i", d->name, ZS_LABELS_MAX, (unsigned long long)d->size);
}

enum zs_status zs_select_value(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim, const char *text,
                               struct zs_selection *selection, struct zs_error *err)
{
    const struct dimension d = dimension_of(hierarchy, node, dim);
    uint64_t index = 0;
    if (d.variable == NULL) {
        ZS_TRY(choose_without_numbers(hierarchy, node, dim, &d, text, &index, err));
    } else {
        struct zs_label_source source;
        ZS_TRY(check_length(&d, err));
        ZS_TRY(label_source_read(hierarchy, d.variable, 0, d.size, &source, err));
        const enum zs_status status = choose_label(&d, &source, text, &index, err);
        label_source_clear(&source);
        if (status != ZS_OK)
            return status;
    }
    *selection = (struct zs_selection){ZS_SELECT_ONE, index, 1};
    return ZS_OK;
}

/* ---- Ranges ---- */

/* The first element of an increasing axis at an instant or after it; the size where there is none. */
static enum zs_status first_from(const struct dimension *d, const struct zs_label_source *s, struct zs_instant from,
                                 uint64_t *first, struct zs_error *err)
{
    struct zs_instant before = {INT64_MIN, 0}, at;
    *first = s->count;
    for (uint64_t i = 0; i < s->count; i++) {
        if (!label_instant(s, i, &at) || zs_instant_compare(at, before) < 0)
            return zs_fail(err, ZS_ARGUMENT,
                           "%s: its times are not in increasing order (element %llu): ask for a range of indices",
                           d->name, (unsigned long long)i);
        if (zs_instant_compare(at, from) >= 0 && *first == s->count)
            *first = i;
        before = at;
    }
    return ZS_OK;
}

/* The index of an end; of the last one, the index behind it. */
static enum zs_status find_end(const struct dimension *d, const struct zs_label_source *s, const char *text,
                               bool is_last, uint64_t *at, struct zs_error *err)
{
    struct zs_instant from, to;
    if (is_index_text(text)) {
        ZS_TRY(parse_index(d, text, at, err));
        *at += is_last;
        return ZS_OK;
    }
    if (!s->has_values || !s->is_time || !zs_time_span(s->unit.calendar, text, &from, &to))
        return zs_fail(err, ZS_ARGUMENT,
                       "%s: expected indices, times, first or last as the ends of a range, found %s", d->name, text);
    return first_from(d, s, is_last ? to : from, at, err);
}

static enum zs_status find_ends(const struct dimension *d, const struct zs_label_source *s, const char *from,
                                const char *to, struct zs_selection *selection, struct zs_error *err)
{
    uint64_t first = 0, end = d->size;
    if (from != NULL)
        ZS_TRY(find_end(d, s, from, false, &first, err));
    if (to != NULL)
        ZS_TRY(find_end(d, s, to, true, &end, err));
    if (first >= end)
        return zs_fail(err, ZS_ARGUMENT, "%s: no element is from %s to %s: the ends are reversed, or nothing lies "
                       "between them", d->name, from != NULL ? from : "first", to != NULL ? to : "last");
    *selection = (struct zs_selection){ZS_SELECT_RANGE, first, end - first};
    return ZS_OK;
}

enum zs_status zs_select_range(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim, const char *from,
                               const char *to, struct zs_selection *selection, struct zs_error *err)
{
    struct zs_label_source source = {0};
    const bool needs_times = (from != NULL && !is_index_text(from)) || (to != NULL && !is_index_text(to));
    struct dimension d = {.name = zs_dimension_name(node, dim), .size = node->array->shape[dim]};
    if (d.name == NULL)
        d.name = "";
    if (needs_times && ((from != NULL && is_index_text(from)) || (to != NULL && is_index_text(to))))
        return zs_fail(err, ZS_ARGUMENT, "%s: from %s to %s: a whole number is an index, a time has a month at least, "
                       "and a range has ends of one kind", d.name, from, to);
    if (needs_times) {
        d = dimension_of(hierarchy, node, dim);
        ZS_TRY(check_length(&d, err));
        if (d.variable != NULL)
            ZS_TRY(label_source_read(hierarchy, d.variable, 0, d.size, &source, err));
    }
    const enum zs_status status = find_ends(&d, &source, from, to, selection, err);
    if (needs_times && d.variable != NULL)
        label_source_clear(&source);
    return status;
}

/* ---- A coordinate variable of labels ---- */

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
static bool parse_element_number(const struct zs_dtype *dtype, const char *text, void *element)
{
    zs_json *holder = zs_json_new_array();
    const zs_json *json = CPLGetValueType(text) != CPL_VALUE_STRING ? zs_json_add_raw(holder, NULL, text) : NULL;
    const bool ok =
        zs_json_typeof(json) == ZS_JSON_NUMBER && zs_fill_value_parse(dtype, json, element, NULL, NULL) == ZS_OK;
    zs_json_free(holder);
    return ok;
}

/* Like parse_element_number(), and with a time unit for instants, too. */
static bool parse_element(const struct zs_dtype *dtype, const struct zs_time_unit *unit, const char *text,
                          void *element)
{
    int64_t count;
    double value;
    if (parse_element_number(dtype, text, element))
        return true;
    if (unit == NULL || !zs_time_count(unit, text, &count, &value))
        return false;
    char number[32];
    if (count != INT64_MIN)
        CPLsnprintf(number, sizeof number, "%lld", (long long)count);
    else
        CPLsnprintf(number, sizeof number, "%.17g", value);
    return parse_element_number(dtype, number, element);
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
        label_print(&source, i, text, sizeof text);
        status = zs_names_add(&list, zs_strdup(text), err);
    }
    *type = classic_type(&dtype, elements, count);
    free(elements);
    if (status == ZS_OK && *type == ZS_RAW)
        status = zs_fail(err, ZS_INVALID, "coordinates are beyond what a double holds");
    return zs_names_finish(&list, status, numbers, err);
}
