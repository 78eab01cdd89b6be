#include "geo/band_properties_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cpl_conv.h>

#include "base/memory.h"
#include "geo/scope.h"

/* Category names are a list indexed by value: a value of a million would make a million names. */
#define MAX_CATEGORIES 65536

/* ---- Nodata ---- */

/* A whole string as a number. */
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
    uint64_t bits = 0;
    if (zs_base64_decode(text, bytes, sizeof bytes) != 8)
        return false;
    for (int i = 7; i >= 0; i--)
        bits = bits << 8 | bytes[i];
    memcpy(out, &bits, sizeof *out);
    return true;
}

static bool is_float(enum zs_data_type type)
{
    return type == ZS_FLOAT16 || type == ZS_FLOAT32 || type == ZS_FLOAT64;
}

bool zs_missing_value_read(const struct zs_dtype *dtype, const zs_json *value, unsigned char *out)
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
            return zs_missing_value_read(&part, value, out);
        return zs_json_size(value) == 2 && zs_missing_value_read(&part, zs_json_at(value, 0), out) &&
               zs_missing_value_read(&part, zs_json_at(value, 1), out + part.size);
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

static void read_nodata(const struct zs_node *node, struct zs_band_properties *m)
{
    const struct zs_array_meta *meta = node->array;
    const zs_json *a = node->attributes, *value = zs_json_get(a, "_FillValue");
    if (zs_json_typeof(value) != ZS_JSON_NULL) {
        /* One that the type cannot hold masks nothing; other sources would then mask what its writer kept. */
        m->has_nodata = zs_missing_value_read(&meta->dtype, value, m->nodata);
        return;
    }
    const enum zs_data_type type = meta->dtype.type;
    if (type == ZS_BOOL || type == ZS_RAW || type == ZS_DATETIME64 || type == ZS_TIMEDELTA64) {
        /* The fill value of these is a value like others, but for NaT, which says itself that it is none. */
        int64_t count = 0;
        if (meta->dtype.size == sizeof count)
            memcpy(&count, meta->fill_value, sizeof count);
        m->has_nodata = (type == ZS_DATETIME64 || type == ZS_TIMEDELTA64) && count == INT64_MIN;
        memcpy(m->nodata, meta->fill_value, meta->dtype.size);
        return;
    }
    value = zs_json_get(a, "missing_value");
    if (zs_json_is_array(value) && zs_json_size(value) > 0 && type != ZS_COMPLEX64 && type != ZS_COMPLEX128)
        value = zs_json_at(value, 0); /* GDAL has room for one */
    if (zs_json_typeof(value) != ZS_JSON_NULL) {
        m->has_nodata = zs_missing_value_read(&meta->dtype, value, m->nodata);
        return;
    }
    bool has_none = false;
    zs_json_bool(zs_json_get(a, ZS_NO_NODATA_ATTRIBUTE), &has_none);
    if (!has_none && !meta->fill_value_is_null) {
        memcpy(m->nodata, meta->fill_value, meta->dtype.size);
        m->has_nodata = true;
    }
}

/* ---- Numbers and names ---- */

static bool read_number(const zs_json *attributes, const char *name, double *out)
{
    const zs_json *value = zs_json_get(attributes, name);
    if (value == NULL) /* EOPF's own products keep the packing in an object beside */
        value = zs_json_get(zs_json_get(attributes, "_eopf_attrs"), name);
    if (zs_json_is_array(value) && zs_json_size(value) == 1)
        value = zs_json_at(value, 0);
    const char *text;
    double number;
    if (!(zs_json_string(value, &text) ? number_of_text(text, &number) : zs_json_double(value, &number)) ||
        !isfinite(number))
        return false;
    *out = number;
    return true;
}

static const char *text_attribute(const zs_json *attributes, const char *name)
{
    const char *text = NULL;
    zs_json_string(zs_json_get(attributes, name), &text);
    return text != NULL && text[0] != '\0' ? text : NULL;
}

static char *copy_or_null(const char *text, bool *ok)
{
    char *copy = text != NULL ? zs_strdup(text) : NULL;
    if (text != NULL && copy == NULL)
        *ok = false;
    return copy;
}

enum zs_colour zs_colour_of_name(const char *name)
{
    static const struct {
        const char *name;
        enum zs_colour colour;
    } known[] = {{"red", ZS_COLOUR_RED},   {"green", ZS_COLOUR_GREEN}, {"blue", ZS_COLOUR_BLUE},
                 {"alpha", ZS_COLOUR_ALPHA}, {"gray", ZS_COLOUR_GRAY},   {"grey", ZS_COLOUR_GRAY}};
    for (size_t i = 0; name != NULL && i < sizeof known / sizeof known[0]; i++)
        if (zs_equals_ignoring_case(name, known[i].name))
            return known[i].colour;
    return ZS_COLOUR_NONE;
}

const char *zs_colour_name(enum zs_colour colour)
{
    static const char *const names[] = {NULL, "Gray", "Red", "Green", "Blue", "Alpha"};
    return names[colour];
}

