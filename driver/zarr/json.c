#define _POSIX_C_SOURCE 200809L /* newlocale, uselocale */
#include "zarr/json.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/memory.h"

/* In the tree every number is a string: the mark, a byte that UTF-8 does not have, then the token as it was written. So
 * 64-bit integers are exact, printing gives back what was read, and neither cJSON's strtod nor its sprintf, which
 * follow LC_NUMERIC, see a number. */
#define MARK '\xFF'
/* What is put around a token: two quotes and the mark. */
#define MARK_BYTES 3

/* ---- Numbers become strings, and what cJSON is lenient about is refused ---- */

/* Characters of an escape: a backslash, u and four digits. */
#define ESCAPE_LENGTH 6

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The code unit of such an escape at the beginning of n bytes; -1: it is malformed, or something else. */
static long unit_at(const char *text, size_t n)
{
    char digits[ESCAPE_LENGTH - 1] = "";
    if (n < ESCAPE_LENGTH || text[0] != '\\' || text[1] != 'u')
        return -1;
    memcpy(digits, text + 2, sizeof digits - 1);
    return strspn(digits, "0123456789abcdefABCDEF") == sizeof digits - 1 ? strtol(digits, NULL, 16) : -1;
}

static bool is_between(long unit, long low, long high)
{
    return unit >= low && unit <= high;
}

/* Copies the string whose first quote is text[*at]; *at is then behind it. What a C string of UTF-8 cannot hold, an
 * escaped NUL and a surrogate without a pair, is U+FFFD. */
static enum zs_status scan_string(const char *text, size_t length, size_t *at, struct zs_buffer *out,
                                  struct zs_error *err)
{
    size_t i = *at + 1, from = *at;
    if (i < length && text[i] == MARK) /* would be taken for a number */
        return zs_fail(err, ZS_INVALID, "not JSON: byte 0xff at offset %zu", i);
    while (i < length && text[i] != '"') {
        const size_t begin = i, left = length - i;
        i += text[begin] == '\\' ? 2 : 1;
        if (text[begin] != '\\' || left < 2 || text[begin + 1] != 'u')
            continue;
        const long unit = unit_at(text + begin, left);
        const long low = left > ESCAPE_LENGTH ? unit_at(text + begin + ESCAPE_LENGTH, left - ESCAPE_LENGTH) : -1;
        const bool is_pair = is_between(unit, 0xD800, 0xDBFF) && is_between(low, 0xDC00, 0xDFFF);
        if (unit < 0)
            return zs_fail(err, ZS_INVALID, "not JSON: malformed escape at offset %zu", begin); /* a NUL to cJSON */
        i = begin + (is_pair ? 2 * ESCAPE_LENGTH : ESCAPE_LENGTH);
        if (!is_pair && (unit == 0 || is_between(unit, 0xD800, 0xDFFF))) {
            ZS_TRY(zs_buffer_append(out, text + from, begin - from, err));
            ZS_TRY(zs_buffer_append(out, "\\ufffd", ESCAPE_LENGTH, err));
            from = i;
        }
    }
    if (i >= length)
        return zs_fail(err, ZS_INVALID, "not JSON: the string at offset %zu does not end", *at);
    *at = i + 1;
    return zs_buffer_append(out, text + from, i + 1 - from, err);
}

/* Copies the number that begins at text[*at] as a marked string. */
static enum zs_status scan_number(const char *text, size_t length, size_t *at, struct zs_buffer *out,
                                  struct zs_error *err)
{
    const size_t n = zs_number_length(text + *at, length - *at), end = *at + n;
    /* "1x" or "1-2": let the message be about the number, not about the string that we would make of it. */
    if (n == 0 || (end < length && !is_space(text[end]) && memchr(",]}", text[end], 3) == NULL))
        return zs_fail(err, ZS_INVALID, "not JSON: malformed number at offset %zu", *at);
    ZS_TRY(zs_buffer_append(out, (const char[]){'"', MARK}, 2, err));
    ZS_TRY(zs_buffer_append(out, text + *at, n, err));
    *at = end;
    return zs_buffer_append(out, "\"", 1, err);
}

