/* Attributes against the conventions of geo/conventions.h, member by member. */
#include "geo/conventions.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "validate/validate_private.h"

struct declared {
    struct zs_check *c;
    const char *key;
    const struct zs_node *node;
};

/* For struct zs_finding_receiver. */
static void take_finding(void *context, enum zs_finding_kind kind, const char *member, const char *expected,
                         const char *found)
{
    static const enum zs_severity severities[] = {[ZS_FINDING_WRONG] = ZS_SEVERITY_ERROR,
                                                  [ZS_FINDING_ODD] = ZS_SEVERITY_WARNING,
                                                  [ZS_FINDING_UNCHECKED] = ZS_SEVERITY_UNCHECKED};
    const struct declared *d = context;
    zs_report(d->c, severities[kind], d->key, member, expected, found);
}

/* Whether the node or a group above it declares the convention. */
static bool is_declared(const struct declared *d, const struct zs_convention *convention)
{
    bool found = zs_convention_is_declared(convention, d->node->attributes);
    char *path = zs_path_parent(d->node->path);
    while (path != NULL && !found) {
        const struct zs_node *group;
        found = zs_hierarchy_node(d->c->hierarchy, path, &group, NULL) == ZS_OK &&
                zs_convention_is_declared(convention, group->attributes);
        char *above = zs_path_parent(path);
        free(path);
        path = above;
    }
    free(path);
    return found;
}

/* Members whose names begin with a convention's prefix: known to it, and declared. */
static void check_prefixed(const struct declared *d, const struct zs_convention *convention)
{
    const size_t n = strlen(convention->prefix);
    for (const zs_json *m = zs_json_first(d->node->attributes); m != NULL; m = zs_json_next(m)) {
        const char *name = zs_json_name(m);
        if (strncmp(name, convention->prefix, n) == 0 && !zs_is_one_of(name + n, convention->known))
            zs_report(d->c, ZS_SEVERITY_WARNING, d->key, "attribute with a convention's prefix",
                      "one that the convention knows", name);
    }
    if (zs_convention_has_members(convention, d->node->attributes) && !is_declared(d, convention))
        zs_report(d->c, ZS_SEVERITY_WARNING, d->key,
                  "attributes of a convention that is not declared in zarr_conventions", convention->uuid,
                  convention->prefix);
}

/* Names that differ in one letter from those that readers look for: mistyped, or damaged. */
static void check_spelling(void *context, const char *looked_for)
{
    const struct declared *d = context;
    for (const zs_json *m = zs_json_first(d->node->attributes); m != NULL; m = zs_json_next(m)) {
        const char *name = zs_json_name(m);
        size_t different = 0;
        for (size_t k = 0; strlen(name) == strlen(looked_for) && name[k] != '\0'; k++)
            different += name[k] != looked_for[k];
        if (different == 1)
            zs_report(d->c, ZS_SEVERITY_WARNING, d->key, "attribute that is almost called as one of a convention",
                      looked_for, name);
    }
}

enum zs_status zs_check_conventions(struct zs_check *check, const struct zs_node *node, struct zs_error *err)
{
    if (node->attributes == NULL)
        return ZS_OK;
    struct declared d = {check, zs_strdup(node->key), node};
    const struct zs_finding_receiver to = {&d, take_finding};
    ZS_TRY_MEMORY(d.key, err);
    zs_convention_names(check_spelling, &d);
    zs_check_declarations(node->attributes, &to);
    for (const struct zs_convention *const *convention = zs_conventions; *convention != NULL; convention++) {
        if ((*convention)->prefix != NULL)
            check_prefixed(&d, *convention);
        if ((*convention)->check != NULL)
            (*convention)->check(node, node->attributes, &to);
    }
    free((char *)d.key);
    return ZS_OK;
}
