#include "geo/georef.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/memory.h"
#include "geo/variables.h"

static const char MEASUREMENTS[] = "measurements";

enum { LATITUDE, LONGITUDE, LINE, PIXEL, HEIGHT, VARIABLES };
static const char *const names[VARIABLES] = {"latitude", "longitude", "line", "pixel", "height"};

struct variable {
    const struct zs_node *node; /* NULL where there is none */
    struct zs_coordinates read; /* no elements where there is none */
    uint64_t step[ZS_MAX_NDIM]; /* per dimension of the latitude: elements of this one from one index to the next */
};

/* The group that holds `measurements`, of a path below that; NULL where it is not. Freed with free(). */
static char *product_of(const char *path)
{
    const size_t n = strlen(MEASUREMENTS);
    for (const char *at = path; at != NULL; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, MEASUREMENTS, n) == 0 && at[n] == '/')
            return zs_format("%.*s", at > path ? (int)(at - path) - 1 : 0, path);
    }
    return NULL;
}

/* Dimension of `of` that has the name and length of a dimension of `node`; -1 where there is none. */
static int same_dimension(const struct zs_node *of, const struct zs_node *node, int dim)
{
    const char *name = zs_dimension_name(node, dim);
    const int d = name != NULL ? zs_dimension_find(of, name) : -1;
    return d >= 0 && of->array->shape[d] == node->array->shape[dim] ? d : -1;
}

/* How a variable follows the dimensions of the latitude; false where it has others. */
static bool find_steps(struct variable *v, const struct zs_node *latitude)
{
    uint64_t step = 1;
    for (int d = v->node->array->ndim - 1; d >= 0; d--) {
        const int of = same_dimension(latitude, v->node, d);
        if (of < 0 || v->step[of] != 0)
            return false;
        v->step[of] = step;
        step *= v->node->array->shape[d];
    }
    return true;
}

static enum zs_status read_all(struct zs_hierarchy *hierarchy, struct variable *all, bool *is_whole,
                               struct zs_error *err)
{
    static const uint64_t origin[ZS_MAX_NDIM];
    const struct zs_array_meta *meta = all[LATITUDE].node->array; /* others have some of its dimensions */
    uint64_t points;
    *is_whole = zs_product_u64(meta->shape, meta->ndim, &points) && points <= ZS_MOST_GCPS;
    for (int i = 0; i < VARIABLES && *is_whole; i++) {
        if (all[i].node == NULL && i == HEIGHT)
            continue;
        *is_whole = all[i].node != NULL && find_steps(&all[i], all[LATITUDE].node);
        if (*is_whole)
            ZS_TRY(zs_coordinates_read(hierarchy, all[i].node, origin, all[i].node->array->shape, &all[i].read, err));
        if (all[i].read.is_blank)
            zs_coordinates_clear(&all[i].read);
        *is_whole = *is_whole && (all[i].read.elements != NULL || i == HEIGHT);
    }
    return ZS_OK;
}

static bool is_finite(const struct zs_gcp *p)
{
    return isfinite(p->pixel) && isfinite(p->line) && isfinite(p->x) && isfinite(p->y) && isfinite(p->z);
}

static enum zs_status make_list(const struct variable *all, struct zs_gcps *gcps, struct zs_error *err)
{
    const struct zs_array_meta *meta = all[LATITUDE].node->array;
    uint64_t points = 1, index[ZS_MAX_NDIM] = {0};
    for (int d = 0; d < meta->ndim; d++)
        points *= meta->shape[d]; /* read_all() has seen that it fits */
    struct zs_gcp *out = zs_calloc((size_t)points, sizeof *out);
    ZS_TRY_MEMORY(out, err);
    for (uint64_t i = 0; i < points; i++) {
        double of[VARIABLES] = {0};
        for (int v = 0; v < VARIABLES; v++) {
            uint64_t at = 0;
            for (int d = 0; d < meta->ndim; d++)
                at += index[d] * all[v].step[d];
            if (all[v].read.elements != NULL)
                of[v] = zs_coordinate_at(&all[v].read, at);
        }
        const struct zs_gcp gcp = {of[PIXEL], of[LINE], of[LONGITUDE], of[LATITUDE],
                                   isfinite(of[HEIGHT]) ? of[HEIGHT] : 0};
        if (is_finite(&gcp))
            out[gcps->count++] = gcp;
        for (int d = meta->ndim - 1; d >= 0 && ++index[d] == meta->shape[d]; d--)
            index[d] = 0;
    }
    gcps->list = out;
    gcps->crs = SRS_WKT_WGS84_LAT_LONG;
    return ZS_OK;
}

