#include "geo/bands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/memory.h"
#include "geo/healpix.h"
#include "geo/meaning_parts.h"
#include "geo/write.h"
#include "zarr/make.h"

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
        if (zs_is_item_name(zs_json_name(e)))
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

/* A list that has an element for each band; NULL otherwise. */
static const zs_json *of_bands(const zs_json *attributes, const char *name, uint64_t bands)
{
    const zs_json *list = zs_json_get(attributes, name);
    return zs_json_is_array(list) && zs_json_size(list) == bands ? list : NULL;
}

static enum zs_status read_band(const struct zs_node *node, const struct zs_meaning *base, bool is_only,
                                const zs_json *name, const zs_json *entry, struct zs_meaning *meaning,
                                struct zs_error *err)
{
    struct zs_meaning common = *base, m;
    common.metadata = NULL;
    common.domains = (struct zs_domains){0};
    if (!is_only)
        common.description = NULL;
    ZS_TRY(zs_meaning_copy(&common, &m, err));
    const bool ok = take_text(name, &m.description) &&
                    take_band(entry, node->array != NULL ? &node->array->dtype : NULL, &m);
    if (!ok) {
        zs_meaning_clear(&m);
        return zs_fail(err, ZS_NO_MEMORY, "%s: no memory for the attributes of its bands", node->path);
    }
    *meaning = m;
    return ZS_OK;
}

enum zs_status zs_band_meanings_read_some(const struct zs_node *node, uint64_t first, uint64_t count, uint64_t bands,
                                          const struct zs_meaning *base, struct zs_meaning *meanings,
                                          struct zs_error *err)
{
    const zs_json *name = zs_json_at(of_bands(node->attributes, "long_name", bands), (size_t)first);
    const zs_json *entry = zs_json_at(of_bands(node->attributes, ZS_BANDS_ATTRIBUTE, bands), (size_t)first);
    memset(meanings, 0, (size_t)count * sizeof *meanings);
    enum zs_status status = ZS_OK;
    for (uint64_t i = 0; i < count && status == ZS_OK; i++) {
        status = read_band(node, base, bands == 1, name, entry, &meanings[i], err);
        name = name != NULL ? zs_json_next(name) : NULL;
        entry = entry != NULL ? zs_json_next(entry) : NULL;
    }
    for (uint64_t i = 0; i < count && status != ZS_OK; i++)
        zs_meaning_clear(&meanings[i]);
    return status;
}

enum zs_status zs_band_meaning_read(const struct zs_node *node, uint64_t band, uint64_t bands,
                                    const struct zs_meaning *base, struct zs_meaning *meaning, struct zs_error *err)
{
    return zs_band_meanings_read_some(node, band, 1, bands, base, meaning, err);
}

enum zs_status zs_band_meanings_read(const struct zs_node *node, uint64_t bands, const struct zs_meaning *base,
                                     struct zs_meaning **list, struct zs_error *err)
{
    *list = zs_calloc((size_t)bands, sizeof **list);
    if (*list == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "%s: no memory for the attributes of its bands", node->path);
    const enum zs_status status = zs_band_meanings_read_some(node, 0, bands, bands, base, *list, err);
    if (status != ZS_OK) {
        free(*list);
        *list = NULL;
    }
    return status;
}

