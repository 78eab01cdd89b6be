/* Commits to remote stores, and those that expect a version. GDAL's upload says that it failed and not why: what the
 * store has afterwards distinguishes a conflict or a lost answer from a failure. */
#define _DEFAULT_SOURCE /* getrandom(), nanosleep() */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/checked.h"
#include "base/limits.h"
#include "store/http.h"
#include "store/vsi.h"

#define COMPARE_BYTES ((size_t)1 << 20)

void zs_expectation_free(struct zs_expectation *expected)
{
    if (expected == NULL)
        return;
    free(expected->etag);
    free(expected);
}

/* The writer that sends the bytes, where stores stand before its own. */
static struct zs_writer *unwrap(struct zs_writer *writer)
{
    while (writer->store->ops->writing->unwrap != NULL)
        writer = writer->store->ops->writing->unwrap(writer);
    return writer;
}

enum zs_status zs_writer_expect(struct zs_writer **writer, struct zs_store *store, const char *etag,
                                struct zs_error *err)
{
    if (!zs_store_has_conditions(store))
        return ZS_OK;
    *writer = unwrap(*writer);
    struct zs_expectation *expected = zs_calloc(1, sizeof *expected);
    if (expected != NULL)
        *expected = (struct zs_expectation){.store = store, .etag = zs_strdup(etag)};
    if (expected == NULL || expected->etag == NULL) {
        zs_expectation_free(expected);
        return zs_fail_memory(err);
    }
    zs_expectation_free((*writer)->expected);
    (*writer)->expected = expected;
    return ZS_OK;
}

bool zs_conflict_again(int *tries)
{
    static const uint64_t most_ms[] = {20, 40, 80, 160, 320, 640, 1000};
    const size_t count = sizeof most_ms / sizeof most_ms[0];
    uint64_t chance = 0;
    const int attempt = (*tries)++;
    if (attempt >= ZS_MOST_CONFLICTS)
        return false;
    (void)getrandom(&chance, sizeof chance, GRND_NONBLOCK);
    const uint64_t us = chance % (1000 * most_ms[(size_t)attempt < count ? (size_t)attempt : count - 1]);
    const struct timespec time = {.tv_sec = 0, .tv_nsec = (long)us * 1000};
    (void)nanosleep(&time, NULL);
    return true;
}

enum zs_status zs_store_replace(struct zs_store *store, const char *key, zs_replace_fn replace, void *ctx,
                                struct zs_error *err)
{
    struct zs_lock *lock;
    enum zs_status status;
    int tries = 0;
    ZS_TRY(zs_store_lock(store, key, &lock, err));
    do {
        zs_store_forget(store, key);
        status = replace(ctx, err);
    } while (status == ZS_CONFLICT && zs_conflict_again(&tries));
    zs_store_unlock(store, lock);
    return status;
}

/* ---- What a failed commit means ---- */

/* Whether the store has the bytes of the writer under its key. */
static bool has_bytes(struct zs_writer *writer, struct zs_object *object)
{
    struct zs_buffer theirs = {0}, ours = {0};
    struct zs_error ignored;
    const uint64_t size = writer->size;
    bool is_same = zs_object_size(object) == size && zs_buffer_reset(&theirs, COMPARE_BYTES, &ignored) == ZS_OK &&
                   zs_buffer_reset(&ours, COMPARE_BYTES, &ignored) == ZS_OK;
    for (uint64_t offset = 0; offset < size && is_same;) {
        const size_t n = (size_t)zs_min_u64(size - offset, COMPARE_BYTES);
        is_same = zs_object_read(object, offset, n, theirs.data, &ignored) == ZS_OK &&
                  zs_writer_read(writer, offset, n, ours.data, &ignored) == ZS_OK &&
                  memcmp(theirs.data, ours.data, n) == 0;
        offset += n;
    }
    zs_buffer_free(&theirs);
    zs_buffer_free(&ours);
    return is_same;
}

/* GDAL does not say why there was no answer to an upload. Where the store can be read as little, asks the server for
 * one byte, and says how that failed. */
static void say_why(const struct zs_writer *writer, struct zs_error *err)
{
    char found[400];
    struct zs_vsi_quiet q;
    char *path = writer->has_answer ? NULL : zs_vsi_path(writer->store, writer->key);
    zs_vsi_quiet_begin(&q, writer->store);
    if (path != NULL && zs_http_probe(path, found, sizeof found) == ZS_HTTP_FAILED)
        (void)zs_fail(err, ZS_IO, "%s/%s: writing failed: %s", writer->store->root, writer->key, found);
    zs_vsi_quiet_end(&q);
    free(path);
}

/* Finds what the failure of a commit means by what is under its key now. *is_unchanged: the store is as it was, or
 * cannot be read; else another object is there, of whomever it is. */
static enum zs_status judge(struct zs_writer *writer, enum zs_status failure, bool *is_unchanged, struct zs_error *err)
{
    const char *expected = writer->expected != NULL ? writer->expected->etag : NULL, *root = writer->reader->root;
    struct zs_object *now;
    struct zs_error ignored;
    zs_store_forget(writer->reader, writer->key);
    const enum zs_status opened = zs_object_open(writer->reader, writer->key, &now, &ignored);
    *is_unchanged = opened != ZS_OK;
    if (opened == ZS_NOT_FOUND && expected != NULL && expected[0] != '\0')
        return zs_fail(err, ZS_CONFLICT, "%s/%s: another writer removed it meanwhile", root, writer->key);
    if (opened != ZS_OK && opened != ZS_NOT_FOUND && failure == ZS_IO)
        say_why(writer, err);
    if (opened != ZS_OK)
        return failure;
    const char *etag = zs_object_etag(now);
    enum zs_status status = failure;
    *is_unchanged = expected != NULL && etag != NULL && strcmp(etag, expected) == 0;
    if (!*is_unchanged && has_bytes(writer, now))
        status = ZS_OK;
    else if (!*is_unchanged && expected != NULL)
        status = zs_fail(err, ZS_CONFLICT, "%s/%s: another writer replaced it meanwhile", root, writer->key);
    zs_object_close(now);
    return status;
}

/* S3 refuses a commit (409) while another one of the same object is under way, whichever wins then. GDAL does not tell
 * that from other failures, nor send it again. */
enum zs_status zs_writer_send(struct zs_writer *writer, struct zs_error *err)
{
    enum zs_status status;
    bool is_unchanged = true;
    int tries = 0;
    do {
        status = writer->store->ops->writing->send(writer, err);
        if (status != ZS_OK)
            status = judge(writer, status, &is_unchanged, err);
    } while (status == ZS_IO && is_unchanged && tries < ZS_MOST_REFUSALS && zs_conflict_again(&tries));
    return status;
}

/* ---- Which commits carry conditions ---- */

void zs_store_set_conditions(struct zs_store *store, bool are_sent)
{
    store->sends_conditions = are_sent;
}

bool zs_store_has_conditions(const struct zs_store *store)
{
    return store->is_remote && store->can_expect && store->sends_conditions;
}

bool zs_store_lacks_versions(const struct zs_store *store)
{
    return __atomic_load_n(&store->lacks_versions, __ATOMIC_RELAXED);
}

const char *zs_store_expected(struct zs_store *store, const char *etag)
{
    if (etag == NULL)
        __atomic_store_n(&store->lacks_versions, true, __ATOMIC_RELAXED);
    return etag;
}
