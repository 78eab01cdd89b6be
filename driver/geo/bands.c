#include "geo/bands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "geo/meaning_parts.h"
#include "geo/write.h"

#define DOMAINS_MEMBER "metadata_domains"

/* ---- Reading ---- */

/* Puts a copy of a text in the place of *target; an empty one is none. False without memory. */
static bool take_text(const zs_json *member, char **target)
{
    const char *text;
    if (!zs_json_string(member, &text))
        return true;
    free(*target);
    *target = text[0] != '\0' ? zs_strdup(text) : NULL;
    return text[0] == '\0' || *target != NULL;
}

static bool take_number(const zs_json *member, double *target)
{
    double value;
    if (!zs_json_double(member, &value) || !isfinite(value))
        return false;
    *target = value;
    return true;
}

static bool take_categories(const zs_json *member, struct zs_meaning *m)
{
    char **categories;
    const bool ok = zs_category_list_read(member, &categories);
    if (!ok || categories == NULL) {
        zs_metadata_free(categories);
        return ok;
    }
    zs_metadata_free(m->categories);
    m->categories = categories;
    return true;
}

static bool take_colour_table(const zs_json *member, struct zs_meaning *m)
{
    struct zs_colour_entry *table;
    size_t count;
    if (!zs_colour_table_read(member, &table, &count))
        return false;
    if (table != NULL) {
        free(m->colour_table);
        m->colour_table = table;
        m->colour_count = count;
    }
    return true;
}

static bool take_metadata(const zs_json *member, struct zs_meaning *m)
{
    const size_t n = zs_json_is_object(member) ? zs_json_size(member) : 0;
    if (n == 0)
        return true;
    m->metadata = zs_calloc(n + 1, sizeof *m->metadata);
    bool ok = m->metadata != NULL;
    size_t i = 0;
    for (const zs_json *e = zs_json_first(member); e != NULL && ok; e = zs_json_next(e))
        if (zs_json_name(e) != NULL && zs_json_name(e)[0] != '\0')
            ok = (m->metadata[i++] = zs_metadata_item(zs_json_name(e), e)) != NULL;
    return ok;
}

/* What one entry of gdal:bands says. False without memory. */
static bool take_band(const zs_json *entry, const struct zs_dtype *dtype, struct zs_meaning *m)
{
    const zs_json *nodata = zs_json_get(entry, "nodata");
    if (nodata != NULL && zs_json_typeof(nodata) == ZS_JSON_NULL)
        m->has_nodata = false;
    else if (nodata != NULL && dtype != NULL)
        m->has_nodata = zs_missing_value_read(dtype, nodata, m->nodata);
    m->has_scale |= take_number(zs_json_get(entry, "scale"), &m->scale);
    m->has_offset |= take_number(zs_json_get(entry, "offset"), &m->offset);
    const bool ok = take_text(zs_json_get(entry, "description"), &m->description) &&
                    take_text(zs_json_get(entry, "unit"), &m->unit) &&
                    take_text(zs_json_get(entry, "color_interpretation"), &m->colour_name) &&
                    take_categories(zs_json_get(entry, "categories"), m) &&
                    take_colour_table(zs_json_get(entry, "color_table"), m) &&
                    take_metadata(zs_json_get(entry, "metadata"), m) &&
                    zs_domains_read(zs_json_get(entry, DOMAINS_MEMBER), &m->domains);
    m->colour = zs_colour_of_name(m->colour_name);
    return ok;
}

/* Element `band` of a list that has one for each band; NULL otherwise. */
static const zs_json *of_band(const zs_json *list, uint64_t band, uint64_t bands)
{
    return zs_json_is_array(list) && zs_json_size(list) == bands ? zs_json_at(list, (size_t)band) : NULL;
}

enum zs_status zs_band_meaning_read(const struct zs_node *node, uint64_t band, uint64_t bands,
                                    const struct zs_meaning *base, struct zs_meaning *meaning, struct zs_error *err)
{
    struct zs_meaning common = *base, m;
    memset(meaning, 0, sizeof *meaning);
    common.metadata = NULL;
    common.domains = (struct zs_domains){0};
    if (bands != 1)
        common.description = NULL;
    ZS_TRY(zs_meaning_copy(&common, &m, err));
    const bool ok = take_text(of_band(zs_json_get(node->attributes, "long_name"), band, bands), &m.description) &&
                    take_band(of_band(zs_json_get(node->attributes, ZS_BANDS_ATTRIBUTE), band, bands),
                              node->array != NULL ? &node->array->dtype : NULL, &m);
    if (!ok) {
        zs_meaning_clear(&m);
        return zs_fail(err, ZS_NO_MEMORY, "%s: no memory for the attributes of its bands", node->path);
    }
    *meaning = m;
    return ZS_OK;
}

