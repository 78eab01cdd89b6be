/* All chunk grids: for each dimension one length ("regular", core specification), or a list of lengths ("rectangular",
 * ZEP 3; "rectilinear", zarr-extensions, where [length, count] in that list stands for many). As zarr-python 3.4 does,
 * a "regular" grid is read with lists, too, and with 0 for the chunks of an empty dimension: writers made such. */
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "zarr/chunk_grid.h"
#include "zarr/node.h"

struct form {
    const char *member; /* of the configuration */
    bool has_runs;      /* [length, count] */
    bool is_exact;      /* the lengths add up to the array's size, and not to more */
};
static const struct form regular = {"chunk_shape", false, false};
static const struct form rectilinear = {"chunk_shapes", true, false}, rectangular = {"chunk_shape", false, true};

/* An entry of a list: a length, or a length and how often. `where` names it. */
static enum zs_status parse_entry(const struct form *form, const zs_json *entry, const char *where, uint64_t *edge,
                                  uint64_t *count, struct zs_error *err)
{
    *count = 1;
    if (!form->has_runs || !zs_json_is_array(entry))
        return zs_chunk_edge_parse(entry, where, edge, err);
    if (zs_json_size(entry) != 2)
        return zs_fail(err, ZS_INVALID, "%s: expected a length, or a length and a count, found a list of %zu", where,
                       zs_json_size(entry));
    char part[128];
    snprintf(part, sizeof part, "%s[0]", where);
    ZS_TRY(zs_chunk_edge_parse(zs_json_at(entry, 0), part, edge, err));
    snprintf(part, sizeof part, "%s[1]", where);
    return zs_chunk_edge_parse(zs_json_at(entry, 1), part, count, err);
}

/* A list of lengths. `name` is its name in messages. */
static enum zs_status parse_list(const struct form *form, const zs_json *list, const char *name, uint64_t size,
                                 struct zs_edges **edges, struct zs_error *err)
{
    size_t i = 0;
    for (const zs_json *entry = zs_json_first(list); entry != NULL; entry = zs_json_next(entry), i++) {
        char where[96];
        uint64_t edge, count;
        snprintf(where, sizeof where, "%s[%zu]", name, i);
        ZS_TRY(parse_entry(form, entry, where, &edge, &count, err));
        const enum zs_status status = zs_edges_add(edges, edge, count, err);
        if (status != ZS_OK)
            return zs_fail_in(err, status, "%s", where);
    }
    if (i == 0)
        return zs_fail(err, ZS_INVALID, "%s: expected at least one length, found none", name);
    const uint64_t found = zs_edges_elements(*edges);
    if (form->is_exact ? found != size : found < size)
        return zs_fail(err, ZS_INVALID, "%s: expected lengths that add up to %s%llu, the array's size, found %llu",
                       name, form->is_exact ? "" : "at least ", (unsigned long long)size, (unsigned long long)found);
    return ZS_OK;
}

/* The longest of the chunks that begin in the array. */
static uint64_t longest(const struct zs_edges *edges, uint64_t size)
{
    uint64_t most = edges->runs[0].edge;
    for (size_t i = 1; i < edges->run_count && edges->runs[i].start < size; i++)
        most = zs_max_u64(most, edges->runs[i].edge);
    return most;
}

static enum zs_status parse_dimension(const struct form *form, const zs_json *value, struct zs_array_meta *meta,
                                      int dim, struct zs_error *err)
{
    char name[64];
    snprintf(name, sizeof name, "%s[%d]", form->member, dim);
    if (form == &regular && meta->shape[dim] == 0 && zs_json_uint64(value, &meta->chunk_shape[dim]) &&
        meta->chunk_shape[dim] == 0) {
        meta->chunk_shape[dim] = 1; /* of which there are none */
        return ZS_OK;
    }
    if (!zs_json_is_array(value))
        return zs_chunk_edge_parse(value, name, &meta->chunk_shape[dim], err);
    /* with what there is of it freed with the metadata */
    ZS_TRY(parse_list(form, value, name, meta->shape[dim], &meta->edges[dim], err));
    meta->chunk_shape[dim] = longest(meta->edges[dim], meta->shape[dim]);
    if (meta->edges[dim]->run_count > 1 ||
        zs_edges_chunks(meta->edges[dim]) != zs_ceil_div_u64(meta->shape[dim], meta->chunk_shape[dim])) {
        meta->has_edges = true;
        return ZS_OK;
    }
    free(meta->edges[dim]); /* they are all of one length */
    meta->edges[dim] = NULL;
    return ZS_OK;
}

static enum zs_status parse(const struct form *form, const zs_json *configuration, struct zs_array_meta *meta,
                            struct zs_error *err)
{
    const zs_json *shapes = zs_json_get(configuration, form->member);
    if (!zs_json_is_array(shapes))
        return zs_fail_found(err, ZS_INVALID, shapes, "expected an array of lengths as configuration.%s", form->member);
    if (zs_json_size(shapes) != (size_t)meta->ndim)
        return zs_fail(err, ZS_INVALID, "%s: expected %d entries, one per dimension of shape, found %zu", form->member,
                       meta->ndim, zs_json_size(shapes));
    int d = 0;
    for (const zs_json *value = zs_json_first(shapes); value != NULL; value = zs_json_next(value), d++)
        ZS_TRY(parse_dimension(form, value, meta, d, err));
    return ZS_OK;
}

enum zs_status zs_grid_regular_parse(const zs_json *configuration, struct zs_array_meta *meta, struct zs_error *err)
{
    return parse(&regular, configuration, meta, err);
}

enum zs_status zs_grid_rectilinear_parse(const zs_json *configuration, struct zs_array_meta *meta, struct zs_error *err)
{
    const zs_json *kind = zs_json_get(configuration, "kind");
    if (!zs_json_equals(kind, "inline")) {
        const char *found = "something that is not a string";
        (void)zs_json_string(kind, &found);
        return zs_fail(err, kind != NULL ? ZS_UNSUPPORTED : ZS_INVALID,
                       "\"rectilinear\": kind: expected \"inline\", found %.60s",
                       kind != NULL ? found : "no such member");
    }
    const enum zs_status status = parse(&rectilinear, configuration, meta, err);
    return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "\"rectilinear\"");
}

enum zs_status zs_grid_rectangular_parse(const zs_json *configuration, struct zs_array_meta *meta, struct zs_error *err)
{
    const enum zs_status status = parse(&rectangular, configuration, meta, err);
    return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "\"rectangular\"");
}
