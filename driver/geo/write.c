#include "geo/write.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "geo/band_properties_json.h"

static bool set(zs_json *object, const char *name, zs_json *value)
{
    return value != NULL && zs_json_set(object, name, value) != NULL;
}

/* Base64 of the eight bytes of a double, little-endian; 12 characters and a zero. */
static void base64_of_double(double value, char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint64_t bits;
    unsigned char b[9] = {0};
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 8; i++)
        b[i] = (unsigned char)(bits >> (8 * i));
    for (int i = 0; i < 3; i++) {
        const unsigned v = (unsigned)b[3 * i] << 16 | (unsigned)b[3 * i + 1] << 8 | b[3 * i + 2];
        for (int j = 0; j < 4; j++)
            out[4 * i + j] = digits[v >> (18 - 6 * j) & 63];
    }
    out[11] = '='; /* the ninth byte is not there */
    out[12] = '\0';
}

enum zs_status zs_write_nodata(zs_json *attributes, const struct zs_dtype *dtype, const void *value,
                               struct zs_error *err)
{
    zs_json_remove(attributes, "_FillValue");
    zs_json_remove(attributes, "missing_value");
    zs_json_remove(attributes, ZS_NO_NODATA_ATTRIBUTE);
    if (value == NULL)
        return zs_json_add_bool(attributes, ZS_NO_NODATA_ATTRIBUTE, true) != NULL ? ZS_OK : zs_fail_memory(err);
    char text[13];
    const bool is_complex = dtype->type == ZS_COMPLEX64 || dtype->type == ZS_COMPLEX128;
    bool ok;
    if (is_complex) {
        const struct zs_dtype part = zs_dtype_of(dtype->type == ZS_COMPLEX64 ? ZS_FLOAT32 : ZS_FLOAT64);
        zs_json *pair = zs_json_add_array(attributes, "_FillValue");
        ok = pair != NULL;
        for (size_t i = 0; i < 2 && ok; i++) {
            base64_of_double(zs_dtype_to_double(&part, (const unsigned char *)value + i * part.size), text);
            ok = zs_json_add_string(pair, NULL, text) != NULL;
        }
    } else if (dtype->type == ZS_FLOAT16 || dtype->type == ZS_FLOAT32 || dtype->type == ZS_FLOAT64) {
        base64_of_double(zs_dtype_to_double(dtype, value), text);
        ok = zs_json_add_string(attributes, "_FillValue", text) != NULL;
    } else {
        ok = zs_fill_value_add(attributes, "_FillValue", dtype, value) != NULL;
    }
    return ok ? ZS_OK : zs_fail_memory(err);
}

/* A name as one of CF's words, which have no spaces; *changed when it is not the same any more. */
static char *cf_word(const char *name, bool *changed)
{
    char *word = zs_strdup(name);
    for (char *p = word; p != NULL && *p != '\0'; p++)
        if (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r') {
            *p = '_';
            *changed = true;
        }
    return word;
}

static bool write_categories(zs_json *attributes, char *const *categories)
{
    zs_json *values = zs_json_new_array(), *names = zs_json_new_array();
    struct zs_buffer words = {0};
    bool ok = values != NULL && names != NULL, changed = false;
    for (size_t i = 0; ok && categories[i] != NULL; i++) {
        ok = zs_json_add_string(names, NULL, categories[i]) != NULL;
        if (categories[i][0] == '\0')
            continue;
        char *word = cf_word(categories[i], &changed);
        ok = ok && word != NULL && zs_json_add_uint64(values, NULL, i) != NULL &&
             (words.size == 0 || zs_buffer_append(&words, " ", 1, NULL) == ZS_OK) &&
             zs_buffer_append(&words, word, strlen(word), NULL) == ZS_OK;
        free(word);
    }
    ok = ok && zs_buffer_append(&words, "", 1, NULL) == ZS_OK;
    /* Unnamed values at the end have no flag, and the list keeps them, too. */
    const size_t n = zs_json_size(names);
    changed = changed || (n > 0 && zs_json_equals(zs_json_at(names, n - 1), ""));
    if (ok && zs_json_size(values) > 0) {
        ok = zs_json_set_string(attributes, "flag_meanings", (const char *)words.data) &&
             set(attributes, "flag_values", values);
        values = NULL;
    }
    if (ok && changed) {
        ok = set(attributes, "gdal:categories", names);
        names = NULL;
    }
    zs_json_free(values);
    zs_json_free(names);
    zs_buffer_free(&words);
    return ok;
}

