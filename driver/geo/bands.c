#include "geo/bands.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/memory.h"
#include "geo/georef.h"
#include "geo/healpix.h"
#include "zarr/make.h"

#define DOMAINS_MEMBER "metadata_domains"

/* ---- Reading ---- */

static bool take_metadata(const zs_json *member, struct zs_band_properties *band)
{
    struct zs_names items = {0};
    enum zs_status status = ZS_OK;
    for (const zs_json *e = zs_json_first(member); e != NULL && status == ZS_OK; e = zs_json_next(e))
        if (zs_is_item_name(zs_json_name(e)))
            status = zs_names_add(&items, zs_metadata_item(zs_json_name(e), e), NULL);
    band->metadata = items.list;
    return status == ZS_OK;
}

/* Replaces the array's properties by those of a band's entry in gdal:bands; null there means that the band has none.
 * False without memory. */
static bool take_entry(const zs_json *entry, const struct zs_dtype *dtype, struct zs_band_properties *band)
{
    bool ok = true;
    for (size_t i = 0; i < ZS_BAND_PROPERTY_COUNT && ok; i++) {
        const struct zs_band_property_row *row = &zs_band_property_rows[i];
        const zs_json *member = row->member != NULL ? zs_json_get(entry, row->member) : NULL;
        if (member != NULL && zs_json_typeof(member) == ZS_JSON_NULL)
            zs_band_property_clear(band, row);
        else if (member != NULL)
            ok = zs_band_property_take(band, row, dtype, member);
    }
    return ok && take_metadata(zs_json_get(entry, "metadata"), band) &&
           zs_domains_read(zs_json_get(entry, DOMAINS_MEMBER), &band->domains);
}

/* Attribute `name` where it is a list of `bands` elements; NULL otherwise. */
static const zs_json *list_of_bands(const zs_json *attributes, const char *name, uint64_t bands)
{
    const zs_json *list = zs_json_get(attributes, name);
    return zs_json_is_array(list) && zs_json_size(list) == bands ? list : NULL;
}

/* The list of entries of these bands, NULL when it is of others. It may be shorter than the bands: a writer that does
 * not know it may have made the array longer along its only dimension of bands. */
static const zs_json *entries_of(const zs_json *attributes, const struct zs_array_meta *meta, uint64_t bands)
{
    const zs_json *list = zs_json_get(attributes, ZS_BANDS_ATTRIBUTE);
    const size_t n = zs_json_is_array(list) ? zs_json_size(list) : SIZE_MAX;
    int d = 0;
    while (meta != NULL && d < meta->ndim - 1 && meta->shape[d] == 1)
        d++;
    const bool is_along_one = meta != NULL && meta->ndim > 0 && meta->shape[d] == bands;
    return n == bands || (n < bands && is_along_one) ? list : NULL;
}

static enum zs_status read_band(const struct zs_node *node, const struct zs_band_properties *base, bool is_only,
                                const zs_json *name, const zs_json *entry, struct zs_band_properties *result,
                                struct zs_error *err)
{
    struct zs_band_properties common = *base, m;
    common.metadata = NULL;
    common.domains = (struct zs_domains){0};
    if (!is_only)
        common.description = NULL;
    ZS_TRY(zs_band_properties_copy(&common, &m, err));
    const bool ok = zs_text_replace(&m.description, name) &&
                    take_entry(entry, node->array != NULL ? &node->array->dtype : NULL, &m);
    if (!ok) {
        zs_band_properties_clear(&m);
        return zs_fail_memory(err);
    }
    *result = m;
    return ZS_OK;
}

