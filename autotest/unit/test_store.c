/* The table of functions of a store: the same contract for every filling. */
#include <cpl_conv.h>
#include <cpl_error.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <pthread.h>
#include <unistd.h>

#include "array_store.h"
#include "store/vsi.h"

static void check_put_and_get(struct zs_store *store)
{
    struct zs_error err;
    struct zs_buffer b = {0};
    put_object(store, "zarr.json", "{}", 2);
    put_object(store, "a/c/0/1", "chunk", 5);
    put_object(store, "a/c/0/2", "", 0);
    expect_bytes(store, "zarr.json", "{}");
    expect_bytes(store, "a/c/0/1", "chunk");
    expect_bytes(store, "a/c/0/2", "");
    put_object(store, "zarr.json", "{ }", 3);
    expect_bytes(store, "zarr.json", "{ }");

    CHECK(zs_store_get(store, "absent", 10, &b, &err) == ZS_NOT_FOUND);
    CHECK_CONTAINS(err.message, "absent");
    CHECK_CONTAINS(err.message, store->root);
    CHECK(zs_store_get(store, "a/c/0/1/2", 10, &b, &err) == ZS_NOT_FOUND);
    /* what others lie below is no object; where it is a directory nobody else can have put one there */
    const bool is_directory = store->root[0] == '/' && strncmp(store->root, "/vsi", 4) != 0;
    CHECK(zs_store_get(store, "a/c/0", 10, &b, &err) == (is_directory ? ZS_IO : ZS_NOT_FOUND));
    CHECK(zs_store_get(store, "a/c/0/1", 4, &b, &err) == ZS_INVALID);
    CHECK_CONTAINS(err.message, "a/c/0/1");
    CHECK_CONTAINS(err.message, "5");
    CHECK(zs_store_get(store, "a/c/0/1", 5, &b, &err) == ZS_OK);
    zs_buffer_free(&b);
}

static void check_reading(struct zs_store *store)
{
    struct zs_error err;
    struct zs_object *o = NULL;
    char data[16] = "";
    put_object(store, "r", "0123456789", 10);
    must(zs_object_open(store, "r", &o, &err), &err);
    CHECK_EQ_U64(o->size, 10);
    CHECK(zs_object_read(o, 3, 4, data, &err) == ZS_OK);
    CHECK_EQ_STR(data, "3456");
    CHECK(zs_object_read(o, 9, 1, data, &err) == ZS_OK && data[0] == '9');
    CHECK(zs_object_read(o, 10, 0, data, &err) == ZS_OK);
    CHECK(zs_object_read(o, 9, 2, data, &err) == ZS_CORRUPT);
    CHECK_CONTAINS(err.message, "10 bytes");
    CHECK(zs_object_read(o, UINT64_MAX, 1, data, &err) == ZS_CORRUPT);
    CHECK(zs_object_read(o, 5, SIZE_MAX, data, &err) == ZS_CORRUPT);
    zs_object_close(o);
    zs_object_close(NULL);

    memset(data, 0, sizeof data);
    must(zs_object_open_end(store, "r", true, 4, data, &o, &err), &err);
    CHECK_EQ_STR(data, "6789");
    CHECK_EQ_U64(o->size, 10);
    zs_object_close(o);
    must(zs_object_open_end(store, "r", true, 10, data, &o, &err), &err);
    CHECK_EQ_STR(data, "0123456789");
    zs_object_close(o);
    must(zs_object_open_end(store, "r", true, 11, data, &o, &err), &err); /* the size tells */
    CHECK_EQ_U64(o->size, 10);
    zs_object_close(o);
    CHECK(zs_object_open_end(store, "absent", true, 1, data, &o, &err) == ZS_NOT_FOUND);
    CHECK(zs_object_open(store, "absent", &o, &err) == ZS_NOT_FOUND);
}

