/* geo/axes.h: which dimension of an array is X and which is Y, and what its other dimensions mean. */
#ifndef ZS_GEO_AXES_H
#define ZS_GEO_AXES_H

#include "zarr/hierarchy.h"

struct zs_axes {
    int x; /* dimension index */
    int y; /* -1 for one-dimensional arrays */
};

/* Name of dimension `dim`: from `dimension_names`, else from the attribute `_ARRAY_DIMENSIONS` of older writers; NULL where
 * it has none. Borrowed from the node. */
const char *zs_dimension_name(const struct zs_node *node, int dim);

/* The X and Y of an overview are called as the base's with the ending `_<N>x` (geo/overviews.h), or just so. Length of a name without
 * that ending, and whether a dimension is called as the base's dimension `base` or as that at a level. */
size_t zs_dimension_stem(const char *name);
bool zs_dimension_is_of(const char *name, const char *base);

/* Finds X and Y: from dim_x and dim_y (a dimension's name or index, NULL when not given), `spatial:dimensions` (of the
 * array, its groups' declarations and multiscales), dimension names (x, lon, longitude, easting, col, ...; case does not
 * matter), CF attributes of the coordinate variables (axis, standard_name, units), else the last two dimensions. Names that
 * are plain come before CF attributes because looking at coordinate variables costs requests and says the same.
 * When only one of dim_x and dim_y is given, the other one is found among the remaining dimensions.
 * ZS_ARGUMENT when dim_x or dim_y names no dimension, both name the same one, or the array has no dimension. */
enum zs_status zs_axes_find(struct zs_hierarchy *h, const struct zs_node *node, const char *dim_x, const char *dim_y,
                            struct zs_axes *axes, struct zs_error *err) ZS_MUST_CHECK;

/* Values of the coordinate variable of a dimension, as texts: numbers in their shortest exact form, CF times
 * ("seconds since ...", calendars standard, gregorian, proleptic_gregorian, julian, noleap, all_leap, 360_day) and
 * datetime64 as ISO 8601 ("2024-05-01T06:00:00Z" without the Z: neither knows a zone), missing values as "". Text
 * is taken as it is. */
struct zs_labels {
    char **values; /* `count` texts, or NULL when there is no readable coordinate variable */
    size_t count;
    char *unit; /* owned; NULL when there is none (times have none: the text says it) */
};

/* Longest stretch of labels that is read; a longer one gives no labels. */
#define ZS_LABELS_MAX 1048576

/* Reads the labels of elements [first, first + count) of dimension `dim`. No coordinate variable, one that this core
 * cannot read, one none of whose chunks is there: values NULL, ZS_OK. ZS_IO when reading failed. ZS_ARGUMENT when the
 * elements are outside the dimension. */
enum zs_status zs_labels_read(struct zs_hierarchy *h, const struct zs_node *node, int dim, uint64_t first, uint64_t count,
                              struct zs_labels *labels, struct zs_error *err) ZS_MUST_CHECK;
void zs_labels_clear(struct zs_labels *labels);

#endif