void zs_band_meanings_free(struct zs_meaning *list, uint64_t bands)
{
    for (uint64_t i = 0; i < bands && list != NULL; i++)
        zs_meaning_clear(&list[i]);
    free(list);
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

/* Makes the items of an entry those of the list, which may be NULL: what is there as it is stays. */
static bool change_metadata(zs_json *entry, char *const *metadata)
{
    zs_json *object = zs_json_get_mutable(entry, "metadata");
    if (object != NULL && !zs_json_is_object(object)) {
        zs_json_remove(entry, "metadata");
        object = NULL;
    }
    if (object == NULL)
        object = zs_json_add_object(entry, "metadata");
    bool ok = object != NULL && zs_items_remove_others(object, zs_is_item_name, (const char *const *)metadata);
    for (; ok && metadata != NULL && *metadata != NULL; metadata++) {
        const char *equals = strchr(*metadata, '=');
        if (equals == NULL || equals == *metadata)
            continue;
        char *name = zs_strndup(*metadata, (size_t)(equals - *metadata));
        ok = name != NULL;
        if (ok && !zs_is_item_of(object, name, *metadata)) {
            zs_json_remove(object, name); /* the later of two holds */
            ok = zs_json_add_string(object, name, equals + 1) != NULL;
        }
        free(name);
    }
    if (ok && zs_json_size(object) == 0)
        zs_json_remove(entry, "metadata");
    return ok;
}

/* Members of a band's entry, by the property that they are. */
static const struct {
    unsigned property;
    const char *name;
} members[] = {{ZS_BAND_DESCRIPTION, "description"},
               {ZS_BAND_UNIT, "unit"},
               {ZS_BAND_SCALE, "scale"},
               {ZS_BAND_OFFSET, "offset"},
               {ZS_BAND_NODATA, "nodata"},
               {ZS_BAND_CATEGORIES, "categories"},
               {ZS_BAND_COLOUR, "color_interpretation"},
               {ZS_BAND_COLOUR_TABLE, "color_table"}};

/* Puts what is the band's own of `which` into its entry. */
static bool change_band(zs_json *e, const struct zs_dtype *dtype, const struct zs_meaning *m,
                        const struct common *common, unsigned which)
{
    bool ok = true;
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if ((which & members[i].property) != 0)
            zs_json_remove(e, members[i].name);
    if ((which & ZS_BAND_DESCRIPTION) != 0 && !common->description && m->description != NULL &&
        m->description[0] != '\0')
        ok = ok && zs_json_add_string(e, "description", m->description) != NULL;
    if ((which & ZS_BAND_UNIT) != 0 && !common->unit && m->unit != NULL)
        ok = ok && zs_json_add_string(e, "unit", m->unit) != NULL;
    if ((which & ZS_BAND_SCALE) != 0 && !common->scale && m->has_scale)
        ok = ok && zs_json_add_double(e, "scale", m->scale) != NULL;
    if ((which & ZS_BAND_OFFSET) != 0 && !common->offset && m->has_offset)
        ok = ok && zs_json_add_double(e, "offset", m->offset) != NULL;
    if ((which & ZS_BAND_NODATA) != 0 && !common->nodata)
        ok = ok &&
             (m->has_nodata ? zs_fill_value_add(e, "nodata", dtype, m->nodata) : zs_json_add_null(e, "nodata")) != NULL;
    if ((which & ZS_BAND_CATEGORIES) != 0 && !common->categories && m->categories != NULL)
        ok = ok && add_list(e, "categories", m->categories);
    if ((which & ZS_BAND_COLOUR) != 0 && !common->colour && zs_meaning_colour_name(m) != NULL)
        ok = ok && zs_json_add_string(e, "color_interpretation", zs_meaning_colour_name(m)) != NULL;
    if ((which & ZS_BAND_COLOUR_TABLE) != 0 && !common->colour_table && m->colour_table != NULL)
        ok = ok && zs_colour_table_write(e, "color_table", m->colour_table, m->colour_count);
    if ((which & ZS_BAND_METADATA) == 0)
        return ok;
    return ok && change_metadata(e, m->metadata) && zs_domains_write(e, DOMAINS_MEMBER, &m->domains);
}

static bool write_descriptions(zs_json *attributes, const struct zs_meaning *bands, size_t count, bool all_have_one)
{
    const zs_json *old = zs_json_get(attributes, "long_name");
    if (!all_have_one) {
        if (zs_json_is_array(old) || count == 1) /* of bands, and no longer true */
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

/* The list of entries: that which is there, where it is one for these bands, else a new one. */
static bool write_entries(zs_json *attributes, const struct zs_dtype *dtype, const struct zs_meaning *bands,
                          size_t count, const struct common *common, unsigned which)
{
    const zs_json *old = zs_json_get(attributes, ZS_BANDS_ATTRIBUTE);
    const bool is_for_these = zs_json_is_array(old) && zs_json_size(old) == count;
    const zs_json *entry = is_for_these ? zs_json_first(old) : NULL;
    zs_json *list = zs_json_new_array();
    bool ok = list != NULL, any = false;
    for (size_t i = 0; i < count && ok; i++) {
        zs_json *e = zs_json_is_object(entry) ? zs_json_add(list, NULL, zs_json_copy(entry))
                                              : zs_json_add_object(list, NULL);
        ok = e != NULL && change_band(e, dtype, &bands[i], common, which);
        any = any || zs_json_size(e) > 0;
        entry = entry != NULL ? zs_json_next(entry) : NULL;
    }
    if (ok && any)
        return zs_json_set(attributes, ZS_BANDS_ATTRIBUTE, list) != NULL;
    zs_json_free(list);
    if (ok)
        zs_json_remove(attributes, ZS_BANDS_ATTRIBUTE);
    return ok;
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

bool zs_has_statistics(const zs_json *attributes, bool of_bands)
{
    bool has = has_statistics_itself(attributes);
    for (const zs_json *e = zs_json_first(zs_json_get(attributes, ZS_BANDS_ATTRIBUTE)); e != NULL && !has && of_bands;
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

void zs_remove_statistics(zs_json *attributes, bool of_bands)
{
    const zs_json *entries = zs_json_get(attributes, ZS_BANDS_ATTRIBUTE);
    remove_statistics_of(attributes);
    for (const zs_json *e = of_bands ? zs_json_first(entries) : NULL; e != NULL; e = zs_json_next(e))
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

/* Attributes of an array by the property of all bands that they are. */
static const struct {
    unsigned property;
    const char *name;
} owned[] = {{ZS_BAND_UNIT, "units"},
             {ZS_BAND_UNIT, "unit"},
             {ZS_BAND_SCALE, "scale_factor"},
             {ZS_BAND_OFFSET, "add_offset"},
             {ZS_BAND_COLOUR, "color_interpretation"},
             {ZS_BAND_COLOUR, "colour_interpretation"},
             {ZS_BAND_COLOUR, "COLOR_INTERPRETATION"},
             {ZS_BAND_COLOUR_TABLE, "gdal:color_table"}};

/* What of `which` is the same for all bands, in the first's. */
static struct zs_meaning common_meaning(const struct zs_meaning *first, const struct common *common, unsigned which)
{
    struct zs_meaning all = {0};
    if (common->unit && (which & ZS_BAND_UNIT) != 0)
        all.unit = first->unit;
    if (common->scale && first->has_scale && (which & ZS_BAND_SCALE) != 0)
        all.has_scale = true, all.scale = first->scale;
    if (common->offset && first->has_offset && (which & ZS_BAND_OFFSET) != 0)
        all.has_offset = true, all.offset = first->offset;
    if (common->categories && (which & ZS_BAND_CATEGORIES) != 0)
        all.categories = first->categories;
    if (common->colour && (which & ZS_BAND_COLOUR) != 0)
        all.colour = first->colour, all.colour_name = first->colour_name;
    if (common->colour_table && (which & ZS_BAND_COLOUR_TABLE) != 0)
        all.colour_table = first->colour_table, all.colour_count = first->colour_count;
    return all;
}

enum zs_status zs_write_band_meanings(zs_json *attributes, const struct zs_dtype *dtype, const struct zs_meaning *bands,
                                      size_t count, unsigned which, struct zs_error *err)
{
    const char *name;
    if (count == 0)
        return ZS_OK;
    struct common common = find_common(dtype, bands, count);
    /* A name of the whole is not one of its bands. */
    common.description =
        common.description && (count == 1 || !zs_json_string(zs_json_get(attributes, "long_name"), &name));
    bool keeps_flags = true;
    if ((which & ZS_BAND_CATEGORIES) != 0)
        ZS_TRY(find_flags(attributes, common.categories ? bands[0].categories : NULL, &keeps_flags, err));
    for (size_t i = 0; i < sizeof flags / sizeof flags[0] && !keeps_flags; i++)
        zs_json_remove(attributes, flags[i]);
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        if ((which & owned[i].property) != 0)
            zs_json_remove(attributes, owned[i].name);
    struct zs_meaning all = common_meaning(&bands[0], &common, which);
    if (keeps_flags)
        all.categories = NULL;
    ZS_TRY(zs_write_meaning(attributes, &all, err));
    const bool ok = ((which & ZS_BAND_DESCRIPTION) == 0 ||
                     write_descriptions(attributes, bands, count, common.description)) &&
                    write_entries(attributes, dtype, bands, count, &common, which);
    return ok ? ZS_OK : zs_no_memory(err);
}

/* ---- Growing ---- */

/* Attributes that have an element for each band, and whether an empty one is an object, else it is a text. */
static const struct {
    const char *name;
    bool is_of_objects;
} lists[] = {{ZS_BANDS_ATTRIBUTE, true}, {"long_name", false}};

/* The dimensions other than X and Y, slowest first, as they were and will be. */
struct growth {
    int count;
    uint64_t from[ZS_MAX_NDIM], to[ZS_MAX_NDIM];
    uint64_t slices_before, slices_after; /* UINT64_MAX when 64 bits do not count them */
};

static struct growth find_growth(int ndim, struct zs_axes axes, const uint64_t *from, const uint64_t *to)
{
    struct growth g = {.slices_before = 1, .slices_after = 1};
    for (int d = 0; d < ndim; d++) {
        if (d == axes.x || d == axes.y)
            continue;
        g.from[g.count] = from[d];
        g.to[g.count++] = to[d];
        if (!zs_mul_u64(g.slices_before, from[d], &g.slices_before))
            g.slices_before = UINT64_MAX;
        if (!zs_mul_u64(g.slices_after, to[d], &g.slices_after))
            g.slices_after = UINT64_MAX;
    }
    return g;
}

/* Goes to the next slice of the grown array; *is_old: it was there before. */
static void next_slice(const struct growth *g, uint64_t *position, bool *is_old)
{
    int d = g->count - 1;
    while (d >= 0 && ++position[d] == g->to[d])
        position[d--] = 0;
    *is_old = true;
    for (d = 0; d < g->count; d++)
        *is_old = *is_old && position[d] < g->from[d];
}

/* The list of all slices. Those that were there before follow each other as they did: each takes the next element. */
static zs_json *grow_list(const zs_json *old, const struct growth *g, bool is_of_objects)
{
    uint64_t position[ZS_MAX_NDIM] = {0};
    bool is_old = true; /* the first slice is, where there are some */
    const zs_json *element = zs_json_first(old);
    zs_json *list = zs_json_new_array();
    bool ok = list != NULL;
    for (uint64_t i = 0; i < g->slices_after && ok; i++) {
        if (is_old) {
            ok = zs_json_add(list, NULL, zs_json_copy(element)) != NULL;
            element = zs_json_next(element);
        } else {
            ok = (is_of_objects ? zs_json_add_object(list, NULL) : zs_json_add_string(list, NULL, "")) != NULL;
        }
        next_slice(g, position, &is_old);
    }
    if (ok)
        return list;
    zs_json_free(list);
    return NULL;
}

enum zs_status zs_band_lists_grow(const zs_json *attributes, int ndim, struct zs_axes axes, const uint64_t *from,
                                  const uint64_t *to, zs_json **grown, struct zs_error *err)
{
    const struct growth g = find_growth(ndim, axes, from, to);
    zs_json *copy = NULL;
    *grown = NULL;
    if (g.slices_before == 0 || g.slices_after == g.slices_before)
        return ZS_OK;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const zs_json *old = of_bands(attributes, lists[i].name, g.slices_before);
        enum zs_status status = ZS_OK;
        if (old == NULL)
            continue;
        if (g.slices_after > ZS_MOST_LISTED_SLICES)
            status = zs_fail(err, ZS_UNSUPPORTED, "attribute %s has an element for each of %llu slices: expected at "
                             "most %llu, found %llu", lists[i].name, (unsigned long long)g.slices_before,
                             (unsigned long long)ZS_MOST_LISTED_SLICES, (unsigned long long)g.slices_after);
        else if ((copy == NULL && (copy = zs_json_copy(attributes)) == NULL) ||
                 zs_json_set(copy, lists[i].name, grow_list(old, &g, lists[i].is_of_objects)) == NULL)
            status = zs_no_memory(err);
        if (status != ZS_OK) {
            zs_json_free(copy);
            return status;
        }
    }
    *grown = copy;
    return ZS_OK;
}

static bool has_lists(const struct zs_node *node)
{
    bool has = false;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0] && node->array != NULL && node->array->ndim > 0; i++)
        has = has || zs_json_is_array(zs_json_get(node->attributes, lists[i].name));
    return has;
}

enum zs_status zs_array_grow(struct zs_hierarchy *h, const struct zs_node *node, const uint64_t *shape,
                             struct zs_error *err)
{
    zs_json *attributes = NULL;
    const struct zs_node *fresh;
    if (has_lists(node)) {
        const struct zs_array_meta *meta = node->array;
        struct zs_healpix healpix;
        struct zs_axes axes;
        if (zs_healpix_find(h, node, &healpix))
            axes = (struct zs_axes){healpix.dim, -1};
        else
            ZS_TRY(zs_axes_find(h, node, NULL, NULL, &axes, err));
        ZS_TRY(zs_band_lists_grow(node->attributes, meta->ndim, axes, meta->shape, shape, &attributes, err));
    }
    const enum zs_status status = zs_array_restate(h, node, shape, NULL, attributes, &fresh, err);
    zs_json_free(attributes);
    return status;
}
