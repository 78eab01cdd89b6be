#include "geo/bands.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/memory.h"
#include "geo/georef.h"
#include "geo/healpix.h"

/* ---- Reading ---- */

/* Attribute `name` where it is a list of these bands; NULL when it is of others. It may be shorter than the bands: a
 * writer that does not know it may have made the array longer along its only dimension of bands. */
static const zs_json *list_of_bands(const zs_json *attributes, const struct zs_array_meta *meta, const char *name,
                                    uint64_t bands)
{
    const zs_json *list = zs_json_get(attributes, name);
    const size_t n = zs_json_is_array(list) ? zs_json_size(list) : SIZE_MAX;
    int d = 0;
    while (meta != NULL && d < meta->ndim - 1 && meta->shape[d] == 1)
        d++;
    const bool is_along_one = meta != NULL && meta->ndim > 0 && meta->shape[d] == bands;
    return n == bands || (n < bands && is_along_one) ? list : NULL;
}

enum zs_status zs_bands_check_shape(struct zs_hierarchy *hierarchy, const struct zs_node *node, const uint64_t *shape,
                                    struct zs_error *err)
{
    static const char *const names[] = {"long_name", ZS_BANDS_ATTRIBUTE};
    struct zs_array_meta meta = *node->array;
    struct zs_healpix healpix;
    struct zs_axes axes;
    uint64_t before = 1, after = 1;
    if (!zs_json_is_array(zs_json_get(node->attributes, names[0])) &&
        !zs_json_is_array(zs_json_get(node->attributes, names[1])))
        return ZS_OK;
    if (zs_healpix_find(hierarchy, node, &healpix))
        axes = (struct zs_axes){healpix.dim, -1};
    else
        ZS_TRY(zs_axes_find(hierarchy, node, NULL, NULL, &axes, err));
    for (int d = 0; d < meta.ndim; d++) {
        meta.shape[d] = shape[d];
        if (d != axes.x && d != axes.y && (!zs_mul_u64(before, node->array->shape[d], &before) ||
                                           !zs_mul_u64(after, shape[d], &after)))
            return ZS_OK; /* more than any list */
    }
    for (int i = 0; i < 2; i++) {
        if (zs_json_size(list_of_bands(node->attributes, node->array, names[i], before)) > 0 &&
            list_of_bands(node->attributes, &meta, names[i], after) == NULL)
            return zs_fail(err, ZS_UNSUPPORTED,
                           "/%s: attribute %s lists %llu bands, and would be of others: expected only the one "
                           "dimension of bands to grow", node->path, names[i], (unsigned long long)before);
    }
    return ZS_OK;
}

static enum zs_status read_band(const struct zs_node *node, const struct zs_band_properties *base, bool is_only,
                                const zs_json *name, const zs_json *entry, struct zs_band_properties *result,
                                struct zs_error *err)
{
    struct zs_band_properties m = *base;
    const char *description = is_only ? zs_band_text(base, "description") : NULL;
    m.members = NULL;
    m.common = base->members;
    m.metadata = NULL;
    zs_json_string(name, &description);
    const bool ok = (description == NULL || zs_band_set_text(&m, "description", description)) &&
                    zs_band_entry_take(entry, node->array != NULL ? &node->array->dtype : NULL, &m) &&
                    zs_items_of(zs_json_get(entry, "metadata"), &m.metadata, NULL) == ZS_OK;
    if (!ok) {
        zs_band_properties_clear(&m);
        return zs_fail_memory(err);
    }
    *result = m;
    return ZS_OK;
}

enum zs_status zs_bands_read(const struct zs_node *node, uint64_t count, uint64_t bands,
                             const struct zs_band_properties *base, struct zs_band_properties *list,
                             struct zs_error *err)
{
    const zs_json *a = node->attributes, *names = list_of_bands(a, node->array, "long_name", bands);
    const zs_json *entries = list_of_bands(a, node->array, ZS_BANDS_ATTRIBUTE, bands);
    const zs_json *name = zs_json_first(names), *entry = zs_json_first(entries);
    memset(list, 0, (size_t)count * sizeof *list);
    enum zs_status status = ZS_OK;
    for (uint64_t i = 0; i < count && status == ZS_OK; i++) {
        status = read_band(node, base, bands == 1, name, entry, &list[i], err);
        name = name != NULL ? zs_json_next(name) : NULL;
        entry = entry != NULL ? zs_json_next(entry) : NULL;
    }
    for (uint64_t i = 0; i < count && status != ZS_OK; i++)
        zs_band_properties_clear(&list[i]);
    return status;
}

/* ---- Writing ---- */

/* A change of the entries of all bands. */
struct change {
    unsigned which, common; /* ZS_BAND_...; those in common are the array's alone */
    zs_json *declared;      /* what the array declares for all bands, as an entry */
};

