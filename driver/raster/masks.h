/* raster/masks.h: the array beside a raster that marks its valid pixels: found, and made.
 *
 * Taken for a mask is an array in the group of the raster, of its X and Y (called alike, as long; without names the
 * last of the raster's) and no dimensions that the raster has not, which
 *   - `ancillary_variables` of the raster names (CF 3.4), whose flags mean valid or invalid (geo/flags.h), or which is
 *     boolean and called valid, is_valid, validity, valid_mask or validity_mask: the first of those named;
 *   - or is called aoi_mask and is boolean, in a rectilinear product of zagg (zs_zagg): true is valid;
 *   - or is called scales and is float32, beside embeddings, or embeddings_*, of int8 (Tessera): what is infinite
 *     was not written.
 * Nothing else is: what looks like a mask may mean the opposite. */
#pragma once

#include "array/array.h"
#include "geo/axes.h"
#include "geo/flags.h"
#include "zarr/document.h"

struct zs_mask {
    const struct zs_node *node; /* borrowed; NULL: there is none */
    struct zs_axes axes;
    int dims[ZS_MAX_NDIM]; /* for each of its dimensions, the raster's dimension */
    bool is_named;         /* found by ancillary_variables: it goes before a nodata value; other masks count only
                              where none is declared */
    struct zs_validity validity;
};

/* The mask of an array. What `ancillary_variables` names costs a request each, as do names of zagg and Tessera where
 * the array is theirs. Fails where a node that may be one cannot be asked for. */
enum zs_status zs_mask_find(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                            struct zs_mask *mask, struct zs_error *err);

/* Sets marks[i] of each of nodes[count] (all known nodes of a store, in order) that is the mask of another
 * one, as zs_mask_find(). */
enum zs_status zs_masks_mark(struct zs_hierarchy *hierarchy, const struct zs_node *const *nodes, size_t count,
                             bool *marks, struct zs_error *err);

/* ---- Making ---- */

/* Makes the mask of arrays, `count` of one group and grid: beside them, called mask (mask_2 ... where something is
 * called so): uint8, 0 invalid and 255 valid (`flag_values`, `flag_meanings`, `standard_name` quality_flag), with Y and
 * X, the chunks and shards along these and, of the first array's attributes, those of georeferencing. `encoding` NULL:
 * as arrays of this driver have it. The fill value is 0: pixels are invalid until they are written.
 *
 * The hierarchy has it, and the arrays name it; the next flush of the hierarchy puts that into the store, before which
 * the array, closed with zs_array_close(), is to be flushed. ZS_ARGUMENT where the array is the root of its store. */
enum zs_status zs_mask_create(struct zs_hierarchy *hierarchy, const struct zs_node *const *nodes,
                              const struct zs_axes *axes, size_t count, const struct zs_encoding *encoding,
                              const struct zs_array_options *options, struct zs_mask *mask, struct zs_array **array,
                              struct zs_error *err);
