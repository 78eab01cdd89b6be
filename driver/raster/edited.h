/* raster/edited.h: the arrays that an edit of georeferencing writes: those that are asked for, their overviews and
 * their siblings. Of raster/update.c. */
#pragma once

#include "geo/georef_write.h"
#include "zarr/hierarchy.h"

struct zs_edited {
    const struct zs_node *node;
    struct zs_axes axes;
    struct zs_georef_conventions conventions;
    const char *former_mapping; /* its name before another grid mapping was chosen; borrowed */
    char *mapping;              /* that of the chosen one; owned; NULL: the former */
    OGRSpatialReferenceH srs;   /* the CRS that it had; NULL: none */
    bool is_level;              /* an overview of the nearest array before it in the list that is none */
    bool is_sibling;            /* a sibling of an array that is asked for, or an overview of one: */
    bool pixel_is_point;        /* ... its registration, which stays */
    bool has_other_srs;         /* ... its CRS is another than that array's, and stays */
    bool keeps_srs;             /* the CRS stays: it is as set, none was set, or has_other_srs */
    bool keeps_transform;       /* the transform stays: it is as set, or none was set */
    bool needs_spatial_proj;    /* the transform is rotated, which GDAL 3.13 sees in spatial: alone */
    bool is_alike;              /* coordinates and grid mapping are those of the array before it in the list */
    struct zs_georef_out at;    /* the georeferencing that it gets */
};
struct zs_edits {
    struct zs_edited *list;
    size_t *sorted; /* indices into the list, by the address of the node */
    size_t count, capacity, sorted_capacity;
};

/* The array of a node, NULL where the edit does not write that. The list moves when it grows. */
const struct zs_edited *zs_edited_find(const struct zs_edits *edits, const struct zs_node *node);

/* Adds an array and its overviews, unless they are there. With `conventions` those that use none of their own get that
 * of the array. */
enum zs_status zs_edited_add(struct zs_hierarchy *hierarchy, struct zs_edits *edits, struct zs_edited base,
                             const struct zs_georef_conventions *conventions, struct zs_error *err);

/* Adds the siblings of an array, which share its coordinate variables, and their overviews. */
enum zs_status zs_edited_add_siblings(struct zs_hierarchy *hierarchy, struct zs_edits *edits,
                                      const struct zs_edited *of, struct zs_error *err);

void zs_edited_clear(struct zs_edits *edits); /* releases what it owns */

/* Whether two nodes have the same parent. */
bool zs_edited_is_in_one_group(const struct zs_node *a, const struct zs_node *b);
/* Whether two arrays lie in one group and have the same X and Y. */
bool zs_edited_is_on_one_grid(const struct zs_edited *a, const struct zs_edited *b);

/* All nodes of the store, in order, freed with free(); none where they cannot be listed. */
enum zs_status zs_edited_list_nodes(struct zs_hierarchy *hierarchy, const struct zs_node ***nodes, size_t *count,
                                    struct zs_error *err);

/* The dimension of `node` with this name (NULL: none) and size, -1 when it has none. */
int zs_same_dimension(const struct zs_node *node, const char *name, uint64_t size);

/* Whether both texts are there and the same. */
bool zs_is_same_text(const char *a, const char *b);

/* ---- Which other arrays use the coordinate variables and the grid mapping of an array that the edit writes
 * (sharing.c). The store is not changed ---- */

/* Chooses the grid mapping that `one` gets, whose new CRS is in one->at: `own`, the variable that its conventions name
 * (NULL: none is there, one is made), or another, where with that another raster which does not follow would change:
 * one that names it, one that names none beside a variable of the default name, which rioxarray gives it, or one that
 * has its transform from the GeoTransform in it.
 *
 * Unless the transform stays, sets is_text_shared and is_text_needed of one->at, and the conventions that `one` then
 * needs. Where arrays of other grids in its group use its grid mapping, a GeoTransform in that would move them, and a
 * rotated one would override their coordinates: `one` states its transform in spatial: instead, where coordinates do
 * not. */
enum zs_status zs_sharing_choose_mapping(struct zs_hierarchy *hierarchy, const struct zs_edits *edits,
                                         struct zs_edited *one, const struct zs_node *own, struct zs_error *err);

/* Sets is_shared, is_grid_shared and is_fixed of `at`, whose CRS is there: whether arrays in the group of `one` or
 * below, which do not change with it, use the coordinate variable of its Y, of its X, or both, and whether these must
 * keep their values. */
enum zs_status zs_sharing_find_coordinates(struct zs_hierarchy *hierarchy, const struct zs_edits *edits,
                                           const struct zs_edited *one, struct zs_georef_out *at, struct zs_error *err);
