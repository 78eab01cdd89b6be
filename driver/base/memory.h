/* base/memory.h: allocation, owned strings and lists of them, text as UTF-8, and a growable byte buffer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Zeroed array of n elements, which may be more than a 32-bit machine can count; NULL on overflow or lack of memory,
 * never for n = 0. Freed with free(). */
void *zs_calloc(uint64_t n, size_t size);

/* Copies a string (or n bytes of one). NULL without memory. Freed with free(). */
char *zs_strdup(const char *text);
char *zs_strndup(const char *text, size_t n);

/* printf into a fresh string. NULL without memory. Freed with free(). */
char *zs_format(const char *format, ...) ZS_PRINTF(1, 2);

/* Makes room for one more item of `size` bytes behind `count` of them, or for `more`. *capacity doubles, at least, when
 * it is full. Returns the array, or NULL without memory; then `array` is as it was. */
#define zs_grow(array, count, capacity, size) zs_grow_by((array), (count), 1, (capacity), (size))
void *zs_grow_by(void *array, size_t count, uint64_t more, size_t *capacity, size_t size);
/* Grow `array`, a variable or member, for so many more items, or return ZS_NO_MEMORY from the enclosing function. */
#define ZS_TRY_GROW(array, count, capacity, err) ZS_TRY_GROW_BY(array, count, 1, capacity, err)
#define ZS_TRY_GROW_BY(array, count, more, capacity, err)                                                              \
    do {                                                                                                               \
        void *const zs_grown_ = zs_grow_by((array), (count), (more), (capacity), sizeof *(array));                     \
        ZS_TRY_MEMORY(zs_grown_, err);                                                                                 \
        (array) = zs_grown_;                                                                                           \
    } while (0)

/* A NULL-terminated list of strings while it grows. Zero-initialise; `list` is NULL as long as it is empty. */
struct zs_names {
    char **list;
    size_t count, capacity;
};
/* Takes `name` over, also on failure. NULL is allowed and fails: what was to be the name had no memory. */
enum zs_status zs_names_add(struct zs_names *names, char *name, struct zs_error *err);
void zs_names_free(char **list); /* NULL is allowed */
/* Copies a list. *copy is NULL for an empty one, and without memory, when the return is false. */
bool zs_names_copy(const char *const *list, char ***copy);
void zs_names_sort(char **list); /* by their bytes */
/* Whether a text is in a NULL-terminated list; NULL is an empty one. */
bool zs_is_one_of(const char *text, const char *const *list);

/* Text as UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF. These read and write a code
 * point, and return how many bytes it takes, 1 to 4; 0 when there is none. */
size_t zs_utf8_get(const char *text, size_t n, uint32_t *code); /* at the beginning of n > 0 bytes */
size_t zs_utf8_put(uint32_t code, char out[4]);
/* Returns how many of n bytes are UTF-8, before one that is not. */
size_t zs_utf8_length(const char *text, size_t n);

/* Bytes that grow. Zero-initialise; release with zs_buffer_free(). The memory is kept when the size is set to 0, so a
 * worker that keeps its buffer touches fresh memory once (first touch costs more than decoding into it). */
struct zs_buffer {
    unsigned char *data;
    size_t size;
    size_t capacity;
};

/* Makes room for `capacity` bytes without changing size. The content up to size is kept. */
enum zs_status zs_buffer_reserve(struct zs_buffer *buffer, size_t capacity, struct zs_error *err);

/* Makes room for `capacity` bytes and forgets the content: no copy when it has to grow. */
enum zs_status zs_buffer_reset(struct zs_buffer *buffer, size_t capacity, struct zs_error *err);

/* Appends a copy of n bytes. ZS_NO_MEMORY only: then the content is as it was. */
enum zs_status zs_buffer_append(struct zs_buffer *buffer, const void *data, size_t n, struct zs_error *err);

void zs_buffer_free(struct zs_buffer *buffer); /* releases the memory; then it is as zero-initialised */
