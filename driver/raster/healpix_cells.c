#include "raster/healpix_read.h"

#include <stdlib.h>
#include <string.h>

#include "array/array.h"
#include "base/checked.h"
#include "base/memory.h"
#include "raster/healpix.h"

void zs_healpix_cells_clear(struct zs_healpix_cells *cells)
{
    free(cells->numbers);
    free(cells->indices);
    *cells = (struct zs_healpix_cells){0};
}

/* ---- Reading ---- */

/* Whole numbers of any type, as 64 bits; those below zero become larger than any cell's. */
static void widen(void *ctx, const void *src, void *dst, ptrdiff_t stride, size_t n)
{
    const enum zs_data_type type = *(const enum zs_data_type *)ctx;
    char *to = dst;
    for (size_t i = 0; i < n; i++, to += stride) {
        uint64_t v = 0;
        switch (type) {
        case ZS_INT8: v = (uint64_t)((const int8_t *)src)[i]; break;
        case ZS_UINT8: v = ((const uint8_t *)src)[i]; break;
        case ZS_INT16: v = (uint64_t)((const int16_t *)src)[i]; break;
        case ZS_UINT16: v = ((const uint16_t *)src)[i]; break;
        case ZS_INT32: v = (uint64_t)((const int32_t *)src)[i]; break;
        case ZS_UINT32: v = ((const uint32_t *)src)[i]; break;
        case ZS_INT64: v = (uint64_t)((const int64_t *)src)[i]; break;
        case ZS_UINT64: v = ((const uint64_t *)src)[i]; break;
        default: break;
        }
        memcpy(to, &v, sizeof v);
    }
}

static bool is_whole(enum zs_data_type type)
{
    return type >= ZS_INT8 && type <= ZS_UINT64;
}

/* Reads `count` numbers of a coordinate of one dimension from `first` on, or rows of two dimensions. */
static enum zs_status read_numbers(struct zs_hierarchy *hierarchy, const struct zs_node *node, uint64_t first,
                                   uint64_t count, uint64_t *numbers, struct zs_error *err)
{
    struct zs_array *array;
    const struct zs_array_meta *meta = node->array;
    enum zs_data_type type = meta->dtype.type;
    struct zs_window w = {.start = {first}, .count = {count}, .data = numbers, .stride = {sizeof *numbers}};
    if (meta->ndim == 2) {
        w.count[1] = meta->shape[1];
        w.stride[0] = (ptrdiff_t)(meta->shape[1] * sizeof *numbers);
        w.stride[1] = sizeof *numbers;
    }
    if (!is_whole(type))
        return zs_fail(err, ZS_UNSUPPORTED, "/%s: expected whole numbers of cells, found %s", node->path,
                       meta->dtype.name);
    ZS_TRY(zs_array_open_node(hierarchy, node, NULL, &array, err));
    const enum zs_status status = zs_array_read_windows(array, &w, 1, widen, &type, err);
    zs_array_close(array);
    return status;
}

/* So many numbers are compared with their positions at once: all of a fine order are too many to be held. */
#define COMPARED ((uint64_t)1 << 22)

/* Whether each number is equal to its position in the array. */
static enum zs_status compare_numbers(struct zs_hierarchy *hierarchy, const struct zs_node *node, bool *is_all,
                                      struct zs_error *err)
{
    const uint64_t length = node->array->shape[0];
    uint64_t *numbers = zs_calloc(zs_min_u64(COMPARED, length), sizeof *numbers);
    enum zs_status status = numbers != NULL ? ZS_OK : zs_fail_memory(err);
    *is_all = true;
    for (uint64_t at = 0; at < length && status == ZS_OK && *is_all; at += COMPARED) {
        const uint64_t n = zs_min_u64(COMPARED, length - at);
        status = read_numbers(hierarchy, node, at, n, numbers, err);
        for (uint64_t i = 0; i < n && status == ZS_OK && *is_all; i++)
            *is_all = numbers[i] == at + i;
    }
    free(numbers);
    return status;
}

/* ---- Order ---- */

