/* Allocation, strings, buffers, and arithmetic on sizes that came from a file. */
#include "base/checked.h"
#include "base/memory.h"
#include "check.h"

#include <stdlib.h>

/* Under ASan, as without it, malloc() answers NULL to what cannot be had. */
const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

TEST(test_calloc_refuses_what_overflows)
{
    volatile size_t half = SIZE_MAX / 2 + 2; /* volatile: compilers warn of what they can compute */
    CHECK(zs_calloc(half, 2) == NULL);
}

TEST(test_buffer_keeps_its_content_when_it_grows)
{
    struct zs_error err;
    struct zs_buffer b = {0};
    for (unsigned i = 0; i < 10000; i++) {
        const unsigned char byte = (unsigned char)(i * 7);
        if (!CHECK(zs_buffer_append(&b, &byte, 1, &err) == ZS_OK))
            break;
    }
    CHECK_EQ_U64(b.size, 10000);
    for (unsigned i = 0; i < 10000; i++)
        CHECK(b.data[i] == (unsigned char)(i * 7));
    CHECK(zs_buffer_reserve(&b, 100000, &err) == ZS_OK);
    CHECK_EQ_U64(b.size, 10000);
    CHECK(b.capacity >= 100000);
    CHECK(b.data[9999] == (unsigned char)(9999u * 7));
    zs_buffer_free(&b);
    CHECK(b.data == NULL && b.size == 0 && b.capacity == 0);
}

TEST(test_buffer_too_large_is_an_error_and_keeps_the_content)
{
    struct zs_error err;
    struct zs_buffer b = {0};
    CHECK(zs_buffer_append(&b, "abc", 3, &err) == ZS_OK);
    volatile size_t huge = SIZE_MAX / 2;
    CHECK(zs_buffer_reserve(&b, huge, &err) == ZS_NO_MEMORY);
    CHECK_CONTAINS(err.message, "bytes");
    CHECK_EQ_MEM(b.data, "abc", 3);
    huge = SIZE_MAX;
    CHECK(zs_buffer_append(&b, "", huge, &err) == ZS_NO_MEMORY);
    CHECK(zs_buffer_reset(&b, huge, &err) == ZS_NO_MEMORY);
    CHECK(b.data == NULL && b.size == 0 && b.capacity == 0); /* and can be used again */
    CHECK(zs_buffer_append(&b, "d", 1, &err) == ZS_OK);
    zs_buffer_free(&b);
}

TEST(test_checked_arithmetic_refuses_what_does_not_fit)
{
    const uint64_t values[] = {0, 1, 2, 3, UINT32_MAX, (uint64_t)UINT32_MAX + 1, UINT64_MAX / 2, UINT64_MAX / 2 + 1,
                               UINT64_MAX - 1, UINT64_MAX};
    const size_t n = sizeof values / sizeof values[0];
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            uint64_t expected, found = 99;
            bool fits = !__builtin_mul_overflow(values[i], values[j], &expected);
            CHECK(zs_mul_u64(values[i], values[j], &found) == fits);
            CHECK_EQ_U64(found, fits ? expected : 99);
            found = 99;
            fits = !__builtin_add_overflow(values[i], values[j], &expected);
            CHECK(zs_add_u64(values[i], values[j], &found) == fits);
            CHECK_EQ_U64(found, fits ? expected : 99);
        }
    uint64_t p = 99;
    CHECK(zs_product_u64(NULL, 0, &p) && p == 1);
    const uint64_t fits[] = {3, 5, 7}, large[] = {(uint64_t)1 << 40, (uint64_t)1 << 40, 0};
    CHECK(zs_product_u64(fits, 3, &p) && p == 105);
    CHECK(!zs_product_u64(large, 3, &p) && p == 105); /* also when a zero follows */
    CHECK_EQ_U64(zs_ceil_div_u64(0, 5), 0);
    CHECK_EQ_U64(zs_ceil_div_u64(10, 5), 2);
    CHECK_EQ_U64(zs_ceil_div_u64(11, 5), 3);
    CHECK_EQ_U64(zs_ceil_div_u64(UINT64_MAX, 2), (uint64_t)1 << 63);
    CHECK_EQ_U64(zs_min_u64(3, 4), 3);
    CHECK_EQ_U64(zs_max_u64(3, 4), 4);
}

TEST(test_an_array_grows_and_keeps_its_items)
{
    uint64_t *items = NULL;
    size_t capacity = 0;
    for (size_t n = 0; n < 1000; n++) {
        uint64_t *grown = zs_grow(items, n, &capacity, sizeof *grown);
        if (!CHECK(grown != NULL && capacity > n))
            break;
        items = grown;
        items[n] = n;
    }
    for (size_t n = 0; n < 1000; n++)
        CHECK_EQ_U64(items[n], n);
    uint64_t *grown = zs_grow_by(items, 1000, 5000, &capacity, sizeof *grown);
    if (CHECK(grown != NULL && capacity >= 6000)) {
        items = grown;
        CHECK_EQ_U64(items[999], 999);
    }
    CHECK(zs_grow_by(items, 1000, UINT64_MAX, &capacity, 8) == NULL);
    CHECK(zs_grow_by(items, 1000, SIZE_MAX / 8, &capacity, 8) == NULL);
    capacity = SIZE_MAX / 8;
    CHECK(zs_grow(items, capacity, &capacity, 8) == NULL); /* twice as many bytes have no number */
    CHECK_EQ_U64(capacity, SIZE_MAX / 8);
    free(items);
}
