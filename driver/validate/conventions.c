/* What attributes say by the conventions that this driver knows, member by member: spatial, proj, multiscales (zarr-conventions). */
#include "geo/conventions.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "validate/validate_private.h"

struct declared {
    struct zs_check *c;
    const char *key;
    const struct zs_node *node;
};

static void wrong(const struct declared *d, const char *member, const char *expected, const zs_json *found)
{
    char *text = found != NULL ? zs_json_print(found) : zs_strdup("no such member");
    char shown[128];
    snprintf(shown, sizeof shown, "%.100s", text != NULL ? text : "?");
    zs_report(d->c, ZS_SEVERITY_ERROR, d->key, member, expected, shown);
    free(text);
}

/* ---- spatial: ---- */

static void check_transform(const struct declared *d, const zs_json *member)
{
    double t[6];
    bool is_fine = zs_json_doubles(member, t, 6);
    for (int i = 0; i < 6 && is_fine; i++)
        is_fine = isfinite(t[i]);
    if (!is_fine || t[0] * t[4] == t[1] * t[3])
        wrong(d, "spatial:transform", "six numbers that can be inverted", member);
}

/* Two names, on an array those of its dimensions, and their sizes where they are given. */
static void check_dimensions(const struct declared *d, const zs_json *names, const zs_json *shape)
{
    const struct zs_array_meta *meta = d->node->array;
    const char *name[2] = {NULL, NULL};
    double size[2];
    const bool has_shape = zs_json_doubles(shape, size, 2);
    if (shape != NULL && !has_shape)
        wrong(d, "spatial:shape", "two sizes", shape);
    if (names == NULL)
        return;
    if (zs_json_size(names) != 2 || !zs_json_string(zs_json_at(names, 0), &name[0]) || !zs_json_string(zs_json_at(names, 1), &name[1])) {
        wrong(d, "spatial:dimensions", "two names, of Y and X", names);
        return;
    }
    for (int i = 0; meta != NULL && i < 2; i++) {
        int dim = 0;
        while (dim < meta->ndim && (zs_dimension_name(d->node, dim) == NULL || strcmp(zs_dimension_name(d->node, dim), name[i]) != 0))
            dim++;
        if (dim == meta->ndim) {
            wrong(d, "spatial:dimensions", "names of the array's dimensions", names);
            return;
        }
        if (has_shape && size[i] != (double)meta->shape[dim])
            zs_report_numbers(d->c, ZS_SEVERITY_ERROR, d->key, i == 0 ? "spatial:shape, of Y" : "spatial:shape, of X", meta->shape[dim],
                              size[i] >= 0 && size[i] < 1e18 ? (uint64_t)size[i] : 0);
    }
}

static void check_spatial(const struct declared *d, const zs_json *members)
{
    const zs_json *transform = zs_json_get(members, "spatial:transform"), *bbox = zs_json_get(members, "spatial:bbox");
    const zs_json *registration = zs_json_get(members, "spatial:registration"), *type = zs_json_get(members, "spatial:transform_type");
    double b[4];
    const bool is_affine = type == NULL || zs_json_equals(type, "affine");
    if (transform != NULL && is_affine)
        check_transform(d, transform);
    if (!is_affine)
        zs_report(d->c, ZS_SEVERITY_UNCHECKED, d->key, "spatial:transform_type", "\"affine\"", "another one");
    if (bbox != NULL && (!zs_json_doubles(bbox, b, 4) || !(b[0] <= b[2]) || !(b[1] <= b[3])))
        wrong(d, "spatial:bbox", "[xmin, ymin, xmax, ymax]", bbox);
    if (registration != NULL && !zs_json_equals(registration, "pixel") && !zs_json_equals(registration, "node"))
        wrong(d, "spatial:registration", "\"pixel\" or \"node\"", registration);
    check_dimensions(d, zs_json_get(members, "spatial:dimensions"), zs_json_get(members, "spatial:shape"));
}

/* ---- proj: ---- */

