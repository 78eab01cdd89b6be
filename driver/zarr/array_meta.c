/* The metadata of an array: a row for each member of its zarr.json. */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/memory.h"
#include "zarr/node.h"

/* What is parsed. */
struct parsing {
    const zs_json *document;
    struct zs_array_meta *meta;
    enum zs_meta_kind kind;
    const char *name; /* of the extension that the member is, */
    const zs_json *configuration;
};

/* Whether the product of sizes fits 64 bits. Sizes of zero are left out, so that no part of the product (a stride, a
 * number of rows) overflows either. */
static bool product_fits(const uint64_t *sizes, int n, uint64_t unit)
{
    uint64_t product = unit;
    for (int i = 0; i < n; i++)
        if (sizes[i] != 0 && !zs_mul_u64(product, sizes[i], &product))
            return false;
    return true;
}

static enum zs_status parse_shape(const zs_json *shape, struct parsing *p, struct zs_error *err)
{
    struct zs_array_meta *meta = p->meta;
    if (zs_json_size(shape) > ZS_MAX_NDIM)
        return zs_fail(err, ZS_UNSUPPORTED, "shape: expected at most %d dimensions, found %zu", ZS_MAX_NDIM,
                       zs_json_size(shape));
    for (const zs_json *size = zs_json_first(shape); size != NULL; size = zs_json_next(size), meta->ndim++)
        if (!zs_json_uint64(size, &meta->shape[meta->ndim]))
            return zs_fail_found(err, ZS_INVALID, size,
                                 "shape[%d]: expected an integer of 0 to 18446744073709551615", meta->ndim);
    return product_fits(meta->shape, meta->ndim, 1)
               ? ZS_OK
               : zs_fail_found(err, ZS_INVALID, shape, "shape: expected fewer than 2^64 elements");
}

static enum zs_status parse_type(const zs_json *type, struct parsing *p, struct zs_error *err)
{
    struct zs_array_meta *meta = p->meta;
    if (p->kind == ZS_META_TEXT)
        return zs_text_dtype_parse(type, &meta->dtype, err);
    ZS_TRY(zs_dtype_parse(type, &meta->dtype, err));
    ZS_TRY(zs_fill_value_parse(&meta->dtype, zs_json_get(p->document, "fill_value"), meta->fill_value,
                               &meta->fill_value_is_null, err));
    zs_dtype_apply_unsigned(&meta->dtype, zs_json_get(p->document, "attributes"));
    return ZS_OK;
}

static enum zs_status parse_chunk_grid(const zs_json *grid, struct parsing *p, struct zs_error *err)
{
    struct zs_array_meta *meta = p->meta;
    (void)grid;
    ZS_TRY(zs_chunk_grid_parse(p->name, p->configuration, meta, err));
    /* The number of chunks fits because the number of elements does: no chunk is smaller than an element. */
    return product_fits(meta->chunk_shape, meta->ndim, meta->dtype.size)
               ? ZS_OK
               : zs_fail_found(err, ZS_INVALID, p->configuration,
                               "chunk_grid: expected chunks of fewer than 2^64 bytes");
}

static enum zs_status parse_chunk_key_encoding(const zs_json *encoding, struct parsing *p, struct zs_error *err)
{
    static const char *const known[] = {"separator", NULL};
    struct zs_array_meta *meta = p->meta;
    const zs_json *separator = zs_json_get(p->configuration, "separator");
    (void)encoding;
    meta->key_is_v2 = strcmp(p->name, "v2") == 0;
    if (!meta->key_is_v2 && strcmp(p->name, "default") != 0)
        return zs_fail(err, ZS_UNSUPPORTED, "chunk_key_encoding \"%.100s\" is not supported", p->name);
    const enum zs_status status = zs_members_check(p->configuration, known, err);
    if (status != ZS_OK)
        return zs_fail_in(err, status, "chunk_key_encoding \"%s\"", p->name);
    if (separator != NULL && !zs_json_equals(separator, "/") && !zs_json_equals(separator, "."))
        return zs_fail_found(err, ZS_INVALID, separator,
                             "chunk_key_encoding \"%s\": expected \"/\" or \".\" as separator", p->name);
    meta->key_separator = zs_json_text(p->configuration, "separator", meta->key_is_v2 ? "." : "/")[0];
    return ZS_OK;
}

static enum zs_status parse_codecs(const zs_json *codecs, struct parsing *p, struct zs_error *err)
{
    struct zs_array_meta *meta = p->meta;
    if (codecs == NULL) {
        codecs = meta->missing_codecs = zs_json_new_array();
        if (zs_json_add_string(meta->missing_codecs, NULL, "bytes") == NULL)
            return zs_fail_memory(err);
    }
    meta->codecs = codecs;
    if (!zs_json_is_array(codecs) || zs_json_first(codecs) == NULL)
        return zs_fail_found(err, ZS_INVALID, codecs, "codecs: expected an array of at least one codec");
    size_t i = 0;
    for (const zs_json *codec = zs_json_first(codecs); codec != NULL; codec = zs_json_next(codec), i++) {
        const char *name = zs_extension_name(codec, NULL);
        if (name == NULL)
            return zs_fail_found(err, ZS_INVALID, codec, "codecs[%zu]: expected a string or an object with a \"name\"",
                                 i);
        meta->is_sharded = meta->is_sharded || strcmp(name, "sharding_indexed") == 0;
    }
    return ZS_OK;
}