static enum zs_status scan(const char *text, size_t length, struct zs_buffer *out, struct zs_error *err)
{
    size_t depth = 0, values = 0;
    if (length > ZS_JSON_MAX_BYTES)
        return zs_fail(err, ZS_INVALID, "JSON of %zu bytes, expected at most %zu", length, ZS_JSON_MAX_BYTES);
    const char *nul = length > 0 ? memchr(text, '\0', length) : NULL;
    if (nul != NULL) /* cJSON would end a string there, or take it for a space */
        return zs_fail(err, ZS_INVALID, "not JSON: NUL byte at offset %zu", (size_t)(nul - text));
    for (size_t i = 0, n; i < length;) {
        const char c = text[i];
        if (c == '"') {
            ZS_TRY(scan_string(text, length, &i, out, err));
            continue;
        }
        if (c == '-' || c == 'N' || c == 'I' || (c >= '0' && c <= '9')) {
            ZS_TRY(scan_number(text, length, &i, out, err));
            continue;
        }
        if ((unsigned char)c < ' ' && !is_space(c))
            return zs_fail(err, ZS_INVALID, "not JSON: byte 0x%02x at offset %zu", (unsigned)(unsigned char)c, i);
        if ((c == '[' || c == '{') && ++depth > ZS_JSON_MAX_DEPTH)
            return zs_fail(err, ZS_INVALID, "JSON nested deeper than %d levels at offset %zu", ZS_JSON_MAX_DEPTH, i);
        depth -= (c == ']' || c == '}') && depth > 0;
        values += c == '[' || c == '{' || c == ',';
        if (values > ZS_JSON_MAX_VALUES)
            return zs_fail(err, ZS_INVALID, "JSON of more than %zu values", ZS_JSON_MAX_VALUES);
        for (n = 1; is_space(c) && i + n < length && is_space(text[i + n]);)
            n++;
        ZS_TRY(zs_buffer_append(out, text + i, n, err));
        i += n;
    }
    return zs_buffer_append(out, "", 1, err);
}

/* ---- Parsing ---- */

static int by_name(const void *a, const void *b)
{
    const zs_json *x = *(zs_json *const *)a, *y = *(zs_json *const *)b;
    const int order = strcmp(x->string, y->string);
    return order != 0 ? order : x->valueint < y->valueint ? -1 : 1;
}

/* Keeps the last of members that have one name. False without memory. */
static bool keep_last(zs_json *object)
{
    zs_json *few[16], **list = few;
    const size_t n = zs_json_size(object);
    if (n > sizeof few / sizeof few[0] && (list = zs_calloc(n, sizeof *list)) == NULL)
        return false;
    size_t count = 0;
    for (zs_json *m = object->child; m != NULL; m = m->next) {
        m->valueint = (int)count; /* nothing else uses that: there are no numbers */
        list[count++] = m;
    }
    qsort(list, count, sizeof(zs_json *), by_name);
    for (size_t i = 0; i + 1 < count; i++)
        if (strcmp(list[i]->string, list[i + 1]->string) == 0)
            cJSON_Delete(cJSON_DetachItemViaPointer(object, list[i]));
    if (list != few)
        free(list);
    return true;
}

/* In each object of a document. */
static bool keep_last_within(zs_json *node)
{
    bool ok = !cJSON_IsObject(node) || keep_last(node);
    for (zs_json *c = cJSON_IsObject(node) || cJSON_IsArray(node) ? node->child : NULL; c != NULL && ok; c = c->next)
        ok = keep_last_within(c);
    return ok;
}

/* Where in the original text is what the scan put at `rewritten`. */
static size_t original_offset(const char *marked, size_t rewritten)
{
    size_t marks = 0;
    for (size_t i = 0; i < rewritten; i++)
        marks += marked[i] == MARK;
    return rewritten - MARK_BYTES * marks;
}

enum zs_status zs_json_parse(const char *text, size_t length, zs_json **root, struct zs_error *err)
{
    struct zs_buffer marked = {0};
    zs_json *parsed = NULL;
    enum zs_status status = zs_buffer_reserve(&marked, length + length / 4 + 1, err);
    if (status == ZS_OK)
        status = scan(text, length, &marked, err);
    if (status == ZS_OK) {
        const char *begin = (const char *)marked.data, *end = begin;
        /* Counting the NUL in the length makes cJSON look for it behind the value: nothing may trail. */
        parsed = cJSON_ParseWithLengthOpts(begin, marked.size, &end, true);
        if (parsed == NULL)
            status = zs_fail(err, ZS_INVALID, "not JSON near offset %zu of %zu",
                             original_offset(begin, (size_t)(end - begin)), length);
        else if (!keep_last_within(parsed))
            status = zs_fail_memory(err);
    }
    zs_buffer_free(&marked);
    if (status == ZS_OK && root != NULL)
        *root = parsed;
    else
        cJSON_Delete(parsed);
    return status;
}

