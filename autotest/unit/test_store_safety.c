/* What a store does when something is in its way: failing reads and removals, links, pipes, dead writers, keys that
 * lead out. */
#include <cpl_conv.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "array/array_private.h"
#include "fault_vsi.h"
#include "oracle_store.h"
#include "store/staging.h"

static void remove_directory(char *root)
{
    VSIRmdirRecursive(root); /* which follows no link that is left: each test takes its own away */
    free(root);
}

static void write_file(const char *root, const char *name, const void *data, size_t n)
{
    char *path = zs_format("%s/%s", root, name);
    FILE *file = fopen(path, "wb");
    if (CHECK(file != NULL)) {
        CHECK(fwrite(data, 1, n, file) == n);
        fclose(file);
    }
    free(path);
}

static bool exists(const char *root, const char *name)
{
    struct stat st;
    char *path = zs_format("%s/%s", root, name);
    const bool found = lstat(path, &st) == 0;
    free(path);
    return found;
}

static void make_link(const char *target, const char *root, const char *name)
{
    char *path = zs_format("%s/%s", root, name);
    CHECK(symlink(target, path) == 0);
    free(path);
}

/* ---- Makers ---- */

TEST(test_mark_is_taken_over_where_its_maker_is_seen_to_be_gone_or_the_user_says_so)
{
    static const char elsewhere[] = "A raster is being written here, or was when its writer was killed.\n"
                                    "process 17 since 5 on elsewhere/b/pid:[1] at 2026-01-01T00:00:00Z\n";
    struct zs_error err;
    bool was_left;
    char *root = new_directory();
    struct zs_store *store = vsi_store(root);
    const pid_t child = fork();
    if (child == 0)
        _exit(zs_mark_put(store, false, &was_left, &err) == ZS_OK && !was_left ? 0 : 1);
    int code = 1;
    CHECK(waitpid(child, &code, 0) == child && code == 0);
    must(zs_mark_check(store, false, &err), &err);
    must(zs_mark_put(store, false, &was_left, &err), &err);
    for (int overwrites = 0; overwrites < 2; overwrites++) {
        CHECK(zs_mark_check(store, overwrites, &err) == ZS_CONFLICT); /* this process lives */
        CHECK_CONTAINS(err.message, ".unfinished: process ");
    }
    must(zs_mark_remove(store, &err), &err);
    CHECK(!exists(root, ZS_MARK_NAME));

    write_file(root, ZS_MARK_NAME, elsewhere, strlen(elsewhere));
    CHECK(zs_mark_check(store, false, &err) == ZS_CONFLICT);
    CHECK_CONTAINS(err.message, "process 17 on elsewhere is making what shall be there, since 2026-01-01T00:00:00Z; if it "
                                "was killed, a new store with OVERWRITE=YES takes the place of what it left");
    must(zs_mark_remove(store, &err), &err);
    CHECK(exists(root, ZS_MARK_NAME)); /* it is another's */
    must(zs_mark_check(store, true, &err), &err);
    zs_store_free(store);
    remove_directory(root);
}

/* ---- Uploads and removals ---- */

TEST(test_an_upload_whose_bytes_cannot_be_read_back_is_an_error_and_publishes_nothing)
{
    static unsigned char data[3 << 20];
    struct zs_error err;
    fault_vsi_install();
    CPLSetConfigOption("CPL_TMPDIR", "/vsifault/tmp");
    struct zs_store *store = vsi_store("/vsifault/store");
    put_object(store, "a", "old", 3);
    for (long limit = 0; limit < (long)sizeof data; limit += (1 << 20) - 1) {
        fault_vsi.read_limit = limit;
        CHECK(zs_store_put(store, "a", data, sizeof data, &err) == ZS_IO);
        CHECK_CONTAINS(err.message, "/vsifault/store/a");
        fault_vsi_reset();
        expect_bytes(store, "a", "old");
    }
    put_object(store, "a", data, sizeof data);
    struct zs_buffer b = get_object(store, "a");
    CHECK_EQ_U64(b.size, sizeof data);
    zs_buffer_free(&b);
    zs_store_free(store);
    CPLSetConfigOption("CPL_TMPDIR", NULL);
    VSIRmdirRecursive("/vsimem/fault");
}

