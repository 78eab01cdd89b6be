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

#include "base/memory.h"
#include "geo/bands.h"
#include "geo/cf_time.h"
#include "geo/variables.h"

/* Longest text of an element that is no text, with its end. */
#define LABEL_SIZE 64

/* What labels a stretch of a dimension: numbers or times of a coordinate variable, else texts. */
struct source {
    const char *name; /* of the dimension; "" where it has none */
    uint64_t count;
    const struct zs_node *variable; /* of numbers or times, whether or not its values can be had; or NULL */
    struct zs_coordinates read;     /* its values, or texts */
    bool has_numbers;               /* and not only what a store without its chunks looks like */
    bool is_time;
    struct zs_time_unit unit; /* where it is */
    bool are_names;           /* the texts are of channels, not of a variable */
};

/* ---- Values ---- */

/* An element of a type of whole numbers, as it is. */
static bool whole_at(const struct source *s, uint64_t index, zs_instant *whole)
{
    const struct zs_dtype *dtype = s->read.dtype;
    const void *element = s->read.elements + index * dtype->size;
    if (s->read.is_packed || (dtype->type >= ZS_FLOAT16 && dtype->type <= ZS_FLOAT64))
        return false;
    if (dtype->size < sizeof(uint64_t))
        *whole = (zs_instant)zs_dtype_to_double(dtype, element);
    else if (dtype->type == ZS_UINT64)
        *whole = zs_bits_load(dtype->size, element);
    else
        *whole = (int64_t)zs_bits_load(dtype->size, element);
    return true;
}

/* The instant of an element; false where it is missing, or none that has a text. */
static bool instant_at(const struct source *s, uint64_t index, zs_instant *instant)
{
    const double value = zs_coordinate_at(&s->read, index);
    zs_instant count;
    if (!s->is_time || isnan(value))
        return false;
    return whole_at(s, index, &count) ? zs_time_instant_int(&s->unit, count, instant)
                                      : zs_time_instant_double(&s->unit, value, instant);
}

/* The number of an element, of a time as its units count: a double in the shortest form that reads back the same, a
 * float32 in the shortest that is the same float32; "" where it is missing. */
static void print_number(const struct source *s, uint64_t index, char text[LABEL_SIZE])
{
    const enum zs_data_type type = s->read.dtype->type;
    const bool is_single = (type == ZS_FLOAT32 || type == ZS_FLOAT16) && !s->read.is_packed;
    const double value = zs_coordinate_at(&s->read, index);
    zs_instant whole;
    text[0] = '\0';
    if (isnan(value))
        return;
    if (!whole_at(s, index, &whole)) {
        double back = NAN;
        for (int digits = is_single ? 6 : 15; digits <= 17 && back != value; digits++) {
            CPLsnprintf(text, LABEL_SIZE, "%.*g", digits, value);
            back = is_single ? (double)(float)CPLAtof(text) : CPLAtof(text);
        }
    } else if (whole > INT64_MAX) {
        snprintf(text, LABEL_SIZE, "%llu", (unsigned long long)whole);
    } else {
        snprintf(text, LABEL_SIZE, "%lld", (long long)whole);
    }
}

/* The label of an element, in `buffer` where it is no text; "" where it is missing. */
static const char *label_of(const struct source *s, uint64_t index, char buffer[LABEL_SIZE])
{
    zs_instant at;
    if (s->read.texts != NULL)
        return s->read.texts[index];
    if (!instant_at(s, index, &at) || !zs_instant_print(s->unit.calendar, at, buffer, LABEL_SIZE))
        print_number(s, index, buffer);
    return buffer;
}

/* ---- Reading ---- */

/* A single element that is the fill value may be one that its writer left out because it is (xarray counts "days since"
 * the day of its only time step, which is then 0). It counts as none where it could not be a value: NaN, or a time of
 * the year 1970, where stores without chunks begin, and no real single time step lies. */
static bool is_single_value(const struct source *s)
{
    char buffer[LABEL_SIZE];
    const char *text = label_of(s, 0, buffer);
    return text[0] != '\0' && !(s->is_time && strncmp(text, "1970-01-01T00:00:00", 19) == 0);
}

