#include "geo/band_properties.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "geo/band_properties_json.h"
#include "geo/write.h"

/* The one table. A new property is a row, and a case of each switch below. */
const struct zs_band_property_names zs_band_property_names[] = {
    {ZS_BAND_DESCRIPTION, "description", {"long_name"}},
    {ZS_BAND_UNIT, "unit", {"units", "unit"}},
    {ZS_BAND_SCALE, "scale", {"scale_factor"}},
    {ZS_BAND_OFFSET, "offset", {"add_offset"}},
    {ZS_BAND_NODATA, "nodata", {NULL}},
    {ZS_BAND_CATEGORIES, "categories", {NULL}},
    {ZS_BAND_COLOUR,
     "color_interpretation",
     {"COLOR_INTERPRETATION", "color_interpretation", "colour_interpretation"}},
    {ZS_BAND_COLOUR_TABLE, "color_table", {"gdal:color_table"}},
    {ZS_BAND_METADATA, NULL, {NULL}},
};

/* ---- Values ---- */

static bool has_text(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static bool is_same_text(const char *a, const char *b)
{
    return has_text(a) ? has_text(b) && strcmp(a, b) == 0 : !has_text(b);
}

static bool copy_text(const char *text, char **copy)
{
    *copy = text != NULL ? zs_strdup(text) : NULL;
    return text == NULL || *copy != NULL;
}

static void clear_text(char **text)
{
    free(*text);
    *text = NULL;
}

bool zs_text_replace(char **text, const zs_json *member)
{
    const char *found;
    if (!zs_json_string(member, &found))
        return true;
    clear_text(text);
    return found[0] == '\0' || copy_text(found, text);
}

static void replace_number(bool *has, double *number, const zs_json *member)
{
    double found;
    if (zs_json_double(member, &found) && isfinite(found)) {
        *has = true;
        *number = found;
    }
}

static bool is_same_list(char *const *a, char *const *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    while (*a != NULL && *b != NULL && strcmp(*a, *b) == 0)
        a++, b++;
    return *a == NULL && *b == NULL;
}

static bool add_list(zs_json *parent, const char *name, char *const *list)
{
    zs_json *added = zs_json_add_array(parent, name);
    bool ok = added != NULL;
    for (; ok && *list != NULL; list++)
        ok = zs_json_add_string(added, NULL, *list) != NULL;
    return ok;
}

static size_t colour_count(const struct zs_band_properties *band)
{
    return band->colour_table != NULL ? band->colour_count : 0;
}

static bool is_same_colour_table(const struct zs_band_properties *a, const struct zs_band_properties *b)
{
    const size_t n = colour_count(a);
    return n == colour_count(b) &&
           (n == 0 || memcmp(a->colour_table, b->colour_table, n * sizeof *a->colour_table) == 0);
}

static bool copy_colour_table(const struct zs_band_properties *from, struct zs_band_properties *to)
{
    to->colour_table = NULL;
    if (from->colour_table == NULL)
        return true;
    to->colour_table = zs_calloc(from->colour_count, sizeof *to->colour_table);
    if (to->colour_table != NULL)
        memcpy(to->colour_table, from->colour_table, from->colour_count * sizeof *to->colour_table);
    return to->colour_table != NULL;
}

/* ---- One property ---- */

bool zs_band_property_is_set(const struct zs_band_properties *band, enum zs_band_property property)
{
    switch (property) {
    case ZS_BAND_DESCRIPTION:
        return has_text(band->description);
    case ZS_BAND_UNIT:
        return has_text(band->unit);
    case ZS_BAND_SCALE:
        return band->has_scale;
    case ZS_BAND_OFFSET:
        return band->has_offset;
    case ZS_BAND_NODATA:
        return band->has_nodata;
    case ZS_BAND_CATEGORIES:
        return band->categories != NULL;
    case ZS_BAND_COLOUR:
        return has_text(band->colour_name);
    case ZS_BAND_COLOUR_TABLE:
        return colour_count(band) > 0;
    case ZS_BAND_METADATA:
        return band->metadata != NULL || band->domains.count > 0;
    }
    return false;
}

bool zs_band_property_is_same(const struct zs_band_properties *a, const struct zs_band_properties *b,
                              enum zs_band_property property)
{
    switch (property) {
    case ZS_BAND_DESCRIPTION:
        return is_same_text(a->description, b->description);
    case ZS_BAND_UNIT:
        return is_same_text(a->unit, b->unit);
    case ZS_BAND_SCALE:
        return a->has_scale == b->has_scale && (!a->has_scale || a->scale == b->scale);
    case ZS_BAND_OFFSET:
        return a->has_offset == b->has_offset && (!a->has_offset || a->offset == b->offset);
    case ZS_BAND_NODATA:
        return a->has_nodata == b->has_nodata &&
               (!a->has_nodata || memcmp(a->nodata, b->nodata, sizeof a->nodata) == 0);
    case ZS_BAND_CATEGORIES:
        return is_same_list(a->categories, b->categories);
    case ZS_BAND_COLOUR:
        return is_same_text(a->colour_name, b->colour_name);
    case ZS_BAND_COLOUR_TABLE:
        return is_same_colour_table(a, b);
    case ZS_BAND_METADATA:
        break;
    }
    return false;
}

bool zs_band_property_take(struct zs_band_properties *band, enum zs_band_property property,
                           const struct zs_dtype *dtype, const zs_json *member)
{
    char **categories;
    struct zs_colour_entry *table;
    size_t count;
    bool ok = true;
    switch (property) {
    case ZS_BAND_DESCRIPTION:
        return zs_text_replace(&band->description, member);
    case ZS_BAND_UNIT:
        return zs_text_replace(&band->unit, member);
    case ZS_BAND_SCALE:
        replace_number(&band->has_scale, &band->scale, member);
        break;
    case ZS_BAND_OFFSET:
        replace_number(&band->has_offset, &band->offset, member);
        break;
    case ZS_BAND_NODATA:
        if (dtype != NULL) {
            band->has_nodata = zs_missing_value_read(dtype, member, band->nodata);
            band->nodata_is_implied = false;
        }
        break;
    case ZS_BAND_CATEGORIES:
        ok = zs_category_list_read(member, &categories);
        if (!ok || categories == NULL)
            return ok;
        zs_names_free(band->categories);
        band->categories = categories;
        break;
    case ZS_BAND_COLOUR:
        return zs_text_replace(&band->colour_name, member);
    case ZS_BAND_COLOUR_TABLE:
        ok = zs_colour_table_read(member, &table, &count);
        if (!ok || table == NULL)
            return ok;
        free(band->colour_table);
        band->colour_table = table;
        band->colour_count = count;
        break;
    case ZS_BAND_METADATA:
        break;
    }
    return ok;
}

bool zs_band_property_put(const struct zs_band_properties *band, enum zs_band_property property,
                          const struct zs_dtype *dtype, zs_json *object, const char *name)
{
    switch (property) {
    case ZS_BAND_DESCRIPTION:
        return zs_json_add_string(object, name, band->description) != NULL;
    case ZS_BAND_UNIT:
        return zs_json_add_string(object, name, band->unit) != NULL;
    case ZS_BAND_SCALE:
        return zs_json_add_double(object, name, band->scale) != NULL;
    case ZS_BAND_OFFSET:
        return zs_json_add_double(object, name, band->offset) != NULL;
    case ZS_BAND_NODATA:
        return zs_fill_value_add(object, name, dtype, band->nodata) != NULL;
    case ZS_BAND_CATEGORIES:
        return add_list(object, name, band->categories);
    case ZS_BAND_COLOUR:
        return zs_json_add_string(object, name, band->colour_name) != NULL;
    case ZS_BAND_COLOUR_TABLE:
        return zs_colour_table_write(object, name, band->colour_table, band->colour_count);
    case ZS_BAND_METADATA:
        break;
    }
    return true;
}

void zs_band_property_clear(struct zs_band_properties *band, enum zs_band_property property)
{
    switch (property) {
    case ZS_BAND_DESCRIPTION:
        clear_text(&band->description);
        break;
    case ZS_BAND_UNIT:
        clear_text(&band->unit);
        break;
    case ZS_BAND_SCALE:
        band->has_scale = false;
        band->scale = 1;
        break;
    case ZS_BAND_OFFSET:
        band->has_offset = false;
        band->offset = 0;
        break;
    case ZS_BAND_NODATA:
        band->has_nodata = false;
        break;
    case ZS_BAND_CATEGORIES:
        zs_names_free(band->categories);
        band->categories = NULL;
        break;
    case ZS_BAND_COLOUR:
        clear_text(&band->colour_name);
        break;
    case ZS_BAND_COLOUR_TABLE:
        free(band->colour_table);
        band->colour_table = NULL;
        band->colour_count = 0;
        break;
    case ZS_BAND_METADATA:
        zs_names_free(band->metadata);
        band->metadata = NULL;
        zs_domains_clear(&band->domains);
        break;
    }
}

/* ---- All properties ---- */

enum zs_status zs_band_properties_copy(const struct zs_band_properties *properties, struct zs_band_properties *copy,
                                       struct zs_error *err)
{
    struct zs_band_properties c = *properties;
    bool ok = copy_text(properties->unit, &c.unit);
    ok = copy_text(properties->description, &c.description) && ok;
    ok = copy_text(properties->colour_name, &c.colour_name) && ok;
    ok = zs_names_copy((const char *const *)properties->categories, &c.categories) && ok;
    ok = zs_names_copy((const char *const *)properties->metadata, &c.metadata) && ok;
    ok = zs_domains_copy(&properties->domains, &c.domains) && ok;
    ok = copy_colour_table(properties, &c) && ok;
    if (!ok) {
        zs_band_properties_clear(&c);
        return zs_fail_memory(err);
    }
    *copy = c;
    return ZS_OK;
}

void zs_band_properties_clear(struct zs_band_properties *properties)
{
    for (size_t i = 0; i < ZS_BAND_PROPERTY_COUNT; i++)
        zs_band_property_clear(properties, zs_band_property_names[i].property);
    memset(properties, 0, sizeof *properties);
}

/* ---- Of an array: from and to its attributes ---- */

/* EOPF's own products keep the unit and the packing in an object beside. */
#define EOPF_ATTRIBUTES "_eopf_attrs"

static bool read_number(const zs_json *attributes, const char *name, double *out)
{
    const zs_json *value = zs_json_get(attributes, name);
    if (value == NULL)
        value = zs_json_get(zs_json_get(attributes, EOPF_ATTRIBUTES), name);
    if (zs_json_is_array(value) && zs_json_size(value) == 1)
        value = zs_json_at(value, 0);
    const char *text;
    double number;
    if (!(zs_json_string(value, &text) ? zs_number_of_text(text, &number) : zs_json_double(value, &number)) ||
        !isfinite(number))
        return false;
    *out = number;
    return true;
}

static const char *text_attribute(const zs_json *attributes, const char *name)
{
    const char *text = zs_json_text(attributes, name, NULL);
    return has_text(text) ? text : NULL;
}

/* GDAL's name for the colour of a band: an attribute that holds one, else it follows from other names. */
static bool read_colour(const zs_json *attributes, struct zs_band_properties *band)
{
    static const char *const names[] = {"color_interpretation", "colour_interpretation", "COLOR_INTERPRETATION",
                                        "common_name", "eo:common_name"};
    const size_t gdal_names = 3; /* the first of them hold any name of GDAL's */
    bool ok = true;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && ok && band->colour_name == NULL; i++) {
        const char *text = text_attribute(attributes, names[i]);
        const char *colour = zs_colour_of_name(text);
        if (colour != NULL || i < gdal_names)
            ok = copy_text(colour != NULL ? colour : text, &band->colour_name);
    }
    return ok;
}

