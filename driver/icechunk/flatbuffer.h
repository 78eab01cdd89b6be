/* icechunk/flatbuffer.h: FlatBuffers read in place (flatbuffers.dev, "FlatBuffers Internals"). The bytes are hostile:
 * each offset is checked when it is followed. One that leads elsewhere gives what an absent field gives, and makes the
 * buffer `is_broken`: look at that before what was read is used. An absent field is 0, NULL, or a table or vector `of`
 * nothing. Nothing relies on alignment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One buffer; the bytes are borrowed. */
struct zs_flat {
    const unsigned char *data;
    size_t size;
    bool is_broken;
};

struct zs_flat_table {
    struct zs_flat *of; /* NULL: there is none */
    size_t at, vtable, fields, size;
};
struct zs_flat_vector {
    struct zs_flat *of;        /* NULL: there is none */
    const unsigned char *data; /* `count` elements of the size that was asked for; also the bytes of a string */
    size_t count;
};

struct zs_flat_table zs_flat_root(struct zs_flat *flat);

/* Field `field` of a table, counted from 0 as in its schema (a union takes two). An unsigned number of 1 to 8 bytes: */
uint64_t zs_flat_number(const struct zs_flat_table *table, unsigned field, size_t size);
/* A struct of `size` bytes. */
const unsigned char *zs_flat_struct(const struct zs_flat_table *table, unsigned field, size_t size);
struct zs_flat_table zs_flat_table(const struct zs_flat_table *table, unsigned field);
/* A vector of elements of `size` bytes: structs, numbers or characters; 4 for tables and strings. */
struct zs_flat_vector zs_flat_vector(const struct zs_flat_table *table, unsigned field, size_t size);

/* Element `index` < count of a vector of tables. */
struct zs_flat_table zs_flat_element(const struct zs_flat_vector *vector, size_t index);