static enum zs_status check_storage_transformers(const zs_json *list, struct parsing *p, struct zs_error *err)
{
    (void)p;
    if (zs_json_first(list) == NULL)
        return ZS_OK;
    const char *name = zs_extension_name(zs_json_first(list), NULL);
    return zs_fail(err, ZS_UNSUPPORTED, "storage transformer \"%.100s\" is not supported", name != NULL ? name : "?");
}

static enum zs_status parse_dimension_names(const zs_json *names, struct parsing *p, struct zs_error *err)
{
    struct zs_array_meta *meta = p->meta;
    int d = 0;
    if (names != NULL && zs_json_size(names) != (size_t)meta->ndim)
        return zs_fail(err, ZS_INVALID, "dimension_names: expected an array of %d names, found %zu entries", meta->ndim,
                       zs_json_size(names));
    for (const zs_json *c = zs_json_first(names); c != NULL; c = zs_json_next(c))
        if (zs_json_typeof(c) != ZS_JSON_STRING && zs_json_typeof(c) != ZS_JSON_NULL)
            return zs_fail_found(err, ZS_INVALID, c, "dimension_names: expected strings or null");
    if (names == NULL) /* xarray's attribute in Zarr v2, which converted stores still have: an odd one is no error */
        names = zs_json_get(zs_json_get(p->document, "attributes"), "_ARRAY_DIMENSIONS");
    if (!zs_json_is_array(names) || zs_json_size(names) != (size_t)meta->ndim)
        return ZS_OK;
    for (const zs_json *c = zs_json_first(names); c != NULL; c = zs_json_next(c), d++) {
        const char *name;
        if (!zs_json_string(c, &name) || name[0] == '\0')
            continue;
        meta->dimension_names[d] = zs_strdup(name);
        ZS_TRY_MEMORY(meta->dimension_names[d], err);
    }
    return ZS_OK;
}

/* ---- The members, each after those that it needs ---- */

static const struct member {
    const char *name;
    enum { ANY, LIST, OBJECT, EXTENSION } form; /* null is like an absent one, but for an extension */
    bool is_needed;
    enum zs_status (*parse)(const zs_json *value, struct parsing *p, struct zs_error *err);
    bool is_for_keys;
} members[] = {{"storage_transformers", LIST, false, check_storage_transformers, false},
               {"attributes", OBJECT, false, NULL, false},
               {"shape", LIST, true, parse_shape, true},
               {"data_type", ANY, true, parse_type, false},
               {"chunk_grid", EXTENSION, true, parse_chunk_grid, false},
               {"chunk_key_encoding", EXTENSION, true, parse_chunk_key_encoding, true},
               {"codecs", ANY, false, parse_codecs, false},
               {"dimension_names", LIST, false, parse_dimension_names, false}};
#define MEMBER_COUNT (sizeof members / sizeof members[0])

static enum zs_status parse_member(const struct member *m, struct parsing *p, struct zs_error *err)
{
    const zs_json *value = zs_json_get(p->document, m->name);
    if (value == NULL && m->is_needed)
        return zs_fail(err, ZS_INVALID, "%s is missing", m->name);
    if (m->form == EXTENSION) {
        p->name = zs_extension_name(value, &p->configuration);
        if (p->name == NULL)
            return zs_fail_found(err, ZS_INVALID, value, "%s: expected a string or an object with a \"name\"", m->name);
        if (p->configuration != NULL && !zs_json_is_object(p->configuration))
            return zs_fail_found(err, ZS_INVALID, p->configuration,
                                 "%s \"%.100s\": expected an object as configuration", m->name, p->name);
    } else if (m->form != ANY) {
        const bool is_absent = zs_json_typeof(value) == ZS_JSON_NULL && !m->is_needed;
        if (!is_absent && !(m->form == LIST ? zs_json_is_array(value) : zs_json_is_object(value)))
            return zs_fail_found(err, ZS_INVALID, value, "%s: expected an %s", m->name,
                                 m->form == LIST ? "array" : "object");
        value = is_absent ? NULL : value;
    }
    return m->parse != NULL ? m->parse(value, p, err) : ZS_OK;
}

static enum zs_status parse(struct parsing *p, struct zs_error *err)
{
    const char *known[MEMBER_COUNT + 5] = {"zarr_format", "node_type", "fill_value", "consolidated_metadata"};
    for (size_t i = 0; i < MEMBER_COUNT; i++)
        known[4 + i] = members[i].name;
    if (p->kind != ZS_META_KEYS)
        ZS_TRY(zs_members_check(p->document, known, err));
    for (size_t i = 0; i < MEMBER_COUNT; i++)
        if (p->kind != ZS_META_KEYS || members[i].is_for_keys)
            ZS_TRY(parse_member(&members[i], p, err));
    return ZS_OK;
}

enum zs_status zs_array_meta_parse(const zs_json *document, enum zs_meta_kind kind, struct zs_array_meta **out,
                                   struct zs_error *err)
{
    struct parsing p = {.document = document, .meta = zs_calloc(1, sizeof **out), .kind = kind};
    ZS_TRY_MEMORY(p.meta, err);
    const enum zs_status status = parse(&p, err);
    if (status == ZS_OK)
        *out = p.meta;
    else
        zs_array_meta_free(p.meta);
    return status;
}

void zs_array_meta_free(struct zs_array_meta *meta)
{
    if (meta == NULL)
        return;
    for (int i = 0; i < ZS_MAX_NDIM; i++) {
        free(meta->dimension_names[i]);
        free(meta->edges[i]);
    }
    zs_json_free(meta->missing_codecs);
    free(meta);
}
