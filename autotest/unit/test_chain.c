/* The codecs of an array, compiled. */
#include "array_store.h"
#include "codec/codec.h"
#include "codec/chain.h"

#define LITTLE "{'name':'bytes','configuration':{'endian':'little'}}"
#define SHARDING(shape, codecs, more) \
    "{'name':'sharding_indexed','configuration':{'chunk_shape':" shape ",'codecs':" codecs more "}}"
#define TRANSPOSE(order) "{'name':'transpose','configuration':{'order':" order "}}"

struct compiled {
    zs_json *codecs;
    struct zs_array_meta meta;
    struct zs_chain chain;
    struct zs_error err;
    enum zs_status status;
};

static struct compiled compile_of(int ndim, const uint64_t *chunk_shape, enum zs_data_type type, const char *codecs)
{
    struct compiled c = {.codecs = json_of(codecs), .meta = {.ndim = ndim, .dtype = zs_dtype_of(type)}};
    memcpy(c.meta.chunk_shape, chunk_shape, (size_t)ndim * sizeof *chunk_shape);
    memcpy(c.meta.shape, chunk_shape, (size_t)ndim * sizeof *chunk_shape);
    c.meta.codecs = c.codecs;
    c.status = zs_chain_compile(&c.meta, &c.chain, &c.err);
    return c;
}

static void done(struct compiled *c)
{
    zs_chain_clear(&c->chain);
    zs_json_free(c->codecs);
}

static struct compiled compile(const char *codecs)
{
    return compile_of(3, (uint64_t[]){8, 12, 20}, ZS_UINT16, codecs);
}

struct refusal {
    enum zs_status status;
    const char *codecs, *name, *words;
};

