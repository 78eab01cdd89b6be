/* Printing is ours rather than cJSON's, since numbers have to come out of their marked strings anyway; and lists of
 * numbers, which zarr.json is full of, stay on one line. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "zarr/json.h"

/* Bytes of a value in a message. */
#define MAX_FOUND_BYTES 100

/* Objects, and lists with lists or objects in them, of so many levels are broken into lines. What is deeper has no
 * spaces: of a raster with overviews, whose consolidated metadata list each node at the third level, a third of the
 * document was white space, on every open over a network. */
#define BROKEN_LEVELS 3

struct printer {
    struct zs_buffer text;
    bool no_memory;
};

static void put(struct printer *p, const char *text, size_t n)
{
    if (!p->no_memory && zs_buffer_append(&p->text, text, n, NULL) != ZS_OK)
        p->no_memory = true;
}

static void put_line(struct printer *p, size_t depth)
{
    put(p, "\n", 1);
    while (depth-- > 0)
        put(p, "  ", 2);
}

static void put_string(struct printer *p, const char *text)
{
    static const char hex[] = "0123456789abcdef";
    put(p, "\"", 1);
    while (*text != '\0') {
        size_t plain = 0;
        while ((unsigned char)text[plain] >= ' ' && text[plain] != '"' && text[plain] != '\\')
            plain++;
        put(p, text, plain);
        text += plain;
        if (*text == '\0')
            break;
        const char c = *text++;
        if (c == '\n')
            put(p, "\\n", 2);
        else if (c == '\t')
            put(p, "\\t", 2);
        else if (c == '"' || c == '\\')
            put(p, (char[]){'\\', c}, 2);
        else
            put(p, (char[]){'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]}, 6);
    }
    put(p, "\"", 1);
}

static bool put_scalar(struct printer *p, const zs_json *node)
{
    const char *text;
    bool truth;
    if (zs_json_number(node, &text))
        put(p, text, strlen(text));
    else if (zs_json_string(node, &text))
        put_string(p, text);
    else if (zs_json_bool(node, &truth))
        put(p, truth ? "true" : "false", truth ? 4 : 5);
    else if (!zs_json_is_array(node) && !zs_json_is_object(node))
        put(p, "null", 4);
    else
        return false;
    return true;
}

static bool is_broken(const zs_json *node, size_t depth)
{
    bool is_nested = zs_json_is_object(node) && zs_json_first(node) != NULL;
    for (const zs_json *c = zs_json_first(node); c != NULL && !is_nested && depth < BROKEN_LEVELS; c = zs_json_next(c))
        is_nested = zs_json_is_array(c) || zs_json_is_object(c);
    return is_nested && depth < BROKEN_LEVELS;
}

/* Recurses as deep as the document is nested: ZS_JSON_MAX_DEPTH for what was parsed. */
static void put_node(struct printer *p, const zs_json *node, size_t depth)
{
    if (put_scalar(p, node))
        return;
    const bool is_object = zs_json_is_object(node), has_lines = is_broken(node, depth);
    put(p, is_object ? "{" : "[", 1);
    for (const zs_json *c = zs_json_first(node); c != NULL; c = zs_json_next(c)) {
        if (c != zs_json_first(node))
            put(p, ",", 1);
        if (has_lines)
            put_line(p, depth + 1);
        if (is_object) {
            put_string(p, zs_json_name(c) != NULL ? zs_json_name(c) : "");
            put(p, ": ", has_lines ? 2 : 1);
        }
        put_node(p, c, depth + 1);
    }
    if (has_lines)
        put_line(p, depth);
    put(p, is_object ? "}" : "]", 1);
}

/* Prints a node as one at a depth of a document. */
static char *print(const zs_json *node, size_t depth)
{
    struct printer p = {0};
    put_node(&p, node, depth);
    if (depth == 0)
        put(&p, "\n", 1);
    put(&p, "", 1);
    if (p.no_memory) {
        zs_buffer_free(&p.text);
        return NULL;
    }
    return (char *)p.text.data;
}

char *zs_json_print(const zs_json *node)
{
    return print(node, BROKEN_LEVELS);
}

char *zs_json_print_pretty(const zs_json *node)
{
    return print(node, 0);
}

void zs_error_set_found(struct zs_error *err, const zs_json *node, const char *format, ...)
{
    if (err == NULL)
        return;
    char message[sizeof err->message];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    char *text = node != NULL ? zs_json_print(node) : NULL;
    size_t n = text != NULL ? strlen(text) : 0;
    const bool is_cut = n > MAX_FOUND_BYTES;
    if (is_cut)
        for (n = MAX_FOUND_BYTES; ((unsigned char)text[n] & 0xC0) == 0x80; n--) /* not within a character */
            ;
    zs_error_set(err, "%s, found %.*s%s", message, text != NULL ? (int)n : 0, text != NULL ? text : "",
                 text == NULL ? (node == NULL ? "no such member" : "another value") : is_cut ? "..." : "");
    free(text);
}
