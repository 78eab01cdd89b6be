/* Changing the band properties of an array, its statistics and metadata. (Where its pixels lie: update.c.) */
#include "raster/update.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "codec/description.h"
#include "geo/band_properties_json.h"
#include "geo/bands.h"
#include "geo/scope.h"
#include "geo/write.h"
#include "raster/overviews.h"
#include "zarr/document.h"

/* ---- Properties of bands ---- */

/* Removes the nodata values of single bands: the array's is that of all. */
static void remove_band_nodata(zs_json *attributes)
{
    zs_json *bands = zs_json_get_mutable(attributes, ZS_BANDS_ATTRIBUTE);
    for (const zs_json *e = zs_json_first(bands); e != NULL; e = zs_json_next(e))
        if (zs_json_is_object(e))
            zs_json_remove((zs_json *)(uintptr_t)e, "nodata"); /* part of the attributes that are being edited */
}

static enum zs_status set_fill_value(zs_json *document, const struct zs_dtype *dtype, const void *value,
                                     struct zs_error *err)
{
    zs_json *attributes = zs_document_attributes(document);
    zs_json_remove(document, "fill_value");
    if (attributes == NULL || zs_fill_value_add(document, "fill_value", dtype, value) == NULL)
        return zs_fail_memory(err);
    return zs_write_nodata(attributes, dtype, value, false, err);
}

enum zs_status zs_update_empty_array(struct zs_hierarchy *h, const struct zs_node *node, const void *fill_value,
                                     const struct zs_blosc_settings *filter, const struct zs_node **replacement,
                                     struct zs_error *err)
{
    zs_json *document = zs_json_copy(node->document);
    ZS_TRY_MEMORY(document, err);
    enum zs_status status = ZS_OK;
    if (fill_value != NULL)
        status = set_fill_value(document, &node->array->dtype, fill_value, err);
    if (status == ZS_OK && filter != NULL && !zs_blosc_set(zs_json_get_mutable(document, "codecs"), filter))
        status = zs_fail(err, ZS_UNSUPPORTED, "array /%s: has no codec \"blosc\"", node->path);
    if (status != ZS_OK) {
        zs_json_free(document);
        return status;
    }
    struct zs_node *fresh;
    ZS_TRY(zs_node_create(node->path, document, true, &fresh, err));
    ZS_TRY(zs_hierarchy_update_node(h, fresh, err));
    *replacement = fresh;
    return zs_hierarchy_flush(h, err);
}

/* Writes what the caller passes as `wanted` into the attributes of an array or of one of its overviews. */
typedef enum zs_status (*write_fn)(zs_json *attributes, const struct zs_array_meta *meta, const void *wanted,
                                   struct zs_error *err);

static enum zs_status update_one(struct zs_hierarchy *h, const struct zs_node *node, write_fn write, const void *wanted,
                                 struct zs_error *err)
{
    zs_json *attributes;
    ZS_TRY(zs_hierarchy_edit(h, node, &attributes, err));
    return write(attributes, node->array, wanted, err);
}

/* Changes the array, and its overviews by a function of their own. */
static enum zs_status update_family(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                                    write_fn write, write_fn write_level, const void *wanted, struct zs_error *err)
{
    struct zs_names overviews;
    if (node->array == NULL)
        return zs_fail(err, ZS_ARGUMENT, "%s/%s: expected an array", zs_hierarchy_store(h)->root, node->path);
    ZS_TRY(zs_overviews_find(h, node, axes, &overviews, err));
    enum zs_status status = update_one(h, node, write, wanted, err);
    for (size_t i = 0; i < overviews.count && status == ZS_OK; i++) {
        const struct zs_node *level;
        if (zs_hierarchy_node(h, overviews.list[i], &level, NULL) == ZS_OK)
            status = update_one(h, level, write_level, wanted, err);
    }
    zs_names_free(overviews.list);
    return status;
}

static enum zs_status write_nodata(zs_json *attributes, const struct zs_array_meta *meta, const void *value,
                                   struct zs_error *err)
{
    remove_band_nodata(attributes);
    return zs_write_nodata(attributes, &meta->dtype, value, false, err);
}

enum zs_status zs_update_nodata(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                                const void *value, struct zs_error *err)
{
    return update_family(h, node, axes, write_nodata, write_nodata, value, err);
}

struct bands {
    const struct zs_band_properties *bands;
    size_t count;
    unsigned which;
};

static enum zs_status write_bands(zs_json *attributes, const struct zs_array_meta *meta, const void *wanted,
                                  struct zs_error *err)
{
    const struct bands *m = wanted;
    return zs_bands_write(attributes, &meta->dtype, meta, false, m->bands, m->count, m->which, err);
}

