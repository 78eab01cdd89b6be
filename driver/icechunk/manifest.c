/* Manifests of an Icechunk repository: references to chunks, searched in the file as it is. */
#include <stddef.h>
#include <string.h>

#include "base/checked.h"
#include "codec/codec.h"
#include "icechunk/icechunk_private.h"

/* The tables Manifest, ArrayManifest and ChunkRef. */
struct manifest {
    struct zs_flat_vector arrays, dictionary;
};
static const struct zs_flat_field manifest_fields[] = {
    {1, ZS_FLAT_VECTOR, 4, offsetof(struct manifest, arrays), true},
    {2, ZS_FLAT_VECTOR, 1, offsetof(struct manifest, dictionary), false}};

struct array {
    const unsigned char *node;
    struct zs_flat_vector refs;
};
static const struct zs_flat_field array_fields[] = {
    {0, ZS_FLAT_STRUCT, ZS_ICECHUNK_NODE_ID_BYTES, offsetof(struct array, node), true},
    {1, ZS_FLAT_VECTOR, 4, offsetof(struct array, refs), true}};

#define REF(id, kind, size, member, is_needed) {id, kind, size, offsetof(struct zs_icechunk_ref, member), is_needed}
static const struct zs_flat_field ref_fields[] = {
    REF(0, ZS_FLAT_VECTOR, 4, index, true),
    REF(1, ZS_FLAT_VECTOR, 1, bytes, false),
    REF(2, ZS_FLAT_NUMBER, 8, offset, false),
    REF(3, ZS_FLAT_NUMBER, 8, size, false),
    REF(4, ZS_FLAT_STRUCT, ZS_ICECHUNK_ID_BYTES, chunk_id, false),
    REF(5, ZS_FLAT_VECTOR, 1, location, false),
    REF(8, ZS_FLAT_VECTOR, 1, compressed_location, false)};
/* To compare positions. */
static const struct zs_flat_field index_fields[] = {REF(0, ZS_FLAT_VECTOR, 4, index, true)};

/* The longest URL, decoded. */
#define MAX_LOCATION_BYTES ((size_t)16384)

/* Whether a position comes before another one, of as many dimensions. */
static bool is_before(const struct zs_flat_vector *a, const struct zs_flat_vector *b)
{
    for (size_t d = 0; d < a->count && a->count == b->count; d++) {
        const uint32_t x = zs_load_le32(a->data + 4 * d), y = zs_load_le32(b->data + 4 * d);
        if (x != y)
            return x < y;
    }
    return false;
}

enum zs_status zs_icechunk_manifest_check(const struct zs_icechunk_file *file, struct zs_error *err)
{
    struct manifest manifest = {0};
    const struct zs_flat_table root = zs_flat_root(&file->flat);
    ZS_TRY(ZS_FLAT_READ(&root, manifest_fields, &manifest, err));
    for (size_t i = 0; i < manifest.arrays.count; i++) {
        struct array array = {0};
        struct zs_icechunk_ref before = {0}, ref = {0};
        const struct zs_flat_table of = zs_flat_element(&manifest.arrays, i);
        ZS_TRY(ZS_FLAT_READ(&of, array_fields, &array, err));
        for (size_t j = 0; j < array.refs.count; j++, before = ref) {
            const struct zs_flat_table t = zs_flat_element(&array.refs, j);
            ZS_TRY(ZS_FLAT_READ(&t, index_fields, &ref, err));
            if (j > 0 && !is_before(&before.index, &ref.index))
                return zs_fail(err, ZS_CORRUPT, "array %zu, reference %zu: expected positions that increase", i, j);
        }
    }
    return ZS_OK;
}

