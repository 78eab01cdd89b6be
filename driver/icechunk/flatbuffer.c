#include "base/checked.h"
#include "icechunk/icechunk_private.h"

static bool has(const struct zs_flat *flat, size_t at, size_t n)
{
    return at <= flat->size && n <= flat->size - at;
}

/* Follows the offset at `at`: forwards, to something of at least 4 bytes. 0 where it is broken. */
static size_t follow(struct zs_flat *flat, size_t at)
{
    const size_t offset = has(flat, at, 4) ? (size_t)zs_load_le(flat->data + at, 4) : 0;
    if (offset != 0 && offset <= flat->size - at && has(flat, at + offset, 4))
        return at + offset;
    flat->is_broken = true;
    return 0;
}

/* The table at `at`, whose vtable lies before or behind it. */
static struct zs_flat_table table_at(struct zs_flat *flat, size_t at)
{
    const int64_t vtable = at != 0 ? (int64_t)at - (int32_t)zs_load_le(flat->data + at, 4) : -1;
    if (vtable >= 0 && (uint64_t)vtable <= flat->size && has(flat, (size_t)vtable, 4)) {
        const unsigned char *v = flat->data + vtable;
        const size_t vtable_size = (size_t)zs_load_le(v, 2), size = (size_t)zs_load_le(v + 2, 2);
        if (vtable_size >= 4 && vtable_size % 2 == 0 && size >= 4 && has(flat, (size_t)vtable, vtable_size) &&
            has(flat, at, size))
            return (struct zs_flat_table){flat, at, (size_t)vtable, (vtable_size - 4) / 2, size};
    }
    flat->is_broken = true;
    return (struct zs_flat_table){0};
}

struct zs_flat_table zs_flat_root(struct zs_flat *flat)
{
    return table_at(flat, follow(flat, 0));
}

/* Position of a field of n bytes; 0 where it is absent. */
static size_t field_at(const struct zs_flat_table *table, unsigned field, size_t n)
{
    if (table->of == NULL || field >= table->fields)
        return 0;
    const size_t offset = (size_t)zs_load_le(table->of->data + table->vtable + 4 + 2 * (size_t)field, 2);
    if (offset == 0)
        return 0;
    if (offset >= 4 && offset <= table->size && n <= table->size - offset)
        return table->at + offset;
    table->of->is_broken = true;
    return 0;
}

uint64_t zs_flat_number(const struct zs_flat_table *table, unsigned field, size_t size)
{
    const size_t at = field_at(table, field, size);
    return at != 0 ? zs_load_le(table->of->data + at, size) : 0;
}

const unsigned char *zs_flat_struct(const struct zs_flat_table *table, unsigned field, size_t size)
{
    const size_t at = field_at(table, field, size);
    return at != 0 ? table->of->data + at : NULL;
}

struct zs_flat_table zs_flat_table(const struct zs_flat_table *table, unsigned field)
{
    const size_t at = field_at(table, field, 4);
    return at != 0 ? table_at(table->of, follow(table->of, at)) : (struct zs_flat_table){0};
}

struct zs_flat_vector zs_flat_vector(const struct zs_flat_table *table, unsigned field, size_t size)
{
    const size_t field_offset = field_at(table, field, 4);
    const size_t at = field_offset != 0 ? follow(table->of, field_offset) : 0;
    if (at == 0)
        return (struct zs_flat_vector){0};
    const uint64_t count = zs_load_le(table->of->data + at, 4);
    uint64_t bytes;
    if (zs_mul_u64(count, size, &bytes) && bytes <= table->of->size - at - 4)
        return (struct zs_flat_vector){table->of, table->of->data + at + 4, (size_t)count};
    table->of->is_broken = true;
    return (struct zs_flat_vector){0};
}

struct zs_flat_table zs_flat_element(const struct zs_flat_vector *vector, size_t index)
{
    return table_at(vector->of, follow(vector->of, (size_t)(vector->data - vector->of->data) + 4 * index));
}
