/* raster/update.h: changes georeferencing and band properties of arrays in a store, which any writer may have made.
 *
 *   zs_update_georefs(h, &node, &axes, 1, &now, &geo, ZS_GEOREF_ALL, &is_aside, &err);   in memory; coordinates: stored
 *   zs_update_bands(h, node, axes, bands, count, ZS_BAND_NODATA, &err);
 *   zs_hierarchy_flush(h, &err);                                    zarr.json of all that changed
 *
 * Node pointers stay valid and show the change at once; texts and JSON borrowed from attributes do not outlive it. No
 * other thread may use the hierarchy during a call. Unknown members stay as they are, byte for byte as far as JSON goes
 * (numbers keep their form, members their order). */
#pragma once

#include "geo/axes.h"
#include "geo/bands.h"
#include "geo/georef.h"
#include "zarr/document.h"

/* Sets the georeferencing of a raster: `count` arrays of one grid, with their mask and overviews; what is absent is
 * removed. `now` is what zs_georef_read() gives for the first of them. Writes nothing where that is the same.
 * `pixel_is_point` counts where `spatial:` has it (zs_georef_has_registration()).
 *
 * A raster has its own variables when its coordinate variables of X and Y and its grid mapping lie in its group, and no
 * other array has their dimensions or names it, nor is another picture in that group. It is written anew in each
 * convention that it has (one without any: in those of `style`), with what its group and the multiscales declare.
 * Values of coordinates are in the store at once, under other keys of chunks: they count when the documents are
 * flushed.
 *
 * All other arrays get `spatial:` and `proj:` in their own attributes and those of their overviews, declared, which go
 * before all around; nothing else in the store is touched. *is_aside: CF declares another georeferencing there, which
 * readers of CF alone still see. ZS_UNSUPPORTED where the array would not be read so: what is around cannot be
 * unset. */
enum zs_status zs_update_georefs(struct zs_hierarchy *h, const struct zs_node *const *nodes, const struct zs_axes *axes,
                                 size_t count, const struct zs_georef *now, const struct zs_georef *georef,
                                 enum zs_georef_style style, bool *is_aside, struct zs_error *err);

/* Sets the fill value itself, together with `_FillValue`, of an array that has no chunks yet. The array's node is
 * replaced by *replacement, in the store at once; arrays opened from the old one are to be opened again. */
enum zs_status zs_update_empty_array(struct zs_hierarchy *h, const struct zs_node *node, const void *fill_value,
                                     const struct zs_node **replacement, struct zs_error *err);

/* Sets properties `which` of all bands of the array, and but for metadata of its overviews, as zs_bands_write(); a
 * nodata value that all have as `_FillValue` of the array. The fill value stays what it is: in a store with data it is
 * what absent chunks mean. */
enum zs_status zs_update_bands(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                               const struct zs_band_properties *bands, size_t count, unsigned which,
                               struct zs_error *err);
