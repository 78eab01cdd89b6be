#include "raster/listing.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/memory.h"
#include "geo/bands.h"
#include "geo/conventions.h"
#include "geo/georef.h"
#include "geo/healpix.h"
#include "raster/healpix.h"
#include "raster/masks.h"
#include "raster/overviews.h"
#include "raster/pixels.h"

/* ---- What there is ---- */

/* Asks for the arrays that a group's own attributes name. */
static void ask_for_bases(struct zs_hierarchy *hierarchy, const struct zs_node *group)
{
    struct zs_layout layout;
    const struct zs_node *ignored;
    bool is_there = zs_layout_first(group->attributes, &layout);
    for (int i = 0; is_there && i < ZS_MAX_LAYOUT_LEVELS; i++, is_there = zs_layout_next(&layout))
        (void)!zs_hierarchy_node_at(hierarchy, group->path, layout.level[0].asset, &ignored, NULL);
}

static enum zs_status list_nodes(struct zs_hierarchy *hierarchy, const struct zs_node *group,
                                 const struct zs_node ***nodes, size_t *count, struct zs_error *err)
{
    if (!zs_hierarchy_store(hierarchy)->is_remote || zs_hierarchy_is_consolidated(hierarchy))
        return zs_hierarchy_list(hierarchy, nodes, count, err);
    ask_for_bases(hierarchy, group);
    return zs_hierarchy_list_known(hierarchy, nodes, count, err);
}

/* ---- Arrays that serve others ---- */

/* Finds the node that an attribute of `node` names, by a path or not. ZS_NO_MEMORY only. */
static enum zs_status find_named(const struct zs_node *const *nodes, size_t count, const struct zs_node *node,
                                 const char *name, size_t *at, struct zs_error *err)
{
    int up = zs_groups_up(&name);
    char *group = zs_strdup(up < 0 ? "" : node->path);
    ZS_TRY_MEMORY(group, err);
    while (up >= 0 && zs_path_up(group) != NULL) /* to the array's group, and further */
        up--;
    const bool is_inside = up < 0 && name[0] != '\0';
    const enum zs_status status = is_inside ? zs_nodes_find(nodes, count, group, name, at, err) : ZS_OK;
    free(group);
    return status;
}

/* Marks the arrays that an attribute of nodes[index] names. */
static enum zs_status mark_named(const struct zs_node *const *nodes, size_t count, size_t index, const char *attribute,
                                 bool *marks, struct zs_error *err)
{
    const char *list;
    char word[256];
    if (!zs_json_one_text(zs_json_get(nodes[index]->attributes, attribute), &list))
        return ZS_OK;
    while ((list = zs_next_word(list, word, sizeof word)) != NULL) {
        const size_t n = strlen(word);
        if (word[n - 1] == ':')
            word[n - 1] = '\0';
        size_t found = count;
        ZS_TRY(find_named(nodes, count, nodes[index], word, &found, err));
        if (found < count && found != index)
            marks[found] = true;
    }
    return ZS_OK;
}

enum zs_status zs_auxiliary_mark(const struct zs_node *const *nodes, size_t count, bool *marks, struct zs_error *err)
{
    for (size_t i = 0; i < count; i++)
        for (const char *const *name = zs_cf_references; *name != NULL && nodes[i]->type == ZS_NODE_ARRAY; name++)
            ZS_TRY(mark_named(nodes, count, i, *name, marks, err));
    return ZS_OK;
}

/* ---- The choice ---- */

enum kind { KIND_OTHER, KIND_RASTER, KIND_PROFILE, KIND_UNREADABLE, KIND_TEXT, KINDS };

static enum kind kind_of(struct zs_hierarchy *hierarchy, const struct zs_node *node, const struct zs_node *group,
                         bool is_marked)
{
    struct zs_healpix healpix;
    if (node->type != ZS_NODE_ARRAY || zs_path_below(group->path, node->path) == NULL)
        return KIND_OTHER;
    if (node->array == NULL)
        return node->is_text ? KIND_TEXT : KIND_UNREADABLE;
    if (node->array->ndim >= 2)
        return is_marked ? KIND_OTHER : KIND_RASTER;
    /* The coordinate of a dimension is named as it. */
    const char *dimension = zs_dimension_name(node, 0);
    const bool is_coordinate = dimension != NULL && zs_equals_ignoring_case(dimension, zs_path_name(node->path));
    if (node->array->ndim != 1 || is_coordinate)
        return KIND_OTHER;
    if (zs_healpix_find(hierarchy, node, &healpix)) /* a map all the same */
        return is_marked ? KIND_OTHER : KIND_RASTER;
    return KIND_PROFILE;
}

