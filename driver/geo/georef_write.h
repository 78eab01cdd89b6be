/* geo/georef_write.h: writes the georeferencing of one array in the conventions that its store uses, for
 * raster/update.h and raster/overviews.h. */
#pragma once

#include "geo/axes.h"
#include "geo/georef.h"
#include "geo/write.h"

/* The conventions that georeference an array. */
struct zs_georef_conventions {
    bool spatial_proj;       /* members of spatial: and proj: on the array, its groups or multiscales entries */
    bool cf;                 /* a grid mapping, or coordinate variables of X and Y */
    bool is_default;         /* the store uses none, so all of them */
    bool is_brief;           /* an overview in spatial: and CF, the former in its multiscales entry alone */
    const char *mapping_name; /* of the grid mapping variable; borrowed */
};

/* Finds what the array's store uses; everything where it uses nothing. `mapping_name` is borrowed from a node. */
void zs_georef_conventions_find(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                                struct zs_georef_conventions *conventions);

/* The georeferencing of the array, to be written. Borrows from the arguments. */
struct zs_georef_out zs_georef_out_make(const struct zs_node *node, struct zs_axes axes,
                                        const struct zs_georef *georef);

/* Calls X and Y as the array does, where it names both: georeferencing for another level of a pyramid does not have
 * that level's dimensions yet. */
void zs_georef_out_name_dimensions(struct zs_georef_out *geo, const struct zs_node *node, struct zs_axes axes);

/* Whether spatial: declares the array's registration (AREA_OR_POINT), with a transform or without; else it is a plain
 * attribute (ZS_REGISTRATION_ATTRIBUTE). */
bool zs_georef_has_registration(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                                bool has_transform);

/* Returns the attributes that georeference an array as a text, to compare arrays by: equal whatever their order, empty
 * when there are none. Leaves out coordinate variables. NULL without memory, freed with free(). */
char *zs_georef_text(const zs_json *attributes);

/* Coordinates and the grid mapping beside an array: written once for all arrays that share them. */
struct zs_georef_shared {
    bool is_written; /* in CF; else nothing is */
    bool has_all, has_mapping; /* they hold what they should: a name may be taken by a variable of another kind */
};

/* Writes it: attributes of the array, and the grid mapping and coordinate variables in its group, made where they are
 * missing, unless *shared has them (NULL: it has not). Where one cannot be made, because its name is invalid or taken,
 * the present node stays and spatial: and proj: declare the georeferencing. With is_brief the array has spatial: only
 * where CF alone would not do for GDAL 3.13, which reads neither a transform from one pixel nor a rotation, and the CRS
 * by its code only. Documents change in memory (zs_hierarchy_flush()), values of coordinates in the store. */
enum zs_status zs_georef_write(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                               const struct zs_georef_conventions *conventions, const struct zs_georef_out *geo,
                               struct zs_georef_shared *shared, struct zs_error *err);
/* The attributes of the array alone, of one that is not in the hierarchy yet: as zs_georef_write() of one beside it. */
enum zs_status zs_georef_write_attributes(zs_json *attributes, const struct zs_georef_conventions *conventions,
                                          const struct zs_georef_out *geo, const struct zs_georef_shared *shared,
                                          struct zs_error *err);
