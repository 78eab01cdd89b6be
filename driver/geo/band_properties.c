/* Band properties: as members of an entry of gdal:bands, and as attributes of an array. */
#include "geo/bands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cpl_conv.h>
#include <cpl_string.h>

#include "base/checked.h"
#include "base/memory.h"
#include "geo/conventions.h"
#include "geo/flags.h"
#include "geo/georef.h"

/* Category names are a list indexed by value: a value of a million would make a million names. */
#define MAX_CATEGORIES 65536

/* ---- Values in JSON ---- */

/* A whole string as a number, "nan" too. */
static bool number_of_text(const char *text, double *out)
{
    char *end;
    const double value = CPLStrtod(text, &end);
    /* CPLStrtod() reads "nan" and "inf" in many spellings, which is welcome. */
    if (end == text || end[strspn(end, " ")] != '\0')
        return false;
    *out = value;
    return true;
}

bool zs_number_at(const zs_json *attributes, const char *name, size_t index, double *out)
{
    const zs_json *value = zs_json_get(attributes, name);
    const char *text;
    double number;
    if (zs_json_is_array(value))
        value = zs_json_at(value, index);
    else if (index > 0)
        return false;
    if (!(zs_json_string(value, &text) ? number_of_text(text, &number) : zs_json_double(value, &number)) ||
        !isfinite(number))
        return false;
    *out = number;
    return true;
}

/* ---- Colours ---- */

const char *zs_colour_of_name(const char *name)
{
    static const char *const known[][2] = {{"Red", "Red"},      {"Green", "Green"},   {"Blue", "Blue"},
                                           {"Alpha", "Alpha"},  {"Gray", "Gray"},     {"grey", "Gray"},
                                           {"FF0000", "Red"},   {"00FF00", "Green"},  {"0000FF", "Blue"}};
    for (size_t i = 0; name != NULL && i < sizeof known / sizeof known[0]; i++)
        if (zs_equals_ignoring_case(name, known[i][0]))
            return known[i][1];
    return NULL;
}

bool zs_colour_read(const zs_json *entry, short colour[4])
{
    double c[4] = {0, 0, 0, 255};
    bool ok = zs_json_doubles(entry, c, 4) || zs_json_doubles(entry, c, 3);
    for (int i = 0; i < 4 && ok; i++) {
        ok = c[i] >= -32768 && c[i] <= 32767; /* not NaN */
        colour[i] = ok ? (short)c[i] : 0;
    }
    return ok;
}

/* All entries: half a table would paint the rest black. */
static bool is_colour_table(const zs_json *list)
{
    short colour[4];
    bool ok = zs_json_is_array(list) && zs_json_size(list) > 0 && zs_json_size(list) <= ZS_MAX_COLOURS;
    for (const zs_json *e = zs_json_first(list); e != NULL && ok; e = zs_json_next(e))
        ok = zs_colour_read(e, colour);
    return ok;
}

/* ---- Categories ---- */

static bool is_names(const zs_json *list)
{
    return zs_json_is_array(list) && zs_json_size(list) > 0 && zs_json_size(list) <= MAX_CATEGORIES;
}

/* As a list by value: that of GDAL, or CF's flags where their values are small numbers. */
static bool categories_read(const zs_json *attributes, zs_json *members)
{
    const zs_json *own = zs_json_get(attributes, "gdal:categories");
    struct zs_flags flags;
    size_t count = 0;
    if (is_names(own))
        return zs_json_add(members, "categories", zs_json_copy(own)) != NULL;
    if (zs_flags_read(attributes, &flags, NULL) != ZS_OK)
        return false;
    bool is_small = flags.has_values;
    for (size_t i = 0; i < flags.count; i++) {
        const int64_t value = flags.list[i].value;
        is_small = is_small && value >= 0 && value < MAX_CATEGORIES;
        count = is_small && (size_t)value >= count ? (size_t)value + 1 : count;
    }
    const bool is_any = is_small && count > 0;
    const char **names = is_any ? zs_calloc(count, sizeof *names) : NULL;
    for (size_t i = 0; i < flags.count && names != NULL; i++)
        names[flags.list[i].value] = flags.list[i].name; /* the later of two holds */
    zs_json *list = names != NULL ? zs_json_add_array(members, "categories") : NULL;
    bool ok = !is_any || list != NULL;
    for (size_t v = 0; v < count && ok && list != NULL; v++)
        ok = zs_json_add_string(list, NULL, names[v] != NULL ? names[v] : "") != NULL;
    free(names);
    zs_flags_clear(&flags);
    return ok;
}

