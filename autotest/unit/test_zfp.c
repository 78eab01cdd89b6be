/* The codecs zfp and numcodecs.zfpy: nothing is read beyond a stream that was made to hurt, and nothing is written.
 * Streams that others wrote: gdrivers/test_zfp.py. */
#include <sys/mman.h>
#include <unistd.h>

#include "array_store.h"
#include "codec/chain.h"

#define REVERSIBLE "[{'name':'zfp','configuration':{'mode':'reversible'}}]"

static uint32_t seed = 1;

static uint32_t next(void)
{
    return seed = seed * 1664525u + 1013904223u;
}

struct leaf {
    zs_json *codecs;
    struct zs_array_meta meta;
    struct zs_chain chain;
    struct zs_error err;
    enum zs_status status;
    struct zs_scratch *scratch;
};

/* False where this build has no libzfp: the error says so. */
static bool leaf_of(int ndim, const uint64_t *shape, enum zs_data_type type, const char *codecs, struct leaf *l)
{
    *l = (struct leaf){.codecs = json_of(codecs), .scratch = zs_scratch_acquire()};
    l->meta = (struct zs_array_meta){.ndim = ndim, .codecs = l->codecs, .dtype = zs_dtype_of(type)};
    for (int d = 0; d < ndim; d++)
        l->meta.shape[d] = l->meta.chunk_shape[d] = shape[d];
    l->status = zs_chain_compile(&l->meta, &l->chain, &l->err);
    const struct zs_codec *codec;
    struct zs_error err = {""};
    const bool is_there = zs_codec_find("zfp", &codec, &err) == ZS_OK;
    if (!is_there)
        CHECK_CONTAINS(err.message, "codec \"zfp\" needs libzfp, which this build does not have");
    return is_there;
}

static void leaf_free(struct leaf *l)
{
    zs_chain_clear(&l->chain);
    zs_json_free(l->codecs);
    zs_scratch_release(l->scratch);
}

static const enum zs_data_type types[] = {ZS_INT8,   ZS_UINT8,  ZS_INT16,   ZS_UINT16,  ZS_INT32,     ZS_UINT32,
                                          ZS_INT64,  ZS_UINT64, ZS_FLOAT32, ZS_FLOAT64, ZS_DATETIME64, ZS_TIMEDELTA64};
static const uint64_t shapes[][4] = {{9}, {7, 6}, {4, 4}, {3, 5, 2}, {2, 3, 5, 6}, {1, 1, 1, 9}};
static const int ndims[] = {1, 2, 2, 3, 4, 4};

static const char *const modes[] = {
    REVERSIBLE,
    "[{'name':'zfp','configuration':{'mode':'fixed_accuracy','tolerance':0.001}}]",
    "[{'name':'zfp','configuration':{'mode':'fixed_precision','precision':64}}]",
    "[{'name':'zfp','configuration':{'mode':'fixed_rate','rate':70.5}}]",
    "[{'name':'zfp','configuration':{'mode':'fixed_rate','rate':0.01}}]",
    "[{'name':'zfp','configuration':{'mode':'expert','minbits':1,'maxbits':20,'maxprec':64,'minexp':-1074}}]",
    "[{'name':'zfp','configuration':{'mode':'expert','minbits':0,'maxbits':4294967295,'maxprec':64,'minexp':-5000}}]",
    "[{'name':'zfp','configuration':{'mode':'expert','minbits':900,'maxbits':901,'maxprec':3,'minexp':-9}}]",
    "[{'name':'numcodecs.zfpy','configuration':{'mode':4,'tolerance':0.01,'rate':-1,'precision':-1}}]",
    "[{'name':'numcodecs.zfpy','configuration':{'mode':5}}]"};

/* Bytes of a stream for this leaf: the beginning of a header, or anything. */
static size_t hostile_stream(int round, unsigned char *bytes, size_t room)
{
    const size_t n = next() % (room + 1);
    for (size_t i = 0; i < n; i++)
        bytes[i] = round % 4 == 0 ? 0xff : round % 4 == 1 ? 0 : (unsigned char)(next() >> 11);
    if (round % 4 > 1 && n > 4)
        memcpy(bytes, "zfp\x05", 4);
    return n;
}

static void check_hostile(struct leaf *l)
{
    const struct zs_level *leaf = &l->chain.levels[0];
    const struct zs_stage *stage = &leaf->stages[0];
    struct zs_stored_shape chunk = {.ndim = leaf->ndim};
    memcpy(chunk.shape, leaf->shape, sizeof chunk.shape);
    const size_t room = (size_t)leaf->stored_size, page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t pages = (room + page - 1) / page * page;
    unsigned char *map = mmap(NULL, pages + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *out = malloc((size_t)leaf->decoded_size);
    if (!CHECK(map != MAP_FAILED && mprotect(map + pages, page, PROT_NONE) == 0))
        return;
    CHECK(room % 8 == 0);
    for (int round = 0; round < 60; round++) {
        struct zs_buffer packed = {.data = map + pages - room, .capacity = room};
        packed.size = hostile_stream(round, packed.data, room);
        memset(packed.data + packed.size, 0xff, room - packed.size); /* what an earlier chunk left */
        l->err.message[0] = '\0';
        const enum zs_status status = stage->codec->unpack(stage, &chunk, l->scratch, &packed, out, &l->err);
        CHECK(status == ZS_OK || (status == ZS_CORRUPT && l->err.message[0] != '\0'));
    }
    CHECK(munmap(map, pages + page) == 0);
    free(out);
}

TEST(test_nothing_is_read_beyond_a_hostile_stream)
{
    for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++)
        for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
            for (size_t s = 0; s < 6; s++) {
                struct leaf l;
                const bool is_there = leaf_of(ndims[s], shapes[s], types[t], modes[m], &l);
                if (is_there)
                    must(l.status, &l.err);
                if (is_there)
                    check_hostile(&l);
                leaf_free(&l);
            }
}

TEST(test_chunks_are_only_read)
{
    struct leaf l;
    float elements[4] = {0};
    const void *encoded;
    size_t n;
    if (leaf_of(1, (uint64_t[]){4}, ZS_FLOAT32, REVERSIBLE, &l)) {
        CHECK(zs_chunk_encode(&l.chain.levels[0], l.scratch, elements, &encoded, &n, &l.err) == ZS_UNSUPPORTED);
        CHECK_CONTAINS(l.err.message, "chunks of codec \"zfp\" are only read");
    }
    leaf_free(&l);
}
