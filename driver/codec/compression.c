#include "codec/compression.h"

#include <string.h>

#include "codec/chain.h"

static const char NUMCODECS[] = "numcodecs.";

static const char *name_of(const zs_json *codec)
{
    const char *name = "";
    if (!zs_json_string(codec, &name))
        zs_json_string(zs_json_get(codec, "name"), &name);
    return strncmp(name, NUMCODECS, strlen(NUMCODECS)) == 0 ? name + strlen(NUMCODECS) : name;
}

/* Blosc is called by what is inside. */
static const char *compressor(const char *codec, const zs_json *configuration)
{
    if (strcmp(codec, "blosc") == 0)
        zs_json_string(zs_json_get(configuration, "cname"), &codec);
    if (strcmp(codec, "zstd") == 0)
        return "ZSTD";
    return strcmp(codec, "gzip") == 0 || strcmp(codec, "zlib") == 0 ? "DEFLATE" : NULL;
}

static const char *find(const zs_json *codecs, int depth)
{
    const char *outer = NULL, *inner = NULL;
    for (const zs_json *c = zs_json_first(codecs); c != NULL; c = zs_json_next(c)) {
        const zs_json *configuration = zs_json_get(c, "configuration");
        const char *name = name_of(c), *found = compressor(name, configuration);
        if (found != NULL)
            outer = found;
        if (strcmp(name, "sharding_indexed") == 0 && depth < ZS_MAX_LEVELS)
            inner = find(zs_json_get(configuration, "codecs"), depth + 1);
    }
    return inner != NULL ? inner : outer;
}

const char *zs_compression_name(const struct zs_array_meta *meta)
{
    return find(meta->codecs, 0);
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
