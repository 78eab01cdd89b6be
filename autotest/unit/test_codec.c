/* Codecs from bytes to bytes: round trips, chains of them, and everything that can be wrong with encoded bytes. */
#include <cpl_vsi.h> /* whose /vsigzip/ is a second opinion on gzip */

#include "array_store.h"
#include "codec/codec.h"

/* A codec with its configuration, as 'name {json}'; false when this build does not have its library. Made once and
 * kept. */
static bool codec_of(const char *text, struct zs_stage *stage)
{
    static struct {
        const char *text;
        struct zs_stage stage;
    } made[64];
    struct zs_error err = {""};
    const struct zs_codec *codec;
    struct zs_form form = {.dtype = zs_dtype_of(ZS_UINT16)};
    size_t at = 0;
    while (at < sizeof made / sizeof made[0] && made[at].text != NULL && strcmp(made[at].text, text) != 0)
        at++;
    if (!CHECK(at < sizeof made / sizeof made[0]))
        return false;
    *stage = made[at].stage;
    if (made[at].text != NULL)
        return true;
    const char *space = strchr(text, ' ');
    char *name = space != NULL ? zs_strndup(text, (size_t)(space - text)) : zs_strdup(text);
    zs_json *configuration = space != NULL ? json_of(space + 1) : NULL;
    enum zs_status status = zs_codec_find(name, &codec, &err);
    const bool there = status == ZS_OK;
    if (there)
        status = zs_stage_parse(codec, configuration, &form, stage, &err);
    else
        CHECK_CONTAINS(err.message, "which this build does not have");
    if (there && !CHECK(status == ZS_OK))
        fprintf(stderr, "%s: %s\n", text, err.message);
    if (there && status == ZS_OK) {
        made[at].text = text;
        made[at].stage = *stage;
    }
    zs_json_free(configuration);
    free(name);
    return there && status == ZS_OK;
}

static const char *const codecs[] = {
    "gzip {'level':0}",
    "gzip {'level':9}",
    "gzip",
    "zstd",
    "zstd {'level':-5,'checksum':true}",
    "zstd {'level':19,'checksum':false}",
    "blosc {'cname':'zstd','clevel':5,'shuffle':'bitshuffle','typesize':2,'blocksize':0}",
    "blosc {'cname':'lz4','clevel':9,'shuffle':'shuffle','typesize':4,'blocksize':0}",
    "blosc {'cname':'lz4hc','clevel':1,'shuffle':'noshuffle'}",
    "blosc {'cname':'blosclz','clevel':0,'shuffle':'shuffle','typesize':8,'blocksize':1024}",
    "blosc {'cname':'zlib','clevel':3,'shuffle':'shuffle','typesize':300}",
    "crc32c",
    "numcodecs.zlib {'level':1}",
    "numcodecs.bz2",
    "numcodecs.lz4",
    "numcodecs.lzma",
    "numcodecs.blosc {'cname':'lz4','clevel':5,'shuffle':1,'blocksize':0}",
    "numcodecs.shuffle {'elementsize':1}",
    "numcodecs.crc32",
    "numcodecs.adler32 {'location':'end'}",
    "numcodecs.fletcher32",
    "numcodecs.jenkins_lookup3 {'initval':5}",
};
enum { CODECS = sizeof codecs / sizeof codecs[0] };

/* Something that compresses, something that does not. */
static unsigned char *sample(uint64_t *rng, size_t n, int kind)
{
    unsigned char *data = malloc(n + 1);
    for (size_t i = 0; i < n; i++)
        data[i] = kind == 0 ? (unsigned char)rng_next(rng) : kind == 1 ? (unsigned char)(i / 50) : 0;
    return data;
}

/* Copies, so that the sanitizer sees a read beyond the end. */
static void *exactly(const void *data, size_t n)
{
    void *copy = malloc(n != 0 ? n : 1);
    memcpy(copy, data, n);
    return copy;
}

