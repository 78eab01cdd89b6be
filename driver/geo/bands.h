/* geo/bands.h: the properties of a band, or of an array for all its bands: nodata, scale, offset, unit, description,
 * categories, colours; and metadata. Sources: CF 1.12, 2.5.1 (missing data), 3.1 (units), 3.5 (flags), 8.1 (packed
 * data); xarray's encoding of _FillValue; GDAL's Zarr driver (FORMATS 4.8).
 *
 * Arrays of (band, y, x) are one array with one set of attributes, GDAL's bands each have their own. So:
 *
 *   - what is common to all bands is in the array's attributes, as zs_write_band_properties() puts it there;
 *   - what differs is in the attribute `gdal:bands`: a list of one object per band, slowest dimension first where
 *     several were flattened to bands, empty where the band has nothing of its own. Members: description, unit, scale,
 *     offset, nodata (as `fill_value` is written), categories (list of names by value), color_interpretation (GDAL's
 *     name), color_table (list of [r, g, b, a]), each null where the band has none though the array has one; metadata
 *     (object of strings), metadata_domains (below). Along an only dimension of bands the list may be
 *     shorter than that: who makes an array longer need not know of it;
 *   - `long_name` as a list of names is rioxarray's way to describe bands: read, shorter ones too, and written when all
 *     bands have one.
 */
#pragma once

#include "geo/axes.h"

/* Metadata domains are lists of texts under a name ("ENVI", "RPC", "xml:XMP"), beside the metadata that have none. They
 * are in this attribute of an array, and of a band in the member `metadata_domains` of its entry in gdal:bands: an
 * object of one member per domain, a list of its texts: {"ENVI": ["bands=3"], "xml:XMP": ["<xmp/>"]}. An object of
 * strings, {"ENVI": {"bands": "3"}}, is read, too. */
#define ZS_DOMAINS_ATTRIBUTE "gdal:metadata_domains"

/* ---- Band properties ---- */

/* Attribute (true) of an array whose fill value is not a nodata value. Without it, and without _FillValue and
 * missing_value, the fill value is nodata; this driver writes it for rasters that have none. */
#define ZS_NO_NODATA_ATTRIBUTE "gdal:no_nodata"

/* Attribute of an array or group: an object of texts, the items of metadata whose names belong to conventions ("units",
 * "grid_mapping" ...) and could not be attributes of their own. */
#define ZS_ITEMS_ATTRIBUTE "gdal:metadata"

/* Longest colour table: that of a 16-bit palette. A longer list is not read. */
#define ZS_MAX_COLOURS 65536

/* One band property, and as a bit of a set of them. */
enum zs_band_property {
    ZS_BAND_DESCRIPTION = 1,
    ZS_BAND_UNIT = 2,
    ZS_BAND_SCALE = 4,
    ZS_BAND_OFFSET = 8,
    ZS_BAND_NODATA = 16,
    ZS_BAND_CATEGORIES = 32,
    ZS_BAND_COLOUR = 64,
    ZS_BAND_COLOUR_TABLE = 128,
    ZS_BAND_METADATA = 256 /* and their domains */
};
#define ZS_BAND_ALL 511u

/* Zero-initialise, or read; release with zs_band_properties_clear(). */
struct zs_band_properties {
    bool has_nodata;
    bool nodata_is_implied; /* by the fill value: no attribute declares it */
    unsigned char nodata[ZS_MAX_ITEM_SIZE]; /* as one element of the array: item_size bytes, native order */
    char **metadata; /* NULL-terminated "NAME=VALUE": the attributes that are no other property; nested ones as JSON;
                        NULL when there are none */
    zs_json *members;      /* owned, may be NULL: the others, as an entry of gdal:bands has them */
    const zs_json *common; /* borrowed: of a band, what its array declares; it counts where `members` lack one */
};

/* The member of a property: "description", "unit", "color_interpretation" (GDAL's name), not empty; "scale", "offset",
 * finite; "categories", a list whose index is the pixel's value, where what is no text is no name; "color_table", for
 * zs_colour_read(); "metadata_domains". NULL where it has none. Description and domains are its own alone. */
const zs_json *zs_band_member(const struct zs_band_properties *band, const char *name);
/* The same where it is a text, else NULL. */
const char *zs_band_text(const struct zs_band_properties *band, const char *name);
/* Where members are set, a null one to have none; NULL without memory. */
zs_json *zs_band_members(struct zs_band_properties *band);
/* Sets one to a text, or with NULL or "" to none. False without memory. */
bool zs_band_set_text(struct zs_band_properties *band, const char *name, const char *text);

/* Red, green, blue and alpha (255 where it is absent) of an entry of a colour table; false where it is none. */
bool zs_colour_read(const zs_json *entry, short colour[4]);

/* Reads the properties that the attributes of the array `node` declare for all its bands. Odd attributes are no
 * failure: they become metadata. ZS_NO_MEMORY only. */
enum zs_status zs_band_properties_read(const struct zs_node *node, struct zs_band_properties *properties,
                                       struct zs_error *err);
void zs_band_properties_clear(struct zs_band_properties *properties);

/* The unit in the attributes of an array; borrowed, NULL where there is none. */
const char *zs_unit_attribute(const zs_json *attributes);

/* Makes a copy that owns all that it has; the original keeps its own. Fails with ZS_NO_MEMORY only. */
enum zs_status zs_band_properties_copy(const struct zs_band_properties *properties, struct zs_band_properties *copy,
                                       struct zs_error *err);

/* Whether an attribute of this name is one that the conventions (georeferencing, overviews, nodata, scale, ...) own, so
 * that it is neither handed out as metadata nor written as such. */
