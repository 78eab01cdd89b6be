#include "array/plan.h"

#include "base/strided.h"

static void chunk_overlap(const struct zs_plan *plan, const struct zs_planned *planned, const struct zs_window *window,
                          uint64_t *start, uint64_t *count)
{
    zs_chunk_overlap(plan->array, plan->array->chain.count - 1, planned->where.chunk, window, start, count);
}

static char *element_of_window(int ndim, const struct zs_window *window, const uint64_t *start)
{
    char *dst = window->data;
    for (int d = 0; d < ndim; d++)
        dst += (ptrdiff_t)(start[d] - window->start[d]) * window->stride[d];
    return dst;
}

static void copy_to_window(const struct zs_plan *plan, const struct zs_window *window, const uint64_t *start,
                           const uint64_t *count, const void *src, const ptrdiff_t *stride)
{
    const int ndim = plan->array->meta->ndim;
    if (plan->take != NULL)
        plan->take(plan->ctx, window->data, start, count, src, stride);
    else
        zs_copy_strided(ndim, count, src, stride, element_of_window(ndim, window, start), window->stride,
                        plan->array->meta->dtype.size, plan->convert, plan->ctx);
}

void zs_whole_chunk(const struct zs_array *array, uint64_t chunk, struct zs_extent *extent)
{
    zs_grid_extent(&array->grid, array->chain.count - 1, chunk, extent->start, extent->count);
}

const unsigned char *zs_element_at(int ndim, const unsigned char *decoded, const struct zs_extent *extent,
                                   const uint64_t *at, const ptrdiff_t *stride)
{
    for (int d = 0; d < ndim; d++)
        decoded += (ptrdiff_t)(at[d] - extent->start[d]) * stride[d];
    return decoded;
}

void zs_scatter(const struct zs_plan *plan, const struct zs_planned *planned, const unsigned char *decoded,
                const struct zs_extent *given)
{
    const struct zs_array *array = plan->array;
    struct zs_extent extent;
    ptrdiff_t stride[ZS_MAX_NDIM] = {0};
    if (plan->is_prefetch)
        return;
    if (given != NULL)
        extent = *given;
    else
        zs_whole_chunk(array, planned->where.chunk, &extent);
    if (decoded != NULL)
        zs_dense_strides(array->innermost, extent.count, stride);
    else
        decoded = array->meta->fill_value; /* which all strides of 0 repeat */
    for (size_t i = 0; i < planned->overlap_count; i++) {
        const struct zs_window *window = zs_planned_window(plan, planned, i);
        uint64_t start[ZS_MAX_NDIM], count[ZS_MAX_NDIM];
        chunk_overlap(plan, planned, window, start, count);
        copy_to_window(plan, window, start, count, zs_element_at(array->meta->ndim, decoded, &extent, start, stride),
                       stride);
    }
}

void zs_fill_gap(const struct zs_plan *plan, const struct zs_gap *gap)
{
    const struct zs_array *array = plan->array;
    const struct zs_window *window = &plan->windows[gap->window];
    uint64_t start[ZS_MAX_NDIM], count[ZS_MAX_NDIM];
    const ptrdiff_t still[ZS_MAX_NDIM] = {0};
    zs_chunk_overlap(array, 0, gap->shard, window, start, count);
    copy_to_window(plan, window, start, count, array->meta->fill_value, still);
}

uint64_t zs_elements_used(const struct zs_plan *plan, const struct zs_planned *planned)
{
    const struct zs_array *array = plan->array;
    uint64_t used = 0;
    for (size_t i = 0; i < planned->overlap_count; i++) {
        uint64_t start[ZS_MAX_NDIM], count[ZS_MAX_NDIM], size = 1;
        chunk_overlap(plan, planned, zs_planned_window(plan, planned, i), start, count);
        for (int d = 0; d < array->meta->ndim; d++)
            size *= count[d];
        used += size;
    }
    return used;
}

bool zs_is_wholly_used(const struct zs_plan *plan, const struct zs_planned *planned)
{
    return zs_elements_used(plan, planned) >=
           zs_grid_elements(&plan->array->grid, plan->array->chain.count - 1, planned->where.chunk);
}

