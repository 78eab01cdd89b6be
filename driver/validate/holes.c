/* Objects that ought to be stored and are not: chunks of coordinate variables, and those of a base under pixels that
 * its overviews have. Elsewhere an absent object is the fill value, and a deleted one looks the same. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array/array.h"
#include "array/pending.h"
#include "base/checked.h"
#include "validate/validate_private.h"

/* Absent objects of one array that are looked into. */
#define MAX_HOLES ((size_t)1 << 20)
/* Elements of a level that are read at once. */
#define MAX_ELEMENTS ((uint64_t)1 << 20)
/* Pixels of a level that a resampling kernel reaches across: 3 of LANCZOS, and one for rounding. */
#define KERNEL_REACH 4

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static bool is_stored(const struct zs_checked_array *array, uint64_t number)
{
    return array->object_count > 0 &&
           bsearch(&number, array->objects, array->object_count, sizeof number, compare_numbers) != NULL;
}

void zs_checked_array_sort(struct zs_checked_array *array)
{
    if (array->object_count > 0)
        qsort(array->objects, array->object_count, sizeof *array->objects, compare_numbers);
}

/* Reports the first of `count` absent objects. */
static enum zs_status report_absent(struct zs_check *c, const struct zs_checked_array *array, uint64_t first,
                                    uint64_t count, const char *expected, struct zs_error *err)
{
    uint64_t position[ZS_MAX_NDIM];
    zs_grid_position(&array->grid, 0, first, position);
    char *key = zs_chunk_key(array->node->array, array->node->path, position);
    ZS_TRY_MEMORY(key, err);
    char found[64];
    if (count == 1)
        snprintf(found, sizeof found, "none");
    else
        snprintf(found, sizeof found, "none, as at %llu others", (unsigned long long)(count - 1));
    zs_report(c, ZS_SEVERITY_ERROR, key, "absent object", expected, found);
    free(key);
    return ZS_OK;
}

/* ---- Coordinate variables ---- */

static bool is_coordinate_variable(const struct zs_node *node)
{
    const char *name = node->array->ndim == 1 ? zs_dimension_name(node, 0) : NULL;
    return name != NULL && strcmp(name, zs_path_name(node->path)) == 0;
}

/* One element may well be the fill value, unless that is NaN: values of a coordinate variable are all there, and
 * differ (CF 1.3). */
enum zs_status zs_check_coordinate_chunks(struct zs_check *c, const struct zs_checked_array *array,
                                          struct zs_error *err)
{
    const struct zs_array_meta *meta = array->node->array;
    if (!array->is_listed || !is_coordinate_variable(array->node))
        return ZS_OK;
    const double fill = zs_dtype_to_double(&meta->dtype, meta->fill_value);
    uint64_t first = 0, absent = meta->shape[0]; /* an object, elements; what is there is few, whatever the length */
    for (size_t i = 0; i < array->object_count; i++) {
        first += array->objects[i] == first;
        absent -= zs_grid_elements(&array->grid, 0, array->objects[i]);
    }
    return absent > (isnan(fill) ? 0 : 1) ? report_absent(c, array, first, array->grid_count - array->object_count,
                                                          "all chunks of a coordinate variable", err)
                                          : ZS_OK;
}

/* ---- A base and its overview ---- */

struct holes {
    const struct zs_checked_array *base, *small;
    struct zs_axes axes;
    const struct zs_shrink *shrink;
    struct zs_array *pixels; /* of the overview */
    void *elements;
    uint64_t *absent; /* numbers of objects of the base */
    size_t count, capacity;
};

static bool is_shrunk(const struct holes *h, int d)
{
    return d == h->axes.x || d == h->axes.y;
}

static enum zs_status add_absent(struct holes *h, uint64_t number, struct zs_error *err)
{
    ZS_TRY_GROW(h->absent, h->count, &h->capacity, err);
    h->absent[h->count++] = number;
    return ZS_OK;
}

/* Adds what is absent of the base where the overview has object `number`. */
static enum zs_status collect(struct holes *h, uint64_t number, struct zs_error *err)
{
    const struct zs_grid *grid = &h->base->grid;
    uint64_t start[ZS_MAX_NDIM], length[ZS_MAX_NDIM], from[ZS_MAX_NDIM], to[ZS_MAX_NDIM], at[ZS_MAX_NDIM];
    zs_grid_extent(&h->small->grid, 0, number, start, length);
    for (int d = 0; d < grid->ndim; d++) {
        const double factor = is_shrunk(h, d) ? h->shrink->factor[d] : 1;
        const uint64_t last = grid->meta->shape[d] - 1;
        const double end = ceil((double)(start[d] + length[d]) * factor) - 1;
        from[d] = at[d] = zs_grid_find(grid, 0, d, zs_min_u64(last, (uint64_t)((double)start[d] * factor)));
        to[d] = zs_grid_find(grid, 0, d, end < (double)last ? (uint64_t)end : last);
    }
    for (int d = grid->ndim - 1; d >= 0 && h->count < MAX_HOLES;) {
        const uint64_t object = zs_grid_number(grid, 0, at);
        if (!is_stored(h->base, object))
            ZS_TRY(add_absent(h, object, err));
        for (d = grid->ndim - 1; d >= 0 && ++at[d] > to[d]; d--)
            at[d] = from[d];
    }
    return ZS_OK;
}