const char *zs_unit_attribute(const zs_json *attributes)
{
    const char *unit = text_attribute(attributes, "units");
    if (unit == NULL)
        unit = text_attribute(attributes, "unit");
    return unit != NULL ? unit : text_attribute(zs_json_get(attributes, EOPF_ATTRIBUTES), "units");
}

enum zs_status zs_band_properties_read(const struct zs_node *node, struct zs_band_properties *properties,
                                       struct zs_error *err)
{
    const zs_json *a = node->attributes;
    struct zs_band_properties p = {.scale = 1};
    memset(properties, 0, sizeof *properties);
    if (node->array != NULL)
        zs_nodata_read(node, &p);
    p.has_scale = read_number(a, "scale_factor", &p.scale);
    p.has_offset = read_number(a, "add_offset", &p.offset);
    bool ok = copy_text(text_attribute(a, "long_name"), &p.description);
    ok = ok && read_colour(a, &p);
    ok = ok && zs_colour_table_read(zs_json_get(a, "gdal:color_table"), &p.colour_table, &p.colour_count);
    ok = ok && copy_text(zs_unit_attribute(a), &p.unit);
    ok = ok && zs_categories_read(a, &p.categories);
    ok = ok && zs_domains_read(zs_json_get(a, ZS_DOMAINS_ATTRIBUTE), &p.domains);
    enum zs_status status = ok ? zs_items_read(node, p.categories == NULL, &p.metadata, err) : zs_fail_memory(err);
    if (status != ZS_OK) {
        zs_band_properties_clear(&p);
        return status;
    }
    *properties = p;
    return ZS_OK;
}

