/* Data types of fewer bits than C's, and the codec packbits. */
#include <math.h>

#include "array_store.h"
#include "codec/chain.h"

static const char *const names[] = {
    "int2",          "uint2",           "int4",           "uint4",         "float4_e2m1fn",      "float6_e2m3fn",
    "float6_e3m2fn", "float8_e3m4",     "float8_e4m3",    "float8_e4m3fn", "float8_e4m3b11fnuz", "float8_e4m3fnuz",
    "float8_e5m2",   "float8_e5m2fnuz", "float8_e8m0fnu", "bfloat16"};

static void test_every_pattern_of_bits_comes_back(void)
{
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        const struct zs_small_type *t = zs_small_type_of(names[k]);
        if (!CHECK(t != NULL))
            continue;
        for (uint32_t bits = 0; bits < (uint32_t)1 << t->bits; bits++) {
            _Alignas(8) unsigned char element[8];
            uint32_t again = 0, mask = ((uint32_t)1 << t->bits) - 1;
            zs_small_decode(t, bits, element);
            const struct zs_dtype memory = zs_dtype_of(t->type);
            const double v = zs_small_to_double(t, bits);
            CHECK_EQ_F64(zs_dtype_to_double(&memory, element), v);
            if (!CHECK(zs_small_encode(t, element, &again)) || !CHECK((again & mask) == bits || isnan(v)))
                fprintf(stderr, "%s %x: %g, %x\n", names[k], bits, v, again);
            CHECK_EQ_F64(zs_small_to_double(t, again), v);
        }
    }
}

static void test_numbers_of_the_specifications(void)
{
    static const struct {
        const char *name;
        double largest, smallest; /* above zero */
        uint32_t nan;             /* 0: none */
        bool has_infinity;
    } cases[] = {{"float4_e2m1fn", 6, 0.5, 0, false},
                 {"float6_e2m3fn", 7.5, 0.125, 0, false},
                 {"float6_e3m2fn", 28, 0.0625, 0, false},
                 {"float8_e3m4", 15.5, 0x1p-6, 0x78, true},
                 {"float8_e4m3", 240, 0x1p-9, 0x7c, true},
                 {"float8_e4m3fn", 448, 0x1p-9, 0x7f, false},
                 {"float8_e4m3b11fnuz", 30, 0x1p-13, 0x80, false},
                 {"float8_e4m3fnuz", 240, 0x1p-10, 0x80, false},
                 {"float8_e5m2", 57344, 0x1p-16, 0x7e, true},
                 {"float8_e5m2fnuz", 57344, 0x1p-17, 0x80, false},
                 {"float8_e8m0fnu", 0x1p127, 0x1p-127, 0xff, false},
                 {"bfloat16", 0x1.fep127, 0x1p-133, 0x7fc0, true}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const struct zs_small_type *t = zs_small_type_of(cases[k].name);
        uint32_t bits;
        CHECK(zs_small_from_double(t, cases[k].largest, &bits));
        CHECK_EQ_F64(zs_small_to_double(t, bits), cases[k].largest);
        CHECK(zs_small_from_double(t, cases[k].smallest, &bits));
        CHECK_EQ_F64(zs_small_to_double(t, bits), cases[k].smallest);
        CHECK(!zs_small_from_double(t, cases[k].largest * 2, &bits));
        CHECK(zs_small_from_double(t, (double)NAN, &bits) == (cases[k].nan != 0));
        if (cases[k].nan != 0)
            CHECK_EQ_U64(bits, cases[k].nan);
        CHECK(zs_small_from_double(t, (double)INFINITY, &bits) == cases[k].has_infinity);
        CHECK(!cases[k].has_infinity || zs_small_to_double(t, bits) == (double)INFINITY);
    }
    uint32_t bits;
    const struct zs_small_type *t = zs_small_type_of("bfloat16");
    CHECK(zs_small_from_double(t, 0x1.01p0, &bits) && bits == 0x3f80); /* half way: to the even one */
    CHECK(zs_small_from_double(t, 0x1.03p0, &bits) && bits == 0x3f82);
    CHECK(!zs_small_from_double(zs_small_type_of("float8_e8m0fnu"), 0, &bits));
    CHECK(!zs_small_from_double(zs_small_type_of("int4"), 8, &bits));
    CHECK(!zs_small_from_double(zs_small_type_of("uint2"), 0.5, &bits));
}

static void test_fill_values(void)
{
    static const struct {
        const char *name, *fill;
        bool ok;
        double value;
    } cases[] = {{"int4", "-8", true, -8},
                 {"int4", "8", false, 0},
                 {"uint2", "3", true, 3},
                 {"bfloat16", "'0x7fc0'", true, (double)NAN},
                 {"bfloat16", "0.1", true, 0.10009765625},
                 {"float8_e5m2", "'-Infinity'", true, -(double)INFINITY},
                 {"float8_e4m3fn", "'Infinity'", false, 0},
                 {"float8_e4m3fnuz", "'NaN'", true, (double)NAN},
                 {"float8_e4m3", "'0x38'", true, 1},
                 {"float8_e4m3", "'0x138'", false, 0},
                 {"float6_e2m3fn", "'0x40'", false, 0},
                 {"float4_e2m1fn", "'NaN'", false, 0},
                 {"float4_e2m1fn", "'+Infinity'", false, 0},
                 {"int2", "'x'", false, 0},
                 {"int2", "[1]", false, 0}};
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
    check_packed("int4", "['packbits']", signs, 5, (const unsigned char[]){0x78, 0x0f, 0x03}, 3);
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
    RUN(test_every_pattern_of_bits_comes_back);
    RUN(test_numbers_of_the_specifications);
    RUN(test_fill_values);
    RUN(test_bits_are_packed_the_lowest_first);
    RUN(test_bits_that_would_be_lost_are_not_written);
    RUN(test_wrong_configurations_name_the_member);
    return check_result();
}