/* Whether CF's flags can hold the names: they are words without spaces, and the last value has one. */
static bool are_words(const zs_json *names)
{
    const char *text = "";
    for (const zs_json *e = zs_json_first(names); e != NULL; e = zs_json_next(e))
        if (!zs_json_string(e, &text) || strpbrk(text, " \t\r\n") != NULL)
            return false;
    return text[0] != '\0';
}

static bool categories_write(zs_json *attributes, const zs_json *names)
{
    if (!are_words(names))
        return zs_json_add(attributes, "gdal:categories", zs_json_copy(names)) != NULL;
    zs_json *values = zs_json_add_array(attributes, "flag_values");
    struct zs_buffer words = {0};
    bool ok = values != NULL;
    uint64_t value = 0;
    const char *text = "";
    for (const zs_json *e = zs_json_first(names); e != NULL && ok; e = zs_json_next(e), value++)
        if (zs_json_string(e, &text) && text[0] != '\0')
            ok = zs_json_add_uint64(values, NULL, value) != NULL &&
                 (words.size == 0 || zs_buffer_append(&words, " ", 1, NULL) == ZS_OK) &&
                 zs_buffer_append(&words, text, strlen(text), NULL) == ZS_OK;
    ok = ok && zs_buffer_append(&words, "", 1, NULL) == ZS_OK &&
         zs_json_set_string(attributes, "flag_meanings", (const char *)words.data);
    zs_buffer_free(&words);
    return ok;
}

/* ---- Nodata ---- */

/* A `double` as one element of a floating-point type. */
static bool element_of_double(const struct zs_dtype *dtype, double value, unsigned char *out)
{
    bool was_null = false;
    zs_json *holder = zs_json_new_array();
    const zs_json *number = zs_json_add_double(holder, NULL, value);
    const bool ok = number != NULL && zs_fill_value_parse(dtype, number, out, &was_null, NULL) == ZS_OK;
    zs_json_free(holder);
    return ok;
}

/* xarray's encoding: base64 of a little-endian float64, whatever the width of the array's floats. */
static bool double_of_base64(const char *text, double *out)
{
    unsigned char bytes[8];
    if (zs_base64_decode(text, bytes, sizeof bytes) != 8)
        return false;
    const uint64_t bits = zs_load_le64(bytes);
    memcpy(out, &bits, sizeof *out);
    return true;
}

static bool is_float(enum zs_data_type type)
{
    return type == ZS_FLOAT16 || type == ZS_FLOAT32 || type == ZS_FLOAT64;
}

