/* Manifests of an Icechunk repository: references to chunks, searched in the file as it is. */
#include <string.h>

#include "base/checked.h"
#include "codec/codec.h"
#include "icechunk/icechunk_private.h"

/* Fields of the tables Manifest, ArrayManifest and ChunkRef. */
enum { MANIFEST_ARRAYS = 1, MANIFEST_DICTIONARY = 2, MANIFEST_COMPRESSION = 3 };
enum { ARRAY_NODE_ID = 0, ARRAY_REFS = 1 };
enum { REF_INDEX, REF_INLINE, REF_OFFSET, REF_LENGTH, REF_CHUNK_ID, REF_LOCATION, REF_COMPRESSED_LOCATION = 8 };

/* The longest URL, decoded. */
#define MAX_LOCATION_BYTES ((size_t)16384)
#define DICTIONARY_MAGIC 0xEC30A437u

/* Compares two indices of n numbers. */
static int compare_index(const unsigned char *a, const unsigned char *b, size_t n)
{
    for (size_t d = 0; d < n; d++) {
        const uint32_t x = zs_load_le32(a + 4 * d), y = zs_load_le32(b + 4 * d);
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

static struct zs_icechunk_ref read_ref(const struct zs_flat_table *table)
{
    const struct zs_flat_vector bytes = zs_flat_vector(table, REF_INLINE, 1);
    return (struct zs_icechunk_ref){
        .size = bytes.of != NULL ? bytes.count : zs_flat_number(table, REF_LENGTH, 8),
        .bytes = bytes.data,
        .offset = zs_flat_number(table, REF_OFFSET, 8),
        .chunk_id = zs_flat_struct(table, REF_CHUNK_ID, ZS_ICECHUNK_ID_BYTES),
        .location = zs_flat_vector(table, REF_LOCATION, 1),
        .compressed_location = zs_flat_vector(table, REF_COMPRESSED_LOCATION, 1)};
}

/* Checks the fields of a reference against each other. */
static enum zs_status check_ref(const struct zs_flat_table *table, uint64_t compression, struct zs_error *err)
{
    const struct zs_icechunk_ref ref = read_ref(table);
    const uint64_t length = zs_flat_number(table, REF_LENGTH, 8);
    const int kinds = (ref.bytes != NULL) + (ref.chunk_id != NULL) + (ref.location.of != NULL) +
                      (ref.compressed_location.of != NULL);
    uint64_t end;
    if (kinds != 1)
        return zs_fail(err, ZS_CORRUPT, "expected one of bytes, chunk and location, found %d", kinds);
    if (ref.compressed_location.of != NULL && compression != 1)
        return zs_fail(err, ZS_CORRUPT, "expected a plain location, found a compressed one");
    if (ref.bytes != NULL ? ref.offset != 0 || length != 0
                          : length == 0 || !zs_add_u64(ref.offset, length, &end))
        return zs_fail(err, ZS_CORRUPT, "expected %s, found %llu at offset %llu",
                       ref.bytes != NULL ? "bytes without offset and length" : "a range of bytes",
                       (unsigned long long)length, (unsigned long long)ref.offset);
    return ZS_OK;
}

/* Checks all references of an array: their order, and that they have one number of dimensions. */
static enum zs_status check_refs(const struct zs_flat_vector *refs, uint64_t compression, struct zs_error *err)
{
    struct zs_flat_vector before = {0};
    for (size_t i = 0; i < refs->count; i++) {
        const struct zs_flat_table t = zs_flat_element(refs, i);
        const struct zs_flat_vector index = zs_flat_vector(&t, REF_INDEX, 4);
        if (refs->of->is_broken || index.of == NULL)
            return zs_icechunk_fail_broken("manifest", err);
        if (i > 0 && index.count != before.count)
            return zs_fail(err, ZS_CORRUPT, "reference %zu: expected an index of %zu dimensions, found %zu", i,
                           before.count, index.count);
        if (i > 0 && compare_index(before.data, index.data, index.count) >= 0)
            return zs_fail(err, ZS_CORRUPT, "reference %zu: expected indices that increase, found one that does not",
                           i);
        const enum zs_status status = check_ref(&t, compression, err);
        if (status != ZS_OK)
            return zs_fail_in(err, status, "reference %zu", i);
        before = index;
    }
    return ZS_OK;
}

/* Checks the dictionary of compressed locations. */
static enum zs_status check_dictionary(const struct zs_flat_table *root, struct zs_error *err)
{
    static const unsigned char nothing[] = {0x28, 0xB5, 0x2F, 0xFD, 0x20, 0x00, 0x01, 0x00, 0x00}; /* a frame of it */
    const struct zs_flat_vector dictionary = zs_flat_vector(root, MANIFEST_DICTIONARY, 1);
    struct zs_buffer out = {0};
    enum zs_status status = ZS_CORRUPT;
    if (dictionary.count == 0)
        return ZS_OK;
    if (dictionary.count >= 8 && zs_load_le32(dictionary.data) == DICTIONARY_MAGIC)
        status = zs_zstd_decode(dictionary.data, dictionary.count, nothing, sizeof nothing, 1, &out, err);
    zs_buffer_free(&out);
    return status == ZS_CORRUPT
               ? zs_fail(err, status, "expected a dictionary of zstd for locations, found other bytes")
               : status;
}

enum zs_status zs_icechunk_manifest_check(struct zs_icechunk_file *file, struct zs_error *err)
{
    const struct zs_flat_table root = zs_flat_root(&file->flat);
    const struct zs_flat_vector arrays = zs_flat_vector(&root, MANIFEST_ARRAYS, 4);
    const unsigned char *given = zs_flat_struct(&root, MANIFEST_COMPRESSION, 1), *before = NULL;
    const int compression = given != NULL ? *given : 1;
    if (arrays.of == NULL)
        return zs_icechunk_fail_broken("manifest", err);
    if (compression > 1)
        return zs_fail(err, ZS_UNSUPPORTED, "expected compression 0 or 1 (zstd) of locations, found %d", compression);
    ZS_TRY(check_dictionary(&root, err));
    for (size_t i = 0; i < arrays.count; i++) {
        const struct zs_flat_table t = zs_flat_element(&arrays, i);
        const unsigned char *node = zs_flat_struct(&t, ARRAY_NODE_ID, ZS_ICECHUNK_NODE_ID_BYTES);
        const struct zs_flat_vector refs = zs_flat_vector(&t, ARRAY_REFS, 4);
        if (node == NULL || refs.of == NULL)
            return zs_icechunk_fail_broken("manifest", err);
        if (i > 0 && memcmp(before, node, ZS_ICECHUNK_NODE_ID_BYTES) >= 0)
            return zs_fail(err, ZS_CORRUPT, "array %zu: expected ids that increase, found one that does not", i);
        const enum zs_status status = check_refs(&refs, (uint64_t)compression, err);
        if (status != ZS_OK)
            return zs_fail_in(err, status, "array %zu", i);
        before = node;
        file->refs += refs.count;
    }
    return file->flat.is_broken ? zs_icechunk_fail_broken("manifest", err) : ZS_OK;
}

/* ---- Search, in files that were checked ---- */

/* The references of an array; `of` nothing where it has none. */
static struct zs_flat_vector refs_of(struct zs_icechunk_file *file, const unsigned char *node)
{
    const struct zs_flat_table root = zs_flat_root(&file->flat);
    const struct zs_flat_vector arrays = zs_flat_vector(&root, MANIFEST_ARRAYS, 4);
    for (size_t low = 0, high = arrays.count; low < high;) {
        const size_t middle = low + (high - low) / 2;
        const struct zs_flat_table t = zs_flat_element(&arrays, middle);
        const int order = memcmp(zs_flat_struct(&t, ARRAY_NODE_ID, ZS_ICECHUNK_NODE_ID_BYTES), node,
                                 ZS_ICECHUNK_NODE_ID_BYTES);
        if (order == 0)
            return zs_flat_vector(&t, ARRAY_REFS, 4);
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return (struct zs_flat_vector){0};
}

enum zs_status zs_icechunk_manifest_find(struct zs_icechunk_file *file,
                                         const unsigned char node[ZS_ICECHUNK_NODE_ID_BYTES], const uint64_t *index,
                                         int ndim, bool *is_there, struct zs_icechunk_ref *ref, struct zs_error *err)
{
    unsigned char wanted[4 * ZS_MAX_NDIM + 4] = {0};
    const struct zs_flat_vector refs = refs_of(file, node);
    *is_there = false;
    if (refs.of == NULL) /* writers name a manifest where it has chunks of the array */
        return zs_fail(err, ZS_CORRUPT, "expected references of the array, as in the snapshot, found none");
    for (int d = 0; d < ndim; d++)
        zs_store_le(wanted + 4 * d, index[d], 4);
    for (size_t low = 0, high = refs.count; low < high;) {
        const size_t middle = low + (high - low) / 2;
        const struct zs_flat_table t = zs_flat_element(&refs, middle);
        const struct zs_flat_vector found = zs_flat_vector(&t, REF_INDEX, 4);
        /* old writers gave a scalar the index [0] */
        if (found.count != (size_t)ndim && !(ndim == 0 && found.count == 1))
            return zs_fail(err, ZS_CORRUPT, "expected an index of %d dimensions, found %zu", ndim, found.count);
        const int order = compare_index(found.data, wanted, found.count);
        if (order == 0) {
            *is_there = true;
            *ref = read_ref(&t);
            return ZS_OK;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return ZS_OK;
}

char *zs_icechunk_manifest_location(struct zs_icechunk_file *file, const struct zs_icechunk_ref *ref)
{
    const struct zs_flat_table root = zs_flat_root(&file->flat);
    const struct zs_flat_vector dictionary = zs_flat_vector(&root, MANIFEST_DICTIONARY, 1),
                                *packed = &ref->compressed_location;
    struct zs_flat_vector text = ref->location;
    struct zs_buffer decoded = {0};
    if (packed->of != NULL && zs_zstd_decode(dictionary.data, dictionary.count, packed->data, packed->count,
                                             MAX_LOCATION_BYTES, &decoded, NULL) == ZS_OK)
        text = (struct zs_flat_vector){&file->flat, decoded.data, decoded.size};
    char *location = zs_icechunk_text(&text);
    zs_buffer_free(&decoded);
    return location;
}