bool zs_is_convention_attribute(const char *name);

/* The colour that a band's name, common name or colour interpretation is ("red", "Blue", "grey"; "B04" is none), by
 * GDAL's name ("Red", "Blue", "Gray"); NULL when it is none. NULL is allowed. */
const char *zs_colour_of_name(const char *name);

/* Adds `_FillValue` as xarray encodes it (base64 of a float64 for float types, two of them for complex, plain for
 * integers), or with value NULL marks the array as one without nodata (ZS_NO_NODATA_ATTRIBUTE). Removes the other;
 * both where the fill value alone implies the value. A missing_value beside _FillValue stays where it differs. */
enum zs_status zs_write_nodata(zs_json *attributes, const struct zs_dtype *dtype, const void *value, bool is_implied,
                               struct zs_error *err);

/* Makes properties `which` (ZS_BAND_...) those of an array for all its bands: units, scale_factor, add_offset,
 * long_name, COLOR_INTERPRETATION (as GDAL), gdal:color_table, flag_values and flag_meanings (gdal:categories of names
 * with spaces); one that is absent is removed. Metadata are added (zs_items_write()). Nodata: zs_write_nodata(). */
enum zs_status zs_write_band_properties(zs_json *attributes, const struct zs_band_properties *properties,
                                        unsigned which, struct zs_error *err);

/* ---- Bands that differ ---- */

#define ZS_BANDS_ATTRIBUTE "gdal:bands"

/* Reads the properties of the first `count` bands, of `bands` in all, into list[count]. `base` is what
 * zs_band_properties_read() gave for the array: it holds for a band that has nothing of its own, which borrows its
 * members, but for description, metadata and domains: those of the array speak of the whole. Odd members are ignored,
 * and so is a list longer than `bands`, which belongs to other bands.
 * ZS_NO_MEMORY only, and then nothing is held. Release each with zs_band_properties_clear(). */
enum zs_status zs_bands_read(const struct zs_node *node, uint64_t count, uint64_t bands,
                             const struct zs_band_properties *base, struct zs_band_properties *list,
                             struct zs_error *err);

/* Checks that lists of single bands still count when the array has another shape: bands get other numbers unless they
 * are along one dimension, or their number stays. Else ZS_UNSUPPORTED. */
enum zs_status zs_bands_check_shape(struct zs_hierarchy *hierarchy, const struct zs_node *node, const uint64_t *shape,
                                    struct zs_error *err);

/* Writes properties `which` of all bands into the attributes of their array. A property that is the same for all bands
 * becomes the array's own attribute; scale and offset go together, as readers of CF take them. Where bands differ, the
 * array's attribute stays, for readers that do not know gdal:bands, and a band's entry has what differs from it.
 * Descriptions, where all bands have one, become long_name (a list, or a name for one band), unless that is already a
 * name of the whole array. Metadata of bands are always in their entries; the array's own metadata are
 * zs_write_band_properties()'s. */
enum zs_status zs_bands_write(zs_json *attributes, const struct zs_array_meta *meta,
                              const struct zs_band_properties *bands, size_t count, unsigned which,
                              struct zs_error *err);

/* Removes GDAL's statistics (STATISTICS_MINIMUM ...) from attributes of an array, and the metadata of its bands. */
void zs_remove_statistics(zs_json *attributes);

/* ---- The list of a group: its attribute gdal:bands names its arrays in the order of bands, each an object with a
 * `name`, or that name alone ---- */

/* Position of a name in the list; SIZE_MAX where the list lacks it or is absent. */
size_t zs_band_list_position(const zs_json *attributes, const char *name);

/* A finite number of an attribute, or a text that is one; of a list, element `index`. False where it is none. */
bool zs_number_at(const zs_json *attributes, const char *name, size_t index, double *out);

/* ---- Items of metadata (items.c) ---- */

/* Reads the items of a node: attributes that no convention owns (CF's flags with keeps_flags), and those put aside.
 * NULL where there are none. Free with zs_names_free(). */
enum zs_status zs_items_read(const struct zs_node *node, bool keeps_flags, char ***items, struct zs_error *err);
/* The items of an object of members, or of a list of texts; NULL where there are none, as for all that is neither. */
enum zs_status zs_items_of(const zs_json *members, char ***items, struct zs_error *err);
/* Writes items as texts (NULL: none): as attributes, or in ZS_ITEMS_ATTRIBUTE where an attribute of that name is there
 * or belongs to a convention (zs_is_convention_attribute()). With `replaces` they are all that the node has: others are
 * removed, but for long_name and standard_name, and these are replaced where they are texts. One that an attribute is
 * already, whatever its type, keeps its form. False without memory. */
bool zs_items_write(zs_json *attributes, char *const *items, bool replaces);
/* Adds a list of texts, NULL-terminated; none where that is NULL or empty. False without memory. */
bool zs_add_names(zs_json *parent, const char *name, char *const *names);
/* Makes a member an object of items (NULL: none); without items it is removed. False without memory. */
bool zs_items_set(zs_json *parent, const char *name, char *const *items);

/* Splits "NAME=VALUE" at its first '='. *name is a copy, freed with free(); NULL when the text has no '=' or no name,
 * and is thus not an item. *value is borrowed. False without memory. */
bool zs_item_split(const char *item, char **name, const char **value);

/* Whether "NAME=VALUE" can carry the name: it is not empty, has no '=', and is a text. An attribute of another name is
 * no item: it is neither shown nor changed as one. */
bool zs_is_item_name(const char *name);

/* "NAME=VALUE" of an attribute with such a name, nested ones as JSON; NULL without memory. */
char *zs_metadata_item(const char *name, const zs_json *value);
