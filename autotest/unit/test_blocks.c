/* Blosc frames read block by block: every flag, against the library's own decoding of the whole; and frames that are not
 * what they should be. */
#include "array_store.h"
#include "codec/codec.h"

static bool blosc_of(const char *configuration, struct zs_stage *stage)
{
    struct zs_error err = {""};
    const struct zs_codec *codec;
    struct zs_form form = {.dtype = zs_dtype_of(ZS_UINT16)};
    if (zs_codec_find("blosc", &codec, &err) != ZS_OK) {
        CHECK_CONTAINS(err.message, "which this build does not have");
        return false;
    }
    zs_json *json = json_of(configuration);
    must(zs_stage_parse(codec, json, &form, stage, &err), &err);
    zs_json_free(json);
    return true;
}

static void u32_put(unsigned char *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(v >> 8 * i);
}

static uint32_t u32_at(const unsigned char *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

#define PLAIN 8192

/* The table of a frame, as a reader finds it who has a few bytes at first. */
static struct zs_blocks *table_of(const struct zs_stage *s, const unsigned char *frame, size_t n, uint64_t decoded)
{
    struct zs_error err;
    struct zs_blocks *blocks = NULL;
    size_t need = 0, have = 0;
    for (int round = 0; round < 3 && blocks == NULL; round++) {
        unsigned char *head = malloc(have + 1); /* of the exact size: the sanitizer watches its end */
        memcpy(head, frame, have);
        must(s->codec->read_blocks(head, have, n, decoded, PLAIN, &need, &blocks, &err), &err);
        free(head);
        if (blocks == NULL && !CHECK(need > have && need <= n))
            return NULL;
        have = need;
    }
    CHECK(blocks != NULL);
    return blocks;
}

/* Block i to dst, from a copy of its encoded bytes alone. */
static bool decode_one(const struct zs_stage *s, const struct zs_blocks *b, size_t i, const unsigned char *frame,
                       size_t n, unsigned char *dst, struct zs_scratch *scratch, struct zs_error *err)
{
    uint64_t offset, size;
    zs_block_range(b, i, &offset, &size);
    if (!CHECK(offset <= n && size <= n - offset))
        return false;
    unsigned char *src = malloc((size_t)size + 1);
    memcpy(src, frame + offset, (size_t)size);
    enum zs_status status = ZS_OK;
    if (b->is_plain)
        memcpy(dst, src, (size_t)size);
    else
        status = s->codec->decode_block(b, i, scratch, src, dst, err);
    free(src);
    CHECK(status == ZS_OK || status == ZS_CORRUPT);
    return status == ZS_OK;
}

static unsigned char *sample(uint64_t *rng, size_t n, int kind)
{
    unsigned char *data = malloc(n + 1);
    for (size_t i = 0; i < n; i++)
        data[i] = kind == 0   ? (unsigned char)rng_next(rng)
                  : kind == 1 ? (unsigned char)(i / 50)
                              : (unsigned char)(i % 4 == 0 ? rng_next(rng) : i / 4096);
    return data;
}

static const char *const cnames[] = {"zstd", "lz4", "lz4hc", "blosclz", "zlib", "snappy"};
static const char *const shuffles[] = {"noshuffle", "shuffle", "bitshuffle"};
static const int typesizes[] = {1, 2, 3, 4, 8, 16, 17, 255};
static const int blocksizes[] = {0, 128, 1000, 4096, 16384, 65536, 1 << 20};

static char *random_configuration(uint64_t *rng)
{
    return zs_format("{'cname':'%s','clevel':%d,'shuffle':'%s','typesize':%d,'blocksize':%d}", cnames[rng_below(rng, 6)],
                     (int)rng_below(rng, 10), shuffles[rng_below(rng, 3)], typesizes[rng_below(rng, 8)],
                     blocksizes[rng_below(rng, 7)]);
}

TEST(test_blocks_equal_the_decoded_chunk)
{
    uint64_t rng = 11;
    struct zs_error err = {""};
    struct zs_scratch *scratch = zs_scratch_acquire();
    int plain = 0, cut = 0, shorter = 0, made = 0;
    for (int round = 0; round < 300; round++) {
        struct zs_stage s;
        char *configuration = random_configuration(&rng);
        if (!blosc_of(configuration, &s)) {
            free(configuration);
            zs_scratch_release(scratch);
            return;
        }
        const size_t n = 1 + (size_t)rng_below(&rng, round % 4 == 0 ? 1500000 : 60000);
        unsigned char *data = sample(&rng, n, (int)rng_below(&rng, 3));
        struct zs_buffer frame = {0};
        if (s.codec->encode(&s, scratch, data, n, &frame, &err) == ZS_OK) { /* snappy may be absent */
            struct zs_blocks *b = table_of(&s, frame.data, frame.size, n);
            uint64_t sum = 0;
            for (size_t i = 0; i < b->count; i++) {
                const size_t size = (size_t)zs_block_decoded(b, i);
                unsigned char *out = malloc(size);
                memset(out, 0x55, size);
                if (!CHECK(decode_one(&s, b, i, frame.data, frame.size, out, scratch, &err)) ||
                    !CHECK(memcmp(out, data + i * b->block_size, size) == 0))
                    fprintf(stderr, "%s: block %zu of %zu: %s\n", configuration, i, b->count, err.message);
                sum += size;
                free(out);
            }
            CHECK_EQ_U64(sum, n);
            made++;
            plain += b->is_plain;
            cut += b->count > 1 && !b->is_plain;
            shorter += b->count > 1 && !b->is_plain && n % b->block_size != 0;
            free(b);
        }
        zs_buffer_free(&frame);
        zs_stage_clear(&s);
        free(configuration);
        free(data);
    }
    CHECK(made > 200 && plain > 10 && cut > 50 && shorter > 40);
    zs_scratch_release(scratch);
}

TEST(test_a_frame_from_before_the_flag_of_splits_is_split_by_its_sizes)
{
    uint64_t rng = 5;
    struct zs_error err;
    struct zs_stage s;
    struct zs_buffer frame = {0};
    struct zs_scratch *scratch = zs_scratch_acquire();
    const size_t n = 400000;
    unsigned char *data = sample(&rng, n, 2), *out = malloc(n);
    if (blosc_of("{'cname':'blosclz','clevel':5,'shuffle':'shuffle','typesize':4,'blocksize':16384}", &s)) {
        must(s.codec->encode(&s, scratch, data, n, &frame, &err), &err);
        CHECK_EQ_U64(frame.data[2] & 0x10, 0); /* such a frame: blocks in four splits, the last one in none */
        struct zs_blocks *b = table_of(&s, frame.data, frame.size, n);
        CHECK_EQ_U64(b->count, 7); /* the library takes blocks of 64 KiB at least where it splits them */
        for (size_t i = 0; i < b->count; i++)
            CHECK(decode_one(&s, b, i, frame.data, frame.size, out, scratch, &err) &&
                  memcmp(out, data + i * 65536, (size_t)zs_block_decoded(b, i)) == 0);
        free(b);
        zs_stage_clear(&s);
    }
    zs_buffer_free(&frame);
    zs_scratch_release(scratch);
    free(data);
    free(out);
}

TEST(test_blocks_may_stand_in_any_order)
{
    uint64_t rng = 6;
    struct zs_error err;
    struct zs_stage s;
    struct zs_buffer frame = {0};
    struct zs_scratch *scratch = zs_scratch_acquire();
    const size_t n = 40000;
    unsigned char *data = sample(&rng, n, 2), *out = malloc(n);
    if (blosc_of("{'cname':'lz4','clevel':5,'shuffle':'noshuffle','typesize':4,'blocksize':8192}", &s)) {
        must(s.codec->encode(&s, scratch, data, n, &frame, &err), &err);
        struct zs_blocks *b = table_of(&s, frame.data, frame.size, n);
        unsigned char *turned = malloc(frame.size); /* last block first */
        memcpy(turned, frame.data, frame.size);
        size_t at = 16 + 4 * b->count;
        for (size_t i = b->count; i-- > 0; at += b->at[i].size) {
            memcpy(turned + at, frame.data + b->at[i].offset, b->at[i].size);
            u32_put(turned + 16 + 4 * i, (uint32_t)at);
        }
        CHECK_EQ_U64(at, frame.size);
        struct zs_blocks *t = table_of(&s, turned, frame.size, n);
        CHECK_EQ_U64(t->count, b->count);
        for (size_t i = 0; i < t->count; i++) {
            CHECK_EQ_U64(t->at[i].size, b->at[i].size);
            CHECK(decode_one(&s, t, i, turned, frame.size, out, scratch, &err) &&
                  memcmp(out, data + i * 8192, (size_t)zs_block_decoded(t, i)) == 0);
        }
        free(t);
        free(b);
        free(turned);
        zs_stage_clear(&s);
    }
    zs_buffer_free(&frame);
    zs_scratch_release(scratch);
    free(data);
    free(out);
}

/* Blocks of a frame changed at one place; 0 where it is no longer taken for cut. */
static size_t blocks_after(const struct zs_stage *s, const struct zs_buffer *frame, size_t n, size_t at, uint32_t v)
{
    unsigned char *copy = malloc(frame->size);
    memcpy(copy, frame->data, frame->size);
    u32_put(copy + at, v);
    struct zs_blocks *b = table_of(s, copy, frame->size, n);
    const size_t count = b->count;
    free(b);
    free(copy);
    return count;
}

TEST(test_frame_with_an_invalid_header_or_offset_is_decoded_whole)
{
    uint64_t rng = 7;
    struct zs_error err;
    struct zs_stage s;
    struct zs_buffer frame = {0};
    struct zs_scratch *scratch = zs_scratch_acquire();
    const size_t n = 40000;
    unsigned char *data = sample(&rng, n, 2);
    if (blosc_of("{'cname':'zstd','clevel':5,'shuffle':'shuffle','typesize':4,'blocksize':8192}", &s)) {
        must(s.codec->encode(&s, scratch, data, n, &frame, &err), &err);
        const uint32_t size = (uint32_t)frame.size;
        CHECK_EQ_U64(blocks_after(&s, &frame, n, 4, 40000), 5);
        const struct {
            size_t at;
            uint32_t value;
        } wrong[] = {{0, u32_at(frame.data) + 1}, /* version */
                     {4, 39999}, {4, 40001}, {4, 0}, {4, UINT32_MAX},
                     {8, 0}, {8, 40001}, {8, UINT32_MAX}, {8, 0x80000000u}, {8, 1},
                     {12, size - 1}, {12, size + 1}, {12, 0}, {12, UINT32_MAX},
                     {16, 0}, {16, 35}, {20, size}, {20, UINT32_MAX}, {32, 0x80000000u}, {32, size + 1}};
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
            CHECK_EQ_U64(blocks_after(&s, &frame, n, wrong[i].at, wrong[i].value), 0);
        CHECK_EQ_U64(blocks_after(&s, &frame, n, 0, u32_at(frame.data) | 0x20000u), 0); /* plain, but of another size */
        struct zs_blocks *b = table_of(&s, frame.data, 15, n);
        CHECK_EQ_U64(b->count, 0);
        free(b);
        zs_stage_clear(&s);
    }
    zs_buffer_free(&frame);
    zs_scratch_release(scratch);
    free(data);
}
