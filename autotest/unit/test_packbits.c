/* bfloat16, and the codec packbits. */
#include <math.h>

#include "array_store.h"
#include "codec/chain.h"

static void test_every_bfloat16_comes_back(void)
{
    for (uint32_t bits = 0; bits < 65536; bits++) {
        const float v = zs_bfloat16_to_float((uint16_t)bits);
        uint16_t again = 0;
        CHECK(zs_bfloat16_from_float(v, &again));
        CHECK_EQ_U64(again, isnan(v) ? 0x7fc0 : bits);
    }
}

static void test_floats_are_rounded_to_the_nearest_bfloat16(void)
{
    static const struct {
        float value;
        uint16_t bits;
    } cases[] = {{0x1.01p0F, 0x3f80}, /* half way: to the even one */
                 {0x1.03p0F, 0x3f82},
                 {-0x1.010002p0F, 0xbf81},
                 {0x1.fep127F, 0x7f7f},
                 {0x1p-133F, 0x0001},
                 {0x1p-134F, 0x0000},
                 {-INFINITY, 0xff80}};
    uint16_t bits;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        CHECK(zs_bfloat16_from_float(cases[k].value, &bits));
        CHECK_EQ_U64(bits, cases[k].bits);
    }
    CHECK(!zs_bfloat16_from_float(0x1.ffp127F, &bits)); /* would be infinite */
}

static void test_fill_values(void)
{
    static const struct {
        const char *name, *fill;
        bool ok;
        double value;
    } cases[] = {{"bfloat16", "'0x7fc0'", true, (double)NAN},
                 {"bfloat16", "0.1", true, 0.10009765625},
                 {"bfloat16", "'-Infinity'", true, -(double)INFINITY},
                 {"bfloat16", "'0x13f80'", false, 0},
                 {"bfloat16", "3.4e38", false, 0},
                 {"bfloat16", "'x'", false, 0},
                 {"bfloat16", "[1]", false, 0}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        zs_json *name = zs_json_new_array(), *fill = json_of(cases[k].fill);
        zs_json_add_string(name, NULL, cases[k].name);
        struct zs_dtype dtype;
        struct zs_error err = {""};
        unsigned char value[ZS_MAX_ITEM_SIZE] = {0};
        must(zs_dtype_parse(zs_json_at(name, 0), &dtype, &err), &err);
        const bool ok = zs_fill_value_parse(&dtype, fill, value, NULL, &err) == ZS_OK;
        if (!CHECK(ok == cases[k].ok))
            fprintf(stderr, "%s %s: %s\n", cases[k].name, cases[k].fill, err.message);
        if (ok)
            CHECK_EQ_F64(zs_dtype_to_double(&dtype, value), cases[k].value);
        else
            CHECK_CONTAINS(err.message, cases[k].name);
        zs_json_free(name);
        zs_json_free(fill);
    }
}

/* ---- packbits ---- */

/* Encodes eight elements or so, decodes them again, and compares the bytes between. */
static void check_packed(const char *type, const char *codecs, const void *elements, size_t count,
                         const unsigned char *packed, size_t n)
{
    zs_json *name = zs_json_new_array(), *list = json_of(codecs);
    zs_json_add_string(name, NULL, type);
    struct zs_array_meta meta = {.ndim = 1, .shape = {count}, .chunk_shape = {count}, .codecs = list};
    struct zs_error err = {""};
    struct zs_chain chain;
    must(zs_dtype_parse(zs_json_at(name, 0), &meta.dtype, &err), &err);
    must(zs_chain_compile(&meta, &chain, &err), &err);
    const struct zs_level *leaf = &chain.levels[0];
    struct zs_scratch *scratch = zs_scratch_acquire();
    const size_t size = count * meta.dtype.size;
    unsigned char *copy = malloc(size), *again = malloc(size);
    const void *encoded;
    size_t found;
    memcpy(copy, elements, size);
    must(zs_chunk_encode(leaf, scratch, copy, &encoded, &found, &err), &err);
    CHECK_EQ_U64(found, n);
    CHECK_EQ_MEM(encoded, packed, n);
    must(zs_chunk_decode(leaf, scratch, packed, n, again, &err), &err);
    CHECK_EQ_MEM(again, elements, size);
    CHECK(zs_chunk_decode(leaf, scratch, packed, n - 1, again, &err) == ZS_CORRUPT);
    zs_scratch_release(scratch);
    zs_chain_clear(&chain);
    free(copy);
    free(again);
    zs_json_free(list);
    zs_json_free(name);
}