/* A missing value, in any of the ways it is written, as one element. False when it is none that the type can hold. */
static bool missing_value_read(const struct zs_dtype *dtype, const zs_json *value, unsigned char *out)
{
    const char *text;
    double number;
    bool was_null = false;
    const bool is_text = zs_json_string(value, &text);
    const bool is_complex = dtype->type == ZS_COMPLEX64 || dtype->type == ZS_COMPLEX128;
    if (is_complex) {
        struct zs_dtype part = zs_dtype_of(dtype->type == ZS_COMPLEX64 ? ZS_FLOAT32 : ZS_FLOAT64);
        memset(out, 0, dtype->size);
        if (!zs_json_is_array(value))
            return missing_value_read(&part, value, out);
        return zs_json_size(value) == 2 && missing_value_read(&part, zs_json_at(value, 0), out) &&
               missing_value_read(&part, zs_json_at(value, 1), out + part.size);
    }
    if (zs_json_is_array(value) && zs_json_size(value) == 1 && dtype->type != ZS_RAW)
        value = zs_json_at(value, 0);
    if (is_float(dtype->type)) {
        /* A numeric string first: eleven digits are base64 too. */
        if (is_text && (number_of_text(text, &number) || double_of_base64(text, &number)) &&
            strncmp(text, "0x", 2) != 0)
            return element_of_double(dtype, number, out);
        if (zs_json_double(value, &number))
            return element_of_double(dtype, number, out);
    } else if (is_text && dtype->type != ZS_RAW && dtype->type != ZS_BOOL) {
        if (number_of_text(text, &number) || double_of_base64(text, &number))
            return number == floor(number) && fabs(number) < 9007199254740992.0 &&
                   element_of_double(dtype, number, out);
    }
    return zs_fill_value_parse(dtype, value, out, &was_null, NULL) == ZS_OK && !was_null;
}

/* _FillValue, missing_value, else the fill value where that is one. */
static void nodata_read(const struct zs_node *node, struct zs_band_properties *band)
{
    const struct zs_array_meta *meta = node->array;
    const zs_json *a = node->attributes, *value = zs_json_get(a, "_FillValue");
    if (zs_json_typeof(value) != ZS_JSON_NULL) {
        /* A value that the type cannot hold masks nothing. It must not be replaced by another source: that would mask
         * pixels that the writer kept. */
        band->has_nodata = missing_value_read(&meta->dtype, value, band->nodata);
        return;
    }
    const enum zs_data_type type = meta->dtype.type;
    if (type == ZS_BOOL || type == ZS_RAW || type == ZS_DATETIME64 || type == ZS_TIMEDELTA64) {
        /* The fill value of these types is an ordinary value, except NaT. */
        int64_t count = 0;
        if (meta->dtype.size == sizeof count)
            memcpy(&count, meta->fill_value, sizeof count);
        band->has_nodata = (type == ZS_DATETIME64 || type == ZS_TIMEDELTA64) && count == INT64_MIN;
        memcpy(band->nodata, meta->fill_value, meta->dtype.size);
        return;
    }
    value = zs_json_get(a, "missing_value");
    if (zs_json_is_array(value) && zs_json_size(value) > 0 && type != ZS_COMPLEX64 && type != ZS_COMPLEX128)
        value = zs_json_at(value, 0); /* GDAL has room for one */
    if (zs_json_typeof(value) != ZS_JSON_NULL) {
        band->has_nodata = missing_value_read(&meta->dtype, value, band->nodata);
        return;
    }
    bool has_none = false;
    zs_json_bool(zs_json_get(a, ZS_NO_NODATA_ATTRIBUTE), &has_none);
    if (!has_none && !meta->fill_value_is_null) {
        memcpy(band->nodata, meta->fill_value, meta->dtype.size);
        band->has_nodata = band->nodata_is_implied = true;
    }
}

/* Adds base64 of the eight bytes of a double, little-endian. */
static bool add_base64(zs_json *parent, const char *name, double value)
{
    unsigned char bytes[8];
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(bits >> (8 * i));
    char *text = CPLBase64Encode(8, bytes);
    const bool ok = zs_json_add_string(parent, name, text) != NULL;
    CPLFree(text);
    return ok;
}