static void check_writing(struct zs_store *store)
{
    struct zs_error err;
    struct zs_writer *w = NULL;
    char data[8] = "";
    put_object(store, "w", "old", 3);
    must(zs_store_create(store, "w", &w, &err), &err);
    CHECK(zs_writer_write(w, "01234", 5, &err) == ZS_OK);
    CHECK(zs_writer_write(w, NULL, 0, &err) == ZS_OK);
    CHECK(zs_writer_write(w, "56789", 5, &err) == ZS_OK);
    expect_bytes(store, "w", "old"); /* not there before its commit */
    CHECK(zs_writer_patch(w, 4, "ab", 2, &err) == ZS_OK);
    CHECK(zs_writer_read(w, 3, 4, data, &err) == ZS_OK);
    CHECK_EQ_STR(data, "3ab6");
    CHECK(zs_writer_write(w, "!", 1, &err) == ZS_OK); /* still goes to the end */
    CHECK(zs_writer_commit(w, &err) == ZS_OK);
    expect_bytes(store, "w", "0123ab6789!");

    must(zs_store_create(store, "w", &w, &err), &err);
    CHECK(zs_writer_write(w, "new", 3, &err) == ZS_OK);
    zs_writer_abort(w);
    expect_bytes(store, "w", "0123ab6789!");
    must(zs_store_create(store, "never", &w, &err), &err);
    zs_writer_abort(w);
    zs_writer_abort(NULL);
    CHECK(!has_object(store, "never"));

    struct zs_writer *first = NULL, *second = NULL; /* at once, as two processes might */
    must(zs_store_create(store, "w", &first, &err), &err);
    must(zs_store_create(store, "w", &second, &err), &err);
    CHECK(zs_writer_write(first, "1st", 3, &err) == ZS_OK);
    CHECK(zs_writer_write(second, "second", 6, &err) == ZS_OK);
    CHECK(zs_writer_commit(first, &err) == ZS_OK);
    expect_bytes(store, "w", "1st");
    CHECK(zs_writer_commit(second, &err) == ZS_OK);
    expect_bytes(store, "w", "second");
}

static void check_replacing(struct zs_store *store, bool keeps_old_bytes)
{
    struct zs_error err;
    struct zs_object *old = NULL, *fresh = NULL;
    char data[4] = "";
    put_object(store, "v", "one", 3);
    must(zs_object_open(store, "v", &old, &err), &err);
    put_object(store, "v", "second", 6);
    must(zs_object_open(store, "v", &fresh, &err), &err);
    CHECK(old->version != fresh->version);
    if (keeps_old_bytes) {
        CHECK(zs_object_read(old, 0, 3, data, &err) == ZS_OK);
        CHECK_EQ_STR(data, "one");
    }
    zs_object_close(old);
    zs_object_close(fresh);
}

