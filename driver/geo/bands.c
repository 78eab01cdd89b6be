/* Band properties: as members of an entry of gdal:bands, as attributes of an array, and of each of its bands. */
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
#include "geo/healpix.h"

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

/* Where a property is kept. */
static const struct member {
    unsigned property;  /* ZS_BAND_...; 0 ends the table */
    const char *member; /* of a band's entry in gdal:bands */
    bool (*is_valid)(const zs_json *member);
    const char *attributes[4]; /* of an array, for all its bands, NULL-terminated; the first is the one that is written.
                                  None where the property has a writer of its own */
} table[] = {
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
    /* Domains; items are written beside: zs_items_write() and zs_items_set(). */
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

static bool take_member(const struct member *row, const zs_json *member, const struct zs_dtype *dtype,
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

/* Takes the properties of which an entry has members; null and what is odd are none. Nodata only with dtype. False
 * without memory. */
static bool take_entry(const zs_json *entry, const struct zs_dtype *dtype, struct zs_band_properties *band)
{
    bool ok = true;
    for (const struct member *row = table; row->property != 0 && ok; row++) {
        const zs_json *member = zs_json_get(entry, row->member);
        ok = member == NULL || take_member(row, member, dtype, band);
    }
    return ok;
}

/* The properties of a band as the entry that has a member for each that is set; without nodata where dtype, the type
 * of the array, is NULL. NULL without memory. */
static zs_json *make_entry(const struct zs_band_properties *band, const struct zs_dtype *dtype)
{
    zs_json *e = zs_json_new_object();
    bool ok = e != NULL;
    for (const struct member *row = table; row->property != 0 && ok; row++) {
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
    copy->members = make_entry(properties, NULL);
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
    const char *text = zs_json_text(attributes, name, "");
    return text[0] != '\0' ? text : NULL;
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
static bool write_property(zs_json *attributes, const struct member *row, const zs_json *member)
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
    for (const struct member *row = table; row->property != 0 && ok; row++)
        if ((which & row->property) != 0)
            ok = write_property(attributes, row, zs_band_member(properties, row->member));
    if (ok && (which & ZS_BAND_METADATA) != 0)
        ok = zs_items_write(attributes, properties->metadata, false);
    return ok ? ZS_OK : zs_fail_memory(err);
}

/* ---- Single bands: reading ---- */

/* Attribute `name` where it is a list of these bands; NULL when it is of others. It may be shorter than the bands: a
 * writer that does not know it may have made the array longer along its only dimension of bands. */
static const zs_json *list_of_bands(const zs_json *attributes, const struct zs_array_meta *meta, const char *name,
                                    uint64_t bands)
{
    const zs_json *list = zs_json_get(attributes, name);
    const size_t n = zs_json_is_array(list) ? zs_json_size(list) : SIZE_MAX;
    int d = 0;
    while (meta != NULL && d < meta->ndim - 1 && meta->shape[d] == 1)
        d++;
    const bool is_along_one = meta != NULL && meta->ndim > 0 && meta->shape[d] == bands;
    return n == bands || (n < bands && is_along_one) ? list : NULL;
}

enum zs_status zs_bands_check_shape(struct zs_hierarchy *hierarchy, const struct zs_node *node, const uint64_t *shape,
                                    struct zs_error *err)
{
    static const char *const names[] = {"long_name", ZS_BANDS_ATTRIBUTE};
    struct zs_array_meta meta = *node->array;
    struct zs_healpix healpix;
    struct zs_axes axes;
    uint64_t before = 1, after = 1;
    if (!zs_json_is_array(zs_json_get(node->attributes, names[0])) &&
        !zs_json_is_array(zs_json_get(node->attributes, names[1])))
        return ZS_OK;
    if (zs_healpix_find(hierarchy, node, &healpix))
        axes = (struct zs_axes){healpix.dim, -1};
    else
        ZS_TRY(zs_axes_find(hierarchy, node, NULL, NULL, &axes, err));
    for (int d = 0; d < meta.ndim; d++) {
        meta.shape[d] = shape[d];
        if (d != axes.x && d != axes.y && (!zs_mul_u64(before, node->array->shape[d], &before) ||
                                           !zs_mul_u64(after, shape[d], &after)))
            return ZS_OK; /* more than any list */
    }
    for (int i = 0; i < 2; i++) {
        if (zs_json_size(list_of_bands(node->attributes, node->array, names[i], before)) > 0 &&
            list_of_bands(node->attributes, &meta, names[i], after) == NULL)
            return zs_fail(err, ZS_UNSUPPORTED,
                           "/%s: attribute %s lists %llu bands, and would be of others: expected only the one "
                           "dimension of bands to grow", node->path, names[i], (unsigned long long)before);
    }
    return ZS_OK;
}

static enum zs_status read_band(const struct zs_node *node, const struct zs_band_properties *base, bool is_only,
                                const zs_json *name, const zs_json *entry, struct zs_band_properties *result,
                                struct zs_error *err)
{
    struct zs_band_properties m = *base;
    const char *description = is_only ? zs_band_text(base, "description") : NULL;
    m.members = NULL;
    m.common = base->members;
    m.metadata = NULL;
    zs_json_string(name, &description);
    const bool ok = (description == NULL || zs_band_set_text(&m, "description", description)) &&
                    take_entry(entry, node->array != NULL ? &node->array->dtype : NULL, &m) &&
                    zs_items_of(zs_json_get(entry, "metadata"), &m.metadata, NULL) == ZS_OK;
    if (!ok) {
        zs_band_properties_clear(&m);
        return zs_fail_memory(err);
    }
    *result = m;
    return ZS_OK;
}

enum zs_status zs_bands_read(const struct zs_node *node, uint64_t count, uint64_t bands,
                             const struct zs_band_properties *base, struct zs_band_properties *list,
                             struct zs_error *err)
{
    const zs_json *a = node->attributes, *names = list_of_bands(a, node->array, "long_name", bands);
    const zs_json *entries = list_of_bands(a, node->array, ZS_BANDS_ATTRIBUTE, bands);
    const zs_json *name = zs_json_first(names), *entry = zs_json_first(entries);
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

/* ---- Single bands: writing ---- */

/* A change of the entries of all bands. */
struct change {
    unsigned which, common; /* ZS_BAND_...; those in common are the array's alone */
    zs_json *declared;      /* what the array declares for all bands, as an entry */
};

/* Puts into a band's entry what it has and the array does not declare: null for what the band lacks. */
static bool change_entry(zs_json *entry, const struct change *change, const zs_json *wanted)
{
    bool ok = true;
    for (const struct member *row = table; row->property != 0 && ok; row++) {
        const zs_json *own = zs_json_get(wanted, row->member);
        if ((change->which & row->property) == 0)
            continue;
        zs_json_remove(entry, row->member);
        const bool is_declared = zs_json_is_same(own, zs_json_get(change->declared, row->member));
        if ((change->common & row->property) == 0 && !is_declared)
            ok = (own != NULL ? zs_json_add(entry, row->member, zs_json_copy(own))
                              : zs_json_add_null(entry, row->member)) != NULL;
    }
    return ok;
}

/* Writes the list of entries, with what those have that are there. */
static enum zs_status write_entries(zs_json *attributes, const zs_json *old, const zs_json *wanted,
                                    const struct zs_band_properties *bands, size_t count, const struct change *change,
                                    struct zs_error *err)
{
    const zs_json *own = zs_json_first(wanted), *entry = zs_json_first(old);
    zs_json *list = zs_json_new_array();
    bool ok = list != NULL, has_any = false, had_any = false;
    for (size_t i = 0; i < count && ok; i++) {
        zs_json *e = zs_json_is_object(entry) ? zs_json_add(list, NULL, zs_json_copy(entry))
                                              : zs_json_add_object(list, NULL);
        ok = e != NULL && change_entry(e, change, own);
        if (ok && (change->which & ZS_BAND_METADATA) != 0)
            ok = zs_items_set(e, "metadata", bands[i].metadata);
        has_any = has_any || zs_json_size(e) > 0;
        had_any = had_any || zs_json_is_object(entry);
        entry = zs_json_next(entry);
        own = zs_json_next(own);
    }
    if (ok && has_any)
        return zs_json_set(attributes, ZS_BANDS_ATTRIBUTE, list) != NULL ? ZS_OK : zs_fail_memory(err);
    zs_json_free(list);
    if (ok && had_any)
        zs_json_remove(attributes, ZS_BANDS_ATTRIBUTE);
    return ok ? ZS_OK : zs_fail_memory(err);
}

/* As long_name, where all bands have a description; *is_common is set then. A name of the whole array does not
 * describe its bands, and stays. */
static bool write_descriptions(zs_json *attributes, const struct zs_band_properties *bands, size_t count,
                               bool *is_common)
{
    const zs_json *old = zs_json_get(attributes, "long_name");
    const bool is_of_whole = count > 1 && zs_json_typeof(old) == ZS_JSON_STRING;
    *is_common = !is_of_whole;
    for (size_t i = 0; i < count && *is_common; i++)
        *is_common = zs_band_text(&bands[i], "description") != NULL;
    if (is_of_whole)
        return true;
    zs_json_remove(attributes, "long_name");
    if (!*is_common)
        return true;
    if (count == 1)
        return zs_json_add_string(attributes, "long_name", zs_band_text(&bands[0], "description")) != NULL;
    zs_json *list = zs_json_add_array(attributes, "long_name");
    bool ok = list != NULL;
    for (size_t i = 0; i < count && ok; i++)
        ok = zs_json_add_string(list, NULL, zs_band_text(&bands[i], "description")) != NULL;
    return ok;
}

/* Which properties the array declares for all bands: those that are the same for all. Readers of CF take scale and
 * offset together, so the array gets both or none, unless it has one already. What is declared stays where one band
 * changes: that band has it in its entry, and readers who know no entries read the others as before. */
static unsigned find_common(const zs_json *wanted, const zs_json *attributes)
{
    unsigned common = 0;
    for (const struct member *row = table; row->property != 0; row++) {
        const zs_json *first = zs_json_get(zs_json_first(wanted), row->member);
        bool is_same = (row->property & (ZS_BAND_DESCRIPTION | ZS_BAND_METADATA)) == 0;
        for (const zs_json *e = zs_json_first(wanted); e != NULL && is_same; e = zs_json_next(e))
            is_same = zs_json_is_same(first, zs_json_get(e, row->member));
        common |= is_same ? row->property : 0u;
    }
    const unsigned pair = ZS_BAND_SCALE | ZS_BAND_OFFSET;
    const unsigned declared = (zs_json_get(attributes, "scale_factor") != NULL ? ZS_BAND_SCALE : 0u) |
                              (zs_json_get(attributes, "add_offset") != NULL ? ZS_BAND_OFFSET : 0u);
    return (common & pair) == pair ? common : common & (~pair | declared);
}

/* Like zs_bands_write(); `wanted` are the entries of all bands, with all that they have. */
static enum zs_status write_bands(zs_json *attributes, const struct zs_array_meta *meta, const zs_json *wanted,
                                  const struct zs_band_properties *bands, size_t count, struct change *change,
                                  struct zs_error *err)
{
    const struct zs_node array = {
        .path = "", .type = ZS_NODE_ARRAY, .attributes = attributes, .array = (struct zs_array_meta *)(uintptr_t)meta};
    const zs_json *old = list_of_bands(attributes, meta, ZS_BANDS_ATTRIBUTE, count);
    struct zs_band_properties declared;
    bool is_described = false;
    change->common = change->which & find_common(wanted, attributes);
    ZS_TRY(zs_write_band_properties(attributes, &bands[0], change->common, err));
    if ((change->common & ZS_BAND_NODATA) != 0)
        ZS_TRY(zs_write_nodata(attributes, &meta->dtype, bands[0].has_nodata ? bands[0].nodata : NULL, false, err));
    if ((change->which & ZS_BAND_DESCRIPTION) != 0 && !write_descriptions(attributes, bands, count, &is_described))
        return zs_fail_memory(err);
    change->common |= is_described ? ZS_BAND_DESCRIPTION : 0u;
    ZS_TRY(zs_band_properties_read(&array, &declared, err));
    change->declared = make_entry(&declared, &meta->dtype);
    zs_band_properties_clear(&declared);
    ZS_TRY_MEMORY(change->declared, err);
    zs_json_remove(change->declared, "description"); /* of the whole array, not of a band */
    zs_json_remove(change->declared, "metadata_domains");
    return write_entries(attributes, old, wanted, bands, count, change, err);
}

enum zs_status zs_bands_write(zs_json *attributes, const struct zs_array_meta *meta,
                              const struct zs_band_properties *bands, size_t count, unsigned which,
                              struct zs_error *err)
{
    const unsigned pair = ZS_BAND_SCALE | ZS_BAND_OFFSET;
    struct change change = {.which = (which & pair) != 0 ? which | pair : which};
    zs_json *wanted = zs_json_new_array();
    bool ok = wanted != NULL;
    for (size_t i = 0; i < count && ok; i++)
        ok = zs_json_add(wanted, NULL, make_entry(&bands[i], &meta->dtype)) != NULL;
    enum zs_status status = ok ? ZS_OK : zs_fail_memory(err);
    if (ok && count > 0)
        status = write_bands(attributes, meta, wanted, bands, count, &change, err);
    zs_json_free(change.declared);
    zs_json_free(wanted);
    return status;
}

void zs_remove_statistics(zs_json *attributes)
{
    const zs_json *next;
    for (const zs_json *m = zs_json_first(attributes); m != NULL; m = next) {
        next = zs_json_next(m);
        if (strncmp(zs_json_name(m), "STATISTICS_", 11) == 0)
            zs_json_remove(attributes, zs_json_name(m));
    }
    for (const zs_json *e = zs_json_first(zs_json_get(attributes, ZS_BANDS_ATTRIBUTE)); e != NULL; e = zs_json_next(e))
        zs_json_remove((zs_json *)(uintptr_t)e, "metadata"); /* part of the attributes that are being edited */
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