struct pair {
    uint64_t number, index;
};

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* Sorts cells->numbers, which are in the order of the array. */
static enum zs_status sort(struct zs_healpix_cells *cells, struct zs_error *err)
{
    struct pair *pairs = zs_calloc(cells->count, sizeof *pairs);
    ZS_TRY_MEMORY(pairs, err);
    for (uint64_t i = 0; i < cells->count; i++)
        pairs[i] = (struct pair){cells->numbers[i], cells->indices != NULL ? cells->indices[i] : i};
    qsort(pairs, (size_t)cells->count, sizeof *pairs, compare_pairs);
    if (cells->indices == NULL)
        cells->indices = zs_calloc(cells->count, sizeof *cells->indices);
    for (uint64_t i = 0; i < cells->count && cells->indices != NULL; i++) {
        cells->numbers[i] = pairs[i].number;
        cells->indices[i] = pairs[i].index;
    }
    free(pairs);
    return cells->indices != NULL ? ZS_OK : zs_fail_memory(err);
}

/* Leaves out words that are no cell, and keeps the positions of the others. */
static enum zs_status unpack(const struct zs_healpix *healpix, struct zs_healpix_cells *cells, struct zs_error *err)
{
    uint64_t kept = 0;
    cells->indices = zs_calloc(cells->count, sizeof *cells->indices);
    ZS_TRY_MEMORY(cells->indices, err);
    for (uint64_t i = 0; i < cells->count; i++) {
        const uint64_t word = cells->numbers[i];
        if (word == 0)
            continue; /* not written */
        cells->indices[kept] = i;
        if (!zs_healpix_unpack_morton(word, healpix->order, &cells->numbers[kept++]))
            return zs_fail(err, ZS_INVALID, "/%s: element %llu is %llu, which is no cell of order %d",
                           healpix->coordinate->path, (unsigned long long)i, (unsigned long long)word,
                           healpix->order);
    }
    cells->count = kept;
    return ZS_OK;
}

/* Checks the numbers of the cells, and sorts the cells by number. */
static enum zs_status check_and_sort(const struct zs_healpix *healpix, struct zs_healpix_cells *cells,
                                     struct zs_error *err)
{
    const uint64_t all = zs_healpix_cells_of(healpix->order);
    const char *path = healpix->coordinate->path;
    bool is_sorted = true;
    for (uint64_t i = 0; i < cells->count; i++) {
        if (cells->numbers[i] >= all)
            return zs_fail(err, ZS_INVALID, "/%s: element %llu is %llu; order %d has %llu cells", path,
                           (unsigned long long)i, (unsigned long long)cells->numbers[i], healpix->order,
                           (unsigned long long)all);
        is_sorted = is_sorted && (i == 0 || cells->numbers[i - 1] < cells->numbers[i]);
    }
    if (!is_sorted)
        ZS_TRY(sort(cells, err));
    for (uint64_t i = 1; i < cells->count; i++)
        if (cells->numbers[i - 1] == cells->numbers[i])
            return zs_fail(err, ZS_INVALID, "/%s: cell %llu is there twice", path,
                           (unsigned long long)cells->numbers[i]);
    return ZS_OK;
}

/* ---- Ranges ---- */

/* Rows of a first and a last number; `more` is 1 when the last one belongs to the range. */
struct ranges {
    uint64_t *rows;
    uint64_t count, more;
};

/* The number of cells in all rows. UINT64_MAX when a row is no range, or when they are more than `most`. */
static uint64_t count_cells(const struct ranges *r, uint64_t most)
{
    uint64_t all = 0;
    for (uint64_t i = 0; i < r->count; i++) {
        const uint64_t first = r->rows[2 * i], end = r->rows[2 * i + 1];
        if (end < first || end - first > most || end - first + r->more > most - all)
            return UINT64_MAX;
        all += end - first + r->more;
    }
    return all;
}

/* Rows of cells of coarser orders, whose numbers (zuniq) stand in the first half of rows: from the last to the first,
 * since each becomes two. */
static enum zs_status spread_compacted(const struct zs_healpix *healpix, struct ranges *r, struct zs_error *err)
{
    for (uint64_t i = r->count; i-- > 0;) {
        const uint64_t word = r->rows[i];
        uint64_t cell;
        int order;
        if (!zs_healpix_unpack_zuniq(word, &order, &cell) || order > healpix->order)
            return zs_fail(err, ZS_INVALID, "/%s: element %llu is %llu, which is no cell of an order up to %d",
                           healpix->coordinate->path, (unsigned long long)i, (unsigned long long)word,
                           healpix->order);
        const int finer = 2 * (healpix->order - order);
        r->rows[2 * i] = cell << finer;
        r->rows[2 * i + 1] = (cell + 1) << finer;
    }
    return ZS_OK;
}

/* The ranges of an array of `length` cells. The number of cells shows whether the second number of a row is the last
 * cell or the one behind it. Released by the caller, on failure too. */
