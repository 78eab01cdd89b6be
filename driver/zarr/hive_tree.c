/* Manifests and paths of the layout morton-hive. */
#include <string.h>

#include "zarr/hive.h"

static bool read_order(const zs_json *node, int *order)
{
    uint64_t n;
    if (!zs_json_uint64(node, &n) || n > ZS_HIVE_MAX_ORDER)
        return false;
    *order = (int)n;
    return true;
}

static bool add_level(struct zs_hive *hive, const struct zs_hive_level *level)
{
    int at = 0;
    while (at < hive->count && hive->levels[at].cells > level->cells)
        at++;
    if (level->node > level->cells || (at < hive->count && hive->levels[at].cells == level->cells))
        return false; /* the first level with these cells counts */
    memmove(&hive->levels[at + 1], &hive->levels[at], (size_t)(hive->count - at) * sizeof *hive->levels);
    hive->levels[at] = *level;
    hive->count++;
    return true;
}

/* Adds the coarser orders. Ignores entries that are not valid. */
static void add_overviews(struct zs_hive *hive, const zs_json *pyramid)
{
    if (!zs_json_equals(zs_json_get(pyramid, "spec"), "zagg-pyramid/2"))
        return;
    for (const zs_json *o = zs_json_first(zs_json_get(pyramid, "overviews")); o != NULL; o = zs_json_next(o)) {
        struct zs_hive_level level = {.is_overview = true};
        for (const zs_json *c = zs_json_first(zs_json_get(o, "cells")); c != NULL; c = zs_json_next(c))
            if (read_order(zs_json_get(o, "node"), &level.node) && read_order(c, &level.cells) &&
                level.cells < hive->levels[0].cells)
                (void)add_level(hive, &level);
    }
}

enum zs_status zs_hive_parse(const zs_json *manifest, struct zs_hive *hive, struct zs_error *err)
{
    static const char spec[] = "morton-hive/";
    struct zs_hive_level level = {0};
    memset(hive, 0, sizeof *hive);
    const char *spec_name = zs_json_text(manifest, "spec", "");
    if (strncmp(spec_name, spec, sizeof spec - 1) != 0 || spec_name[sizeof spec] != '\0' ||
        spec_name[sizeof spec - 1] < '1' || spec_name[sizeof spec - 1] > '3')
        return zs_fail(err, ZS_UNSUPPORTED, "spec: expected morton-hive/1 to 3, found \"%.60s\"", spec_name);
    hive->version = spec_name[sizeof spec - 1] - '0';
    const zs_json *schedule = zs_json_get(zs_json_get(manifest, "temporal"), "schedule");
    if (zs_json_typeof(schedule) != ZS_JSON_NULL && !zs_json_equals(schedule, "none"))
        return zs_fail(err, ZS_UNSUPPORTED, "temporal: leaves of time windows are not supported");
    const zs_json *grouping = zs_json_get(manifest, "path_grouping");
    hive->grouping = 1;
    if ((grouping != NULL && !read_order(grouping, &hive->grouping)) || hive->grouping < 1)
        return zs_fail_found(err, ZS_INVALID, grouping, "path_grouping: expected 1 to %d", ZS_HIVE_MAX_ORDER);
    if (!read_order(zs_json_get(manifest, "cell_order"), &level.cells) ||
        !read_order(zs_json_get(manifest, "shard_order"), &level.node) || !add_level(hive, &level))
        return zs_fail(err, ZS_INVALID, "cell_order, shard_order: expected orders of up to %d, the first not coarser",
                       ZS_HIVE_MAX_ORDER);
    add_overviews(hive, zs_json_get(manifest, "pyramid"));
    return ZS_OK;
}

/* ---- Paths ---- */

char *zs_hive_leaf(const struct zs_hive *hive, const struct zs_hive_level *level, uint64_t number)
{
    const int order = level->node, face = (int)(number >> (2 * order));
    char digits[ZS_HIVE_MAX_ORDER + 1], path[2 * ZS_HIVE_MAX_ORDER + 2] = "";
    const char *sign = face < ZS_HIVE_FACES / 2 ? "" : "-";
    const int base = face % (ZS_HIVE_FACES / 2) + 1;
    size_t n = 0;
    for (int i = 0; i < order; i++) {
        digits[i] = (char)('1' + (number >> (2 * (order - 1 - i)) & 3));
        path[n++] = digits[i];
        if ((i + 1) % hive->grouping == 0 || i + 1 == order)
            path[n++] = '/';
    }
    digits[order] = path[n] = '\0';
    if (level->is_overview || hive->version == 3)
        return zs_format("%s%d/%s%s", sign, base, path, level->is_overview ? "all.pyramid.zarr" : "all.zarr");
    return zs_format("%s%d/%s%s%d%s.zarr", sign, base, path, sign, base, digits);
}

bool zs_hive_step(const struct zs_hive *hive, int most_order, int order, uint64_t number, const char *name,
                  int *child_order, uint64_t *child)
{
    const size_t n = strlen(name);
    if (order < 0) {
        const bool is_south = name[0] == '-';
        if (n != (is_south ? 2u : 1u) || name[n - 1] < '1' || name[n - 1] > '6')
            return false;
        *child_order = 0;
        *child = (uint64_t)(name[n - 1] - '1' + (is_south ? ZS_HIVE_FACES / 2 : 0));
        return true;
    }
    const int left = most_order - order, digits = left < hive->grouping ? left : hive->grouping;
    if (digits == 0 || n != (size_t)digits)
        return false;
    *child_order = order + digits;
    *child = number;
    for (size_t i = 0; i < n; i++) {
        if (name[i] < '1' || name[i] > '4')
            return false;
        *child = *child << 2 | (uint64_t)(name[i] - '1');
    }
    return true;
}
