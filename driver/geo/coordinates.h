/* geo/coordinates.h: coordinate variables: one-dimensional arrays named as a dimension (CF conventions 1.3, "coordinate
 * variable"). Internal to the room. */
#pragma once

#include <ogr_srs_api.h>

#include "geo/axes.h"

/* The coordinate variable of dimension `dim` of the array: in its group, and in consolidated stores (where looking
 * costs nothing) in the groups above; NULL when there is none, or its length differs. */
const struct zs_node *zs_coordinate_find(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim);

/* Elements [first, first + count) of the coordinate variable of dimension `dim` where that is an array of text
 * (array/array.h), freed with zs_strings_free(). *texts is NULL when there is no such variable, when it is of
 * a kind that is not read, and when none of its chunks is there. ZS_IO, ZS_CORRUPT, ZS_NO_MEMORY, ZS_CANCELLED are
 * handed on. */
enum zs_status zs_coordinate_texts(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim, uint64_t first,
                                   uint64_t count, char ***texts, struct zs_error *err);

/* Budget of coordinates: the longest axis or row that is looked through, block by block, and the largest chunk that is
 * decoded for it. No raster is so wide; a longer one is left out rather than judged by samples: a wrong transform is
 * worse than none. */
#define ZS_COORDINATE_MAX ((uint64_t)16 << 20)
#define ZS_COORDINATE_MAX_CHUNK ((uint64_t)128 << 20)

/* Elements [first, first + count) of a coordinate variable, in the array's own type. *elements is freed with free() and
 * NULL when the array is of a kind that is not read (a codec that is not built in), or is beyond the budget.
 * *is_blank: no element differs from the array's fill value, which is what a store without its chunks looks like.
 * ZS_IO, ZS_CORRUPT, ZS_NO_MEMORY, ZS_CANCELLED are handed on. */
enum zs_status zs_coordinate_elements(struct zs_hierarchy *hierarchy, const struct zs_node *coordinate, uint64_t first,
                                      uint64_t count, void **elements, bool *is_blank, struct zs_error *err);

/* Like zs_coordinate_elements(), as doubles, scale_factor and add_offset applied, _FillValue as NaN; 64-bit integers
 * are rounded to double. */
enum zs_status zs_coordinate_values(struct zs_hierarchy *hierarchy, const struct zs_node *coordinate, uint64_t first,
                                    uint64_t count, double **values, bool *is_blank, struct zs_error *err);

/* All values of a variable of any rank, in row-major order. *values is freed with free(), and NULL for one of more than
 * `most` elements, for one that is blank, and where zs_coordinate_values() gives none. */
enum zs_status zs_variable_values(struct zs_hierarchy *hierarchy, const struct zs_node *variable, uint64_t most,
                                  double **values, struct zs_error *err);
/* Whether the middle row of a two-dimensional coordinate variable is nothing but fill value, or of a kind that is not
 * read: then it is no geolocation. Rows at the edge of a swath may well be missing. *is_too_large: it was not looked
 * at, and counts as blank. */
enum zs_status zs_coordinate_rows_blank(struct zs_hierarchy *hierarchy, const struct zs_node *coordinate,
                                        bool *is_blank, bool *is_too_large, struct zs_error *err);

/* Whether values of a coordinate variable are degrees east, and such a value so many turns on or back that it is
 * nearest to what is expected: -179 is 181. Values that no longitude has stay as they are. */
bool zs_is_longitude(const struct zs_node *coordinate);
double zs_unwrap(double longitude, double expected);

/* Deviation from a straight line, as part of a step, up to which an axis is regular. Gaussian latitudes deviate by up
 * to 1.6 % near the poles: placing them is worth more than that; coordinates rounded to a few decimals deviate less. */
#define ZS_AXIS_TOLERANCE 0.025

/* A regular axis: value i is first + i step, a longitude but for whole turns. */
struct zs_regular_axis {
    bool found;
    bool is_too_large; /* not looked at: beyond the budget */
    double first, step; /* step is 0 for an axis of one element */
    uint64_t size;
    const struct zs_node *coordinate;
};
/* Reads the axis of dimension `dim`; found is false where it has no coordinate variable, or one that is blank or not
 * regular. */
enum zs_status zs_regular_axis_read(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim,
                                    struct zs_regular_axis *axis, struct zs_error *err);

/* The axis of a variable by its CF attributes (axis, standard_name, units): 'X', 'Y', or 0 when they do not declare it.
 * *is_degrees when units are degrees of longitude or latitude. */
char zs_cf_axis(const zs_json *attributes, bool *is_degrees);

/* The axis of a dimension by its name: 'X', 'Y' or 0. */
char zs_name_axis(const char *name);

/* The factor from values of a coordinate variable to coordinates of the CRS: kilometres beside one in metres, and the
 * other way round; the angles of a geostationary view, as a satellite's instruments scan it, by the satellite's height.
 * 1 of all other units, and without a CRS. */
double zs_coordinate_factor(const struct zs_node *coordinate, OGRSpatialReferenceH srs);