void zs_json_free(zs_json *root)
{
    cJSON_Delete(root);
}

/* ---- Looking ---- */

static bool is_number(const zs_json *node)
{
    return cJSON_IsString(node) && node->valuestring[0] == MARK;
}

enum zs_json_type zs_json_typeof(const zs_json *node)
{
    if (is_number(node))
        return ZS_JSON_NUMBER;
    if (cJSON_IsString(node))
        return ZS_JSON_STRING;
    if (cJSON_IsBool(node))
        return ZS_JSON_BOOL;
    if (cJSON_IsArray(node))
        return ZS_JSON_ARRAY;
    return cJSON_IsObject(node) ? ZS_JSON_OBJECT : ZS_JSON_NULL;
}

bool zs_json_is_object(const zs_json *node)
{
    return cJSON_IsObject(node);
}

bool zs_json_is_array(const zs_json *node)
{
    return cJSON_IsArray(node);
}

const zs_json *zs_json_get(const zs_json *object, const char *name)
{
    return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, name) : NULL;
}

zs_json *zs_json_get_mutable(zs_json *object, const char *name)
{
    return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, name) : NULL;
}

const zs_json *zs_json_first(const zs_json *node)
{
    return cJSON_IsArray(node) || cJSON_IsObject(node) ? node->child : NULL;
}

const zs_json *zs_json_next(const zs_json *child)
{
    return child != NULL ? child->next : NULL;
}

const char *zs_json_name(const zs_json *member)
{
    return member != NULL ? member->string : NULL;
}

size_t zs_json_size(const zs_json *node)
{
    size_t n = 0;
    for (const zs_json *child = zs_json_first(node); child != NULL; child = child->next)
        n++;
    return n;
}

const zs_json *zs_json_at(const zs_json *array, size_t index)
{
    const zs_json *child = cJSON_IsArray(array) ? array->child : NULL;
    while (child != NULL && index-- > 0)
        child = child->next;
    return child;
}

bool zs_json_string(const zs_json *node, const char **out)
{
    if (!cJSON_IsString(node) || is_number(node))
        return false;
    *out = node->valuestring;
    return true;
}

bool zs_json_one_text(const zs_json *node, const char **text)
{
    return zs_json_string(zs_json_is_array(node) && zs_json_size(node) == 1 ? zs_json_at(node, 0) : node, text);
}

const char *zs_json_text(const zs_json *object, const char *name, const char *otherwise)
{
    const char *text = otherwise;
    zs_json_one_text(zs_json_get(object, name), &text);
    return text;
}

bool zs_json_equals(const zs_json *node, const char *expected)
{
    const char *text;
    return zs_json_string(node, &text) && strcmp(text, expected) == 0;
}

bool zs_json_is_same(const zs_json *a, const zs_json *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    if ((a->type & 0xFF) != (b->type & 0xFF) || (cJSON_IsString(a) && strcmp(a->valuestring, b->valuestring) != 0))
        return false;
    const zs_json *y = zs_json_first(b);
    for (const zs_json *x = zs_json_first(a); x != NULL; x = x->next) {
        const bool is_next = x->string == NULL || (y != NULL && strcmp(x->string, y->string) == 0);
        const zs_json *other = is_next ? y : zs_json_get(b, x->string);
        if (other == NULL || !zs_json_is_same(x, other))
            return false;
        y = y != NULL ? y->next : NULL;
    }
    return y == NULL;
}

bool zs_json_bool(const zs_json *node, bool *out)
{
    if (!cJSON_IsBool(node))
        return false;
    *out = cJSON_IsTrue(node);
    return true;
}

bool zs_json_number(const zs_json *node, const char **token)
{
    if (!is_number(node))
        return false;
    *token = node->valuestring + 1;
    return true;
}

bool zs_json_double(const zs_json *node, double *out)
{
    const char *token;
    return zs_json_number(node, &token) && zs_number_double(token, out);
}

