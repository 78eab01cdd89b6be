#define _GNU_SOURCE /* vasprintf() */
#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *zs_calloc(uint64_t n, size_t size)
{
    return n <= SIZE_MAX ? calloc(n != 0 ? (size_t)n : 1, size != 0 ? size : 1) : NULL;
}

char *zs_strndup(const char *text, size_t n)
{
    char *copy = malloc(n + 1);
    if (copy != NULL) {
        memcpy(copy, text, n);
        copy[n] = '\0';
    }
    return copy;
}

char *zs_strdup(const char *text)
{
    return zs_strndup(text, strlen(text));
}

char *zs_format(const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    const int n = vasprintf(&text, format, args);
    va_end(args);
    return n >= 0 ? text : NULL;
}

void *zs_grow_by(void *array, size_t count, uint64_t more, size_t *capacity, size_t size)
{
    const size_t most = SIZE_MAX / size;
    if (array != NULL && more <= *capacity - count)
        return array;
    if (count > most || more > most - count || *capacity > most / 2)
        return NULL;
    const size_t needed = count + (size_t)more, doubled = *capacity == 0 ? 16 : 2 * *capacity;
    const size_t wanted = needed > doubled ? needed : doubled;
    void *grown = realloc(array, wanted * size);
    if (grown != NULL)
        *capacity = wanted;
    return grown;
}

enum zs_status zs_names_add(struct zs_names *names, char *name, struct zs_error *err)
{
    char **grown = name != NULL ? zs_grow(names->list, names->count + 1, &names->capacity, sizeof *grown) : NULL;
    if (grown == NULL) {
        free(name);
        return zs_fail_memory(err);
    }
    names->list = grown;
    names->list[names->count++] = name;
    names->list[names->count] = NULL;
    return ZS_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void zs_names_sort(char **list)
{
    size_t n = 0;
    while (list[n] != NULL)
        n++;
    if (n > 1)
        qsort(list, n, sizeof *list, compare_names);
}

bool zs_is_one_of(const char *text, const char *const *list)
{
    for (; list != NULL && *list != NULL; list++)
        if (strcmp(text, *list) == 0)
            return true;
    return false;
}

void zs_names_free(char **list)
{
    for (char **name = list; name != NULL && *name != NULL; name++)
        free(*name);
    free(list);
}

bool zs_names_copy(const char *const *list, char ***copy)
{
    struct zs_names names = {0};
    enum zs_status status = ZS_OK;
    for (; list != NULL && *list != NULL && status == ZS_OK; list++)
        status = zs_names_add(&names, zs_strdup(*list), NULL);
    if (status != ZS_OK)
        zs_names_free(names.list);
    *copy = status == ZS_OK ? names.list : NULL;
    return status == ZS_OK;
}

size_t zs_utf8_put(uint32_t code, char out[4])
{
    static const unsigned char leads[] = {0, 0, 0xC0, 0xE0, 0xF0};
    const size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
        return 0;
    for (size_t i = n - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3F));
    out[0] = (char)(leads[n] | code);
    return n;
}

size_t zs_utf8_get(const char *text, size_t n, uint32_t *code)
{
    static const unsigned char lengths[16] = {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 2, 2, 3, 4},
                               bits[] = {0, 0x7F, 0x1F, 0x0F, 0x0F};
    const unsigned char lead = (unsigned char)text[0];
    const size_t length = lengths[lead >> 4];
    char again[4];
    *code = lead & bits[length];
    for (size_t k = 1; k < length; k++) {
        if (k == n || (text[k] & 0xC0) != 0x80)
            return 0;
        *code = *code << 6 | (text[k] & 0x3F);
    }
    return zs_utf8_put(*code, again) == length ? length : 0; /* else overlong, or no code point */
}

size_t zs_utf8_length(const char *text, size_t n)
{
    size_t i = 0;
    uint32_t code;
    for (size_t length; i < n && (length = zs_utf8_get(text + i, n - i, &code)) > 0;)
        i += length;
    return i;
}

enum zs_status zs_buffer_reserve(struct zs_buffer *buffer, size_t capacity, struct zs_error *err)
{
    if (capacity <= buffer->capacity && buffer->data != NULL)
        return ZS_OK;
    const size_t grown = buffer->capacity + buffer->capacity / 2, wanted = capacity > grown ? capacity : grown;
    void *data = realloc(buffer->data, wanted != 0 ? wanted : 1);
    if (data == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate %zu bytes", wanted);
    buffer->data = data;
    buffer->capacity = wanted;
    return ZS_OK;
}

enum zs_status zs_buffer_reset(struct zs_buffer *buffer, size_t capacity, struct zs_error *err)
{
    buffer->size = 0;
    if (capacity > buffer->capacity)
        zs_buffer_free(buffer);
    return zs_buffer_reserve(buffer, capacity, err);
}

enum zs_status zs_buffer_append(struct zs_buffer *buffer, const void *data, size_t n, struct zs_error *err)
{
    if (n > SIZE_MAX - buffer->size)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate more than %zu bytes", SIZE_MAX);
    ZS_TRY(zs_buffer_reserve(buffer, buffer->size + n, err));
    if (n != 0)
        memcpy(buffer->data + buffer->size, data, n);
    buffer->size += n;
    return ZS_OK;
}

void zs_buffer_free(struct zs_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct zs_buffer){0};
}