TEST(test_failed_removal_is_an_error_unless_the_object_is_known_to_be_absent)
{
    struct zs_error err;
    fault_vsi_install();
    struct zs_store *store = vsi_store("/vsifault/store");
    put_object(store, "a", "x", 1);
    CHECK(zs_store_remove(store, "absent", &err) == ZS_OK);
    fault_vsi.fail_unlink = true;
    CHECK(zs_store_remove(store, "a", &err) == ZS_IO);
    fault_vsi.fail_stat = true;
    CHECK(zs_store_remove(store, "a", &err) == ZS_IO);
    fault_vsi.open_errno = -1;
    CHECK(zs_store_remove(store, "a", &err) == ZS_IO);
    CHECK_CONTAINS(err.message, "/vsifault/store/a");
    fault_vsi.open_errno = EACCES;
    CHECK(zs_store_remove(store, "a", &err) == ZS_IO);
    fault_vsi.open_errno = ENOENT;
    CHECK(zs_store_remove(store, "a", &err) == ZS_OK);
    zs_store_free(store);
    fault_vsi_reset();
    VSIRmdirRecursive("/vsimem/fault");
}

/* ---- Keys ---- */

TEST(test_a_key_that_leaves_the_store_is_refused_by_every_call)
{
    static const char *const bad[] = {"..",   ".", "../a", "a/..", "a/../b", "./a",    "a/./b", "/a",  "a/",
                                      "a//b", "/", "//",   "a\nb", "\x7f",   "\x01/a", "/..",   "a/.", "../../x"};
    struct zs_error err;
    struct zs_object *o;
    struct zs_writer *w;
    struct zs_buffer b = {0};
    char data[4], **names;
    enum zs_link link;
    char *root = new_directory(), *inner = zs_format("%s/store", root);
    write_file(root, "a", "x", 1);
    struct zs_store *stores[] = {vsi_store(inner), vsi_store("/vsimem/keys/store"), memory_store()};
    for (size_t s = 0; s < 3; s++) {
        struct zs_store *store = stores[s];
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
            err.message[0] = '\0';
            CHECK(zs_object_open(store, bad[i], &o, &err) == ZS_ARGUMENT);
            CHECK_CONTAINS(err.message, bad[i]);
            CHECK(zs_object_open_end(store, bad[i], true, 1, data, &o, &err) == ZS_ARGUMENT);
            CHECK(zs_object_open_end(store, bad[i], false, 1, data, &o, &err) == ZS_ARGUMENT);
            CHECK(zs_store_get(store, bad[i], 9, &b, &err) == ZS_ARGUMENT);
            CHECK(zs_store_put(store, bad[i], "x", 1, &err) == ZS_ARGUMENT);
            CHECK(zs_store_create(store, bad[i], &w, &err) == ZS_ARGUMENT);
            CHECK(zs_store_remove(store, bad[i], &err) == ZS_ARGUMENT);
            CHECK(zs_store_list(store, bad[i], &names, &err) == ZS_ARGUMENT);
            CHECK(zs_store_list_all(store, bad[i], &names, &err) == ZS_ARGUMENT);
            CHECK(zs_store_is_link(store, bad[i], &link, &err) == ZS_ARGUMENT);
        }
        CHECK(zs_object_open(store, "", &o, &err) == ZS_ARGUMENT);
        CHECK(zs_store_put(store, "", "x", 1, &err) == ZS_ARGUMENT);
        put_object(store, ".hidden/..a/b..", "x", 1); /* dots are letters like others */
        CHECK(has_object(store, ".hidden/..a/b.."));
        zs_store_free(store);
    }
    CHECK(exists(root, "a"));
    VSIRmdirRecursive("/vsimem/keys");
    free(inner);
    remove_directory(root);
}

/* ---- Temporary files ---- */

static size_t temporary_count(const char *root)
{
    size_t n = 0;
    char **names = VSIReadDir(root);
    for (char **name = names; name != NULL && *name != NULL; name++)
        n += zs_is_temporary_name(*name);
    CSLDestroy(names);
    return n;
}