bool zs_json_int64(const zs_json *node, int64_t *out)
{
    const char *token;
    return zs_json_number(node, &token) && zs_number_int64(token, out);
}

bool zs_json_uint64(const zs_json *node, uint64_t *out)
{
    const char *token;
    return zs_json_number(node, &token) && zs_number_uint64(token, out);
}

bool zs_json_doubles(const zs_json *array, double *out, size_t n)
{
    bool are_numbers = cJSON_IsArray(array) && zs_json_size(array) == n;
    for (const zs_json *c = zs_json_first(array); c != NULL && are_numbers; c = c->next)
        are_numbers = zs_json_double(c, out++);
    return are_numbers;
}

/* ---- Building ---- */

zs_json *zs_json_new_object(void)
{
    return cJSON_CreateObject();
}

zs_json *zs_json_new_array(void)
{
    return cJSON_CreateArray();
}

zs_json *zs_json_copy(const zs_json *node)
{
    zs_json *copy = cJSON_Duplicate(node, true);
    if (copy != NULL && copy->string != NULL) { /* detached: its new parent gives it a name */
        cJSON_free(copy->string);
        copy->string = NULL;
    }
    return copy;
}

zs_json *zs_json_add(zs_json *parent, const char *name, zs_json *node)
{
    bool added = false;
    if (node != NULL && cJSON_IsArray(parent) && name == NULL)
        added = cJSON_AddItemToArray(parent, node);
    else if (node != NULL && cJSON_IsObject(parent) && name != NULL)
        added = cJSON_AddItemToObject(parent, name, node);
    if (!added) {
        cJSON_Delete(node);
        return NULL;
    }
    return node;
}

static zs_json *create_number(const char *token)
{
    char marked[ZS_NUMBER_SIZE + 1] = {MARK};
    (void)snprintf(marked + 1, sizeof marked - 1, "%s", token);
    return cJSON_CreateString(marked);
}

/* A text with the mark is no UTF-8, and no number either: it begins with U+FFFD. */
static zs_json *create_string(const char *text)
{
    if (text[0] != MARK)
        return cJSON_CreateString(text);
    char *shown = zs_format("\xEF\xBF\xBD%s", text + 1);
    zs_json *node = shown != NULL ? cJSON_CreateString(shown) : NULL;
    free(shown);
    return node;
}

zs_json *zs_json_add_object(zs_json *parent, const char *name)
{
    return zs_json_add(parent, name, cJSON_CreateObject());
}

zs_json *zs_json_add_array(zs_json *parent, const char *name)
{
    return zs_json_add(parent, name, cJSON_CreateArray());
}

zs_json *zs_json_add_string(zs_json *parent, const char *name, const char *value)
{
    return zs_json_add(parent, name, create_string(value));
}

zs_json *zs_json_add_double(zs_json *parent, const char *name, double value)
{
    char text[ZS_NUMBER_SIZE];
    zs_number_print(value, text);
    const bool finite = value - value == 0;
    return finite ? zs_json_add(parent, name, create_number(text)) : zs_json_add_string(parent, name, text);
}

zs_json *zs_json_add_int64(zs_json *parent, const char *name, int64_t value)
{
    char text[ZS_NUMBER_SIZE];
    (void)snprintf(text, sizeof text, "%" PRId64, value);
    return zs_json_add(parent, name, create_number(text));
}

zs_json *zs_json_add_uint64(zs_json *parent, const char *name, uint64_t value)
{
    char text[ZS_NUMBER_SIZE];
    (void)snprintf(text, sizeof text, "%" PRIu64, value);
    return zs_json_add(parent, name, create_number(text));
}

zs_json *zs_json_add_bool(zs_json *parent, const char *name, bool value)
{
    return zs_json_add(parent, name, cJSON_CreateBool(value));
}

zs_json *zs_json_add_null(zs_json *parent, const char *name)
{
    return zs_json_add(parent, name, cJSON_CreateNull());
}

zs_json *zs_json_add_raw(zs_json *parent, const char *name, const char *json)
{
    zs_json *node = NULL;
    if (zs_json_parse(json, strlen(json), &node, NULL) != ZS_OK)
        return NULL;
    return zs_json_add(parent, name, node);
}