/* Whether an array that cannot be read would be shown, by the dimensions in its document. */
static bool is_missed(const struct zs_node *node, bool is_marked)
{
    const zs_json *shape = zs_json_get(node->document, "shape");
    const zs_json *names = zs_json_get(node->document, "dimension_names");
    const char *dimension = NULL;
    if (is_marked || !zs_json_is_array(shape) || zs_json_size(shape) == 0)
        return false;
    (void)(zs_json_size(shape) == 1 && zs_json_is_array(names) && zs_json_string(zs_json_at(names, 0), &dimension));
    return dimension == NULL || !zs_equals_ignoring_case(dimension, zs_path_name(node->path));
}

/* Puts the nodes that are shown into `chosen`, which has room for `count`, and returns their number; behind them,
 * *missed nodes that would be shown if they could be read. *unreadable is the first node that cannot be read, or NULL.
 * Marked nodes are left out. */
static size_t choose(const struct zs_node *const *nodes, size_t count, const enum kind *kinds, const bool *marks,
                     const struct zs_node **chosen, size_t *missed, const struct zs_node **unreadable)
{
    const struct zs_node *first[KINDS] = {NULL};
    for (size_t i = count; i-- > 0;)
        first[kinds[i]] = nodes[i];
    *unreadable = first[KIND_UNREADABLE] != NULL ? first[KIND_UNREADABLE] : first[KIND_TEXT];
    const enum kind shown = first[KIND_RASTER] != NULL ? KIND_RASTER : KIND_PROFILE;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kinds[i] == shown)
            chosen[kept++] = nodes[i];
    *missed = 0;
    for (size_t i = 0; i < count; i++)
        if (kinds[i] == KIND_UNREADABLE && is_missed(nodes[i], marks[i]))
            chosen[kept + (*missed)++] = nodes[i];
    return kept;
}

static enum zs_status explain(const struct zs_hierarchy *hierarchy, const struct zs_node *unreadable,
                              struct zs_error *err)
{
    const struct zs_store *store = zs_hierarchy_store(hierarchy);
    if (unreadable != NULL)
        return zs_fail(err, ZS_UNSUPPORTED, "%s/%s", store->root, unreadable->array_error->message);
    if (store->is_remote && !zs_hierarchy_is_consolidated(hierarchy))
        return zs_fail(err, ZS_NOT_FOUND,
                       "%s: a remote store without consolidated metadata is not searched for arrays; name one: "
                       "SHARDEDZARR:\"...\":/array",
                       store->root);
    return zs_fail(err, ZS_NOT_FOUND, "%s: there is no array in it that can be a raster", store->root);
}

enum zs_status zs_rasters_find(struct zs_hierarchy *hierarchy, const struct zs_node *group,
                               const struct zs_node ***rasters, size_t *count, size_t *unreadable, struct zs_error *err)
{
    const struct zs_node **nodes = NULL, *first_unreadable = NULL;
    size_t n = 0, missed = 0;
    const size_t failures = zs_hierarchy_failures(hierarchy);
    ZS_TRY(list_nodes(hierarchy, group, &nodes, &n, err));
    bool *marks = zs_calloc(n, sizeof *marks);
    enum kind *kinds = zs_calloc(n, sizeof *kinds);
    const struct zs_node **chosen = zs_calloc(n, sizeof *chosen);
    enum zs_status status = marks != NULL && chosen != NULL && kinds != NULL ? ZS_OK : zs_fail_memory(err);
    if (status == ZS_OK)
        status = zs_overviews_mark(hierarchy, nodes, n, marks, err);
    if (status == ZS_OK)
        status = zs_auxiliary_mark(nodes, n, marks, err);
    if (status == ZS_OK)
        status = zs_masks_mark(hierarchy, nodes, n, marks, err);
    for (size_t i = 0; i < n && status == ZS_OK; i++)
        kinds[i] = kind_of(hierarchy, nodes[i], group, marks[i]);
    if (status == ZS_OK)
        status = zs_hierarchy_check_since(hierarchy, failures, err);
    const size_t kept =
        status == ZS_OK ? choose(nodes, n, kinds, marks, chosen, &missed, &first_unreadable) : 0;
    if (status == ZS_OK && kept == 0)
        status = explain(hierarchy, first_unreadable, err);
    free(marks);
    free(kinds);
    free(nodes);
    if (status != ZS_OK) {
        free(chosen);
        return status;
    }
    *rasters = chosen;
    *count = kept;
    if (unreadable != NULL)
        *unreadable = missed;
    return ZS_OK;
}