/* Puts into a band's entry what it has and the array does not declare: null for what the band lacks. */
static bool change_entry(zs_json *entry, const struct change *change, const zs_json *wanted)
{
    bool ok = true;
    for (const struct zs_band_member *row = zs_band_table; row->property != 0 && ok; row++) {
        const zs_json *own = zs_json_get(wanted, row->member);
        if ((change->which & row->property) == 0)
            continue;
        zs_json_remove(entry, row->member);
        const bool is_declared = zs_json_is_same(own, zs_json_get(change->declared, row->member));
        if ((change->common & row->property) == 0 && !is_declared)
            ok = (own != NULL ? zs_json_add(entry, row->member, zs_json_copy(own))
                              : zs_json_add_null(entry, row->member)) != NULL;
    }
    return ok;
}

/* Whether the attribute is there and no list of entries of these bands: then it belongs to another program. */
static bool is_foreign(const zs_json *attributes, const zs_json *entries)
{
    for (const zs_json *e = zs_json_first(entries); e != NULL; e = zs_json_next(e))
        if (!zs_json_is_object(e) && zs_json_typeof(e) != ZS_JSON_NULL)
            return true;
    return entries == NULL && zs_json_typeof(zs_json_get(attributes, ZS_BANDS_ATTRIBUTE)) != ZS_JSON_NULL;
}

/* Writes the list of entries, with what those have that are there. */
static enum zs_status write_entries(zs_json *attributes, const zs_json *old, const zs_json *wanted,
                                    const struct zs_band_properties *bands, size_t count, const struct change *change,
                                    struct zs_error *err)
{
    const zs_json *own = zs_json_first(wanted);
    const bool stays = is_foreign(attributes, old);
    const zs_json *entry = zs_json_first(old);
    zs_json *list = zs_json_new_array();
    bool ok = list != NULL, any = false;
    for (size_t i = 0; i < count && ok; i++) {
        zs_json *e = zs_json_is_object(entry) ? zs_json_add(list, NULL, zs_json_copy(entry))
                                              : zs_json_add_object(list, NULL);
        ok = e != NULL && change_entry(e, change, own);
        if (ok && (change->which & ZS_BAND_METADATA) != 0)
            ok = zs_items_set(e, "metadata", bands[i].metadata);
        any = any || zs_json_size(e) > 0;
        entry = zs_json_next(entry);
        own = zs_json_next(own);
    }
    if (ok && any && !stays)
        return zs_json_set(attributes, ZS_BANDS_ATTRIBUTE, list) != NULL ? ZS_OK : zs_fail_memory(err);
    zs_json_free(list);
    if (ok && any)
        return zs_fail(err, ZS_INVALID,
                       "attribute " ZS_BANDS_ATTRIBUTE ": expected a list of %zu objects, one for each band; what is "
                       "set of single bands is not written over something else", count);
    if (ok && !stays && zs_json_size(old) > 0)
        zs_json_remove(attributes, ZS_BANDS_ATTRIBUTE);
    return ok ? ZS_OK : zs_fail_memory(err);
}

/* As long_name, where all bands have a description; *is_common is set then. A name of the whole array does not
 * describe its bands, and stays. */
static bool write_descriptions(zs_json *attributes, const struct zs_band_properties *bands, size_t count,
                               bool *is_common)
{
    const zs_json *old = zs_json_get(attributes, "long_name");
    const bool is_of_whole = count > 1 && zs_json_typeof(old) == ZS_JSON_STRING;
    *is_common = !is_of_whole;
    for (size_t i = 0; i < count && *is_common; i++)
        *is_common = zs_band_text(&bands[i], "description") != NULL;
    if (is_of_whole)
        return true;
    zs_json_remove(attributes, "long_name");
    if (!*is_common)
        return true;
    if (count == 1)
        return zs_json_add_string(attributes, "long_name", zs_band_text(&bands[0], "description")) != NULL;
    zs_json *list = zs_json_add_array(attributes, "long_name");
    bool ok = list != NULL;
    for (size_t i = 0; i < count && ok; i++)
        ok = zs_json_add_string(list, NULL, zs_band_text(&bands[i], "description")) != NULL;
    return ok;
}

/* Which properties the array declares for all bands: those that are the same for all. Readers of CF take scale and
 * offset together, so the array gets both or none, unless it has one already. What is declared stays where one band
 * changes: that band has it in its entry, and readers who know no entries read the others as before. */