bool zs_is_item_of(const zs_json *attributes, const char *name, const char *item)
{
    const zs_json *attribute = zs_json_get(attributes, name);
    char *said = attribute != NULL ? zs_metadata_item(name, attribute) : NULL;
    const bool is = said != NULL && strcmp(said, item) == 0;
    free(said);
    return is;
}

static bool is_in_list(const char *const *items, const char *item)
{
    for (; items != NULL && *items != NULL; items++)
        if (strcmp(*items, item) == 0)
            return true;
    return false;
}

bool zs_items_remove_others(zs_json *object, bool (*may_go)(const char *name), const char *const *items)
{
    const zs_json *next;
    for (const zs_json *m = zs_json_first(object); m != NULL; m = next) {
        next = zs_json_next(m);
        if (!may_go(zs_json_name(m)))
            continue;
        char *item = zs_metadata_item(zs_json_name(m), m);
        if (item == NULL)
            return false;
        if (!is_in_list(items, item))
            zs_json_remove(object, zs_json_name(m));
        free(item);
    }
    return true;
}

bool zs_item_put_aside(zs_json *attributes, const char *name, const char *value)
{
    zs_json *aside = zs_json_get_mutable(attributes, ZS_ITEMS_ATTRIBUTE);
    if (!zs_json_is_object(aside)) {
        zs_json_remove(attributes, ZS_ITEMS_ATTRIBUTE);
        aside = zs_json_add_object(attributes, ZS_ITEMS_ATTRIBUTE);
    }
    return aside != NULL && zs_json_set_string(aside, name, value);
}

static bool write_metadata(zs_json *attributes, char *const *metadata)
{
    for (; *metadata != NULL; metadata++) {
        const char *equals = strchr(*metadata, '=');
        if (equals == NULL || equals == *metadata)
            continue;
        char *name = zs_strndup(*metadata, (size_t)(equals - *metadata));
        bool ok = name != NULL;
        /* What the conventions own, and what was written just before, is not replaced. */
        if (ok && !zs_is_convention_attribute(name) && zs_json_get(attributes, name) == NULL)
            ok = zs_json_add_string(attributes, name, equals + 1) != NULL;
        else if (ok && !zs_is_item_of(attributes, name, *metadata))
            ok = zs_item_put_aside(attributes, name, equals + 1);
        free(name);
        if (!ok)
            return false;
    }
    return true;
}

const char *zs_band_properties_colour_name(const struct zs_band_properties *properties)
{
    return properties->colour_name != NULL ? properties->colour_name : zs_colour_name(properties->colour);
}

bool zs_colour_table_write(zs_json *object, const char *name, const struct zs_colour_entry *table, size_t count)
{
    zs_json_remove(object, name);
    if (count == 0 || count > ZS_MAX_COLOURS)
        return true;
    zs_json *list = zs_json_new_array();
    bool ok = list != NULL;
    for (size_t i = 0; i < count && ok; i++) {
        zs_json *e = zs_json_add_array(list, NULL);
        zs_json_add_int64(e, NULL, table[i].r);
        zs_json_add_int64(e, NULL, table[i].g);
        zs_json_add_int64(e, NULL, table[i].b);
        ok = zs_json_add_int64(e, NULL, table[i].a) != NULL;
    }
    if (!ok) {
        zs_json_free(list);
        return false;
    }
    return zs_json_add(object, name, list) != NULL;
}

enum zs_status zs_write_band_properties(zs_json *attributes, const struct zs_band_properties *properties,
                                        struct zs_error *err)
{
    bool ok = true;
    if (properties->has_scale)
        ok = ok && zs_json_set_double(attributes, "scale_factor", properties->scale);
    if (properties->has_offset)
        ok = ok && zs_json_set_double(attributes, "add_offset", properties->offset);
    if (properties->unit != NULL)
        ok = ok && zs_json_set_string(attributes, "units", properties->unit);
    if (properties->description != NULL)
        ok = ok && zs_json_set_string(attributes, "long_name", properties->description);
    if (zs_band_properties_colour_name(properties) != NULL)
        ok = ok && zs_json_set_string(attributes, "COLOR_INTERPRETATION", zs_band_properties_colour_name(properties));
    if (properties->colour_table != NULL)
        ok = ok && zs_colour_table_write(attributes, "gdal:color_table", properties->colour_table,
                                         properties->colour_count);
    if (properties->categories != NULL)
        ok = ok && write_categories(attributes, properties->categories);
    if (properties->metadata != NULL)
        ok = ok && write_metadata(attributes, properties->metadata);
    if (properties->domains.count > 0)
        ok = ok && zs_domains_write(attributes, ZS_DOMAINS_ATTRIBUTE, &properties->domains);
    return ok ? ZS_OK : zs_fail_memory(err);
}
