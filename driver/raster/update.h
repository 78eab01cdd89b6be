/* raster/update.h: changes georeferencing and band properties of arrays in a store, which any writer may have made.
 *
 *   zs_update_georef(h, node, axes, &geo, &err);        documents change in memory, coordinates in the store
 *   zs_update_nodata(h, node, &value, &err);
 *   zs_hierarchy_flush(h, &err);                        zarr.json of all that changed
 *
 * Node pointers stay valid and show the change at once; texts and JSON borrowed from attributes do not outlive it. No
 * other thread may use the hierarchy during a call.
 *
 * Conventions must not contradict each other: the same declaration in another convention is changed along or removed.
 * Unknown members stay as they are, byte for byte as far as JSON goes (numbers keep their form, members their
 * order). */
#pragma once

#include <ogr_srs_api.h>

#include "geo/axes.h"
#include "geo/band_properties.h"
#include "geo/georef.h"
#include "geo/healpix.h"
#include "zarr/document.h"

/* New georeferencing of an array: what is absent here is removed, and what is kept is not compared. */
struct zs_georef_update {
    bool keeps_transform, keeps_srs; /* what the store has by now, whoever set it */
    bool has_transform;
    double transform[6];     /* GDAL's order, pixel corners */
    bool keeps_registration; /* of a transform that is set: as the store has it by now */
    bool pixel_is_point;
    OGRSpatialReferenceH srs; /* NULL when unknown; borrowed */
};

/* Sets transform and CRS in every convention in which the store declares them already; in a store that declares
 * neither, as in this driver's own rasters (ZS_GEOREF_ALL). Writes nothing for what stays or is equal.
 *   - `spatial:` and `proj:` on the array, its group and its multiscales entries;
 *   - CF: members of the grid mapping variable that declare a CRS, or GeoTransform (made when there is none); values of
 *     the coordinate variables of X and Y, in the units that they have (made; rewritten where they differ from the
 *     transform; removed when it is rotated or not known any more and no array that does not follow has the
 *     dimension), and their units where these are of another kind than the CRS;
 *   - `_CRS`, `gdal:geotransform` of GDAL: rewritten where they are.
 * Overviews of the array follow. Where the transform changes, so do the arrays beside it that have the same X and Y
 * (names and sizes): coordinate variables are those of the group, and they could not stay. Those that had another CRS
 * keep that. A grid mapping that arrays which do not follow name, or that another session made, stays as it is: another
 * is named. Coordinates that are irregular are left alone as long as there was no transform and there is none now. So
 * are those of which an array that does not follow has one, and another beside it: `spatial:` declares the transform
 * then. What a group states stays where arrays that do not follow have it from there, unless it goes before what an
 * array states.
 *
 * Values of coordinate variables go to the store at once; a variable whose type cannot hold them becomes float64, and
 * the older chunks go at the flush. Where that fails, the caller takes the changes of documents back (struct
 * zs_savepoint). Values that were written stay, those of the array itself last, and its documents are flushed last: as
 * long as they are not all there, the same call does all again. */
enum zs_status zs_update_georef(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                                const struct zs_georef_update *update, struct zs_error *err);

/* The same for `count` arrays of one grid, so that those without georeferencing get it in the same conventions. */
enum zs_status zs_update_georefs(struct zs_hierarchy *h, const struct zs_node *const *nodes, const struct zs_axes *axes,
                                 size_t count, const struct zs_georef_update *update, struct zs_error *err);

/* Sets whether pixels are points, of arrays where spatial: declares it (zs_georef_has_registration()), and of their
 * overviews; others stay as they are. The transform is that of the store by now: spatial: gives its origin by
 * registration. */
enum zs_status zs_update_registrations(struct zs_hierarchy *h, const struct zs_node *const *nodes,
                                       const struct zs_axes *axes, size_t count, bool pixel_is_point,
                                       struct zs_error *err);

/* Sets the ellipsoid of HEALPix cells that their group declares by the dggs convention. */
enum zs_status zs_update_healpix(struct zs_hierarchy *h, const struct zs_node *node, const struct zs_healpix *healpix,
                                 struct zs_error *err);

/* Sets `_FillValue` of the array and its overviews to one element at `value` (native order), or with NULL removes it.
 * The fill value stays what it is: in a store with data it is what absent chunks mean. */
enum zs_status zs_update_nodata(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                                const void *value, struct zs_error *err);

/* Sets the fill value itself, of an array that has no chunks yet, together with `_FillValue`. The array's node is
 * replaced by *replacement, in the store at once; arrays opened from the old one are to be opened again. */
enum zs_status zs_update_fill_value(struct zs_hierarchy *h, const struct zs_node *node, const void *value,
                                    const struct zs_node **replacement, struct zs_error *err);

/* Sets the filter of blosc with which chunks are encoded from now on, and what goes with it. The array's node is
 * replaced as by zs_update_fill_value(). ZS_UNSUPPORTED without the codec. */
enum zs_status zs_update_blosc_filter(struct zs_hierarchy *h, const struct zs_node *node,
                                      const struct zs_blosc_settings *settings, const struct zs_node **replacement,
                                      struct zs_error *err);

/* Sets properties `which` of all bands of the array and its overviews, as zs_bands_write(); a nodata value that
 * all have as zs_update_nodata(). */
enum zs_status zs_update_bands(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                               const struct zs_band_properties *bands, size_t count, unsigned which,
                               struct zs_error *err);

/* Replaces the plain attributes of an array or group by `metadata` (NULL-terminated "NAME=VALUE"; NULL or empty removes
 * them all). Attributes of conventions stay, and so does one whose text (zs_band_properties_read()) is unchanged:
 * numbers and objects of other writers keep their form. Items by names of conventions go into ZS_ITEMS_ATTRIBUTE. */
enum zs_status zs_update_metadata(struct zs_hierarchy *h, const struct zs_node *node, const char *const *metadata,
                                  struct zs_error *err);

/* Replaces the metadata domains of an array. */
enum zs_status zs_update_domains(struct zs_hierarchy *h, const struct zs_node *node, const struct zs_domains *domains,
                                 struct zs_error *err);

/* Replaces the ground control points of an array; count 0 removes them. */
enum zs_status zs_update_gcps(struct zs_hierarchy *h, const struct zs_node *node, const struct zs_gcps *gcps,
                              struct zs_error *err);

/* ---- References (references.c) ---- */

/* Updates references to the node at path `from` when it is renamed to `to` (in the same group) or, with `to` NULL,
 * removed: in attributes of the arrays of its group (`ancillary_variables`, `coordinates`, `bounds`, `grid_mapping`,
 * `cell_measures`, `formula_terms`), and in the `multiscales` of the groups above. Changes are pending until a flush;
 * no other thread may use the hierarchy meanwhile. */
enum zs_status zs_references_change(struct zs_hierarchy *h, const char *from, const char *to, struct zs_error *err);