zs_json *zs_json_set(zs_json *object, const char *name, zs_json *node)
{
    if (node == NULL || zs_json_get(object, name) == NULL)
        return zs_json_add(object, name, node);
    if (!cJSON_ReplaceItemInObjectCaseSensitive(object, name, node)) {
        cJSON_Delete(node);
        return NULL;
    }
    return node;
}

bool zs_json_set_string(zs_json *object, const char *name, const char *value)
{
    zs_json *node = create_string(value);
    return node != NULL && zs_json_set(object, name, node) != NULL;
}

bool zs_json_set_double(zs_json *object, const char *name, double value)
{
    zs_json_remove(object, name);
    return zs_json_add_double(object, name, value) != NULL;
}

void zs_json_remove(zs_json *object, const char *name)
{
    if (cJSON_IsObject(object))
        cJSON_DeleteItemFromObjectCaseSensitive(object, name);
}

/* ---- Printing. It is ours rather than cJSON's, since numbers have to come out of their marked strings anyway; and
 * lists of numbers, which zarr.json is full of, stay on one line. ---- */

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

static void print_text(struct printer *p, const char *text, size_t n)
{
    if (!p->no_memory && zs_buffer_append(&p->text, text, n, NULL) != ZS_OK)
        p->no_memory = true;
}

static void print_line(struct printer *p, size_t depth)
{
    print_text(p, "\n", 1);
    while (depth-- > 0)
        print_text(p, "  ", 2);
}

