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

struct zs_window *zs_healpix_windows(const struct zs_window *box, int dim, const struct zs_runs *runs)
{
    struct zs_window *windows = zs_calloc(runs->count, sizeof *windows);
    for (size_t i = 0; i < runs->count && windows != NULL; i++) {
        windows[i] = *box;
        windows[i].start[dim] = runs->list[i].first;
        windows[i].count[dim] = runs->list[i].count;
    }
    return windows;
}

enum zs_status zs_healpix_scratch(const struct reading *reading, const struct zs_runs *runs, uint64_t *cells,
                                  unsigned char **scratch, struct zs_window **windows, struct zs_error *err)
{
    const size_t item = reading->info.item_size;
    uint64_t bytes, before = 0;
    *cells = 0;
    for (size_t i = 0; i < runs->count; i++)
        *cells += runs->list[i].count;
    const bool is_bounded = zs_mul_u64(*cells, reading->slices, &bytes) && zs_mul_u64(bytes, item, &bytes) &&
                            bytes <= SIZE_MAX / 2;
    *scratch = is_bounded ? malloc((size_t)zs_max_u64(bytes, 1)) : NULL;
    *windows = zs_healpix_windows(reading->box, reading->dim, runs);
    if (*scratch == NULL || *windows == NULL)
        return zs_fail_memory(err);
    for (size_t i = 0; i < runs->count; i++) {
        struct zs_window *w = &(*windows)[i];
        ptrdiff_t step = (ptrdiff_t)(*cells * item);
        for (int d = reading->info.ndim - 1; d >= 0; d--) {
            w->stride[d] = d != reading->dim ? step : (ptrdiff_t)item;
            if (d != reading->dim)
                step *= (ptrdiff_t)w->count[d];
        }
        w->data = *scratch + before * item;
        before += w->count[reading->dim];
    }
    return ZS_OK;
}

/* ---- Batches ---- */

/* Cells of squares of 2^floor that a stretch of cells touches. */
static uint64_t touched(uint32_t first, uint32_t count, int floor)
{
    return ((((uint64_t)first + count - 1) >> floor) - (first >> floor) + 1) << floor;
}

/* What a part has of a square of 2^level cells a side, from (x, y) on. */
static struct zs_healpix_part clip(const struct zs_healpix_part *part, int level, uint64_t x, uint64_t y)
{
    struct zs_healpix_part c = *part;
    const uint64_t side = (uint64_t)1 << level, right = (uint64_t)part->ix + part->width,
                   top = (uint64_t)part->iy + part->height;
    c.ix = (uint32_t)zs_max_u64(x, part->ix);
    c.iy = (uint32_t)zs_max_u64(y, part->iy);
    c.width = (uint32_t)(zs_min_u64(x + side, right) - c.ix);
    c.height = (uint32_t)(zs_min_u64(y + side, top) - c.iy);
    c.column += c.ix - part->ix;
    c.row += top - c.iy - c.height; /* the last row is the southernmost */
    return c;
}

struct batching {
    struct reading *reading;
    struct zs_healpix_batch batch;
    uint64_t most;
    int floor;
    zs_healpix_read_fn read;
};

static enum zs_status flush(struct batching *b, struct zs_error *err)
{
    const enum zs_status status = b->batch.count > 0 ? b->read(b->reading, &b->batch, b->floor, err) : ZS_OK;
    b->batch.count = 0;
    b->batch.cells = 0;
    return status;
}

static enum zs_status add_part(struct batching *b, const struct zs_healpix_part *part, struct zs_error *err)
{
    int level = b->floor;
    while (level < b->reading->map->order && (uint64_t)4 << (2 * level) <= b->most)
        level++;
    const uint64_t side = (uint64_t)1 << level;
    for (uint64_t y = part->iy & ~(side - 1); y < (uint64_t)part->iy + part->height; y += side)
        for (uint64_t x = part->ix & ~(side - 1); x < (uint64_t)part->ix + part->width; x += side) {
            const struct zs_healpix_part one = clip(part, level, x, y);
            const uint64_t cells = touched(one.ix, one.width, b->floor) * touched(one.iy, one.height, b->floor);
            if (b->batch.cells + cells > b->most)
                ZS_TRY(flush(b, err));
            ZS_TRY_GROW(b->batch.parts, b->batch.count, &b->batch.room, err);
            b->batch.parts[b->batch.count++] = one;
            b->batch.cells += cells;
        }
    return ZS_OK;
}

enum zs_status zs_healpix_in_batches(struct reading *reading, uint64_t most, int floor, zs_healpix_read_fn read,
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
