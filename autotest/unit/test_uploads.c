/* Commits that overlap (store/vsi_write.c), over a store in memory whose uploads end when they are told to. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "check.h"
#include "memory_store.h"

#define UPLOADS 4
#define ROUNDS 3

static atomic_bool may_end;

/* An upload that is refused, once it may end. */
static enum zs_status send_and_fail(struct zs_writer *writer, struct zs_error *err)
{
    while (!atomic_load(&may_end))
        (void)usleep(100);
    return zs_fail(err, ZS_IO, "%s: refused in this test", writer->store->root);
}

struct removal {
    struct zs_store *store;
    char key[16];
};

static void *remove_one(void *arg)
{
    const struct removal *r = arg;
    struct zs_error err = {""};
    CHECK(zs_store_remove(r->store, r->key, &err) == ZS_OK);
    return NULL;
}

TEST(test_objects_whose_uploads_fail_are_removed_side_by_side)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct zs_store *store;
        struct zs_error err = {""};
        struct removal removals[UPLOADS];
        pthread_t threads[UPLOADS];
        if (!CHECK(zs_store_open_memory(&store, &err) == ZS_OK))
            return;
        struct zs_writing_ops writing = *store->ops->writing;
        writing.commit = send_and_fail;
        struct zs_store_ops ops = *store->ops;
        ops.writing = &writing;
        store->ops = &ops;
        store->is_remote = true;
        CHECK(zs_store_overlap(store));
        atomic_store(&may_end, false);
        for (int i = 0; i < UPLOADS; i++) {
            removals[i] = (struct removal){.store = store};
            (void)snprintf(removals[i].key, sizeof removals[i].key, "c/%d", i);
            CHECK(zs_store_put(store, removals[i].key, "bytes", 5, &err) == ZS_OK);
        }
        for (int i = 0; i < UPLOADS; i++)
            CHECK(pthread_create(&threads[i], NULL, remove_one, &removals[i]) == 0);
        (void)usleep(1000); /* until they wait */
        atomic_store(&may_end, true);
        for (int i = 0; i < UPLOADS; i++)
            (void)pthread_join(threads[i], NULL);
        CHECK(zs_store_wait_commits(store, &err) == ZS_IO);
        CHECK_CONTAINS(err.message, "refused in this test");
        zs_store_free(store);
    }
}