static void check_proj(const struct declared *d, const zs_json *members)
{
    const char *text;
    const zs_json *code = zs_json_get(members, "proj:code"), *wkt = zs_json_get(members, "proj:wkt2");
    const zs_json *projjson = zs_json_get(members, "proj:projjson");
    if (zs_json_typeof(code) != ZS_JSON_NULL) {
        const char *colon = zs_json_string(code, &text) ? strchr(text, ':') : NULL;
        if (colon == NULL || colon == text || colon[1] == '\0' || strchr(colon + 1, ':') != NULL)
            wrong(d, "proj:code", "\"AUTHORITY:CODE\"", code);
    }
    if (zs_json_typeof(wkt) != ZS_JSON_NULL && !zs_json_string(wkt, &text))
        wrong(d, "proj:wkt2", "a string", wkt);
    if (zs_json_typeof(projjson) != ZS_JSON_NULL && !zs_json_is_object(projjson))
        wrong(d, "proj:projjson", "an object", projjson);
}

/* ---- multiscales ---- */

static bool is_one_of(const char *name, const char *const *list)
{
    while (*list != NULL && strcmp(name, *list) != 0)
        list++;
    return *list != NULL;
}

/* Members of an object of the convention; those of conventions with a prefix may be among them. */
static void check_known(const struct declared *d, const char *of, const zs_json *object, const char *const *known)
{
    for (const zs_json *m = zs_json_first(object); m != NULL; m = zs_json_next(m))
        if (!is_one_of(zs_json_name(m), known) && strchr(zs_json_name(m), ':') == NULL)
            zs_report(d->c, ZS_SEVERITY_WARNING, d->key, of, "members that the convention knows", zs_json_name(m));
}

/* The layout of the convention. Its older drafts and OME-NGFF, which share the name, are looked at in pyramids.c only. */
static void check_multiscales(const struct declared *d, const zs_json *multiscales)
{
    static const char *const members[] = {"layout", "resampling_method", NULL};
    static const char *const entry_members[] = {"asset", "derived_from", "transform", "resampling_method", NULL};
    static const char *const transform_members[] = {"scale", "translation", NULL};
    const zs_json *layout = zs_json_get(multiscales, "layout");
    if (!zs_json_is_object(multiscales) || zs_json_get(multiscales, "tile_matrix_set") != NULL)
        return;
    check_known(d, "multiscales", multiscales, members);
    if (!zs_json_is_array(layout) || zs_json_first(layout) == NULL)
        wrong(d, "multiscales: layout", "a list of levels", layout);
    for (const zs_json *entry = zs_json_first(layout); entry != NULL; entry = zs_json_next(entry)) {
        const zs_json *asset = zs_json_get(entry, "asset"), *transform = zs_json_get(entry, "transform");
        const char *text = "";
        if (!zs_json_string(asset, &text) || text[0] == '/' || strstr(text, "..") != NULL)
            wrong(d, "multiscales: asset", "a path below the group", asset);
        check_known(d, "multiscales: a level", entry, entry_members);
        check_known(d, "multiscales: transform", transform, transform_members);
        if (zs_json_get(entry, "derived_from") != NULL && zs_json_get(transform, "scale") == NULL)
            wrong(d, "multiscales: transform", "a scale, for a level that is derived from another", transform);
        check_spatial(d, entry);
    }
}

/* ---- Declarations ---- */

static void check_declarations(const struct declared *d, const zs_json *list)
{
    const char *text;
    for (const zs_json *entry = zs_json_is_array(list) ? zs_json_first(list) : NULL; entry != NULL; entry = zs_json_next(entry)) {
        const zs_json *uuid = zs_json_get(entry, "uuid");
        if (uuid == NULL && zs_json_get(entry, "schema_url") == NULL && zs_json_get(entry, "spec_url") == NULL)
            wrong(d, "zarr_conventions", "uuid, schema_url or spec_url", entry);
        else if (uuid != NULL && (!zs_json_string(uuid, &text) || strlen(text) != 36 || strspn(text, "0123456789abcdefABCDEF-") != 36))
            wrong(d, "zarr_conventions: uuid", "a UUID", uuid);
    }
    if (list != NULL && !zs_json_is_array(list) && !zs_json_is_object(list))
        wrong(d, "zarr_conventions", "a list of objects", list);
}

