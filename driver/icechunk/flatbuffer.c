/* FlatBuffers: tables of numbered fields. */
#include "base/checked.h"
#include "icechunk/icechunk_private.h"

static bool has(const struct zs_flat *flat, size_t at, size_t n)
{
    return at <= flat->size && n <= flat->size - at;
}

/* Follows the offset at `at`: forwards, to something of at least 4 bytes. 0 where it leads elsewhere. */
static size_t follow(const struct zs_flat *flat, size_t at)
{
    const size_t offset = has(flat, at, 4) ? (size_t)zs_load_le(flat->data + at, 4) : 0;
    return offset != 0 && offset <= flat->size - at && has(flat, at + offset, 4) ? at + offset : 0;
}

/* The table at `at`, whose vtable lies before or behind it; of NULL where that cannot be. */
static struct zs_flat_table table_at(const struct zs_flat *flat, size_t at)
{
    const int64_t vtable = at != 0 ? (int64_t)at - (int32_t)zs_load_le(flat->data + at, 4) : -1;
    if (vtable < 0 || (uint64_t)vtable > flat->size || !has(flat, (size_t)vtable, 4))
        return (struct zs_flat_table){0};
    const unsigned char *v = flat->data + vtable;
    const size_t vtable_size = (size_t)zs_load_le(v, 2), size = (size_t)zs_load_le(v + 2, 2);
    if (vtable_size < 4 || size < 4 || !has(flat, (size_t)vtable, vtable_size) || !has(flat, at, size))
        return (struct zs_flat_table){0};
    return (struct zs_flat_table){flat, at, (size_t)vtable, (vtable_size - 4) / 2, size, 0};
}

struct zs_flat_table zs_flat_root(const struct zs_flat *flat)
{
    return table_at(flat, follow(flat, 0));
}

struct zs_flat_table zs_flat_element(const struct zs_flat_vector *vector, size_t index)
{
    return table_at(vector->of, follow(vector->of, (size_t)(vector->data - vector->of->data) + 4 * index));
}

/* Where a field of `size` bytes is; 0 where it is absent, or wrong. */
static size_t field_at(struct zs_flat_table *table, unsigned id, size_t size, bool is_needed)
{
    const size_t offset =
        id < table->fields ? (size_t)zs_load_le(table->of->data + table->vtable + 4 + 2 * (size_t)id, 2) : 0;
    const bool is_within = offset >= 4 && offset <= table->size && size <= table->size - offset;
    if (offset == 0 && is_needed)
        table->wrong = id + 1;
    if (offset != 0 && !is_within)
        table->wrong = id + 1;
    return is_within ? table->at + offset : 0;
}

uint64_t zs_flat_number(struct zs_flat_table *table, unsigned id, size_t size)
{
    const size_t at = field_at(table, id, size, false);
    return at != 0 ? zs_load_le(table->of->data + at, size) : 0;
}

const unsigned char *zs_flat_struct(struct zs_flat_table *table, unsigned id, size_t size, bool is_needed)
{
    const size_t at = field_at(table, id, size, is_needed);
    return at != 0 ? table->of->data + at : NULL;
}

struct zs_flat_table zs_flat_table(struct zs_flat_table *table, unsigned id)
{
    const size_t at = field_at(table, id, 4, false);
    return at != 0 ? table_at(table->of, follow(table->of, at)) : (struct zs_flat_table){0};
}

struct zs_flat_vector zs_flat_vector(struct zs_flat_table *table, unsigned id, size_t size, bool is_needed)
{
    const size_t at = field_at(table, id, 4, is_needed), begin = at != 0 ? follow(table->of, at) : 0;
    const uint64_t count = begin != 0 ? zs_load_le(table->of->data + begin, 4) : 0;
    uint64_t bytes;
    if (begin != 0 && zs_mul_u64(count, size, &bytes) && bytes <= table->of->size - begin - 4)
        return (struct zs_flat_vector){table->of, table->of->data + begin + 4, (size_t)count};
    if (at != 0)
        table->wrong = id + 1;
    return (struct zs_flat_vector){0};
}

enum zs_status zs_flat_check(const struct zs_flat_table *table, struct zs_error *err)
{
    if (table->of == NULL)
        return zs_fail(err, ZS_CORRUPT, "expected a table in the FlatBuffer, found an offset that leads elsewhere");
    return table->wrong == 0 ? ZS_OK
                             : zs_fail(err, ZS_CORRUPT, "field %u of a table in the FlatBuffer is absent, or leads out "
                                                        "of it", table->wrong - 1);
}
