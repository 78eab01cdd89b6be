#include "geo/bands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/memory.h"
#include "geo/healpix.h"
#include "geo/band_properties_json.h"
#include "geo/write.h"
#include "zarr/make.h"

#define DOMAINS_MEMBER "metadata_domains"

/* ---- Properties ---- */

static bool has_text(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static bool is_same_text(const char *a, const char *b)
{
    return has_text(a) ? has_text(b) && strcmp(a, b) == 0 : !has_text(b);
}

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

static void clear_text(char **target)
{
    free(*target);
    *target = NULL;
}

static bool take_number(const zs_json *member, bool *has, double *target)
{
    double value;
    if (zs_json_double(member, &value) && isfinite(value)) {
        *has = true;
        *target = value;
    }
    return true;
}

static bool has_description(const struct zs_band_properties *m)
{
    return has_text(m->description);
}
static bool same_description(const struct zs_band_properties *a, const struct zs_band_properties *b)
{
    return is_same_text(a->description, b->description);
}
static bool take_description(const zs_json *member, const struct zs_dtype *dtype, struct zs_band_properties *m)
{
    (void)dtype;
    return take_text(member, &m->description);
}
static bool put_description(zs_json *entry, const char *name, const struct zs_dtype *dtype,
                            const struct zs_band_properties *m)
{
    (void)dtype;
    return zs_json_add_string(entry, name, m->description) != NULL;
}
static void clear_description(struct zs_band_properties *m)
{
    clear_text(&m->description);
}

static bool has_unit(const struct zs_band_properties *m)
{
    return has_text(m->unit);
}
static bool same_unit(const struct zs_band_properties *a, const struct zs_band_properties *b)
{
    return is_same_text(a->unit, b->unit);
}
static bool take_unit(const zs_json *member, const struct zs_dtype *dtype, struct zs_band_properties *m)
{
    (void)dtype;
    return take_text(member, &m->unit);
}
static bool put_unit(zs_json *entry, const char *name, const struct zs_dtype *dtype, const struct zs_band_properties *m)
{
    (void)dtype;
    return zs_json_add_string(entry, name, m->unit) != NULL;
}
static void clear_unit(struct zs_band_properties *m)
{
    clear_text(&m->unit);
}

static bool has_scale(const struct zs_band_properties *m)
{
    return m->has_scale;
}
static bool same_scale(const struct zs_band_properties *a, const struct zs_band_properties *b)
{
    return a->has_scale == b->has_scale && (!a->has_scale || a->scale == b->scale);
}
static bool take_scale(const zs_json *member, const struct zs_dtype *dtype, struct zs_band_properties *m)
{
    (void)dtype;
    return take_number(member, &m->has_scale, &m->scale);
}
static bool put_scale(zs_json *entry, const char *name, const struct zs_dtype *dtype,
                      const struct zs_band_properties *m)
{
    (void)dtype;
    return zs_json_add_double(entry, name, m->scale) != NULL;
}
static void clear_scale(struct zs_band_properties *m)
{
    m->has_scale = false;
    m->scale = 1;
}

static bool has_offset(const struct zs_band_properties *m)
{
    return m->has_offset;
}
static bool same_offset(const struct zs_band_properties *a, const struct zs_band_properties *b)
{
    return a->has_offset == b->has_offset && (!a->has_offset || a->offset == b->offset);
}
static bool take_offset(const zs_json *member, const struct zs_dtype *dtype, struct zs_band_properties *m)
{
    (void)dtype;
    return take_number(member, &m->has_offset, &m->offset);
}
static bool put_offset(zs_json *entry, const char *name, const struct zs_dtype *dtype,
                       const struct zs_band_properties *m)
{
    (void)dtype;
    return zs_json_add_double(entry, name, m->offset) != NULL;
}
static void clear_offset(struct zs_band_properties *m)
{
    m->has_offset = false;
    m->offset = 0;
}

static bool has_nodata(const struct zs_band_properties *m)
{
    return m->has_nodata;
}
static bool same_nodata(const struct zs_band_properties *a, const struct zs_band_properties *b)
{
    return a->has_nodata == b->has_nodata && (!a->has_nodata || memcmp(a->nodata, b->nodata, sizeof a->nodata) == 0);
}
static bool take_nodata(const zs_json *member, const struct zs_dtype *dtype, struct zs_band_properties *m)
{
    if (dtype != NULL)
        m->has_nodata = zs_missing_value_read(dtype, member, m->nodata);
    return true;
}
static bool put_nodata(zs_json *entry, const char *name, const struct zs_dtype *dtype,
                       const struct zs_band_properties *m)
{
    return zs_fill_value_add(entry, name, dtype, m->nodata) != NULL;
}
static void clear_nodata(struct zs_band_properties *m)
{
    m->has_nodata = false;
}

static bool same_list(char *const *a, char *const *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    while (*a != NULL && *b != NULL && strcmp(*a, *b) == 0)
        a++, b++;
    return *a == NULL && *b == NULL;
}

static bool has_categories(const struct zs_band_properties *m)
{
    return m->categories != NULL;
}
static bool same_categories(const struct zs_band_properties *a, const struct zs_band_properties *b)
{
    return same_list(a->categories, b->categories);
}
static void clear_categories(struct zs_band_properties *m)
{
    zs_metadata_free(m->categories);
    m->categories = NULL;
}
static bool take_categories(const zs_json *member, const struct zs_dtype *dtype, struct zs_band_properties *m)
{
    char **categories;
    (void)dtype;
    const bool ok = zs_category_list_read(member, &categories);
    if (!ok || categories == NULL) {
        zs_metadata_free(categories);
        return ok;
    }
    clear_categories(m);
    m->categories = categories;
    return true;
}
static bool put_categories(zs_json *entry, const char *name, const struct zs_dtype *dtype,
                           const struct zs_band_properties *m)
{
    zs_json *list = zs_json_add_array(entry, name);
    bool ok = list != NULL;
    (void)dtype;
    for (char *const *c = m->categories; ok && *c != NULL; c++)
        ok = zs_json_add_string(list, NULL, *c) != NULL;
    return ok;
}

static bool has_colour(const struct zs_band_properties *m)
{
    return zs_band_properties_colour_name(m) != NULL;
}
static bool same_colour(const struct zs_band_properties *a, const struct zs_band_properties *b)
{
    return is_same_text(zs_band_properties_colour_name(a), zs_band_properties_colour_name(b));
}
static bool take_colour(const zs_json *member, const struct zs_dtype *dtype, struct zs_band_properties *m)
{
    (void)dtype;
    const bool ok = take_text(member, &m->colour_name);
    m->colour = zs_colour_of_name(m->colour_name);
    return ok;
}
static bool put_colour(zs_json *entry, const char *name, const struct zs_dtype *dtype,
                       const struct zs_band_properties *m)
{
    (void)dtype;
    return zs_json_add_string(entry, name, zs_band_properties_colour_name(m)) != NULL;
}
static void clear_colour(struct zs_band_properties *m)
{
    clear_text(&m->colour_name);
    m->colour = ZS_COLOUR_NONE;
}

static bool has_colour_table(const struct zs_band_properties *m)
{
    return m->colour_table != NULL && m->colour_count > 0;
}
static bool same_colour_table(const struct zs_band_properties *a, const struct zs_band_properties *b)
{
    const size_t n = has_colour_table(a) ? a->colour_count : 0;
    return n == (has_colour_table(b) ? b->colour_count : 0) &&
           (n == 0 || memcmp(a->colour_table, b->colour_table, n * sizeof *a->colour_table) == 0);
}
static void clear_colour_table(struct zs_band_properties *m)
{
    free(m->colour_table);
    m->colour_table = NULL;
    m->colour_count = 0;
}
static bool take_colour_table(const zs_json *member, const struct zs_dtype *dtype, struct zs_band_properties *m)
{
    struct zs_colour_entry *table;
    size_t count;
    (void)dtype;
    if (!zs_colour_table_read(member, &table, &count))
        return false;
    if (table != NULL) {
        clear_colour_table(m);
        m->colour_table = table;
        m->colour_count = count;
    }
    return true;
}
static bool put_colour_table(zs_json *entry, const char *name, const struct zs_dtype *dtype,
                             const struct zs_band_properties *m)
{
    (void)dtype;
    return zs_colour_table_write(entry, name, m->colour_table, m->colour_count);
}

/* The properties of a band, by the member of its entry. A member that is null says that the band has none. */
static const struct property {
    unsigned bit; /* ZS_BAND_... */
    const char *member;
    bool (*has)(const struct zs_band_properties *m);
    bool (*is_same)(const struct zs_band_properties *a, const struct zs_band_properties *b);
    /* false: no memory */
    bool (*take)(const zs_json *member, const struct zs_dtype *dtype, struct zs_band_properties *m);
    bool (*put)(zs_json *entry, const char *name, const struct zs_dtype *dtype, const struct zs_band_properties *m);
    void (*clear)(struct zs_band_properties *m);
} properties[] = {
    {ZS_BAND_DESCRIPTION, "description", has_description, same_description, take_description, put_description,
     clear_description},
    {ZS_BAND_UNIT, "unit", has_unit, same_unit, take_unit, put_unit, clear_unit},
    {ZS_BAND_SCALE, "scale", has_scale, same_scale, take_scale, put_scale, clear_scale},
    {ZS_BAND_OFFSET, "offset", has_offset, same_offset, take_offset, put_offset, clear_offset},
    {ZS_BAND_NODATA, "nodata", has_nodata, same_nodata, take_nodata, put_nodata, clear_nodata},
    {ZS_BAND_CATEGORIES, "categories", has_categories, same_categories, take_categories, put_categories,
     clear_categories},
    {ZS_BAND_COLOUR, "color_interpretation", has_colour, same_colour, take_colour, put_colour, clear_colour},
    {ZS_BAND_COLOUR_TABLE, "color_table", has_colour_table, same_colour_table, take_colour_table, put_colour_table,
     clear_colour_table},
};
#define PROPERTIES (sizeof properties / sizeof properties[0])

/* ---- Reading ---- */

static bool take_metadata(const zs_json *member, struct zs_band_properties *m)
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

/* What one entry of gdal:bands says in the place of what the array says. False without memory. */
static bool take_band(const zs_json *entry, const struct zs_dtype *dtype, struct zs_band_properties *m)
{
    bool ok = true;
    for (size_t i = 0; i < PROPERTIES && ok; i++) {
        const zs_json *member = zs_json_get(entry, properties[i].member);
        if (member != NULL && zs_json_typeof(member) == ZS_JSON_NULL)
            properties[i].clear(m);
        else if (member != NULL)
            ok = properties[i].take(member, dtype, m);
    }
    return ok && take_metadata(zs_json_get(entry, "metadata"), m) &&
           zs_domains_read(zs_json_get(entry, DOMAINS_MEMBER), &m->domains);
}

/* A list that has an element for each band; NULL otherwise. */
static const zs_json *of_bands(const zs_json *attributes, const char *name, uint64_t bands)
{
    const zs_json *list = zs_json_get(attributes, name);
    return zs_json_is_array(list) && zs_json_size(list) == bands ? list : NULL;
}

/* The entries of the bands, from the first on: also fewer, where somebody who knows no entries made the array longer
 * along its only dimension of bands. NULL when they are of other bands. */
static const zs_json *entries_of(const zs_json *attributes, const struct zs_array_meta *meta, uint64_t bands)
{
    const zs_json *list = zs_json_get(attributes, ZS_BANDS_ATTRIBUTE);
    const size_t n = zs_json_is_array(list) ? zs_json_size(list) : SIZE_MAX;
    int d = 0;
    while (meta != NULL && d < meta->ndim - 1 && meta->shape[d] == 1)
        d++;
    const bool is_along_one = meta != NULL && meta->ndim > 0 && meta->shape[d] == bands;
    return n == bands || (n < bands && is_along_one) ? list : NULL;
}

static enum zs_status read_band(const struct zs_node *node, const struct zs_band_properties *base, bool is_only,
                                const zs_json *name, const zs_json *entry, struct zs_band_properties *result,
                                struct zs_error *err)
{
    struct zs_band_properties common = *base, m;
    common.metadata = NULL;
    common.domains = (struct zs_domains){0};
    if (!is_only)
        common.description = NULL;
    ZS_TRY(zs_band_properties_copy(&common, &m, err));
    const bool ok = take_text(name, &m.description) &&
                    take_band(entry, node->array != NULL ? &node->array->dtype : NULL, &m);
    if (!ok) {
        zs_band_properties_clear(&m);
        return zs_fail_memory(err);
    }
    *result = m;
    return ZS_OK;
}

enum zs_status zs_bands_read_some(const struct zs_node *node, uint64_t first, uint64_t count, uint64_t bands,
                                  const struct zs_band_properties *base, struct zs_band_properties *list,
                                  struct zs_error *err)
{
    const zs_json *name = zs_json_at(of_bands(node->attributes, "long_name", bands), (size_t)first);
    const zs_json *entry = zs_json_at(entries_of(node->attributes, node->array, bands), (size_t)first);
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

enum zs_status zs_band_read(const struct zs_node *node, uint64_t band, uint64_t bands,
                            const struct zs_band_properties *base, struct zs_band_properties *result,
                            struct zs_error *err)
{
    return zs_bands_read_some(node, band, 1, bands, base, result, err);
}

enum zs_status zs_bands_read(const struct zs_node *node, uint64_t bands, const struct zs_band_properties *base,
                             struct zs_band_properties **list, struct zs_error *err)
{
    *list = zs_calloc((size_t)bands, sizeof **list);
    if (*list == NULL)
        return zs_fail_memory(err);
    const enum zs_status status = zs_bands_read_some(node, 0, bands, bands, base, *list, err);
    if (status != ZS_OK) {
        free(*list);
        *list = NULL;
    }
    return status;
}

void zs_bands_free(struct zs_band_properties *list, uint64_t bands)
{
    for (uint64_t i = 0; i < bands && list != NULL; i++)
        zs_band_properties_clear(&list[i]);
    free(list);
}

/* ---- Writing ---- */

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

/* Properties that are written into the entries of the bands, of one of which an entry is made, and what the array says
 * of all bands. */
struct change {
    unsigned which, common; /* ZS_BAND_...; those in common are the array's alone */
    const struct zs_dtype *dtype;
    struct zs_band_properties array;
    bool knows_nodata; /* array.nodata is what the array says, not of one that is being made */
};

/* Puts what is the band's own into its entry: what the array does not say of it already. */
static bool change_entry(zs_json *e, const struct change *c, const struct zs_band_properties *m)
{
    bool ok = true;
    for (size_t i = 0; i < PROPERTIES && ok; i++) {
        const struct property *p = &properties[i];
        if ((c->which & p->bit) == 0)
            continue;
        zs_json_remove(e, p->member);
        const bool is_said = (p->bit != ZS_BAND_NODATA || c->knows_nodata) && p->is_same(m, &c->array);
        if ((c->common & p->bit) == 0 && !is_said)
            ok = p->has(m) ? p->put(e, p->member, c->dtype, m) : zs_json_add_null(e, p->member) != NULL;
    }
    if ((c->which & ZS_BAND_METADATA) == 0)
        return ok;
    return ok && change_metadata(e, m->metadata) && zs_domains_write(e, DOMAINS_MEMBER, &m->domains);
}

static bool all_have_description(const struct zs_band_properties *bands, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!has_description(&bands[i]))
            return false;
    return true;
}

static bool write_descriptions(zs_json *attributes, const struct zs_band_properties *bands, size_t count,
                               bool all_have_one)
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

/* Whether the attribute is there and is not a list of entries of these bands: then it is somebody else's. */
static bool is_foreign(const zs_json *attributes, const zs_json *entries)
{
    for (const zs_json *e = zs_json_first(entries); e != NULL; e = zs_json_next(e))
        if (!zs_json_is_object(e) && zs_json_typeof(e) != ZS_JSON_NULL)
            return true;
    return entries == NULL && zs_json_typeof(zs_json_get(attributes, ZS_BANDS_ATTRIBUTE)) != ZS_JSON_NULL;
}

/* The list of entries: that which is there, where it is one of these bands, else a new one. */
static enum zs_status write_entries(zs_json *attributes, const zs_json *old, const struct zs_band_properties *bands,
                                    size_t count, const struct change *change, struct zs_error *err)
{
    const bool stays = is_foreign(attributes, old);
    const zs_json *entry = zs_json_first(old);
    zs_json *list = zs_json_new_array();
    bool ok = list != NULL, any = false;
    for (size_t i = 0; i < count && ok; i++) {
        zs_json *e = zs_json_is_object(entry) ? zs_json_add(list, NULL, zs_json_copy(entry))
                                              : zs_json_add_object(list, NULL);
        ok = e != NULL && change_entry(e, change, &bands[i]);
        any = any || zs_json_size(e) > 0;
        entry = entry != NULL ? zs_json_next(entry) : NULL;
    }
    if (ok && any && !stays)
        return zs_json_set(attributes, ZS_BANDS_ATTRIBUTE, list) != NULL ? ZS_OK : zs_fail_memory(err);
    zs_json_free(list);
    if (ok && any)
        return zs_fail(err, ZS_INVALID,
                       "attribute " ZS_BANDS_ATTRIBUTE ": expected a list of %zu objects, one for each band; what is "
                       "set of single bands is not written over something else", count);
    if (ok && !stays && zs_json_size(old) > 0)
        zs_json_remove(attributes, ZS_BANDS_ATTRIBUTE);
    return ok ? ZS_OK : zs_fail_memory(err);
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

static const char *const flags[] = {"flag_values", "flag_meanings", "flag_masks", "gdal:categories"};

/* Whether flags stay as they are: they say these categories. CF's say more than categories can: bits, any values. */
static enum zs_status find_flags(const zs_json *attributes, char *const *categories, bool *stay, struct zs_error *err)
{
    char **said;
    const bool ok = zs_categories_read(attributes, &said);
    *stay = ok && same_list(said, categories);
    zs_metadata_free(said);
    return ok ? ZS_OK : zs_fail_memory(err);
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

/* Which properties of all bands the array says: those that are the same for all. Readers of CF take scale and offset
 * together, so that the array says both or none, unless it does. What it says of all bands stays where one of them
 * becomes another: that has it in its entry, and readers who know no entries read the others as before. */
static unsigned find_common(const struct zs_band_properties *bands, size_t count,
                            const struct zs_band_properties *array)
{
    unsigned common = 0;
    for (size_t p = 0; p < PROPERTIES; p++) {
        bool is_same = properties[p].bit != ZS_BAND_DESCRIPTION;
        for (size_t i = 0; i < count && is_same; i++)
            is_same = properties[p].is_same(&bands[0], &bands[i]);
        common |= is_same ? properties[p].bit : 0;
    }
    const unsigned pair = ZS_BAND_SCALE | ZS_BAND_OFFSET;
    if ((common & pair) != pair)
        common &= ~((array->has_scale ? 0u : ZS_BAND_SCALE) | (array->has_offset ? 0u : ZS_BAND_OFFSET));
    return common;
}

/* What of `which` is the same for all bands, in the first's; borrowed. */
static struct zs_band_properties common_properties(const struct zs_band_properties *first, unsigned which)
{
    struct zs_band_properties all = {0};
    if ((which & ZS_BAND_UNIT) != 0)
        all.unit = first->unit;
    if ((which & ZS_BAND_SCALE) != 0)
        all.has_scale = first->has_scale, all.scale = first->scale;
    if ((which & ZS_BAND_OFFSET) != 0)
        all.has_offset = first->has_offset, all.offset = first->offset;
    if ((which & ZS_BAND_CATEGORIES) != 0)
        all.categories = first->categories;
    if ((which & ZS_BAND_COLOUR) != 0)
        all.colour = first->colour, all.colour_name = first->colour_name;
    if ((which & ZS_BAND_COLOUR_TABLE) != 0)
        all.colour_table = first->colour_table, all.colour_count = first->colour_count;
    return all;
}

/* Puts what all bands have in common into the array's attributes. */
static enum zs_status write_common(zs_json *attributes, const struct zs_band_properties *first, unsigned which,
                                   struct zs_error *err)
{
    struct zs_band_properties all = common_properties(first, which);
    bool keeps_flags = true;
    if ((which & ZS_BAND_CATEGORIES) != 0)
        ZS_TRY(find_flags(attributes, first->categories, &keeps_flags, err));
    for (size_t i = 0; i < sizeof flags / sizeof flags[0] && !keeps_flags; i++)
        zs_json_remove(attributes, flags[i]);
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        if ((which & owned[i].property) != 0)
            zs_json_remove(attributes, owned[i].name);
    if (keeps_flags)
        all.categories = NULL;
    return zs_write_band_properties(attributes, &all, err);
}

enum zs_status zs_bands_write(zs_json *attributes, const struct zs_dtype *dtype, const struct zs_array_meta *meta,
                              bool is_new, const struct zs_band_properties *bands, size_t count, unsigned which,
                              struct zs_error *err)
{
    const char *name;
    const struct zs_node array = {
        .path = "", .type = ZS_NODE_ARRAY, .attributes = attributes, .array = (struct zs_array_meta *)(uintptr_t)meta};
    struct change change = {.which = which, .dtype = dtype, .knows_nodata = !is_new};
    if (count == 0)
        return ZS_OK;
    if ((which & (ZS_BAND_SCALE | ZS_BAND_OFFSET)) != 0)
        change.which |= ZS_BAND_SCALE | ZS_BAND_OFFSET;
    const zs_json *old = entries_of(attributes, meta, count);
    ZS_TRY(zs_band_properties_read(&array, &change.array, err));
    change.common = find_common(bands, count, &change.array);
    zs_band_properties_clear(&change.array);
    /* A name of the whole is not one of its bands. */
    const bool is_named = zs_json_string(zs_json_get(attributes, "long_name"), &name);
    const bool all_described = all_have_description(bands, count) && (count == 1 || !is_named);
    if (all_described)
        change.common |= ZS_BAND_DESCRIPTION;
    ZS_TRY(write_common(attributes, &bands[0], change.which & change.common, err));
    if ((which & ZS_BAND_DESCRIPTION) != 0 && !write_descriptions(attributes, bands, count, all_described))
        return zs_fail_memory(err);
    ZS_TRY(zs_band_properties_read(&array, &change.array, err));
    free(change.array.description); /* of the whole, not of a band */
    change.array.description = NULL;
    const enum zs_status status = write_entries(attributes, old, bands, count, &change, err);
    zs_band_properties_clear(&change.array);
    return status;
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
            status = zs_fail_memory(err);
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
