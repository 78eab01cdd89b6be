#include "icechunk/flatbuffer.h"

#include "base/checked.h"

static bool has(const struct zs_flat *flat, size_t at, size_t n)
{
    return at <= flat->size && n <= flat->size - at;
}

/* Follows the offset at `at`: forwards, to something of at least 4 bytes. */
static bool follow(const struct zs_flat *flat, size_t at, size_t *target)
{
    if (!has(flat, at, 4))
        return false;
    const size_t offset = (size_t)zs_load_le(flat->data + at, 4);
    if (offset == 0 || offset > flat->size - at || !has(flat, at + offset, 4))
        return false;
    *target = at + offset;
    return true;
}

/* The table at `at`, whose vtable lies before or behind it. */
static bool table_at(const struct zs_flat *flat, size_t at, struct zs_flat_table *out)
{
    if (!has(flat, at, 4))
        return false;
    const int64_t vtable = (int64_t)at - (int32_t)zs_load_le(flat->data + at, 4);
    if (vtable < 0 || (uint64_t)vtable > flat->size || !has(flat, (size_t)vtable, 4))
        return false;
    const unsigned char *v = flat->data + vtable;
    const size_t vtable_size = (size_t)zs_load_le(v, 2), size = (size_t)zs_load_le(v + 2, 2);
    if (vtable_size < 4 || vtable_size % 2 != 0 || size < 4 || !has(flat, (size_t)vtable, vtable_size) ||
        !has(flat, at, size))
        return false;
    *out = (struct zs_flat_table){flat, at, (size_t)vtable, (unsigned)(vtable_size - 4) / 2, size};
    return true;
}

bool zs_flat_root(const struct zs_flat *flat, struct zs_flat_table *out)
{
    size_t at;
    return follow(flat, 0, &at) && table_at(flat, at, out);
}

/* Position of a field of n bytes; 0 where it is absent. */
static bool field_at(const struct zs_flat_table *table, unsigned field, size_t n, size_t *at)
{
    *at = 0;
    if (table->of == NULL)
        return false;
    const unsigned char *fields = table->of->data + table->vtable + 4;
    const size_t offset = field < table->fields ? (size_t)zs_load_le(fields + 2 * (size_t)field, 2) : 0;
    if (offset == 0)
        return true;
    if (offset < 4 || offset > table->size || n > table->size - offset)
        return false;
    *at = table->at + offset;
    return true;
}

bool zs_flat_number(const struct zs_flat_table *table, unsigned field, size_t size, uint64_t usual, uint64_t *out)
{
    size_t at;
    if (!field_at(table, field, size, &at))
        return false;
    *out = at != 0 ? zs_load_le(table->of->data + at, size) : usual;
    return true;
}

bool zs_flat_struct(const struct zs_flat_table *table, unsigned field, size_t size, const unsigned char **out)
{
    size_t at;
    if (!field_at(table, field, size, &at))
        return false;
    *out = at != 0 ? table->of->data + at : NULL;
    return true;
}

bool zs_flat_table(const struct zs_flat_table *table, unsigned field, struct zs_flat_table *out)
{
    size_t at;
    if (!field_at(table, field, 4, &at))
        return false;
    if (at == 0) {
        *out = (struct zs_flat_table){0};
        return true;
    }
    return follow(table->of, at, &at) && table_at(table->of, at, out);
}

bool zs_flat_vector(const struct zs_flat_table *table, unsigned field, size_t size, struct zs_flat_vector *out)
{
    size_t at;
    if (!field_at(table, field, 4, &at))
        return false;
    if (at == 0) {
        *out = (struct zs_flat_vector){0};
        return true;
    }
    if (!follow(table->of, at, &at))
        return false;
    const uint64_t count = zs_load_le(table->of->data + at, 4);
    uint64_t bytes;
    if (!zs_mul_u64(count, size, &bytes) || bytes > table->of->size - at - 4)
        return false;
    *out = (struct zs_flat_vector){table->of, table->of->data + at + 4, (size_t)count};
    return true;
}

bool zs_flat_vector_table(const struct zs_flat_vector *vector, size_t index, struct zs_flat_table *out)
{
    size_t at = (size_t)(vector->data - vector->of->data) + 4 * index;
    return index < vector->count && follow(vector->of, at, &at) && table_at(vector->of, at, out);
}
