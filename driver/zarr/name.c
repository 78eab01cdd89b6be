#include "zarr/name.h"

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

void zs_unescape(char *text)
{
    const size_t n = strlen(text);
    size_t to = 0;
    for (size_t from = 0; from < n; to++)
        text[to] = (char)next_character(text, n, &from);
    text[to] = '\0';
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

/* The first name in a path of n characters that is none inside, of *length; NULL where all are. */
static const char *find_outside(const char *path, size_t n, size_t *length)
{
    for (size_t i = 0; i <= n; i += *length + 1) {
        *length = 0;
        while (i + *length < n && path[i + *length] != '/')
            ++*length;
        if (!is_inside(path + i, *length))
            return path + i;
    }
    return NULL;
}

bool zs_path_is_clean(const char *path)
{
    size_t length;
    return find_outside(path, strlen(path), &length) == NULL;
}

enum zs_status zs_path_clean(const char *path, char **clean, struct zs_error *err)
{
    const char *begin = path + strspn(path, "/");
    size_t n = strlen(begin), length;
    while (n > 0 && begin[n - 1] == '/')
        n--;
    const char *outside = n > 0 ? find_outside(begin, n, &length) : NULL;
    if (outside != NULL)
        return zs_fail(err, ZS_INVALID, "path \"%.200s\": expected names separated by \"/\", found \"%.*s\"", path,
                       length > 100 ? 100 : (int)length, outside);
    *clean = zs_strndup(begin, n);
    return *clean != NULL ? ZS_OK : zs_fail_memory(err);
}

/* ---- Paths ---- */

char *zs_path_up(char *path)
{
    if (path == NULL || path[0] == '\0')
        return NULL;
    char *slash = strrchr(path, '/');
    *(slash != NULL ? slash : path) = '\0';
    return path;
}

char *zs_path_parent(const char *path)
{
    return path[0] != '\0' ? zs_path_up(zs_strdup(path)) : NULL;
}

size_t zs_path_depth(const char *path)
{
    size_t depth = path[0] != '\0';
    for (; *path != '\0'; path++)
        depth += *path == '/';
    return depth;
}

const char *zs_path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

const char *zs_path_below(const char *group, const char *path)
{
    const size_t n = strlen(group);
    if (n == 0)
        return path;
    if (strncmp(group, path, n) != 0 || path[n] != '/')
        return NULL;
    return path + n + 1;
}

bool zs_path_is_within(const char *path, const char *ancestor)
{
    return strcmp(path, ancestor) == 0 || zs_path_below(ancestor, path) != NULL;
}

char *zs_path_join(const char *a, const char *b)
{
    const size_t n = strlen(b), end = n > 1 && b[n - 1] == '/' ? n - 1 : n;
    return zs_format("%s%s%.*s", a, a[0] != '\0' && n > 0 ? "/" : "", (int)end, b);
}

int zs_path_compare(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    /* The end comes first, then the slash, then everything else. */
    const int rank_a = *a == '\0' ? 0 : *a == '/' ? 1 : 2 + (unsigned char)*a;
    const int rank_b = *b == '\0' ? 0 : *b == '/' ? 1 : 2 + (unsigned char)*b;
    return rank_a - rank_b;
}

size_t zs_path_position(const void *list, size_t count, size_t size, zs_path_of_fn path_of, const char *path)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (zs_path_compare(path_of((const char *)list + middle * size), path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