TEST(test_temporary_names_are_recognised_and_random)
{
    CHECK(zs_is_temporary_name(".shardedzarr-0123456789abcdef0123456789abcdef.tmp"));
    CHECK(!zs_is_temporary_name(".shardedzarr-0123456789abcdef0123456789abcdeg.tmp"));
    CHECK(!zs_is_temporary_name(".shardedzarr-0123456789abcdef0123456789abcdef.tmp2"));
    CHECK(!zs_is_temporary_name(".shardedzarr-0123456789abcdef.tmp"));
    CHECK(!zs_is_temporary_name("zarr.json") && !zs_is_temporary_name(".tmp") && !zs_is_temporary_name(""));
    struct zs_error err;
    char *root = new_directory();
    struct zs_store *store = vsi_store(root);
    struct zs_writer *w[2];
    must(zs_store_create(store, "a/c/0", &w[0], &err), &err);
    pid_t child = fork(); /* the number of the process is another one, that of the writer the same */
    if (child == 0) {
        struct zs_writer *other;
        const bool ok =
            zs_store_create(store, "a/c/0", &other, &err) == ZS_OK && zs_writer_write(other, "x", 1, &err) == ZS_OK;
        _exit(ok ? 0 : 1);
    }
    int code = 1;
    CHECK(waitpid(child, &code, 0) == child && code == 0);
    must(zs_store_create(store, "a/c/0", &w[1], &err), &err);
    CHECK_EQ_U64(temporary_count(root), 3);
    must(zs_writer_write(w[0], "first", 5, &err), &err);
    must(zs_writer_write(w[1], "second", 6, &err), &err);
    must(zs_writer_commit(w[1], &err), &err);
    must(zs_writer_commit(w[0], &err), &err);
    expect_bytes(store, "a/c/0", "first");
    zs_store_free(store);
    remove_directory(root);
}

TEST(test_next_writer_removes_files_of_dead_writers_and_keeps_those_of_live_ones)
{
    struct zs_error err;
    char *root = new_directory();
    struct zs_store *living = vsi_store(root);
    struct zs_writer *w;
    must(zs_store_create(living, "a/c/0", &w, &err), &err);
    must(zs_writer_write(w, "living", 6, &err), &err);
    pid_t child = fork();
    if (child == 0) { /* is killed while it writes */
        struct zs_store *store = vsi_store(root);
        struct zs_writer *other;
        must(zs_store_create(store, "a/c/1", &other, &err), &err);
        must(zs_writer_write(other, "dead", 4, &err), &err);
        raise(SIGKILL);
    }
    int code = 0;
    CHECK(waitpid(child, &code, 0) == child && WIFSIGNALED(code));
    write_file(root, "not-ours.tmp", "x", 1);
    CHECK_EQ_U64(temporary_count(root), 2);

    struct zs_store *next = vsi_store(root);
    char **names = NULL;
    must(zs_store_list(next, "", &names, &err), &err); /* never taken for data */
    for (char **name = names; *name != NULL; name++)
        CHECK(!zs_is_temporary_name(*name));
    zs_names_free(names);
    CHECK_EQ_U64(temporary_count(root), 2); /* reading removes nothing */
    put_object(next, "b/zarr.json", "{}", 2);
    CHECK_EQ_U64(temporary_count(root), 1);
    CHECK(exists(root, "not-ours.tmp"));
    must(zs_writer_commit(w, &err), &err);
    expect_bytes(next, "a/c/0", "living");
    CHECK_EQ_U64(temporary_count(root), 0);
    zs_store_free(next);
    zs_store_free(living);
    remove_directory(root);
}

static void *put_many(void *store)
{
    struct zs_error err;
    for (int i = 0; i < 200; i++)
        CHECK(zs_store_put(store, "a", "x", 1, &err) == ZS_OK);
    return NULL;
}

TEST(test_writers_that_start_while_others_look_for_dead_ones_lose_nothing)
{
    struct zs_error err;
    char *root = new_directory();
    struct zs_store *store = vsi_store(root);
    zs_store_set_sync(store, ZS_SYNC_NO);
    put_object(store, "a", "x", 1);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, put_many, store) == 0);
    for (int i = 0; i < 200; i++) {
        struct zs_store *other = vsi_store(root);
        zs_store_set_sync(other, ZS_SYNC_NO);
        CHECK(zs_store_put(other, "b", "x", 1, &err) == ZS_OK);
        zs_store_free(other);
    }
    (void)pthread_join(thread, NULL);
    zs_store_free(store);
    CHECK_EQ_U64(temporary_count(root), 0);
    remove_directory(root);
}