/* ---- Names ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Compares the numbers at which both texts stand, of any length, and moves both behind them. */
static int compare_numbers(const char **a, const char **b)
{
    while (**a == '0' && is_digit((*a)[1]))
        ++*a;
    while (**b == '0' && is_digit((*b)[1]))
        ++*b;
    int first = 0;
    for (; is_digit(**a) && is_digit(**b); ++*a, ++*b)
        if (first == 0)
            first = (**a > **b) - (**a < **b);
    return is_digit(**a) ? 1 : is_digit(**b) ? -1 : first; /* the longer one is larger */
}

/* Compares names as people order them: numbers in them by their value. < 0, 0 (the same text), > 0. */
static int compare_naturally(const char *a, const char *b)
{
    const char *p = a, *q = b;
    while (*p != '\0' && *q != '\0') {
        if (is_digit(*p) && is_digit(*q)) {
            const int order = compare_numbers(&p, &q);
            if (order != 0)
                return order;
        } else if (*p != *q) {
            return (unsigned char)*p < (unsigned char)*q ? -1 : 1;
        } else {
            p++, q++;
        }
    }
    if (*p != *q)
        return *p == '\0' ? -1 : 1;
    return strcmp(a, b); /* b2, b02 */
}

/* ---- Grids ---- */

/* An array, and what identifies its grid. */
struct member {
    const struct zs_node *node;
    char *group; /* its path; owned */
    struct zs_axes axes;
    uint64_t width, height, slices;
    char *grid;  /* a text: the same of arrays that lie on one grid; owned */
    size_t band; /* index among those that the group lists */
};

static void clear_member(struct member *m)
{
    free(m->group);
    free(m->grid);
}

/* Puts arrays of one grid beside each other. */
static int compare_members(const void *p, const void *q)
{
    const struct member *a = p, *b = q;
    int order = strcmp(a->group, b->group);
    if (order == 0)
        order = strcmp(a->grid, b->grid);
    return order != 0 ? order : strcmp(a->node->path, b->node->path);
}

/* Orders bands: those that the group lists, then by name. */
static int compare_bands(const void *p, const void *q)
{
    const struct member *a = p, *b = q;
    const int order = (a->band > b->band) - (a->band < b->band);
    return order != 0 ? order : compare_naturally(zs_path_name(a->node->path), zs_path_name(b->node->path));
}

/* Adds to *text the names in `coordinates` that are of arrays of two dimensions and more. */
static enum zs_status add_coordinates(const struct zs_node *const *nodes, size_t count, const struct zs_node *node,
                                      char **text, struct zs_error *err)
{
    const char *list;
    char word[256];
    if (!zs_json_one_text(zs_json_get(node->attributes, "coordinates"), &list))
        return ZS_OK;
    while ((list = zs_next_word(list, word, sizeof word)) != NULL) {
        size_t at = count;
        ZS_TRY(find_named(nodes, count, node, word, &at, err));
        if (at == count || nodes[at]->array == NULL || nodes[at]->array->ndim < 2)
            continue;
        char *longer = zs_format("%s\n%s", *text, word);
        free(*text);
        *text = longer;
        ZS_TRY_MEMORY(longer, err);
    }
    return ZS_OK;
}

/* Cells of one sphere lie on one grid, however many dimensions an array has beside them. */
static enum zs_status describe_cells(const struct zs_healpix *healpix, struct member *m, struct zs_error *err)
{
    const char *coordinate = healpix->coordinate != NULL ? healpix->coordinate->path : "";
    m->axes = (struct zs_axes){healpix->dim, -1};
    m->width = m->height = (uint64_t)ZS_HEALPIX_SIDE << healpix->order;
    m->grid = zs_format("healpix %d %.17g %.17g %d %s", healpix->order, healpix->semi_major,
                        healpix->inverse_flattening, healpix->is_ring, coordinate);
    return m->grid != NULL ? ZS_OK : zs_fail_memory(err);
}

