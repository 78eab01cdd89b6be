/* Changing the band properties of an array, its statistics and metadata. (Where its pixels lie: update.c.) */
#include "raster/update.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "codec/chain.h"
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

static bool has_one_nodata(const struct zs_band_properties *bands, size_t count, size_t size)
{
    bool is_same = true;
    for (size_t i = 1; i < count && is_same; i++)
        is_same = bands[i].has_nodata == bands[0].has_nodata &&
                  (!bands[0].has_nodata || memcmp(bands[i].nodata, bands[0].nodata, size) == 0);
    return is_same;
}

/* Writes the properties into the attributes of the array, or of an overview of it. */
static enum zs_status write_bands(struct zs_hierarchy *h, const struct zs_node *node, bool is_level,
                                  const struct zs_band_properties *bands, size_t count, unsigned which,
                                  struct zs_error *err)
{
    const struct zs_dtype *dtype = &node->array->dtype;
    zs_json *attributes;
    ZS_TRY(zs_hierarchy_edit(h, node, &attributes, err));
    if ((which & ZS_BAND_NODATA) != 0 && has_one_nodata(bands, count, dtype->size)) { /* the array's, for all */
        remove_band_nodata(attributes);
        ZS_TRY(zs_write_nodata(attributes, dtype, bands[0].has_nodata ? bands[0].nodata : NULL, false, err));
        which &= ~(unsigned)ZS_BAND_NODATA;
    }
    if (which != 0)
        ZS_TRY(zs_bands_write(attributes, dtype, node->array, false, bands, count, which, err));
    if (is_level && (which & ZS_BAND_METADATA) != 0)
        zs_remove_statistics(attributes); /* of other pixels */
    return ZS_OK;
}

enum zs_status zs_update_bands(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                               const struct zs_band_properties *bands, size_t count, unsigned which,
                               struct zs_error *err)
{
    struct zs_names overviews;
    ZS_TRY(zs_overviews_find(h, node, axes, &overviews, err));
    enum zs_status status = write_bands(h, node, false, bands, count, which, err);
    for (size_t i = 0; i < overviews.count && status == ZS_OK; i++) {
        const struct zs_node *level;
        if (zs_hierarchy_node(h, overviews.list[i], &level, NULL) == ZS_OK)
            status = write_bands(h, level, true, bands, count, which, err);
    }
    zs_names_free(overviews.list);
    return status;
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