static enum zs_status read_ranges(struct zs_hierarchy *hierarchy, const struct zs_healpix *healpix, uint64_t length,
                                  struct ranges *r, struct zs_error *err)
{
    const char *path = healpix->coordinate->path;
    r->count = healpix->coordinate->array->shape[0];
    if (r->count > ZS_HEALPIX_MOST_CELLS / 2)
        return zs_fail(err, ZS_UNSUPPORTED, "/%s: more than %llu ranges of cells", path,
                       (unsigned long long)(ZS_HEALPIX_MOST_CELLS / 2));
    r->rows = zs_calloc(r->count, 2 * sizeof *r->rows);
    ZS_TRY_MEMORY(r->rows, err);
    ZS_TRY(read_numbers(hierarchy, healpix->coordinate, 0, r->count, r->rows, err));
    if (healpix->words == ZS_HEALPIX_COMPACTED)
        ZS_TRY(spread_compacted(healpix, r, err));
    else if (count_cells(r, length) != length)
        r->more = 1;
    if (count_cells(r, length) != length)
        return zs_fail(err, ZS_INVALID, "/%s: its ranges are not the %llu cells of the array", path,
                       (unsigned long long)length);
    return ZS_OK;
}

static void expand(const struct ranges *r, uint64_t *numbers)
{
    for (uint64_t i = 0; i < r->count; i++)
        for (uint64_t k = 0; k < r->rows[2 * i + 1] - r->rows[2 * i] + r->more; k++)
            *numbers++ = r->rows[2 * i] + k;
}

/* ---- All of it ---- */

static bool has_ranges(const struct zs_healpix *healpix)
{
    return healpix->words == ZS_HEALPIX_RANGES || healpix->words == ZS_HEALPIX_COMPACTED;
}

/* Whether the array has all cells of the sphere in their order, which needs no list. */
static enum zs_status find_all(struct zs_hierarchy *hierarchy, const struct zs_healpix *healpix, uint64_t length,
                               const struct ranges *r, bool *is_all, struct zs_error *err)
{
    *is_all = length == zs_healpix_cells_of(healpix->order) && healpix->words != ZS_HEALPIX_MORTON;
    if (*is_all && healpix->words == ZS_HEALPIX_NUMBERS)
        return compare_numbers(hierarchy, healpix->coordinate, is_all, err);
    for (uint64_t i = 0, next = 0; i < r->count && *is_all; i++) { /* ranges follow each other from 0 on */
        *is_all = r->rows[2 * i] == next;
        next = r->rows[2 * i + 1] + r->more;
    }
    return ZS_OK;
}

static enum zs_status list_cells(struct zs_hierarchy *hierarchy, const struct zs_healpix *healpix,
                                 const struct ranges *r, struct zs_healpix_cells *cells, struct zs_error *err)
{
    if (cells->count > ZS_HEALPIX_MOST_CELLS)
        return zs_fail(err, ZS_UNSUPPORTED, "/%s: a coordinate of %llu cells, more than %llu, is not read",
                       healpix->coordinate->path, (unsigned long long)cells->count,
                       (unsigned long long)ZS_HEALPIX_MOST_CELLS);
    cells->numbers = zs_calloc(cells->count, sizeof *cells->numbers);
    ZS_TRY_MEMORY(cells->numbers, err);
    if (has_ranges(healpix))
        expand(r, cells->numbers);
    else
        ZS_TRY(read_numbers(hierarchy, healpix->coordinate, 0, cells->count, cells->numbers, err));
    if (healpix->words == ZS_HEALPIX_MORTON)
        ZS_TRY(unpack(healpix, cells, err));
    return check_and_sort(healpix, cells, err);
}

enum zs_status zs_healpix_cells_read(struct zs_hierarchy *hierarchy, const struct zs_healpix *healpix, uint64_t length,
                                     struct zs_healpix_cells *cells, struct zs_error *err)
{
    struct zs_healpix_cells c = {.count = length};
    struct ranges ranges = {0};
    enum zs_status status = has_ranges(healpix) ? read_ranges(hierarchy, healpix, length, &ranges, err) : ZS_OK;
    if (status == ZS_OK)
        status = find_all(hierarchy, healpix, length, &ranges, &c.is_all, err);
    if (status == ZS_OK && !c.is_all)
        status = list_cells(hierarchy, healpix, &ranges, &c, err);
    free(ranges.rows);
    if (status != ZS_OK)
        zs_healpix_cells_clear(&c);
    else
        *cells = c;
    return status;
}