/* The elements of the overview that come from object `number` of the base alone; false when there are none. */
static bool find_window(const struct holes *h, uint64_t number, uint64_t *start, uint64_t *count)
{
    zs_grid_extent(&h->base->grid, 0, number, start, count);
    for (int d = 0; d < h->base->grid.ndim; d++) {
        const uint64_t base = h->base->grid.meta->shape[d], small = h->small->grid.meta->shape[d];
        uint64_t end = zs_min_u64(base, start[d] + count[d]);
        if (is_shrunk(h, d)) {
            const double factor = h->shrink->factor[d];
            const uint64_t reach = h->shrink->is_exact ? 0 : KERNEL_REACH, whole = (uint64_t)((double)end / factor);
            end = end == base ? small : whole - zs_min_u64(whole, reach);
            start[d] = start[d] == 0 ? 0 : (uint64_t)ceil((double)start[d] / factor) + reach;
        }
        end = zs_min_u64(end, small);
        if (start[d] >= end)
            return false;
        count[d] = end - start[d];
    }
    return true;
}

/* Whether a window of the overview has anything but the base's fill value; read piece by piece. What cannot be read is
 * reported by who checks its chunks. */
static enum zs_status has_pixels(const struct holes *h, const uint64_t *start, const uint64_t *count, bool *has,
                                 struct zs_error *err)
{
    const int ndim = h->base->grid.ndim;
    uint64_t at[ZS_MAX_NDIM], part[ZS_MAX_NDIM], room = MAX_ELEMENTS;
    for (int d = ndim - 1; d >= 0; d--) {
        at[d] = start[d];
        part[d] = zs_min_u64(count[d], zs_max_u64(1, room));
        room /= part[d];
    }
    for (int d = ndim - 1; d >= 0 && !*has;) {
        uint64_t now[ZS_MAX_NDIM], n = 1;
        for (int i = 0; i < ndim; i++) {
            now[i] = zs_min_u64(part[i], start[i] + count[i] - at[i]);
            n *= now[i];
        }
        const enum zs_status status = zs_array_read(h->pixels, at, now, h->elements, err);
        if (status != ZS_OK)
            return status == ZS_NO_MEMORY || status == ZS_CANCELLED ? status : ZS_OK;
        *has = !zs_is_fill(h->base->node->array, h->elements, (size_t)n * h->base->node->array->dtype.size);
        for (d = ndim - 1; d >= 0 && (at[d] += part[d]) >= start[d] + count[d]; d--)
            at[d] = start[d];
    }
    return ZS_OK;
}

static enum zs_status check_holes(struct zs_check *c, struct holes *h, struct zs_error *err)
{
    uint64_t found = 0, first = 0, previous = UINT64_MAX;
    for (size_t i = 0; i < h->small->object_count; i++)
        ZS_TRY(collect(h, h->small->objects[i], err));
    if (h->count > 0)
        qsort(h->absent, h->count, sizeof *h->absent, compare_numbers);
    for (size_t i = 0; i < h->count; i++) {
        uint64_t start[ZS_MAX_NDIM], count[ZS_MAX_NDIM];
        bool has = false;
        ZS_TRY(zs_check_advance(c, 0, 0, 0, err));
        if (h->absent[i] != previous && find_window(h, h->absent[i], start, count))
            ZS_TRY(has_pixels(h, start, count, &has, err));
        previous = h->absent[i];
        first = has && found == 0 ? previous : first;
        found += has;
    }
    char expected[256];
    snprintf(expected, sizeof expected, "one, as %.200s has pixels there", h->small->node->path);
    return found > 0 ? report_absent(c, h->base, first, found, expected, err) : ZS_OK;
}

static const struct zs_checked_array *checked(const struct zs_check *c, const struct zs_node *node)
{
    for (size_t i = 0; i < c->array_count; i++)
        if (c->arrays[i]->node == node)
            return c->arrays[i];
    return NULL;
}

enum zs_status zs_check_holes(struct zs_check *c, const struct zs_node *base, const struct zs_node *small,
                              struct zs_axes axes, const struct zs_shrink *shrink, struct zs_error *err)
{
    struct holes h = {.base = checked(c, base), .small = checked(c, small), .axes = axes, .shrink = shrink};
    if (h.base == NULL || h.small == NULL || !h.base->is_listed || !h.small->is_listed || c->options->metadata_only ||
        h.base->object_count >= h.base->grid_count)
        return ZS_OK;
    const struct zs_array_options options = {.threads = c->threads};
    h.elements = zs_calloc((size_t)MAX_ELEMENTS, base->array->dtype.size);
    enum zs_status status = h.elements != NULL ? zs_array_open_node(c->hierarchy, small, &options, &h.pixels, err)
                                               : zs_fail_memory(err);
    if (status == ZS_OK)
        status = check_holes(c, &h, err);
    else
        status = zs_report_failure(c, small->path, status, err);
    zs_array_close(h.pixels);
    free(h.elements);
    free(h.absent);
    return status;
}
