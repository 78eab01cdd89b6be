/* Space-filling orders of the chunks of a shard. */
#include "array_store.h"
#include "shard/writer.h"

#define MOST 5000

static struct zs_level level_of(int ndim, const uint64_t *grid)
{
    struct zs_level level = {.ndim = ndim, .is_shard = true, .inner_count = product(grid, ndim)};
    for (int d = 0; d < ndim; d++) {
        level.grid[d] = grid[d];
        level.axis[d] = d;
    }
    return level;
}

static void list(const struct zs_level *level, enum zs_chunk_order order, uint64_t *numbers)
{
    struct zs_error err;
    must(zs_chunk_order_list(level, order, numbers, &err), &err);
    static bool seen[MOST];
    memset(seen, 0, sizeof seen);
    for (uint64_t i = 0; i < level->inner_count; i++)
        if (CHECK(numbers[i] < level->inner_count && !seen[numbers[i]]))
            seen[numbers[i]] = true;
}

/* Position of a chunk in the stored dimensions. */
static void stored_position(const struct zs_level *level, uint64_t number, uint64_t *at)
{
    for (int j = level->ndim - 1; j >= 0; j--) {
        at[j] = number % level->grid[level->axis[j]];
        number /= level->grid[level->axis[j]];
    }
}

TEST(test_every_order_is_a_permutation_for_every_grid)
{
    static uint64_t numbers[MOST];
    uint64_t rng = 3;
    for (int round = 0; round < 300; round++) {
        uint64_t grid[6];
        const int ndim = (int)rng_below(&rng, 7);
        for (int d = 0; d < ndim; d++)
            grid[d] = 1 + rng_below(&rng, ndim < 3 ? 60 : 4);
        struct zs_level level = level_of(ndim, grid);
        for (int d = ndim - 1; d > 0; d--) { /* as after a transpose */
            const int k = (int)rng_below(&rng, (uint64_t)d + 1), t = level.axis[d];
            level.axis[d] = level.axis[k];
            level.axis[k] = t;
        }
        for (int order = ZS_ORDER_ROW_MAJOR; order <= ZS_ORDER_HILBERT; order++)
            list(&level, (enum zs_chunk_order)order, numbers);
    }
}

/* Bits of the coordinates that are of more than one chunk, interleaved, the last dimension lowest. */
static uint64_t morton_code(const struct zs_level *level, uint64_t number)
{
    uint64_t at[ZS_MAX_NDIM], code = 0;
    stored_position(level, number, at);
    for (int bit = 12; bit >= 0; bit--)
        for (int j = 0; j < level->ndim; j++)
            if (level->grid[level->axis[j]] > 1)
                code = code << 1 | (at[j] >> bit & 1);
    return code;
}

TEST(test_morton_interleaves_bits)
{
    static uint64_t numbers[MOST];
    static const uint64_t grids[][4] = {{8, 8, 1, 1}, {5, 9, 1, 1},   {1, 16, 1, 3},
                                        {4, 4, 4, 4}, {60, 1, 1, 60}, {3, 1, 2, 7}};
    for (size_t g = 0; g < sizeof grids / sizeof grids[0]; g++)
        for (int transposed = 0; transposed < 2; transposed++) {
            struct zs_level level = level_of(4, grids[g]);
            if (transposed) {
                level.axis[0] = 2, level.axis[1] = 0, level.axis[2] = 3, level.axis[3] = 1;
            }
            list(&level, ZS_ORDER_MORTON, numbers);
            for (uint64_t i = 1; i < level.inner_count; i++)
                CHECK(morton_code(&level, numbers[i - 1]) < morton_code(&level, numbers[i]));
        }
    const struct zs_level square = level_of(2, (uint64_t[]){2, 2});
    list(&square, ZS_ORDER_MORTON, numbers);
    for (uint64_t i = 0; i < 4; i++)
        CHECK_EQ_U64(numbers[i], i);
    const struct zs_level four = level_of(2, (uint64_t[]){4, 4});
    list(&four, ZS_ORDER_MORTON, numbers);
    static const uint64_t z[] = {0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15};
    for (uint64_t i = 0; i < 16; i++)
        CHECK_EQ_U64(numbers[i], z[i]);
}

TEST(test_hilbert_neighbours_are_adjacent)
{
    static uint64_t numbers[MOST];
    static const struct {
        int ndim;
        uint64_t grid[4];
    } cubes[] = {{1, {16}}, {2, {2, 2}}, {2, {32, 32}}, {3, {8, 8, 8}}, {4, {4, 4, 4, 4}}, {3, {16, 1, 16}}};
    for (size_t c = 0; c < sizeof cubes / sizeof cubes[0]; c++) {
        const struct zs_level level = level_of(cubes[c].ndim, cubes[c].grid);
        list(&level, ZS_ORDER_HILBERT, numbers);
        for (uint64_t i = 1; i < level.inner_count; i++) {
            uint64_t a[ZS_MAX_NDIM], b[ZS_MAX_NDIM], distance = 0;
            stored_position(&level, numbers[i - 1], a);
            stored_position(&level, numbers[i], b);
            for (int d = 0; d < level.ndim; d++)
                distance += a[d] > b[d] ? a[d] - b[d] : b[d] - a[d];
            CHECK_EQ_U64(distance, 1);
        }
    }
}
