#include "codec/description.h"

#include <string.h>

#include "codec/chain.h"
#include "codec/codec.h"

static const char NUMCODECS[] = "numcodecs.";

static const char *name_of(const zs_json *codec)
{
    const char *name = zs_extension_name(codec, NULL);
    if (name == NULL)
        return "";
    return strncmp(name, NUMCODECS, strlen(NUMCODECS)) == 0 ? name + strlen(NUMCODECS) : name;
}

/* The compressor of a codec; of blosc, the one inside. */
static const char *compressor(const zs_json *codec)
{
    const char *name = name_of(codec);
    if (strcmp(name, "blosc") == 0)
        zs_json_string(zs_json_get(zs_json_get(codec, "configuration"), "cname"), &name);
    if (strcmp(name, "zstd") == 0)
        return "ZSTD";
    return strcmp(name, "gzip") == 0 || strcmp(name, "zlib") == 0 ? "DEFLATE" : NULL;
}

static bool is_compressor(const zs_json *codec)
{
    return compressor(codec) != NULL;
}

static bool is_blosc(const zs_json *codec)
{
    return zs_json_equals(zs_json_get(codec, "name"), "blosc");
}

/* The last codec of that kind that encodes the innermost chunks, else the shards around them; NULL without one. */
static const zs_json *find(const zs_json *codecs, bool (*is_of_kind)(const zs_json *codec), int depth)
{
    const zs_json *outer = NULL, *inner = NULL;
    for (const zs_json *c = zs_json_first(codecs); c != NULL; c = zs_json_next(c)) {
        if (is_of_kind(c))
            outer = c;
        if (strcmp(name_of(c), "sharding_indexed") == 0 && depth < ZS_MAX_LEVELS)
            inner = find(zs_json_get(zs_json_get(c, "configuration"), "codecs"), is_of_kind, depth + 1);
    }
    return inner != NULL ? inner : outer;
}

const char *zs_compression_name(const struct zs_array_meta *meta)
{
    const zs_json *codec = find(meta->codecs, is_compressor, 0);
    return codec != NULL ? compressor(codec) : NULL;
}

const char *zs_blosc_filter_name(const struct zs_array_meta *meta)
{
    const zs_json *codec = find(meta->codecs, is_blosc, 0);
    const zs_json *shuffle = zs_json_get(zs_json_get(codec, "configuration"), "shuffle");
    if (zs_json_equals(shuffle, "shuffle"))
        return "BYTE";
    return zs_json_equals(shuffle, "bitshuffle") ? "BIT" : zs_json_equals(shuffle, "noshuffle") ? "NONE" : NULL;
}

static bool set_integer(zs_json *configuration, const char *member, int value)
{
    zs_json_remove(configuration, member);
    return zs_json_add_int64(configuration, member, value) != NULL;
}

bool zs_blosc_set(zs_json *codecs, const struct zs_blosc_settings *settings)
{
    zs_json *codec = (zs_json *)(uintptr_t)find(codecs, is_blosc, 0); /* of what the caller owns */
    zs_json *configuration = codec != NULL ? zs_json_get_mutable(codec, "configuration") : NULL;
    return configuration != NULL && zs_json_set_string(configuration, "shuffle", settings->shuffle) &&
           set_integer(configuration, "clevel", settings->level) &&
           set_integer(configuration, "blocksize", settings->block_size);
}

static bool has_checksum(const zs_json *codecs, int depth)
{
    bool has = false;
    for (const zs_json *c = zs_json_first(codecs); c != NULL && depth < ZS_MAX_LEVELS; c = zs_json_next(c)) {
        if (strcmp(name_of(c), "sharding_indexed") == 0)
            return has_checksum(zs_json_get(zs_json_get(c, "configuration"), "codecs"), depth + 1);
        has = has || strcmp(name_of(c), "crc32c") == 0;
    }
    return has;
}

bool zs_has_chunk_checksum(const struct zs_array_meta *meta)
{
    return has_checksum(meta->codecs, 0);
}

/* ---- Terms of the metadata ---- */

/* Reads one list of codecs. Returns the list of a shard's chunks; NULL where there is none. */
static const zs_json *read_list(const zs_json *codecs, const struct zs_array_meta *meta, struct zs_terms *terms)
{
    size_t compressors = 0;
    const zs_json *inner = NULL;
    for (const zs_json *c = zs_json_first(codecs); c != NULL && inner == NULL; c = zs_json_next(c)) {
        const zs_json *configuration;
        const struct zs_codec *codec;
        const char *name = zs_extension_name(c, &configuration);
        if (name == NULL || zs_codec_find(name, &codec, NULL) != ZS_OK) {
            terms->is_all = false;
        } else if (codec->kind == ZS_BYTES_TO_BYTES) {
            terms->compressor = compressors++ == 0 ? c : NULL;
        } else if (codec->arrange != NULL) {
            inner = codec->kind == ZS_ARRAY_TO_BYTES ? zs_json_get(configuration, "codecs") : NULL;
        } else if (strcmp(codec->name, "bytes") == 0) {
            terms->has_endian = meta->dtype.swap_unit > 1 && !meta->dtype.is_bfloat16 &&
                                zs_endian_parse(configuration, &terms->is_big_endian, NULL) == ZS_OK;
        } else {
            terms->is_all = false;
        }
    }
    terms->is_all = terms->is_all && (inner != NULL || compressors < 2);
    return inner;
}

void zs_terms_find(const struct zs_array_meta *meta, struct zs_terms *terms)
{
    *terms = (struct zs_terms){.is_all = true};
    for (const zs_json *list = meta->codecs; list != NULL;)
        list = read_list(list, meta, terms);
}
