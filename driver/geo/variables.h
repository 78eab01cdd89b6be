/* geo/variables.h: the small arrays beside a raster, coordinate variables and a grid mapping, as documents and values;
 * the same whether a raster is made, changed or given overviews. */
#pragma once

#include "geo/write.h"
#include "zarr/document.h"

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

/* Coordinates of the pixel centres along X or Y; freed with free(), NULL without memory. */
double *zs_axis_values(const struct zs_georef_out *geo, bool is_x);

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
 * of the kind that would be written; without it nothing may be there. What is there and not in consolidated metadata,
 * since a writer failed before it could list it, is listed by the next flush. */
enum zs_status zs_slot_find(struct zs_hierarchy *hierarchy, const struct zs_node *node, const char *name,
                            bool (*is_kind)(const struct zs_node *found, const char *name), struct zs_slot *slot,
                            struct zs_error *err);

/* Adds a node made of `document` (taken over) at `path`; *node is borrowed from the hierarchy. */
enum zs_status zs_add_document(struct zs_hierarchy *hierarchy, const char *path, zs_json *document,
                               const struct zs_node **node, struct zs_error *err);