/* Whether the node or a group above it declares the convention. */
static bool is_declared(const struct declared *d, const char *uuid)
{
    bool found = zs_convention_declared(d->node->attributes, uuid);
    char *path = zs_path_parent(d->node->path);
    while (path != NULL && !found) {
        const struct zs_node *group;
        found = zs_hierarchy_node(d->c->h, path, &group, NULL) == ZS_OK && zs_convention_declared(group->attributes, uuid);
        char *above = zs_path_parent(path);
        free(path);
        path = above;
    }
    free(path);
    return found;
}

/* Members whose names begin with a convention's prefix: known to it, and declared. */
static void check_prefixed(const struct declared *d, const char *prefix, const char *const *known, const char *uuid)
{
    bool has_any = false;
    for (const zs_json *m = zs_json_first(d->node->attributes); m != NULL; m = zs_json_next(m)) {
        const char *name = zs_json_name(m);
        if (strncmp(name, prefix, strlen(prefix)) != 0)
            continue;
        has_any = true;
        if (!is_one_of(name + strlen(prefix), known))
            zs_report(d->c, ZS_SEVERITY_WARNING, d->key, "attribute with a convention's prefix", "one that the convention knows", name);
    }
    if (has_any && !is_declared(d, uuid))
        zs_report(d->c, ZS_SEVERITY_WARNING, d->key, "attributes of a convention that is not declared in zarr_conventions", uuid, prefix);
}

/* Names that differ in one letter from those that readers look for: mistyped, or damaged. */
static void check_spelling(const struct declared *d)
{
    static const char *const names[] = {
        "spatial:dimensions", "spatial:transform", "spatial:transform_type", "spatial:bbox", "spatial:shape", "spatial:registration",
        "proj:code", "proj:wkt2", "proj:projjson", "multiscales", "zarr_conventions", "grid_mapping", "coordinates", "_FillValue",
        "missing_value", "scale_factor", "add_offset", "standard_name", "long_name", "flag_values", "flag_meanings", "flag_masks",
        "crs_wkt", "spatial_ref", "GeoTransform", "gdal:bands", "gdal:color_table"};
    for (const zs_json *m = zs_json_first(d->node->attributes); m != NULL; m = zs_json_next(m))
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            const char *name = zs_json_name(m);
            size_t different = 0;
            for (size_t k = 0; strlen(name) == strlen(names[i]) && names[i][k] != '\0'; k++)
                different += name[k] != names[i][k];
            if (different == 1)
                zs_report(d->c, ZS_SEVERITY_WARNING, d->key, "attribute that is almost called as one of a convention", names[i], name);
        }
}

enum zs_status zs_check_conventions(struct zs_check *c, const struct zs_node *node, struct zs_error *err)
{
    static const char *const spatial[] = {"dimensions", "transform", "transform_type", "bbox", "shape", "registration", NULL};
    static const char *const proj[] = {"code", "wkt2", "projjson", NULL};
    if (node->attributes == NULL)
        return ZS_OK;
    struct declared d = {c, zs_document_key(node->path), node};
    if (d.key == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a path");
    check_spelling(&d);
    check_declarations(&d, zs_json_get(node->attributes, "zarr_conventions"));
    check_prefixed(&d, "spatial:", spatial, ZS_UUID_SPATIAL);
    check_prefixed(&d, "proj:", proj, ZS_UUID_PROJ);
    check_spatial(&d, node->attributes);
    check_proj(&d, node->attributes);
    check_multiscales(&d, zs_json_get(node->attributes, "multiscales"));
    if (node->array != NULL && zs_convention_declared(node->attributes, ZS_UUID_SPATIAL) &&
        zs_json_get(node->attributes, "spatial:dimensions") == NULL)
        wrong(&d, "spatial:dimensions", "two names, where the convention is declared", NULL);
    free((char *)d.key);
    return ZS_OK;
}
