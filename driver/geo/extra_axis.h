/* geo/extra_axis.h: a dimension of a new raster other than Y and X, and its coordinate variable, made of texts: the
 * inverse of labels (geo/axes.h). */
#ifndef ZS_GEO_EXTRA_AXIS_H
#define ZS_GEO_EXTRA_AXIS_H

#include "zarr/dtype.h"

struct zs_extra_axis {
    const char *name; /* borrowed */
    uint64_t size;
    enum zs_data_type type; /* of the elements */
    const void *elements;   /* `size` of them, native order, borrowed; NULL: the dimension has no coordinate variable */
    char *const *attributes; /* of the variable: NULL-terminated "NAME=VALUE", borrowed; NULL when there are none */
};

/* Value of an item of such a list, borrowed; NULL when there is none. Case matters, as it does in attributes. */
const char *zs_extra_axis_attribute(char *const *attributes, const char *name);

/* The attribute of that list that names the data type ("float32") and is not written. */
#define ZS_AXIS_TYPE "data_type"

/* The elements of a coordinate variable from `count` texts: numbers, or where `units` and `calendar` among the
 * attributes count time, instants as labels have them. Their type is what `data_type` names, else int64 when all are
 * whole, else float64. *elements is freed with free(). ZS_INVALID when a text is neither, is no number of that type, or
 * is not all (scale_factor, add_offset). */
enum zs_status zs_extra_axis_parse(const char *const *texts, size_t count, char *const *attributes,
                                   enum zs_data_type *type, void **elements, struct zs_error *err) ZS_MUST_CHECK;

/* The same as numbers that `units` counts, as the netCDF driver of GDAL tells coordinates: *numbers is a list of
 * `count` texts, freed with zs_metadata_free(). *type is a data type of classic netCDF that holds them all, which int64
 * is none of. ZS_INVALID when there is none, too. */
enum zs_status zs_extra_axis_numbers(const char *const *texts, size_t count, char *const *attributes,
                                     enum zs_data_type *type, char ***numbers, struct zs_error *err) ZS_MUST_CHECK;

/* Adds the attributes that a coordinate variable has to its JSON: those that speak of other variables, or of numbers as
 * they were stored elsewhere, are left out. */
enum zs_status zs_write_extra_axis(zs_json *attributes, const struct zs_extra_axis *axis,
                                   struct zs_error *err) ZS_MUST_CHECK;

#endif
