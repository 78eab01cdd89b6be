#include "raster/healpix_parts.h"

#include <stdlib.h>
#include <string.h>

#include "array/array.h"
#include "base/checked.h"
#include "base/memory.h"

/* ---- One window ---- */

struct reading zs_healpix_reading(const struct zs_band_array *a, const struct zs_band_window *window,
                                  const struct zs_conversion *conversion)
{
    return (struct reading){
        .map = a->cells,
        .array = a->array,
        .info = zs_array_get_info(a->array),
        .dim = a->slices.axes.x,
        .window = window,
        .conversion = conversion,
        .threads = zs_array_threads(a->array),
    };
}

enum zs_status zs_healpix_take_box(struct reading *reading, const struct zs_window *box, struct zs_error *err)
{
    reading->box = box;
    reading->slices = 1;
    for (int d = 0; d < reading->info.ndim; d++)
        reading->slices *= d != reading->dim ? box->count[d] : 1; /* bands, of which there are few */
    reading->slice_offsets = zs_calloc(reading->slices, sizeof *reading->slice_offsets);
    ZS_TRY_MEMORY(reading->slice_offsets, err);
    for (uint64_t k = 0; k < reading->slices; k++) {
        uint64_t rest = k;
        for (int d = reading->info.ndim - 1; d >= 0; d--)
            if (d != reading->dim) {
                reading->slice_offsets[k] += (ptrdiff_t)(rest % box->count[d]) * box->stride[d];
                rest /= box->count[d];
            }
    }
    return ZS_OK;
}

/* ---- Squares ---- */

const uint16_t zs_even_bits[1 << TILE] = {
    0x000, 0x001, 0x004, 0x005, 0x010, 0x011, 0x014, 0x015, 0x040, 0x041, 0x044, 0x045, 0x050, 0x051, 0x054, 0x055,
    0x100, 0x101, 0x104, 0x105, 0x110, 0x111, 0x114, 0x115, 0x140, 0x141, 0x144, 0x145, 0x150, 0x151, 0x154, 0x155};

void zs_healpix_scatter_row(const unsigned char *row, unsigned char *cells, uint32_t n, size_t item)
{
    for (uint32_t i = 0; i < n; i++)
        memcpy(cells + item * zs_even_bits[i], row + item * i, item);
}

/* ---- The caller's memory ---- */

void zs_healpix_put(const struct reading *reading, const void *src, char *dst, ptrdiff_t stride, size_t n)
{
    const size_t item = reading->info.item_size;
    const char *from = src;
    if (reading->conversion->convert != NULL)
        reading->conversion->convert(reading->conversion->ctx, src, dst, stride, n);
    else if (stride == (ptrdiff_t)item)
        memcpy(dst, src, n * item);
    else
        for (size_t i = 0; i < n; i++, dst += stride, from += item)
            memcpy(dst, from, item);
}

void zs_healpix_put_empty(const struct reading *reading, const struct zs_healpix_part *part)
{
    enum { AT_ONCE = 256 };
    const size_t item = reading->info.item_size;
    _Alignas(ZS_MAX_ITEM_SIZE) unsigned char src[AT_ONCE * ZS_MAX_ITEM_SIZE];
    for (size_t i = 0; i < AT_ONCE; i++)
        memcpy(src + i * item, reading->map->empty, item);
    for (uint64_t s = 0; s < reading->slices; s++)
        for (uint32_t y = 0; y < part->height; y++) {
            char *row = zs_healpix_pixel(reading, part, part->ix, part->iy + y) + reading->slice_offsets[s];
            for (uint32_t x = 0; x < part->width; x += AT_ONCE)
                zs_healpix_put(reading, src, row + (ptrdiff_t)x * reading->window->pixel_space,
                               reading->window->pixel_space, (size_t)zs_min_u64(AT_ONCE, part->width - x));
        }
}

/* ---- The array ---- */

enum zs_status zs_healpix_windows(const struct reading *reading, const struct zs_run *runs, size_t count,
                                  uint64_t cells, unsigned char *scratch, struct zs_window **windows,
                                  struct zs_error *err)
{
    const size_t item = reading->info.item_size;
    uint64_t before = 0;
    *windows = zs_calloc(count, sizeof **windows);
    ZS_TRY_MEMORY(*windows, err);
    for (size_t i = 0; i < count; i++) {
        struct zs_window *w = &(*windows)[i];
        ptrdiff_t step = (ptrdiff_t)(cells * item);
        *w = *reading->box;
        for (int d = reading->info.ndim - 1; d >= 0; d--) {
            w->stride[d] = step;
            if (d != reading->dim)
                step *= (ptrdiff_t)w->count[d];
        }
        w->start[reading->dim] = runs[i].first;
        w->count[reading->dim] = runs[i].count;
        w->stride[reading->dim] = (ptrdiff_t)item;
        w->data = scratch + before * item;
        before += runs[i].count;
    }
    return ZS_OK;
}

