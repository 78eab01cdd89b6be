#include "raster/pixels.h"

#include <stdlib.h>

#include "array/array.h"
#include "base/parallel.h"
#include "raster/healpix_read.h"

/* Arrays that are read at once: round trips are waited for together, but each array decodes up to its own limit of
 * memory. */
#define ARRAYS_AT_ONCE 16

static const struct zs_conversion as_they_are = {0};

static const struct zs_conversion *conversion_of(const struct zs_conversion *conversions,
                                                 const struct zs_band_plan_part *part)
{
    return conversions != NULL ? &conversions[part->array] : &as_they_are;
}

struct pixel_job {
    const struct zs_bands *bands;
    const struct zs_band_window *window;
    const struct zs_conversion *conversions; /* NULL: none */
    bool is_prefetch;
    struct zs_band_plan plan;
};

static enum zs_status read_part(void *ctx, size_t item, struct zs_error *err)
{
    const struct pixel_job *r = ctx;
    const struct zs_band_plan_part *part = &r->plan.parts[item];
    const struct zs_band_array *a = &r->bands->arrays[part->array];
    struct zs_array *array = a->array;
    if (r->is_prefetch)
        return a->cells != NULL ? zs_healpix_prefetch(a, r->window, part->windows, part->count, err)
                                : zs_array_prefetch(array, part->windows, part->count, err);
    const struct zs_conversion *c = conversion_of(r->conversions, part);
    if (a->cells != NULL)
        return zs_healpix_read(a, r->window, part->windows, part->count, c, err);
    return zs_array_read_windows(array, part->windows, part->count, c->convert, c->ctx, err);
}

static bool are_cells(const struct zs_bands *bands)
{
    return bands->count > 0 && bands->arrays[0].cells != NULL;
}

/* For arrays of cells only the slices; healpix_read.h finds the cells. */
static struct zs_band_window what_is_planned(const struct zs_bands *bands, const struct zs_band_window *window)
{
    struct zs_band_window planned = *window;
    if (are_cells(bands)) {
        planned.x = planned.y = 0;
        planned.width = planned.height = 1;
    }
    return planned;
}

static enum zs_status run(struct pixel_job *r, const struct zs_band_window *window, struct zs_error *err)
{
    const struct zs_band_window planned = what_is_planned(r->bands, window);
    r->window = window;
    ZS_TRY(zs_band_plan_make(r->bands, &planned, &r->plan, err));
    const enum zs_status status = zs_parallel_for(ARRAYS_AT_ONCE, r->plan.count, read_part, r, err);
    zs_band_plan_clear(&r->plan);
    return status;
}

enum zs_status zs_pixels_read(const struct zs_bands *bands, const struct zs_band_window *window,
                              const struct zs_conversion *conversions, struct zs_error *err)
{
    struct pixel_job r = {.bands = bands, .conversions = conversions};
    return run(&r, window, err);
}

enum zs_status zs_pixels_prefetch(const struct zs_bands *bands, const struct zs_band_window *window,
                                  struct zs_error *err)
{
    struct pixel_job r = {.bands = bands, .is_prefetch = true};
    return run(&r, window, err);
}

/* Turns a box of a band into a box of its array, and finds the array. */
static enum zs_status find_window(const struct zs_bands *bands, int band, const struct zs_pixel_box *box,
                                  struct zs_window *window, size_t *array, struct zs_error *err)
{
    const struct zs_band_window asked = {
        .x = box->x, .y = box->y, .width = box->width, .height = box->height, .bands = &band, .band_count = 1};
    struct zs_band_plan plan;
    ZS_TRY(zs_band_plan_make(bands, &asked, &plan, err));
    *window = plan.windows[0];
    *array = plan.parts[0].array;
    zs_band_plan_clear(&plan);
    return ZS_OK;
}

enum zs_status zs_pixels_find_stored(const struct zs_bands *bands, int band, const struct zs_pixel_box *boxes, size_t n,
                                     bool *is_stored, struct zs_error *err)
{
    if (n == 0)
        return ZS_OK;
    size_t array = 0;
    for (size_t i = 0; i < n && are_cells(bands); i++)
        is_stored[i] = true;
    if (are_cells(bands))
        return ZS_OK;
    struct zs_window *windows = zs_calloc(n, sizeof *windows);
    enum zs_status status = windows != NULL ? ZS_OK : zs_fail_memory(err);
    for (size_t i = 0; i < n && status == ZS_OK; i++)
        status = find_window(bands, band, &boxes[i], &windows[i], &array, err);
    if (status == ZS_OK)
        status = zs_array_find_stored(bands->arrays[array].array, windows, n, is_stored, err);
    free(windows);
    return status;
}

enum zs_status zs_pixels_write(const struct zs_bands *bands, const struct zs_band_window *window, size_t item_size,
                               const struct zs_conversion *conversions, struct zs_error *err)
{
    struct zs_band_plan plan;
    const struct zs_band_window planned = what_is_planned(bands, window);
    ZS_TRY(zs_band_plan_make(bands, &planned, &plan, err));
    enum zs_status status = ZS_OK;
    for (size_t i = 0; i < plan.count && status == ZS_OK; i++) {
        const struct zs_band_plan_part *part = &plan.parts[i];
        const struct zs_conversion *c = conversion_of(conversions, part);
        const struct zs_band_array *a = &bands->arrays[part->array];
        status = a->cells != NULL
                     ? zs_healpix_write(a, window, part->windows, part->count, item_size, c, err)
                     : zs_array_write_windows(a->array, part->windows, part->count, item_size, c->convert, c->ctx, err);
    }
    zs_band_plan_clear(&plan);
    return status;
}
