/* limit_map: the time that one map takes out of chunks that are as deep as a series is long, for who does nothing but
 * read the blosc blocks that hold it and decode them.
 *
 *   limit_map DIRECTORY STEPS HEIGHT WIDTH SHARD_HEIGHT SHARD_WIDTH CHUNK STEP THREADS
 *
 * DIRECTORY holds the shards c/0/Y/X of an array of STEPS x HEIGHT x WIDTH float32, in chunks of STEPS x CHUNK x CHUNK,
 * index at the end with a checksum (not verified). Of each chunk come the header, the offsets and the blocks that hold
 * the map, which c-blosc's blosc_getitem() decodes. Prints what limit does. */
#define _GNU_SOURCE
#include <blosc.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "limit.h"

#define ITEM 4

static size_t steps, height, width, down, across, edge, step; /* down, across: of a shard */
static unsigned char *image;

static void get(const struct chunk *c, unsigned char *frame, size_t from, size_t to)
{
    if (to > c->size || pread(c->fd, frame + from, to - from, (off_t)(c->offset + from)) != (ssize_t)(to - from))
        fail("cannot read a chunk");
}

static size_t number(const unsigned char *p)
{
    return p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
}

static void read_index(const char *directory, size_t y, size_t x)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/c/0/%zu/%zu", directory, y, x);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    const size_t columns = across / edge, n = down / edge * columns, bytes = n * 16;
    uint64_t *index = malloc(bytes);
    if (fd < 0 || !index || fstat(fd, &status) || pread(fd, index, bytes, status.st_size - (off_t)bytes - 4) != (ssize_t)bytes)
        fail("cannot read an index");
    for (size_t i = 0; i < n; i++)
        chunks[chunk_count++] = (struct chunk){fd, index[2 * i], index[2 * i + 1], y * down + i / columns * edge,
                                               x * across + i % columns * edge};
    free(index);
}

static void *work(void *unused)
{
    const size_t map = edge * edge, room = 2 * steps * map * ITEM + 4096;
    /* Only what is read of a frame is ever touched. */
    unsigned char *frame = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    unsigned char *pixels = malloc(map * ITEM);
    size_t i;
    (void)unused;
    if (frame == MAP_FAILED || !pixels)
        fail("no memory");
    while ((i = atomic_fetch_add(&next_chunk, 1)) < chunk_count)
    {
        const struct chunk *c = &chunks[i];
        if (c->size > room)
            fail("a chunk is too large");
        get(c, frame, 0, smaller(c->size, 4096));
        const size_t block = number(frame + 8), count = (number(frame + 4) + block - 1) / block;
        const size_t first = step * map * ITEM / block, last = ((step + 1) * map * ITEM - 1) / block;
        if (16 + 4 * count > 4096)
            get(c, frame, 4096, 16 + 4 * count);
        get(c, frame, number(frame + 16 + 4 * first), last + 1 < count ? number(frame + 16 + 4 * (last + 1)) : c->size);
        if (blosc_getitem(frame, (int)(step * map), (int)map, pixels) != (int)(map * ITEM))
            fail("cannot decode a block");
        for (size_t r = 0; r < edge; r++)
            memcpy(image + ((c->row + r) * width + c->column) * ITEM, pixels + r * edge * ITEM, edge * ITEM);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 10)
        fail("wrong arguments");
    take_sizes(argv + 2, (size_t *[]){&steps, &height, &width, &down, &across, &edge, &step}, 7);
    const size_t bytes = height * width * ITEM;

    const double start = now(CLOCK_MONOTONIC), start_cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    chunks = malloc(height / edge * (width / edge) * sizeof *chunks);
    image = malloc(bytes);
    if (!chunks || !image)
        fail("no memory");
    for (size_t y = 0; y < height / down; y++)
        for (size_t x = 0; x < width / across; x++)
            read_index(argv[1], y, x);
    run_threads(argv[9], work);
    print_result(start, start_cpu, image, bytes);
    return 0;
}
