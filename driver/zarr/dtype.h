/* zarr/dtype.h: data types of arrays and their fill values (core specification 3.1, "Data types" and "Fill value";
 * zarr-extensions data-types for the datetime types). */
#pragma once

#include <string.h>

#include "shardedzarr.h"
#include "zarr/json.h"

/* Bytes of the largest element. */
#define ZS_MAX_ITEM_SIZE 16

/* Types of text. GDAL has no data type for them: zs_dtype_parse() refuses them, and array/array.h reads them for
 * names. */
enum zs_text_type {
    ZS_TEXT_NONE,
    ZS_TEXT_UTF32, /* fixed_length_utf32: code points in the byte order of the bytes codec, padded with zeros */
    ZS_TEXT_UTF8,  /* string: of any length, with the codec vlen-utf8 */
    ZS_TEXT_BYTES  /* null_terminated_bytes: UTF-8, padded with zeros */
};

/* One data type as the metadata declare it. */
struct zs_dtype {
    enum zs_data_type type;
    size_t size;        /* bytes of one element */
    size_t swap_unit;   /* bytes that change order with endianness: size, half of it for complex, 1 for none */
    char name[48];      /* as in the metadata: "uint16", "numpy.datetime64" */
    char unit[8];       /* datetime64 and timedelta64: "s", "ns", "D", "generic" ... (ASCII: "us"); else "" */
    int64_t unit_scale; /* ... and its scale factor; else 1 */
    bool is_bfloat16;   /* stored as the upper half of the float32 that it is in memory */
    bool is_declared_signed; /* unsigned by ZS_UNSIGNED_ATTRIBUTE; documents have the signed type of that size */
    enum zs_text_type text; /* of text: elements in memory are pointers to what is stored of each (codec/codec.h) */
    size_t text_size;       /* bytes that are stored of each; 0: any number */
    size_t text_most;       /* bytes: the codecs refuse chunks of more */
};

/* With "true", elements of a signed type are unsigned: older formats of netCDF have no unsigned types (NUG). */
#define ZS_UNSIGNED_ATTRIBUTE "_Unsigned"

/* Makes integers unsigned that `attributes` (NULL is allowed) declare as such. */
void zs_dtype_apply_unsigned(struct zs_dtype *dtype, const zs_json *attributes);
/* The type as the document declares it, for codecs. */
struct zs_dtype zs_dtype_declared(const struct zs_dtype *dtype);

/* Reads the `data_type` member: a string, or {"name", "configuration"}. ZS_UNSUPPORTED names a type this core does not
 * read; ZS_INVALID, with the reason in the message, for a malformed one. */
enum zs_status zs_dtype_parse(const zs_json *data_type, struct zs_dtype *dtype, struct zs_error *err);

/* Which type of text `data_type` names, NONE for all else. *bytes (NULL is allowed) are the length_bytes of an element,
 * 0 where it names none. */
enum zs_text_type zs_text_type_of(const zs_json *data_type, uint64_t *bytes);
/* Reads the `data_type` of an array of text; the caller sets text_most. ZS_INVALID: a length that cannot be. */
enum zs_status zs_text_dtype_parse(const zs_json *data_type, struct zs_dtype *dtype, struct zs_error *err);

/* Bytes of one element as the codec `bytes` stores it. */
size_t zs_dtype_stored_size(const struct zs_dtype *dtype);

/* The type for a public enumerator, for arrays to be created. */
struct zs_dtype zs_dtype_of(enum zs_data_type type);

/* Reads a `fill_value` into `value` (dtype->size bytes, native byte order). Accepts every encoding of the
 * specification: numbers, booleans, "NaN", "Infinity", "-Infinity", "0x..." and "0b..." bit patterns of floats, [re,
 * im], "NaT", arrays of bytes, base64 (r8). Tolerated: bare NaN and Infinity tokens, 0 and 1 for bool, a number
 * in quotes, one number for a complex type (its real part), and NULL, zero bits, or JSON null, NaN of floats and else
 * zero bits (*was_null is set; may be NULL). -1 of what is declared signed is the largest. A value that the type cannot
 * hold is ZS_INVALID. float16 is rounded from the nearest double. On failure `value` is undefined. */
enum zs_status zs_fill_value_parse(const struct zs_dtype *dtype, const zs_json *fill_value, void *value, bool *was_null,
                                   struct zs_error *err);

/* Adds `name` with the fill value in its canonical encoding, exact for every bit pattern: NaN with another payload than
 * the quiet one as hexadecimal bits, raw bytes as an array. */
zs_json *zs_fill_value_add(zs_json *parent, const char *name, const struct zs_dtype *dtype, const void *value);

/* The bits of a number of 1, 2, 4 or 8 bytes, in native byte order. */
static inline uint64_t zs_bits_load(size_t size, const void *number)
{
    uint16_t b16 = 0;
    uint32_t b32 = 0;
    uint64_t b64 = 0;
    if (size == 2)
        memcpy(&b16, number, sizeof b16);
    else if (size == 4)
        memcpy(&b32, number, sizeof b32);
    else if (size == 8)
        memcpy(&b64, number, sizeof b64);
    else
        b64 = *(const unsigned char *)number;
    return b64 | b32 | b16;
}

/* Stores the lowest `size` bytes. */
static inline void zs_bits_store(size_t size, uint64_t bits, void *number)
{
    const uint16_t b16 = (uint16_t)bits;
    const uint32_t b32 = (uint32_t)bits;
    if (size == 2)
        memcpy(number, &b16, sizeof b16);
    else if (size == 4)
        memcpy(number, &b32, sizeof b32);
    else if (size == 8)
        memcpy(number, &bits, sizeof bits);
    else
        *(unsigned char *)number = (unsigned char)bits;
}

/* IEEE binary16 to double; exact. */
double zs_half_to_double(uint16_t half);
/* ... and from double, rounded half to even; what is too large becomes infinite, NaN the quiet NaN 0x7e00. */
uint16_t zs_half_from_double(double value);

/* The upper half of a float32; exact. */
float zs_bfloat16_to_float(uint16_t stored);
/* ... and from float, rounded half to even; NaN is 0x7fc0. False for a finite number that would become infinite. */
bool zs_bfloat16_from_float(float value, uint16_t *stored);

/* Element at `value` (native order) as double: the real part of complex types, 0 or 1 for bool, the count for
 * datetimes. */
double zs_dtype_to_double(const struct zs_dtype *dtype, const void *value);

/* Decodes base64 (RFC 4648, padding optional) to at most `capacity` bytes. Returns the count, or -1 when it is
 * malformed or longer. */
long zs_base64_decode(const char *text, void *out, size_t capacity);

/* ---- Extension points: how metadata name a data type, a chunk grid, a codec (core specification 3.1) ---- */

/* The extension point `node` (an object with "name" and "configuration", or a bare string) as its name, NULL when it is
 * neither; *configuration, unless NULL, is NULL when there is none. */
const char *zs_extension_name(const zs_json *node, const zs_json **configuration);

/* Adds an extension as a member (NULL: to a list). Returns its empty configuration, NULL without memory. */
zs_json *zs_extension_add(zs_json *parent, const char *member, const char *name);

/* The specification's rule for members that a reader does not know: ZS_UNSUPPORTED, with the name of the first member
 * of `object` (NULL has none) that is not in the NULL-terminated list and does not say "must_understand": false.
 * ZS_INVALID where it is there and no object. */
enum zs_status zs_members_check(const zs_json *object, const char *const *known, struct zs_error *err);
