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

static bool colour_entry(const zs_json *list, struct zs_colour_entry *entry)
{
    double c[4] = {0, 0, 0, 255};
    if (!zs_json_doubles(list, c, 4) && !zs_json_doubles(list, c, 3))
        return false;
    for (int i = 0; i < 4; i++)
        if (!(c[i] >= -32768 && c[i] <= 32767)) /* NaN as well */
            return false;
    *entry = (struct zs_colour_entry){(short)c[0], (short)c[1], (short)c[2], (short)c[3]};
    return true;
}

static bool colours_of(const zs_json *list, struct zs_colour_entry **table, size_t *count)
{
    const size_t n = zs_json_is_array(list) ? zs_json_size(list) : 0;
    *table = NULL;
    *count = 0;
    if (n == 0 || n > ZS_MAX_COLOURS)
        return true;
    struct zs_colour_entry *t = zs_calloc(n, sizeof *t);
    if (t == NULL)
        return false;
    size_t i = 0;
    for (const zs_json *e = zs_json_first(list); e != NULL; e = zs_json_next(e), i++)
        if (!colour_entry(e, &t[i])) { /* half a table would paint the rest black */
            free(t);
            return true;
        }
    *table = t;
    *count = n;
    return true;
}

static bool add_colours(zs_json *object, const char *name, const struct zs_colour_entry *table, size_t count)
{
    if (count == 0 || count > ZS_MAX_COLOURS)
        return true;
    zs_json *list = zs_json_add_array(object, name);
    bool ok = list != NULL;
    for (size_t i = 0; i < count && ok; i++) {
        zs_json *e = zs_json_add_array(list, NULL);
        zs_json_add_int64(e, NULL, table[i].r);
        zs_json_add_int64(e, NULL, table[i].g);
        zs_json_add_int64(e, NULL, table[i].b);
        ok = zs_json_add_int64(e, NULL, table[i].a) != NULL;
    }
    return ok;
}

/* ---- Categories ---- */

/* The names of a list, by index; NULL where it is none. */
static bool names_of(const zs_json *list, char ***categories)
{
    struct zs_names names = {0};
    enum zs_status status = ZS_OK;
    const bool is_one = zs_json_is_array(list) && zs_json_size(list) <= MAX_CATEGORIES;
    for (const zs_json *c = is_one ? zs_json_first(list) : NULL; c != NULL && status == ZS_OK; c = zs_json_next(c)) {
        const char *text = "";
        zs_json_string(c, &text);
        status = zs_names_add(&names, zs_strdup(text), NULL);
    }
    if (status != ZS_OK)
        zs_names_free(names.list);
    *categories = status == ZS_OK ? names.list : NULL;
    return status == ZS_OK;
}

/* That list, or CF's flags where their values are small numbers. Freed with zs_names_free(), also on failure. */
static bool categories_read(const zs_json *attributes, char ***categories)
{
    struct zs_flags flags;
    size_t count = 0;
    bool ok = names_of(zs_json_get(attributes, "gdal:categories"), categories);
    if (!ok || *categories != NULL)
        return ok;
    if (zs_flags_read(attributes, &flags, NULL) != ZS_OK)
        return false;
    bool is_small = flags.has_values;
    for (size_t i = 0; i < flags.count; i++) {
        const int64_t value = flags.list[i].value;
        is_small = is_small && value >= 0 && value < MAX_CATEGORIES;
        count = is_small && (size_t)value >= count ? (size_t)value + 1 : count;
    }
    if (is_small && count > 0)
        ok = (*categories = zs_calloc(count + 1, sizeof **categories)) != NULL;
    for (size_t v = 0; v < count && *categories != NULL && ok; v++) /* no hole, which would end the list */
        ok = ((*categories)[v] = zs_strdup("")) != NULL;
    for (size_t i = 0; i < flags.count && *categories != NULL && ok; i++) { /* the later of two holds */
        char **name = &(*categories)[flags.list[i].value], *former = *name;
        *name = flags.list[i].name;
        flags.list[i].name = former;
    }
    zs_flags_clear(&flags);
    return ok;
}