/* Reads what labels elements [first, first + count) of a dimension. */
static enum zs_status read_source(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim, uint64_t first,
                                  uint64_t count, struct source *s, struct zs_error *err)
{
    const char *name = zs_dimension_name(node, dim);
    const size_t failures = zs_hierarchy_failures(hierarchy);
    const struct zs_node *c = zs_coordinate_variable(hierarchy, node, dim);
    *s = (struct source){.name = name != NULL ? name : "", .count = count};
    ZS_TRY(zs_hierarchy_check_since(hierarchy, failures, err));
    const enum zs_data_type type = c != NULL && c->array != NULL ? c->array->dtype.type : ZS_RAW;
    const bool has_numbers = type != ZS_RAW && type != ZS_COMPLEX64 && type != ZS_COMPLEX128;
    if (has_numbers || (c != NULL && c->is_text))
        ZS_TRY(zs_coordinates_read(hierarchy, c, &first, &count, &s->read, err));
    if (has_numbers) {
        s->variable = c;
        s->is_time = zs_time_unit_find(&c->array->dtype, c->attributes, &s->unit);
        /* A stretch of a longer axis may be all fill for good reasons: one look at the whole would cost too much. */
        s->has_numbers = s->read.elements != NULL && (!s->read.is_blank || (count == 1 && is_single_value(s)));
    } else if (s->read.texts == NULL) {
        ZS_TRY(zs_channel_names(hierarchy, node, dim, first, count, &s->read.texts, err));
        s->are_names = s->read.texts != NULL;
    }
    return ZS_OK;
}

/* ---- Labels ---- */

/* The unit of values that are no times. */
static enum zs_status find_unit(const struct source *s, struct zs_labels *labels, struct zs_error *err)
{
    const struct zs_dtype *dtype = s->read.dtype;
    const char *unit = zs_unit_attribute(s->variable->attributes);
    const bool is_length = dtype->type == ZS_TIMEDELTA64 && strcmp(dtype->unit, "generic") != 0;
    if (s->is_time || (unit == NULL && !is_length))
        return ZS_OK;
    if (unit != NULL || dtype->unit_scale == 1)
        labels->unit = zs_strdup(unit != NULL ? unit : dtype->unit);
    else
        labels->unit = zs_format("%lld %s", (long long)dtype->unit_scale, dtype->unit);
    return labels->unit != NULL ? ZS_OK : zs_fail_memory(err);
}

/* Finds whether numbers without a unit are indices: they count, or are the whole numbers of bands; and the narrowest
 * type of classic netCDF that holds them all, ZS_RAW where there is none, or one is missing. */
static void survey(const struct source *s, uint64_t first, struct zs_labels *labels)
{
    const double most_exact = 9007199254740992.0; /* 2^53 */
    const struct zs_dtype *dtype = s->read.dtype;
    const enum zs_data_type type = dtype->type;
    const double start = zs_dtype_to_double(dtype, s->read.elements) - (double)first;
    bool counts = start == 0 || start == 1, is_whole = true, is_int32 = true, is_exact = true, is_there = true;
    for (uint64_t i = 0; i < s->count; i++) {
        const double v = zs_dtype_to_double(dtype, s->read.elements + i * dtype->size);
        counts = counts && v == start + (double)(first + i);
        is_whole = is_whole && v == floor(v);
        is_int32 = is_int32 && v >= INT32_MIN && v <= INT32_MAX;
        is_exact = is_exact && v > -most_exact && v < most_exact;
        is_there = is_there && !isnan(zs_coordinate_at(&s->read, i));
    }
    labels->is_index = !s->is_time && !s->read.is_packed && labels->unit == NULL && type != ZS_BOOL &&
                       (counts || (is_whole && strcmp(s->name, "band") == 0));
    if (!is_there || s->read.is_packed || (type == ZS_DATETIME64 && zs_time_units(dtype, false) == NULL))
        labels->numbers_type = ZS_RAW;
    else if (type == ZS_INT8 || type == ZS_INT16 || type == ZS_INT32 || type == ZS_FLOAT32)
        labels->numbers_type = type;
    else if (type == ZS_FLOAT64 || type == ZS_FLOAT16)
        labels->numbers_type = ZS_FLOAT64;
    else
        labels->numbers_type = is_int32 ? ZS_INT32 : is_exact ? ZS_FLOAT64 : ZS_RAW;
}

