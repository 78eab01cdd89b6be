/* All chunk grids, and the keys of chunks. A grid has for each dimension one length, or a list of lengths. As
 * zarr-python 3.4 does, a "regular" grid is read with lists, too, and with 0 for the chunks of an empty dimension:
 * writers made such. */
#include "zarr/node.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "zarr/document.h"

static const struct grid {
    const char *name;
    const char *member; /* of the configuration */
    const char *members[3];
    bool has_empty; /* 0 for the chunks of an empty dimension */
    bool has_runs;  /* lists have [length, count] for many */
    bool is_exact;  /* the lengths add up to the array's size, and not to more */
} grids[] = {
    {"regular", "chunk_shape", {"chunk_shape"}, true, false, false},                  /* core specification */
    {"rectilinear", "chunk_shapes", {"kind", "chunk_shapes"}, false, true, false}, /* zarr-extensions */
    {"rectangular", "chunk_shape", {"chunk_shape"}, false, false, true},              /* ZEP 3 */
};

/* ---- Edges ---- */

static const struct zs_edge_run *last_run(const struct zs_edges *edges)
{
    return &edges->runs[edges->run_count - 1];
}

static uint64_t edges_chunks(const struct zs_edges *edges)
{
    return last_run(edges)->first + last_run(edges)->count;
}

static uint64_t edges_elements(const struct zs_edges *edges)
{
    return last_run(edges)->start + last_run(edges)->edge * last_run(edges)->count;
}

/* Appends `count` chunks of `edge` elements to *edges, which is grown (NULL: made) and freed with free(). ZS_INVALID
 * where the elements do not fit 64 bits, ZS_NO_MEMORY. */
static enum zs_status edges_add(struct zs_edges **edges, uint64_t edge, uint64_t count, struct zs_error *err)
{
    struct zs_edges *e = *edges;
    const size_t n = e != NULL ? e->run_count : 0;
    const uint64_t start = n > 0 ? edges_elements(e) : 0;
    uint64_t length, end; /* there are no more chunks than elements */
    if (!zs_mul_u64(edge, count, &length) || !zs_add_u64(start, length, &end))
        return zs_fail(err, ZS_INVALID,
                       "expected chunks of fewer than 2^64 elements in all, found %llu of %llu behind %llu",
                       (unsigned long long)count, (unsigned long long)edge, (unsigned long long)start);
    if (n > 0 && e->runs[n - 1].edge == edge) {
        e->runs[n - 1].count += count;
        return ZS_OK;
    }
    if ((n & (n - 1)) == 0) { /* room for twice as many */
        e = realloc(e, sizeof *e + (n > 0 ? 2 * n : 1) * sizeof *e->runs);
        ZS_TRY_MEMORY(e, err);
        *edges = e;
    }
    e->runs[n] = (struct zs_edge_run){start, n > 0 ? e->runs[n - 1].first + e->runs[n - 1].count : 0, edge, count};
    e->run_count = n + 1;
    return ZS_OK;
}

/* The run that holds an element, or the chunk of a number. */
static const struct zs_edge_run *find_run(const struct zs_edges *edges, uint64_t at, bool is_number)
{
    size_t low = 0, high = edges->run_count; /* it is in [low, high) */
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if ((is_number ? edges->runs[middle].first : edges->runs[middle].start) <= at)
            low = middle;
        else
            high = middle;
    }
    return &edges->runs[low];
}

uint64_t zs_edges_find(const struct zs_edges *edges, uint64_t index)
{
    const struct zs_edge_run *run = find_run(edges, index, false);
    return run->first + (index - run->start) / run->edge;
}

void zs_edges_span(const struct zs_edges *edges, uint64_t at, uint64_t *start, uint64_t *length)
{
    const struct zs_edge_run *run = find_run(edges, at, true);
    *start = run->start + (at - run->first) * run->edge;
    *length = run->edge;
}

uint64_t zs_chunk_count(const struct zs_array_meta *meta, int dim)
{
    return meta->edges[dim] != NULL ? edges_chunks(meta->edges[dim])
                                    : zs_ceil_div_u64(meta->shape[dim], meta->chunk_shape[dim]);
}

