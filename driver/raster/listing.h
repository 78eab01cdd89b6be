/* raster/listing.h: which arrays of a store are shown as rasters, and which together as one. */
#pragma once

#include "geo/axes.h"

/* Finds the arrays below `group` that are shown as rasters, sorted by path: arrays of two dimensions and more, and of
 * HEALPix cells (geo/healpix.h), that are neither overviews nor masks (raster/masks.h) of another array, and that no
 * array of their group names in `coordinates`, `grid_mapping` or `bounds`. If there are none, arrays of one dimension
 * that are no coordinate variables. *rasters is an array of *count (at least 1) borrowed nodes, freed with free().
 * Searches the whole store; of a remote store without consolidated metadata, where each node costs a request, only what
 * the pyramids in the group's attributes name first. ZS_NOT_FOUND where there is no such array, ZS_UNSUPPORTED where
 * one cannot be read, each with the reason. With `unreadable`, that many nodes follow behind the *count which cannot be
 * read (with the reason in node->array_error): arrays of numbers or of anything but text, no coordinate variables, that
 * no other array names. */
enum zs_status zs_rasters_find(struct zs_hierarchy *hierarchy, const struct zs_node *group,
                               const struct zs_node ***rasters, size_t *count, size_t *unreadable,
                               struct zs_error *err);

/* Marks the arrays that another one beside them names in `coordinates`, `grid_mapping` or `bounds`. The nodes are all
 * of a store, in order. */
enum zs_status zs_auxiliary_mark(const struct zs_node *const *nodes, size_t count, bool *marks, struct zs_error *err);

/* ---- Arrays of one grid that lie in one group: they can be shown as one raster, whose bands are those of all ---- */

/* The arrays of a group that lie on one grid. */
struct zs_raster_group {
    const struct zs_node *group;
    const struct zs_node *const *arrays; /* as the group lists them (geo/bands.h), else b2 before b10 */
    size_t count;                        /* 2 and more */
    uint64_t width, height;
    uint64_t bands; /* slices of all arrays; UINT64_MAX when 64 bits do not count them */
    bool is_one_kind; /* The arrays are the bands of one raster: the group lists them all (geo/bands.h), or they
                         have one data type and one unit, and no dimensions beside X and Y (or the cells). */
};

/* Zero-initialise; the nodes are borrowed, the lists owned. */
struct zs_raster_groups {
    struct zs_raster_group *list; /* sorted by path */
    size_t count;
    const struct zs_node **arrays; /* of all groups */
};

/* Finds groups of rasters on one grid among rasters[count] (zs_rasters_find()): arrays directly in the same group whose
 * X and Y have the same lengths and names, and whose attributes declare the same georeferencing (zs_georef_text()),
 * two-dimensional coordinates included. If a group has several grids, the one with most arrays counts; among equals the
 * one with most pixels. Arrays of HEALPix cells (geo/healpix.h), of any number of dimensions, are on one grid where
 * they have the same cells. `dim_x` and `dim_y` as in zs_axes_find(); an array that lacks them, has less than two
 * dimensions or no elements is in no group. Costs no requests where X and Y have the usual names. Release with
 * zs_raster_groups_clear(); on failure (ZS_NO_MEMORY) nothing is held. */
enum zs_status zs_raster_groups_find(struct zs_hierarchy *hierarchy, const struct zs_node *const *rasters, size_t count,
                                     const char *dim_x, const char *dim_y, struct zs_raster_groups *groups,
                                     struct zs_error *err);
void zs_raster_groups_clear(struct zs_raster_groups *groups);

/* Whether an array that cannot be read might belong to the group: it lies in it, and its document has dimensions of the
 * sizes of the grid. */
bool zs_raster_group_misses(const struct zs_raster_group *group, const struct zs_node *unreadable);
