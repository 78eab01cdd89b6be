#include "geo/axes.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cpl_conv.h>

#include "array/strings.h"
#include "geo/coordinates.h"
#include "geo/labels.h"

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
                              c != NULL && zs_has_labels(c) ? c : NULL};
}

/* ---- Indices ---- */

static bool is_index(const char *text)
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
    if (s->properties.has_scale || s->properties.has_offset)
        return 1e-12; /* unpacked values were rounded twice */
    return type == ZS_FLOAT16 ? 0x1p-11 : type == ZS_FLOAT32 ? 0x1p-24 : type == ZS_FLOAT64 ? 4 * DBL_EPSILON : 0;
}

/* Distance of the element at `index` from the wanted value; false for a missing element. */
static bool distance_to(const struct zs_label_source *s, uint64_t index, const struct wanted *w, double *distance,
                        bool *is_match)
{
    struct zs_instant at;
    if (!s->is_time) {
        *distance = fabs(zs_label_number(s, index) - w->number);
        *is_match = *distance <= w->tolerance * fabs(w->number);
        return !isnan(*distance);
    }
    if (!zs_label_instant(s, index, &at))
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
        zs_label_print(s, i, text, sizeof text);
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
        zs_label_print(s, f->at[i], text[i], sizeof text[i]);
    if (f->count > 0)
        return zs_fail(err, ZS_ARGUMENT, "%s: %llu elements are %s: %s, %s%s%s; elements %llu, %llu%s", d->name,
                       (unsigned long long)f->count, w->text, text[0], text[1], f->count > 2 ? ", " : "", text[2],
                       (unsigned long long)f->at[0], (unsigned long long)f->at[1], f->count > 2 ? " ..." : "");
    int n = 0;
    for (; n < 2 && isfinite(f->distance[n]); n++)
        zs_label_print(s, f->near[n], text[n], sizeof text[n]);
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
        if (status == ZS_OK || is_variable || !is_index(text))
            return status;
    }
    if (!is_index(text))
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
        ZS_TRY(zs_label_source_read(hierarchy, d.variable, 0, d.size, &source, err));
        const enum zs_status status = choose_label(&d, &source, text, &index, err);
        zs_label_source_clear(&source);
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
        if (!zs_label_instant(s, i, &at) || zs_instant_compare(at, before) < 0)
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
    if (is_index(text)) {
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
    const bool needs_times = (from != NULL && !is_index(from)) || (to != NULL && !is_index(to));
    struct dimension d = {.name = zs_dimension_name(node, dim), .size = node->array->shape[dim]};
    if (d.name == NULL)
        d.name = "";
    if (needs_times && ((from != NULL && is_index(from)) || (to != NULL && is_index(to))))
        return zs_fail(err, ZS_ARGUMENT, "%s: from %s to %s: a whole number is an index, a time has a month at least, "
                       "and a range has ends of one kind", d.name, from, to);
    if (needs_times) {
        d = dimension_of(hierarchy, node, dim);
        ZS_TRY(check_length(&d, err));
        if (d.variable != NULL)
            ZS_TRY(zs_label_source_read(hierarchy, d.variable, 0, d.size, &source, err));
    }
    const enum zs_status status = find_ends(&d, &source, from, to, selection, err);
    if (needs_times && d.variable != NULL)
        zs_label_source_clear(&source);
    return status;
}
