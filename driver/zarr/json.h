/* zarr/json.h: reading and writing JSON. The only door to cJSON.
 *
 * cJSON keeps numbers as doubles, reads and prints them by the process's locale, and has no NaN; Zarr metadata has
 * 64-bit integers that must survive exactly, and Python writers leave bare NaN and Infinity tokens. So before parsing,
 * number tokens become marked strings, and the functions here read them as numbers.
 *
 * Python's json also reads and writes escaped NULs and surrogates that are none of a pair. Each is U+FFFD here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* A node of a JSON document. Nodes are borrowed from their document, which zs_json_free() releases. */
typedef struct cJSON zs_json;

enum zs_json_type {
    ZS_JSON_NULL,
    ZS_JSON_BOOL,
    ZS_JSON_NUMBER, /* finite or not */
    ZS_JSON_STRING,
    ZS_JSON_ARRAY,
    ZS_JSON_OBJECT
};

/* Longest metadata document accepted: a thousand-variable consolidated store has a few MiB, and parsing takes some ten
 * times the text in memory. */
#define ZS_JSON_MAX_BYTES ((size_t)64 << 20)

/* Deepest nesting of arrays and objects accepted: cJSON's own limit, and others recurse over documents too. */
#define ZS_JSON_MAX_DEPTH 1000
/* Most values accepted in one document: each takes some hundred bytes once parsed, as little as two in the text. */
#define ZS_JSON_MAX_VALUES ((size_t)4 << 20)

/* Parses `length` bytes of UTF-8 into *root (released with zs_json_free()); NULL: only checks them. ZS_INVALID with the
 * offset when it is not JSON, exceeds one of the limits above, or has trailing text. Of members that have one name the
 * last counts, as in Python. */
enum zs_status zs_json_parse(const char *text, size_t length, zs_json **root, struct zs_error *err);
void zs_json_free(zs_json *root);

/* All functions below accept NULL for the node and answer "absent" for it, so that look-ups can be nested. */

enum zs_json_type zs_json_typeof(const zs_json *node); /* NULL is ZS_JSON_NULL */
bool zs_json_is_object(const zs_json *node);
bool zs_json_is_array(const zs_json *node);

/* Member of an object by its exact name, or NULL. */
const zs_json *zs_json_get(const zs_json *object, const char *name);

/* The text of a member (borrowed); `otherwise` where that is none. */
const char *zs_json_text(const zs_json *object, const char *name, const char *otherwise);
/* Whether it is a text, or a list of one: HDF5 and netCDF have attributes that are arrays of one text. */
bool zs_json_one_text(const zs_json *node, const char **text);

/* Number of elements of an array or members of an object, else 0. */
size_t zs_json_size(const zs_json *node);
/* Element `index` of an array, or NULL. Linear: walk with first/next where there may be many. */
const zs_json *zs_json_at(const zs_json *array, size_t index);
/* Children in order: for (c = zs_json_first(n); c; c = zs_json_next(c)). */
const zs_json *zs_json_first(const zs_json *node);
const zs_json *zs_json_next(const zs_json *child);
/* Name of an object's member (borrowed), or NULL. */
const char *zs_json_name(const zs_json *member);

/* Each returns whether the node has that type and the value fits; *out is left alone otherwise. Integers accept
 * "3", "3.0" and "3e0" as 3. A double may be NaN or infinite by a bare NaN or Infinity, not by overflow. */
bool zs_json_string(const zs_json *node, const char **out); /* borrowed */
bool zs_json_bool(const zs_json *node, bool *out);
bool zs_json_double(const zs_json *node, double *out);
bool zs_json_int64(const zs_json *node, int64_t *out);
bool zs_json_uint64(const zs_json *node, uint64_t *out);
/* A number's token as it was written (borrowed), for types that a double does not serve. */
bool zs_json_number(const zs_json *node, const char **token);

/* Whether the node is the string `expected`. */
bool zs_json_equals(const zs_json *node, const char *expected);

/* Whether two nodes are equal: numbers token by token, members in any order. */
bool zs_json_is_same(const zs_json *a, const zs_json *b);

/* Reads an array of exactly n numbers; some may be read where one is none. */
bool zs_json_doubles(const zs_json *array, double *out, size_t n);

