#include <stdlib.h>

#include "array/plan.h"

/* The window at position `at`, which counts the elements of dimensions that are apart. */
static void set_window(const struct zs_stepped_window *stepped, const bool *is_apart, const uint64_t *at,
                       struct zs_window *window)
{
    ptrdiff_t offset = 0;
    for (int d = 0; d < stepped->ndim; d++) {
        window->start[d] = stepped->start[d] + at[d] * stepped->step[d];
        window->count[d] = is_apart[d] ? 1 : (stepped->count[d] - 1) * stepped->step[d] + 1;
        window->stride[d] = stepped->stride[d];
        offset += (ptrdiff_t)at[d] * stepped->stride[d];
    }
    window->data = stepped->data != NULL ? stepped->data + offset : NULL;
}

enum zs_status zs_stepped_windows(const struct zs_stepped_window *stepped, const bool *is_apart, zs_windows_fn run,
                                  void *ctx, struct zs_error *err)
{
    uint64_t at[ZS_MAX_NDIM] = {0}, low[ZS_MAX_NDIM] = {0}, high[ZS_MAX_NDIM], most = 1;
    for (int d = 0; d < stepped->ndim; d++) {
        high[d] = is_apart[d] ? stepped->count[d] : 1;
        most = zs_min_u64(ZS_MOST_WINDOWS, most * zs_min_u64(ZS_MOST_WINDOWS, high[d]));
    }
    struct zs_window *windows = zs_calloc(most, sizeof *windows);
    ZS_TRY_MEMORY(windows, err);
    enum zs_status status = ZS_OK;
    size_t n = 0;
    for (bool more = true; more && status == ZS_OK;) {
        set_window(stepped, is_apart, at, &windows[n++]);
        more = zs_next_position(stepped->ndim, at, low, high);
        if (n == most || !more) {
            status = run(ctx, windows, n, err);
            n = 0;
        }
    }
    free(windows);
    return status;
}