static bool listed(char **names, const char *name)
{
    for (; names != NULL && *names != NULL; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

static void check_removing_and_listing(struct zs_store *store)
{
    struct zs_error err;
    char **names = NULL;
    put_object(store, "l/zarr.json", "{}", 2);
    put_object(store, "l/a/zarr.json", "{}", 2);
    put_object(store, "l/a/c/0", "x", 1);
    put_object(store, "l/a-b/c/0", "x", 1); /* sorts before a/ */
    must(zs_store_list(store, "l", &names, &err), &err);
    CHECK(listed(names, "zarr.json") && listed(names, "a/") && listed(names, "a-b/"));
    CHECK(!listed(names, "a") && !listed(names, "l/") && !listed(names, "c/"));
    size_t n = 0;
    while (names != NULL && names[n] != NULL)
        n++;
    CHECK_EQ_U64(n, 3);
    zs_names_free(names);
    zs_names_free(NULL);
    must(zs_store_list(store, "", &names, &err), &err);
    CHECK(listed(names, "l/"));
    zs_names_free(names);
    CHECK(zs_store_remove(store, "l/a/c/0", &err) == ZS_OK);
    CHECK(!has_object(store, "l/a/c/0"));
    CHECK(has_object(store, "l/a-b/c/0"));
    CHECK(zs_store_remove(store, "l/a/c/0", &err) == ZS_OK); /* absent is fine */
    CHECK(zs_store_remove(store, "no/such", &err) == ZS_OK);
}

static void *read_much(void *ctx)
{
    struct zs_object *o = ctx;
    struct zs_error err;
    unsigned char data[100];
    for (unsigned i = 0; i < 2000; i++) {
        const unsigned offset = i * 7919 % 65000;
        if (!CHECK(zs_object_read(o, offset, sizeof data, data, &err) == ZS_OK))
            return NULL;
        for (unsigned k = 0; k < sizeof data; k++)
            if (!CHECK(data[k] == (unsigned char)((offset + k) / 100)))
                return NULL;
    }
    return NULL;
}

static void check_threads(struct zs_store *store)
{
    static unsigned char data[65100];
    for (unsigned i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i / 100);
    put_object(store, "t", data, sizeof data);
    struct zs_error err;
    struct zs_object *o = NULL;
    must(zs_object_open(store, "t", &o, &err), &err);
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        CHECK(pthread_create(&threads[i], NULL, read_much, o) == 0);
    for (int i = 0; i < 8; i++)
        (void)pthread_join(threads[i], NULL);
    zs_object_close(o);
}

static void check_contract(struct zs_store *store, bool keeps_old_bytes)
{
    check_put_and_get(store);
    check_reading(store);
    check_writing(store);
    check_replacing(store, keeps_old_bytes);
    check_removing_and_listing(store);
    check_threads(store);
    zs_store_free(store);
}

TEST(test_memory_keeps_the_contract)
{
    check_contract(memory_store(), true);
    zs_store_free(NULL);
}

TEST(test_vsimem_keeps_the_contract)
{
    check_contract(vsi_store("/vsimem/store.zarr/"), false);
    VSIRmdirRecursive("/vsimem/store.zarr");
}

TEST(test_a_directory_keeps_the_contract)
{
    char *root = new_directory();
    check_contract(vsi_store(root), true);
    struct zs_error err;
    struct zs_store *store = vsi_store(root);
    char **names = NULL;
    must(zs_store_list(store, "", &names, &err), &err);
    for (char **p = names; *p != NULL; p++)
        CHECK(strstr(*p, ".tmp") == NULL); /* nothing temporary is left */
    zs_names_free(names);
    zs_store_free(store);
    VSIRmdirRecursive(root);
    free(root);
}

TEST(test_unwritable_store_is_an_error_and_not_absent)
{
    char *root = new_directory(), *file = zs_format("%s/plain", root);
    struct zs_error err = {""};
    struct zs_store *store = vsi_store(root);
    put_object(store, "plain", "x", 1);
    CHECK(zs_store_put(store, "plain/c/0", "y", 1, &err) == ZS_IO); /* below a file */
    CHECK_CONTAINS(err.message, file);
    expect_bytes(store, "plain", "x");
    zs_store_free(store);
    VSIRmdirRecursive(root);
    free(root);
    free(file);
}

TEST(test_gdal_error_state_is_unchanged)
{
    struct zs_error err;
    struct zs_object *o;
    struct zs_store *store = vsi_store("/vsimem/nowhere");
    CPLPushErrorHandler(CPLQuietErrorHandler);
    CPLError(CE_Warning, CPLE_AppDefined, "of the caller");
    CHECK(zs_object_open(store, "absent", &o, &err) == ZS_NOT_FOUND);
    CHECK_EQ_STR(CPLGetLastErrorMsg(), "of the caller");
    CHECK_EQ_I64(CPLGetLastErrorType(), CE_Warning);
    CPLErrorReset();
    CHECK(zs_object_open(store, "absent", &o, &err) == ZS_NOT_FOUND);
    CHECK_EQ_I64(CPLGetLastErrorType(), CE_None);
    CPLPopErrorHandler();
    zs_store_free(store);
}

TEST(test_a_key_stands_in_the_path_of_a_url_and_before_its_query)
{
    static const char *const paths[][2] = {
        {"/vsicurl/http://h/a.zarr/?sig=1", "/vsicurl/http://h/a.zarr/c%201?sig=1"},
        {"/vsicurl?url=http%3A%2F%2Fh%2Fa.zarr%2F", "/vsicurl?url=http%3A%2F%2Fh%2Fa.zarr/c%25201"},
        {"/vsicurl?url=http%3a%2f%2fh%2fa.zarr%2f/%2F&b=c", "/vsicurl?url=http%3a%2f%2fh%2fa.zarr/c%25201&b=c"},
        {"/vsicurl?url=http://h/a.zarr%3fsig%3d%2f", "/vsicurl?url=http://h/a.zarr/c%25201%3fsig%3d%2f"},
        {"/vsicurl?url=http://h/a.zarr%3Fsig=1&b=%3F", "/vsicurl?url=http://h/a.zarr/c%25201%3Fsig=1&b=%3F"},
        {"/vsicurl?header.X-Src=curl=1&url=http://h/a", "/vsicurl?header.X-Src=curl=1&url=http://h/a/c%25201"},
        {"/vsis3/b/a%2F", "/vsis3/b/a%2F/c 1"}};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        char root[64];
        (void)snprintf(root, sizeof root, "%s", paths[i][0]);
        char *path = zs_vsi_path(&(struct zs_store){.path = root}, "c 1");
        CHECK_EQ_STR(path, paths[i][1]);
        free(path);
    }
}

TEST(test_remote_paths_are_known_by_prefix_and_archive_location)
{
    static const char *const remote[] = {"/vsicurl/http://host/a.zarr",
                                         "/vsicurl?use_head=no&url=http%3A%2F%2Fhost/a.zarr",
                                         "/vsicurl_streaming/http://host/a",
                                         "/vsis3/bucket/a",
                                         "/vsigs/b",
                                         "/vsiaz/b",
                                         "/vsiadls/b",
                                         "/vsioss/b",
                                         "/vsiswift/b",
                                         "/vsihdfs/host/a",
                                         "/vsiwebhdfs/http://host/a",
                                         "/vsizip//vsicurl/http://host/a.zarr.zip",
                                         "/vsizip/vsicurl/http://host/a.zarr.zip",
                                         "/vsizip/{/vsis3/bucket/a.zip}/a.zarr",
                                         "/vsitar//vsigzip//vsis3/bucket/a.tar.gz",
                                         "/vsisubfile/10_20,/vsis3/bucket/a",
                                         "/vsicached?file=/vsis3/bucket/a",
                                         "/vsicached?chunk_size=65536&file=%2Fvsicurl%2Fhttp://host/a",
                                         "/vsicached?file=%2fvsicurl%2fhttp://host/a",
                                         "/vsizip//vsisubfile/0_9,/vsigs/b/a.zip"};
    static const char *const local[] = {"/data/vsis3-mirror/a.zarr",
                                        "/data/vsis3/a.zarr",
                                        "vsicurl/a.zarr",
                                        "/vsis3-mirror/a.zarr",
                                        "/vsicurly/a",
                                        "/vsimem/vsis3/a.zarr",
                                        "/data/http://host/a.zarr",
                                        "a.zarr",
                                        "",
                                        "/",
                                        "/vsi",
                                        "/vsizip/",
                                        "/vsisubfile/",
                                        "/vsicached?"};
    for (size_t i = 0; i < sizeof remote / sizeof remote[0]; i++)
        if (!CHECK(zs_path_is_remote(remote[i])))
            fprintf(stderr, "%s\n", remote[i]);
    for (size_t i = 0; i < sizeof local / sizeof local[0]; i++)
        if (!CHECK(!zs_path_is_remote(local[i])))
            fprintf(stderr, "%s\n", local[i]);
}