enum zs_status zs_write_nodata(zs_json *attributes, const struct zs_dtype *dtype, const void *value, bool is_implied,
                               struct zs_error *err)
{
    /* A missing_value that is another value, or a list, means as much beside _FillValue. */
    unsigned char missing[ZS_MAX_ITEM_SIZE];
    const zs_json *member = zs_json_get(attributes, "missing_value");
    if (value == NULL || is_implied ||
        (missing_value_read(dtype, member, missing) && memcmp(missing, value, dtype->size) == 0))
        zs_json_remove(attributes, "missing_value");
    zs_json_remove(attributes, "_FillValue");
    zs_json_remove(attributes, ZS_NO_NODATA_ATTRIBUTE);
    if (value == NULL)
        return zs_json_add_bool(attributes, ZS_NO_NODATA_ATTRIBUTE, true) != NULL ? ZS_OK : zs_fail_memory(err);
    if (is_implied)
        return ZS_OK;
    const bool is_complex = dtype->type == ZS_COMPLEX64 || dtype->type == ZS_COMPLEX128;
    bool ok;
    if (is_complex) {
        const struct zs_dtype part = zs_dtype_of(dtype->type == ZS_COMPLEX64 ? ZS_FLOAT32 : ZS_FLOAT64);
        zs_json *pair = zs_json_add_array(attributes, "_FillValue");
        ok = pair != NULL;
        for (size_t i = 0; i < 2 && ok; i++)
            ok = add_base64(pair, NULL, zs_dtype_to_double(&part, (const unsigned char *)value + i * part.size));
    } else if (is_float(dtype->type)) {
        ok = add_base64(attributes, "_FillValue", zs_dtype_to_double(dtype, value));
    } else {
        ok = zs_fill_value_add(attributes, "_FillValue", dtype, value) != NULL;
    }
    return ok ? ZS_OK : zs_fail_memory(err);
}

/* ---- An entry of gdal:bands ---- */

static bool is_text(const zs_json *member)
{
    const char *text;
    return zs_json_string(member, &text) && text[0] != '\0';
}

static bool is_number(const zs_json *member)
{
    double number;
    return zs_json_double(member, &number) && isfinite(number);
}

const struct zs_band_member zs_band_table[] = {
    {ZS_BAND_DESCRIPTION, "description", is_text, {"long_name"}},
    {ZS_BAND_UNIT, "unit", is_text, {"units", "unit"}},
    {ZS_BAND_SCALE, "scale", is_number, {"scale_factor"}},
    {ZS_BAND_OFFSET, "offset", is_number, {"add_offset"}},
    {ZS_BAND_NODATA, "nodata", NULL, {NULL}},
    {ZS_BAND_CATEGORIES, "categories", is_names, {NULL}},
    {ZS_BAND_COLOUR,
     "color_interpretation",
     is_text,
     {"COLOR_INTERPRETATION", "color_interpretation", "colour_interpretation"}},
    {ZS_BAND_COLOUR_TABLE, "color_table", is_colour_table, {"gdal:color_table"}},
    {ZS_BAND_METADATA, "metadata_domains", zs_json_is_object, {ZS_DOMAINS_ATTRIBUTE}},
    {0, NULL, NULL, {NULL}},
};

const zs_json *zs_band_member(const struct zs_band_properties *band, const char *name)
{
    const bool is_own = strcmp(name, "description") == 0 || strcmp(name, "metadata_domains") == 0;
    const zs_json *member = zs_json_get(band->members, name);
    if (member == NULL && !is_own)
        member = zs_json_get(band->common, name);
    return zs_json_typeof(member) != ZS_JSON_NULL ? member : NULL;
}

const char *zs_band_text(const struct zs_band_properties *band, const char *name)
{
    const char *text = NULL;
    zs_json_string(zs_band_member(band, name), &text);
    return text;
}

zs_json *zs_band_members(struct zs_band_properties *band)
{
    if (band->members == NULL)
        band->members = zs_json_new_object();
    return band->members;
}

bool zs_band_set_text(struct zs_band_properties *band, const char *name, const char *text)
{
    zs_json *members = zs_band_members(band);
    if (text != NULL && text[0] != '\0')
        return zs_json_set_string(members, name, text);
    zs_json_remove(members, name);
    return zs_json_add_null(members, name) != NULL;
}

