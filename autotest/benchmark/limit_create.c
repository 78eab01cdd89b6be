/* limit_create: the time that bare encoding and writing of a sharded array takes. Nothing that a driver must do besides
 * is done: no metadata, no cache, no temporary names. The shards are on the disk at the end, as those of a copy.
 *
 *   limit_create SOURCE DIRECTORY HEIGHT WIDTH SHARD CHUNK ITEMSIZE THREADS
 *
 * SOURCE holds the pixels alone, line by line. DIRECTORY gets the shards c/Y/X: square shards of square chunks (ZSTD,
 * level 3), index at the end with room for its checksum. All chunks are encoded by THREADS threads; the one that is the
 * last of a shard flushes it while others go on. Prints {"seconds", "cpu", "megabytes", "size", "crc"}; crc is the
 * zlib.crc32 of the array, decoded again after the time was taken. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "limit.h"

struct shard
{
    int fd;
    atomic_size_t end, left; /* bytes written, chunks to write */
    size_t index_bytes;
    uint64_t *index;
};

static size_t height, width, edge, item;         /* edge: of a chunk */
static size_t across_shard, shards_across;       /* chunks of a shard, and shards of the image, side by side */
static struct shard *shards;
static const unsigned char *image;
static unsigned char *again; /* the array, decoded */

static struct shard *shard_of(const struct chunk *c, size_t *slot)
{
    const size_t y = c->row / edge, x = c->column / edge;
    *slot = y % across_shard * across_shard + x % across_shard;
    return &shards[y / across_shard * shards_across + x / across_shard];
}

static void finish(struct shard *s)
{
    const uint32_t checksum = 0;
    const off_t end = (off_t)s->end;
    if (pwrite(s->fd, s->index, s->index_bytes, end) != (ssize_t)s->index_bytes ||
        pwrite(s->fd, &checksum, 4, end + (off_t)s->index_bytes) != 4 || fdatasync(s->fd))
        fail("cannot finish a shard");
}

static void *encode(void *unused)
{
    const size_t decoded = edge * edge * item, room = ZSTD_compressBound(decoded);
    unsigned char *in = malloc(decoded), *out = malloc(room);
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    size_t i, slot;
    (void)unused;
    while ((i = atomic_fetch_add(&next_chunk, 1)) < chunk_count)
    {
        struct chunk *c = &chunks[i];
        struct shard *s = shard_of(c, &slot);
        const size_t rows = smaller(edge, height - c->row), columns = smaller(edge, width - c->column);
        if (rows < edge || columns < edge)
            memset(in, 0, decoded);
        for (size_t r = 0; r < rows; r++)
            memcpy(in + r * edge * item, image + ((c->row + r) * width + c->column) * item, columns * item);
        c->size = ZSTD_compressCCtx(zstd, out, room, in, decoded, 3);
        if (ZSTD_isError(c->size))
            fail("cannot encode a chunk");
        c->fd = s->fd;
        c->offset = atomic_fetch_add(&s->end, c->size);
        s->index[2 * slot] = c->offset;
        s->index[2 * slot + 1] = c->size;
        if (pwrite(c->fd, out, c->size, (off_t)c->offset) != (ssize_t)c->size)
            fail("cannot write a chunk");
        if (atomic_fetch_sub(&s->left, 1) == 1)
            finish(s);
    }
    return NULL;
}

static void *decode(void *unused)
{
    const size_t decoded = edge * edge * item;
    unsigned char *in = malloc(ZSTD_compressBound(decoded)), *out = malloc(decoded);
    size_t i;
    (void)unused;
    while ((i = atomic_fetch_add(&next_chunk, 1)) < chunk_count)
    {
        const struct chunk *c = &chunks[i];
        if (pread(c->fd, in, c->size, (off_t)c->offset) != (ssize_t)c->size ||
            ZSTD_decompress(out, decoded, in, c->size) != decoded)
            fail("cannot decode a chunk");
        const size_t rows = smaller(edge, height - c->row), columns = smaller(edge, width - c->column);
        for (size_t r = 0; r < rows; r++)
            memcpy(again + ((c->row + r) * width + c->column) * item, out + r * edge * item, columns * item);
    }
    return NULL;
}

static void make_shard(const char *directory, size_t y, size_t x)
{
    struct shard *s = &shards[y * shards_across + x];
    char path[4096];
    snprintf(path, sizeof path, "%s/c/%zu", directory, y);
    (void)mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/c/%zu/%zu", directory, y, x);
    s->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    s->index_bytes = across_shard * across_shard * 16;
    s->index = malloc(s->index_bytes);
    if (s->fd < 0 || !s->index)
        fail("cannot make a shard");
    memset(s->index, 0xff, s->index_bytes);
    const size_t top = y * across_shard * edge, left = x * across_shard * edge;
    for (size_t row = top; row < smaller(top + across_shard * edge, height); row += edge)
        for (size_t column = left; column < smaller(left + across_shard * edge, width); column += edge, s->left++)
            chunks[chunk_count++] = (struct chunk){.row = row, .column = column};
}

int main(int argc, char **argv)
{
    if (argc != 9)
        fail("wrong arguments");
    size_t side; /* of a shard */
    take_sizes(argv + 3, (size_t *[]){&height, &width, &side, &edge, &item}, 5);
    across_shard = side / edge;
    const size_t bytes = height * width * item;

    const double start = now(CLOCK_MONOTONIC), start_cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    const size_t shards_down = (height + side - 1) / side;
    shards_across = (width + side - 1) / side;
    shards = calloc(shards_down * shards_across, sizeof *shards);
    chunks = calloc(shards_down * shards_across * across_shard * across_shard, sizeof *chunks);
    const int source = open(argv[1], O_RDONLY | O_CLOEXEC);
    image = mmap(NULL, bytes, PROT_READ, MAP_SHARED, source, 0);
    if (!shards || !chunks || image == MAP_FAILED)
        fail("no source, or no memory");
    char path[4096];
    snprintf(path, sizeof path, "%s/c", argv[2]);
    if (mkdir(argv[2], 0777) || mkdir(path, 0777))
        fail("cannot make the directory");
    for (size_t i = 0; i < shards_down * shards_across; i++)
        make_shard(argv[2], i / shards_across, i % shards_across);
    run_threads(argv[8], encode);
    const double seconds = now(CLOCK_MONOTONIC) - start, cpu = now(CLOCK_PROCESS_CPUTIME_ID) - start_cpu;
    const double megabytes = (double)peak_kilobytes() / 1024;

    size_t size = 0;
    for (size_t i = 0; i < shards_down * shards_across; i++)
        size += shards[i].end + shards[i].index_bytes + 4;
    again = malloc(bytes);
    if (!again)
        fail("no memory");
    next_chunk = 0;
    run_threads(argv[8], decode);
    printf("{\"seconds\": %.6f, \"cpu\": %.6f, \"megabytes\": %.1f, \"size\": %zu, \"crc\": %u}\n", seconds, cpu,
           megabytes, size, libdeflate_crc32(0, again, bytes));
    return 0;
}
