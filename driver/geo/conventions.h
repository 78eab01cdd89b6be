/* geo/conventions.h: where the Zarr conventions keep their members: which groups are above an array, what they declare, and
 * which multiscales entry speaks of it. Internal to the room. Sources: zarr-conventions-spec (registration), proj,
 * spatial, multiscales (FORMATS 4.1-4.4), OME-NGFF 0.5, and the GeoZarr 0.4 draft for its tile matrices. */
#ifndef ZS_GEO_CONVENTIONS_H
#define ZS_GEO_CONVENTIONS_H

#include "geo/axes.h"

#define ZS_UUID_PROJ "f17cb550-5864-4468-aeb7-f3180cfb622f"
#define ZS_UUID_SPATIAL "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4"
#define ZS_UUID_MULTISCALES "d35379db-88df-4056-af3a-620245f8e347"

/* ASCII only: attribute values of conventions are ASCII, and tolower() depends on the locale. */
bool zs_equals_ignoring_case(const char *a, const char *b);

/* Whether attributes declare the convention: `zarr_conventions` as an array of objects with a uuid, or as the object keyed by
 * uuid of the first draft. Names and URLs are not looked at: they drift, the UUID does not. */
bool zs_convention_declared(const zs_json *attributes, const char *uuid);

/* ---- Levels of a pyramid ---- */

/* Published pyramids have a dozen levels; a longer list is cut. */
#define ZS_MAX_LAYOUT_LEVELS 64

struct zs_layout_level {
    const char *asset;        /* path below the group, of a group or an array; "" is the group itself */
    const char *derived_from; /* NULL where not said */
    const zs_json *entry;     /* the object that says so */
};
struct zs_layout {
    struct zs_layout_level level[ZS_MAX_LAYOUT_LEVELS];
    int count;
    bool is_ome; /* assets are arrays, entries have coordinateTransformations */
    const zs_json *transforms; /* OME: those of the whole image, applied after the level's; else NULL */
    const zs_json *next;       /* the image that zs_layout_next() reads */
};

/* Reads the first pyramid of a group's attributes (that of the multiscales convention, then come the OME images), and the one after
 * it, in its place. False when there is no such one. Strings are borrowed. */
bool zs_layout_first(const zs_json *attributes, struct zs_layout *layout);
bool zs_layout_next(struct zs_layout *layout);

/* The level that is the array at `path`, or the group that holds it; -1 when none is. `path` is relative to the group. */
int zs_layout_find(const struct zs_layout *layout, const char *path);

/* Whether level `a` is derived from level `b`, directly or through others. */
bool zs_layout_is_derived(const struct zs_layout *layout, int a, int b);

/* Whether a group's name is ovr_<N>x, as GDAL 3.13 and this driver name overviews, or ovr_<N>x_<K>, where that name was taken; *factor is N. */
bool zs_is_overview_group(const char *name, int *factor);

/* `path` relative to `group` ("" is the root), NULL when it is not below it. Borrowed. */
const char *zs_path_below(const char *group, const char *path);

/* ---- Places ---- */

/* Groups looked at above an array: its own, and as many above as a pyramid's nested assets need; then the root, where some
 * writers declare the conventions of the whole store. More would cost requests. */
#define ZS_MAX_GROUPS 4

enum zs_place_kind {
    ZS_PLACE_ARRAY, /* the array's attributes */
    ZS_PLACE_ENTRY, /* the multiscales entry that names the array or its group */
    ZS_PLACE_GROUP  /* attributes of its group, or of the group with that multiscales */
};
struct zs_place {
    enum zs_place_kind kind;
    const zs_json *members;
    const struct zs_node *group; /* NULL for ZS_PLACE_ARRAY */
    bool has_layout;             /* ZS_PLACE_GROUP: what it says holds for the base level of its pyramid ... */
    bool is_base;                /* ... and the array is of that level */
};

/* Where the members of the conventions about one array may stand, the most specific first. */
struct zs_scope {
    struct zs_place place[1 + 2 * ZS_MAX_GROUPS];
    int places;
    const struct zs_node *group[ZS_MAX_GROUPS]; /* nearest first */
    int groups;
    bool declares_spatial, declares_proj; /* the array or any of the groups does */
};
void zs_scope_find(struct zs_hierarchy *h, const struct zs_node *node, struct zs_scope *scope);

/* A named variable in the nearest of the scope's groups that has it, NULL when none has. */
const struct zs_node *zs_scope_array(struct zs_hierarchy *h, const struct zs_scope *scope, const char *name,
                                     bool *in_own_group);

/* The CF grid mapping variable of the array, or NULL; *in_own_group: it stands beside it. */
const struct zs_node *zs_grid_mapping_find(struct zs_hierarchy *h, const struct zs_node *node, const struct zs_scope *scope,
                                           bool *in_own_group);

/* Whether attributes are those of a CF grid mapping variable. */
bool zs_is_grid_mapping(const zs_json *attributes);

/* Walks a list of names separated by white space: copies the next one (cut at capacity) and returns the rest, or NULL at
 * its end. */
const char *zs_next_word(const char *list, char *word, size_t capacity);

#endif