void *zs_direct_destination(const struct zs_plan *plan, const struct zs_planned *planned)
{
    const struct zs_array *array = plan->array;
    if (planned->overlap_count != 1 || plan->convert != NULL || plan->take != NULL || plan->is_prefetch)
        return NULL;
    const struct zs_window *window = zs_planned_window(plan, planned, 0);
    uint64_t start[ZS_MAX_NDIM], count[ZS_MAX_NDIM];
    struct zs_extent chunk;
    ptrdiff_t stride[ZS_MAX_NDIM];
    chunk_overlap(plan, planned, window, start, count);
    zs_whole_chunk(array, planned->where.chunk, &chunk);
    zs_dense_strides(array->innermost, chunk.count, stride);
    for (int d = 0; d < array->meta->ndim; d++)
        if (count[d] != chunk.count[d] || (count[d] > 1 && stride[d] != window->stride[d]))
            return NULL;
    return element_of_window(array->meta->ndim, window, start);
}

/* ---- A run of elements ---- */

/* Elements of a chunk that follow each other as they are stored. */
struct run {
    const struct zs_plan *plan;
    const struct zs_planned *planned;
    const unsigned char *data; /* of the first of them */
    uint64_t first;
    struct zs_extent chunk;
    ptrdiff_t stride[ZS_MAX_NDIM]; /* of the chunk */
};

/* Copies what windows want of an extent of the chunk, all of which lies in the run. */
static void scatter_extent(const struct run *run, const struct zs_extent *extent)
{
    const struct zs_array *array = run->plan->array;
    const int n = array->meta->ndim;
    for (size_t i = 0; i < run->planned->overlap_count; i++) {
        const struct zs_window *window = zs_planned_window(run->plan, run->planned, i);
        uint64_t start[ZS_MAX_NDIM], count[ZS_MAX_NDIM];
        ptrdiff_t at = -(ptrdiff_t)(run->first * array->innermost->item_size);
        bool is_apart = false;
        for (int d = 0; d < n && !is_apart; d++) {
            const uint64_t end = zs_min_u64(extent->start[d] + extent->count[d], window->start[d] + window->count[d]);
            start[d] = zs_max_u64(extent->start[d], window->start[d]);
            is_apart = start[d] >= end;
            count[d] = is_apart ? 0 : end - start[d];
            at += is_apart ? 0 : (ptrdiff_t)(start[d] - run->chunk.start[d]) * run->stride[d];
        }
        if (!is_apart)
            copy_to_window(run->plan, window, start, count, run->data + at, run->stride);
    }
}

/* Splits the run into extents. These have one position, which is set, in each stored dimension before j, and in the
 * others the `count` elements from number `first` on. */
static void scatter_below(const struct run *run, int j, struct zs_extent *extent, uint64_t first, uint64_t count)
{
    const struct zs_array *array = run->plan->array;
    const int n = array->meta->ndim, *axis = array->innermost->axis;
    uint64_t inner = 1; /* elements at one position of dimension j */
    for (int k = j + 1; k < n; k++)
        inner *= run->chunk.count[axis[k]];
    const int d = axis[j];
    const uint64_t head = first % inner != 0 ? zs_min_u64(count, inner - first % inner) : 0;
    if (head > 0) {
        extent->start[d] = run->chunk.start[d] + first / inner;
        extent->count[d] = 1;
        scatter_below(run, j + 1, extent, first % inner, head);
        first += head;
        count -= head;
    }
    if (count >= inner) {
        extent->start[d] = run->chunk.start[d] + first / inner;
        extent->count[d] = count / inner;
        for (int k = j + 1; k < n; k++) {
            extent->start[axis[k]] = run->chunk.start[axis[k]];
            extent->count[axis[k]] = run->chunk.count[axis[k]];
        }
        scatter_extent(run, extent);
        first += count / inner * inner;
        count %= inner;
    }
    if (count > 0) {
        extent->start[d] = run->chunk.start[d] + first / inner;
        extent->count[d] = 1;
        scatter_below(run, j + 1, extent, 0, count);
    }
}

void zs_scatter_run(const struct zs_plan *plan, const struct zs_planned *planned, uint64_t first, uint64_t count,
                    const unsigned char *data)
{
    struct run run = {.plan = plan, .planned = planned, .data = data, .first = first};
    struct zs_extent extent;
    if (plan->is_prefetch)
        return;
    zs_whole_chunk(plan->array, planned->where.chunk, &run.chunk);
    zs_dense_strides(plan->array->innermost, run.chunk.count, run.stride);
    scatter_below(&run, 0, &extent, first, count);
}