static enum zs_status describe_plane(const struct zs_node *const *nodes, size_t count, struct member *m,
                                     struct zs_error *err)
{
    const struct zs_node *node = m->node;
    m->width = node->array->shape[m->axes.x];
    m->height = node->array->shape[m->axes.y];
    const char *x = zs_dimension_name(node, m->axes.x), *y = zs_dimension_name(node, m->axes.y);
    char *georef = zs_georef_text(node->attributes);
    ZS_TRY_MEMORY(georef, err);
    m->grid = zs_format("%llu %llu\n%s\n%s\n%s", (unsigned long long)m->width, (unsigned long long)m->height,
                        x != NULL ? x : "", y != NULL ? y : "", georef);
    free(georef);
    ZS_TRY_MEMORY(m->grid, err);
    return add_coordinates(nodes, count, node, &m->grid, err);
}

/* Whether the array can be of a group; ZS_NO_MEMORY only. *m is to be cleared. */
static enum zs_status describe(struct zs_hierarchy *hierarchy, const struct zs_node *const *nodes, size_t count,
                               const struct zs_node *node, const char *dim_x, const char *dim_y, struct member *m,
                               bool *is_possible, struct zs_error *err)
{
    struct zs_slices slices;
    struct zs_healpix healpix;
    struct zs_error reason;
    *m = (struct member){.node = node};
    *is_possible = false;
    if (node->array == NULL || node->path[0] == '\0')
        return ZS_OK;
    const bool is_healpix = dim_x == NULL && dim_y == NULL && zs_healpix_find(hierarchy, node, &healpix);
    if (!is_healpix && node->array->ndim < 2)
        return ZS_OK;
    const enum zs_status status = is_healpix ? ZS_OK : zs_axes_find(hierarchy, node, dim_x, dim_y, &m->axes, err);
    if (status != ZS_OK)
        return status == ZS_NO_MEMORY ? status : ZS_OK;
    ZS_TRY(is_healpix ? describe_cells(&healpix, m, err) : describe_plane(nodes, count, m, err));
    m->group = zs_path_parent(node->path);
    ZS_TRY_MEMORY(m->group, err);
    *is_possible = m->width > 0 && m->height > 0 &&
                   zs_slices_find(node->array->ndim, node->array->shape, m->axes, NULL, 0, &slices, &reason) == ZS_OK;
    m->slices = *is_possible ? slices.count : 0;
    return ZS_OK;
}

/* ---- Groups ---- */

static double pixels(const struct member *m)
{
    return (double)m->width * (double)m->height;
}

/* Finds the grid that counts among the n arrays of one group: where it begins, and how many arrays it has. */
static size_t find_grid(const struct member *m, size_t n, size_t *count)
{
    size_t best = 0;
    *count = 0;
    for (size_t i = 0, run; i < n; i += run) {
        for (run = 1; i + run < n && strcmp(m[i].grid, m[i + run].grid) == 0;)
            run++;
        if (run > *count || (run == *count && pixels(&m[i]) > pixels(&m[best]))) {
            best = i;
            *count = run;
        }
    }
    return best;
}

/* Whether the bands are of one kind (struct zs_raster_group). They are sorted, so unlisted ones are last. */
static bool is_one_kind(const struct member *m, size_t n)
{
    if (m[n - 1].band != SIZE_MAX)
        return true;
    const struct zs_array_meta *first = m[0].node->array;
    const char *unit = zs_unit_attribute(m[0].node->attributes);
    for (size_t i = 0; i < n; i++) {
        const struct zs_array_meta *a = m[i].node->array;
        const char *other = zs_unit_attribute(m[i].node->attributes);
        const bool is_same_unit = unit == NULL ? other == NULL : other != NULL && strcmp(unit, other) == 0;
        if (!is_same_unit || a->dtype.type != first->dtype.type || a->dtype.size != first->dtype.size ||
            a->ndim > (m[i].axes.y < 0 ? 1 : 2))
            return false;
    }
    return true;
}

