/* icechunk/flatbuffer.h: FlatBuffers read in place (flatbuffers.dev, "FlatBuffers Internals"): nothing is copied or
 * made into objects. The bytes are hostile: each offset is checked when it is followed. A function is false where bytes
 * are broken, and leaves *out alone; a field that is absent is true with its default: a number, or a table or vector
 * that is `of` nothing. Offsets may be anywhere: nothing relies on alignment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One buffer, borrowed. */
struct zs_flat {
    const unsigned char *data;
    size_t size;
};

/* A table that an offset leads to. `of` is NULL where there is none. */
struct zs_flat_table {
    const struct zs_flat *of;
    size_t at, vtable;
    unsigned fields; /* in the vtable */
    size_t size;
};
struct zs_flat_vector {
    const struct zs_flat *of;
    const unsigned char *data; /* count elements of the size that was asked for; also the bytes of a string */
    size_t count;
};

/* The functions are false for offsets that lead out of the buffer. The root table: */
bool zs_flat_root(const struct zs_flat *flat, struct zs_flat_table *out);

/* Field `field` of a table, counted from 0 as in its schema (a union takes two). An unsigned number of `size` bytes, 1
 * to 8; `usual` where the field is absent: */
bool zs_flat_number(const struct zs_flat_table *table, unsigned field, size_t size, uint64_t usual, uint64_t *out);
/* A struct of `size` bytes; NULL where it is absent. */
bool zs_flat_struct(const struct zs_flat_table *table, unsigned field, size_t size, const unsigned char **out);
/* A table. */
bool zs_flat_table(const struct zs_flat_table *table, unsigned field, struct zs_flat_table *out);
/* A vector of elements of `size` bytes: structs, numbers or characters; 4 for tables and strings, whose elements the
 * functions below read. */
bool zs_flat_vector(const struct zs_flat_table *table, unsigned field, size_t size, struct zs_flat_vector *out);

/* Element `index` < count. */
bool zs_flat_vector_table(const struct zs_flat_vector *vector, size_t index, struct zs_flat_table *out);
