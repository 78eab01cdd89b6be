/* shardedzarr.h: reading and writing windows of sharded Zarr v3 arrays that exist. The C API of the core, below the
 * GDAL driver. Stores and arrays are made with the driver, or by any other writer of Zarr v3.
 *
 *   struct zs_error err;
 *   struct zs_array *array;
 *   if (zs_array_open_path("/data/scene.zarr", "red", NULL, &array, &err) != ZS_OK)
 *       puts(err.message);
 *   uint64_t start[2] = {0, 0}, count[2] = {256, 256};
 *   uint16_t pixels[256 * 256];
 *   if (zs_array_read(array, start, count, pixels, &err) != ZS_OK) ...
 *   zs_array_close(array);
 *
 * Terms are those of the Zarr v3 core specification and of the `sharding_indexed` codec (ZEP 2): an array is divided by
 * its chunk grid into chunks; a chunk stored by sharding_indexed is a shard, one object that holds inner chunks and an
 * index of them. Shapes, positions and counts are in elements, slowest dimension first, as in the metadata.
 *
 * All functions may be called from several threads at once unless one says otherwise. One that returns an enum
 * zs_status may return ZS_NO_MEMORY and ZS_IO besides the statuses that its comment names. Unless it returns ZS_OK it
 * sets the message of `err`, which may be NULL. */
#ifndef SHARDEDZARR_H
#define SHARDEDZARR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status and message ---- */

/* An enum whose values must not be ignored: compilers that can warn of it do. */
#if defined(__clang__)
#define ZS_CHECKED_ENUM enum __attribute__((warn_unused_result))
#elif defined(__cplusplus) && __cplusplus >= 201703L
#define ZS_CHECKED_ENUM enum [[nodiscard]]
#elif defined(__GNUC__) && __GNUC__ >= 11 && !defined(__cplusplus)
#define ZS_CHECKED_ENUM __extension__ enum [[nodiscard]]
#else
#define ZS_CHECKED_ENUM enum
#endif

ZS_CHECKED_ENUM zs_status {
    ZS_OK = 0,
    ZS_NOT_FOUND,   /* there is no such object, node or array */
    ZS_IO,          /* reading or writing failed: permission, network, disk; nothing is known about the data */
    ZS_CORRUPT,     /* stored bytes contradict themselves or the metadata: checksum, length, offsets */
    ZS_INVALID,     /* metadata that break the specification */
    ZS_UNSUPPORTED, /* metadata in order, but of a kind this build does not handle */
    ZS_ARGUMENT,    /* the caller asked for something that is not there or not possible */
    ZS_NO_MEMORY,
    ZS_CONFLICT,    /* another writer replaced what was to be replaced; nothing was written */
    ZS_NO_SPACE     /* as ZS_IO, for a disk, a quota or a limit of the file's size that is full */
};

/* Owned by the caller; the message is set on every status but ZS_OK. */
struct zs_error {
    char message[1024];
};

/* ---- Data types ---- */

/* Elements as they are handed out, in native byte order. */
enum zs_data_type {
    ZS_BOOL, /* one byte, 0 or 1 */
    ZS_INT8,
    ZS_UINT8,
    ZS_INT16,
    ZS_UINT16,
    ZS_INT32,
    ZS_UINT32,
    ZS_INT64,
    ZS_UINT64,
    ZS_FLOAT16,
    ZS_FLOAT32,
    ZS_FLOAT64,
    ZS_COMPLEX64,  /* two float32 */
    ZS_COMPLEX128, /* two float64 */
    ZS_DATETIME64, /* int64 count of a unit since 1970-01-01; INT64_MIN is NaT */
    ZS_TIMEDELTA64,
    ZS_RAW /* r8: opaque bytes */
};

/* More dimensions than numpy allows do not occur. */
#define ZS_MAX_NDIM 32

/* ---- Arrays ---- */

struct zs_array;

/* How a shard that is there is changed when some of its chunks are written. */
enum zs_update {
    ZS_UPDATE_REWRITE, /* a new one takes its place, with what is not changed copied: whole at any moment */
    ZS_UPDATE_APPEND,  /* new chunks and a new index are written behind the old ones */
    ZS_UPDATE_IN_PLACE /* chunks of fixed encoded size are overwritten: what a kill leaves half written is lost */
};