TEST(test_invalid_codec_chains_are_refused_by_name)
{
    static const struct refusal cases[] = {
        {ZS_INVALID, "[]", "codecs", "at least one"},
        {ZS_INVALID, "['gzip']", "gzip", "stands before"},
        {ZS_INVALID, "[" TRANSPOSE("[0,1,2]") "]", "bytes", "found none"},
        {ZS_INVALID, "['bytes','bytes']", "\"bytes\"", "stands behind"},
        {ZS_INVALID, "['bytes'," TRANSPOSE("[0,1,2]") "]", "\"transpose\"", "stands behind"},
        {ZS_INVALID, "['bytes'," SHARDING("[1,1,1]", "['bytes']", "") "]", "\"sharding_indexed\"", "stands behind"},
        {ZS_INVALID, "[" SHARDING("[4,4,4]", "['bytes']", "") ",'bytes']", "\"bytes\"", "stands behind"},
        {ZS_INVALID, "[17]", "codecs", "name"},
        {ZS_INVALID, "['bytes',{'id':'zlib'}]", "codecs", "name"},
        {ZS_UNSUPPORTED, "['bytes','numcodecs.pcodec']", "\"numcodecs.pcodec\"", "not supported"},
        {ZS_UNSUPPORTED, "['vlen-utf8']", "\"vlen-utf8\"", "not supported"},
        {ZS_INVALID, "[{'name':'bytes','configuration':{'endian':'middle'}}]", "\"bytes\"", "endian"},
        {ZS_INVALID, "['transpose','bytes']", "\"transpose\"", "order"},
        {ZS_INVALID, "[" TRANSPOSE("[0,1]") ",'bytes']", "\"transpose\"", "3 integers"},
        {ZS_INVALID, "[" TRANSPOSE("[0,1,1]") ",'bytes']", "\"transpose\"", "permutation"},
        {ZS_INVALID, "[" TRANSPOSE("[0,1,3]") ",'bytes']", "\"transpose\"", "permutation"},
        {ZS_INVALID, "[" TRANSPOSE("[0,1,-1]") ",'bytes']", "\"transpose\"", "permutation"},
        {ZS_INVALID, "[" TRANSPOSE("'Z'") ",'bytes']", "\"transpose\"", "order"},
        {ZS_INVALID, "['sharding_indexed']", "\"sharding_indexed\"", "chunk_shape"},
        {ZS_INVALID, "[" SHARDING("[4,4]", "['bytes']", "") "]", "\"sharding_indexed\"", "3 integers"},
        {ZS_INVALID, "[" SHARDING("[4,5,4]", "['bytes']", "") "]", "\"sharding_indexed\"",
         "divisor of the shard's 12, found 5"},
        {ZS_INVALID, "[" SHARDING("[4,24,4]", "['bytes']", "") "]", "\"sharding_indexed\"", "divisor"},
        {ZS_INVALID, "[" SHARDING("[4,0,4]", "['bytes']", "") "]", "\"sharding_indexed\"", "chunk_shape[1]"},
        {ZS_INVALID, "[" SHARDING("[4,-4,4]", "['bytes']", "") "]", "\"sharding_indexed\"", "positive"},
        {ZS_INVALID, "[" SHARDING("[4,4,4]", "['bytes']", ",'index_location':'middle'") "]", "\"sharding_indexed\"",
         "index_location"},
        {ZS_UNSUPPORTED, "[" SHARDING("[4,4,4]", "['bytes']", ",'index_codecs':['bytes','gzip']") "]",
         "\"sharding_indexed\"", "gzip"},
        {ZS_INVALID, "[" SHARDING("[4,4,4]", "['bytes']", ",'index_codecs':[]") "]", "\"sharding_indexed\"",
         "index_codecs"},
        {ZS_UNSUPPORTED, "[" SHARDING("[4,4,4]", "['bytes']", ",'index_codecs':['crc32c','bytes']") "]",
         "\"sharding_indexed\"", "crc32c"},
        {ZS_UNSUPPORTED, "[" SHARDING("[4,4,4]", "['bytes']", ",'index_codecs':[3]") "]", "\"sharding_indexed\"",
         "not a codec"},
        {ZS_INVALID, "[" SHARDING("[4,4,4]", "[]", "") "]", "\"sharding_indexed\"", "at least one"},
        {ZS_INVALID, "[" SHARDING("[4,4,4]", "'bytes'", "") "]", "\"sharding_indexed\"", "codecs"},
        {ZS_INVALID, "[{'name':'sharding_indexed','configuration':{'chunk_shape':[4,4,4]}}]", "\"sharding_indexed\"",
         "codecs"},
        {ZS_INVALID, "[" SHARDING("[4,4,4]", "['gzip']", "") "]", "gzip", "stands before"},
        {ZS_UNSUPPORTED, "[" SHARDING("[4,4,4]", "['bytes','numcodecs.pcodec']", "") "]", "\"numcodecs.pcodec\"",
         "not supported"},
        {ZS_INVALID, "['bytes',{'name':'gzip','configuration':{'level':10}}]", "\"gzip\"", "level"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct compiled c = compile(cases[i].codecs);
        if (!CHECK(c.status == cases[i].status))
            fprintf(stderr, "%s: status %d\n", cases[i].codecs, c.status);
        if (c.status != ZS_OK) {
            CHECK_CONTAINS(c.err.message, cases[i].name);
            CHECK_CONTAINS(c.err.message, cases[i].words);
        }
        CHECK(c.status == ZS_OK || c.chain.count == 0);
        done(&c);
    }
}

TEST(test_shards_nested_too_deep_are_refused)
{
    char *text = zs_strdup("['bytes']");
    for (int depth = 1; depth <= 12; depth++) {
        char *outer = zs_format("[" SHARDING("[4,4,4]", "%s", "") "]", text);
        free(text);
        text = outer;
        struct compiled c = compile(text);
        CHECK(c.status == (depth < ZS_MAX_LEVELS ? ZS_OK : ZS_UNSUPPORTED));
        if (c.status != ZS_OK)
            CHECK_CONTAINS(c.err.message, "sharding_indexed");
        done(&c);
    }
    free(text);
}