/* The node as compact JSON text; exact integers and non-finite tokens come out as they were read. NULL without memory.
 * Freed with free(). */
char *zs_json_print(const zs_json *node);
/* Like zs_json_print(), with its upper levels indented, for a document that people read. */
char *zs_json_print_pretty(const zs_json *node);

/* `return zs_fail_found(err, ZS_INVALID, node, "shape: expected a list")`: like zs_fail(), with ", found " and the
 * node's compact text, cut to some hundred bytes, behind the message: "found no such member" for NULL. */
#define zs_fail_found(err, status, node, ...) (zs_error_set_found((err), (node), __VA_ARGS__), (enum zs_status)(status))
void zs_error_set_found(struct zs_error *err, const zs_json *node, const char *format, ...) ZS_PRINTF(3, 4);

/* ---- Building. The functions return the new node, owned by its parent, or NULL without memory; a NULL parent makes
 * them return NULL (releasing nothing), so that a sequence needs one check at its end. ---- */

/* Without a parent: the caller owns them, until they are given to one. */
zs_json *zs_json_new_object(void);
zs_json *zs_json_new_array(void);
zs_json *zs_json_copy(const zs_json *node);
zs_json *zs_json_add_object(zs_json *parent, const char *name); /* name is NULL when the parent is an array */
zs_json *zs_json_add_array(zs_json *parent, const char *name);
zs_json *zs_json_add_string(zs_json *parent, const char *name, const char *value);
/* The shortest form that reads back the same, "3.0" rather than "3"; non-finite values as the strings "NaN",
 * "Infinity"... */
zs_json *zs_json_add_double(zs_json *parent, const char *name, double value);
zs_json *zs_json_add_int64(zs_json *parent, const char *name, int64_t value);
zs_json *zs_json_add_uint64(zs_json *parent, const char *name, uint64_t value);
zs_json *zs_json_add_bool(zs_json *parent, const char *name, bool value);
zs_json *zs_json_add_null(zs_json *parent, const char *name);
/* Adds a detached node (from new_, copy or parse), which the parent then owns; it is released when adding fails, also
 * for a NULL parent. */
zs_json *zs_json_add(zs_json *parent, const char *name, zs_json *node);
/* Adds the value that a JSON text is, for instance a number of known form; NULL when it is not JSON. */
zs_json *zs_json_add_raw(zs_json *parent, const char *name, const char *json);
/* Replaces or adds (`node` is released when that fails), and removes, a member of an object. */
zs_json *zs_json_set(zs_json *object, const char *name, zs_json *node);
void zs_json_remove(zs_json *object, const char *name);
/* Sets a member to a value; false without memory. `value` may be of the object itself. */
bool zs_json_set_string(zs_json *object, const char *name, const char *value);
bool zs_json_set_double(zs_json *object, const char *name, double value);
/* A mutable view of a member, for documents the caller owns. */
zs_json *zs_json_get_mutable(zs_json *object, const char *name);

/* ---- Number tokens to and from native numbers, whatever LC_NUMERIC the process has set (a Qt program in
 * Germany reads "0.5" as 0 with plain strtod) ---- */

/* Length of the number that `text` (n bytes) begins with, by the grammar of RFC 8259; also the tokens NaN, Infinity and
 * -Infinity, which Python writes. 0 when it begins with none. What follows the number is not looked at. */
size_t zs_number_length(const char *text, size_t n);

/* Each returns whether `token` is, whole, a number as above and the value fits; *out is left alone otherwise. Integers
 * without fraction and exponent are exact; others ("3.0", "3e0") are read as a double, since that is what wrote them,
 * and must be integral. A finite token that overflows a double or float does not fit. */
bool zs_number_double(const char *token, double *out);
bool zs_number_float(const char *token, float *out); /* rounded once, not by way of a double */
bool zs_number_int64(const char *token, int64_t *out);
bool zs_number_uint64(const char *token, uint64_t *out);

/* Shortest token that reads back as `value`, as Python writes it ("0.1", "3.0", "1e+20"); NaN, Infinity, -Infinity. */
#define ZS_NUMBER_SIZE 64
void zs_number_print(double value, char text[ZS_NUMBER_SIZE]);
