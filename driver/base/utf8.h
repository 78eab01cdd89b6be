/* base/utf8.h: text as UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns how many of n bytes are UTF-8, before one that is not. *count (NULL is allowed) is the number of code points
 * of these. */
size_t zs_utf8_length(const char *text, size_t n, size_t *count);
/* Whether all n bytes are UTF-8. */
static inline bool zs_utf8_check(const char *text, size_t n, size_t *count)
{
    return zs_utf8_length(text, n, count) == n;
}

/* Writes a code point and returns how many bytes it took, 1 to 4; 0 when it is none. */
size_t zs_utf8_put(uint32_t code, char out[4]);
