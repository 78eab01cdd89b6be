#include "raster/update.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "geo/conventions.h"
#include "zarr/name.h"

/* ---- Attributes ---- */

/* Attributes that name arrays, as words. */
static const struct {
    const char *name;
    bool has_colon; /* one may follow the name */
} lists[] = {{"ancillary_variables", false}, {"coordinates", false},   {"bounds", false},
             {"grid_mapping", true},         {"cell_measures", false}, {"formula_terms", false}};

static bool is_word(const char *text, size_t length, const char *name, bool has_colon)
{
    const size_t n = strlen(name);
    return strncmp(text, name, n) == 0 && (length == n || (has_colon && length == n + 1 && text[n] == ':'));
}

static bool has_word(const char *list, const char *name, bool has_colon)
{
    for (const char *p = list; *p != '\0';) {
        p += strspn(p, " ");
        const size_t length = strcspn(p, " ");
        if (is_word(p, length, name, has_colon))
            return true;
        p += length;
    }
    return false;
}

/* The words with `to` instead of `from`, or with NULL without it: owned, NULL without memory. */
static char *replaced(const char *list, const char *from, const char *to, bool has_colon)
{
    const size_t n = strlen(from);
    char *out = zs_strdup("");
    for (const char *p = list; *p != '\0' && out != NULL;) {
        p += strspn(p, " ");
        const size_t length = strcspn(p, " ");
        const bool is_it = is_word(p, length, from, has_colon);
        char *longer = out;
        if (length > 0 && (!is_it || to != NULL))
            longer = zs_format("%s%s%s%.*s", out, out[0] != '\0' ? " " : "", is_it ? to : "",
                               (int)(is_it ? length - n : length), is_it ? p + n : p);
        if (longer != out)
            free(out);
        out = longer;
        p += length;
    }
    return out;
}

static enum zs_status change_attributes(struct zs_hierarchy *hierarchy, const struct zs_node *array, const char *from,
                                        const char *to, struct zs_error *err)
{
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const char *list;
        zs_json *attributes;
        if (!zs_json_string(zs_json_get(array->attributes, lists[i].name), &list) ||
            !has_word(list, from, lists[i].has_colon))
            continue;
        char *text = replaced(list, from, to, lists[i].has_colon);
        enum zs_status status =
            text != NULL ? zs_hierarchy_edit(hierarchy, array, &attributes, err) : zs_fail_memory(err);
        if (status == ZS_OK && text[0] == '\0')
            zs_json_remove(attributes, lists[i].name);
        else if (status == ZS_OK && !zs_json_set_string(attributes, lists[i].name, text))
            status = zs_fail_memory(err);
        free(text);
        ZS_TRY(status);
    }
    return ZS_OK;
}

static enum zs_status change_siblings(struct zs_hierarchy *hierarchy, const char *from, const char *to,
                                      struct zs_error *err)
{
    const struct zs_node **nodes = NULL;
    size_t count = 0, at = 0;
    enum zs_status status = zs_hierarchy_list(hierarchy, &nodes, &count, err);
    if (status != ZS_OK) /* in a store that cannot be listed nothing that is known names it */
        return status == ZS_UNSUPPORTED ? ZS_OK : status;
    char *group = zs_path_parent(from);
    status = group != NULL ? ZS_OK : zs_fail_memory(err);
    for (const struct zs_node *node; status == ZS_OK && (node = zs_nodes_child(nodes, count, group, &at)) != NULL;)
        if (node->array != NULL && strcmp(node->path, from) != 0)
            status = change_attributes(hierarchy, node, zs_path_name(from), to != NULL ? zs_path_name(to) : NULL, err);
    free(group);
    free(nodes);
    return status;
}

/* ---- Pyramids ---- */

/* The rest of an asset behind `name`, when it is that node or lies in it; else NULL. */
static const char *rest_of(const zs_json *asset, const char *name)
{
    const char *text;
    const size_t n = strlen(name);
    if (!zs_json_string(asset, &text) || strncmp(text, name, n) != 0 || (text[n] != '\0' && text[n] != '/'))
        return NULL;
    return text + n;
}

/* Gives an entry of a layout the new name where it names the old one. */
static bool rename_in_entry(zs_json *entry, const char *from, const char *to)
{
    static const char *const members[] = {"asset", "derived_from"};
    bool ok = true;
    for (int i = 0; i < 2 && ok; i++) {
        const char *rest = rest_of(zs_json_get(entry, members[i]), from);
        char *text = rest != NULL ? zs_format("%s%s", to, rest) : NULL;
        ok = rest == NULL || (text != NULL && zs_json_set_string(entry, members[i], text));
        free(text);
    }
    return ok;
}

/* Replaces the transform of a level that was derived from a level that is removed: it becomes the transform from what
 * the removed one was derived from. Scales are multiplied, translations scaled and added. Without one of the two
 * transforms there is none. */
