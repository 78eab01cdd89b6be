/* numcodecs.shuffle: all first bytes of the elements, then all second ones, and so on. */

#include "codec/codec.h"

static enum zs_status parse(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    stage->number = (int64_t)stage->in.size; /* zarr-python's default */
    if (zs_json_typeof(zs_json_get(configuration, "elementsize")) == ZS_JSON_NULL)
        return ZS_OK;
    return zs_stage_integer(stage, configuration, "elementsize", true, 1, INT32_MAX, &stage->number, err);
}

/* Rows and columns change places. With few columns (decoding: few rows) a row at a time is what a cache takes. */
static void exchange(const unsigned char *src, unsigned char *dst, size_t rows, size_t columns)
{
    if (rows < columns) {
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < columns; c++)
                dst[c * rows + r] = src[r * columns + c];
    } else {
        for (size_t c = 0; c < columns; c++)
            for (size_t r = 0; r < rows; r++)
                dst[c * rows + r] = src[r * columns + c];
    }
}

static enum zs_status decode(const struct zs_stage *stage, struct zs_scratch *scratch, const void *src, size_t n,
                             void *dst, size_t capacity, size_t *produced, struct zs_error *err)
{
    const size_t size = (size_t)stage->number;
    (void)scratch;
    if (n > capacity)
        return zs_fail(err, ZS_CORRUPT, "numcodecs.shuffle: expected at most %zu bytes, found %zu", capacity, n);
    if (n % size != 0)
        return zs_fail(err, ZS_CORRUPT, "numcodecs.shuffle: expected a multiple of %zu bytes, found %zu", size, n);
    exchange(src, dst, size, n / size);
    *produced = n;
    return ZS_OK;
}

static enum zs_status encode(const struct zs_stage *stage, struct zs_scratch *scratch, const void *src, size_t n,
                             struct zs_buffer *out, struct zs_error *err)
{
    const size_t size = (size_t)stage->number;
    (void)scratch;
    if (n % size != 0)
        return zs_fail(err, ZS_ARGUMENT, "numcodecs.shuffle: expected a multiple of %zu bytes, found %zu", size, n);
    ZS_TRY(zs_buffer_reset(out, n, err));
    exchange(src, out->data, n / size, size);
    out->size = n;
    return ZS_OK;
}

static const char *const members[] = {"elementsize", NULL};
const struct zs_codec zs_codec_numcodecs_shuffle = {.name = "numcodecs.shuffle",
                                                    .kind = ZS_BYTES_TO_BYTES,
                                                    .members = members,
                                                    .parse = parse,
                                                    .decode = decode,
                                                    .encode = encode};
