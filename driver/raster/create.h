/* raster/create.h: a raster as this driver lays it out in a store:
 *
 *   zarr.json          group: spatial:, proj:, consolidated metadata of all below (unless it is not wanted)
 *   <array>            (y, x) or (band, y, x), or with other dimensions instead of band: the pixels
 *   x, y, band         coordinate variables, for xarray
 *   spatial_ref        CF grid mapping, 0-d; a word of the array's `coordinates`
 *
 * Of HEALPix cells (zs_raster_spec.healpix) the pixels are (cells) or (band, cells), the group declares it by the dggs
 * convention, and of coarse orders there is the coordinate that xdggs asks for:
 *
 *   <array>            all cells of the sphere in their nested order
 *   cell_ids           their numbers
 *
 * Overviews and a mask are added to what is there, or to what is held in the hierarchy (raster/overviews.h, masks.h).
 *
 * Metadata are written last, the group's own at the very end: a store that opens is complete. */
#pragma once

#include "geo/axes.h"
#include "geo/bands.h"
#include "geo/georef.h"
#include "geo/healpix.h"
#include "zarr/document.h"

/* One array of the raster, with the properties of its bands. Borrowed. */
struct zs_raster_array_spec {
    const char *name;
    const struct zs_band_properties *bands;
    size_t band_count;
};

/* The coordinate of cells is written for at most so many cells, those of order 9: opening it reads all of it. */
#define ZS_CELL_COORDINATE_MOST ((uint64_t)12 << 18)
#define ZS_CELL_COORDINATE "cell_ids"

struct zs_raster_spec {
    uint64_t width, height;
    const struct zs_healpix *healpix; /* NULL, or whose cells are the pixels of this raster: then there is no Y, X is
                                         the dimension of cells, and no transform or srs. Borrowed. */
    const struct zs_extra_axis *axes; /* of each array, slowest first; its bands are their product. Borrowed. */
    int axis_count;                   /* at most ZS_MAX_NDIM - 2 */
    const struct zs_raster_array_spec *arrays;
    size_t array_count;

    struct zs_dtype dtype;
    bool has_nodata;
    bool nodata_is_implied; /* with has_nodata: by the fill value alone, as in the source of a copy */
    unsigned char nodata[ZS_MAX_ITEM_SIZE]; /* one element, native order: fill value, and _FillValue where has_nodata */

    uint64_t chunk[ZS_MAX_NDIM], shard[ZS_MAX_NDIM]; /* of the extra dimensions, y, x; elements */
    struct zs_encoding encoding;
    int chunk_order; /* enum zs_chunk_order */

    const char *dim_x, *dim_y; /* dim_y NULL with `healpix` */
    struct zs_georef georef; /* transform, pixel_is_point and srs (borrowed) */
    enum zs_georef_style style;
    bool is_not_consolidated; /* a new store gets no consolidated metadata; one that is there keeps what it has */

    struct zs_band_properties whole; /* metadata and domains of the whole; borrowed */
    struct zs_gcps gcps;             /* likewise */
};

/* Dimensions of its arrays, and which of them are X and Y. */
static inline int zs_raster_ndim(const struct zs_raster_spec *spec)
{
    return spec->axis_count + (spec->healpix != NULL ? 1 : 2);
}
static inline struct zs_axes zs_raster_axes(const struct zs_raster_spec *spec)
{
    const int y = spec->axis_count;
    return spec->healpix != NULL ? (struct zs_axes){y, -1} : (struct zs_axes){y + 1, y};
}

/* Adds the group at `group` ("" for the root), the arrays and the coordinates of a new raster to the hierarchy; in the
 * root with consolidated metadata. ZS_ARGUMENT where an array or group is there, whether or not consolidated metadata
 * list it, and where the root is an array. Removes what a killed writer left there. Flushes are deferred
 * (zs_hierarchy_defer()): nothing is in the store yet but values of coordinates. The dataset of the arrays writes the
 * pixels. */
enum zs_status zs_raster_create(struct zs_hierarchy *hierarchy, const char *group, const struct zs_raster_spec *spec,
                                struct zs_error *err);