static bool take_member(const struct zs_band_member *row, const zs_json *member, const struct zs_dtype *dtype,
                        struct zs_band_properties *band)
{
    double number;
    if (row->property == ZS_BAND_NODATA && dtype != NULL) {
        band->has_nodata = zs_json_typeof(member) != ZS_JSON_NULL && missing_value_read(dtype, member, band->nodata);
        band->nodata_is_implied = false;
    }
    if (row->property == ZS_BAND_NODATA)
        return true;
    if (!row->is_valid(member))
        return zs_band_set_text(band, row->member, NULL);
    if (zs_json_double(member, &number)) /* in one spelling, to be compared */
        return zs_json_set_double(zs_band_members(band), row->member, number);
    return zs_json_set(zs_band_members(band), row->member, zs_json_copy(member)) != NULL;
}

bool zs_band_entry_take(const zs_json *entry, const struct zs_dtype *dtype, struct zs_band_properties *band)
{
    bool ok = true;
    for (const struct zs_band_member *row = zs_band_table; row->property != 0 && ok; row++) {
        const zs_json *member = zs_json_get(entry, row->member);
        ok = member == NULL || take_member(row, member, dtype, band);
    }
    return ok;
}

zs_json *zs_band_entry_make(const struct zs_band_properties *band, const struct zs_dtype *dtype)
{
    zs_json *e = zs_json_new_object();
    bool ok = e != NULL;
    for (const struct zs_band_member *row = zs_band_table; row->property != 0 && ok; row++) {
        const zs_json *member = zs_band_member(band, row->member);
        ok = member == NULL || zs_json_add(e, row->member, zs_json_copy(member)) != NULL;
    }
    if (ok && band->has_nodata && dtype != NULL)
        ok = zs_fill_value_add(e, "nodata", dtype, band->nodata) != NULL;
    if (!ok) {
        zs_json_free(e);
        return NULL;
    }
    return e;
}

enum zs_status zs_band_properties_copy(const struct zs_band_properties *properties, struct zs_band_properties *copy,
                                       struct zs_error *err)
{
    *copy = *properties;
    copy->common = NULL;
    copy->members = zs_band_entry_make(properties, NULL);
    if (zs_names_copy((const char *const *)properties->metadata, &copy->metadata) && copy->members != NULL)
        return ZS_OK;
    zs_band_properties_clear(copy);
    return zs_fail_memory(err);
}

void zs_band_properties_clear(struct zs_band_properties *properties)
{
    zs_json_free(properties->members);
    zs_names_free(properties->metadata);
    memset(properties, 0, sizeof *properties);
}

/* ---- Of an array: from and to its attributes ---- */

/* EOPF's own products keep the unit and the packing in an object beside. */
#define EOPF_ATTRIBUTES "_eopf_attrs"

static bool read_number(const zs_json *attributes, const char *name, double *out)
{
    if (zs_json_get(attributes, name) == NULL)
        attributes = zs_json_get(attributes, EOPF_ATTRIBUTES);
    const zs_json *value = zs_json_get(attributes, name);
    return (!zs_json_is_array(value) || zs_json_size(value) == 1) && zs_number_at(attributes, name, 0, out);
}

static const char *text_attribute(const zs_json *attributes, const char *name)
{
    const zs_json *attribute = zs_json_get(attributes, name);
    return is_text(attribute) ? zs_json_text(attributes, name, NULL) : NULL;
}

/* GDAL's name for the colour of a band: an attribute that holds one, else it follows from other names. */
static const char *colour_attribute(const zs_json *attributes)
{
    static const char *const names[] = {"color_interpretation", "colour_interpretation", "COLOR_INTERPRETATION",
                                        "common_name", "eo:common_name"};
    const size_t gdal_names = 3; /* the first of them hold any name of GDAL's */
    const char *found = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && found == NULL; i++) {
        const char *text = text_attribute(attributes, names[i]);
        found = zs_colour_of_name(text);
        if (found == NULL && i < gdal_names)
            found = text;
    }
    return found;
}

