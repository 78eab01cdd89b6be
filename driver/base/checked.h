/* base/checked.h: numbers that came from a file, and arithmetic on them. Functions with an *out return false, and leave
 * it alone, when the result does not fit: hostile metadata ends in an error, never in a small allocation. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline uint32_t zs_load_le32(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static inline uint64_t zs_load_le64(const unsigned char *bytes)
{
    return zs_load_le32(bytes) | (uint64_t)zs_load_le32(bytes + 4) << 32;
}

/* Reads the n <= 8 bytes of a little-endian number. */
static inline uint64_t zs_load_le(const unsigned char *bytes, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v |= (uint64_t)bytes[i] << (8 * i);
    return v;
}

/* The n lowest bytes of `value`. */
static inline void zs_store_le(unsigned char *bytes, uint64_t value, int n)
{
    for (int i = 0; i < n; i++)
        bytes[i] = (unsigned char)(value >> 8 * i);
}

static inline bool zs_mul_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    if (a != 0 && b > UINT64_MAX / a)
        return false;
    *out = a * b;
    return true;
}

static inline bool zs_add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    if (b > UINT64_MAX - a)
        return false;
    *out = a + b;
    return true;
}

static inline bool zs_product_u64(const uint64_t *values, int n, uint64_t *out)
{
    uint64_t p = 1;
    for (int i = 0; i < n; i++)
        if (!zs_mul_u64(p, values[i], &p))
            return false;
    *out = p;
    return true;
}

static inline uint64_t zs_ceil_div_u64(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static inline uint64_t zs_min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Position of the first of n sorted numbers that is not less than `value`; n where all are. */
static inline size_t zs_find_u64(const uint64_t *sorted, size_t n, uint64_t value)
{
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (sorted[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static inline uint64_t zs_max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}