enum zs_status zs_bands_read_some(const struct zs_node *node, uint64_t first, uint64_t count, uint64_t bands,
                                  const struct zs_band_properties *base, struct zs_band_properties *list,
                                  struct zs_error *err)
{
    const zs_json *name = zs_json_at(list_of_bands(node->attributes, "long_name", bands), (size_t)first);
    const zs_json *entry = zs_json_at(entries_of(node->attributes, node->array, bands), (size_t)first);
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

enum zs_status zs_bands_read(const struct zs_node *node, uint64_t bands, const struct zs_band_properties *base,
                             struct zs_band_properties **list, struct zs_error *err)
{
    *list = zs_calloc((size_t)bands, sizeof **list);
    ZS_TRY_MEMORY(*list, err);
    const enum zs_status status = zs_bands_read_some(node, 0, bands, bands, base, *list, err);
    if (status != ZS_OK) {
        free(*list);
        *list = NULL;
    }
    return status;
}

void zs_bands_free(struct zs_band_properties *list, uint64_t bands)
{
    for (uint64_t i = 0; i < bands && list != NULL; i++)
        zs_band_properties_clear(&list[i]);
    free(list);
}

/* ---- Writing: the entry of a band ---- */

/* Replaces the items of an entry by those of the list, which may be NULL; items that are equal already stay as they
 * are. */
static bool change_metadata(zs_json *entry, char *const *metadata)
{
    zs_json *object = zs_json_get_mutable(entry, "metadata");
    if (object != NULL && !zs_json_is_object(object)) {
        zs_json_remove(entry, "metadata");
        object = NULL;
    }
    if (object == NULL)
        object = zs_json_add_object(entry, "metadata");
    bool ok = object != NULL && zs_items_remove_others(object, zs_is_item_name, (const char *const *)metadata);
    for (; ok && metadata != NULL && *metadata != NULL; metadata++) {
        char *name;
        const char *value;
        ok = zs_item_split(*metadata, &name, &value);
        if (name != NULL && !zs_is_item_of(object, name, *metadata)) {
            zs_json_remove(object, name); /* the later of two holds */
            ok = zs_json_add_string(object, name, value) != NULL;
        }
        free(name);
    }
    if (ok && zs_json_size(object) == 0)
        zs_json_remove(entry, "metadata");
    return ok;
}

/* A change of the entries of all bands. */
struct change {
    unsigned which, common; /* ZS_BAND_...; those in common are the array's alone */
    const struct zs_dtype *dtype;
    struct zs_band_properties array; /* the properties that the array declares for all bands */
    bool knows_nodata;               /* array.nodata is declared; of an array that is still to be made it is not */
};

/* Puts into a band's entry what differs from the array's properties. */
static bool change_entry(zs_json *entry, const struct change *change, const struct zs_band_properties *band)
{
    bool ok = true;
    for (size_t i = 0; i < ZS_BAND_PROPERTY_COUNT && ok; i++) {
        const struct zs_band_property_row *row = &zs_band_property_rows[i];
        const enum zs_band_property property = row->property;
        const char *member = row->member;
        if ((change->which & property) == 0 || member == NULL)
            continue;
        zs_json_remove(entry, member);
        const bool is_declared = (property != ZS_BAND_NODATA || change->knows_nodata) &&
                                 zs_band_property_is_same(band, &change->array, row);
        if ((change->common & property) != 0 || is_declared)
            continue;
        ok = zs_band_property_is_set(band, row)
                 ? zs_band_property_put(band, row, change->dtype, entry, member)
                 : zs_json_add_null(entry, member) != NULL;
    }
    if ((change->which & ZS_BAND_METADATA) == 0)
        return ok;
    return ok && change_metadata(entry, band->metadata) && zs_domains_write(entry, DOMAINS_MEMBER, &band->domains);
}

static bool all_have_description(const struct zs_band_properties *bands, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bands[i].description == NULL || bands[i].description[0] == '\0')
            return false;
    return true;
}

static bool write_descriptions(zs_json *attributes, const struct zs_band_properties *bands, size_t count,
                               bool all_have_one)
{
    const zs_json *old = zs_json_get(attributes, "long_name");
    if (!all_have_one) {
        if (zs_json_is_array(old) || count == 1) /* it described bands, and is no longer true */
            zs_json_remove(attributes, "long_name");
        return true;
    }
    zs_json_remove(attributes, "long_name");
    if (count == 1)
        return zs_json_add_string(attributes, "long_name", bands[0].description) != NULL;
    zs_json *list = zs_json_add_array(attributes, "long_name");
    bool ok = list != NULL;
    for (size_t i = 0; i < count && ok; i++)
        ok = zs_json_add_string(list, NULL, bands[i].description) != NULL;
    return ok;
}

/* Whether the attribute exists but is no list of entries of these bands: then it belongs to another program. */
static bool is_foreign(const zs_json *attributes, const zs_json *entries)
{
    for (const zs_json *e = zs_json_first(entries); e != NULL; e = zs_json_next(e))
        if (!zs_json_is_object(e) && zs_json_typeof(e) != ZS_JSON_NULL)
            return true;
    return entries == NULL && zs_json_typeof(zs_json_get(attributes, ZS_BANDS_ATTRIBUTE)) != ZS_JSON_NULL;
}