TEST(test_store_with_removed_folders_is_written_to)
{
    struct zs_error err;
    char *root = new_directory();
    struct zs_store *store = vsi_store(root);
    struct zs_writer *w;
    put_object(store, "a/c/0", "x", 1);
    VSIRmdirRecursive(root);
    put_object(store, "a/c/0", "x", 1);
    CHECK(has_object(store, "a/c/0"));
    must(zs_store_create(store, "a/c/1", &w, &err), &err);
    remove_tree(store, "a");
    CHECK(zs_writer_commit(w, &err) == ZS_OK);
    CHECK(has_object(store, "a/c/1") && !has_object(store, "a/c/0"));
    zs_store_free(store);
    remove_directory(root);
}

/* ---- Links and what is no file ---- */

TEST(test_nothing_is_written_or_removed_through_a_link_that_leaves_the_store)
{
    struct zs_error err = {""};
    enum zs_link link;
    char *root = new_directory(), *outside = new_directory(), *file = zs_format("%s/file", outside);
    write_file(outside, "file", "theirs", 6);
    struct zs_store *store = vsi_store(root);
    put_object(store, "a/zarr.json", "{}", 2);
    make_link(outside, root, "out");
    make_link(outside, root, "a/c");
    make_link(file, root, "a/linked");
    make_link(file, root, "a/absent");

    /* reading follows */
    CHECK(has_object(store, "out/file") && has_object(store, "a/c/file") && has_object(store, "a/linked"));
    CHECK(zs_store_put(store, "out/new", "x", 1, &err) == ZS_UNSUPPORTED);
    CHECK_CONTAINS(err.message, "/out");
    CHECK_CONTAINS(err.message, "link");
    CHECK(zs_store_put(store, "a/c/0/0", "x", 1, &err) == ZS_UNSUPPORTED);
    CHECK(zs_store_remove(store, "out/file", &err) == ZS_UNSUPPORTED);
    CHECK(zs_store_remove(store, "a/c/file", &err) == ZS_UNSUPPORTED);
    CHECK(!exists(outside, "new") && !exists(outside, "0") && exists(outside, "file"));

    put_object(store, "a/linked", "ours", 4); /* the link is replaced */
    CHECK(zs_store_remove(store, "a/absent", &err) == ZS_OK && !exists(root, "a/absent"));
    expect_bytes(store, "out/file", "theirs");
    remove_tree(store, "a");
    CHECK(!exists(root, "a"));
    CHECK(zs_store_is_link(store, "out", &link, &err) == ZS_OK && link == ZS_LINK);
    CHECK(zs_store_remove(store, "out", &err) == ZS_OK && !exists(root, "out"));
    CHECK(exists(outside, "file"));
    zs_store_free(store);
    free(file);
    remove_directory(root);
    remove_directory(outside);
}

TEST(test_a_link_within_the_store_is_written_through)
{
    char *root = new_directory(), *parent = zs_format("%s-other", root);
    CHECK(mkdir(parent, 0755) == 0); /* begins with the same letters */
    struct zs_error err;
    struct zs_store *store = vsi_store(root);
    put_object(store, "a/c/0", "x", 1);
    make_link("a", root, "same");
    make_link(parent, root, "other");
    put_object(store, "same/c/1", "x", 1);
    CHECK(has_object(store, "a/c/1"));
    CHECK(zs_store_put(store, "other/c/1", "x", 1, &err) == ZS_UNSUPPORTED);
    remove_tree(store, "same");
    CHECK(has_object(store, "a/c/1") && !exists(root, "same"));
    zs_store_free(store);
    char *link = zs_format("%s/other", root);
    CHECK(unlink(link) == 0);
    free(link);
    remove_directory(parent);
    remove_directory(root);
}

/* ---- Files in memory ---- */

