#include "zarr/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "zarr/json_private.h"
#include "zarr/number.h"

/* ---- Parsing ---- */

/* Members up to so many are compared each with each. */
#define FEW_MEMBERS 16

struct named {
    const zs_json *member;
    size_t at;
};

static int by_name(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    const int order = strcmp(x->member->string, y->member->string);
    return order != 0 ? order : x->at < y->at ? -1 : 1;
}

static bool has_later(const zs_json *member)
{
    const zs_json *later = member->next;
    while (later != NULL && strcmp(later->string, member->string) != 0)
        later = later->next;
    return later != NULL;
}

bool zs_json_each_repeated(const zs_json *object, zs_json_member_fn found, void *ctx)
{
    const size_t n = zs_json_size(object);
    if (n <= FEW_MEMBERS) {
        for (const zs_json *m = object->child, *next; m != NULL; m = next) {
            next = m->next;
            if (has_later(m))
                found(ctx, m);
        }
        return true;
    }
    struct named *list = zs_calloc(n, sizeof *list);
    if (list == NULL)
        return false;
    size_t count = 0;
    for (const zs_json *m = object->child; m != NULL; m = m->next, count++)
        list[count] = (struct named){m, count};
    qsort(list, n, sizeof *list, by_name);
    for (size_t i = 0; i + 1 < n; i++)
        if (strcmp(list[i].member->string, list[i + 1].member->string) == 0)
            found(ctx, list[i].member);
    free(list);
    return true;
}

static void drop_member(void *object, const zs_json *member)
{
    cJSON_Delete(cJSON_DetachItemViaPointer(object, (zs_json *)member));
}

/* Keeps, of each object in a document, the last of members that have one name. False without memory. */
static bool keep_last_within(zs_json *node)
{
    bool ok = !cJSON_IsObject(node) || zs_json_each_repeated(node, drop_member, node);
    for (zs_json *c = cJSON_IsObject(node) || cJSON_IsArray(node) ? node->child : NULL; c != NULL && ok; c = c->next)
        ok = keep_last_within(c);
    return ok;
}

enum zs_status zs_json_parse_all(const char *text, size_t length, zs_json **root, struct zs_error *err)
{
    if (length > ZS_JSON_MAX_BYTES)
        return zs_fail(err, ZS_INVALID, "JSON of %zu bytes, expected at most %zu", length, ZS_JSON_MAX_BYTES);
    struct zs_buffer marked = {0};
    enum zs_status status = zs_json_scan(text, length, &marked, err);
    if (status != ZS_OK) {
        zs_buffer_free(&marked);
        return status;
    }
    const char *begin = (const char *)marked.data;
    const char *end = begin;
    /* Counting the NUL in the length makes cJSON look for it behind the value: nothing may trail. */
    zs_json *parsed = cJSON_ParseWithLengthOpts(begin, marked.size + 1, &end, true);
    if (parsed != NULL)
        *root = parsed;
    else
        status = zs_fail(err, ZS_INVALID, "not JSON near offset %zu of %zu",
                         zs_json_scan_offset(text, length, end > begin ? (size_t)(end - begin) : 0), length);
    zs_buffer_free(&marked);
    return status;
}

enum zs_status zs_json_parse(const char *text, size_t length, zs_json **root, struct zs_error *err)
{
    zs_json *parsed;
    ZS_TRY(zs_json_parse_all(text, length, &parsed, err));
    if (!keep_last_within(parsed)) {
        zs_json_free(parsed);
        return zs_fail_memory(err);
    }
    *root = parsed;
    return ZS_OK;
}

void zs_json_free(zs_json *root)
{
    cJSON_Delete(root);
}

/* ---- Looking ---- */

static bool is_number(const zs_json *node)
{
    return cJSON_IsString(node) && node->valuestring[0] == ZS_JSON_MARK && node->valuestring[1] != ZS_JSON_MARK &&
           !zs_json_is_kept(node->valuestring);
}

const char *zs_json_verbatim(const zs_json *node, size_t *n)
{
    if (!cJSON_IsString(node) || !zs_json_is_kept(node->valuestring))
        return NULL;
    *n = zs_json_body_length(node->valuestring + 2);
    return node->valuestring + 2;
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

bool zs_json_is_text(const char *name)
{
    return !zs_json_is_kept(name);
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
    size_t n;
    const char *verbatim = zs_json_verbatim(node, &n);
    *out = verbatim != NULL ? verbatim + n + 1 : node->valuestring + (node->valuestring[0] == ZS_JSON_MARK);
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
    if (!cJSON_IsArray(array) || zs_json_size(array) != n)
        return false;
    /* Twice, so that *out is left alone when one is not a number. */
    for (const zs_json *c = array->child; c != NULL; c = c->next) {
        double ignored;
        if (!zs_json_double(c, &ignored))
            return false;
    }
    size_t i = 0;
    for (const zs_json *c = array->child; c != NULL; c = c->next)
        (void)zs_json_double(c, &out[i++]);
    return true;
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

/* The mark, and the text behind it. */
static zs_json *create_marked(const char *text)
{
    char *marked = zs_format("%c%s", ZS_JSON_MARK, text);
    zs_json *node = marked != NULL ? cJSON_CreateString(marked) : NULL;
    free(marked);
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
    return zs_json_add(parent, name, value[0] == ZS_JSON_MARK ? create_marked(value) : cJSON_CreateString(value));
}

zs_json *zs_json_add_double(zs_json *parent, const char *name, double value)
{
    char text[ZS_NUMBER_SIZE];
    zs_number_print(value, text);
    const bool finite = value - value == 0;
    return finite ? zs_json_add(parent, name, create_marked(text)) : zs_json_add_string(parent, name, text);
}

zs_json *zs_json_add_int64(zs_json *parent, const char *name, int64_t value)
{
    char text[ZS_NUMBER_SIZE];
    (void)snprintf(text, sizeof text, "%" PRId64, value);
    return zs_json_add(parent, name, create_marked(text));
}

zs_json *zs_json_add_uint64(zs_json *parent, const char *name, uint64_t value)
{
    char text[ZS_NUMBER_SIZE];
    (void)snprintf(text, sizeof text, "%" PRIu64, value);
    return zs_json_add(parent, name, create_marked(text));
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
    zs_json *node = value[0] == ZS_JSON_MARK ? create_marked(value) : cJSON_CreateString(value);
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