const char *zs_unit_attribute(const zs_json *attributes)
{
    const char *unit = text_attribute(attributes, "units");
    if (unit == NULL)
        unit = text_attribute(attributes, "unit");
    return unit != NULL ? unit : text_attribute(zs_json_get(attributes, EOPF_ATTRIBUTES), "units");
}

static bool read_members(const zs_json *a, struct zs_band_properties *p)
{
    const zs_json *colours = zs_json_get(a, "gdal:color_table"), *domains = zs_json_get(a, ZS_DOMAINS_ATTRIBUTE);
    zs_json *m = zs_band_members(p);
    double number;
    bool ok = m != NULL && zs_band_set_text(p, "description", text_attribute(a, "long_name")) &&
              zs_band_set_text(p, "unit", zs_unit_attribute(a)) &&
              zs_band_set_text(p, "color_interpretation", colour_attribute(a)) && categories_read(a, m);
    if (ok && read_number(a, "scale_factor", &number))
        ok = zs_json_add_double(m, "scale", number) != NULL;
    if (ok && read_number(a, "add_offset", &number))
        ok = zs_json_add_double(m, "offset", number) != NULL;
    if (ok && is_colour_table(colours))
        ok = zs_json_add(m, "color_table", zs_json_copy(colours)) != NULL;
    if (ok && zs_json_is_object(domains))
        ok = zs_json_add(m, "metadata_domains", zs_json_copy(domains)) != NULL;
    return ok;
}

enum zs_status zs_band_properties_read(const struct zs_node *node, struct zs_band_properties *properties,
                                       struct zs_error *err)
{
    struct zs_band_properties p = {.has_nodata = false};
    memset(properties, 0, sizeof *properties);
    if (node->array != NULL)
        nodata_read(node, &p);
    enum zs_status status = read_members(node->attributes, &p) ? ZS_OK : zs_fail_memory(err);
    if (status == ZS_OK)
        status = zs_items_read(node, zs_band_member(&p, "categories") == NULL, &p.metadata, err);
    if (status == ZS_OK)
        *properties = p;
    else
        zs_band_properties_clear(&p);
    return status;
}

static bool write_categories(zs_json *attributes, const zs_json *categories)
{
    static const char *const flags[] = {"flag_values", "flag_meanings", "flag_masks", "gdal:categories"};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        zs_json_remove(attributes, flags[i]);
    return categories == NULL || categories_write(attributes, categories);
}

/* One property that is the same for all bands: the first name gets the member of an entry; an attribute of another name
 * goes. So does what EOPF has of a property that is not set: it would show. */
static bool write_property(zs_json *attributes, const struct zs_band_member *row, const zs_json *member)
{
    if (row->property == ZS_BAND_CATEGORIES)
        return write_categories(attributes, member);
    for (const char *const *name = row->attributes; *name != NULL; name++)
        zs_json_remove(attributes, *name);
    if (member != NULL && row->attributes[0] != NULL)
        return zs_json_add(attributes, row->attributes[0], zs_json_copy(member)) != NULL;
    if (member == NULL && (row->property & (ZS_BAND_UNIT | ZS_BAND_SCALE | ZS_BAND_OFFSET)) != 0)
        zs_json_remove(zs_json_get_mutable(attributes, EOPF_ATTRIBUTES), row->attributes[0]);
    return true;
}

enum zs_status zs_write_band_properties(zs_json *attributes, const struct zs_band_properties *properties,
                                        unsigned which, struct zs_error *err)
{
    bool ok = true;
    for (const struct zs_band_member *row = zs_band_table; row->property != 0 && ok; row++)
        if ((which & row->property) != 0)
            ok = write_property(attributes, row, zs_band_member(properties, row->member));
    if (ok && (which & ZS_BAND_METADATA) != 0)
        ok = zs_items_write(attributes, properties->metadata, false);
    return ok ? ZS_OK : zs_fail_memory(err);
}
