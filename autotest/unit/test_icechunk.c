/* Icechunk repositories, made byte by byte: what is in order reads, and whatever byte is another nothing is read but
 * what is there. */
#include "array/array.h"
#include "check.h"
#include "codec/codec.h"
#include "icechunk_make.h"
#include "memory_store.h"
#include "zarr/hierarchy.h"
#include "icechunk/icechunk_private.h"

/* Reads the array of the repository in a store of memory, which is released. */
static enum zs_status read_all(struct zs_store *store, const char *commit, unsigned char *values, struct zs_error *err)
{
    struct zs_hierarchy *h = NULL;
    struct zs_array *array = NULL;
    const struct zs_node *node;
    const uint64_t start[1] = {0}, count[1] = {12};
    enum zs_status status = zs_icechunk_open(&store, commit, err);
    if (status == ZS_OK)
        status = zs_hierarchy_open(store, true, &h, err);
    if (status == ZS_OK)
        status = zs_hierarchy_node(h, "t2m", &node, err);
    if (status == ZS_OK && (node->array == NULL || node->array->ndim != 1 || node->array->shape[0] != 12))
        status = zs_fail(err, ZS_INVALID, "another array");
    if (status == ZS_OK)
        status = zs_array_open_node(h, node, NULL, &array, err);
    if (status == ZS_OK)
        status = zs_array_read(array, start, count, values, err);
    zs_array_close(array);
    zs_hierarchy_free(h);
    zs_store_free(store);
    return status;
}

static struct zs_store *made(int which, const void *other, size_t n)
{
    struct zs_error err;
    struct zs_store *store = NULL;
    CHECK(zs_store_open_memory(&store, &err) == ZS_OK);
    CHECK(ice_put(store, which, other, n));
    return store;
}

TEST(test_inline_and_stored_chunks_are_read_and_others_are_fill_value)
{
    struct zs_error err;
    unsigned char values[12] = {0};
    if (!CHECK(read_all(made(0, NULL, 0), "", values, &err) == ZS_OK))
        printf("%s\n", err.message);
    CHECK_EQ_MEM(values, ice_values, sizeof values);
    CHECK(read_all(made(0, NULL, 0), "branch=main&as_of=2026-01-01", values, &err) == ZS_OK);
    CHECK(read_all(made(0, NULL, 0), "tag=v1", values, &err) == ZS_OK);
    CHECK(read_all(made(0, NULL, 0), "branch=dev", values, &err) == ZS_ARGUMENT);
    CHECK_CONTAINS(err.message, "main");
}

/* Each byte of each file, with several other values. That nothing outside of the buffers is read is for ASan to say. */
TEST(test_any_other_byte_is_an_error_or_read_within_the_file)
{
    static void (*const make[ICE_FILES])(struct flat *) = {ice_make_repo, ice_make_snapshot, ice_make_manifest};
    static const unsigned char changes[] = {0x01, 0x80, 0xFF, 0x10};
    for (int file = 0; file < ICE_FILES; file++) {
        struct flat f;
        make[file](&f);
        for (size_t i = 0; i < f.size; i++)
            for (size_t c = 0; c < sizeof changes; c++) {
                struct zs_error err;
                unsigned char values[12], *copy = malloc(f.size);
                memcpy(copy, f.data, f.size);
                copy[i] ^= changes[c];
                const enum zs_status status = read_all(made(file, copy, f.size), "", values, &err);
                CHECK(status != ZS_NO_MEMORY);
                CHECK(status != ZS_NOT_FOUND || file == ICE_SNAPSHOT); /* where the array has another name */
                free(copy);
            }
    }
}

TEST(test_a_file_that_is_cut_anywhere_is_an_error)
{
    static void (*const make[ICE_FILES])(struct flat *) = {ice_make_repo, ice_make_snapshot, ice_make_manifest};
    for (int file = 0; file < ICE_FILES; file++) {
        struct flat f;
        make[file](&f);
        for (size_t n = 0; n < f.size; n++) {
            struct zs_error err;
            unsigned char values[12] = {0};
            const enum zs_status status = read_all(made(file, f.data, n), "", values, &err);
            /* the last vector may be one of nothing */
            CHECK(status != ZS_OK || memcmp(values, ice_values, sizeof values) == 0);
            CHECK(status != ZS_NOT_FOUND);
        }
    }
}

