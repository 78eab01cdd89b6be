#include "zarr/name.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The character at name[*i], of n, percent escapes undone; *i is moved behind it. */
static unsigned char next_character(const char *name, size_t n, size_t *i)
{
    const size_t at = (*i)++;
    const int high = name[at] == '%' && n - at > 2 ? hex_digit(name[at + 1]) : -1;
    const int low = high >= 0 ? hex_digit(name[at + 2]) : -1;
    if (low < 0)
        return (unsigned char)name[at];
    *i += 2;
    return (unsigned char)(16 * high + low);
}

static bool is_inside(const char *name, size_t n)
{
    bool only_dots = true; /* so is an empty name */
    for (size_t i = 0; i < n;) {
        const unsigned char c = next_character(name, n, &i);
        if (c < 0x20 || c == 0x7f || c == '/' || c == '\\')
            return false;
        only_dots = only_dots && c == '.';
    }
    const bool is_drive =
        n == 2 && name[1] == ':' && ((name[0] >= 'A' && name[0] <= 'Z') || (name[0] >= 'a' && name[0] <= 'z'));
    return !only_dots && !is_drive && !(n == strlen("zarr.json") && memcmp(name, "zarr.json", n) == 0);
}

bool zs_is_inside_name(const char *name)
{
    return name != NULL && is_inside(name, strlen(name));
}

bool zs_is_node_name(const char *name)
{
    return zs_is_inside_name(name) && strncmp(name, "__", 2) != 0;
}

bool zs_path_is_clean(const char *path)
{
    for (;; path++) {
        const size_t n = strcspn(path, "/");
        if (!is_inside(path, n))
            return false;
        path += n;
        if (*path == '\0')
            return true;
    }
}

enum zs_status zs_path_clean(const char *path, char **clean, struct zs_error *err)
{
    const char *begin = path + strspn(path, "/");
    size_t n = strlen(begin);
    while (n > 0 && begin[n - 1] == '/')
        n--;
    for (size_t i = 0; i < n;) {
        size_t length = 0;
        while (i + length < n && begin[i + length] != '/')
            length++;
        if (!is_inside(begin + i, length))
            return zs_fail(err, ZS_INVALID, "path \"%.200s\": expected names separated by \"/\", found \"%.*s\"", path,
                           length > 100 ? 100 : (int)length, begin + i);
        i += length + 1;
    }
    *clean = zs_strndup(begin, n);
    return *clean != NULL ? ZS_OK : zs_fail(err, ZS_NO_MEMORY, "cannot allocate a path");
}
