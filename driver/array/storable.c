/* Whether the codecs of an array can store elements, before they are written. */

#include "array/array_private.h"
#include "base/strided.h"

/* Elements that are converted at a time. */
#define PIECE 1024

const char *zs_array_cast_type(const struct zs_array *array)
{
    const struct zs_level *level = array->innermost;
    return level->storable.count > 0 ? level->stages[level->storable.count - 1].out.name : NULL;
}

bool zs_array_keeps_element(const struct zs_array *array, const void *element)
{
    return zs_level_keeps_element(array->innermost, element);
}

/* One line of elements. */
static enum zs_status check_line(const struct zs_array *array, uint64_t count, const char *data, ptrdiff_t stride,
                                 size_t item_size, zs_convert_fn convert, void *ctx, struct zs_error *err)
{
    const struct zs_level *level = array->innermost;
    const struct zs_dtype *dtype = &array->meta->dtype;
    if (convert == NULL && stride == (ptrdiff_t)item_size && (uintptr_t)data % dtype->size == 0)
        return zs_storable_check(&level->storable, level->stages, (size_t)count, data, err);
    _Alignas(64) unsigned char piece[PIECE * ZS_MAX_ITEM_SIZE];
    const ptrdiff_t dense = (ptrdiff_t)dtype->size;
    for (uint64_t at = 0; at < count; at += PIECE) {
        const uint64_t n = count - at < PIECE ? count - at : PIECE;
        zs_copy_strided(1, &n, data + (ptrdiff_t)at * stride, &stride, piece, &dense, item_size, convert, ctx);
        ZS_TRY(zs_storable_check(&level->storable, level->stages, (size_t)n, piece, err));
    }
    return ZS_OK;
}

static enum zs_status check_elements(const struct zs_array *array, int ndim, const uint64_t *count, const char *data,
                                     const ptrdiff_t *stride, size_t item_size, zs_convert_fn convert, void *ctx,
                                     struct zs_error *err)
{
    static const uint64_t one = 1;
    static const ptrdiff_t none = 0;
    if (ndim <= 1)
        return check_line(array, ndim == 1 ? *count : one, data, ndim == 1 ? *stride : none, item_size, convert, ctx,
                          err);
    for (uint64_t i = 0; i < *count; i++)
        ZS_TRY(check_elements(array, ndim - 1, count + 1, data + (ptrdiff_t)i * *stride, stride + 1, item_size,
                              convert, ctx, err));
    return ZS_OK;
}

enum zs_status zs_array_check_storable(const struct zs_array *array, int ndim, const uint64_t *count, const void *data,
                                       const ptrdiff_t *stride, size_t item_size, zs_convert_fn convert, void *ctx,
                                       struct zs_error *err)
{
    if (array->innermost->storable.count == 0)
        return ZS_OK;
    const enum zs_status status = check_elements(array, ndim, count, data, stride, item_size, convert, ctx, err);
    return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "array /%s", array->node->path);
}