/* Puts n bytes in the place of others. */
static void replace(struct flat *f, const void *from, const void *to, size_t n)
{
    for (size_t i = 0; i + n <= f->size; i++)
        if (memcmp(f->data + i, from, n) == 0)
            memcpy(f->data + i, to, n);
}

TEST(test_a_manifest_without_the_array_that_the_snapshot_says_it_has_is_an_error)
{
    static const unsigned char other[8] = {1, 2, 3, 4, 5, 6, 7, 9};
    struct zs_error err;
    struct flat f;
    unsigned char values[12];
    ice_make_manifest(&f);
    replace(&f, ice_node, other, sizeof other);
    CHECK(read_all(made(ICE_MANIFEST, f.data, f.size), "", values, &err) == ZS_CORRUPT);
    CHECK_CONTAINS(err.message, ice_keys[ICE_MANIFEST]);
}

TEST(test_a_document_of_more_dimensions_than_the_snapshot_says_is_an_error)
{
    static const char begin[] =
        "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[2,6],\"data_type\":\"uint8\",\"chunk_grid\":{\"name\":"
        "\"regular\",\"configuration\":{\"chunk_shape\":[1,6]}},\"chunk_key_encoding\":\"default\",\"fill_value\":9,"
        "\"codecs\":[\"bytes\"]";
    char document[sizeof ice_document];
    struct zs_error err;
    struct zs_object *object;
    struct flat f;
    (void)snprintf(document, sizeof document, "%-*s}", (int)sizeof document - 2, begin);
    ice_make_snapshot(&f);
    replace(&f, ice_document, document, strlen(document));
    struct zs_store *store = made(ICE_SNAPSHOT, f.data, f.size);
    if (CHECK(zs_icechunk_open(&store, "", &err) == ZS_OK)) {
        CHECK(zs_object_open(store, "t2m/c/0/0", &object, &err) == ZS_CORRUPT);
        CHECK_CONTAINS(err.message, "expected extents of 2 dimensions");
    }
    zs_store_free(store);
}

TEST(test_the_reason_why_keys_of_chunks_are_not_known_is_told)
{
    struct zs_error err;
    struct zs_object *object;
    struct flat f;
    ice_make_snapshot(&f);
    replace(&f, "\"default\"", "\"strange\"", strlen("\"default\""));
    struct zs_store *store = made(ICE_SNAPSHOT, f.data, f.size);
    if (CHECK(zs_icechunk_open(&store, "", &err) == ZS_OK)) {
        CHECK(zs_object_open(store, "t2m/c/0", &object, &err) == ZS_INVALID);
        CHECK_CONTAINS(err.message, "chunk_key_encoding \"strange\" is not supported");
    }
    zs_store_free(store);
}

TEST(test_an_id_is_printed_in_crockfords_base_32)
{
    char text[ZS_ICECHUNK_ID_TEXT];
    static const unsigned char first[12] = {0x0b, 0x1c, 0xc8, 0xd6, 0x78, 0x75, 0x80, 0xf0, 0xe3, 0x3a, 0x65, 0x34};
    zs_icechunk_id_print(first, text);
    CHECK_EQ_STR(text, "1CECHNKREP0F1RSTCMT0");
    CHECK(zs_icechunk_is_id(text));
    CHECK(!zs_icechunk_is_id("1CECHNKREP0F1RSTCMT"));
    CHECK(!zs_icechunk_is_id("1CECHNKREP0F1RSTCMTU"));
}

TEST(test_a_frame_that_claims_too_much_takes_no_memory)
{
    /* a header with a content size of 2^62, and a block of 1 byte repeated */
    static const unsigned char bomb[] = {0x28, 0xB5, 0x2F, 0xFD, 0xE0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0x03, 0, 0x10, 'a'};
    struct zs_error err;
    struct zs_buffer out = {0};
    CHECK(zs_zstd_decode(bomb, sizeof bomb, 1 << 20, &out, &err) != ZS_OK);
    CHECK(out.capacity <= (size_t)2 << 20);
    zs_buffer_free(&out);
}
