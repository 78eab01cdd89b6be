#include "codec/chain.h"

#include <string.h>

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

/* The codecs of the chunks of a shard, of which a list of codecs makes one; else NULL. */
static const zs_json *inner_codecs(const zs_json *codecs)
{
    const zs_json *c = zs_json_first(codecs);
    while (c != NULL && strcmp(name_of(c), "sharding_indexed") != 0)
        c = zs_json_next(c);
    return zs_json_get(zs_json_get(c, "configuration"), "codecs");
}

/* The last codec of that kind that encodes the innermost chunks, else the shards around them; NULL without one. */
static const zs_json *find(const zs_json *codecs, bool (*is_of_kind)(const zs_json *codec))
{
    const zs_json *found = NULL;
    for (; codecs != NULL; codecs = inner_codecs(codecs)) /* no deeper than a document */
        for (const zs_json *c = zs_json_first(codecs); c != NULL; c = zs_json_next(c))
            found = is_of_kind(c) ? c : found;
    return found;
}

const char *zs_compression_name(const struct zs_array_meta *meta)
{
    const zs_json *codec = find(meta->codecs, is_compressor);
    return codec != NULL ? compressor(codec) : NULL;
}

const char *zs_blosc_filter_name(const struct zs_array_meta *meta)
{
    const zs_json *codec = find(meta->codecs, is_blosc);
    const zs_json *shuffle = zs_json_get(zs_json_get(codec, "configuration"), "shuffle");
    if (zs_json_equals(shuffle, "shuffle"))
        return "BYTE";
    return zs_json_equals(shuffle, "bitshuffle") ? "BIT" : zs_json_equals(shuffle, "noshuffle") ? "NONE" : NULL;
}

bool zs_has_chunk_checksum(const struct zs_array_meta *meta)
{
    const zs_json *codecs = meta->codecs;
    for (const zs_json *inner; (inner = inner_codecs(codecs)) != NULL;)
        codecs = inner;
    for (const zs_json *c = zs_json_first(codecs); c != NULL; c = zs_json_next(c))
        if (strcmp(name_of(c), "crc32c") == 0)
            return true;
    return false;
}

/* ---- The filter of blosc ---- */

/* A filter replaces the guess where it saves one byte of so many. */
#define WORTH_ONE_OF 50

static const char *const filters[] = {"noshuffle", "shuffle", "bitshuffle"};
#define FILTERS (sizeof filters / sizeof filters[0])

/* Encodes a copy of the sample: encoding overwrites its source. */
static enum zs_status encode_sample(const struct zs_level *level, const struct zs_sample *sample, size_t *size,
                                    struct zs_error *err)
{
    struct zs_buffer copy = {0};
    struct zs_scratch *scratch = zs_scratch_acquire();
    enum zs_status status = scratch != NULL ? zs_buffer_reset(&copy, (size_t)level->decoded_size, err)
                                            : zs_fail_memory(err);
    *size = 0;
    if (status == ZS_OK) {
        const void *encoded;
        memcpy(copy.data, sample->elements, (size_t)level->decoded_size);
        status = zs_chunk_encode(level, scratch, copy.data, &encoded, size, err);
    }
    zs_scratch_release(scratch);
    zs_buffer_free(&copy);
    return status;
}

/* The encoded size of a sample with one filter, and what goes with it in the array. */
static enum zs_status try_filter(struct zs_array_spec spec, const char *filter, const struct zs_sample *sample,
                                 size_t *size, struct zs_error *err)
{
    struct zs_node *node;
    struct zs_chain chain;
    spec.encoding.blosc_shuffle = filter;
    const struct zs_blosc_settings settings = zs_blosc_settings_of(&spec);
    spec.encoding.level = settings.level;
    spec.encoding.is_usual_level = false;
    spec.encoding.blosc_blocksize = settings.block_size;
    spec.ndim = sample->ndim;
    spec.is_sharded = false;
    for (int d = 0; d < spec.ndim; d++) {
        spec.shape[d] = spec.chunk_shape[d] = sample->shape[d];
        spec.dimension_names[d] = NULL;
    }
    zs_json *document = zs_array_document(&spec);
    ZS_TRY_MEMORY(document, err);
    ZS_TRY(zs_node_create("", document, true, &node, err));
    enum zs_status status = node->array != NULL ? zs_chain_compile(node->array, &chain, err)
                                                : zs_fail(err, ZS_UNSUPPORTED, "a sample cannot be encoded");
    if (status == ZS_OK) {
        status = encode_sample(&chain.levels[chain.count - 1], sample, size, err);
        zs_chain_clear(&chain);
    }
    zs_node_free(node);
    return status;
}

enum zs_status zs_filter_choose(const struct zs_array_spec *spec, const struct zs_sample *sample, const char **filter,
                                struct zs_error *err)
{
    const char *guess = spec->encoding.blosc_shuffle;
    size_t least, size;
    *filter = guess;
    ZS_TRY(try_filter(*spec, guess, sample, &least, err));
    least -= least / WORTH_ONE_OF;
    for (size_t i = 0; i < FILTERS; i++) {
        if (strcmp(filters[i], guess) == 0 || (spec->dtype.size == 1 && strcmp(filters[i], "shuffle") == 0))
            continue; /* single bytes have no order but one */
        ZS_TRY(try_filter(*spec, filters[i], sample, &size, err));
        if (size < least) {
            *filter = filters[i];
            least = size;
        }
    }
    return ZS_OK;
}
