#include "base/strided.h"

#include <stdlib.h>
#include <string.h>

/* Elements that are not dense in the source are gathered through a buffer of this size before conversion. */
#define ROW_BYTES 4096

struct axis {
    uint64_t count;
    ptrdiff_t src, dst;
};

/* Drops axes of length 1, orders the others by destination stride (writes go forward) and joins those that are one run
 * in both layouts, so that the common cases end up as few long rows. */
static int simplify(int ndim, const uint64_t *count, const ptrdiff_t *src_stride, const ptrdiff_t *dst_stride,
                    struct axis *axes)
{
    int n = 0;
    for (int d = 0; d < ndim; d++) {
        if (count[d] == 1)
            continue;
        const struct axis a = {count[d], src_stride[d], dst_stride[d]};
        int at = n++;
        while (at > 0 && labs(axes[at - 1].dst) < labs(a.dst)) {
            axes[at] = axes[at - 1];
            at--;
        }
        axes[at] = a;
    }
    for (int d = n - 2; d >= 0; d--) {
        const struct axis *inner = &axes[d + 1];
        if (axes[d].src != inner->src * (ptrdiff_t)inner->count || axes[d].dst != inner->dst * (ptrdiff_t)inner->count)
            continue;
        axes[d] = (struct axis){axes[d].count * inner->count, inner->src, inner->dst};
        for (int k = d + 1; k < n - 1; k++)
            axes[k] = axes[k + 1];
        n--;
    }
    return n;
}

#define COPY_ROW(size)                                                                                                 \
    for (uint64_t i = 0; i < n; i++, src += src_step, dst += dst_step)                                                 \
        memcpy(dst, src, size)

static void copy_row(uint64_t n, const char *src, ptrdiff_t src_step, char *dst, ptrdiff_t dst_step, size_t item_size)
{
    if (src_step == (ptrdiff_t)item_size && dst_step == (ptrdiff_t)item_size) {
        memcpy(dst, src, (size_t)n * item_size); /* in memory, so it fits */
        return;
    }
    switch (item_size) {
    case 1:
        COPY_ROW(1);
        break;
    case 2:
        COPY_ROW(2);
        break;
    case 4:
        COPY_ROW(4);
        break;
    case 8:
        COPY_ROW(8);
        break;
    default:
        COPY_ROW(item_size);
    }
}

static void convert_row(uint64_t n, const char *src, ptrdiff_t src_step, char *dst, ptrdiff_t dst_step,
                        size_t item_size, zs_convert_fn convert, void *ctx)
{
    if (src_step == (ptrdiff_t)item_size || n == 1) {
        convert(ctx, src, dst, dst_step, (size_t)n);
        return;
    }
    uint64_t aligned[ROW_BYTES / sizeof(uint64_t)];
    const uint64_t room = ROW_BYTES / item_size;
    for (uint64_t done = 0; done < n;) {
        const uint64_t part = n - done < room ? n - done : room;
        copy_row(part, src, src_step, (char *)aligned, (ptrdiff_t)item_size, item_size);
        convert(ctx, aligned, dst, dst_step, (size_t)part);
        src += src_step * (ptrdiff_t)part;
        dst += dst_step * (ptrdiff_t)part;
        done += part;
    }
}

void zs_copy_strided(int ndim, const uint64_t *count, const void *src_start, const ptrdiff_t *src_stride,
                     void *dst_start, const ptrdiff_t *dst_stride, size_t item_size, zs_convert_fn convert, void *ctx)
{
    for (int d = 0; d < ndim; d++)
        if (count[d] == 0)
            return;
    struct axis axes[ZS_MAX_NDIM];
    const int n = simplify(ndim, count, src_stride, dst_stride, axes);
    const struct axis row = n > 0 ? axes[n - 1] : (struct axis){1, (ptrdiff_t)item_size, (ptrdiff_t)item_size};
    const char *src = src_start;
    char *dst = dst_start;
    uint64_t at[ZS_MAX_NDIM] = {0};
    for (;;) {
        if (convert != NULL)
            convert_row(row.count, src, row.src, dst, row.dst, item_size, convert, ctx);
        else
            copy_row(row.count, src, row.src, dst, row.dst, item_size);
        int d = n - 2;
        for (; d >= 0; d--) {
            src += axes[d].src;
            dst += axes[d].dst;
            if (++at[d] < axes[d].count)
                break;
            src -= axes[d].src * (ptrdiff_t)axes[d].count;
            dst -= axes[d].dst * (ptrdiff_t)axes[d].count;
            at[d] = 0;
        }
        if (d < 0)
            return;
    }
}
