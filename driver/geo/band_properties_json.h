/* geo/band_properties_json.h: band properties in JSON, as attributes of an array and members of a band's entry
 * (bands.h) hold them alike. Internal to the room. Functions that return bool give false without memory only, unless
 * they say otherwise. */
#ifndef ZS_GEO_BAND_PROPERTIES_JSON_H
#define ZS_GEO_BAND_PROPERTIES_JSON_H

#include "geo/band_properties.h"

/* A missing value, in any of the ways it is written, as one element. False when it is none that the type can hold. */
bool zs_missing_value_read(const struct zs_dtype *dtype, const zs_json *value, unsigned char *out);

/* Names by pixel value; NULL for what is no such list, or too long a one. On failure what was made so far is in
 * *categories. */
bool zs_category_list_read(const zs_json *list, char ***categories);

/* What attributes call the values of pixels: that list, or CF's flags where their values are small numbers. NULL where
 * they do not. Both are freed with zs_metadata_free(), on failure, too. */
bool zs_categories_read(const zs_json *attributes, char ***categories);

/* A list of [r, g, b] or [r, g, b, a]; NULL for what is none. */
bool zs_colour_table_read(const zs_json *list, struct zs_colour_entry **table, size_t *count);
bool zs_colour_table_write(zs_json *object, const char *name, const struct zs_colour_entry *table, size_t count);

/* Whether "NAME=VALUE" can carry the name: it is not empty and has no '='. An attribute of another name is no item: it
 * is neither shown nor changed as one. */
bool zs_is_item_name(const char *name);

/* "NAME=VALUE" of an attribute with such a name, nested ones as JSON; NULL without memory. */
char *zs_metadata_item(const char *name, const zs_json *value);

/* Whether the attribute of that name is the item. False without memory, too. */
bool zs_is_item_of(const zs_json *attributes, const char *name, const char *item);
/* Removes the members that may go and are not in the list as they are. False without memory. */
bool zs_items_remove_others(zs_json *object, bool (*may_go)(const char *name), const char *const *items);
/* Puts an item where it says nothing else: into ZS_ITEMS_ATTRIBUTE. */
bool zs_item_put_aside(zs_json *attributes, const char *name, const char *value);

/* GDAL's name ("Gray"); NULL for ZS_COLOUR_NONE. */
const char *zs_colour_name(enum zs_colour colour);
/* The name of a band's colour interpretation, NULL when it has none. Borrowed. */
const char *zs_band_properties_colour_name(const struct zs_band_properties *properties);

#endif