/* ---- Writing ---- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_list(char *const *a, char *const *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    while (*a != NULL && *b != NULL && strcmp(*a, *b) == 0)
        a++, b++;
    return *a == NULL && *b == NULL;
}

static bool same_scale(const struct zs_meaning *a, const struct zs_meaning *b)
{
    return a->has_scale == b->has_scale && (!a->has_scale || a->scale == b->scale);
}

static bool same_offset(const struct zs_meaning *a, const struct zs_meaning *b)
{
    return a->has_offset == b->has_offset && (!a->has_offset || a->offset == b->offset);
}

static bool same_colour_table(const struct zs_meaning *a, const struct zs_meaning *b)
{
    const size_t n = a->colour_table != NULL ? a->colour_count : 0;
    return n == (b->colour_table != NULL ? b->colour_count : 0) &&
           (n == 0 || memcmp(a->colour_table, b->colour_table, n * sizeof *a->colour_table) == 0);
}

static bool same_nodata(const struct zs_meaning *a, const struct zs_meaning *b, size_t size)
{
    return a->has_nodata == b->has_nodata && (!a->has_nodata || memcmp(a->nodata, b->nodata, size) == 0);
}

/* Which properties are the same for all bands. */
struct common {
    bool description; /* not the same, but there for all */
    bool unit, scale, offset, nodata, categories, colour, colour_table;
};

static struct common find_common(const struct zs_dtype *dtype, const struct zs_meaning *bands, size_t count)
{
    struct common c = {true, true, true, true, true, true, true, true};
    for (size_t i = 0; i < count; i++) {
        const struct zs_meaning *a = &bands[0], *b = &bands[i];
        c.description = c.description && b->description != NULL && b->description[0] != '\0';
        c.unit = c.unit && same_text(a->unit, b->unit);
        c.scale = c.scale && same_scale(a, b);
        c.offset = c.offset && same_offset(a, b);
        c.nodata = c.nodata && same_nodata(a, b, dtype->size);
        c.categories = c.categories && same_list(a->categories, b->categories);
        c.colour = c.colour && same_text(zs_meaning_colour_name(a), zs_meaning_colour_name(b));
        c.colour_table = c.colour_table && same_colour_table(a, b);
    }
    return c;
}

static bool add_list(zs_json *entry, const char *name, char *const *texts)
{
    zs_json *list = zs_json_add_array(entry, name);
    bool ok = list != NULL;
    for (; ok && *texts != NULL; texts++)
        ok = zs_json_add_string(list, NULL, *texts) != NULL;
    return ok;
}

static bool add_metadata(zs_json *entry, char *const *metadata)
{
    zs_json *object = zs_json_add_object(entry, "metadata");
    bool ok = object != NULL;
    for (; ok && *metadata != NULL; metadata++) {
        const char *equals = strchr(*metadata, '=');
        if (equals == NULL || equals == *metadata)
            continue;
        char *name = zs_strndup(*metadata, (size_t)(equals - *metadata));
        if (name != NULL)
            zs_json_remove(object, name); /* the later of two holds */
        ok = name != NULL && zs_json_add_string(object, name, equals + 1) != NULL;
        free(name);
    }
    return ok;
}

static bool add_band(zs_json *list, const struct zs_dtype *dtype, const struct zs_meaning *m,
                     const struct common *common)
{
    zs_json *e = zs_json_add_object(list, NULL);
    bool ok = e != NULL;
    if (!common->description && m->description != NULL && m->description[0] != '\0')
        ok = ok && zs_json_add_string(e, "description", m->description) != NULL;
    if (!common->unit && m->unit != NULL)
        ok = ok && zs_json_add_string(e, "unit", m->unit) != NULL;
    if (!common->scale && m->has_scale)
        ok = ok && zs_json_add_double(e, "scale", m->scale) != NULL;
    if (!common->offset && m->has_offset)
        ok = ok && zs_json_add_double(e, "offset", m->offset) != NULL;
    if (!common->nodata)
        ok = ok &&
             (m->has_nodata ? zs_fill_value_add(e, "nodata", dtype, m->nodata) : zs_json_add_null(e, "nodata")) != NULL;
    if (!common->categories && m->categories != NULL)
        ok = ok && add_list(e, "categories", m->categories);
    if (!common->colour && zs_meaning_colour_name(m) != NULL)
        ok = ok && zs_json_add_string(e, "color_interpretation", zs_meaning_colour_name(m)) != NULL;
    if (!common->colour_table && m->colour_table != NULL)
        ok = ok && zs_colour_table_write(e, "color_table", m->colour_table, m->colour_count);
    if (m->metadata != NULL && m->metadata[0] != NULL)
        ok = ok && add_metadata(e, m->metadata);
    return ok && zs_domains_write(e, DOMAINS_MEMBER, &m->domains);
}

