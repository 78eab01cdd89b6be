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

/* Longest text of an element that is no text, with its end. */
#define ZS_LABEL_SIZE 64

/* What labels a stretch of a dimension: numbers or times of a coordinate variable, else texts. */
struct source {
    const char *name; /* of the dimension; "" where it has none */
    uint64_t count;
    const struct zs_node *variable;  /* of numbers or times, whether or not its values can be had; or NULL */
    struct zs_coordinates numbers;   /* of that */
    bool has_values;                 /* and not only what a store without its chunks looks like */
    bool is_time;
    struct zs_time_unit unit; /* where it is */
    char **texts;             /* owned, `count` of them; or NULL */
    bool are_names;           /* the texts are of channels, not of a variable */
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

static const void *element_at(const struct source *s, uint64_t index)
{
    return s->numbers.elements + index * s->numbers.dtype->size;
}

static bool is_duration_or_date(const struct source *s)
{
    return s->numbers.dtype->type == ZS_DATETIME64 || s->numbers.dtype->type == ZS_TIMEDELTA64;
}

/* Whether an element is a whole number of at most 64 bits with a sign, as it is. */
static bool is_signed(const struct source *s)
{
    const enum zs_data_type type = s->numbers.dtype->type;
    return !s->numbers.is_packed && (is_duration_or_date(s) || (type >= ZS_INT8 && type <= ZS_INT64));
}

/* Missing: _FillValue, or NaT. */
static bool is_missing(const struct source *s, const void *element)
{
    const struct zs_coordinates *n = &s->numbers;
    return (n->has_missing && memcmp(element, n->missing, n->dtype->size) == 0) ||
           (is_duration_or_date(s) && read_signed(n->dtype, element) == INT64_MIN);
}

static bool instant_at(const struct source *s, uint64_t index, struct zs_instant *instant)
{
    const void *e = element_at(s, index);
    if (!s->is_time || is_missing(s, e))
        return false;
    return is_signed(s) ? zs_time_instant_int(&s->unit, read_signed(s->numbers.dtype, e), instant)
                        : zs_time_instant_double(&s->unit, zs_coordinate_at(&s->numbers, index), instant);
}

/* The number of an element, of a time as its units count. */
static void print_count(const struct source *s, uint64_t index, char *out, size_t capacity)
{
    const enum zs_data_type type = s->numbers.dtype->type;
    const void *e = element_at(s, index);
    uint64_t bits;
    out[0] = '\0';
    if (is_missing(s, e))
        return;
    if (type == ZS_BOOL) {
        snprintf(out, capacity, "%s", zs_dtype_to_double(s->numbers.dtype, e) != 0 ? "true" : "false");
    } else if (is_signed(s)) {
        snprintf(out, capacity, "%lld", (long long)read_signed(s->numbers.dtype, e));
    } else if (type == ZS_UINT64 && !s->numbers.is_packed) {
        memcpy(&bits, e, sizeof bits);
        snprintf(out, capacity, "%llu", (unsigned long long)bits);
    } else {
        const bool is_single = (type == ZS_FLOAT32 || type == ZS_FLOAT16) && !s->numbers.is_packed;
        print_number(zs_coordinate_at(&s->numbers, index), is_single, out, capacity);
    }
}

/* The label of an element, in `buffer` where it is no text; "" where it is missing. */
static const char *label_of(const struct source *s, uint64_t index, char buffer[ZS_LABEL_SIZE])
{
    struct zs_instant at;
    if (s->texts != NULL)
        return s->texts[index];
    if (!instant_at(s, index, &at) || !zs_instant_print(s->unit.calendar, at, buffer, ZS_LABEL_SIZE))
        print_count(s, index, buffer, ZS_LABEL_SIZE);
    return buffer;
}

/* A single element that is the fill value may be one that its writer left out because it is (xarray counts "days since"
 * the day of its only time step, which is then 0). It counts as none where it could not be a value: NaN, or a time of
 * the year 1970, where stores without chunks begin, and no real single time step lies. */
static bool is_single_value(const struct source *s)
{
    char buffer[ZS_LABEL_SIZE];
    const char *text = label_of(s, 0, buffer);
    return text[0] != '\0' && !(s->is_time && strncmp(text, "1970-01-01T00:00:00", 19) == 0);
}

static bool has_labels(const struct zs_node *coordinate)
{
    const enum zs_data_type type = coordinate->array->dtype.type;
    return type != ZS_RAW && type != ZS_COMPLEX64 && type != ZS_COMPLEX128;
}

static enum zs_status read_numbers(struct zs_hierarchy *hierarchy, uint64_t first, struct source *s,
                                   struct zs_error *err)
{
    const struct zs_node *c = s->variable;
    const enum zs_data_type type = c->array->dtype.type;
    ZS_TRY(zs_coordinates_read(hierarchy, c, &first, &s->count, &s->numbers, err));
    if (type == ZS_DATETIME64)
        s->is_time = zs_datetime_unit(c->array->dtype.unit, c->array->dtype.unit_scale, &s->unit);
    else if (type != ZS_TIMEDELTA64 && type != ZS_BOOL)
        s->is_time = zs_cf_time_parse(zs_json_text(c->attributes, "units", NULL),
                                      zs_json_text(c->attributes, "calendar", NULL), &s->unit);
    /* A stretch of a longer axis may be all fill for good reasons: one look at the whole would cost too much. */
    s->has_values = s->numbers.elements != NULL && (!s->numbers.is_blank || (s->count == 1 && is_single_value(s)));
    return ZS_OK;
}

/* Reads what labels elements [first, first + count) of a dimension; nothing of more than ZS_LABELS_MAX. */
static enum zs_status read_source(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim, uint64_t first,
                                  uint64_t count, struct source *s, struct zs_error *err)
{
    const char *name = zs_dimension_name(node, dim);
    const struct zs_node *c = zs_coordinate_find(hierarchy, node, dim);
    *s = (struct source){.name = name != NULL ? name : "", .count = count};
    if (c != NULL && has_labels(c))
        s->variable = c;
    if (count == 0 || count > ZS_LABELS_MAX)
        return ZS_OK;
    if (s->variable != NULL)
        return read_numbers(hierarchy, first, s, err);
    ZS_TRY(zs_coordinate_texts(hierarchy, node, dim, first, count, &s->texts, err));
    if (s->texts != NULL)
        return ZS_OK;
    ZS_TRY(zs_channel_names(hierarchy, node, dim, first, count, &s->texts, err));
    s->are_names = s->texts != NULL;
    return ZS_OK;
}

static void clear_source(struct source *s)
{
    zs_coordinates_clear(&s->numbers);
    if (s->texts != NULL)
        zs_strings_free(s->texts, (size_t)s->count);
}

/* ---- Labels ---- */

static enum zs_status print_all(const struct source *s, char ***values, struct zs_error *err)
{
    struct zs_names list = {0};
    enum zs_status status = ZS_OK;
    char buffer[ZS_LABEL_SIZE];
    for (uint64_t i = 0; i < s->count && status == ZS_OK; i++)
        status = zs_names_add(&list, zs_strdup(label_of(s, i, buffer)), err);
    return zs_names_finish(&list, status, values, err);
}

/* Whether whole numbers without a unit are indices: they count, or are the numbers of bands. */
static bool is_index(const struct source *s, uint64_t first)
{
    const struct zs_dtype *dtype = s->numbers.dtype;
    const double start = zs_dtype_to_double(dtype, s->numbers.elements) - (double)first;
    bool counts = start == 0 || start == 1, is_whole = true;
    for (uint64_t i = 0; i < s->count; i++) {
        const double v = zs_dtype_to_double(dtype, element_at(s, i));
        counts = counts && v == start + (double)(first + i);
        is_whole = is_whole && v == floor(v);
    }
    return counts || (strcmp(s->name, "band") == 0 && is_whole);
}

/* The unit of values that are no times; NULL where there is none. */
static char *unit_of(const struct source *s, const char *declared)
{
    const struct zs_dtype *dtype = s->numbers.dtype;
    if (declared != NULL)
        return zs_strdup(declared);
    if (dtype->type != ZS_TIMEDELTA64 || dtype->unit[0] == '\0' || strcmp(dtype->unit, "generic") == 0)
        return NULL;
    return dtype->unit_scale == 1 ? zs_strdup(dtype->unit)
                                  : zs_format("%lld %s", (long long)dtype->unit_scale, dtype->unit);
}

/* The narrowest type of classic netCDF that holds all numbers; ZS_RAW where there is none. */
static enum zs_data_type classic_type(const struct source *s)
{
    const double most_exact = 9007199254740992.0; /* 2^53 */
    const struct zs_dtype *dtype = s->numbers.dtype;
    bool is_int32 = true, is_exact = true;
    if (dtype->type == ZS_INT8 || dtype->type == ZS_INT16 || dtype->type == ZS_INT32 || dtype->type == ZS_FLOAT32)
        return dtype->type;
    if (dtype->type == ZS_FLOAT64 || dtype->type == ZS_FLOAT16)
        return ZS_FLOAT64;
    for (uint64_t i = 0; i < s->count; i++) {
        const double v = zs_dtype_to_double(dtype, element_at(s, i));
        is_int32 = is_int32 && v >= INT32_MIN && v <= INT32_MAX;
        is_exact = is_exact && v > -most_exact && v < most_exact;
    }
    return is_int32 ? ZS_INT32 : is_exact ? ZS_FLOAT64 : ZS_RAW;
}

/* The numbers of all elements, where none is missing and a type of classic netCDF holds them. */
static enum zs_status print_numbers(const struct source *s, struct zs_labels *labels, struct zs_error *err)
{
    const struct zs_dtype *dtype = s->numbers.dtype;
    struct zs_names list = {0};
    enum zs_status status = ZS_OK;
    char text[ZS_LABEL_SIZE];
    if (s->numbers.is_packed || dtype->type == ZS_BOOL ||
        (dtype->type == ZS_DATETIME64 && zs_time_units(dtype, false) == NULL))
        return ZS_OK;
    labels->numbers_type = classic_type(s);
    for (uint64_t i = 0; i < s->count && status == ZS_OK && labels->numbers_type != ZS_RAW; i++) {
        print_count(s, i, text, sizeof text);
        if (text[0] == '\0')
            labels->numbers_type = ZS_RAW;
        else
            status = zs_names_add(&list, zs_strdup(text), err);
    }
    if (labels->numbers_type != ZS_RAW)
        return zs_names_finish(&list, status, &labels->numbers, err);
    zs_names_free(list.list);
    return status;
}

enum zs_status zs_labels_read(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim, uint64_t first,
                              uint64_t count, struct zs_labels *labels, struct zs_error *err)
{
    struct source s;
    memset(labels, 0, sizeof *labels);
    if (node->array == NULL || dim < 0 || dim >= node->array->ndim || first > node->array->shape[dim] ||
        count > node->array->shape[dim] - first)
        return zs_fail(err, ZS_ARGUMENT, "%s: no elements %llu and on of dimension %d", node->path,
                       (unsigned long long)first, dim);
    ZS_TRY(read_source(hierarchy, node, dim, first, count, &s, err));
    enum zs_status status = ZS_OK;
    labels->are_names = s.are_names;
    if (s.has_values || s.texts != NULL)
        status = print_all(&s, &labels->values, err);
    labels->count = labels->values != NULL ? (size_t)count : 0;
    if (s.has_values && status == ZS_OK) {
        const enum zs_data_type type = s.numbers.dtype->type;
        const char *unit = zs_unit_attribute(s.variable->attributes);
        labels->is_index = !s.is_time && type != ZS_TIMEDELTA64 && type != ZS_BOOL && unit == NULL &&
                           !s.numbers.is_packed && is_index(&s, first);
        if (!s.is_time)
            labels->unit = unit_of(&s, unit);
        status = print_numbers(&s, labels, err);
    }
    clear_source(&s);
    if (status != ZS_OK)
        zs_labels_clear(labels);
    return status;
}

void zs_labels_clear(struct zs_labels *labels)
{
    zs_names_free(labels->values);
    zs_names_free(labels->numbers);
    free(labels->unit);
    memset(labels, 0, sizeof *labels);
}

static enum zs_status add_type(const struct zs_node *coordinate, struct zs_names *items, struct zs_error *err)
{
    const struct zs_dtype *dtype = &coordinate->array->dtype;
    const bool is_packed = zs_json_get(coordinate->attributes, "scale_factor") != NULL ||
                           zs_json_get(coordinate->attributes, "add_offset") != NULL;
    const char *units = dtype->type == ZS_DATETIME64 ? zs_time_units(dtype, true) : NULL;
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

/* ---- Selections ---- */

static bool is_index_text(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

static enum zs_status parse_index(const struct source *s, const char *text, uint64_t *index, struct zs_error *err)
{
    errno = 0;
    *index = strtoull(text, NULL, 10);
    if (errno == ERANGE || *index >= s->count)
        return zs_fail(err, ZS_ARGUMENT, "%s: index %s is out of range: there are %llu elements, counted from 0",
                       s->name, text, (unsigned long long)s->count);
    return ZS_OK;
}

/* The wanted value, to compare with each element. */
struct wanted {
    const char *text;
    double number, tolerance; /* of numbers, relative */
    struct zs_instant from, to;
};

/* Half a step between two numbers of the type: a wanted number is seldom one of them exactly. */
static double tolerance_of(const struct source *s)
{
    const enum zs_data_type type = s->numbers.dtype->type;
    if (s->numbers.is_packed)
        return 1e-12; /* unpacked values were rounded twice */
    return type == ZS_FLOAT16 ? 0x1p-11 : type == ZS_FLOAT32 ? 0x1p-24 : type == ZS_FLOAT64 ? 4 * DBL_EPSILON : 0;
}

static bool parse_number(const char *text, double *number)
{
    char *end;
    *number = CPLStrtod(text, &end);
    return end != text && *end == '\0' && isfinite(*number);
}

static enum zs_status parse_wanted(const struct source *s, const char *text, struct wanted *w, struct zs_error *err)
{
    *w = (struct wanted){.text = text};
    if (s->texts != NULL)
        return ZS_OK;
    w->tolerance = tolerance_of(s);
    if (s->is_time && !zs_time_span(s->unit.calendar, text, &w->from, &w->to))
        return zs_fail(err, ZS_ARGUMENT,
                       "%s: expected a time, such as 2026-05-01 or 2026-05-01T06:00, first, last, or a range, found %s",
                       s->name, text);
    if (s->numbers.dtype->type == ZS_BOOL && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0))
        w->number = text[0] == 't';
    else if (!s->is_time && !parse_number(text, &w->number))
        return zs_fail(err, ZS_ARGUMENT, "%s: expected a number, first, last, or a range, found %s", s->name, text);
    return ZS_OK;
}

/* Whether an element is as wanted; a missing one is not. */
static bool is_wanted(const struct source *s, uint64_t index, const struct wanted *w)
{
    struct zs_instant at;
    if (s->texts != NULL)
        return strcmp(s->texts[index], w->text) == 0;
    if (s->is_time)
        return instant_at(s, index, &at) && zs_instant_compare(at, w->from) >= 0 && zs_instant_compare(at, w->to) < 0;
    return !is_missing(s, element_at(s, index)) &&
           fabs(zs_coordinate_at(&s->numbers, index) - w->number) <= w->tolerance * fabs(w->number);
}

/* The only element that is as wanted. */
static enum zs_status find_element(const struct source *s, const struct wanted *w, uint64_t *index,
                                   struct zs_error *err)
{
    uint64_t count = 0, second = 0;
    char a[ZS_LABEL_SIZE], b[ZS_LABEL_SIZE];
    for (uint64_t i = 0; i < s->count; i++)
        if (is_wanted(s, i, w) && count++ < 2)
            *(count == 1 ? index : &second) = i;
    if (count > 1)
        return zs_fail(err, ZS_ARGUMENT, "%s: %llu elements are %s, the first are element %llu (%s) and %llu (%s)",
                       s->name, (unsigned long long)count, w->text, (unsigned long long)*index,
                       label_of(s, *index, a), (unsigned long long)second, label_of(s, second, b));
    if (count == 0)
        return zs_fail(err, ZS_ARGUMENT, "%s: no element is %s; the first is %s, the last %s", s->name, w->text,
                       label_of(s, 0, a), label_of(s, s->count - 1, b));
    return ZS_OK;
}

static enum zs_status choose(const struct source *s, const char *text, uint64_t *index, struct zs_error *err)
{
    struct wanted w;
    const bool may_be_index = is_index_text(text) && (s->are_names || (s->texts == NULL && s->variable == NULL));
    if (s->has_values || s->texts != NULL) {
        ZS_TRY(parse_wanted(s, text, &w, err));
        const enum zs_status status = find_element(s, &w, index, err);
        return status != ZS_OK && may_be_index ? parse_index(s, text, index, err) : status;
    }
    if (may_be_index)
        return parse_index(s, text, index, err);
    if (s->variable != NULL)
        return zs_fail(err, ZS_ARGUMENT,
                       "%s: its coordinates cannot be read, or are more than %d; an index i is asked for by i..i",
                       s->name, ZS_LABELS_MAX);
    return zs_fail(err, ZS_ARGUMENT,
                   "%s has no coordinates that can be read: expected an index, first, last, or a range, found %s",
                   s->name, text);
}

enum zs_status zs_select_value(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim, const char *text,
                               struct zs_selection *selection, struct zs_error *err)
{
    struct source s;
    uint64_t index = 0;
    ZS_TRY(read_source(hierarchy, node, dim, 0, node->array->shape[dim], &s, err));
    const enum zs_status status = choose(&s, text, &index, err);
    clear_source(&s);
    if (status == ZS_OK)
        *selection = (struct zs_selection){ZS_SELECT_ONE, index, 1};
    return status;
}

/* ---- Ranges ---- */

/* The first element of an increasing axis at an instant or after it; the size where there is none. */
static enum zs_status first_from(const struct source *s, struct zs_instant from, uint64_t *first, struct zs_error *err)
{
    struct zs_instant before = {INT64_MIN, 0}, at;
    *first = s->count;
    for (uint64_t i = 0; i < s->count; i++) {
        if (!instant_at(s, i, &at) || zs_instant_compare(at, before) < 0)
            return zs_fail(err, ZS_ARGUMENT,
                           "%s: its times are not in increasing order (element %llu): ask for a range of indices",
                           s->name, (unsigned long long)i);
        if (zs_instant_compare(at, from) >= 0 && *first == s->count)
            *first = i;
        before = at;
    }
    return ZS_OK;
}

/* The index of an end; of the last one, the index behind it. */
static enum zs_status find_end(const struct source *s, const char *text, bool is_last, uint64_t *at,
                               struct zs_error *err)
{
    struct zs_instant from, to;
    if (is_index_text(text)) {
        ZS_TRY(parse_index(s, text, at, err));
        *at += is_last;
        return ZS_OK;
    }
    if (!s->has_values || !s->is_time || !zs_time_span(s->unit.calendar, text, &from, &to))
        return zs_fail(err, ZS_ARGUMENT,
                       "%s: expected indices, times, first or last as the ends of a range, found %s", s->name, text);
    return first_from(s, is_last ? to : from, at, err);
}

static enum zs_status find_ends(const struct source *s, const char *from, const char *to,
                                struct zs_selection *selection, struct zs_error *err)
{
    uint64_t first = 0, end = s->count;
    if (from != NULL)
        ZS_TRY(find_end(s, from, false, &first, err));
    if (to != NULL)
        ZS_TRY(find_end(s, to, true, &end, err));
    if (first >= end)
        return zs_fail(err, ZS_ARGUMENT, "%s: no element is from %s to %s: the ends are reversed, or nothing lies "
                       "between them", s->name, from != NULL ? from : "first", to != NULL ? to : "last");
    *selection = (struct zs_selection){ZS_SELECT_RANGE, first, end - first};
    return ZS_OK;
}

enum zs_status zs_select_range(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim, const char *from,
                               const char *to, struct zs_selection *selection, struct zs_error *err)
{
    const bool has_index = (from != NULL && is_index_text(from)) || (to != NULL && is_index_text(to));
    const bool has_time = (from != NULL && !is_index_text(from)) || (to != NULL && !is_index_text(to));
    const char *name = zs_dimension_name(node, dim);
    struct source s = {.name = name != NULL ? name : "", .count = node->array->shape[dim]};
    if (has_index && has_time)
        return zs_fail(err, ZS_ARGUMENT, "%s: from %s to %s: a whole number is an index, a time has a month at least, "
                       "and a range has ends of one kind", s.name, from, to);
    if (has_time)
        ZS_TRY(read_source(hierarchy, node, dim, 0, s.count, &s, err));
    const enum zs_status status = find_ends(&s, from, to, selection, err);
    clear_source(&s);
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
static bool parse_element(const struct zs_dtype *dtype, const char *text, void *element)
{
    zs_json *holder = zs_json_new_array();
    const zs_json *json = CPLGetValueType(text) != CPL_VALUE_STRING ? zs_json_add_raw(holder, NULL, text) : NULL;
    const bool ok =
        zs_json_typeof(json) == ZS_JSON_NUMBER && zs_fill_value_parse(dtype, json, element, NULL, NULL) == ZS_OK;
    zs_json_free(holder);
    return ok;
}

/* Elements of the type from all texts, which with a time unit may be instants, too. */
static bool parse_all(const struct zs_dtype *dtype, const struct zs_time_unit *unit, const char *const *texts,
                      size_t count, unsigned char *elements)
{
    char number[32];
    for (size_t i = 0; i < count; i++) {
        unsigned char *element = elements + i * dtype->size;
        if (!parse_element(dtype, texts[i], element) &&
            (unit == NULL || !zs_time_number(unit, texts[i], number, sizeof number) ||
             !parse_element(dtype, number, element)))
            return false;
    }
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