/* ---- Configurations ---- */

static enum zs_status parse_edge(const zs_json *value, const char *where, uint64_t *edge, struct zs_error *err)
{
    return zs_json_uint64(value, edge) && *edge > 0
               ? ZS_OK
               : zs_fail_found(err, ZS_INVALID, value, "%s: expected an integer of 1 to 18446744073709551615", where);
}

/* An entry of a list: a length, or a length and how often. `where` names it. */
static enum zs_status parse_entry(const struct grid *grid, const zs_json *entry, const char *where, uint64_t *edge,
                                  uint64_t *count, struct zs_error *err)
{
    *count = 1;
    if (!grid->has_runs || !zs_json_is_array(entry))
        return parse_edge(entry, where, edge, err);
    if (zs_json_size(entry) != 2)
        return zs_fail(err, ZS_INVALID, "%s: expected a length, or a length and a count, found a list of %zu", where,
                       zs_json_size(entry));
    char part[128];
    snprintf(part, sizeof part, "%s[0]", where);
    ZS_TRY(parse_edge(zs_json_at(entry, 0), part, edge, err));
    snprintf(part, sizeof part, "%s[1]", where);
    return parse_edge(zs_json_at(entry, 1), part, count, err);
}

/* A list of lengths. `name` is its name in messages. */
static enum zs_status parse_list(const struct grid *grid, const zs_json *list, const char *name, uint64_t size,
                                 struct zs_edges **edges, struct zs_error *err)
{
    size_t i = 0;
    for (const zs_json *entry = zs_json_first(list); entry != NULL; entry = zs_json_next(entry), i++) {
        char where[96];
        uint64_t edge, count;
        snprintf(where, sizeof where, "%s[%zu]", name, i);
        ZS_TRY(parse_entry(grid, entry, where, &edge, &count, err));
        const enum zs_status status = edges_add(edges, edge, count, err);
        if (status != ZS_OK)
            return zs_fail_in(err, status, "%s", where);
    }
    if (i == 0)
        return zs_fail(err, ZS_INVALID, "%s: expected at least one length, found none", name);
    const uint64_t found = edges_elements(*edges);
    if (grid->is_exact ? found != size : found < size)
        return zs_fail(err, ZS_INVALID, "%s: expected lengths that add up to %s%llu, the array's size, found %llu",
                       name, grid->is_exact ? "" : "at least ", (unsigned long long)size, (unsigned long long)found);
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

static enum zs_status parse_dimension(const struct grid *grid, const zs_json *value, struct zs_array_meta *meta,
                                      int dim, struct zs_error *err)
{
    char name[64];
    snprintf(name, sizeof name, "%s[%d]", grid->member, dim);
    if (grid->has_empty && meta->shape[dim] == 0 && zs_json_uint64(value, &meta->chunk_shape[dim]) &&
        meta->chunk_shape[dim] == 0) {
        meta->chunk_shape[dim] = 1; /* of which there are none */
        return ZS_OK;
    }
    if (!zs_json_is_array(value))
        return parse_edge(value, name, &meta->chunk_shape[dim], err);
    /* with what there is of it freed with the metadata */
    ZS_TRY(parse_list(grid, value, name, meta->shape[dim], &meta->edges[dim], err));
    meta->chunk_shape[dim] = longest(meta->edges[dim], meta->shape[dim]);
    if (meta->edges[dim]->run_count > 1 ||
        edges_chunks(meta->edges[dim]) != zs_ceil_div_u64(meta->shape[dim], meta->chunk_shape[dim])) {
        meta->has_edges = true;
        return ZS_OK;
    }
    free(meta->edges[dim]); /* they are all of one length */
    meta->edges[dim] = NULL;
    return ZS_OK;
}

static enum zs_status parse_configuration(const struct grid *grid, const zs_json *configuration,
                                          struct zs_array_meta *meta, struct zs_error *err)
{
    const zs_json *shapes = zs_json_get(configuration, grid->member);
    if (!zs_json_is_array(shapes))
        return zs_fail_found(err, ZS_INVALID, shapes, "expected an array of lengths as configuration.%s", grid->member);
    if (zs_json_size(shapes) != (size_t)meta->ndim)
        return zs_fail(err, ZS_INVALID, "%s: expected %d entries, one per dimension of shape, found %zu", grid->member,
                       meta->ndim, zs_json_size(shapes));
    int d = 0;
    for (const zs_json *value = zs_json_first(shapes); value != NULL; value = zs_json_next(value), d++)
        ZS_TRY(parse_dimension(grid, value, meta, d, err));
    return ZS_OK;
}

enum zs_status zs_chunk_grid_parse(const char *name, const zs_json *configuration, struct zs_array_meta *meta,
                                   struct zs_error *err)
{
    size_t i = 0;
    while (i < sizeof grids / sizeof grids[0] && strcmp(name, grids[i].name) != 0)
        i++;
    if (i == sizeof grids / sizeof grids[0])
        return zs_fail(err, ZS_UNSUPPORTED, "chunk_grid \"%.100s\" is not supported", name);
    enum zs_status status = ZS_OK;
    const zs_json *kind = zs_json_get(configuration, "kind");
    if (grids[i].has_runs && !zs_json_equals(kind, "inline")) /* other kinds keep the lengths elsewhere */
        status = zs_fail_found(err, kind != NULL ? ZS_UNSUPPORTED : ZS_INVALID, kind, "kind: expected \"inline\"");
    if (status == ZS_OK)
        status = parse_configuration(&grids[i], configuration, meta, err);
    if (status == ZS_OK)
        status = zs_members_check(configuration, grids[i].members, err);
    return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "chunk_grid \"%s\"", name);
}