static void test_bits_are_packed_the_lowest_first(void)
{
    const unsigned char truths[] = {1, 0, 0, 1, 1, 0, 0, 0, 1, 1};
    check_packed("bool", "[{'name':'packbits'}]", truths, 10, (const unsigned char[]){0x19, 0x03}, 2);
    check_packed("bool", "[{'name':'packbits','configuration':{'padding_encoding':'first_byte'}}]", truths, 10,
                 (const unsigned char[]){6, 0x19, 0x03}, 3);
    check_packed("bool", "[{'name':'packbits','configuration':{'padding_encoding':'last_byte','last_bit':null}}]",
                 truths, 10, (const unsigned char[]){0x19, 0x03, 6}, 3);
    const signed char signs[] = {-8, 7, -1, 0, 3};
    check_packed("int8", "[{'name':'packbits','configuration':{'last_bit':3}}]", signs, 5,
                 (const unsigned char[]){0x78, 0x0f, 0x03}, 3);
    const float brains[] = {1, -2.5F};
    check_packed("bfloat16", "['packbits']", brains, 2, (const unsigned char[]){0x80, 0x3f, 0x20, 0xc0}, 4);
    const int16_t words[] = {-4, 12, 8};
    check_packed("int16", "[{'name':'packbits','configuration':{'first_bit':2,'last_bit':5}}]", words, 3,
                 (const unsigned char[]){0x3f, 0x02}, 2);
}

static void test_bits_that_would_be_lost_are_not_written(void)
{
    zs_json *list = json_of("[{'name':'packbits','configuration':{'last_bit':3}}]");
    struct zs_array_meta meta = {
        .ndim = 1, .shape = {2}, .chunk_shape = {2}, .codecs = list, .dtype = zs_dtype_of(ZS_UINT8)};
    struct zs_error err = {""};
    struct zs_chain chain;
    must(zs_chain_compile(&meta, &chain, &err), &err);
    struct zs_scratch *scratch = zs_scratch_acquire();
    unsigned char elements[] = {15, 16};
    const void *encoded;
    size_t n;
    CHECK(zs_chunk_encode(&chain.levels[0], scratch, elements, &encoded, &n, &err) == ZS_INVALID);
    CHECK_CONTAINS(err.message, "packbits");
    zs_scratch_release(scratch);
    zs_chain_clear(&chain);
    zs_json_free(list);
}

static void test_wrong_configurations_name_the_member(void)
{
    static const struct {
        const char *configuration, *words;
    } cases[] = {{"{'first_bit':16}", "first_bit"},
                 {"{'first_bit':5,'last_bit':4}", "last_bit"},
                 {"{'last_bit':16}", "last_bit"},
                 {"{'last_bit':'3'}", "last_bit"},
                 {"{'padding_encoding':'both'}", "padding_encoding"},
                 {"{'padding_encoding':1}", "padding_encoding"},
                 {"{'first':1}", "unknown member \"first\""}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        char *text = zs_format("[{'name':'packbits','configuration':%s}]", cases[k].configuration);
        zs_json *list = json_of(text);
        struct zs_array_meta meta = {
            .ndim = 1, .shape = {2}, .chunk_shape = {2}, .codecs = list, .dtype = zs_dtype_of(ZS_UINT16)};
        struct zs_error err = {""};
        struct zs_chain chain;
        CHECK(zs_chain_compile(&meta, &chain, &err) == ZS_INVALID);
        CHECK_CONTAINS(err.message, "packbits");
        CHECK_CONTAINS(err.message, cases[k].words);
        zs_json_free(list);
        free(text);
    }
}

int main(void)
{
    RUN(test_every_bfloat16_comes_back);
    RUN(test_floats_are_rounded_to_the_nearest_bfloat16);
    RUN(test_fill_values);
    RUN(test_bits_are_packed_the_lowest_first);
    RUN(test_bits_that_would_be_lost_are_not_written);
    RUN(test_wrong_configurations_name_the_member);
    return check_result();
}
