#include "zarr/extension.h"

#include "base/memory.h"

const char *zs_extension_name(const zs_json *node, const zs_json **configuration)
{
    const char *name = NULL;
    if (configuration != NULL)
        *configuration = NULL;
    if (zs_json_string(node, &name))
        return name;
    if (!zs_json_string(zs_json_get(node, "name"), &name))
        return NULL;
    if (configuration != NULL)
        *configuration = zs_json_get(node, "configuration");
    return name;
}

enum zs_status zs_members_check(const zs_json *object, const char *const *known, struct zs_error *err)
{
    if (zs_json_typeof(object) != ZS_JSON_NULL && !zs_json_is_object(object))
        return zs_fail(err, ZS_INVALID, "expected an object");
    for (const zs_json *member = zs_json_first(object); member != NULL; member = zs_json_next(member)) {
        bool must_understand = !zs_is_one_of(zs_json_name(member), known);
        if (must_understand)
            (void)zs_json_bool(zs_json_get(member, "must_understand"), &must_understand);
        if (must_understand)
            return zs_fail(err, ZS_UNSUPPORTED, "unknown member \"%.100s\" must be understood", zs_json_name(member));
    }
    return ZS_OK;
}