static enum zs_status decode(const struct zs_stage *chain, int count, struct zs_scratch *scratch, const void *encoded,
                             size_t n, void *out, size_t n_out, struct zs_error *err)
{
    void *src = exactly(encoded, n), *dst = malloc(n_out != 0 ? n_out : 1);
    const enum zs_status status = zs_bytes_decode(chain, count, scratch, src, n, dst, n_out, err);
    if (status == ZS_OK)
        memcpy(out, dst, n_out);
    free(src);
    free(dst);
    return status;
}

static void round_trip(const struct zs_stage *chain, int count, const unsigned char *data, size_t n)
{
    struct zs_error err = {""};
    struct zs_scratch *scratch = zs_scratch_acquire();
    const void *encoded;
    size_t size;
    must(zs_bytes_encode(chain, count, scratch, data, n, &encoded, &size, &err), &err);
    CHECK(size <= zs_bytes_bound(n));
    void *stored = exactly(encoded, size);
    unsigned char *out = malloc(n + 1);
    if (CHECK(decode(chain, count, scratch, stored, size, out, n, &err) == ZS_OK))
        CHECK_EQ_MEM(out, data, n);
    else
        fprintf(stderr, "%d codecs, %zu bytes: %s\n", count, n, err.message);
    struct zs_buffer buffer = {0};
    if (!CHECK(zs_bytes_decode_up_to(chain, count, scratch, stored, size, n, &buffer, &err) == ZS_OK))
        fprintf(stderr, "%s %s %s: %s\n", count > 0 ? chain[0].codec->name : "", count > 1 ? chain[1].codec->name : "",
                count > 2 ? chain[2].codec->name : "", err.message);
    CHECK_EQ_U64(buffer.size, n);
    CHECK_EQ_MEM(buffer.data, data, n);
    if (n > 0) { /* one byte more or fewer than there are is not what was expected */
        CHECK(decode(chain, count, scratch, stored, size, out, n - 1, &err) == ZS_CORRUPT);
        unsigned char *more = malloc(n + 1);
        CHECK(decode(chain, count, scratch, stored, size, more, n + 1, &err) == ZS_CORRUPT);
        free(more);
        CHECK(zs_bytes_decode_up_to(chain, count, scratch, stored, size, n - 1, &buffer, &err) == ZS_CORRUPT);
    }
    zs_buffer_free(&buffer);
    free(out);
    free(stored);
    zs_scratch_release(scratch);
}

TEST(test_every_codec_and_chain_of_two_and_three_round_trips)
{
    uint64_t rng = 21;
    struct zs_stage chain[3] = {{0}};
    round_trip(chain, 0, (const unsigned char *)"plain", 5);
    for (int a = 0; a < CODECS; a++) {
        if (!codec_of(codecs[a], &chain[0]))
            continue;
        static const size_t sizes[] = {0, 1, 7, 16, 1000, 70001};
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
            for (int kind = 0; kind < 3; kind++) {
                unsigned char *data = sample(&rng, sizes[s], kind);
                round_trip(chain, 1, data, sizes[s]);
                free(data);
            }
        for (int b = 0; b < CODECS; b++) {
            const int c = (int)rng_below(&rng, CODECS);
            if (!codec_of(codecs[b], &chain[1]) || !codec_of(codecs[c], &chain[2]))
                continue;
            const size_t n = (size_t)rng_below(&rng, 3000);
            unsigned char *data = sample(&rng, n, (int)rng_below(&rng, 3));
            round_trip(chain, 2, data, n);
            round_trip(chain, 3, data, n);
            free(data);
        }
    }
}

