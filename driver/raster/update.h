/* raster/update.h: changes georeferencing and band properties of arrays in a store, which any writer may have made.
 *
 *   zs_update_georefs(h, &node, &axes, 1, &geo, &is_aside, &err);   in memory, and coordinates in the store
 *   zs_update_bands(h, node, axes, bands, count, ZS_BAND_NODATA, &err);
 *   zs_hierarchy_flush(h, &err);                                    zarr.json of all that changed
 *
 * Node pointers stay valid and show the change at once; texts and JSON borrowed from attributes do not outlive it. No
 * other thread may use the hierarchy during a call. Unknown members stay as they are, byte for byte as far as JSON goes
 * (numbers keep their form, members their order). */
#pragma once

#include <ogr_srs_api.h>

#include "geo/axes.h"
#include "geo/bands.h"
#include "geo/georef.h"
#include "geo/healpix.h"
#include "zarr/document.h"

/* New georeferencing of a raster: what is absent here is removed. */
struct zs_georef_update {
    bool keeps_transform, keeps_srs;
    bool has_transform;
    double transform[6];     /* GDAL's order, pixel corners */
    bool keeps_registration; /* else as pixel_is_point, where `spatial:` has it (zs_georef_has_registration()) */
    bool pixel_is_point;
    OGRSpatialReferenceH srs; /* NULL when unknown; borrowed */
};

/* Sets the georeferencing of a raster: `count` arrays of one grid, with their mask and overviews. Writes nothing where
 * they are read so.
 *
 * A raster has its own variables when its coordinate variables of X and Y and its grid mapping lie in its group, and no
 * other array has their dimensions or names it, nor is another picture in that group. It is written anew in each
 * convention that it has (one without any: as a new raster), with what its group and the multiscales declare. Values of
 * coordinates are in the store at once, under other keys of chunks: they count when the documents are flushed.
 *
 * All other arrays get `spatial:` and `proj:` in their own attributes and those of their overviews, declared, which go
 * before all around; nothing else in the store is touched. *is_aside: CF declares another georeferencing there, which
 * readers of CF alone still see. ZS_UNSUPPORTED where the array would not be read so: what is around cannot be
 * unset. */
enum zs_status zs_update_georefs(struct zs_hierarchy *h, const struct zs_node *const *nodes, const struct zs_axes *axes,
                                 size_t count, const struct zs_georef_update *update, bool *is_aside,
                                 struct zs_error *err);

/* Sets the ellipsoid of HEALPix cells that their group declares by the dggs convention. */
enum zs_status zs_update_healpix(struct zs_hierarchy *h, const struct zs_node *node, const struct zs_healpix *healpix,
                                 struct zs_error *err);

/* Sets the fill value itself (NULL: as it is), together with `_FillValue`, and the filter of blosc (NULL: as it is), of
 * an array that has no chunks yet. The array's node is replaced by *replacement, in the store at once; arrays opened
 * from the old one are to be opened again. */
enum zs_status zs_update_empty_array(struct zs_hierarchy *h, const struct zs_node *node, const void *fill_value,
                                     const struct zs_blosc_settings *filter, const struct zs_node **replacement,
                                     struct zs_error *err);

/* Sets properties `which` of all bands of the array, and but for metadata of its overviews, as zs_bands_write(); a
 * nodata value that all have as `_FillValue` of the array. The fill value stays what it is: in a store with data it is
 * what absent chunks mean. */
enum zs_status zs_update_bands(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                               const struct zs_band_properties *bands, size_t count, unsigned which,
                               struct zs_error *err);

/* Replaces the plain attributes of an array or group by `metadata` (NULL-terminated "NAME=VALUE"; NULL or empty removes
 * them all; zs_items_write()). Attributes of conventions stay. */
enum zs_status zs_update_metadata(struct zs_hierarchy *h, const struct zs_node *node, const char *const *metadata,
                                  struct zs_error *err);

/* Replaces the metadata domains of an array. */
enum zs_status zs_update_domains(struct zs_hierarchy *h, const struct zs_node *node, const struct zs_domains *domains,
                                 struct zs_error *err);

/* Replaces the ground control points of an array; count 0 removes them. */
enum zs_status zs_update_gcps(struct zs_hierarchy *h, const struct zs_node *node, const struct zs_gcps *gcps,
                              struct zs_error *err);
