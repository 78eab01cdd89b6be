/* Elementwise stages as a table: it says what the stages say. */
#include "array_store.h"
#include "codec/chain.h"
#include "zarr/node.h"

#define CAST(type, more) "{'name':'cast_value','configuration':{'data_type':'" type "'" more "}}"
#define SCALE(members) "{'name':'scale_offset','configuration':{" members "}}"
#define BYTES(endian) "{'name':'bytes','configuration':{'endian':'" endian "'}}"

struct leaf {
    zs_json *codecs;
    struct zs_array_meta meta;
    struct zs_chain chain;
    const struct zs_level *level;
};

static struct leaf leaf_of(enum zs_data_type type, double fill, uint64_t n, const char *codecs)
{
    struct leaf l = {.codecs = json_of(codecs),
                     .meta = {.ndim = 1, .shape = {n}, .chunk_shape = {n}, .dtype = zs_dtype_of(type)}};
    struct zs_error err = {""};
    const float single = (float)fill;
    memcpy(l.meta.fill_value, type == ZS_FLOAT32 ? (const void *)&single : &fill, type == ZS_FLOAT32 ? 4 : 8);
    l.meta.codecs = l.codecs;
    must(zs_chain_compile(&l.meta, &l.chain, &err), &err);
    l.level = &l.chain.levels[l.chain.count - 1];
    return l;
}

static void done(struct leaf *l)
{
    zs_chain_clear(&l->chain);
    zs_json_free(l->codecs);
}

static void test_lookup_table_equals_the_codec_stages(void)
{
    static const struct {
        enum zs_data_type type;
        const char *codecs;
    } cases[] = {
        {ZS_FLOAT32, "[" SCALE("'offset':-0.1,'scale':10000") "," CAST(
                         "uint16", ",'scalar_map':{'encode':[['NaN',0]],'decode':[[0,'NaN']]}") ",'bytes']"},
        {ZS_FLOAT32, "[" SCALE("'scale':3") "," CAST("int16", "") "," BYTES("big") "]"},
        {ZS_FLOAT64, "[" SCALE("'offset':3") "," CAST(
                         "int8", ",'scalar_map':{'decode':[[-1,'NaN'],[5,'Infinity'],[5,7]]}") ",'bytes']"},
        {ZS_FLOAT64, "[" CAST("float16", "") "," BYTES("big") "]"},
        {ZS_INT64, "[" CAST("uint8", "") ",'bytes']"},
        {ZS_UINT16, "[" CAST("uint8", ",'out_of_range':'wrap'") ",'bytes']"},
        {ZS_FLOAT32, "[{'name':'numcodecs.fixedscaleoffset','configuration':{'offset':2,'scale':7,'dtype':'<f4','"
                     "astype':'<i2'}},'bytes']"},
        {ZS_INT8, "[{'name':'numcodecs.astype','configuration':{'encode_dtype':'|u1','decode_dtype':'|i1'}},'bytes']"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct leaf l = leaf_of(cases[k].type, 0, 8, cases[k].codecs);
        const struct zs_level *level = l.level;
        const size_t n = 70000, in = l.meta.dtype.size;
        const size_t out = level->stages[level->stage_count - 1].out.size;
        unsigned char *stored = malloc(n * out + out), *expected = malloc(n * in), *found = malloc(n * in + in);
        uint64_t rng = k;
        struct zs_error err = {""};
        for (size_t i = 0; i < n * out; i++)
            stored[i] = (unsigned char)rng_next(&rng);
        must(zs_stages_decode_elements(level->stages, level->stage_count, n, stored, expected, &err), &err);
        if (CHECK(level->lookup != NULL)) {
            const size_t few = out == 1 ? 255 : 65535;
            CHECK(!zs_lookup_is_ready(level->lookup, level->stages, level->stage_count, few));
            CHECK(zs_lookup_is_ready(level->lookup, level->stages, level->stage_count, n));
            CHECK(zs_lookup_stored_size(level->lookup) == out);
            zs_lookup_convert(level->lookup, stored, found, (ptrdiff_t)in, n);
            CHECK_EQ_MEM(found, expected, n * in);
            /* neither is aligned */
            memmove(stored + 1, stored, n * out);
            zs_lookup_convert(level->lookup, stored + 1, found + 1, (ptrdiff_t)in, n);
            CHECK_EQ_MEM(found + 1, expected, n * in);
            /* from the last to the first, in other elements' place */
            zs_lookup_convert(level->lookup, stored + 1, found + (n - 1) * in, -(ptrdiff_t)in, n);
            for (size_t i = 0; i < n; i += 111)
                CHECK_EQ_MEM(found + (n - 1 - i) * in, expected + i * in, in);
        }
        free(stored);
        free(expected);
        free(found);
        done(&l);
    }
}

static void test_refused_value_prevents_a_lookup_table(void)
{
    struct leaf l = leaf_of(ZS_UINT8, 0, 8, "[" SCALE("'scale':2") ",'bytes']"); /* odd ones are no multiples of 2 */
    if (CHECK(l.level->lookup != NULL))
        for (int round = 0; round < 3; round++)
            CHECK(!zs_lookup_is_ready(l.level->lookup, l.level->stages, l.level->stage_count, 256));
    done(&l);
}

static void test_no_lookup_table_when_it_would_not_save_work(void)
{
    static const char *const codecs[] = {
        "['bytes']", "[" BYTES("big") "]", "[{'name':'bitround','configuration':{'keepbits':3}},'bytes']",
        "[" CAST("int32", "") ",'bytes']",
        "[" CAST("int16", "") ",{'name':'numcodecs.delta','configuration':{'dtype':'<i2'}},'bytes']"};
    for (size_t k = 0; k < sizeof codecs / sizeof codecs[0]; k++) {
        struct leaf l = leaf_of(ZS_FLOAT32, 0, 8, codecs[k]);
        CHECK(l.level->lookup == NULL);
        done(&l);
    }
}

int main(void)
{
    RUN(test_lookup_table_equals_the_codec_stages);
    RUN(test_refused_value_prevents_a_lookup_table);
    RUN(test_no_lookup_table_when_it_would_not_save_work);
    return check_result();
}