/* Writes the list of entries: changes the existing one, where it is of these bands, else makes a new one. */
static enum zs_status write_entries(zs_json *attributes, const zs_json *old, const struct zs_band_properties *bands,
                                    size_t count, const struct change *change, struct zs_error *err)
{
    const bool stays = is_foreign(attributes, old);
    const zs_json *entry = zs_json_first(old);
    zs_json *list = zs_json_new_array();
    bool ok = list != NULL, any = false;
    for (size_t i = 0; i < count && ok; i++) {
        zs_json *e = zs_json_is_object(entry) ? zs_json_add(list, NULL, zs_json_copy(entry))
                                              : zs_json_add_object(list, NULL);
        ok = e != NULL && change_entry(e, change, &bands[i]);
        any = any || zs_json_size(e) > 0;
        entry = entry != NULL ? zs_json_next(entry) : NULL;
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

/* ---- Writing: all bands ---- */

/* Which properties the array declares for all bands: those that are the same for all. Readers of CF take scale and
 * offset together, so the array gets both or none, unless it has one already. What is declared stays where one band
 * changes: that band has it in its entry, and readers who know no entries read the others as before. */
static unsigned find_common(const struct zs_band_properties *bands, size_t count,
                            const struct zs_band_properties *array)
{
    unsigned common = 0;
    for (size_t p = 0; p < ZS_BAND_PROPERTY_COUNT; p++) {
        const struct zs_band_property_row *row = &zs_band_property_rows[p];
        const enum zs_band_property property = row->property;
        bool is_same = property != ZS_BAND_DESCRIPTION;
        for (size_t i = 0; i < count && is_same; i++)
            is_same = zs_band_property_is_same(&bands[0], &bands[i], row);
        common |= is_same ? property : 0u;
    }
    const unsigned pair = ZS_BAND_SCALE | ZS_BAND_OFFSET;
    if ((common & pair) != pair)
        common &= ~((array->has_scale ? 0u : ZS_BAND_SCALE) | (array->has_offset ? 0u : ZS_BAND_OFFSET));
    return common;
}

enum zs_status zs_bands_write(zs_json *attributes, const struct zs_dtype *dtype, const struct zs_array_meta *meta,
                              bool is_new, const struct zs_band_properties *bands, size_t count, unsigned which,
                              struct zs_error *err)
{
    const char *name;
    const struct zs_node array = {
        .path = "", .type = ZS_NODE_ARRAY, .attributes = attributes, .array = (struct zs_array_meta *)(uintptr_t)meta};
    struct change change = {.which = which, .dtype = dtype, .knows_nodata = !is_new};
    if (count == 0)
        return ZS_OK;
    if ((which & (ZS_BAND_SCALE | ZS_BAND_OFFSET)) != 0)
        change.which |= ZS_BAND_SCALE | ZS_BAND_OFFSET;
    const zs_json *old = entries_of(attributes, meta, count);
    ZS_TRY(zs_band_properties_read(&array, &change.array, err));
    change.common = find_common(bands, count, &change.array);
    zs_band_properties_clear(&change.array);
    /* A name of the whole array does not describe its bands. */
    const bool is_named = zs_json_string(zs_json_get(attributes, "long_name"), &name);
    const bool all_described = all_have_description(bands, count) && (count == 1 || !is_named);
    if (all_described)
        change.common |= ZS_BAND_DESCRIPTION;
    const unsigned common = change.which & change.common & ~(unsigned)ZS_BAND_DESCRIPTION;
    ZS_TRY(zs_write_band_properties(attributes, &bands[0], common, err));
    if ((which & ZS_BAND_DESCRIPTION) != 0 && !write_descriptions(attributes, bands, count, all_described))
        return zs_fail_memory(err);
    ZS_TRY(zs_band_properties_read(&array, &change.array, err));
    free(change.array.description); /* describes the whole array, not a band */
    change.array.description = NULL;
    const enum zs_status status = write_entries(attributes, old, bands, count, &change, err);
    zs_band_properties_clear(&change.array);
    return status;
}

/* ---- Statistics ---- */

static bool is_statistic(const zs_json *member)
{
    return strncmp(zs_json_name(member), "STATISTICS_", 11) == 0;
}

static void remove_statistics_of(zs_json *items)
{
    const zs_json *next;
    for (const zs_json *m = zs_json_first(items); m != NULL && zs_json_name(m) != NULL; m = next) {
        next = zs_json_next(m);
        if (is_statistic(m))
            zs_json_remove(items, zs_json_name(m));
    }
}

/* Removes an entry's metadata, or the entries, where nothing is left in them. */
static void prune(zs_json *attributes)
{
    bool is_empty = true;
    for (const zs_json *e = zs_json_first(zs_json_get(attributes, ZS_BANDS_ATTRIBUTE)); e != NULL;
         e = zs_json_next(e)) {
        const zs_json *items = zs_json_get(e, "metadata");
        if (zs_json_is_object(items) && zs_json_size(items) == 0)
            zs_json_remove((zs_json *)(uintptr_t)e, "metadata");
        is_empty = is_empty && zs_json_is_object(e) && zs_json_size(e) == 0;
    }
    if (is_empty)
        zs_json_remove(attributes, ZS_BANDS_ATTRIBUTE);
}

void zs_remove_statistics(zs_json *attributes)
{
    const zs_json *entries = zs_json_get(attributes, ZS_BANDS_ATTRIBUTE);
    remove_statistics_of(attributes);
    for (const zs_json *e = zs_json_first(entries); e != NULL; e = zs_json_next(e))
        remove_statistics_of(zs_json_get_mutable((zs_json *)(uintptr_t)e, "metadata"));
    if (entries != NULL)
        prune(attributes);
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

enum zs_status zs_band_list_write(zs_json *attributes, const char *const *names, size_t n, struct zs_error *err)
{
    zs_json *list = zs_json_add_array(attributes, ZS_BANDS_ATTRIBUTE);
    for (size_t i = 0; i < n; i++)
        if (zs_json_add_string(zs_json_add_object(list, NULL), "name", names[i]) == NULL)
            return zs_fail_memory(err);
    return ZS_OK;
}

/* ---- The lists of an array that grows ---- */

/* Attributes that have an element for each band, and whether an empty one is an object, else it is a text. */
static const struct {
    const char *name;
    bool is_of_objects;
} lists[] = {{ZS_BANDS_ATTRIBUTE, true}, {"long_name", false}};

/* Slices of an array; UINT64_MAX when 64 bits do not count them. */
static uint64_t slices_of(int ndim, struct zs_axes axes, const uint64_t *shape)
{
    uint64_t n = 1;
    for (int d = 0; d < ndim; d++)
        if (d != axes.x && d != axes.y && !zs_mul_u64(n, shape[d], &n))
            return UINT64_MAX;
    return n;
}

/* Whether a slice of the grown array was there before: slice 2 of 2 x 3 that were 2 x 2 was not. */
static bool was_there(uint64_t slice, int ndim, struct zs_axes axes, const uint64_t *from, const uint64_t *to)
{
    bool was = true;
    for (int d = ndim - 1; d >= 0; d--)
        if (d != axes.x && d != axes.y) {
            was = was && slice % to[d] < from[d];
            slice /= to[d];
        }
    return was;
}

enum zs_status zs_band_lists_grow(const zs_json *attributes, int ndim, struct zs_axes axes, const uint64_t *from,
                                  const uint64_t *to, zs_json **grown, struct zs_error *err)
{
    const uint64_t before = slices_of(ndim, axes, from), after = slices_of(ndim, axes, to);
    zs_json *copy = zs_json_copy(attributes);
    bool ok = copy != NULL, is_any = false;
    *grown = NULL;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0] && ok && before > 0 && after != before; i++) {
        const zs_json *old = list_of_bands(attributes, lists[i].name, before), *element = zs_json_first(old);
        if (old == NULL)
            continue;
        if (after > ZS_MOST_LISTED_SLICES) {
            zs_json_free(copy);
            return zs_fail(err, ZS_UNSUPPORTED, "attribute %s has an element for each of %llu slices: expected at most "
                           "%llu, found %llu", lists[i].name, (unsigned long long)before,
                           (unsigned long long)ZS_MOST_LISTED_SLICES, (unsigned long long)after);
        }
        zs_json *list = zs_json_set(copy, lists[i].name, zs_json_new_array());
        is_any = true;
        ok = list != NULL;
        /* Slices that were there follow each other as they did: each takes the next element. */
        for (uint64_t slice = 0; slice < after && ok; slice++)
            if (was_there(slice, ndim, axes, from, to)) {
                ok = zs_json_add(list, NULL, zs_json_copy(element)) != NULL;
                element = zs_json_next(element);
            } else {
                ok = (lists[i].is_of_objects ? zs_json_add_object(list, NULL)
                                             : zs_json_add_string(list, NULL, "")) != NULL;
            }
    }
    if (ok && is_any) {
        *grown = copy;
        return ZS_OK;
    }
    zs_json_free(copy);
    return ok ? ZS_OK : zs_fail_memory(err);
}

static bool has_lists(const struct zs_node *node)
{
    bool has = false;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0] && node->array != NULL && node->array->ndim > 0; i++)
        has = has || zs_json_is_array(zs_json_get(node->attributes, lists[i].name));
    return has;
}

enum zs_status zs_array_grow(struct zs_hierarchy *hierarchy, const struct zs_node *node, const uint64_t *shape,
                             struct zs_error *err)
{
    zs_json *attributes = NULL;
    const struct zs_node *fresh;
    if (has_lists(node)) {
        const struct zs_array_meta *meta = node->array;
        struct zs_healpix healpix;
        struct zs_axes axes;
        if (zs_healpix_find(hierarchy, node, &healpix))
            axes = (struct zs_axes){healpix.dim, -1};
        else
            ZS_TRY(zs_axes_find(hierarchy, node, NULL, NULL, &axes, err));
        ZS_TRY(zs_band_lists_grow(node->attributes, meta->ndim, axes, meta->shape, shape, &attributes, err));
    }
    const enum zs_status status = zs_array_update_document(hierarchy, node, shape, NULL, attributes, &fresh, err);
    zs_json_free(attributes);
    return status;
}