static enum zs_status read_product(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_gcps *gcps,
                                   struct zs_error *err)
{
    struct variable all[VARIABLES] = {{.node = NULL}};
    bool is_whole = false;
    const size_t failures = zs_hierarchy_failures(hierarchy);
    char *product = product_of(node->path);
    if (product == NULL)
        return ZS_OK;
    char *end = zs_path_join(product, "conditions"), *group = end != NULL ? zs_path_join(end, "gcp") : NULL;
    free(product);
    for (int i = 0; i < VARIABLES && group != NULL && (i == 0 || all[LATITUDE].node != NULL); i++) {
        const struct zs_node *found = zs_nearest_array(hierarchy, group, end, names[i]);
        all[i].node = found != NULL && found->array != NULL ? found : NULL;
    }
    enum zs_status status = group != NULL ? zs_hierarchy_check_since(hierarchy, failures, err) : zs_fail_memory(err);
    free(end);
    free(group);
    if (status == ZS_OK && all[LATITUDE].node != NULL)
        status = read_all(hierarchy, all, &is_whole, err);
    if (status == ZS_OK && is_whole)
        status = make_list(all, gcps, err);
    for (int i = 0; i < VARIABLES; i++)
        zs_coordinates_clear(&all[i].read);
    return status;
}

/* ---- In an attribute ---- */

#define POINTS "points"

static enum zs_status read_declared(const zs_json *declared, struct zs_gcps *gcps, struct zs_error *err)
{
    const zs_json *points = zs_json_get(declared, POINTS);
    const size_t n = zs_json_is_array(points) ? zs_json_size(points) : 0;
    if (n == 0 || n > ZS_MOST_GCPS)
        return ZS_OK;
    gcps->list = zs_calloc(n, sizeof *gcps->list);
    ZS_TRY_MEMORY(gcps->list, err);
    for (const zs_json *e = zs_json_first(points); e != NULL; e = zs_json_next(e)) {
        double v[5];
        if (!zs_json_doubles(e, v, 5))
            continue;
        const struct zs_gcp gcp = {v[0], v[1], v[2], v[3], v[4]};
        if (is_finite(&gcp))
            gcps->list[gcps->count++] = gcp;
    }
    gcps->is_declared = gcps->count > 0;
    (void)zs_json_string(zs_json_get(declared, "crs"), &gcps->crs);
    return ZS_OK;
}

enum zs_status zs_gcps_read(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_gcps *gcps,
                            struct zs_error *err)
{
    *gcps = (struct zs_gcps){0};
    enum zs_status status = read_declared(zs_json_get(node->attributes, ZS_GCPS_ATTRIBUTE), gcps, err);
    if (status == ZS_OK && gcps->list == NULL)
        status = read_product(hierarchy, node, gcps, err);
    if (gcps->count == 0) {
        free(gcps->list);
        *gcps = (struct zs_gcps){0};
    }
    return status;
}

enum zs_status zs_gcps_write(zs_json *attributes, const struct zs_gcps *gcps, struct zs_error *err)
{
    zs_json_remove(attributes, ZS_GCPS_ATTRIBUTE);
    if (gcps->count == 0)
        return ZS_OK;
    zs_json *declared = zs_json_add_object(attributes, ZS_GCPS_ATTRIBUTE);
    bool ok = gcps->crs == NULL || zs_json_add_string(declared, "crs", gcps->crs) != NULL;
    zs_json *points = zs_json_add_array(declared, POINTS);
    for (size_t i = 0; i < gcps->count && ok; i++) {
        const struct zs_gcp *p = &gcps->list[i];
        const double v[] = {p->pixel, p->line, p->x, p->y, p->z};
        zs_json *point = zs_json_add_array(points, NULL);
        for (size_t k = 0; k < sizeof v / sizeof v[0] && ok; k++)
            ok = zs_json_add_double(point, NULL, v[k]) != NULL;
    }
    return ok && points != NULL ? ZS_OK : zs_fail_memory(err);
}