/* A shard of four chunks of 4 bytes each, in the given order: other orders have the same size. */
static struct zs_buffer shard_in_order(const char *order, char first)
{
    struct zs_buffer b = {0}, index = {0};
    for (const char *p = order; *p != '\0'; p++)
        for (int k = 0; k < 4; k++) {
            const char letter = (char)(first + *p - '0');
            oracle_append(&b, &letter, 1);
        }
    for (int i = 0; i < 4; i++) {
        unsigned char entry[16];
        oracle_put64(entry, (uint64_t)(strchr(order, '0' + i) - order) * 4, false);
        oracle_put64(entry + 8, 4, false);
        oracle_append(&index, entry, 16);
    }
    oracle_add_checksums(&index, 0, 1);
    oracle_append(&b, index.data, index.size);
    zs_buffer_free(&index);
    return b;
}

TEST(test_a_shard_in_memory_replaced_between_index_and_data_is_read_anew)
{
    for (int way = 1; way < 4; way++) {
        struct zs_error err = {""};
        char out[17] = "";
        struct zs_store *store = vsi_store("/vsimem/replaced");
        struct zs_node *node =
            array_node("[16]", "[16]", "uint8", "7",
                       "[{'name':'sharding_indexed','configuration':{'chunk_shape':[4],'codecs':['bytes']}}]");
        struct zs_array *array = open_node(store, node, 1, 0);
        struct zs_buffer old = shard_in_order("0123", 'a'), fresh = shard_in_order("3210", 'A');
        const uint64_t start = 0, four = 4, sixteen = 16;
        put_object(store, "a/c/0", old.data, old.size);
        must(zs_array_read(array, &start, &four, out, &err), &err);
        CHECK_EQ_STR(out, "aaaa");
        put_object(store, "a/c/0", fresh.data, fresh.size);
        if (way == 2)
            zs_cache_clear(&array->objects); /* as when many others were read */
        if (way == 3) { /* so that the new one may lie where the old one lay */
            zs_cache_clear(&array->objects);
            put_object(store, "a/c/0", old.data, old.size);
            put_object(store, "a/c/0", fresh.data, fresh.size);
        }
        zs_cache_clear(&array->chunks);
        must(zs_array_read(array, &start, &sixteen, out, &err), &err);
        /* an open file that was renamed over stays */
        CHECK_EQ_STR(out, way == 1 ? "aaaabbbbccccdddd" : "AAAABBBBCCCCDDDD");
        zs_array_close(array);
        zs_node_free(node);
        zs_store_free(store);
        zs_buffer_free(&old);
        zs_buffer_free(&fresh);
        VSIRmdirRecursive("/vsimem/replaced");
    }
}

/* Twice as many objects as descriptors that the process may have, and one of those that are not kept open is replaced. */
TEST(test_more_objects_are_read_than_files_may_be_open)
{
    enum { OBJECTS = 96 };
    struct zs_error err;
    struct rlimit before, few;
    char *root = new_directory();
    struct zs_store *store = vsi_store(root);
    struct zs_object *objects[OBJECTS] = {NULL};
    char key[16], text[8];
    if (!CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0))
        return;
    few = (struct rlimit){.rlim_cur = 48, .rlim_max = before.rlim_max};
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    for (int i = 0; i < OBJECTS; i++) {
        snprintf(key, sizeof key, "o%d", i);
        must(zs_store_put(store, key, key, strlen(key), &err), &err);
        must(zs_object_open(store, key, &objects[i], &err), &err);
    }
    must(zs_store_put(store, "o90", "new", 3, &err), &err);
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < OBJECTS; i++) {
            snprintf(key, sizeof key, "o%d", i);
            if (i == 90)
                continue;
            must(zs_object_read(objects[i], 0, strlen(key), text, &err), &err);
            CHECK_EQ_MEM(text, key, strlen(key));
        }
    CHECK(zs_object_read(objects[90], 0, 2, text, &err) == ZS_IO && zs_object_is_stale(objects[90]));
    CHECK_CONTAINS(err.message, "o90");
    CHECK(zs_object_is_changed(objects[90], false));
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    for (int i = 0; i < OBJECTS; i++)
        zs_object_close(objects[i]);
    zs_store_free(store);
    remove_directory(root);
}
