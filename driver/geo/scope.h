/* geo/scope.h: where members that speak of an array may stand: on itself, its groups, and the multiscales entries
 * that name it. Internal to the core. Sources: zarr-conventions-spec (registration), proj, spatial, multiscales
 * (FORMATS 4.1-4.4). */
#pragma once

#include "geo/axes.h"

/* ASCII only: attribute values of conventions are ASCII, and tolower() depends on the locale. */
bool zs_equals_ignoring_case(const char *a, const char *b);

/* Walks a list of names separated by white space: copies the next one (cut at capacity) and returns the rest, or NULL
 * at its end. */
const char *zs_next_word(const char *list, char *word, size_t capacity);
/* Whether a list of words (NULL: none) has a name; with_keys: also as a key of CF's long form, "crs: x y". */
bool zs_has_word(const char *list, const char *name, bool with_keys);

/* Groups looked at above an array: its own, and as many above as a pyramid's nested assets need; then the root, where
 * some writers declare the conventions of the whole store. More would cost requests. */
#define ZS_MAX_GROUPS 4

enum zs_source_kind {
    ZS_SOURCE_ARRAY, /* the array's attributes */
    ZS_SOURCE_ENTRY, /* the multiscales entry that names the array or its group */
    ZS_SOURCE_GROUP  /* attributes of its group, or of the group with that multiscales */
};
struct zs_scope_source {
    enum zs_source_kind kind;
    const zs_json *members;
    const struct zs_node *group; /* NULL for ZS_SOURCE_ARRAY */
    bool has_layout;             /* ZS_SOURCE_GROUP: its members hold for the base level of its pyramid ... */
    bool is_base;                /* ... and the array is of that level */
};

/* Where the members of the conventions about one array may stand, the most specific first. */
struct zs_scope {
    const struct zs_node *node;
    struct zs_scope_source source[1 + 2 * ZS_MAX_GROUPS];
    int sources;
    const struct zs_node *group[ZS_MAX_GROUPS]; /* nearest first */
    int groups;
};
void zs_scope_find(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_scope *scope);

/* Member `name` of source number `source`, or of those less specific: a multiscales entry leaves to its group what is
 * common to all. */
const zs_json *zs_scope_inherited(const struct zs_scope *scope, int source, const char *name);

/* A named variable in the nearest of the scope's groups that has it, or the one at a path (CF 2.7) from `from`, the
 * group whose attribute has the name (NULL: the array's own group); NULL when there is none. */
const struct zs_node *zs_scope_array(struct zs_hierarchy *hierarchy, const struct zs_scope *scope,
                                     const struct zs_node *from, const char *name, bool *in_own_group);
