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

bool zs_utf8_check(const char *text, size_t n, size_t *count)
{
    size_t points = 0, i = 0;
    for (; i < n; points++) {
        const unsigned char lead = (unsigned char)text[i];
        const size_t length = lead < 0x80   ? 1
                              : lead < 0xC0 ? 0
                              : lead < 0xE0 ? 2
                              : lead < 0xF0 ? 3
                              : lead < 0xF8 ? 4
                                            : 0;
        static const unsigned char bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
        if (length == 0 || length > n - i)
            return false;
        uint32_t code = lead & bits[length];
        for (size_t k = 1; k < length; k++) {
            const unsigned char next = (unsigned char)text[i + k];
            if ((next & 0xC0) != 0x80)
                return false;
            code = code << 6 | (next & 0x3F);
        }
        char again[4];
        if (zs_utf8_put(code, again) != length) /* overlong, or no code point */
            return false;
        i += length;
    }
    if (count != NULL)
        *count = points;
    return true;
}
