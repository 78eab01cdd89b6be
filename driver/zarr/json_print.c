/* Printing is ours rather than cJSON's, since numbers have to come out of their marked strings anyway; and short lists,
 * which zarr.json is full of, stay on one line. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "zarr/json.h"

/* Bytes of a value in a message. */
#define MAX_FOUND_BYTES 100

/* Arrays of scalars up to this many characters stay on one line of a pretty document. */
#define LINE_WIDTH 100
/* Where there are consolidated metadata, each of their nodes is one line without spaces, and each attribute: of a
 * raster with overviews a third of the document was white space, on every open over a network. */
#define CONSOLIDATED "consolidated_metadata"
#define CONSOLIDATED_LEVELS 2
#define ATTRIBUTE_LEVELS 1

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

/* An array of scalars on one line; false, with nothing printed, when it is not one or becomes too long. */
static bool put_short_array(struct printer *p, const zs_json *array)
{
    const size_t before = p->text.size;
    put(p, "[", 1);
    for (const zs_json *c = zs_json_first(array); c != NULL; c = zs_json_next(c)) {
        if (c != zs_json_first(array))
            put(p, ", ", 2);
        if (!put_scalar(p, c) || p->text.size - before > LINE_WIDTH) {
            p->text.size = before;
            return false;
        }
    }
    put(p, "]", 1);
    return true;
}

/* How many levels of a member are broken into lines, where `levels` of the object are. */
static size_t levels_below(const zs_json *object, const char *name, size_t levels)
{
    const size_t fewer = levels > 0 ? levels - 1 : 0;
    if (strcmp(name, CONSOLIDATED) == 0 && fewer > CONSOLIDATED_LEVELS)
        return CONSOLIDATED_LEVELS;
    if (strcmp(name, "attributes") == 0 && fewer > ATTRIBUTE_LEVELS && zs_json_get(object, CONSOLIDATED) != NULL)
        return ATTRIBUTE_LEVELS;
    return fewer;
}

/* `levels` of the node are broken into lines. Recurses as deep as the document is nested: ZS_JSON_MAX_DEPTH for what
 * was parsed. */
static void put_node(struct printer *p, const zs_json *node, size_t depth, size_t levels)
{
    if (put_scalar(p, node))
        return;
    const bool is_object = zs_json_is_object(node);
    if (levels > 0 && !is_object && put_short_array(p, node))
        return;
    put(p, is_object ? "{" : "[", 1);
    for (const zs_json *c = zs_json_first(node); c != NULL; c = zs_json_next(c)) {
        if (c != zs_json_first(node))
            put(p, ",", 1);
        if (levels > 0)
            put_line(p, depth + 1);
        const char *name = is_object && zs_json_name(c) != NULL ? zs_json_name(c) : "";
        if (is_object) {
            put_string(p, name);
            put(p, ": ", levels > 0 ? 2 : 1);
        }
        put_node(p, c, depth + 1, levels_below(node, name, levels));
    }
    if (levels > 0 && zs_json_first(node) != NULL)
        put_line(p, depth);
    put(p, is_object ? "}" : "]", 1);
}

static char *print(const zs_json *node, bool pretty)
{
    struct printer p = {0};
    put_node(&p, node, 0, pretty ? SIZE_MAX : 0);
    if (pretty)
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
    return print(node, false);
}

char *zs_json_print_pretty(const zs_json *node)
{
    return print(node, true);
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
    char *text = node != NULL ? print(node, false) : NULL;
    size_t n = text != NULL ? strlen(text) : 0;
    const bool is_cut = n > MAX_FOUND_BYTES;
    if (is_cut)
        for (n = MAX_FOUND_BYTES; ((unsigned char)text[n] & 0xC0) == 0x80; n--) /* not within a character */
            ;
    zs_error_set(err, "%s, found %.*s%s", message, text != NULL ? (int)n : 0, text != NULL ? text : "",
                 text == NULL ? (node == NULL ? "no such member" : "another value") : is_cut ? "..." : "");
    free(text);
}