static bool compose(zs_json *level, const zs_json *gone)
{
    static const char *const members[] = {"scale", "translation"};
    double values[2][2][ZS_MAX_NDIM]; /* of the one that goes, of the level; scale, translation */
    zs_json *transform = zs_json_get_mutable(level, "transform");
    const zs_json *both[2] = {zs_json_get(gone, "transform"), transform};
    const size_t n = zs_json_size(zs_json_get(transform, "scale"));
    bool is_known = n > 0 && n <= ZS_MAX_NDIM, ok = true;
    for (int i = 0; i < 4 && is_known; i++)
        is_known = zs_json_doubles(zs_json_get(both[i / 2], members[i % 2]), values[i / 2][i % 2], n);
    if (!is_known) {
        zs_json_remove(level, "transform");
        return true;
    }
    for (int m = 0; m < 2 && ok; m++) {
        zs_json *list = zs_json_new_array();
        for (size_t d = 0; d < n && ok; d++) {
            const double *g = values[0][m] + d, *l = values[1][m] + d;
            ok = zs_json_add_double(list, NULL, m == 0 ? *g * *l : *g + values[0][0][d] * *l) != NULL;
        }
        if (ok)
            ok = zs_json_set(transform, members[m], list) != NULL;
        else
            zs_json_free(list);
    }
    return ok;
}

/* Copies a layout without the levels at or below `from`; without any level when the base is one of them. A level that
 * was derived from a removed one is then derived from what that was derived from. NULL without memory. */
static zs_json *layout_without(const zs_json *layout, const char *from)
{
    zs_json *out = zs_json_new_array();
    const zs_json *base = zs_json_first(layout);
    const bool has_base = base != NULL && rest_of(zs_json_get(base, "asset"), from) == NULL;
    const zs_json *gone = NULL; /* the last that was left out */
    for (const zs_json *e = has_base ? base : NULL; e != NULL && out != NULL; e = zs_json_next(e)) {
        if (rest_of(zs_json_get(e, "asset"), from) != NULL) {
            gone = e;
            continue;
        }
        zs_json *copy = zs_json_copy(e);
        bool ok = copy != NULL;
        if (ok && rest_of(zs_json_get(e, "derived_from"), from) != NULL) {
            const char *derived = zs_json_text(gone, "derived_from", ".");
            ok = zs_json_set_string(copy, "derived_from", derived) && compose(copy, gone);
        }
        if (!ok || zs_json_add(out, NULL, copy) == NULL) {
            if (!ok)
                zs_json_free(copy);
            zs_json_free(out);
            return NULL;
        }
    }
    return out;
}

/* Whether a layout names it. */
static bool names(const zs_json *layout, const char *name)
{
    bool any = false;
    for (const zs_json *e = zs_json_first(layout); e != NULL && !any; e = zs_json_next(e))
        any = rest_of(zs_json_get(e, "asset"), name) != NULL || rest_of(zs_json_get(e, "derived_from"), name) != NULL;
    return any;
}

static bool change_layout(zs_json *attributes, const char *from, const char *to)
{
    zs_json *multiscales = zs_json_get_mutable(attributes, "multiscales");
    zs_json *layout = zs_json_get_mutable(multiscales, "layout");
    bool ok = true;
    if (to == NULL) {
        zs_json *rest = layout_without(layout, from);
        if (rest == NULL)
            return false;
        if (zs_json_size(rest) > 1)
            return zs_json_set(multiscales, "layout", rest) != NULL;
        zs_json_free(rest);
        zs_json_remove(attributes, "multiscales");
        return zs_convention_declare(&zs_multiscales, attributes, false, false);
    }
    zs_json *copy = zs_json_new_array();
    for (const zs_json *e = zs_json_first(layout); e != NULL && ok && copy != NULL; e = zs_json_next(e)) {
        zs_json *entry = zs_json_copy(e);
        ok = entry != NULL && rename_in_entry(entry, from, to);
        if (ok)
            ok = zs_json_add(copy, NULL, entry) != NULL;
        else
            zs_json_free(entry);
    }
    if (ok && copy != NULL)
        return zs_json_set(multiscales, "layout", copy) != NULL;
    zs_json_free(copy);
    return false;
}

static enum zs_status change_pyramids(struct zs_hierarchy *hierarchy, const char *from, const char *to,
                                      struct zs_error *err)
{
    enum zs_status status = ZS_OK;
    for (char *above = zs_path_parent(from), *next; above != NULL; above = next) {
        const struct zs_node *group;
        zs_json *attributes;
        if (status == ZS_OK && zs_hierarchy_node(hierarchy, above, &group, NULL) == ZS_OK) {
            const zs_json *layout = zs_json_get(zs_json_get(group->attributes, "multiscales"), "layout");
            const char *name = zs_path_below(above, from);
            if (zs_json_is_array(layout) && name != NULL && names(layout, name)) {
                status = zs_hierarchy_edit(hierarchy, group, &attributes, err);
                if (status == ZS_OK && !change_layout(attributes, name, to != NULL ? zs_path_below(above, to) : NULL))
                    status = zs_fail_memory(err);
            }
        }
        next = zs_path_parent(above);
        free(above);
    }
    return status;
}

enum zs_status zs_references_change(struct zs_hierarchy *hierarchy, const char *from, const char *to,
                                    struct zs_error *err)
{
    ZS_TRY(change_siblings(hierarchy, from, to, err));
    return change_pyramids(hierarchy, from, to, err);
}