static void add_group(struct zs_raster_groups *groups, size_t room_used, const struct zs_node *group, struct member *m,
                      size_t n)
{
    for (size_t i = 0; i < n; i++)
        m[i].band = zs_band_list_position(group->attributes, zs_path_name(m[i].node->path));
    qsort(m, n, sizeof *m, compare_bands);
    const struct zs_node **arrays = groups->arrays + room_used;
    struct zs_raster_group g = {group, arrays, n, m->width, m->height, 0, is_one_kind(m, n)};
    for (size_t i = 0; i < n; i++) {
        arrays[i] = m[i].node;
        if (!zs_add_u64(g.bands, m[i].slices, &g.bands))
            g.bands = UINT64_MAX;
    }
    groups->list[groups->count++] = g;
}

/* Collects all arrays, sorted. */
static enum zs_status collect(struct zs_hierarchy *hierarchy, struct member *members, size_t count,
                              struct zs_raster_groups *groups, struct zs_error *err)
{
    size_t used = 0;
    for (size_t i = 0, run; i < count; i += run) {
        size_t n;
        for (run = 1; i + run < count && strcmp(members[i].group, members[i + run].group) == 0;)
            run++;
        struct member *grid = &members[i] + find_grid(&members[i], run, &n);
        if (n < 2)
            continue;
        const struct zs_node *group;
        const enum zs_status status = zs_hierarchy_node(hierarchy, members[i].group, &group, err);
        if (status == ZS_NO_MEMORY)
            return status;
        if (status != ZS_OK)
            continue; /* its arrays stay arrays */
        add_group(groups, used, group, grid, n);
        used += n;
    }
    return ZS_OK;
}

enum zs_status zs_raster_groups_find(struct zs_hierarchy *hierarchy, const struct zs_node *const *rasters, size_t count,
                                     const char *dim_x, const char *dim_y, struct zs_raster_groups *groups,
                                     struct zs_error *err)
{
    const struct zs_node **nodes = NULL;
    size_t node_count = 0, n = 0;
    *groups = (struct zs_raster_groups){0};
    if (count < 2)
        return ZS_OK;
    ZS_TRY(zs_hierarchy_list_known(hierarchy, &nodes, &node_count, err));
    const size_t failures = zs_hierarchy_failures(hierarchy);
    struct zs_raster_groups found = {zs_calloc(count, sizeof *found.list), 0, zs_calloc(count, sizeof *found.arrays)};
    struct member *members = zs_calloc(count, sizeof *members);
    enum zs_status status = found.list != NULL && found.arrays != NULL && members != NULL ? ZS_OK : zs_fail_memory(err);
    for (size_t i = 0; i < count && status == ZS_OK; i++) {
        bool is_possible = false;
        status = describe(hierarchy, nodes, node_count, rasters[i], dim_x, dim_y, &members[n], &is_possible, err);
        if (is_possible)
            n++;
        else
            clear_member(&members[n]);
    }
    if (status == ZS_OK && n > 1) {
        qsort(members, n, sizeof *members, compare_members);
        status = collect(hierarchy, members, n, &found, err);
    }
    if (status == ZS_OK)
        status = zs_hierarchy_check_since(hierarchy, failures, err);
    for (size_t i = 0; i < n; i++)
        clear_member(&members[i]);
    free(members);
    free(nodes);
    if (status != ZS_OK)
        zs_raster_groups_clear(&found);
    else
        *groups = found;
    return status;
}

void zs_raster_groups_clear(struct zs_raster_groups *groups)
{
    free(groups->list);
    free(groups->arrays);
    *groups = (struct zs_raster_groups){0};
}

bool zs_raster_group_misses(const struct zs_raster_group *group, const struct zs_node *unreadable)
{
    const char *below = zs_path_below(group->group->path, unreadable->path);
    const zs_json *shape = zs_json_get(unreadable->document, "shape"), *x = NULL;
    uint64_t size;
    if (below == NULL || strchr(below, '/') != NULL || !zs_json_is_array(shape))
        return false;
    for (const zs_json *s = zs_json_first(shape); s != NULL && x == NULL; s = zs_json_next(s))
        x = zs_json_uint64(s, &size) && size == group->width ? s : NULL;
    for (const zs_json *s = zs_json_first(shape); s != NULL && x != NULL; s = zs_json_next(s))
        if (s != x && zs_json_uint64(s, &size) && size == group->height)
            return true;
    return false;
}
