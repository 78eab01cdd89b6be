/* geo/attributes.h: the attributes of a node as typed values, for showing all of them (GDAL's multidimensional API). */
#pragma once

#include "geo/band_properties.h"

enum zs_attribute_kind {
    ZS_ATTRIBUTE_TEXT,
    ZS_ATTRIBUTE_INT64,
    ZS_ATTRIBUTE_UINT64, /* whole numbers, of which one is above INT64_MAX and none below 0 */
    ZS_ATTRIBUTE_DOUBLE,
    ZS_ATTRIBUTE_JSON /* all else, as its JSON text: objects, lists of several kinds or of none, booleans, null */
};

/* One attribute: a value, or a list of values of one kind. */
struct zs_attribute {
    const char *name; /* borrowed from the node */
    enum zs_attribute_kind kind;
    bool is_list; /* else count is 1 */
    size_t count; /* > 0 */
    const char **texts; /* TEXT, JSON: `count` of them; the list is owned; the texts are borrowed from the node, but: */
    char *json;         /* owned; texts[0] of JSON, and of `coordinates` without the grid mapping */
    int64_t *integers;  /* INT64; UINT64 by its bits */
    double *doubles;
};

/* The attributes of a node in the order of its document; release with zs_attributes_free(). With `properties`,
 * attributes that hold nodata, scale, offset and unit of these are left out; with `has_srs` those that name the CRS.
 * ZS_NO_MEMORY only. */
enum zs_status zs_attributes_read(const struct zs_node *node, const struct zs_band_properties *properties, bool has_srs,
                                  struct zs_attribute **attributes, size_t *count, struct zs_error *err);
void zs_attributes_free(struct zs_attribute *attributes, size_t count);

/* Whether a member of a document reads as this attribute already, however its numbers are spelt: 1E5 is 100000.0, and 5
 * is not 5.0, which is of another kind. False for NULL, and without memory. */
bool zs_attribute_is_same(const zs_json *member, const struct zs_attribute *attribute);

/* ---- Changing: in memory, in the store at the flush of the hierarchy ---- */

/* Sets the attribute of that name: a text, a number, a list of either (also of none), or what its JSON text is. Numbers
 * that JSON has not are the texts "NaN", "Infinity" and "-Infinity", which are read as numbers. The attribute keeps its
 * position, and its spelling where it reads as that value already. ZS_ARGUMENT where a text is no JSON, or no UTF-8. */
enum zs_status zs_attribute_write(struct zs_hierarchy *hierarchy, const struct zs_node *node,
                                  const struct zs_attribute *attribute, struct zs_error *err);
/* Removes one; that there is none is fine. */
enum zs_status zs_attribute_remove(struct zs_hierarchy *hierarchy, const struct zs_node *node, const char *name,
                                   struct zs_error *err);
bool zs_attribute_exists(const struct zs_node *node, const char *name);

/* Makes properties `which` (ZS_BAND_...) those of an array for all its elements, as zs_write_band_properties() and
 * zs_write_nodata() do. */
enum zs_status zs_properties_write(struct zs_hierarchy *hierarchy, const struct zs_node *array,
                                   const struct zs_band_properties *properties, unsigned which, struct zs_error *err);

/* Whether attributes declare missing elements, rather than the fill value alone. */
bool zs_declares_nodata(const struct zs_node *node);

/* Whether attributes name a CRS that zs_attributes_read() leaves out. */
bool zs_names_srs(const struct zs_node *node);

/* The list of codecs of an array as JSON text; freed with free(), NULL without memory or where there is none. */
char *zs_codecs_text(const struct zs_node *node);