enum zs_status zs_healpix_read_runs(const struct reading *reading, const struct zs_run *runs, size_t count,
                                    unsigned char **scratch, uint64_t *cells, struct zs_error *err)
{
    const size_t item = reading->info.item_size;
    uint64_t all = 0, elements;
    struct zs_window *windows = NULL;
    *cells = 0;
    for (size_t i = 0; i < count; i++)
        *cells += runs[i].count;
    *scratch = zs_mul_u64(*cells, reading->slices, &elements) && zs_mul_u64(elements, item, &all) && all <= SIZE_MAX / 2
                   ? malloc((size_t)zs_max_u64(all, 1))
                   : NULL;
    ZS_TRY_MEMORY(*scratch, err);
    enum zs_status status = zs_healpix_windows(reading, runs, count, *cells, *scratch, &windows, err);
    if (status == ZS_OK && count > 0)
        status = zs_array_read_windows(reading->array, windows, count, NULL, NULL, err);
    free(windows);
    if (status != ZS_OK) {
        free(*scratch);
        *scratch = NULL;
    }
    return status;
}

/* ---- Batches ---- */

/* Where to cut a stretch of more than one cell: at the number in it that the largest power of two divides, so that
 * pieces are whole squares. */
static uint32_t cut_of(uint32_t first, uint32_t count)
{
    uint32_t step = 1u << 31;
    for (;; step /= 2) {
        const uint64_t at = ((uint64_t)first / step + 1) * step;
        if (at < (uint64_t)first + count)
            return (uint32_t)at;
    }
}

static uint64_t squares(uint32_t first, uint32_t count, int floor)
{
    return ((((uint64_t)first + count - 1) >> floor) - (first >> floor) + 1) << floor;
}

static uint64_t cells_of(const struct zs_healpix_part *part, int floor)
{
    return squares(part->ix, part->width, floor) * squares(part->iy, part->height, floor);
}

typedef enum zs_status (*read_fn)(struct reading *reading, const struct zs_healpix_batch *batch, int floor,
                                  struct zs_error *err);
struct batching {
    struct reading *reading;
    struct zs_healpix_batch batch;
    uint64_t most;
    int floor;
    read_fn read;
};

static enum zs_status flush(struct batching *b, struct zs_error *err)
{
    const enum zs_status status =
        b->batch.count > 0 ? b->read(b->reading, &b->batch, b->floor, err) : ZS_OK;
    b->batch.count = 0;
    b->batch.cells = 0;
    return status;
}

static enum zs_status add_part(struct batching *b, const struct zs_healpix_part *part, struct zs_error *err);

static enum zs_status add_halves(struct batching *b, const struct zs_healpix_part *part, struct zs_error *err)
{
    struct zs_healpix_part one = *part, other = *part;
    if (part->width >= part->height) {
        one.width = cut_of(part->ix, part->width) - part->ix;
        other.ix += one.width;
        other.width -= one.width;
        other.column += one.width;
    } else {
        one.height = cut_of(part->iy, part->height) - part->iy;
        one.row += part->height - one.height; /* the south of it */
        other.iy += one.height;
        other.height -= one.height;
    }
    ZS_TRY(add_part(b, &one, err));
    return add_part(b, &other, err);
}

static enum zs_status add_part(struct batching *b, const struct zs_healpix_part *part, struct zs_error *err)
{
    const uint64_t cells = cells_of(part, b->floor), square = (uint64_t)1 << (2 * b->floor);
    if (cells > zs_max_u64(b->most, square) && (part->width > 1 || part->height > 1))
        return add_halves(b, part, err);
    if (cells > b->most - zs_min_u64(b->batch.cells, b->most))
        ZS_TRY(flush(b, err));
    ZS_TRY_GROW(b->batch.parts, b->batch.count, &b->batch.room, err);
    b->batch.parts[b->batch.count++] = *part;
    b->batch.cells += cells;
    return ZS_OK;
}

enum zs_status zs_healpix_in_batches(struct reading *reading, uint64_t most, int floor, read_fn read,
                                     struct zs_error *err)
{
    struct zs_healpix_part parts[ZS_HEALPIX_MOST_PARTS];
    struct batching b = {.reading = reading, .most = most, .floor = floor, .read = read};
    const int count = zs_healpix_cut(reading->map->order, reading->map->shown, reading->window->x, reading->window->y,
                                     reading->window->width, reading->window->height, parts);
    enum zs_status status = ZS_OK;
    for (int i = 0; i < count && status == ZS_OK; i++) {
        if (parts[i].face >= 0)
            status = add_part(&b, &parts[i], err);
        else if (reading->outer_size == 0)
            zs_healpix_put_empty(reading, &parts[i]);
    }
    if (status == ZS_OK)
        status = flush(&b, err);
    free(b.batch.parts);
    return status;
}