TEST(test_malformed_bytes_are_corrupt_and_decode_nothing_wrong)
{
    uint64_t rng = 23;
    for (int c = 0; c < CODECS; c++) {
        struct zs_stage codec;
        if (!codec_of(codecs[c], &codec))
            continue;
        struct zs_error err = {""};
        struct zs_scratch *scratch = zs_scratch_acquire();
        const size_t n_data = 3000;
        unsigned char *data = sample(&rng, n_data, 1), *out = malloc(2 * n_data);
        const void *encoded;
        size_t n;
        must(zs_bytes_encode(&codec, 1, scratch, data, n_data, &encoded, &n, &err), &err);
        unsigned char *stored = exactly(encoded, n);
        for (size_t cut = 0; cut < n; cut += n < 400 ? 1 : 7) {
            if (!CHECK(decode(&codec, 1, scratch, stored, cut, out, n_data, &err) == ZS_CORRUPT))
                fprintf(stderr, "%s cut at %zu of %zu\n", codecs[c], cut, n);
            CHECK(strlen(err.message) > 10);
        }
        for (int round = 0; round < 500; round++) { /* random bytes, now and then behind a true beginning */
            const size_t length = (size_t)rng_below(&rng, 200), kept = round % 2 ? (size_t)rng_below(&rng, 20) : 0;
            unsigned char junk[200];
            for (size_t i = 0; i < length; i++)
                junk[i] = i < kept && i < n ? stored[i] : (unsigned char)rng_next(&rng);
            CHECK(decode(&codec, 1, scratch, junk, length, out, n_data, &err) == ZS_CORRUPT);
        }
        /* one byte changed: an error, or some bytes, but as many as wanted */
        for (int round = 0; round < 1000; round++) {
            const size_t at = (size_t)rng_below(&rng, n);
            const unsigned char before = stored[at];
            stored[at] = (unsigned char)rng_next(&rng);
            const enum zs_status status = decode(&codec, 1, scratch, stored, n, out, n_data, &err);
            CHECK(status == ZS_OK || status == ZS_CORRUPT);
            stored[at] = before;
        }
        CHECK(decode(&codec, 1, scratch, stored, n, out, n_data, &err) == ZS_OK); /* the scratch is as good as before */
        CHECK_EQ_MEM(out, data, n_data);
        free(stored);
        free(data);
        free(out);
        zs_scratch_release(scratch);
    }
}

TEST(test_decoders_of_unknown_size_obey_the_limit)
{
    for (int c = 0; c < CODECS; c++) {
        struct zs_stage codec;
        if (!codec_of(codecs[c], &codec) || codec.codec->strip != NULL)
            continue;
        struct zs_error err = {""};
        struct zs_scratch *scratch = zs_scratch_acquire();
        static unsigned char zeros[1 << 20]; /* a bomb, of its kind */
        const void *encoded;
        size_t n;
        must(zs_bytes_encode(&codec, 1, scratch, zeros, sizeof zeros, &encoded, &n, &err), &err);
        void *stored = exactly(encoded, n);
        struct zs_buffer out = {0};
        CHECK(zs_bytes_decode_up_to(&codec, 1, scratch, stored, n, sizeof zeros - 1, &out, &err) == ZS_CORRUPT);
        CHECK(zs_bytes_decode_up_to(&codec, 1, scratch, stored, n, sizeof zeros, &out, &err) == ZS_OK);
        CHECK_EQ_U64(out.size, sizeof zeros);
        zs_buffer_free(&out);
        free(stored);
        zs_scratch_release(scratch);
    }
}

/* Decodes n bytes to at most `limit`, with the memory of a scratch that is as good as new, which is in *memory. */
static enum zs_status decode_fresh(const struct zs_stage *codec, const void *encoded, size_t n, size_t limit,
                                   struct zs_buffer *out, size_t *memory, struct zs_error *err)
{
    zs_scratch_trim();
    struct zs_scratch *scratch = zs_scratch_acquire();
    void *stored = exactly(encoded, n);
    const enum zs_status status = zs_bytes_decode_up_to(codec, 1, scratch, stored, n, limit, out, err);
    *memory = zs_scratch_buffer(scratch, ZS_SCRATCH_CODEC_A)->capacity +
              zs_scratch_buffer(scratch, ZS_SCRATCH_CODEC_B)->capacity;
    free(stored);
    zs_scratch_release(scratch);
    return status;
}

static const char *const deflates[] = {"gzip {'level':0}", "gzip {'level':9}", "numcodecs.zlib {'level':1}"};

