/* base/memory.h: allocation, owned strings and a growable byte buffer. */
#ifndef ZS_BASE_MEMORY_H
#define ZS_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Zeroed array of n elements, which may be more than a 32-bit machine can count; NULL on overflow or lack of memory,
 * never for n = 0. Freed with free(). */
void *zs_calloc(uint64_t n, size_t size);

/* Copies a string (or n bytes of one). NULL without memory. Freed with free(). */
char *zs_strdup(const char *s);
char *zs_strndup(const char *s, size_t n);

/* printf into a fresh string. NULL without memory. Freed with free(). */
char *zs_format(const char *format, ...) ZS_PRINTF(1, 2);

/* Bytes that grow. Zero-initialise; release with zs_buffer_free(). The memory is kept when the size is set to 0, so a
 * worker that keeps its buffer touches fresh memory once (first touch costs more than decoding into it). */
struct zs_buffer {
    unsigned char *data;
    size_t size;
    size_t capacity;
};

/* Makes room for `capacity` bytes without changing size. The content up to size is kept. */
enum zs_status zs_buffer_reserve(struct zs_buffer *b, size_t capacity, struct zs_error *err) ZS_MUST_CHECK;

/* Makes room for `capacity` bytes and forgets the content: no copy when it has to grow. */
enum zs_status zs_buffer_reset(struct zs_buffer *b, size_t capacity, struct zs_error *err) ZS_MUST_CHECK;

enum zs_status zs_buffer_append(struct zs_buffer *b, const void *data, size_t n, struct zs_error *err) ZS_MUST_CHECK;

void zs_buffer_free(struct zs_buffer *b);

#endif
