/* FlatBuffers: tables of numbered fields, read by rows that say what is wanted of a message. */
#include <string.h>

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
    return (struct zs_flat_table){flat, at, (size_t)vtable, (vtable_size - 4) / 2, size};
}

struct zs_flat_table zs_flat_root(const struct zs_flat *flat)
{
    return table_at(flat, follow(flat, 0));
}

struct zs_flat_table zs_flat_element(const struct zs_flat_vector *vector, size_t index)
{
    return table_at(vector->of, follow(vector->of, (size_t)(vector->data - vector->of->data) + 4 * index));
}

/* Reads a vector behind the offset at `at`; false where it leads out of the buffer. */
static bool read_vector(const struct zs_flat *flat, size_t at, size_t size, struct zs_flat_vector *out)
{
    const size_t begin = follow(flat, at);
    const uint64_t count = begin != 0 ? zs_load_le(flat->data + begin, 4) : 0;
    uint64_t bytes;
    if (begin == 0 || !zs_mul_u64(count, size, &bytes) || bytes > flat->size - begin - 4)
        return false;
    *out = (struct zs_flat_vector){flat, flat->data + begin + 4, (size_t)count};
    return true;
}

static bool read_field(const struct zs_flat_table *table, const struct zs_flat_field *f, size_t offset, void *member)
{
    const struct zs_flat *flat = table->of;
    const size_t at = table->at + offset;
    const size_t size = f->kind == ZS_FLAT_TABLE || f->kind == ZS_FLAT_VECTOR ? 4 : f->size;
    if (offset < 4 || offset > table->size || size > table->size - offset)
        return false;
    if (f->kind == ZS_FLAT_VECTOR)
        return read_vector(flat, at, f->size, member);
    if (f->kind == ZS_FLAT_TABLE) {
        const struct zs_flat_table found = table_at(flat, follow(flat, at));
        memcpy(member, &found, sizeof found);
        return found.of != NULL;
    }
    const uint64_t number = zs_load_le(flat->data + at, f->kind == ZS_FLAT_NUMBER ? size : 0);
    const unsigned char *const bytes = flat->data + at;
    if (f->kind == ZS_FLAT_NUMBER)
        memcpy(member, &number, sizeof number);
    else
        memcpy(member, &bytes, sizeof bytes);
    return true;
}

enum zs_status zs_flat_read(const struct zs_flat_table *table, const struct zs_flat_field *fields, size_t count,
                            void *out, struct zs_error *err)
{
    if (table->of == NULL)
        return zs_fail(err, ZS_CORRUPT, "expected a table in the FlatBuffer, found an offset that leads elsewhere");
    for (size_t i = 0; i < count; i++) {
        const struct zs_flat_field *f = &fields[i];
        const size_t offset = f->id < table->fields
                                  ? (size_t)zs_load_le(table->of->data + table->vtable + 4 + 2 * (size_t)f->id, 2)
                                  : 0; /* 0: absent */
        if (offset == 0 && f->is_needed)
            return zs_fail(err, ZS_CORRUPT, "expected field %u of a table in the FlatBuffer, found none", f->id);
        if (offset != 0 && !read_field(table, f, offset, (char *)out + f->offset))
            return zs_fail(err, ZS_CORRUPT, "field %u of a table in the FlatBuffer leads out of it", f->id);
    }
    return ZS_OK;
}
