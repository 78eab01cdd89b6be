/* Manifests of an Icechunk repository: references to chunks, searched in the file as it is. */
#include <string.h>

#include "base/checked.h"
#include "codec/codec.h"
#include "icechunk/icechunk_private.h"

/* Fields of the tables Manifest, ArrayManifest and ChunkRef. */
enum { MANIFEST_ARRAYS = 1, MANIFEST_DICTIONARY = 2, MANIFEST_COMPRESSION = 3 };
enum { ARRAY_NODE_ID = 0, ARRAY_REFS = 1 };
enum {
    REF_INDEX,
    REF_INLINE,
    REF_OFFSET,
    REF_LENGTH,
    REF_CHUNK_ID,
    REF_LOCATION,
    REF_COMPRESSED_LOCATION = 8
};

/* The longest URL, decoded. */
#define MAX_LOCATION_BYTES ((size_t)16384)
#define DICTIONARY_MAGIC 0xEC30A437u

struct array {
    const unsigned char *node;
    struct zs_flat_vector refs;
};

static enum zs_status fail_broken(struct zs_error *err)
{
    return zs_fail(err, ZS_CORRUPT, "expected the FlatBuffer of a manifest, found offsets that lead elsewhere");
}

static bool array_at(const struct zs_flat_vector *arrays, size_t index, struct array *a)
{
    struct zs_flat_table t;
    return zs_flat_vector_table(arrays, index, &t) &&
           zs_flat_struct(&t, ARRAY_NODE_ID, ZS_ICECHUNK_NODE_ID_BYTES, &a->node) && a->node != NULL &&
           zs_flat_vector(&t, ARRAY_REFS, 4, &a->refs) && a->refs.of != NULL;
}

static bool index_at(const struct zs_flat_vector *refs, size_t i, struct zs_flat_table *table,
                     struct zs_flat_vector *index)
{
    return zs_flat_vector_table(refs, i, table) && zs_flat_vector(table, REF_INDEX, 4, index) && index->of != NULL;
}

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

static bool read_ref(const struct zs_flat_table *table, struct zs_icechunk_ref *ref)
{
    struct zs_flat_vector bytes;
    *ref = (struct zs_icechunk_ref){0};
    if (!zs_flat_vector(table, REF_INLINE, 1, &bytes) || !zs_flat_number(table, REF_OFFSET, 8, 0, &ref->offset) ||
        !zs_flat_number(table, REF_LENGTH, 8, 0, &ref->length) ||
        !zs_flat_struct(table, REF_CHUNK_ID, ZS_ICECHUNK_ID_BYTES, &ref->chunk_id) ||
        !zs_flat_vector(table, REF_LOCATION, 1, &ref->location) ||
        !zs_flat_vector(table, REF_COMPRESSED_LOCATION, 1, &ref->compressed_location))
        return false;
    ref->bytes = bytes.of != NULL ? bytes.data : NULL;
    ref->size = bytes.of != NULL ? bytes.count : ref->length;
    return true;
}

/* Checks the fields of a reference against each other. */
static enum zs_status check_ref(const struct zs_icechunk_ref *ref, uint64_t compression, struct zs_error *err)
{
    const int kinds = (ref->bytes != NULL) + (ref->chunk_id != NULL) + (ref->location.of != NULL) +
                      (ref->compressed_location.of != NULL);
    uint64_t end;
    if (kinds != 1)
        return zs_fail(err, ZS_CORRUPT, "expected one of bytes, chunk and location, found %d", kinds);
    if (ref->compressed_location.of != NULL && compression != 1)
        return zs_fail(err, ZS_CORRUPT, "expected a plain location, found a compressed one");
    if (ref->bytes != NULL && (ref->offset != 0 || ref->length != 0))
        return zs_fail(err, ZS_CORRUPT, "expected bytes without offset and length, found %llu and %llu",
                       (unsigned long long)ref->offset, (unsigned long long)ref->length);
    if (ref->bytes == NULL && (ref->length == 0 || !zs_add_u64(ref->offset, ref->length, &end)))
        return zs_fail(err, ZS_CORRUPT, "expected a range of bytes, found %llu at offset %llu",
                       (unsigned long long)ref->length, (unsigned long long)ref->offset);
    return ZS_OK;
}

/* Checks all references of an array: their order, and that they have one number of dimensions. */
static enum zs_status check_array(const struct array *a, uint64_t compression, struct zs_error *err)
{
    struct zs_flat_vector before = {0};
    for (size_t i = 0; i < a->refs.count; i++) {
        struct zs_flat_table t;
        struct zs_flat_vector index;
        struct zs_icechunk_ref ref;
        if (!index_at(&a->refs, i, &t, &index) || !read_ref(&t, &ref))
            return fail_broken(err);
        if (i > 0 && index.count != before.count)
            return zs_fail(err, ZS_CORRUPT, "reference %zu: expected an index of %zu dimensions, found %zu", i,
                           before.count, index.count);
        if (i > 0 && compare_index(before.data, index.data, index.count) >= 0)
            return zs_fail(err, ZS_CORRUPT, "reference %zu: expected indices that increase, found one that does not",
                           i);
        const enum zs_status status = check_ref(&ref, compression, err);
        if (status != ZS_OK)
            return zs_fail_in(err, status, "reference %zu", i);
        before = index;
    }
    return ZS_OK;
}

