/* The table from numbers to pointers, against a plain array. */
#include "array_store.h"
#include "base/map.h"

#define KEYS 512

static void check_same(const struct zs_map *map, const uint64_t *keys, char *const *model)
{
    size_t count = 0, walked = 0, at = 0;
    for (size_t i = 0; i < KEYS; i++) {
        CHECK(zs_map_get(map, keys[i]) == model[i]);
        count += model[i] != NULL;
    }
    CHECK_EQ_U64(map->count, count);
    bool seen[KEYS] = {false};
    for (void *value; (value = zs_map_next(map, &at)) != NULL; walked++) {
        size_t i = 0;
        while (i < KEYS && (seen[i] || model[i] != value))
            i++;
        if (CHECK(i < KEYS))
            seen[i] = true;
    }
    CHECK_EQ_U64(walked, count);
}

/* Random sets, replacements and removals; `step` makes keys that crowd into few places. */
static void random_operations(uint64_t seed, uint64_t step)
{
    static char values[16];
    uint64_t keys[KEYS];
    char *model[KEYS] = {NULL};
    for (uint64_t i = 0; i < KEYS; i++)
        keys[i] = i == KEYS - 1 ? UINT64_MAX : i * step;
    struct zs_map map = {0};
    for (int i = 0; i < 20000; i++) {
        const uint64_t k = rng_below(&seed, i < 5000 ? 40 : KEYS);
        if (rng_below(&seed, 5) < 3) {
            model[k] = &values[rng_below(&seed, sizeof values)];
            CHECK(zs_map_set(&map, keys[k], model[k]));
        } else {
            CHECK(zs_map_remove(&map, keys[k]) == model[k]);
            model[k] = NULL;
        }
        if (i % 1000 == 0)
            check_same(&map, keys, model);
    }
    check_same(&map, keys, model);
    for (size_t i = 0; i < KEYS; i++)
        CHECK(zs_map_remove(&map, keys[i]) == model[i]);
    CHECK_EQ_U64(map.count, 0);
    zs_map_free(&map);
}

TEST(test_random_operations_equal_a_plain_array)
{
    random_operations(1, 1);
    random_operations(2, (uint64_t)1 << 32);
    random_operations(3, 0x9E3779B97F4A7C15u);
    random_operations(4, (uint64_t)1 << 52);
}
