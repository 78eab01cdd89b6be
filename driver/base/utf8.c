#include "base/utf8.h"

size_t zs_utf8_put(uint32_t code, char out[4])
{
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
        return 0;
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    const size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code & 0x3F));
        code >>= 6;
    }
    out[0] = (char)((n == 2 ? 0xC0 : n == 3 ? 0xE0 : 0xF0) | code);
    return n;
}

/* How many of n bytes, n > 0, the code point at their beginning has; 0 where there is none. */
static size_t length_at(const char *text, size_t n)
{
    static const unsigned char lengths[16] = {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 2, 2, 3, 4},
                               bits[] = {0, 0x7F, 0x1F, 0x0F, 0x0F};
    const unsigned char lead = (unsigned char)text[0];
    const size_t length = lengths[lead >> 4];
    if (length > n)
        return 0;
    uint32_t code = lead & bits[length];
    for (size_t k = 1; k < length; k++) {
        if ((text[k] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (text[k] & 0x3F);
    }
    char again[4];
    return zs_utf8_put(code, again) == length ? length : 0; /* else overlong, or no code point */
}

size_t zs_utf8_length(const char *text, size_t n, size_t *count)
{
    size_t points = 0, i = 0;
    for (size_t length; i < n && (length = length_at(text + i, n - i)) > 0; i += length)
        points++;
    if (count != NULL)
        *count = points;
    return i;
}
