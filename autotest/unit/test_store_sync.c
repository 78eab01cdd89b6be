/* In which order a store asks for its bytes to be put on the disk. The functions of the C library that do it are
 * replaced by ones that take a note. */
#include <cpl_vsi.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "array_store.h"

static char noted[4096]; /* "d": bytes of a file, "r": renamed, "f": a folder */
static pthread_mutex_t noting = PTHREAD_MUTEX_INITIALIZER;
static bool fails;
static unsigned disk_us;           /* what the disk takes for a file */
static atomic_int waiting, at_once; /* for a file; the most of them */

static int note(char letter)
{
    pthread_mutex_lock(&noting);
    const size_t n = strlen(noted);
    if (n + 1 < sizeof noted)
        noted[n] = letter;
    pthread_mutex_unlock(&noting);
    errno = EIO;
    return fails ? -1 : 0;
}

int fdatasync(int fd)
{
    (void)fd;
    const int n = atomic_fetch_add(&waiting, 1) + 1;
    for (int most = atomic_load(&at_once); n > most && !atomic_compare_exchange_weak(&at_once, &most, n);)
        ;
    usleep(disk_us);
    atomic_fetch_sub(&waiting, 1);
    return note('d');
}

int fsync(int fd)
{
    struct stat st;
    CHECK(fstat(fd, &st) == 0 && S_ISDIR(st.st_mode));
    return note('f');
}

int rename(const char *from, const char *to)
{
    (void)note('r');
    return (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
}

static const char *notes_of_puts(enum zs_sync sync, int count, bool at_end)
{
    struct zs_error err;
    struct zs_store *store = NULL;
    char root[] = "/tmp/test_store_sync.XXXXXX";
    CHECK(mkdtemp(root) != NULL);
    must(zs_store_open(root, &store, &err), &err);
    put_object(store, "c/first", "x", 1); /* makes the folder */
    zs_store_set_sync(store, sync);
    memset(noted, 0, sizeof noted);
    for (int i = 0; i < count; i++) {
        char key[16];
        snprintf(key, sizeof key, "c/%d", i);
        put_object(store, key, "x", 1);
    }
    if (at_end)
        CHECK(zs_store_sync(store, &err) == ZS_OK);
    zs_store_free(store);
    VSIRmdirRecursive(root);
    return noted;
}

TEST(test_bytes_are_on_the_disk_before_the_rename_and_the_folder_after_it)
{
    CHECK_EQ_STR(notes_of_puts(ZS_SYNC_EACH, 1, false), "drf");
    CHECK_EQ_STR(notes_of_puts(ZS_SYNC_EACH, 2, true), "drfdrf");
}

TEST(test_without_sync_nothing_waits_for_the_disk)
{
    CHECK_EQ_STR(notes_of_puts(ZS_SYNC_NO, 3, true), "rrr");
}

TEST(test_a_new_store_is_put_on_the_disk_at_its_end_each_folder_once)
{
    CHECK_EQ_STR(notes_of_puts(ZS_SYNC_LATER, 3, false), "rrr");
    CHECK_EQ_STR(notes_of_puts(ZS_SYNC_LATER, 3, true), "rrrddddfff"); /* c, the root, and the one above it */
}

TEST(test_files_of_a_new_store_wait_for_the_disk_side_by_side)
{
    disk_us = 20000;
    atomic_store(&at_once, 0);
    (void)notes_of_puts(ZS_SYNC_LATER, 16, true);
    CHECK(atomic_load(&at_once) > 1);
    disk_us = 0;
}

TEST(test_failed_fsync_is_an_error_and_keeps_the_old_object)
{
    struct zs_error err = {""};
    struct zs_store *store = NULL;
    char root[] = "/tmp/test_store_sync.XXXXXX";
    CHECK(mkdtemp(root) != NULL);
    must(zs_store_open(root, &store, &err), &err);
    put_object(store, "a", "old", 3);
    fails = true;
    CHECK(zs_store_put(store, "a", "new", 3, &err) == ZS_IO);
    CHECK_CONTAINS(err.message, root);
    struct zs_buffer b = get_object(store, "a");
    CHECK_EQ_MEM(b.data, "old", 3);
    zs_store_set_sync(store, ZS_SYNC_LATER);
    put_object(store, "a", "new", 3);
    CHECK(zs_store_sync(store, &err) == ZS_IO);
    fails = false;
    CHECK(zs_store_sync(store, &err) == ZS_OK);
    zs_buffer_free(&b);
    zs_store_free(store);
    VSIRmdirRecursive(root);
}

/* One of four chunks is written again, over a shard that is there. */
static const char *notes_of_update(enum zs_update update, enum zs_sync sync)
{
    static uint16_t values[4] = {1, 2, 3, 4};
    struct zs_error err;
    struct zs_store *store = NULL;
    char root[] = "/tmp/test_store_sync.XXXXXX";
    struct zs_node *node =
        array_node("[4]", "[4]", "uint16", "0",
                   "[{'name':'sharding_indexed','configuration':{'chunk_shape':[1],'codecs':['bytes']}}]");
    const struct zs_array_options options = {.threads = 1, .update = update};
    CHECK(mkdtemp(root) != NULL);
    must(zs_store_open(root, &store, &err), &err);
    zs_store_set_sync(store, sync);
    for (int turn = 0; turn < 2; turn++) { /* all of them, and then one */
        struct zs_array *a = NULL;
        const struct zs_window w = {.count = {turn == 0 ? 4 : 1}, .data = values, .stride = {2}};
        must(zs_array_open_in(store, node, &options, &a, &err), &err);
        values[0]++;
        memset(noted, 0, sizeof noted);
        must(zs_array_write_windows(a, &w, 1, 2, NULL, NULL, &err), &err);
        must(zs_array_flush(a, &err), &err);
        zs_array_close(a);
    }
    zs_store_free(store);
    zs_node_free(node);
    VSIRmdirRecursive(root);
    return noted;
}

TEST(test_a_shard_that_is_changed_waits_for_the_disk_as_often_as_its_order_needs)
{
    CHECK_EQ_STR(notes_of_update(ZS_UPDATE_REWRITE, ZS_SYNC_EACH), "drf");
    CHECK_EQ_STR(notes_of_update(ZS_UPDATE_APPEND, ZS_SYNC_EACH), "drfdd"); /* the journal, the chunk, the index */
    CHECK_EQ_STR(notes_of_update(ZS_UPDATE_IN_PLACE, ZS_SYNC_EACH), "d");
    CHECK_EQ_STR(notes_of_update(ZS_UPDATE_APPEND, ZS_SYNC_NO), "r");
    CHECK_EQ_STR(notes_of_update(ZS_UPDATE_IN_PLACE, ZS_SYNC_NO), "");
}