TEST(test_deflate_of_unknown_size_takes_the_memory_of_what_it_decodes)
{
    static unsigned char zeros[16 << 20]; /* which are 16 KB when compressed */
    const size_t large = (size_t)1 << 30, little = 1 << 20;
    for (size_t c = 0; c < sizeof deflates / sizeof deflates[0]; c++) {
        struct zs_error err = {""};
        struct zs_stage codec;
        struct zs_buffer small = {0}, bomb = {0}, out = {0};
        size_t memory;
        struct zs_scratch *scratch = zs_scratch_acquire();
        if (!CHECK(codec_of(deflates[c], &codec)))
            return;
        must(codec.codec->encode(&codec, scratch, "a short text", 12, &small, &err), &err);
        must(codec.codec->encode(&codec, scratch, zeros, sizeof zeros, &bomb, &err), &err);
        zs_scratch_release(scratch);
        CHECK(decode_fresh(&codec, small.data, small.size, large, &out, &memory, &err) == ZS_OK && out.size == 12);
        CHECK_EQ_MEM(out.data, "a short text", 12);
        CHECK(memory <= little);
        CHECK(decode_fresh(&codec, bomb.data, bomb.size, little, &out, &memory, &err) == ZS_CORRUPT);
        CHECK_CONTAINS(err.message, "decodes to more than the expected 1048576 bytes");
        CHECK(memory <= 2 * little);
        CHECK(decode_fresh(&codec, bomb.data, bomb.size, large, &out, &memory, &err) == ZS_OK);
        CHECK(out.size == sizeof zeros && memcmp(out.data, zeros, sizeof zeros) == 0);
        CHECK(memory <= 5 * sizeof zeros);
        zs_buffer_free(&small);
        zs_buffer_free(&bomb);
        zs_buffer_free(&out);
    }
}

/* Of "123456789", by zlib, numcodecs and the authors' own programs. */
TEST(test_checksums_of_known_bytes)
{
    static const struct {
        const char *codec;
        unsigned char bytes[4];
        bool at_start;
    } known[] = {
        {"numcodecs.crc32", {0x26, 0x39, 0xf4, 0xcb}, true},
        {"numcodecs.crc32 {'location':'end'}", {0x26, 0x39, 0xf4, 0xcb}, false},
        {"numcodecs.adler32", {0xde, 0x01, 0x1e, 0x09}, true},
        {"numcodecs.crc32c", {0x83, 0x92, 0x06, 0xe3}, false},
        {"numcodecs.fletcher32", {0xd5, 0x09, 0xdf, 0x09}, false},
        {"numcodecs.jenkins_lookup3", {0x96, 0x9a, 0x5d, 0x84}, false},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct zs_error err;
        struct zs_stage stage;
        const void *encoded;
        size_t n;
        if (!CHECK(codec_of(known[i].codec, &stage)))
            continue;
        struct zs_scratch *scratch = zs_scratch_acquire();
        must(zs_bytes_encode(&stage, 1, scratch, "123456789", 9, &encoded, &n, &err), &err);
        CHECK_EQ_U64(n, 13);
        CHECK_EQ_MEM((const char *)encoded + (known[i].at_start ? 0 : 9), known[i].bytes, 4);
        CHECK_EQ_MEM((const char *)encoded + (known[i].at_start ? 4 : 0), "123456789", 9);
        zs_scratch_release(scratch);
    }
}

TEST(test_crc32c_is_that_of_the_rfc_and_the_same_without_special_instructions)
{
    static const unsigned char zeros[32]; /* RFC 3720, B.4 */
    uint64_t rng = 9;
    CHECK_EQ_U64(zs_crc32c(zeros, 32), 0x8A9136AAu);
    CHECK_EQ_U64(zs_crc32c("123456789", 9), 0xE3069283u);
    CHECK_EQ_U64(zs_crc32c(NULL, 0), 0);
    for (size_t n = 0; n < 300; n++)
        for (size_t alignment = 0; alignment < 16; alignment++) {
            unsigned char *block = malloc(n + alignment + 1), *data = block + alignment + 1; /* nothing behind it */
            for (size_t i = 0; i < n; i++)
                data[i] = (unsigned char)rng_next(&rng);
            CHECK_EQ_U64(zs_crc32c_portable(data, n), zs_crc32c(data, n));
            CHECK_EQ_U64(slow_crc32c(data, n), zs_crc32c(data, n));
            free(block);
        }
}