static unsigned find_common(const zs_json *wanted, const zs_json *attributes)
{
    unsigned common = 0;
    for (const struct zs_band_member *row = zs_band_table; row->property != 0; row++) {
        const zs_json *first = zs_json_get(zs_json_first(wanted), row->member);
        bool is_same = (row->property & (ZS_BAND_DESCRIPTION | ZS_BAND_METADATA)) == 0;
        for (const zs_json *e = zs_json_first(wanted); e != NULL && is_same; e = zs_json_next(e))
            is_same = zs_json_is_same(first, zs_json_get(e, row->member));
        common |= is_same ? row->property : 0u;
    }
    const unsigned pair = ZS_BAND_SCALE | ZS_BAND_OFFSET;
    const unsigned declared = (zs_json_get(attributes, "scale_factor") != NULL ? ZS_BAND_SCALE : 0u) |
                              (zs_json_get(attributes, "add_offset") != NULL ? ZS_BAND_OFFSET : 0u);
    return (common & pair) == pair ? common : common & (~pair | declared);
}

/* Like zs_bands_write(); `wanted` are the entries of all bands, with all that they have. */
static enum zs_status write_bands(zs_json *attributes, const struct zs_array_meta *meta, const zs_json *wanted,
                                  const struct zs_band_properties *bands, size_t count, struct change *change,
                                  struct zs_error *err)
{
    const struct zs_node array = {
        .path = "", .type = ZS_NODE_ARRAY, .attributes = attributes, .array = (struct zs_array_meta *)(uintptr_t)meta};
    const zs_json *old = list_of_bands(attributes, meta, ZS_BANDS_ATTRIBUTE, count);
    struct zs_band_properties declared;
    bool is_described = false;
    change->common = change->which & find_common(wanted, attributes);
    ZS_TRY(zs_write_band_properties(attributes, &bands[0], change->common, err));
    if ((change->common & ZS_BAND_NODATA) != 0)
        ZS_TRY(zs_write_nodata(attributes, &meta->dtype, bands[0].has_nodata ? bands[0].nodata : NULL, false, err));
    if ((change->which & ZS_BAND_DESCRIPTION) != 0 && !write_descriptions(attributes, bands, count, &is_described))
        return zs_fail_memory(err);
    change->common |= is_described ? ZS_BAND_DESCRIPTION : 0u;
    ZS_TRY(zs_band_properties_read(&array, &declared, err));
    change->declared = zs_band_entry_make(&declared, &meta->dtype);
    zs_band_properties_clear(&declared);
    ZS_TRY_MEMORY(change->declared, err);
    zs_json_remove(change->declared, "description"); /* of the whole array, not of a band */
    zs_json_remove(change->declared, "metadata_domains");
    return write_entries(attributes, old, wanted, bands, count, change, err);
}

enum zs_status zs_bands_write(zs_json *attributes, const struct zs_array_meta *meta,
                              const struct zs_band_properties *bands, size_t count, unsigned which,
                              struct zs_error *err)
{
    const unsigned pair = ZS_BAND_SCALE | ZS_BAND_OFFSET;
    struct change change = {.which = (which & pair) != 0 ? which | pair : which};
    zs_json *wanted = zs_json_new_array();
    bool ok = wanted != NULL;
    for (size_t i = 0; i < count && ok; i++)
        ok = zs_json_add(wanted, NULL, zs_band_entry_make(&bands[i], &meta->dtype)) != NULL;
    enum zs_status status = ok ? ZS_OK : zs_fail_memory(err);
    if (ok && count > 0)
        status = write_bands(attributes, meta, wanted, bands, count, &change, err);
    zs_json_free(change.declared);
    zs_json_free(wanted);
    return status;
}

void zs_remove_statistics(zs_json *attributes)
{
    const zs_json *next;
    for (const zs_json *m = zs_json_first(attributes); m != NULL; m = next) {
        next = zs_json_next(m);
        if (strncmp(zs_json_name(m), "STATISTICS_", 11) == 0)
            zs_json_remove(attributes, zs_json_name(m));
    }
    for (const zs_json *e = zs_json_first(zs_json_get(attributes, ZS_BANDS_ATTRIBUTE)); e != NULL; e = zs_json_next(e))
        zs_json_remove((zs_json *)(uintptr_t)e, "metadata"); /* part of the attributes that are being edited */
}

/* ---- The list of a group ---- */

size_t zs_band_list_position(const zs_json *attributes, const char *name)
{
    const zs_json *list = zs_json_get(attributes, ZS_BANDS_ATTRIBUTE);
    size_t index = 0;
    if (!zs_json_is_array(list))
        return SIZE_MAX;
    for (const zs_json *band = zs_json_first(list); band != NULL; band = zs_json_next(band), index++) {
        const char *found;
        if (zs_json_string(zs_json_is_object(band) ? zs_json_get(band, "name") : band, &found) &&
            strcmp(found, name) == 0)
            return index;
    }
    return SIZE_MAX;
}
