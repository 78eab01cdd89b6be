/* geo/multiscales.h: levels of a pyramid as a group's attributes list them: the multiscales convention (FORMATS 4.4),
 * the tile matrices of the GeoZarr 0.4 draft, and what other conventions list (OME-NGFF). Internal to the core. */
#pragma once

#include "geo/axes.h"

struct zs_convention;
extern const struct zs_convention zs_multiscales;

/* Published pyramids have a dozen levels; a longer list is cut. */
#define ZS_MAX_LAYOUT_LEVELS 64

struct zs_layout_level {
    const char *asset;        /* path below the group, of a group or an array; "" is the group itself */
    const char *derived_from; /* NULL where not declared */
    const zs_json *entry;     /* the object that declares the level */
};
struct zs_layout {
    struct zs_layout_level level[ZS_MAX_LAYOUT_LEVELS];
    int count;
    bool is_ome;     /* assets are arrays, entries have coordinateTransformations */
    bool is_foreign; /* not the list of the multiscales convention, which is the one that this driver changes */
    const zs_json *transforms; /* OME: those of the whole image, applied after the level's; else NULL */
    /* Where zs_layout_next() goes on: */
    const zs_json *attributes;
    int convention;       /* number in the table */
    const zs_json *image; /* the object that was read last by it; NULL before the first */
};

/* Reads the first pyramid of a group's attributes (that of the multiscales convention, then come images of OME and
 * ndpyramid), and
 * the one after it, in its place. False when there is no such one. Strings are borrowed. */
bool zs_layout_first(const zs_json *attributes, struct zs_layout *layout);
bool zs_layout_next(struct zs_layout *layout);

/* For conventions: adds the levels that a list of objects names by their member `asset_name`. False when there are
 * none. */
bool zs_layout_add_levels(struct zs_layout *layout, const zs_json *entries, const char *asset_name);

/* The level that is the array at `path`, or the group that holds it; -1 when none is. `path` is relative to the
 * group. */
int zs_layout_find(const struct zs_layout *layout, const char *path);

/* Whether level `a` is derived from level `b`, directly or through others. */
bool zs_layout_is_derived(const struct zs_layout *layout, int a, int b);

/* The counterpart of the array `like` at a level: the asset itself, or the array of the same name in it; NULL when
 * there is none of as many dimensions. */
const struct zs_node *zs_level_array(struct zs_hierarchy *hierarchy, const struct zs_node *group,
                                     const struct zs_layout_level *level, const struct zs_node *like);

/* Size of a level: that of its array; where that is not there, that in its entry; else by the factor in its name
 * (ovr_<N>x) from the size of `like`, of the base. False when it is not known. */
bool zs_level_size(struct zs_hierarchy *hierarchy, const struct zs_node *group, const struct zs_layout_level *level,
                   const struct zs_node *like, struct zs_axes axes, uint64_t *width, uint64_t *height);

/* Whether a group's name is ovr_<N>x, as GDAL 3.13 and this driver name overviews, or ovr_<N>x_<K>, where that name
 * was taken; *factor is N. */
bool zs_is_overview_group(const char *name, int *factor);
