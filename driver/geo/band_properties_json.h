/* geo/band_properties_json.h: band properties in JSON, as attributes of an array and members of a band's entry
 * (bands.h) hold them alike. Internal to the room. Functions that return bool give false without memory only, unless
 * they say otherwise. */
#pragma once

#include "geo/band_properties.h"

/* ---- One table of properties ---- */

/* How a property is kept. */
enum zs_band_property_kind { ZS_OF_TEXT, ZS_OF_NUMBER, ZS_OF_NODATA, ZS_OF_NAMES, ZS_OF_COLOURS };

struct zs_band_property_row {
    enum zs_band_property property;
    enum zs_band_property_kind kind;
    size_t at, has;            /* offsets in struct zs_band_properties: of the value, and of the flag that it is set */
    double absent;             /* the number where it is not set */
    const char *member;        /* member of a band's entry in gdal:bands; NULL where the entry has several */
    const char *attributes[4]; /* attributes of an array, for all its bands, NULL-terminated; the first is the one
                                  that is written. None where the property has a writer of its own */
};
#define ZS_BAND_PROPERTY_COUNT 9
extern const struct zs_band_property_row zs_band_property_rows[ZS_BAND_PROPERTY_COUNT];

bool zs_band_property_is_set(const struct zs_band_properties *band, const struct zs_band_property_row *row);
/* Both set and equal, or neither is set. Metadata are each band's own, never the same. */
bool zs_band_property_is_same(const struct zs_band_properties *a, const struct zs_band_properties *b,
                              const struct zs_band_property_row *row);
/* Sets the property to a member's value, as zs_band_property_put() writes it. An odd member changes nothing (an odd
 * nodata value: there is none). `dtype` is that of the array, for nodata; NULL leaves nodata alone. */
bool zs_band_property_take(struct zs_band_properties *band, const struct zs_band_property_row *row,
                           const struct zs_dtype *dtype, const zs_json *member);
/* Adds the property, which is set, as member `name` of an object that has no such member. */
bool zs_band_property_put(const struct zs_band_properties *band, const struct zs_band_property_row *row,
                          const struct zs_dtype *dtype, zs_json *object, const char *name);
void zs_band_property_clear(struct zs_band_properties *band, const struct zs_band_property_row *row);

/* Replaces a text, which zs_strdup() made, by a member that is one; an empty one is none (NULL). */
bool zs_text_replace(char **text, const zs_json *member);

/* ---- Items of metadata (items.c) ---- */

/* Reads the items of a node: attributes that no convention owns (CF's flags with keeps_flags), and those put aside.
 * NULL where there are none. Free with zs_names_free(). */
enum zs_status zs_items_read(const struct zs_node *node, bool keeps_flags, char ***items, struct zs_error *err);
/* Adds items: see zs_write_band_properties(). */
bool zs_items_write(zs_json *attributes, char *const *items);

/* Splits "NAME=VALUE" at its first '='. *name is a copy, freed with free(); NULL when the text has no '=' or no name,
 * and is thus not an item. *value is borrowed. False without memory. */
bool zs_item_split(const char *item, char **name, const char **value);

/* Whether "NAME=VALUE" can carry the name: it is not empty, has no '=', and is a text. An attribute of another name is
 * no item: it is neither shown nor changed as one. */
bool zs_is_item_name(const char *name);

/* "NAME=VALUE" of an attribute with such a name, nested ones as JSON; NULL without memory. */
char *zs_metadata_item(const char *name, const zs_json *value);

/* Whether the attribute of that name is the item. False without memory, too. */
bool zs_is_item_of(const zs_json *attributes, const char *name, const char *item);
/* Removes the members that may go and are not in the list as they are. False without memory. */
bool zs_items_remove_others(zs_json *object, bool (*may_go)(const char *name), const char *const *items);
/* Sets an item in ZS_ITEMS_ATTRIBUTE, where its name has no other meaning. */
bool zs_item_put_aside(zs_json *attributes, const char *name, const char *value);
