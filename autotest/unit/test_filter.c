/* The filter of blosc that suits samples of an array. */
#include <math.h>

#include "check.h"
#include "codec/description.h"

enum { ROWS = 64, COLUMNS = 256, COUNT = ROWS * COLUMNS };

static struct zs_array_spec spec_of(enum zs_data_type type, const char *guess)
{
    struct zs_array_spec spec = {.ndim = 2, .chunk_shape = {ROWS, COLUMNS}, .dtype = zs_dtype_of(type)};
    spec.encoding = (struct zs_encoding){
        .compression = ZS_COMPRESS_BLOSC, .level = 3, .blosc_cname = "zstd", .blosc_shuffle = guess};
    return spec;
}

static const char *chosen(enum zs_data_type type, const char *guess, const void *sample)
{
    const struct zs_array_spec spec = spec_of(type, guess);
    const void *const elements[] = {sample, sample};
    const struct zs_samples samples = {elements, 2, 2, spec.chunk_shape};
    const char *filter = NULL;
    struct zs_error err;
    CHECK(zs_filter_choose(&spec, &samples, &filter, &err) == ZS_OK);
    return filter;
}

static void test_bits_of_a_mask_are_best_apart(void)
{
    static uint8_t mask[COUNT];
    for (int i = 0; i < COUNT; i++)
        mask[i] = (i * i / 97 + i / COLUMNS) % 7 < 3 ? 255 : 0;
    CHECK_EQ_STR(chosen(ZS_UINT8, "noshuffle", mask), "bitshuffle");
}

static uint32_t next_random(uint32_t *random)
{
    return *random = *random * 1664525u + 1013904223u;
}

static void test_floats_of_few_values_are_best_as_they_are(void)
{
    static float scaled[COUNT];
    uint32_t random = 1;
    for (int i = 0; i < COUNT; i++)
        scaled[i] = (float)(next_random(&random) >> 26) * 0.01f;
    CHECK_EQ_STR(chosen(ZS_FLOAT32, "shuffle", scaled), "noshuffle");
    CHECK_EQ_STR(chosen(ZS_FLOAT32, "noshuffle", scaled), "noshuffle");
}

static void test_smooth_floats_with_noise_are_best_by_bytes(void)
{
    static float smooth[COUNT];
    uint32_t random = 1;
    for (int i = 0; i < COUNT; i++)
        smooth[i] = 1000.0f + 50.0f * sinf((float)(i % COLUMNS) / 40) * cosf((float)(i / COLUMNS) / 30) +
                    (float)(next_random(&random) >> 8) * 1e-8f;
    CHECK_EQ_STR(chosen(ZS_FLOAT32, "noshuffle", smooth), "shuffle");
}

static void test_default_filter_stays_when_no_other_saves_bytes(void)
{
    static uint16_t constant[COUNT];
    CHECK_EQ_STR(chosen(ZS_UINT16, "bitshuffle", constant), "bitshuffle");
    CHECK_EQ_STR(chosen(ZS_UINT16, "noshuffle", constant), "noshuffle");
}

static void test_samples_stay_as_they_are(void)
{
    static uint16_t sample[COUNT], before[COUNT];
    for (int i = 0; i < COUNT; i++)
        before[i] = sample[i] = (uint16_t)(i * 31);
    CHECK(chosen(ZS_UINT16, "bitshuffle", sample) != NULL);
    CHECK(memcmp(sample, before, sizeof sample) == 0);
}

static void test_level_and_blocks_go_with_the_filter_and_the_chunk(void)
{
    static const struct {
        const char *filter;
        enum zs_data_type type;
        uint64_t chunk[3];
        int asked; /* level; 0: none */
        int level, block_size;
    } cases[] = {
        {"bitshuffle", ZS_UINT16, {1, 512, 512}, 0, 1, 512 << 10},
        {"bitshuffle", ZS_UINT16, {1, 512, 512}, 2, 2, 1 << 20},
        {"bitshuffle", ZS_UINT16, {1, 256, 256}, 0, 1, 256 << 10},
        {"shuffle", ZS_FLOAT32, {1, 512, 512}, 0, 2, 1 << 20},
        {"shuffle", ZS_FLOAT32, {1, 512, 512}, 7, 7, 1 << 20},
        {"noshuffle", ZS_FLOAT32, {1, 512, 512}, 0, 2, 256 << 10},
        {"noshuffle", ZS_FLOAT32, {1, 512, 512}, 3, 3, 1 << 20},
        {"noshuffle", ZS_FLOAT64, {1, 512, 512}, 0, 2, 1 << 20},
        {"bitshuffle", ZS_UINT16, {9, 512, 512}, 0, 1, 128 << 10},
        {"shuffle", ZS_FLOAT32, {9, 512, 512}, 3, 3, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct zs_array_spec spec = spec_of(cases[i].type, cases[i].filter);
        spec.ndim = 3;
        memcpy(spec.chunk_shape, cases[i].chunk, sizeof cases[i].chunk);
        spec.encoding.is_usual_level = cases[i].asked == 0;
        spec.encoding.level = cases[i].asked == 0 ? 2 : cases[i].asked;
        const struct zs_blosc_settings s = zs_blosc_settings_of(&spec);
        CHECK_EQ_I64(s.level, cases[i].level);
        CHECK_EQ_I64(s.block_size, cases[i].block_size);
    }
}

int main(void)
{
    RUN(test_bits_of_a_mask_are_best_apart);
    RUN(test_floats_of_few_values_are_best_as_they_are);
    RUN(test_smooth_floats_with_noise_are_best_by_bytes);
    RUN(test_default_filter_stays_when_no_other_saves_bytes);
    RUN(test_samples_stay_as_they_are);
    RUN(test_level_and_blocks_go_with_the_filter_and_the_chunk);
    return check_result();
}
