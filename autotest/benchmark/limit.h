/* limit.h: what the limits share: threads over the chunks of an array, and what they measure. */
#ifndef LIMIT_H
#define LIMIT_H

#include <libdeflate.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct chunk
{
    int fd;
    uint64_t offset, size;
    size_t row, column; /* of its first pixel */
};

static struct chunk *chunks; /* each is given out once by next_chunk */
static size_t chunk_count;
static atomic_size_t next_chunk;

static void fail(const char *what)
{
    fprintf(stderr, "limit: %s\n", what);
    exit(1);
}

/* Numbers of pixels, and the like, from as many arguments. */
static void take_sizes(char **arguments, size_t *const *sizes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        *sizes[i] = strtoul(arguments[i], NULL, 10);
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* As many threads as the text says, 64 at most. */
static void run_threads(const char *count, void *(*work)(void *))
{
    pthread_t threads[64];
    const size_t n = smaller(strtoul(count, NULL, 10), 64);
    for (size_t t = 0; t < n; t++)
        if (pthread_create(&threads[t], NULL, work, NULL))
            fail("no thread");
    for (size_t t = 0; t < n; t++)
        pthread_join(threads[t], NULL);
}

static unsigned long peak_kilobytes(void)
{
    char line[256];
    unsigned long kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        sscanf(line, "VmHWM: %lu", &kilobytes);
    return kilobytes;
}

/* {"seconds", "cpu", "megabytes", "crc"} since `start`; crc is the zlib.crc32 of the array. */
static inline void print_result(double start, double start_cpu, const unsigned char *array, size_t bytes)
{
    const double seconds = now(CLOCK_MONOTONIC) - start, cpu = now(CLOCK_PROCESS_CPUTIME_ID) - start_cpu;
    printf("{\"seconds\": %.6f, \"cpu\": %.6f, \"megabytes\": %.1f, \"crc\": %u}\n", seconds, cpu,
           (double)peak_kilobytes() / 1024, libdeflate_crc32(0, array, bytes));
}

#endif
