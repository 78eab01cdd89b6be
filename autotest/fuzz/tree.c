#define _GNU_SOURCE /* memmem */
#include "tree.h"

#include <stdbool.h>
#include <stdio.h>

static bool is_harmless(const char *path)
{
    const size_t n = strlen(path);
    return n > 0 && path[0] != '/' && path[n - 1] != '/' && strstr(path, "..") == NULL && strstr(path, "//") == NULL &&
           strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") == n;
}

void tree_parse(const uint8_t *data, size_t size, struct tree *tree)
{
    const uint8_t *end = data + size, *at = data;
    tree->count = 0;
    if (size < 2 || memcmp(data, "@@", 2) != 0)
        return;
    while (at < end && tree->count < TREE_FILES) {
        at += 2;
        const uint8_t *line = memchr(at, '\n', (size_t)(end - at));
        if (line == NULL)
            return;
        const uint8_t *next = memmem(line, (size_t)(end - line), "\n@@", 3);
        const uint8_t *stop = next != NULL && next > line ? next : end;
        struct tree_file *f = &tree->files[tree->count];
        if (next == line) { /* an empty file */
            stop = line;
            next = line;
        }
        (void)snprintf(f->path, sizeof f->path, "%.*s", (int)(line - at), (const char *)at);
        f->data = line < stop ? line + 1 : line;
        f->size = line < stop ? (size_t)(stop - line - 1) : 0;
        if (is_harmless(f->path))
            tree->count++;
        at = next != NULL ? next + 1 : end;
    }
}
