#include "geo/flags.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "geo/conventions.h"

/* ---- Reading ---- */

static size_t list_size(const zs_json *list)
{
    return zs_json_is_array(list) ? zs_json_size(list) : 0;
}

/* The words of an attribute, a text or a list of texts; none (NULL) of another. Freed with zs_names_free(). */
static enum zs_status read_words(const zs_json *attribute, struct zs_names *words, struct zs_error *err)
{
    const char *text;
    char word[256];
    enum zs_status status = ZS_OK;
    *words = (struct zs_names){0};
    const zs_json *e = zs_json_is_array(attribute) ? zs_json_first(attribute) : NULL;
    if (zs_json_string(attribute, &text))
        while (status == ZS_OK && words->count <= ZS_MAX_FLAGS &&
               (text = zs_next_word(text, word, sizeof word)) != NULL)
            status = zs_names_add(words, zs_strdup(word), err);
    for (; e != NULL && status == ZS_OK && words->count <= ZS_MAX_FLAGS; e = zs_json_next(e))
        status = zs_names_add(words, zs_strdup(zs_json_string(e, &text) ? text : ""), err);
    return status;
}

/* "#rrggbb" */
static bool read_colour(const char *text, struct zs_flag *flag)
{
    if (text[0] != '#' || strlen(text) != 7 || strspn(text + 1, "0123456789abcdefABCDEF") != 6)
        return false;
    const unsigned long rgb = strtoul(text + 1, NULL, 16);
    flag->r = (unsigned char)(rgb >> 16);
    flag->g = (unsigned char)(rgb >> 8);
    flag->b = (unsigned char)rgb;
    return true;
}

static enum zs_status read_colours(const zs_json *attribute, struct zs_flags *flags, struct zs_error *err)
{
    struct zs_names words;
    const enum zs_status status = read_words(attribute, &words, err);
    flags->has_colours = words.count == flags->count;
    for (size_t i = 0; i < flags->count && flags->has_colours; i++)
        flags->has_colours = read_colour(words.list[i], &flags->list[i]);
    zs_names_free(words.list);
    return status;
}

/* Masks and values of all flags. */
static bool read_numbers(const zs_json *values, const zs_json *masks, struct zs_flags *flags)
{
    const zs_json *v = zs_json_first(values), *m = zs_json_first(masks);
    for (size_t i = 0; i < flags->count; i++, v = zs_json_next(v), m = zs_json_next(m)) {
        struct zs_flag *f = &flags->list[i];
        f->mask = -1;
        if ((flags->has_masks && !zs_json_int64(m, &f->mask)) || (flags->has_values && !zs_json_int64(v, &f->value)))
            return false;
        if (!flags->has_values)
            f->value = f->mask;
        if (flags->has_masks && f->mask == 0)
            return false; /* no bit at all */
    }
    return true;
}

enum zs_status zs_flags_read(const zs_json *attributes, struct zs_flags *flags, struct zs_error *err)
{
    const zs_json *values = zs_json_get(attributes, "flag_values"), *masks = zs_json_get(attributes, "flag_masks");
    const size_t value_count = list_size(values), mask_count = list_size(masks);
    struct zs_flags f = {.has_masks = mask_count > 0, .has_values = value_count > 0};
    struct zs_names names;
    *flags = (struct zs_flags){0};
    f.count = f.has_masks ? mask_count : value_count;
    if (f.count == 0 || f.count > ZS_MAX_FLAGS || (f.has_masks && f.has_values && mask_count != value_count))
        return ZS_OK;
    f.list = zs_calloc(f.count, sizeof *f.list);
    ZS_TRY_MEMORY(f.list, err);
    enum zs_status status = read_words(zs_json_get(attributes, "flag_meanings"), &names, err);
    const bool is_whole = status == ZS_OK && names.count == f.count && read_numbers(values, masks, &f);
    for (size_t i = 0; i < f.count && is_whole; i++) {
        f.list[i].name = names.list[i];
        names.list[i] = NULL;
    }
    if (is_whole)
        status = read_colours(zs_json_get(attributes, "flag_colors"), &f, err);
    zs_names_free(names.list);
    if (status == ZS_OK && is_whole)
        *flags = f;
    else
        zs_flags_clear(&f);
    return status;
}