/* Whether CF's flags can hold the names: they are words without spaces, and the last value has one. */
static bool are_words(char *const *names)
{
    const char *last = "";
    for (; *names != NULL; names++) {
        if (strpbrk(*names, " \t\r\n") != NULL)
            return false;
        last = *names;
    }
    return last[0] != '\0';
}

static bool categories_write(zs_json *attributes, char *const *categories)
{
    if (!are_words(categories))
        return zs_add_names(attributes, "gdal:categories", categories);
    zs_json *values = zs_json_add_array(attributes, "flag_values");
    struct zs_buffer words = {0};
    bool ok = values != NULL;
    for (size_t i = 0; ok && categories[i] != NULL; i++)
        if (categories[i][0] != '\0')
            ok = zs_json_add_uint64(values, NULL, i) != NULL &&
                 (words.size == 0 || zs_buffer_append(&words, " ", 1, NULL) == ZS_OK) &&
                 zs_buffer_append(&words, categories[i], strlen(categories[i]), NULL) == ZS_OK;
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

const struct zs_band_member zs_band_members[] = {
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
    {0, NULL, {NULL}},
};

static bool has_text(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static bool copy_text(const char *text, char **copy)
{
    *copy = text != NULL ? zs_strdup(text) : NULL;
    return text == NULL || *copy != NULL;
}

/* Each of these replaces what is there by a member, if there is one: by nothing where that is null or odd. */
bool zs_band_text_take(const zs_json *member, char **text)
{
    const char *found = NULL;
    if (member == NULL)
        return true;
    free(*text);
    zs_json_string(member, &found);
    return copy_text(has_text(found) ? found : NULL, text);
}

static void take_number(const zs_json *member, bool *has, double *value, double otherwise)
{
    if (member == NULL)
        return;
    *has = zs_json_double(member, value) && isfinite(*value);
    *value = *has ? *value : otherwise;
}

static void take_nodata(const zs_json *member, const struct zs_dtype *dtype, struct zs_band_properties *band)
{
    if (member == NULL || dtype == NULL)
        return;
    band->has_nodata = zs_json_typeof(member) != ZS_JSON_NULL && missing_value_read(dtype, member, band->nodata);
    band->nodata_is_implied = false;
}

bool zs_band_entry_take(const zs_json *entry, const struct zs_dtype *dtype, struct zs_band_properties *band)
{
    const zs_json *categories = zs_json_get(entry, "categories"), *colours = zs_json_get(entry, "color_table");
    take_number(zs_json_get(entry, "scale"), &band->has_scale, &band->scale, 1);
    take_number(zs_json_get(entry, "offset"), &band->has_offset, &band->offset, 0);
    take_nodata(zs_json_get(entry, "nodata"), dtype, band);
    bool ok = zs_band_text_take(zs_json_get(entry, "description"), &band->description);
    ok = zs_band_text_take(zs_json_get(entry, "unit"), &band->unit) && ok;
    ok = zs_band_text_take(zs_json_get(entry, "color_interpretation"), &band->colour_name) && ok;
    if (categories != NULL) {
        zs_names_free(band->categories);
        ok = names_of(categories, &band->categories) && ok;
    }
    if (colours != NULL) {
        free(band->colour_table);
        ok = colours_of(colours, &band->colour_table, &band->colour_count) && ok;
    }
    return ok;
}

static bool add_text(zs_json *entry, const char *name, const char *text)
{
    return !has_text(text) || zs_json_add_string(entry, name, text) != NULL;
}

bool zs_add_names(zs_json *parent, const char *name, char *const *names)
{
    zs_json *list = names != NULL ? zs_json_add_array(parent, name) : NULL;
    bool ok = names == NULL || list != NULL;
    for (; ok && names != NULL && *names != NULL; names++)
        ok = zs_json_add_string(list, NULL, *names) != NULL;
    return ok;
}

zs_json *zs_band_entry_make(const struct zs_band_properties *band, const struct zs_dtype *dtype)
{
    zs_json *e = zs_json_new_object();
    bool ok = e != NULL && add_text(e, "description", band->description) && add_text(e, "unit", band->unit) &&
              add_text(e, "color_interpretation", band->colour_name) &&
              zs_add_names(e, "categories", band->categories) &&
              add_colours(e, "color_table", band->colour_table, band->colour_count);
    if (band->has_scale)
        ok = ok && zs_json_add_double(e, "scale", band->scale) != NULL;
    if (band->has_offset)
        ok = ok && zs_json_add_double(e, "offset", band->offset) != NULL;
    if (band->has_nodata && dtype != NULL)
        ok = ok && zs_fill_value_add(e, "nodata", dtype, band->nodata) != NULL;
    if (!ok) {
        zs_json_free(e);
        return NULL;
    }
    return e;
}

enum zs_status zs_band_properties_copy(const struct zs_band_properties *properties, struct zs_band_properties *copy,
                                       struct zs_error *err)
{
    const size_t colours = properties->colour_count;
    struct zs_band_properties c = *properties;
    bool ok = zs_domains_copy(&properties->domains, &c.domains);
    ok = zs_names_copy((const char *const *)properties->metadata, &c.metadata) && ok;
    ok = zs_names_copy((const char *const *)properties->categories, &c.categories) && ok;
    ok = copy_text(properties->unit, &c.unit) && ok;
    ok = copy_text(properties->description, &c.description) && ok;
    ok = copy_text(properties->colour_name, &c.colour_name) && ok;
    c.colour_table = colours > 0 ? zs_calloc(colours, sizeof *c.colour_table) : NULL;
    if (c.colour_table != NULL)
        memcpy(c.colour_table, properties->colour_table, colours * sizeof *c.colour_table);
    if (!ok || (colours > 0 && c.colour_table == NULL)) {
        zs_band_properties_clear(&c);
        return zs_fail_memory(err);
    }
    *copy = c;
    return ZS_OK;
}

void zs_band_properties_clear(struct zs_band_properties *properties)
{
    free(properties->unit);
    free(properties->description);
    free(properties->colour_name);
    free(properties->colour_table);
    zs_names_free(properties->categories);
    zs_names_free(properties->metadata);
    zs_domains_clear(&properties->domains);
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
        nodata_read(node, &p);
    p.has_scale = read_number(a, "scale_factor", &p.scale);
    p.has_offset = read_number(a, "add_offset", &p.offset);
    bool ok = copy_text(text_attribute(a, "long_name"), &p.description);
    ok = ok && read_colour(a, &p);
    ok = ok && colours_of(zs_json_get(a, "gdal:color_table"), &p.colour_table, &p.colour_count);
    ok = ok && copy_text(zs_unit_attribute(a), &p.unit);
    ok = ok && categories_read(a, &p.categories);
    ok = ok && zs_domains_read(zs_json_get(a, ZS_DOMAINS_ATTRIBUTE), &p.domains);
    enum zs_status status = ok ? zs_items_read(node, p.categories == NULL, &p.metadata, err) : zs_fail_memory(err);
    if (status != ZS_OK) {
        zs_band_properties_clear(&p);
        return status;
    }
    *properties = p;
    return ZS_OK;
}

static bool write_categories(zs_json *attributes, char *const *categories)
{
    static const char *const flags[] = {"flag_values", "flag_meanings", "flag_masks", "gdal:categories"};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        zs_json_remove(attributes, flags[i]);
    return categories == NULL || *categories == NULL || categories_write(attributes, categories);
}

/* One property that is the same for all bands: the first name gets the member of an entry; an attribute of another name
 * goes. So does what EOPF has of a property that is not set: it would show. */
static bool write_property(zs_json *attributes, const struct zs_band_member *row, const zs_json *member)
{
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
    zs_json *entry = zs_band_entry_make(properties, NULL);
    bool ok = entry != NULL;
    for (const struct zs_band_member *row = zs_band_members; row->property != 0 && ok; row++)
        if ((which & row->property) != 0)
            ok = write_property(attributes, row, zs_json_get(entry, row->member));
    zs_json_free(entry);
    if (ok && (which & ZS_BAND_CATEGORIES) != 0)
        ok = write_categories(attributes, properties->categories);
    if (ok && (which & ZS_BAND_METADATA) != 0)
        ok = zs_items_write(attributes, properties->metadata, false) &&
             (properties->domains.count == 0 ||
              zs_domains_write(attributes, ZS_DOMAINS_ATTRIBUTE, &properties->domains));
    return ok ? ZS_OK : zs_fail_memory(err);
}