/* Labels of numbers and times. */
static enum zs_status print_all(const struct source *s, uint64_t first, struct zs_labels *labels, struct zs_error *err)
{
    struct zs_names values = {0}, numbers = {0};
    enum zs_status status = find_unit(s, labels, err);
    char text[LABEL_SIZE];
    survey(s, first, labels);
    for (uint64_t i = 0; i < s->count && status == ZS_OK; i++) {
        status = zs_names_add(&values, zs_strdup(label_of(s, i, text)), err);
        print_number(s, i, text);
        if (status == ZS_OK && labels->numbers_type != ZS_RAW)
            status = zs_names_add(&numbers, zs_strdup(text), err);
    }
    labels->values = values.list;
    labels->numbers = numbers.list;
    return status;
}

/* Whether labels are the numbers of GDAL's bands, or there are none. */
static bool counts_bands(const struct source *s, uint64_t first, char *const *labels)
{
    char number[LABEL_SIZE];
    bool counts = strcmp(s->name, "band") == 0;
    for (uint64_t i = 0; i < s->count && labels != NULL && counts; i++) {
        snprintf(number, sizeof number, "%llu", (unsigned long long)(first + i + 1));
        counts = strcmp(labels[i], number) == 0;
    }
    return counts;
}

enum zs_status zs_labels_read(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim, uint64_t first,
                              uint64_t count, struct zs_labels *labels, struct zs_error *err)
{
    struct source s;
    memset(labels, 0, sizeof *labels);
    ZS_TRY(read_source(hierarchy, node, dim, first, count, &s, err));
    enum zs_status status = ZS_OK;
    labels->are_names = s.are_names;
    labels->values = s.read.texts;
    s.read.texts = NULL;
    if (s.has_numbers)
        status = print_all(&s, first, labels, err);
    labels->is_count = status == ZS_OK && counts_bands(&s, first, labels->values);
    zs_coordinates_clear(&s.read);
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

/* The type of a coordinate variable as an item, where one would take its labels for another: datetime64 as CF counts
 * it. */
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
    const struct zs_node *c = zs_coordinate_find(hierarchy, node, dim);
    struct zs_names list = {0};
    enum zs_status status = ZS_OK;
    *items = NULL;
    if (c == NULL)
        return ZS_OK;
    const bool is_instant = c->array->dtype.type == ZS_DATETIME64;
    for (const zs_json *a = zs_json_first(c->attributes); a != NULL && status == ZS_OK; a = zs_json_next(a)) {
        const char *name = zs_json_name(a);
        const bool is_unit = strcmp(name, "units") == 0 || strcmp(name, "calendar") == 0;
        if (zs_json_typeof(a) == ZS_JSON_STRING && zs_is_item_name(name) && name[0] != '_' && !(is_instant && is_unit))
            status = zs_names_add(&list, zs_metadata_item(name, a), err);
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

/* The wanted values, to compare with each element. */
struct wanted {
    const char *text;
    double number, tolerance; /* of numbers, relative */
    zs_instant from, to;      /* of times: from the one up to but without the other */
};

static bool is_wanted(const struct source *s, uint64_t index, const struct wanted *w)
{
    zs_instant at;
    if (s->read.texts != NULL)
        return strcmp(s->read.texts[index], w->text) == 0;
    if (s->is_time)
        return instant_at(s, index, &at) && at >= w->from && at < w->to;
    /* NaN of a missing one is near nothing */
    return fabs(zs_coordinate_at(&s->read, index) - w->number) <= w->tolerance * fabs(w->number);
}

/* Elements that are as wanted. */
struct found {
    uint64_t count, first, second, last;
};

static struct found find(const struct source *s, const struct wanted *w)
{
    struct found f = {0};
    for (uint64_t i = 0; i < s->count; i++)
        if (is_wanted(s, i, w)) {
            f.first = f.count == 0 ? i : f.first;
            f.second = f.count == 1 ? i : f.second;
            f.last = i;
            f.count++;
        }
    return f;
}

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

/* Half a step between two numbers of the type: a wanted number is seldom one of them exactly. */
static double tolerance_of(const struct source *s)
{
    const enum zs_data_type type = s->read.dtype->type;
    if (s->read.is_packed)
        return 1e-12; /* unpacked values were rounded twice */
    return type == ZS_FLOAT16 ? 0x1p-11 : type == ZS_FLOAT32 ? 0x1p-24 : type == ZS_FLOAT64 ? 4 * DBL_EPSILON : 0;
}

/* Of booleans "true" and "false" are numbers, too. */
static bool parse_number(const struct source *s, const char *text, double *number)
{
    char *end;
    const bool is_true = strcmp(text, "true") == 0;
    if (s->read.dtype->type == ZS_BOOL && (is_true || strcmp(text, "false") == 0)) {
        *number = is_true;
        return true;
    }
    *number = CPLStrtod(text, &end);
    return end != text && *end == '\0' && isfinite(*number);
}

/* The only element that is as wanted. */
static enum zs_status find_one(const struct source *s, const char *text, uint64_t *index, struct zs_error *err)
{
    struct wanted w = {.text = text};
    char a[LABEL_SIZE], b[LABEL_SIZE];
    if (s->read.texts == NULL && s->is_time && !zs_time_span(s->unit.calendar, text, &w.from, &w.to))
        return zs_fail(err, ZS_ARGUMENT,
                       "%s: expected a time, such as 2026-05-01 or 2026-05-01T06:00, first, last, or a range, found %s",
                       s->name, text);
    if (s->read.texts == NULL && !s->is_time && !parse_number(s, text, &w.number))
        return zs_fail(err, ZS_ARGUMENT, "%s: expected a number, first, last, or a range, found %s", s->name, text);
    w.tolerance = s->read.texts == NULL ? tolerance_of(s) : 0;
    const struct found f = find(s, &w);
    *index = f.first;
    if (f.count > 1)
        return zs_fail(err, ZS_ARGUMENT, "%s: %llu elements are %s, the first are element %llu (%s) and %llu (%s)",
                       s->name, (unsigned long long)f.count, text, (unsigned long long)f.first,
                       label_of(s, f.first, a), (unsigned long long)f.second, label_of(s, f.second, b));
    if (f.count == 0)
        return zs_fail(err, ZS_ARGUMENT, "%s: no element is %s; the first is %s, the last %s", s->name, text,
                       label_of(s, 0, a), label_of(s, s->count - 1, b));
    return ZS_OK;
}

static enum zs_status choose(const struct source *s, const char *text, uint64_t *index, struct zs_error *err)
{
    const bool may_be_index = is_index_text(text) && (s->are_names || (s->read.texts == NULL && s->variable == NULL));
    if (s->has_numbers || s->read.texts != NULL) {
        const enum zs_status status = find_one(s, text, index, err);
        return status != ZS_OK && may_be_index ? parse_index(s, text, index, err) : status;
    }
    if (may_be_index)
        return parse_index(s, text, index, err);
    const char *reason = s->variable != NULL
                             ? "its coordinates cannot be read, or are too many; an index i is asked for by i..i"
                             : "it has no coordinates that can be read: expected an index, first, last, or a range";
    return zs_fail(err, ZS_ARGUMENT, "%s: %s, found %s", s->name, reason, text);
}

/* ---- Ranges, whose ends are the first or the last element where they are NULL; *end is behind the last ---- */

static enum zs_status find_indices(const struct source *s, const char *from, const char *to, uint64_t *first,
                                   uint64_t *end, struct zs_error *err)
{
    if (from != NULL)
        ZS_TRY(parse_index(s, from, first, err));
    if (to != NULL)
        ZS_TRY(parse_index(s, to, end, err));
    *end += to != NULL;
    return ZS_OK;
}

/* The elements between two times. They must be all of a stretch, which times in increasing order are. */
static enum zs_status find_times(const struct source *s, const char *from, const char *to, uint64_t *first,
                                 uint64_t *end, struct zs_error *err)
{
    const zs_instant most = (zs_instant)INT64_MAX << 32;
    struct wanted w = {.from = -most, .to = most};
    zs_instant ignored;
    const bool is_from = s->has_numbers && s->is_time &&
                         (from == NULL || zs_time_span(s->unit.calendar, from, &w.from, &ignored));
    if (!is_from || (to != NULL && !zs_time_span(s->unit.calendar, to, &ignored, &w.to)))
        return zs_fail(err, ZS_ARGUMENT, "%s: expected indices, times, first or last as the ends of a range, found %s",
                       s->name, is_from || from == NULL ? to : from);
    const struct found f = find(s, &w);
    *first = f.first;
    *end = f.count > 0 ? f.last + 1 : 0;
    if (f.count > 0 && (f.count != *end - *first || (from == NULL && *first != 0) || (to == NULL && *end != s->count)))
        return zs_fail(err, ZS_ARGUMENT,
                       "%s: the elements from %s to %s are not those of the times between: ask for a range of indices",
                       s->name, from != NULL ? from : "first", to != NULL ? to : "last");
    return ZS_OK;
}

enum zs_status zs_select(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim, const char *from,
                         const char *to, bool is_range, struct zs_selection *selection, struct zs_error *err)
{
    const bool has_index = (from != NULL && is_index_text(from)) || (to != NULL && is_index_text(to));
    const bool has_time = (from != NULL && !is_index_text(from)) || (to != NULL && !is_index_text(to));
    const char *name = zs_dimension_name(node, dim);
    struct source s = {.name = name != NULL ? name : "", .count = node->array->shape[dim]};
    uint64_t first = 0, end = s.count;
    enum zs_status status = ZS_OK;
    if (is_range && has_index && has_time)
        return zs_fail(err, ZS_ARGUMENT, "%s: from %s to %s: a whole number is an index, a time has a month at least, "
                       "and a range has ends of one kind", s.name, from, to);
    if (!is_range || has_time)
        ZS_TRY(read_source(hierarchy, node, dim, 0, s.count, &s, err));
    if (!is_range)
        status = choose(&s, from, &first, err);
    else if (has_time)
        status = find_times(&s, from, to, &first, &end, err);
    else
        status = find_indices(&s, from, to, &first, &end, err);
    zs_coordinates_clear(&s.read);
    if (status == ZS_OK && is_range && first >= end)
        status = zs_fail(err, ZS_ARGUMENT, "%s: no element is from %s to %s: the ends are reversed, or nothing lies "
                         "between them", s.name, from != NULL ? from : "first", to != NULL ? to : "last");
    const struct zs_selection range = {ZS_SELECT_RANGE, first, end - first}, one = {ZS_SELECT_ONE, first, 1};
    if (status == ZS_OK)
        *selection = is_range ? range : one;
    return status;
}

/* ---- A coordinate variable of labels ---- */

/* An attribute of a list, by its exact name; NULL where there is none. GDAL's functions on lists ignore case. */
static const char *attribute_of(char *const *attributes, const char *name)
{
    const size_t n = strlen(name);
    for (; attributes != NULL && *attributes != NULL; attributes++)
        if (strncmp(*attributes, name, n) == 0 && (*attributes)[n] == '=')
            return *attributes + n + 1;
    return NULL;
}

/* The type that an item names, of real numbers; false where there is none. */
static bool declared_type(const char *name, struct zs_dtype *dtype)
{
    for (int type = ZS_INT8; name != NULL && type <= ZS_FLOAT64; type++) {
        *dtype = zs_dtype_of((enum zs_data_type)type);
        if (strcmp(dtype->name, name) == 0)
            return type != ZS_FLOAT16;
    }
    return false;
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
    bool ok = true;
    for (size_t i = 0; i < count && ok; i++, elements += dtype->size)
        ok = parse_element(dtype, texts[i], elements) ||
             (unit != NULL && zs_time_number(unit, texts[i], number, sizeof number) &&
              parse_element(dtype, number, elements));
    return ok;
}

enum zs_status zs_extra_axis_parse(const char *const *texts, size_t count, char *const *attributes,
                                   enum zs_data_type *type, void **elements, struct zs_error *err)
{
    struct zs_time_unit unit;
    struct zs_dtype tried[3];
    const bool is_time =
        zs_cf_time_parse(attribute_of(attributes, "units"), attribute_of(attributes, "calendar"), &unit);
    if (attribute_of(attributes, "scale_factor") != NULL || attribute_of(attributes, "add_offset") != NULL)
        return zs_fail(err, ZS_INVALID, "coordinates are packed, and may be given as packed");
    size_t n = declared_type(attribute_of(attributes, ZS_AXIS_TYPE), &tried[0]);
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