void zs_flags_clear(struct zs_flags *flags)
{
    for (size_t i = 0; i < flags->count && flags->list != NULL; i++)
        free(flags->list[i].name);
    free(flags->list);
    *flags = (struct zs_flags){0};
}

/* ---- Validity ---- */

static bool is_one_of(const char *word, const char *const *list)
{
    char plain[32];
    size_t n = 0;
    for (; word[n] != '\0' && n + 1 < sizeof plain; n++)
        plain[n] = word[n] == '-' ? '_' : word[n];
    plain[n] = '\0';
    for (; *list != NULL && word[n] == '\0'; list++)
        if (zs_equals_ignoring_case(plain, *list))
            return true;
    return false;
}

/* 1: valid, -1: invalid, 0: something else. */
static int validity_of(const char *word)
{
    static const char *const valid[] = {"valid", "good", "ok", "usable", "is_valid", "valid_data", NULL};
    static const char *const invalid[] = {"invalid", "not_valid",    "bad",      "no_data", "nodata",
                                          "missing", "missing_data", "unusable", "fill",    "not_written", NULL};
    return is_one_of(word, valid) ? 1 : is_one_of(word, invalid) ? -1 : 0;
}

static bool is_type_of_flags(enum zs_data_type type)
{
    return type == ZS_BOOL || type == ZS_UINT8 || type == ZS_INT8 || type == ZS_UINT16 || type == ZS_INT16 ||
           type == ZS_UINT32 || type == ZS_INT32;
}

/* Whether the flags are those of GDAL's masks: 255 and 0, of bytes. */
static bool is_plain(const struct zs_flags *flags, enum zs_data_type type, const struct zs_validity *v)
{
    bool is = type == ZS_UINT8 && !flags->has_masks && v->count == 2 && v->flags[0].value != v->flags[1].value;
    for (size_t i = 0; i < v->count; i++)
        is = is && v->flags[i].value == (v->flags[i].is_valid ? 255 : 0);
    return is;
}

static bool validity_of_flags(const struct zs_flags *flags, enum zs_data_type type, struct zs_validity *v)
{
    size_t valid = 0, invalid = 0;
    if (flags->count == 0 || flags->count > ZS_MAX_VALIDITY_FLAGS)
        return false;
    for (size_t i = 0; i < flags->count; i++) {
        const struct zs_flag *f = &flags->list[i];
        const int validity = validity_of(f->name);
        if (validity == 0 && flags->has_masks)
            continue;
        if (validity == 0)
            return false;
        v->flags[v->count].mask = f->mask;
        v->flags[v->count].value = f->value;
        v->flags[v->count++].is_valid = validity > 0;
        valid += validity > 0;
        invalid += validity < 0;
    }
    v->needs_valid = valid > 0;
    if (flags->has_masks)
        return valid + invalid > 0;
    if (type == ZS_BOOL && flags->count == 1 && (v->flags[0].value == 0 || v->flags[0].value == 1)) {
        v->flags[1] = v->flags[0];
        v->flags[1].value = 1 - v->flags[0].value;
        v->flags[1].is_valid = !v->flags[0].is_valid;
        v->needs_valid = true;
        v->count = 2;
        return true;
    }
    return valid > 0 && invalid > 0;
}

bool zs_validity_read(const struct zs_node *node, struct zs_validity *validity)
{
    struct zs_validity v = {.kind = ZS_VALID_FLAGS};
    struct zs_flags flags;
    if (node->array == NULL || !is_type_of_flags(node->array->dtype.type) ||
        zs_flags_read(node->attributes, &flags, NULL) != ZS_OK)
        return false;
    const bool is_known = validity_of_flags(&flags, node->array->dtype.type, &v);
    v.is_plain = is_known && is_plain(&flags, node->array->dtype.type, &v);
    zs_flags_clear(&flags);
    if (is_known)
        *validity = v;
    return is_known;
}

bool zs_validity_of(const struct zs_validity *v, double element)
{
    if (v->kind == ZS_VALID_FINITE)
        return isfinite(element);
    if (v->kind == ZS_VALID_TRUE)
        return element != 0;
    const int64_t bits = (int64_t)element; /* of at most 32 bits */
    bool is_valid = !v->needs_valid;
    for (size_t i = 0; i < v->count; i++) {
        if ((bits & v->flags[i].mask) != v->flags[i].value)
            continue;
        if (!v->flags[i].is_valid)
            return false;
        is_valid = true;
    }
    return is_valid;
}
