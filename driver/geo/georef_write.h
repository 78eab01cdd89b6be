/* geo/georef_write.h: where one array lies, written in the conventions that its store uses. What raster/update.h and
 * raster/overviews.h are made of. */
#ifndef ZS_GEO_GEOREF_WRITE_H
#define ZS_GEO_GEOREF_WRITE_H

#include "geo/axes.h"
#include "geo/georef.h"
#include "geo/write.h"

/* The conventions that declare where an array lies. */
struct zs_georef_conventions {
    bool spatial_proj;       /* members of spatial: and proj: on the array, its groups or multiscales entries */
    bool cf;                 /* a grid mapping, or coordinate variables of X and Y */
    /* coordinate variables of X and Y go when there is no transform (else only a rotation drops them) */
    bool drops_coordinates;
    bool is_default;         /* the store uses none, so all of them */
    bool is_brief;           /* an overview in spatial: and CF, of which its multiscales entry says the former */
    const char *mapping_name; /* of the grid mapping variable; borrowed */
};

/* Finds what the array's store uses; everything where it uses nothing. `mapping_name` is borrowed from a node. */
void zs_georef_conventions_find(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                                struct zs_georef_conventions *conventions);

/* The place of the array as a zs_georef_out. Borrows from the arguments. */
struct zs_georef_out zs_georef_out_make(const struct zs_node *node, struct zs_axes axes,
                                        const struct zs_georef *georef);

/* Calls X and Y as the array does, where it names both: a raster's place at another level is not yet of the level's
 * dimensions. */
void zs_georef_out_name_dimensions(struct zs_georef_out *geo, const struct zs_node *node, struct zs_axes axes);

/* Whether spatial: declares the array's registration (AREA_OR_POINT), with a transform or without; else it is a plain
 * attribute (ZS_REGISTRATION_ATTRIBUTE). */
bool zs_georef_has_registration(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                                bool has_transform);

/* What the attributes of an array say of its place themselves, as a text that is the same where they say the same,
 * whatever their order; empty where they say nothing. Coordinate variables are not among it. NULL without memory, freed
 * with free(). */
char *zs_georef_text(const zs_json *attributes);

/* Says it: attributes of the array, and in its own group grid mapping and coordinate variables, made where there are
 * none. Where one cannot be, because the name is none of a node or something else has it, what is there stays and
 * spatial: and proj: say it. With is_brief the array has spatial: only where CF alone would not do for GDAL 3.13, which
 * sees no place in one pixel and no rotation, and the CRS by its code only. Documents change in memory
 * (zs_hierarchy_flush()), values of coordinates in the store. */
enum zs_status zs_georef_write(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                               const struct zs_georef_conventions *conventions, const struct zs_georef_out *geo,
                               struct zs_error *err) ZS_MUST_CHECK;

/* Coordinates and the grid mapping beside an array, written once for all arrays of one group, grid and conventions. */
struct zs_georef_shared {
    bool is_written; /* they are there: of an array alike */
    bool has_all, has_mapping;
};
enum zs_status zs_georef_write_shared(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                                      const struct zs_georef_conventions *conventions, const struct zs_georef_out *geo,
                                      struct zs_georef_shared *shared, struct zs_error *err) ZS_MUST_CHECK;

#endif
