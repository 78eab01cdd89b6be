/* base/utf8.h: text as UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether n bytes are UTF-8. *count (NULL is allowed) is the number of code points. */
bool zs_utf8_check(const char *text, size_t n, size_t *count);

/* Writes a code point and returns how many bytes it took, 1 to 4; 0 when it is none. */
size_t zs_utf8_put(uint32_t code, char out[4]);