/* Finds the references of an array, sorted by node. */
static enum zs_status find_array(const struct zs_icechunk_file *file, const unsigned char *node, struct array *found,
                                 struct zs_error *err)
{
    struct manifest manifest = {0};
    const struct zs_flat_table root = zs_flat_root(&file->flat);
    ZS_TRY(ZS_FLAT_READ(&root, manifest_fields, &manifest, err));
    for (size_t low = 0, high = manifest.arrays.count; low < high;) {
        const size_t middle = low + (high - low) / 2;
        const struct zs_flat_table t = zs_flat_element(&manifest.arrays, middle);
        ZS_TRY(ZS_FLAT_READ(&t, array_fields, found, err));
        const int order = memcmp(found->node, node, ZS_ICECHUNK_NODE_ID_BYTES);
        if (order == 0)
            return ZS_OK;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    /* writers name a manifest where it has chunks of the array */
    return zs_fail(err, ZS_CORRUPT, "expected references of the array, as in the snapshot, found none");
}

static int compare_index(const unsigned char *found, const uint64_t *wanted, size_t n)
{
    for (size_t d = 0; d < n; d++) {
        const uint64_t x = zs_load_le32(found + 4 * d);
        if (x != wanted[d])
            return x < wanted[d] ? -1 : 1;
    }
    return 0;
}

/* Reads a reference that was found. */
static enum zs_status read_ref(const struct zs_flat_table *table, struct zs_icechunk_ref *ref, struct zs_error *err)
{
    uint64_t end;
    *ref = (struct zs_icechunk_ref){0};
    ZS_TRY(ZS_FLAT_READ(table, ref_fields, ref, err));
    if (ref->bytes.of != NULL) {
        ref->size = ref->bytes.count;
        return ZS_OK;
    }
    if (ref->chunk_id == NULL && ref->location.of == NULL && ref->compressed_location.of == NULL)
        return zs_fail(err, ZS_CORRUPT, "expected the bytes of a chunk, its id or its location, found none of them");
    if (ref->size == 0 || !zs_add_u64(ref->offset, ref->size, &end))
        return zs_fail(err, ZS_CORRUPT, "expected a range of bytes, found %llu at offset %llu",
                       (unsigned long long)ref->size, (unsigned long long)ref->offset);
    return ZS_OK;
}

enum zs_status zs_icechunk_manifest_find(const struct zs_icechunk_file *file,
                                         const unsigned char node[ZS_ICECHUNK_NODE_ID_BYTES], const uint64_t *index,
                                         int ndim, bool *is_there, struct zs_icechunk_ref *ref, struct zs_error *err)
{
    const uint64_t scalar[1] = {0};
    struct array array = {0};
    *is_there = false;
    ZS_TRY(find_array(file, node, &array, err));
    for (size_t low = 0, high = array.refs.count; low < high && !*is_there;) {
        const size_t middle = low + (high - low) / 2;
        const struct zs_flat_table t = zs_flat_element(&array.refs, middle);
        ZS_TRY(ZS_FLAT_READ(&t, index_fields, ref, err));
        const size_t n = ref->index.count;
        /* old writers gave a scalar the index [0] */
        if (n != (size_t)ndim && !(ndim == 0 && n == 1))
            return zs_fail(err, ZS_CORRUPT, "expected an index of %d dimensions, found %zu", ndim, n);
        const int order = compare_index(ref->index.data, ndim > 0 ? index : scalar, n);
        if (order == 0) {
            *is_there = true;
            ZS_TRY(read_ref(&t, ref, err));
        } else if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return ZS_OK;
}

char *zs_icechunk_manifest_location(const struct zs_icechunk_file *file, const struct zs_icechunk_ref *ref)
{
    struct manifest manifest = {0};
    const struct zs_flat_table root = zs_flat_root(&file->flat);
    const struct zs_flat_vector *packed = &ref->compressed_location;
    struct zs_flat_vector text = ref->location;
    struct zs_buffer decoded = {0};
    if (packed->of != NULL && ZS_FLAT_READ(&root, manifest_fields, &manifest, NULL) == ZS_OK &&
        zs_zstd_decode(manifest.dictionary.data, manifest.dictionary.count, packed->data, packed->count,
                       MAX_LOCATION_BYTES, &decoded, NULL) == ZS_OK)
        text = (struct zs_flat_vector){&file->flat, decoded.data, decoded.size};
    char *location = zs_icechunk_text(&text);
    zs_buffer_free(&decoded);
    return location;
}
