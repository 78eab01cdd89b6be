/* limit: the time that bare reading and decoding of a sharded array takes. Nothing that a driver must do besides is
 * done: no metadata, no cache, no checks but those without which it would crash.
 *
 *   limit DIRECTORY HEIGHT WIDTH SHARD CHUNK ITEMSIZE zstd|blosc|gzip|none THREADS
 *
 * DIRECTORY holds the shards c/Y/X of a two-dimensional array: square shards of square chunks, index at the end with a
 * checksum (not verified). All chunks are read with pread and decoded by THREADS threads into one fresh buffer of the
 * whole array, the first touch of its memory included. Prints {"seconds", "cpu", "megabytes", "crc"}; crc is the
 * zlib.crc32 of the array. */
#define _GNU_SOURCE
#include <blosc.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "limit.h"

static size_t height, width, shard, edge, item; /* edge: of a chunk */
static const char *codec;
static unsigned char *image;

static void read_index(const char *directory, size_t y, size_t x)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/c/%zu/%zu", directory, y, x);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0)
        return; /* all fill value */
    const size_t across = shard / edge, bytes = across * across * 16;
    uint64_t *index = malloc(bytes);
    if (!index || fstat(fd, &status) || pread(fd, index, bytes, status.st_size - (off_t)bytes - 4) != (ssize_t)bytes)
        fail("cannot read an index");
    for (size_t i = 0; i < across * across; i++)
    {
        const size_t row = y * shard + i / across * edge, column = x * shard + i % across * edge;
        if (index[2 * i] != UINT64_MAX && row < height && column < width)
            chunks[chunk_count++] = (struct chunk){fd, index[2 * i], index[2 * i + 1], row, column};
    }
    free(index);
}

static void *work(void *unused)
{
    const size_t decoded = edge * edge * item, room = 2 * decoded + 4096;
    unsigned char *in = malloc(room), *out = malloc(decoded);
    ZSTD_DCtx *zstd = ZSTD_createDCtx();
    struct libdeflate_decompressor *gzip = libdeflate_alloc_decompressor();
    size_t i;
    (void)unused;
    while ((i = atomic_fetch_add(&next_chunk, 1)) < chunk_count)
    {
        const struct chunk *c = &chunks[i];
        unsigned char *pixels = out;
        size_t got = decoded;
        if (c->size > room || pread(c->fd, in, c->size, (off_t)c->offset) != (ssize_t)c->size)
            fail("cannot read a chunk");
        if (*codec == 'z')
            got = ZSTD_decompressDCtx(zstd, out, decoded, in, c->size);
        else if (*codec == 'b')
            got = (size_t)blosc_decompress_ctx(in, out, decoded, 1);
        else if (*codec == 'g')
            libdeflate_gzip_decompress(gzip, in, c->size, out, decoded, &got);
        else
            pixels = in;
        if (got != decoded)
            fail("cannot decode a chunk");
        const size_t rows = smaller(edge, height - c->row), columns = smaller(edge, width - c->column);
        for (size_t r = 0; r < rows; r++)
            memcpy(image + ((c->row + r) * width + c->column) * item, pixels + r * edge * item, columns * item);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 9)
        fail("wrong arguments");
    take_sizes(argv + 2, (size_t *[]){&height, &width, &shard, &edge, &item}, 5);
    codec = argv[7];
    const size_t bytes = height * width * item;

    const double start = now(CLOCK_MONOTONIC), start_cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    const size_t down = (height + shard - 1) / shard, across = (width + shard - 1) / shard;
    chunks = malloc(down * across * (shard / edge) * (shard / edge) * sizeof *chunks);
    /* Huge pages where the kernel gives them on request: numpy asks for them too. */
    image = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!chunks || image == MAP_FAILED)
        fail("no memory");
    madvise(image, bytes, MADV_HUGEPAGE);
    for (size_t y = 0; y < down; y++)
        for (size_t x = 0; x < across; x++)
            read_index(argv[1], y, x);
    run_threads(argv[8], work);
    print_result(start, start_cpu, image, bytes);
    return 0;
}