/* GDAL's name for the colour of a band: as the attributes that hold one have it, else made of what other names say. */
static bool read_colour(const zs_json *attributes, struct zs_band_properties *m)
{
    static const char *const names[] = {"color_interpretation", "colour_interpretation", "COLOR_INTERPRETATION",
                                        "common_name", "eo:common_name"};
    const size_t gdal_names = 3; /* the first of them hold any name that GDAL knows */
    bool ok = true;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && m->colour_name == NULL; i++) {
        const char *text = text_attribute(attributes, names[i]);
        m->colour = zs_colour_of_name(text);
        if (m->colour != ZS_COLOUR_NONE)
            text = zs_colour_name(m->colour);
        else if (i >= gdal_names)
            continue;
        m->colour_name = copy_or_null(text, &ok);
    }
    return ok;
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

bool zs_colour_table_read(const zs_json *list, struct zs_colour_entry **table, size_t *count)
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

/* ---- Categories ---- */

static bool flag_value(const zs_json *value, size_t *out)
{
    int64_t v;
    if (!zs_json_int64(value, &v) || v < 0 || v >= MAX_CATEGORIES)
        return false;
    *out = (size_t)v;
    return true;
}

/* Names by index from the list this driver writes when CF's words would not keep them. */
bool zs_category_list_read(const zs_json *list, char ***categories)
{
    *categories = NULL;
    const size_t n = zs_json_size(list);
    if (!zs_json_is_array(list) || n == 0 || n > MAX_CATEGORIES)
        return true;
    *categories = zs_calloc(n + 1, sizeof **categories);
    bool ok = *categories != NULL;
    size_t i = 0;
    for (const zs_json *c = zs_json_first(list); c != NULL && ok; c = zs_json_next(c), i++) {
        const char *text = "";
        zs_json_string(c, &text);
        ok = ((*categories)[i] = zs_strdup(text)) != NULL;
    }
    return ok;
}

bool zs_categories_read(const zs_json *attributes, char ***categories)
{
    *categories = NULL;
    if (!zs_category_list_read(zs_json_get(attributes, "gdal:categories"), categories))
        return false;
    if (*categories != NULL)
        return true;
    const zs_json *values = zs_json_get(attributes, "flag_values"),
                  *meanings = zs_json_get(attributes, "flag_meanings");
    const char *words = NULL;
    if (!zs_json_is_array(values) || !(zs_json_string(meanings, &words) || zs_json_is_array(meanings)))
        return true;
    size_t count = 0, v;
    for (const zs_json *e = zs_json_first(values); e != NULL; e = zs_json_next(e)) {
        if (!flag_value(e, &v))
            return true;
        if (v + 1 > count)
            count = v + 1;
    }
    if (count == 0)
        return true;
    *categories = zs_calloc(count + 1, sizeof **categories);
    if (*categories == NULL)
        return false;
    /* All names from the start, so that the list has no hole that would end it. */
    for (v = 0; v < count; v++)
        if (((*categories)[v] = zs_strdup("")) == NULL)
            return false;
    const zs_json *meaning = zs_json_first(meanings);
    char word[256];
    for (const zs_json *e = zs_json_first(values); e != NULL; e = zs_json_next(e)) {
        const char *name = NULL;
        if (words != NULL) {
            words = zs_next_word(words, word, sizeof word);
            name = words != NULL ? word : NULL;
        } else {
            zs_json_string(meaning, &name);
            meaning = zs_json_next(meaning);
        }
        if (name == NULL) /* fewer meanings than values, or not a text */
            break;
        char *copy = zs_strdup(name);
        if (copy == NULL)
            return false;
        if (flag_value(e, &v)) { /* it is: all were looked at above */
            char *old = (*categories)[v];
            (*categories)[v] = copy;
            copy = old;
        }
        free(copy);
    }
    return true;
}

/* ---- Metadata ---- */

bool zs_is_item_name(const char *name)
{
    return name != NULL && name[0] != '\0' && strchr(name, '=') == NULL;
}

char *zs_metadata_item(const char *name, const zs_json *value)
{
    const char *text = NULL;
    char *printed = NULL;
    if (!zs_json_string(value, &text))
        text = printed = zs_json_print(value);
    char *item = text != NULL ? zs_format("%s=%s", name, text) : NULL;
    free(printed);
    return item;
}

