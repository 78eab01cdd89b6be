/* base/strided.h: moving N-dimensional boxes of elements between memory layouts. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "shardedzarr.h" /* zs_convert_fn */

/* Copies the element at each position i of the box count[ndim] from src + sum i[d] * src_stride[d] to
 * dst + sum i[d] * dst_stride[d] (strides in bytes, of either sign; a source stride of 0 repeats, which is how fill
 * values are spread). With `convert`, elements pass through it instead of being copied as they are. The memory must
 * not overlap. */
void zs_copy_strided(int ndim, const uint64_t *count, const void *src, const ptrdiff_t *src_stride, void *dst,
                     const ptrdiff_t *dst_stride, size_t item_size, zs_convert_fn convert, void *ctx);
