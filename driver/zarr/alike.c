#include "zarr/alike.h"

#include <string.h>

#include "base/memory.h"

/* A text of an extension's configuration, or its default. */
static const char *text_of(const zs_json *extension, const char *member, const char *otherwise)
{
    const char *text = otherwise;
    zs_json_string(zs_json_get(zs_json_get(extension, "configuration"), member), &text);
    return text;
}

static const char *separator_of(const zs_json *encoding)
{
    return text_of(encoding, "separator", strcmp(zs_extension_name(encoding, NULL), "v2") == 0 ? "." : "/");
}

/* Whether an encoding has no member but the separator. */
static bool has_separator_alone(const zs_json *encoding)
{
    const zs_json *configuration = zs_json_get(encoding, "configuration");
    return zs_json_size(configuration) == (zs_json_get(configuration, "separator") != NULL ? 1 : 0);
}

static bool are_keys_alike(const zs_json *a, const zs_json *b)
{
    const char *name = zs_extension_name(a, NULL), *other = zs_extension_name(b, NULL);
    return name != NULL && other != NULL && strcmp(name, other) == 0 && has_separator_alone(a) &&
           has_separator_alone(b) && strcmp(separator_of(a), separator_of(b)) == 0;
}

/* A number may be spelled in many ways. */
static bool is_fill_alike(const struct zs_array_meta *meta, const zs_json *a, const zs_json *b)
{
    unsigned char x[ZS_MAX_ITEM_SIZE] = {0}, y[ZS_MAX_ITEM_SIZE] = {0};
    bool x_is_null = false, y_is_null = false;
    return meta != NULL && zs_fill_value_parse(&meta->dtype, a, x, &x_is_null, NULL) == ZS_OK &&
           zs_fill_value_parse(&meta->dtype, b, y, &y_is_null, NULL) == ZS_OK && x_is_null == y_is_null &&
           memcmp(x, y, meta->dtype.size) == 0;
}

static bool are_codecs_alike(const zs_json *a, const zs_json *b);

static bool are_shards_alike(const zs_json *a, const zs_json *b)
{
    const zs_json *x = zs_json_get(a, "configuration"), *y = zs_json_get(b, "configuration");
    return zs_json_is_same(zs_json_get(x, "chunk_shape"), zs_json_get(y, "chunk_shape")) &&
           are_codecs_alike(zs_json_get(x, "codecs"), zs_json_get(y, "codecs")) &&
           are_codecs_alike(zs_json_get(x, "index_codecs"), zs_json_get(y, "index_codecs")) &&
           strcmp(text_of(a, "index_location", "end"), text_of(b, "index_location", "end")) == 0;
}

static bool is_codec_alike(const zs_json *a, const zs_json *b)
{
    static const char *const told_by_chunks[] = {"blosc", "gzip", "zstd", NULL}; /* each tells how to decode it */
    const char *name = zs_extension_name(a, NULL), *other = zs_extension_name(b, NULL);
    if (zs_json_is_same(a, b))
        return true;
    if (name == NULL || other == NULL || strcmp(name, other) != 0)
        return false;
    if (strcmp(name, "sharding_indexed") == 0)
        return are_shards_alike(a, b);
    if (strcmp(name, "bytes") == 0)
        return strcmp(text_of(a, "endian", "little"), text_of(b, "endian", "little")) == 0;
    return zs_is_one_of(name, told_by_chunks) ||
           zs_json_size(zs_json_get(a, "configuration")) + zs_json_size(zs_json_get(b, "configuration")) == 0;
}

static bool are_codecs_alike(const zs_json *a, const zs_json *b)
{
    const zs_json *x = zs_json_first(a), *y = zs_json_first(b);
    bool alike = zs_json_size(a) == zs_json_size(b);
    for (; alike && x != NULL && y != NULL; x = zs_json_next(x), y = zs_json_next(y))
        alike = is_codec_alike(x, y);
    return alike;
}

bool zs_is_alike(const struct zs_array_meta *meta, const char *member, const zs_json *a, const zs_json *b)
{
    if (zs_json_is_same(a, b))
        return true;
    if (strcmp(member, "chunk_key_encoding") == 0)
        return are_keys_alike(a, b);
    if (strcmp(member, "storage_transformers") == 0)
        return zs_json_size(a) + zs_json_size(b) == 0;
    if (strcmp(member, "fill_value") == 0)
        return is_fill_alike(meta, a, b);
    return strcmp(member, "codecs") == 0 && a != NULL && b != NULL && are_codecs_alike(a, b);
}