static enum zs_status read_metadata(const struct zs_node *node, bool keeps_flags, char ***metadata,
                                    struct zs_error *err)
{
    *metadata = NULL;
    const zs_json *aside = zs_json_get(node->attributes, ZS_ITEMS_ATTRIBUTE);
    const size_t n = zs_json_is_object(node->attributes) ? zs_json_size(node->attributes) : 0;
    const size_t more = zs_json_is_object(aside) ? zs_json_size(aside) : 0;
    if (n == 0)
        return ZS_OK;
    char **items = zs_calloc(n + more + 1, sizeof *items);
    size_t count = 0;
    bool ok = items != NULL;
    for (const zs_json *a = zs_json_first(node->attributes); a != NULL && ok; a = zs_json_next(a)) {
        const char *name = zs_json_name(a);
        const bool is_flag = name != NULL && (strcmp(name, "flag_values") == 0 || strcmp(name, "flag_meanings") == 0);
        if (!zs_is_item_name(name) || (zs_is_convention_attribute(name) && !(is_flag && keeps_flags)))
            continue;
        if (strcmp(name, "long_name") == 0 && zs_json_is_array(a) && node->type == ZS_NODE_ARRAY)
            continue; /* descriptions of bands */
        if (more > 0 && zs_json_get(aside, name) != NULL)
            continue;
        items[count] = zs_metadata_item(name, a);
        ok = items[count++] != NULL;
    }
    for (const zs_json *a = more > 0 ? zs_json_first(aside) : NULL; a != NULL && ok; a = zs_json_next(a))
        ok = !zs_is_item_name(zs_json_name(a)) || (items[count++] = zs_metadata_item(zs_json_name(a), a)) != NULL;
    if (!ok || count == 0) {
        zs_metadata_free(items);
        return ok ? ZS_OK : zs_fail_memory(err);
    }
    *metadata = items;
    return ZS_OK;
}

void zs_metadata_free(char **metadata)
{
    for (char **m = metadata; m != NULL && *m != NULL; m++)
        free(*m);
    free(metadata);
}

enum zs_status zs_group_metadata_read(const struct zs_node *group, char ***metadata, struct zs_error *err)
{
    return read_metadata(group, false, metadata, err);
}

const char *zs_unit_attribute(const zs_json *attributes)
{
    const char *unit = text_attribute(attributes, "units");
    if (unit == NULL)
        unit = text_attribute(attributes, "unit");
    return unit != NULL ? unit : text_attribute(zs_json_get(attributes, "_eopf_attrs"), "units");
}

enum zs_status zs_band_properties_read(const struct zs_node *node, struct zs_band_properties *properties,
                                       struct zs_error *err)
{
    const zs_json *a = node->attributes;
    struct zs_band_properties m;
    memset(&m, 0, sizeof m);
    memset(properties, 0, sizeof *properties);
    if (node->array != NULL)
        read_nodata(node, &m);
    m.scale = 1;
    m.has_scale = read_number(a, "scale_factor", &m.scale);
    m.has_offset = read_number(a, "add_offset", &m.offset);

    bool ok = read_colour(a, &m);
    ok = ok && zs_colour_table_read(zs_json_get(a, "gdal:color_table"), &m.colour_table, &m.colour_count);
    m.unit = copy_or_null(zs_unit_attribute(a), &ok);
    const char *description = text_attribute(a, "long_name");
    m.description = copy_or_null(description != NULL ? description : text_attribute(a, "standard_name"), &ok);
    ok = ok && zs_categories_read(a, &m.categories);
    ok = ok && zs_domains_read(zs_json_get(a, ZS_DOMAINS_ATTRIBUTE), &m.domains);
    enum zs_status status = ok ? read_metadata(node, m.categories == NULL, &m.metadata, err) : zs_fail_memory(err);
    if (status != ZS_OK) {
        zs_band_properties_clear(&m);
        return status;
    }
    *properties = m;
    return ZS_OK;
}

/* False without memory. NULL is copied as NULL. */
static bool copy_list(char *const *list, char ***copy)
{
    size_t n = 0;
    *copy = NULL;
    if (list == NULL)
        return true;
    while (list[n] != NULL)
        n++;
    char **c = zs_calloc(n + 1, sizeof *c);
    for (size_t i = 0; c != NULL && i < n; i++)
        if ((c[i] = zs_strdup(list[i])) == NULL) {
            zs_metadata_free(c);
            return false;
        }
    *copy = c;
    return c != NULL;
}

enum zs_status zs_band_properties_copy(const struct zs_band_properties *properties, struct zs_band_properties *copy,
                                       struct zs_error *err)
{
    struct zs_band_properties m = *properties;
    bool ok = true;
    m.unit = copy_or_null(properties->unit, &ok);
    m.description = copy_or_null(properties->description, &ok);
    m.colour_name = copy_or_null(properties->colour_name, &ok);
    ok = copy_list(properties->categories, &m.categories) && ok;
    ok = copy_list(properties->metadata, &m.metadata) && ok;
    ok = zs_domains_copy(&properties->domains, &m.domains) && ok;
    m.colour_table = NULL;
    if (properties->colour_table != NULL) {
        m.colour_table = zs_calloc(properties->colour_count, sizeof *m.colour_table);
        if (m.colour_table != NULL)
            memcpy(m.colour_table, properties->colour_table, properties->colour_count * sizeof *m.colour_table);
        ok = ok && m.colour_table != NULL;
    }
    if (!ok) {
        zs_band_properties_clear(&m);
        return zs_fail_memory(err);
    }
    *copy = m;
    return ZS_OK;
}

void zs_band_properties_clear(struct zs_band_properties *properties)
{
    free(properties->unit);
    free(properties->description);
    free(properties->colour_name);
    free(properties->colour_table);
    zs_metadata_free(properties->categories);
    zs_metadata_free(properties->metadata);
    zs_domains_clear(&properties->domains);
    memset(properties, 0, sizeof *properties);
}