static void print_string(struct printer *p, const char *text)
{
    static const char hex[] = "0123456789abcdef";
    print_text(p, "\"", 1);
    while (*text != '\0') {
        size_t plain = 0;
        while ((unsigned char)text[plain] >= ' ' && text[plain] != '"' && text[plain] != '\\')
            plain++;
        print_text(p, text, plain);
        text += plain;
        if (*text == '\0')
            break;
        const char c = *text++;
        if (c == '\n')
            print_text(p, "\\n", 2);
        else if (c == '\t')
            print_text(p, "\\t", 2);
        else if (c == '"' || c == '\\')
            print_text(p, (char[]){'\\', c}, 2);
        else
            print_text(p, (char[]){'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]}, 6);
    }
    print_text(p, "\"", 1);
}

static bool print_scalar(struct printer *p, const zs_json *node)
{
    const char *text;
    bool truth;
    if (zs_json_number(node, &text))
        print_text(p, text, strlen(text));
    else if (zs_json_string(node, &text))
        print_string(p, text);
    else if (zs_json_bool(node, &truth))
        print_text(p, truth ? "true" : "false", truth ? 4 : 5);
    else if (!zs_json_is_array(node) && !zs_json_is_object(node))
        print_text(p, "null", 4);
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
static void print_node(struct printer *p, const zs_json *node, size_t depth)
{
    if (print_scalar(p, node))
        return;
    const bool is_object = zs_json_is_object(node), has_lines = is_broken(node, depth);
    print_text(p, is_object ? "{" : "[", 1);
    for (const zs_json *c = zs_json_first(node); c != NULL; c = zs_json_next(c)) {
        if (c != zs_json_first(node))
            print_text(p, ",", 1);
        if (has_lines)
            print_line(p, depth + 1);
        if (is_object) {
            print_string(p, zs_json_name(c) != NULL ? zs_json_name(c) : "");
            print_text(p, ": ", has_lines ? 2 : 1);
        }
        print_node(p, c, depth + 1);
    }
    if (has_lines)
        print_line(p, depth);
    print_text(p, is_object ? "}" : "]", 1);
}

/* Prints a node as one at a depth of a document. */
static char *print(const zs_json *node, size_t depth)
{
    struct printer p = {0};
    print_node(&p, node, depth);
    if (depth == 0)
        print_text(&p, "\n", 1);
    print_text(&p, "", 1);
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

/* ---- Number tokens ---- */

/* strtod and printf follow the thread's locale: this one is switched to around them. */
static locale_t enter_c_locale(void)
{
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return c != (locale_t)0 ? uselocale(c) : (locale_t)0;
}

static void leave_c_locale(locale_t before)
{
    if (before != (locale_t)0)
        freelocale(uselocale(before));
}

static size_t digits(const char *text, size_t n)
{
    size_t i = 0;
    while (i < n && text[i] >= '0' && text[i] <= '9')
        i++;
    return i;
}

static bool begins_with(const char *text, size_t n, const char *word)
{
    return n >= strlen(word) && memcmp(text, word, strlen(word)) == 0;
}

size_t zs_number_length(const char *text, size_t n)
{
    if (begins_with(text, n, "NaN"))
        return 3;
    size_t i = n > 0 && text[0] == '-' ? 1 : 0;
    if (begins_with(text + i, n - i, "Infinity"))
        return i + 8;
    const size_t whole = digits(text + i, n - i);
    if (whole == 0 || (whole > 1 && text[i] == '0'))
        return 0;
    i += whole;
    if (i < n && text[i] == '.') {
        const size_t fraction = digits(text + i + 1, n - i - 1);
        if (fraction == 0)
            return 0;
        i += 1 + fraction;
    }
    if (i < n && (text[i] == 'e' || text[i] == 'E')) {
        size_t j = i + 1;
        if (j < n && (text[j] == '+' || text[j] == '-'))
            j++;
        const size_t exponent = digits(text + j, n - j);
        if (exponent == 0)
            return 0;
        i = j + exponent;
    }
    return i;
}

static bool is_whole_number(const char *token)
{
    const size_t n = strlen(token);
    return n > 0 && zs_number_length(token, n) == n;
}

static bool is_plain_integer(const char *token)
{
    return is_whole_number(token) && strpbrk(token, ".eEN") == NULL && strchr(token, 'I') == NULL;
}

/* Reads a token as a float or a double, rounded once. */
static bool read_number(const char *token, bool is_float, double *out)
{
    double value;
    if (!is_whole_number(token))
        return false;
    const locale_t before = enter_c_locale();
    value = is_float ? (double)strtof(token, NULL) : strtod(token, NULL);
    leave_c_locale(before);
    if (isinf(value) && strchr(token, 'I') == NULL) /* too large, and not called Infinity */
        return false;
    *out = value;
    return true;
}

bool zs_number_double(const char *token, double *out)
{
    return read_number(token, false, out);
}

bool zs_number_float(const char *token, float *out)
{
    double value;
    if (!read_number(token, true, &value))
        return false;
    *out = (float)value;
    return true;
}

/* Reads an integer, also one with a fraction or an exponent, as its sign and magnitude. */
static bool read_integer(const char *token, bool *is_negative, uint64_t *magnitude)
{
    double value;
    *is_negative = token[0] == '-';
    if (is_plain_integer(token)) {
        errno = 0;
        const uintmax_t read = strtoumax(token + *is_negative, NULL, 10);
        *magnitude = (uint64_t)read;
        return errno != ERANGE && read <= UINT64_MAX;
    }
    if (!zs_number_double(token, &value) || !(fabs(value) < 0x1p64) || value != floor(value))
        return false;
    *magnitude = (uint64_t)fabs(value);
    return true;
}

bool zs_number_int64(const char *token, int64_t *out)
{
    bool is_negative;
    uint64_t magnitude;
    if (!read_integer(token, &is_negative, &magnitude) || magnitude > (uint64_t)INT64_MAX + is_negative)
        return false;
    *out = is_negative && magnitude > 0 ? -(int64_t)(magnitude - 1) - 1 : (int64_t)magnitude;
    return true;
}

bool zs_number_uint64(const char *token, uint64_t *out)
{
    bool is_negative; /* -0 is 0 */
    uint64_t magnitude;
    if (!read_integer(token, &is_negative, &magnitude) || (is_negative && magnitude != 0))
        return false;
    *out = magnitude;
    return true;
}

void zs_number_print(double value, char text[ZS_NUMBER_SIZE])
{
    if (isnan(value) || isinf(value)) {
        (void)snprintf(text, ZS_NUMBER_SIZE, "%s", isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
        return;
    }
    int precision = 0;
    const locale_t before = enter_c_locale();
    do
        (void)snprintf(text, ZS_NUMBER_SIZE, "%.*e", precision, value);
    while (strtod(text, NULL) != value && precision++ < 16); /* 17 figures at most */
    const int exponent = atoi(strchr(text, 'e') + 1);
    if (exponent >= -4 && exponent < 16) /* as people write numbers, unless that needs many zeros */
        (void)snprintf(text, ZS_NUMBER_SIZE, "%.*f", precision > exponent ? precision - exponent : 1, value);
    leave_c_locale(before);
}
