/* geo/band_properties.h: the properties of a band, or of an array for all its bands: nodata, scale, offset, unit,
 * description, categories, colours; and metadata. Sources: CF 1.12, 2.5.1 (missing data), 3.1 (units), 3.5 (flags), 8.1
 * (packed data); xarray's encoding of _FillValue; GDAL's Zarr driver (FORMATS 4.8). */
#pragma once

#include "zarr/hierarchy.h"

/* ---- Metadata domains (items.c): lists of texts under a name ("ENVI", "RPC", "xml:XMP"), beside the metadata that
 * have none.
 *
 * They are in the attribute `gdal:metadata_domains` of an array, and of a band in the member `metadata_domains` of its
 * entry in gdal:bands: an object of one member per domain, {"ENVI": {"bands": "3"}, "xml:XMP": ["<xmp/>"]}. A domain of
 * "NAME=VALUE" alone is an object of strings, any other, and those that hold one document (xml:, json:), a list of its
 * texts. GDAL's own Zarr driver keeps no domains. ---- */

#define ZS_DOMAINS_ATTRIBUTE "gdal:metadata_domains"

struct zs_domain {
    char *name;
    char **items; /* NULL-terminated: "NAME=VALUE", or whatever */
};

/* Zero-initialise; release with zs_domains_clear(). */
struct zs_domains {
    struct zs_domain *list;
    size_t count, capacity;
};

/* Those that return bool give false without memory only; what was added until then is there. */

/* Adds copies. A domain without a name, or of no items, is none. */
bool zs_domains_add(struct zs_domains *domains, const char *name, const char *const *items);
bool zs_domains_copy(const struct zs_domains *domains, struct zs_domains *copy);
void zs_domains_clear(struct zs_domains *domains);

/* Members that are odd are passed over. `object` may be NULL. */
bool zs_domains_read(const zs_json *object, struct zs_domains *domains);
/* Sets the member `name` of `parent`, or removes it where there are no domains. What zs_domains_read() passes over in
 * the member that is there stays, and so does a domain that has these items already. */
bool zs_domains_write(zs_json *parent, const char *name, const struct zs_domains *domains);

/* ---- Band properties ---- */

/* Attribute (true) of an array whose fill value is not a nodata value. Without it, and without _FillValue and
 * missing_value, the fill value is nodata; this driver writes it for rasters that have none. */
#define ZS_NO_NODATA_ATTRIBUTE "gdal:no_nodata"

/* Attribute of an array or group: an object of texts, the items of metadata whose names belong to conventions ("units",
 * "proj:code" ...) and could not be attributes of their own. */
#define ZS_ITEMS_ATTRIBUTE "gdal:metadata"

/* Longest colour table: that of a 16-bit palette. A longer list is not read, nor written. */
#define ZS_MAX_COLOURS 65536

/* One entry of a colour table. */
struct zs_colour_entry {
    short r, g, b, a; /* 0 to 255; a is 255 where opaque */
};

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

/* Zero-initialise (with scale 1), or read; release with zs_band_properties_clear(). */
struct zs_band_properties {
    bool has_nodata;
    bool nodata_is_implied; /* by the fill value: no attribute declares it */
    unsigned char nodata[ZS_MAX_ITEM_SIZE]; /* as one element of the array: item_size bytes, native order */
    bool has_scale, has_offset;
    double scale, offset;
    char *unit;        /* owned; NULL when absent, like the next */
    char *description; /* long_name, else NULL */
    char **categories; /* NULL-terminated; index = pixel value, "" where unnamed; NULL when there are none */
    char **metadata;   /* NULL-terminated "NAME=VALUE": the attributes that are no other property; nested ones as JSON;
                          NULL when there are none */
    struct zs_domains domains;
    char *colour_name; /* GDAL's name of the interpretation ("Red", "Palette", "Cyan", "Undefined"), declared by an
                          attribute (`color_interpretation`, `common_name`, ...); NULL where none is */
    struct zs_colour_entry *colour_table; /* by pixel value; NULL when there is none */
    size_t colour_count;
};

/* Reads the properties that the attributes of the array `node` declare for all its bands. Odd attributes are no
 * failure: they become metadata. ZS_NO_MEMORY only. */
enum zs_status zs_band_properties_read(const struct zs_node *node, struct zs_band_properties *properties,
                                       struct zs_error *err);
void zs_band_properties_clear(struct zs_band_properties *properties);

/* The unit in the attributes of an array; borrowed, NULL where there is none. */
const char *zs_unit_attribute(const zs_json *attributes);

/* Makes a copy that owns its members; the original keeps its own. Fails with ZS_NO_MEMORY only. */
enum zs_status zs_band_properties_copy(const struct zs_band_properties *properties, struct zs_band_properties *copy,
                                       struct zs_error *err);

/* The plain attributes of a group as NULL-terminated "NAME=VALUE" (the conventions' members left out), NULL when it has
 * none; released with zs_names_free(). */
enum zs_status zs_group_metadata_read(const struct zs_node *group, char ***metadata, struct zs_error *err);

/* Whether an attribute of this name is one that the conventions (georeferencing, overviews, nodata, scale, ...) own, so
 * that it is neither handed out as metadata nor written as such. */
bool zs_is_convention_attribute(const char *name);

/* The colour that a band's name, common name or colour interpretation is ("red", "Blue", "grey"; "B04" is none), by
 * GDAL's name ("Red", "Blue", "Gray"); NULL when it is none. NULL is allowed. */
const char *zs_colour_of_name(const char *name);