static bool write_descriptions(zs_json *attributes, const struct zs_meaning *bands, size_t count, bool all_have_one)
{
    if (!all_have_one) {
        if (zs_json_is_array(zs_json_get(attributes, "long_name"))) /* of bands, and no longer true */
            zs_json_remove(attributes, "long_name");
        return true;
    }
    zs_json_remove(attributes, "long_name");
    if (count == 1)
        return zs_json_add_string(attributes, "long_name", bands[0].description) != NULL;
    zs_json *list = zs_json_add_array(attributes, "long_name");
    bool ok = list != NULL;
    for (size_t i = 0; i < count && ok; i++)
        ok = zs_json_add_string(list, NULL, bands[i].description) != NULL;
    return ok;
}

static bool write_entries(zs_json *attributes, const struct zs_dtype *dtype, const struct zs_meaning *bands,
                          size_t count, const struct common *common)
{
    zs_json *list = zs_json_new_array();
    bool ok = list != NULL, any = false;
    for (size_t i = 0; i < count && ok; i++)
        ok = add_band(list, dtype, &bands[i], common);
    for (const zs_json *e = zs_json_first(list); e != NULL && !any; e = zs_json_next(e))
        any = zs_json_size(e) > 0;
    if (!ok || !any) {
        zs_json_free(list);
        return ok;
    }
    return zs_json_add(attributes, ZS_BANDS_ATTRIBUTE, list) != NULL;
}

/* ---- Statistics ---- */

static bool is_statistic(const zs_json *member)
{
    return strncmp(zs_json_name(member), "STATISTICS_", 11) == 0;
}

static bool has_statistics_itself(const zs_json *items)
{
    const zs_json *m = zs_json_first(items);
    while (m != NULL && !(zs_json_name(m) != NULL && is_statistic(m)))
        m = zs_json_next(m);
    return m != NULL;
}

bool zs_has_statistics(const zs_json *attributes)
{
    bool has = has_statistics_itself(attributes);
    for (const zs_json *e = zs_json_first(zs_json_get(attributes, ZS_BANDS_ATTRIBUTE)); e != NULL && !has;
         e = zs_json_next(e))
        has = has_statistics_itself(zs_json_get(e, "metadata"));
    return has;
}

static void remove_statistics_of(zs_json *items)
{
    const zs_json *next;
    for (const zs_json *m = zs_json_first(items); m != NULL && zs_json_name(m) != NULL; m = next) {
        next = zs_json_next(m);
        if (is_statistic(m))
            zs_json_remove(items, zs_json_name(m));
    }
}

void zs_remove_statistics(zs_json *attributes)
{
    remove_statistics_of(attributes);
    for (const zs_json *e = zs_json_first(zs_json_get(attributes, ZS_BANDS_ATTRIBUTE)); e != NULL; e = zs_json_next(e))
        remove_statistics_of(zs_json_get_mutable((zs_json *)(uintptr_t)e, "metadata"));
}

/* ---- Writing ---- */

static const char *const flags[] = {"flag_values", "flag_meanings", "gdal:categories"};

/* Whether flags stay as they are: they say these categories. CF's say more than categories can: bits, any values. */
static enum zs_status find_flags(const zs_json *attributes, char *const *categories, bool *stay, struct zs_error *err)
{
    char **said;
    const bool ok = zs_categories_read(attributes, &said);
    *stay = ok && same_list(said, categories);
    zs_metadata_free(said);
    return ok ? ZS_OK : zs_no_memory(err);
}

enum zs_status zs_write_band_meanings(zs_json *attributes, const struct zs_dtype *dtype, const struct zs_meaning *bands,
                                      size_t count, struct zs_error *err)
{
    static const char *const owned[] = {"units", "unit", "scale_factor", "add_offset", "color_interpretation",
                                        "colour_interpretation", "COLOR_INTERPRETATION", "gdal:color_table",
                                        ZS_BANDS_ATTRIBUTE};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        zs_json_remove(attributes, owned[i]);
    if (count == 0)
        return ZS_OK;
    const struct common common = find_common(dtype, bands, count);
    bool keeps_flags;
    ZS_TRY(find_flags(attributes, common.categories ? bands[0].categories : NULL, &keeps_flags, err));
    for (size_t i = 0; i < sizeof flags / sizeof flags[0] && !keeps_flags; i++)
        zs_json_remove(attributes, flags[i]);
    struct zs_meaning all = {0};
    if (common.unit)
        all.unit = bands[0].unit;
    if (common.scale && bands[0].has_scale)
        all.has_scale = true, all.scale = bands[0].scale;
    if (common.offset && bands[0].has_offset)
        all.has_offset = true, all.offset = bands[0].offset;
    if (common.categories && !keeps_flags)
        all.categories = bands[0].categories;
    if (common.colour)
        all.colour = bands[0].colour, all.colour_name = bands[0].colour_name;
    if (common.colour_table)
        all.colour_table = bands[0].colour_table, all.colour_count = bands[0].colour_count;
    ZS_TRY(zs_write_meaning(attributes, &all, err));
    const bool ok = write_descriptions(attributes, bands, count, common.description) &&
                    write_entries(attributes, dtype, bands, count, &common);
    return ok ? ZS_OK : zs_no_memory(err);
}