static enum zs_status check_head(const struct zs_flat_table *root, uint64_t *compression,
                                 struct zs_error *err)
{
    static const unsigned char nothing[] = {0x28, 0xB5, 0x2F, 0xFD, 0x20, 0x00, 0x01, 0x00, 0x00}; /* a frame of it */
    struct zs_flat_vector dictionary;
    struct zs_buffer out = {0};
    if (!zs_flat_number(root, MANIFEST_COMPRESSION, 1, 1, compression) ||
        !zs_flat_vector(root, MANIFEST_DICTIONARY, 1, &dictionary))
        return fail_broken(err);
    if (*compression > 1)
        return zs_fail(err, ZS_UNSUPPORTED, "expected compression 0 or 1 (zstd) of locations, found %d",
                       (int)*compression);
    if (dictionary.count == 0)
        return ZS_OK;
    enum zs_status status = ZS_CORRUPT;
    if (dictionary.count >= 8 && zs_load_le32(dictionary.data) == DICTIONARY_MAGIC)
        status = zs_zstd_decode(dictionary.data, dictionary.count, nothing, sizeof nothing, 1, &out, err);
    zs_buffer_free(&out);
    return status == ZS_CORRUPT
               ? zs_fail(err, status, "expected a dictionary of zstd for locations, found other bytes")
               : status;
}

enum zs_status zs_icechunk_manifest_check(struct zs_icechunk_file *file, struct zs_error *err)
{
    struct zs_flat_table root;
    struct zs_flat_vector arrays;
    struct array a, before = {0};
    uint64_t compression;
    if (!zs_flat_root(&file->flat, &root) || !zs_flat_vector(&root, MANIFEST_ARRAYS, 4, &arrays) || arrays.of == NULL)
        return fail_broken(err);
    ZS_TRY(check_head(&root, &compression, err));
    file->refs = 0;
    for (size_t i = 0; i < arrays.count; i++) {
        if (!array_at(&arrays, i, &a))
            return fail_broken(err);
        if (i > 0 && memcmp(before.node, a.node, ZS_ICECHUNK_NODE_ID_BYTES) >= 0)
            return zs_fail(err, ZS_CORRUPT, "array %zu: expected ids that increase, found one that does not", i);
        const enum zs_status status = check_array(&a, compression, err);
        if (status != ZS_OK)
            return zs_fail_in(err, status, "array %zu", i);
        before = a;
        file->refs += a.refs.count;
    }
    return ZS_OK;
}

/* ---- Search ---- */

static bool find_array(const struct zs_flat_vector *arrays, const unsigned char *node, struct array *a, bool *is_there)
{
    size_t low = 0, high = arrays->count;
    *is_there = false;
    while (low < high && !*is_there) {
        const size_t middle = low + (high - low) / 2;
        if (!array_at(arrays, middle, a))
            return false;
        const int order = memcmp(a->node, node, ZS_ICECHUNK_NODE_ID_BYTES);
        *is_there = order == 0;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return true;
}

enum zs_status zs_icechunk_manifest_find(const struct zs_icechunk_file *file,
                                         const unsigned char node[ZS_ICECHUNK_NODE_ID_BYTES], const uint64_t *index,
                                         int ndim, bool *is_there, struct zs_icechunk_ref *ref, struct zs_error *err)
{
    struct zs_flat_table root, t;
    struct zs_flat_vector arrays, found;
    struct array a;
    unsigned char wanted[4 * ZS_MAX_NDIM + 4] = {0};
    if (!zs_flat_root(&file->flat, &root) || !zs_flat_vector(&root, MANIFEST_ARRAYS, 4, &arrays) ||
        !find_array(&arrays, node, &a, is_there))
        return fail_broken(err);
    if (!*is_there) /* writers name a manifest where it has chunks of the array */
        return zs_fail(err, ZS_CORRUPT, "expected references of the array, as in the snapshot, found none");
    *is_there = false;
    for (int d = 0; d < ndim; d++)
        for (int b = 0; b < 4; b++)
            wanted[4 * d + b] = (unsigned char)(index[d] >> (8 * b));
    for (size_t low = 0, high = a.refs.count; low < high && !*is_there;) {
        const size_t middle = low + (high - low) / 2;
        if (!index_at(&a.refs, middle, &t, &found))
            return fail_broken(err);
        /* old writers gave a scalar the index [0] */
        if (found.count != (size_t)ndim && !(ndim == 0 && found.count == 1))
            return zs_fail(err, ZS_CORRUPT, "expected an index of %d dimensions, found %zu", ndim, found.count);
        const int order = compare_index(found.data, wanted, found.count);
        *is_there = order == 0;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return !*is_there || read_ref(&t, ref) ? ZS_OK : fail_broken(err);
}

enum zs_status zs_icechunk_manifest_location(const struct zs_icechunk_file *file, const struct zs_icechunk_ref *ref,
                                             char **location, struct zs_error *err)
{
    struct zs_flat_vector text = ref->location, dictionary;
    struct zs_buffer decoded = {0};
    struct zs_flat_table root;
    enum zs_status status = ZS_OK;
    if (text.of == NULL) {
        if (!zs_flat_root(&file->flat, &root) || !zs_flat_vector(&root, MANIFEST_DICTIONARY, 1, &dictionary))
            return fail_broken(err);
        status = zs_zstd_decode(dictionary.data, dictionary.count, ref->compressed_location.data,
                        ref->compressed_location.count, MAX_LOCATION_BYTES, &decoded, err);
        text = (struct zs_flat_vector){&file->flat, decoded.data, decoded.size};
    }
    *location = NULL;
    if (status == ZS_OK && !zs_icechunk_text(&text, location))
        status = zs_fail(err, ZS_CORRUPT, "expected the location of a chunk as text, found other bytes");
    else if (status == ZS_OK && *location == NULL)
        status = zs_fail_memory(err);
    zs_buffer_free(&decoded);
    return status;
}