/* Statistics are those of the array's own pixels. */
static enum zs_status write_level_bands(zs_json *attributes, const struct zs_array_meta *meta, const void *wanted,
                                        struct zs_error *err)
{
    const struct bands *m = wanted;
    ZS_TRY(write_bands(attributes, meta, wanted, err));
    if ((m->which & ZS_BAND_METADATA) != 0)
        zs_remove_statistics(attributes, true);
    return ZS_OK;
}

enum zs_status zs_update_bands(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                               const struct zs_band_properties *bands, size_t count, unsigned which,
                               struct zs_error *err)
{
    const struct zs_band_properties *first = &bands[0];
    bool same = true;
    for (size_t i = 1; i < count && same; i++)
        same = bands[i].has_nodata == first->has_nodata &&
               (!first->has_nodata || memcmp(bands[i].nodata, first->nodata, node->array->dtype.size) == 0);
    if (same && (which & ZS_BAND_NODATA) != 0) {
        ZS_TRY(zs_update_nodata(h, node, axes, first->has_nodata ? first->nodata : NULL, err));
        which &= ~(unsigned)ZS_BAND_NODATA;
    }
    if (which == 0)
        return ZS_OK;
    return update_family(h, node, axes, write_bands, write_level_bands, &(struct bands){bands, count, which}, err);
}

/* ---- Metadata ---- */

/* Whether an attribute is one that zs_update_metadata() may take away. */
static bool is_plain(const char *name)
{
    return zs_is_item_name(name) && !zs_is_convention_attribute(name) && strcmp(name, "long_name") != 0 &&
           strcmp(name, "standard_name") != 0;
}

/* Writes one item: as an attribute where its name has no other meaning, else aside; long_name and standard_name are
 * replaced where they are texts. */
static bool write_item(zs_json *attributes, const char *name, const char *item, const char *value)
{
    const zs_json *old = zs_json_get(attributes, name);
    if (zs_is_item_of(attributes, name, item))
        return true;
    if (is_plain(name))
        return zs_json_add_string(attributes, name, value) != NULL;
    if (zs_json_typeof(old) == ZS_JSON_STRING && !zs_is_convention_attribute(name)) {
        zs_json_remove(attributes, name);
        return zs_json_add_string(attributes, name, value) != NULL;
    }
    return zs_item_put_aside(attributes, name, value);
}

/* Removes the items that were put aside and are not in the list. */
static enum zs_status remove_others_aside(zs_json *attributes, const char *const *metadata, struct zs_error *err)
{
    zs_json *aside = zs_json_get_mutable(attributes, ZS_ITEMS_ATTRIBUTE);
    if (!zs_json_is_object(aside))
        return ZS_OK;
    if (!zs_items_remove_others(aside, zs_is_item_name, metadata))
        return zs_fail_memory(err);
    if (zs_json_size(aside) == 0)
        zs_json_remove(attributes, ZS_ITEMS_ATTRIBUTE);
    return ZS_OK;
}

enum zs_status zs_update_metadata(struct zs_hierarchy *h, const struct zs_node *node, const char *const *metadata,
                                  struct zs_error *err)
{
    zs_json *attributes;
    ZS_TRY(zs_hierarchy_edit(h, node, &attributes, err));
    if (!zs_items_remove_others(attributes, is_plain, metadata))
        return zs_fail_memory(err);
    ZS_TRY(remove_others_aside(attributes, metadata, err));
    for (; metadata != NULL && *metadata != NULL; metadata++) {
        char *name;
        const char *value;
        bool ok = zs_item_split(*metadata, &name, &value);
        if (name != NULL && !zs_is_item_of(zs_json_get(attributes, ZS_ITEMS_ATTRIBUTE), name, *metadata))
            ok = write_item(attributes, name, *metadata, value);
        free(name);
        if (!ok)
            return zs_fail_memory(err);
    }
    return ZS_OK;
}

enum zs_status zs_update_domains(struct zs_hierarchy *h, const struct zs_node *node, const struct zs_domains *domains,
                                 struct zs_error *err)
{
    zs_json *attributes;
    ZS_TRY(zs_hierarchy_edit(h, node, &attributes, err));
    return zs_domains_write(attributes, ZS_DOMAINS_ATTRIBUTE, domains) ? ZS_OK : zs_fail_memory(err);
}

enum zs_status zs_update_gcps(struct zs_hierarchy *h, const struct zs_node *node, const struct zs_gcps *gcps,
                              struct zs_error *err)
{
    zs_json *attributes;
    ZS_TRY(zs_hierarchy_edit(h, node, &attributes, err));
    return zs_gcps_write(attributes, gcps, err);
}