bool zs_chunk_grid_set(zs_json *document, const uint64_t *chunk_shape, int ndim)
{
    zs_json_remove(document, "chunk_grid");
    zs_json *configuration = zs_extension_add(document, "chunk_grid", "regular");
    return zs_json_add(configuration, "chunk_shape", zs_shape_list(chunk_shape, ndim)) != NULL;
}

/* ---- Keys ---- */

/* Bytes of a key relative to its array: decimal digits of the largest uint64_t, and a separator. */
#define KEY_SIZE(ndim) (3 + 21 * (size_t)(ndim))

static void print_key(const struct zs_array_meta *meta, const uint64_t *index, char *p)
{
    /* "c/0/3" and "c"; v2 has "0/3" and "0", the draft "c0/3" and "c0" */
    const bool separates_first = !meta->key_is_v2 && !meta->key_is_draft;
    if (!meta->key_is_v2)
        *p++ = 'c';
    if (meta->ndim == 0 && !separates_first)
        *p++ = '0';
    for (int i = 0; i < meta->ndim; i++) {
        if (i > 0 || separates_first)
            *p++ = meta->key_separator;
        p += snprintf(p, 21, "%" PRIu64, index[i]);
    }
    *p = '\0';
}

char *zs_chunk_key(const struct zs_array_meta *meta, const char *array_path, const uint64_t *index)
{
    const size_t n = strlen("data/root/") + strlen(array_path) + 2;
    char *key = malloc(n + KEY_SIZE(meta->ndim));
    if (key == NULL)
        return NULL;
    const int length = snprintf(key, n, "%s%s%s", meta->key_is_draft ? "data/root/" : "", array_path,
                                array_path[0] != '\0' ? "/" : "");
    print_key(meta, index, key + length);
    return key;
}

/* Reads ndim numbers from any text: it is a key if they are printed as the same text. */
bool zs_chunk_key_parse(const struct zs_array_meta *meta, const char *key, uint64_t *index)
{
    char spelt[KEY_SIZE(ZS_MAX_NDIM)];
    const char *p = key;
    for (int i = 0; i < meta->ndim; i++) {
        char *end;
        p += strcspn(p, "0123456789");
        index[i] = strtoull(p, &end, 10); /* too large a number is not spelt like this */
        p = end;
    }
    print_key(meta, index, spelt);
    return strcmp(spelt, key) == 0;
}
