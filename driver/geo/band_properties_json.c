/* Values of band properties in JSON: numbers, colours, categories. */
#include "geo/band_properties_json.h"

#include <stdlib.h>
#include <string.h>

#include <cpl_conv.h>

#include "base/memory.h"
#include "geo/scope.h"

/* Category names are a list indexed by value: a value of a million would make a million names. */
#define MAX_CATEGORIES 65536

bool zs_number_of_text(const char *text, double *out)
{
    char *end;
    const double value = CPLStrtod(text, &end);
    /* CPLStrtod() reads "nan" and "inf" in many spellings, which is welcome. */
    if (end == text || end[strspn(end, " ")] != '\0')
        return false;
    *out = value;
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
    struct zs_names names = {0};
    enum zs_status status = ZS_OK;
    *categories = NULL;
    if (!zs_json_is_array(list) || zs_json_size(list) > MAX_CATEGORIES)
        return true;
    for (const zs_json *c = zs_json_first(list); c != NULL && status == ZS_OK; c = zs_json_next(c)) {
        const char *text = "";
        zs_json_string(c, &text);
        status = zs_names_add(&names, zs_strdup(text), NULL);
    }
    if (status != ZS_OK)
        zs_names_free(names.list);
    else
        *categories = names.list;
    return status == ZS_OK;
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
        if (flag_value(e, &v)) { /* always: all values were checked above */
            char *old = (*categories)[v];
            (*categories)[v] = copy;
            copy = old;
        }
        free(copy);
    }
    return true;
}

static bool set(zs_json *object, const char *name, zs_json *value)
{
    return value != NULL && zs_json_set(object, name, value) != NULL;
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

bool zs_categories_write(zs_json *attributes, char *const *categories)
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
