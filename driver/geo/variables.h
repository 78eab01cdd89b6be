/* geo/variables.h: the small arrays beside a raster, coordinate variables and a grid mapping, as documents and values;
 * the same whether a raster is made, changed or given overviews. */
#pragma once

#include "geo/georef.h"
#include "zarr/hierarchy.h"

/* The document of a small array, one chunk and not compressed, with a crc32c if has_checksum: a coordinate variable of
 * `count` elements along the dimension `name`, or with count 0 one that is 0-d and holds its fill value. Its chunk is
 * "c/0", with has_dotted_keys "c.0". NULL without memory. */
zs_json *zs_small_array_document(const char *name, enum zs_data_type type, uint64_t count, bool has_checksum,
                                 bool has_dotted_keys);

/* Writes all values (elements of its type) of a one-dimensional array; `is_new`: there are no chunks of it yet. */
enum zs_status zs_write_small_array(struct zs_store *store, const struct zs_node *node, bool is_new, const void *values,
                                    struct zs_error *err);

/* Whether X and Y each follow one dimension, so that coordinate variables can hold the positions of pixels. */
bool zs_has_axes(const struct zs_georef_out *geo);

/* The same georeferencing at another resolution, of `width` by `height` pixels. */
struct zs_georef_out zs_georef_at_size(const struct zs_georef_out *geo, uint64_t width, uint64_t height);

/* An array of the group that holds `node`, by name; NULL when there is none. */
const struct zs_node *zs_sibling(struct zs_hierarchy *hierarchy, const struct zs_node *node, const char *name);

/* The array called `name` in the group of `node`, which it may be itself, or the nearest one in the groups above. */
const struct zs_node *zs_array_beside(struct zs_hierarchy *hierarchy, const struct zs_node *node, const char *name,
                                      bool or_above);

/* The nearest array called `name` in a group or in those above it, as far as the group `end`, which is not looked at
 * (NULL: as far as the root); NULL when there is none. */
const struct zs_node *zs_nearest_array(struct zs_hierarchy *hierarchy, const char *group, const char *end,
                                       const char *name);

/* A name beside an array, under which a variable of some kind may be written. */
struct zs_slot {
    bool is_usable;            /* false: no name of a node, or what is there is of another kind */
    bool has_checksum;         /* chunks of the array beside it have one: so do those of a new variable */
    char *path;                /* freed with free(); NULL unless usable */
    const struct zs_node *own; /* the variable that is there; NULL where nothing is */
};
/* Finds what `name` (NULL: none) beside `node` may be written to. `is_kind` returns whether an array, of that name, is
 * of the kind that would be written; without it nothing may be there. */
enum zs_status zs_slot_find(struct zs_hierarchy *hierarchy, const struct zs_node *node, const char *name,
                            bool (*is_kind)(const struct zs_node *found, const char *name), struct zs_slot *slot,
                            struct zs_error *err);

/* ---- Coordinate variables: one-dimensional arrays named as a dimension (CF conventions 1.3, "coordinate variable";
 * coordinates.c) ---- */

/* The array of numbers or text whose one dimension has `size` elements, and which is called as that dimension of
 * `node`, which it may be itself: in its group, and in consolidated stores (where looking costs nothing) and of
 * overviews in the groups above. NULL when there is none; one of another shape hides those above it. */
const struct zs_node *zs_dimension_variable(struct zs_hierarchy *hierarchy, const struct zs_node *node,
                                            const char *name, uint64_t size);

/* The coordinate variable of dimension `dim` of the array; NULL when there is none. */
const struct zs_node *zs_coordinate_variable(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim);
/* Like zs_coordinate_variable(), NULL where it is not of numbers. */
const struct zs_node *zs_coordinate_find(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim);

/* Budget of coordinates: most that are read of a variable, and the largest chunk that is decoded for them. No raster
 * is so wide; a longer axis is left out rather than judged by samples: a wrong transform is worse than none. */
#define ZS_COORDINATE_MAX ((uint64_t)8 << 20)
#define ZS_COORDINATE_MAX_CHUNK ((uint64_t)128 << 20)

/* Elements of a variable, and what its attributes say of them. */
struct zs_coordinates {
    const struct zs_dtype *dtype; /* borrowed from the node */
    unsigned char *elements; /* owned, in that type; NULL for a kind that is not read (a codec that is not built in),
                                and beyond the budget */
    char **texts; /* owned, NULL-terminated; of a variable of text, but NULL where none of its chunks is there */
    uint64_t count;
    bool is_blank;        /* none differs from the array's fill value, as in a store without its chunks */
    bool is_packed;       /* by scale and offset */
    double scale, offset;
    bool has_missing; /* missing elements are as `missing`, or NaT */
    unsigned char missing[ZS_MAX_ITEM_SIZE];
};

/* Reads the window [start, start + count) of a variable of any rank. ZS_IO, ZS_CORRUPT, ZS_NO_MEMORY are
 * handed on; there is nothing to be cleared then. */
enum zs_status zs_coordinates_read(struct zs_hierarchy *hierarchy, const struct zs_node *variable,
                                   const uint64_t *start, const uint64_t *count, struct zs_coordinates *out,
                                   struct zs_error *err);
void zs_coordinates_clear(struct zs_coordinates *coordinates);
/* A value, unpacked; NaN for a missing one. 64-bit integers are rounded to double. */
double zs_coordinate_at(const struct zs_coordinates *coordinates, uint64_t index);

/* The axis of a variable by its CF attributes (axis, standard_name, units): 'X', 'Y', or 0 when they do not declare it.
 * *is_degrees when units are degrees of longitude or latitude. */
char zs_cf_axis(const zs_json *attributes, bool *is_degrees);

/* The axis of a dimension by its name: 'X', 'Y' or 0. */
char zs_name_axis(const char *name);
