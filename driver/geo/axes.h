/* geo/axes.h: which dimension of an array is X and which is Y, and what its other dimensions mean: their labels,
 * elements that a label or an index names, and labels as a new coordinate variable. */
#pragma once

#include "zarr/hierarchy.h"

struct zs_axes {
    int x; /* dimension index */
    int y; /* -1 for one-dimensional arrays */
};

/* Where xarray kept the names of dimensions before `dimension_names`. */
#define ZS_ARRAY_DIMENSIONS "_ARRAY_DIMENSIONS"

/* Name of dimension `dim` of an array, of text too: from `dimension_names`, else from the attribute `_ARRAY_DIMENSIONS`
 * of older writers; NULL where it has none. Borrowed from the node. */
const char *zs_dimension_name(const struct zs_node *node, int dim);
/* The dimension of that name; -1 where there is none. */
int zs_dimension_find(const struct zs_node *node, const char *name);

/* The X and Y of an overview are called as the base's with the ending `_<N>x` (raster/overviews.h), or just so. Length
 * of a name without that ending, and whether a dimension is called as the base's dimension `base` or as that at a
 * level. */
size_t zs_dimension_stem(const char *name);
bool zs_dimension_is_of(const char *name, const char *base);

/* Finds X and Y: from dim_x and dim_y (a dimension's name or index, NULL when not given), `spatial:dimensions` (of the
 * array, its groups' declarations and multiscales), dimension names (x, lon, longitude, easting, col, ...; case does
 * not matter), CF attributes of the coordinate variables (axis, standard_name, units), else the last two dimensions.
 * Names that are plain come before CF attributes because reading coordinate variables costs requests and gives the
 * same. When only one of dim_x and dim_y is given, the other one is found among the remaining dimensions. ZS_ARGUMENT
 * when dim_x or dim_y names no dimension, both name the same one, or the array has no dimension. */
enum zs_status zs_axes_find(struct zs_hierarchy *hierarchy, const struct zs_node *node, const char *dim_x,
                            const char *dim_y, struct zs_axes *axes, struct zs_error *err);

/* ---- Labels (labels.c, as all below) ---- */

/* What labels some elements of a dimension, as texts: numbers in their shortest exact form, CF times ("seconds since
 * ...", calendars standard, gregorian, proleptic_gregorian, julian, noleap, all_leap, 360_day) and datetime64 as ISO
 * 8601 ("2024-05-01T06:00:00Z" without the Z: neither knows a zone), missing values as "". Text is taken as it is. */
struct zs_labels {
    char **values; /* NULL where there is no coordinate variable that can be read, and no label of channels */
    /* The same as numbers that `units` counts, as GDAL's netCDF driver shows coordinates; NULL where they are no
     * numbers, one is missing, or no data type of classic netCDF (numbers_type) holds them all. */
    char **numbers;
    enum zs_data_type numbers_type;
    char *unit; /* owned; NULL when there is none (times have none: the text has it) */
    bool are_names; /* of channels */
    bool is_index;  /* the values are only indices: whole numbers without a unit that count from 0 or 1, or of a
                       dimension called "band", whose numbers are a way to count, too */
    bool is_count;  /* the dimension is called "band" and has no values, or those of GDAL's bands */
};

/* Reads the labels of elements [first, first + count) of dimension `dim`, which has them. No coordinate variable, one
 * that this core cannot read, one none of whose chunks is there, more than ZS_COORDINATE_MAX: values NULL, ZS_OK. ZS_IO
 * when reading failed. */
enum zs_status zs_labels_read(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim, uint64_t first,
                              uint64_t count, struct zs_labels *labels, struct zs_error *err);
void zs_labels_clear(struct zs_labels *labels);

/* Attributes of the coordinate variable of dimension `dim` that are texts, as NULL-terminated "NAME=VALUE", and
 * ZS_AXIS_TYPE where one would take the labels for another type; datetime64 as CF counts it. With these,
 * zs_extra_axis_parse() makes of the labels what the variable holds. No data are read. *items is NULL when there are
 * none; released with zs_names_free(). ZS_NO_MEMORY only. */
enum zs_status zs_label_attributes(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim, char ***items,
                                   struct zs_error *err);

/* ---- Channels of an image of OME-NGFF, which its group describes (`omero`; ome.c) ---- */

/* The labels of channels [first, first + count), freed with zs_names_free(); the index of a channel that has none.
 * *names is NULL where `dim` is no dimension of channels, or none of them has a label. ZS_NO_MEMORY only. */
enum zs_status zs_channel_names(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim, uint64_t first,
                                uint64_t count, char ***names, struct zs_error *err);
/* The colour of a channel as "RRGGBB", borrowed; NULL where there is none. */
const char *zs_channel_colour(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim, uint64_t index);

/* ---- Elements by index and value ---- */

enum zs_selection_kind { ZS_SELECT_ALL, ZS_SELECT_ONE, ZS_SELECT_RANGE };

/* The selected elements of one dimension. */
struct zs_selection {
    enum zs_selection_kind kind;
    uint64_t first, count; /* elements; count is 1 of one, at least 1 of a range, and ignored for all */
};

/* The one element of dimension `dim` whose value is `from`, after the type of the coordinate variable:
 * - a time in ISO 8601, which may be shortened ("2026-05-01", "2026-05-01T00") to what but one element lies in;
 * - a number: 850, 850.0 and 8.5e2 are the same; of booleans 0 and 1, false and true;
 * - a text, exactly.
 * In a dimension without a coordinate variable: the label of a channel, else an index. ZS_ARGUMENT when no element
 * matches (the message names the first and the last), or several do (it counts them and names the first two), or the
 * variable cannot be read.
 *
 * With is_range: elements from one to another, both included; NULL is the first or the last. Ends that are whole
 * numbers without a sign are indices, whatever the coordinate variable holds; else they are times as above, all of
 * which is included ("2026-05-07" ends with that day): both ends are of one kind. The variable is read for times alone,
 * and those between the ends must follow each other. ZS_ARGUMENT for ends that are reversed, outside of the dimension,
 * of two kinds or of neither, and where no element lies between them. */
enum zs_status zs_select(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim, const char *from,
                         const char *to, bool is_range, struct zs_selection *selection, struct zs_error *err);

/* ---- A dimension of a new raster other than Y and X, and its coordinate variable, made of texts: the inverse of
 * labels ---- */

struct zs_extra_axis {
    const char *name; /* borrowed */
    uint64_t size;
    enum zs_data_type type; /* of the elements */
    const void *elements;   /* `size` of them, native order, borrowed; NULL: the dimension has no coordinate variable */
    char *const *attributes; /* of the variable: NULL-terminated "NAME=VALUE", borrowed; NULL when there are none */
};

/* The attribute of that list that names the data type ("float32") and is not written. */
#define ZS_AXIS_TYPE "data_type"

/* The elements of a coordinate variable from `count` texts: numbers, or where `units` and `calendar` among the
 * attributes count time, instants as labels have them. Their type is what `data_type` names, else int64 when all are
 * whole, else float64. *elements is freed with free(). ZS_INVALID when a text is neither, is no number of that type, or
 * is not all (scale_factor, add_offset). */
enum zs_status zs_extra_axis_parse(const char *const *texts, size_t count, char *const *attributes,
                                   enum zs_data_type *type, void **elements, struct zs_error *err);

/* Adds the attributes that a coordinate variable has to its JSON: those that speak of other variables, or of numbers as
 * they were stored elsewhere, are left out. */
enum zs_status zs_write_extra_axis(zs_json *attributes, const struct zs_extra_axis *axis, struct zs_error *err);