/* CF's flags can hold more than categories do (bits, any values): they stay where they are the same categories. */
static bool write_categories(zs_json *attributes, char *const *categories)
{
    static const char *const flags[] = {"flag_values", "flag_meanings", "flag_masks", "gdal:categories"};
    char **old;
    const bool ok = zs_categories_read(attributes, &old), is_same = ok && is_same_list(old, categories);
    zs_names_free(old);
    if (!ok || is_same)
        return ok;
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        zs_json_remove(attributes, flags[i]);
    return categories == NULL || zs_categories_write(attributes, categories);
}

/* One property that is the same for all bands. Its first name is written; an attribute of another name goes. So does
 * what EOPF has of a property that is not set: it would show. */
static bool write_property(zs_json *attributes, const struct zs_band_property_names *names,
                           const struct zs_band_properties *band)
{
    if (names->property == ZS_BAND_CATEGORIES)
        return write_categories(attributes, band->categories);
    for (const char *const *name = names->attributes; *name != NULL; name++)
        zs_json_remove(attributes, *name);
    if (zs_band_property_is_set(band, names->property))
        return names->attributes[0] == NULL ||
               zs_band_property_put(band, names->property, NULL, attributes, names->attributes[0]);
    if ((names->property & (ZS_BAND_UNIT | ZS_BAND_SCALE | ZS_BAND_OFFSET)) != 0)
        zs_json_remove(zs_json_get_mutable(attributes, EOPF_ATTRIBUTES), names->attributes[0]);
    return true;
}

enum zs_status zs_write_band_properties(zs_json *attributes, const struct zs_band_properties *properties,
                                        unsigned which, struct zs_error *err)
{
    bool ok = true;
    for (size_t i = 0; i < ZS_BAND_PROPERTY_COUNT && ok; i++)
        if ((which & zs_band_property_names[i].property) != 0)
            ok = write_property(attributes, &zs_band_property_names[i], properties);
    if (ok && (which & ZS_BAND_METADATA) != 0)
        ok = (properties->metadata == NULL || zs_items_write(attributes, properties->metadata)) &&
             (properties->domains.count == 0 ||
              zs_domains_write(attributes, ZS_DOMAINS_ATTRIBUTE, &properties->domains));
    return ok ? ZS_OK : zs_fail_memory(err);
}