struct zs_array_options {
    int threads;          /* that decode; 0: one per processor */
    /* most of the decoded-chunk cache; 0: what the process's budget leaves (64 MiB, shared by all arrays) */
    uint64_t cache_bytes;
    /* larger chunks are not decoded, and no more than this at once; 0: 512 MiB, or four budgets of the process */
    uint64_t max_chunk_bytes;
    /* two ranges of a shard with fewer bytes between them are one request; 0: 128 KiB in remote stores, else 4 KiB */
    uint64_t merge_gap;
    /* where it is not possible (remote stores, codecs around a shard, ...) shards are rewritten */
    enum zs_update update;
};

/* Shapes and data type of an array. Pointers are borrowed from the array. */
struct zs_array_info {
    int ndim;
    const uint64_t *shape;
    /* the smallest unit that is decoded: the innermost chunk; where they differ, the largest */
    const uint64_t *chunk_shape;
    /* one stored object, likewise; equal to chunk_shape when the array is not sharded */
    const uint64_t *shard_shape;
    const char *const *dimension_names; /* ndim entries, NULL where unnamed */
    enum zs_data_type data_type;
    size_t item_size;           /* bytes of one element */
    const void *fill_value;     /* item_size bytes, native order */
    bool is_sharded;
    bool has_edges; /* stored objects are of different shapes: chunk grid rectilinear */
};

/* Opens the array at `array_path` ("" for the root) of the store at `store_path` (any GDAL virtual file system path).
 * Options may be NULL. ZS_NOT_FOUND, ZS_INVALID or ZS_UNSUPPORTED with a message that names the file and the member. */
enum zs_status zs_array_open_path(const char *store_path, const char *array_path,
                                  const struct zs_array_options *options, struct zs_array **array,
                                  struct zs_error *err);
/* Closes an array and frees it; drops pending writes (zs_array_flush()). NULL is allowed. No other call may be running
 * on the array. */
void zs_array_close(struct zs_array *array);

/* Pointers in the result are valid until the array is closed. */
struct zs_array_info zs_array_get_info(const struct zs_array *array);

/* Reads the window of `count` elements per dimension at `start` into `out`: item_size bytes an element, dense, in C
 * order. Missing chunks read as the fill value; any other fault is an error that names the object and the chunk, and
 * `out` is then undefined. ZS_ARGUMENT for a window beyond the array, ZS_CORRUPT for bytes that contradict themselves
 * or the metadata, ZS_UNSUPPORTED for a chunk above max_chunk_bytes. */
enum zs_status zs_array_read(struct zs_array *array, const uint64_t *start, const uint64_t *count, void *out,
                             struct zs_error *err);

/* Converts n elements from src (dense, native) to dst (stride in bytes between elements). Called from many threads. */
typedef void (*zs_convert_fn)(void *ctx, const void *src, void *dst, ptrdiff_t dst_stride, size_t n);

/* A window with its place in the caller's memory. Element i of the window goes to
 * data + sum of i[d] * stride[d] (bytes; may be negative). */
struct zs_window {
    uint64_t start[ZS_MAX_NDIM];
    uint64_t count[ZS_MAX_NDIM];
    void *data;
    ptrdiff_t stride[ZS_MAX_NDIM];
};

/* Reads n windows as one plan: each chunk is fetched and decoded once, however many windows it serves. `convert`
 * converts elements on their way, with `ctx`; NULL copies them as they are. Statuses as of zs_array_read(). */
enum zs_status zs_array_read_windows(struct zs_array *array, const struct zs_window *windows, size_t n,
                                     zs_convert_fn convert, void *ctx, struct zs_error *err);

/* Decodes the chunks that the windows touch into the cache, side by side, for reads that will come one by one. Ignores
 * data and strides of the windows. Stops before the chunks would take more than half of the cache. */
enum zs_status zs_array_prefetch(struct zs_array *array, const struct zs_window *windows, size_t n,
                                 struct zs_error *err);

/* ---- Writing ---- */

/* Writes n windows. Elements at window->data have `item_size` bytes and are converted by `convert`, with `ctx`; with
 * NULL they are elements of the array. Chunks that a window covers are encoded at once. Others are read, changed, and
 * pending until zs_array_flush() or until the cache's budget is full. Shards appear whole; chunks that equal the fill
 * value are not stored. ZS_ARGUMENT for a window beyond the array; ZS_INVALID, here or from zs_array_flush(), for an
 * element that a codec cannot store (a cast to integers). */
enum zs_status zs_array_write_windows(struct zs_array *array, const struct zs_window *windows, size_t n,
                                      size_t item_size, zs_convert_fn convert, void *ctx, struct zs_error *err);

/* Publishes all pending writes. On failure those that could not be stored are still pending, or lost where their shard
 * could not be published. */
enum zs_status zs_array_flush(struct zs_array *array, struct zs_error *err);

#ifdef __cplusplus
}
#endif

#endif
