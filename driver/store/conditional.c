/* Commits to remote stores, those that expect a version, and which stores hold them to it. GDAL's upload says that it
 * failed and not why: what the store has afterwards distinguishes a conflict or a lost answer from a failure. */
#define _DEFAULT_SOURCE /* getrandom(), nanosleep() */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <time.h>

#include "base/cache.h"
#include "base/checked.h"
#include "base/limits.h"
#include "base/map.h"
#include "store/http.h"
#include "store/lease.h"
#include "store/staging.h"
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
    if (!store->can_expect)
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

/* Finds what the failure of a commit that expects a version means: the failure itself, where the store is as it was. */
static enum zs_status judge(struct zs_writer *writer, enum zs_status failure, struct zs_error *err)
{
    struct zs_store *store = writer->reader;
    const char *key = writer->key, *expected = writer->expected->etag;
    struct zs_object *now;
    struct zs_error ignored;
    const bool expects_none = expected[0] == '\0';
    zs_store_forget(store, key);
    const enum zs_status opened = zs_object_open(store, key, &now, &ignored);
    if (opened == ZS_NOT_FOUND && !expects_none)
        return zs_fail(err, ZS_CONFLICT, "%s/%s: another writer removed it meanwhile", store->root, key);
    if (opened != ZS_OK && opened != ZS_NOT_FOUND && failure == ZS_IO)
        say_why(writer, err);
    if (opened != ZS_OK)
        return failure;
    const char *etag = zs_object_etag(now);
    enum zs_status status = failure;
    if (etag == NULL || expects_none || strcmp(etag, expected) != 0)
        status = has_bytes(writer, now) ? ZS_OK
                                        : zs_fail(err, ZS_CONFLICT, "%s/%s: another writer replaced it meanwhile",
                                                  store->root, key);
    zs_object_close(now);
    return status;
}

/* S3 refuses a commit (409) while another one of the same object is under way, whichever wins then. GDAL does not tell
 * that from other failures, nor send it again. */
static enum zs_status send_over(struct zs_writer *writer, struct zs_error *err)
{
    enum zs_status status;
    int tries = 0;
    do {
        ZS_TRY(zs_lease_check(writer->store->lease, err));
        status = writer->store->ops->writing->send(writer, err);
        if (status != ZS_OK)
            status = judge(writer, status, err);
    } while (status == ZS_IO && tries < ZS_MOST_REFUSALS && zs_conflict_again(&tries));
    return status;
}

/* What a store has under the key of a writer. */
enum present { NOTHING, OURS, OTHER, UNKNOWN };

static enum present find_present(struct zs_writer *writer)
{
    struct zs_object *now;
    struct zs_error ignored;
    zs_store_forget(writer->reader, writer->key);
    const enum zs_status status = zs_object_open(writer->reader, writer->key, &now, &ignored);
    if (status != ZS_OK)
        return status == ZS_NOT_FOUND ? NOTHING : UNKNOWN;
    const enum present present = has_bytes(writer, now) ? OURS : OTHER;
    zs_object_close(now);
    return present;
}

/* Sends again where nothing is, and looks again where that is unknown. Another object may be of a writer who came after
 * a first try whose answer was lost. */
static enum zs_status send_unconditionally(struct zs_writer *writer, struct zs_error *err)
{
    enum present present = NOTHING;
    enum zs_status status = ZS_OK;
    int tries = 0;
    do {
        if (present == NOTHING) {
            ZS_TRY(zs_lease_check(writer->store->lease, err));
            status = writer->store->ops->writing->send(writer, err);
        }
        present = status != ZS_OK ? find_present(writer) : OURS;
    } while (status == ZS_IO && (present == NOTHING || present == UNKNOWN) && tries < ZS_MOST_REFUSALS &&
             zs_conflict_again(&tries));
    if (status == ZS_IO && present == UNKNOWN)
        say_why(writer, err);
    return present == OURS ? ZS_OK : status;
}

enum zs_status zs_writer_send(struct zs_writer *writer, struct zs_error *err)
{
    return writer->expected != NULL ? send_over(writer, err) : send_unconditionally(writer, err);
}

/* ---- Which stores hold a commit to what it expects ---- */

/* The answer of each root that was asked: a pointer to one of these. */
static bool does_hold = true, does_not_hold = false;
static struct zs_cache *answers; /* NULL without memory: each is asked again */
#define MOST_ANSWERS 4096

static void keep(void *answer)
{
    (void)answer;
}

/* Puts a few bytes, with an ETag under that condition. Whether the server has them then, even if its answer was
 * lost. */
static bool put(struct zs_store *store, const char *key, const char *etag, const char *text)
{
    struct zs_writer *writer;
    struct zs_error ignored;
    bool is_kept = true;
    if (zs_store_create(store, key, &writer, &ignored) != ZS_OK)
        return false;
    bool is_put = zs_writer_write(writer, text, strlen(text), &ignored) == ZS_OK &&
                  (etag == NULL || zs_writer_expect(&writer, store, etag, &ignored) == ZS_OK);
    writer = unwrap(writer);
    is_put = is_put && zs_writer_try_commit(writer, &is_kept, &ignored) == ZS_OK;
    if (is_kept)
        zs_writer_abort(writer);
    return is_put;
}

/* What a server does with conditions. */
enum held { HELD, NOT_HELD, NOT_KNOWN };

/* The version of an object, for the caller to free. It has none where it is not read by our own requests, as
 * where GDAL has credentials that sign no URL. */
static enum held ask_version(struct zs_store *store, const char *key, char **version)
{
    struct zs_object *object;
    struct zs_error ignored;
    zs_store_forget(store, key);
    if (zs_object_open(store, key, &object, &ignored) != ZS_OK)
        return NOT_KNOWN;
    const char *etag = zs_object_etag(object);
    const bool has_etag = etag != NULL;
    *version = has_etag ? zs_strdup(etag) : NULL;
    zs_object_close(object);
    return !has_etag ? NOT_HELD : *version != NULL ? HELD : NOT_KNOWN;
}

/* Tries a PUT that expects the version that there is, which *version is and becomes. One that is refused where one
 * without a condition is taken is tried once more: it may have been refused for another reason, such as 503. */
static enum held ask_with_version(struct zs_store *store, const char *key, char **version)
{
    for (int i = 0; i < 2; i++) {
        if (put(store, key, *version, "May it expect the version that there is?\n"))
            return HELD;
        if (!put(store, key, NULL, "May there be a PUT?\n"))
            return NOT_KNOWN;
        free(*version);
        *version = NULL;
        const enum held held = i == 0 ? ask_version(store, key, version) : NOT_HELD;
        if (held != HELD)
            return held;
    }
    return NOT_HELD;
}

/* Asks with an object that was made. A server that holds to conditions sends its version, refuses to make it again and
 * to replace it as another version than it is, and replaces it as that one. A server that does none of these is out of
 * order, unless it takes the object without a condition. */
static enum held ask_with(struct zs_store *store, const char *key)
{
    const char *no_version = store->has_generations ? "1" : "\"00000000000000000000000000000000\"";
    char *version = NULL;
    enum held held = ask_version(store, key, &version);
    if (held == HELD && (put(store, key, "", "May a PUT expect that nothing is there, again?\n") ||
                         put(store, key, no_version, "May it expect another version?\n")))
        held = NOT_HELD;
    if (held == HELD)
        held = ask_with_version(store, key, &version);
    free(version);
    return held;
}

/* Makes an object under the condition that nothing is there. A server that refuses it, and takes it without the
 * condition, is asked once more: it may have refused it for another reason, such as 503. *is_there: it is to be
 * removed. */
static enum held ask_new(struct zs_store *store, const char *key, bool *is_there)
{
    struct zs_error ignored;
    *is_there = false;
    for (int i = 0; i < 2; i++) {
        if (*is_there && zs_store_remove(store, key, &ignored) != ZS_OK)
            return NOT_KNOWN;
        const bool is_made = put(store, key, "", "May a PUT expect that nothing is there?\n");
        *is_there = is_made || put(store, key, NULL, "May there be a PUT?\n");
        if (is_made || !*is_there)
            return is_made ? HELD : NOT_KNOWN;
    }
    return NOT_HELD;
}

/* Asks with a small object. Where no object can be put, nothing is known. */
static enum held ask_server(struct zs_store *store)
{
    bool is_there;
    char *path = zs_temporary_path("");
    if (path == NULL)
        return NOT_KNOWN;
    const char *key = path + 1;
    enum held held = ask_new(store, key, &is_there);
    if (held == HELD)
        held = ask_with(store, key);
    if (is_there)
        (void)zs_store_remove(store, key, NULL); /* what is left has the name of a temporary file */
    free(path);
    return held;
}

static uint64_t hash_text(const char *text)
{
    return text != NULL ? zs_hash(ZS_HASH, text, strlen(text)) : 0;
}

/* The root of a store and its server: a program may have the same path on two. */
static struct zs_cache_key key_of(const struct zs_store *store)
{
    const char *server = zs_vsi_option(store->path, store->has_generations ? "CPL_GS_ENDPOINT" : "AWS_S3_ENDPOINT");
    return (struct zs_cache_key){hash_text(server), hash_text(store->path)};
}

/* Takes the answer of an entry, which may be NULL: then it is not known. */
static enum held release_answer(struct zs_cache_entry *entry)
{
    if (entry == NULL)
        return NOT_KNOWN;
    const enum held held = *(const bool *)zs_cache_value(entry) ? HELD : NOT_HELD;
    zs_cache_release(answers, entry);
    return held;
}

/* The answer of a root, asked for at first. Others that ask the same root wait meanwhile. Where nothing is known a
 * condition is sent: what is refused is an error, and loses nothing. */
static bool holds_conditions(struct zs_store *store)
{
    const struct zs_cache_key key = key_of(store);
    bool must_ask = true;
    const bool remembers = zs_cache_once(&answers, MOST_ANSWERS, keep) != NULL;
    struct zs_cache_entry *entry = remembers ? zs_cache_get_or_load(answers, key, &must_ask) : NULL;
    if (!must_ask)
        return release_answer(entry) == HELD;
    const enum held held = ask_server(store);
    if (held != NOT_KNOWN && remembers)
        entry = zs_cache_put(answers, key, held == HELD ? &does_hold : &does_not_hold, 1);
    if (entry == NULL && remembers)
        zs_cache_abandon(answers, key);
    (void)release_answer(entry);
    return held != NOT_HELD;
}

void zs_store_set_conditions(struct zs_store *store, enum zs_conditions conditions)
{
    store->conditions = conditions;
}

static enum zs_conditions configured(const struct zs_store *store)
{
    const char *setting = zs_vsi_option(store->path, "SHARDEDZARR_CONDITIONAL_PUT");
    if (setting != NULL && strcasecmp(setting, "YES") == 0)
        return ZS_CONDITIONS_YES;
    return setting != NULL && strcasecmp(setting, "NO") == 0 ? ZS_CONDITIONS_NO : ZS_CONDITIONS_ASK;
}

static enum zs_conditions conditions_of(const struct zs_store *store)
{
    return store->conditions != ZS_CONDITIONS_CONFIGURED ? store->conditions : configured(store);
}

bool zs_store_may_have_conditions(const struct zs_store *store)
{
    return store->is_remote && store->can_expect && conditions_of(store) != ZS_CONDITIONS_NO;
}

bool zs_store_refuses_again(struct zs_store *store, const char *key)
{
    if (!zs_store_may_have_conditions(store))
        return false;
    if (conditions_of(store) == ZS_CONDITIONS_YES)
        return true;
    enum held known = NOT_KNOWN;
    if (zs_cache_once(&answers, MOST_ANSWERS, keep) != NULL)
        known = release_answer(zs_cache_get(answers, key_of(store)));
    if (known != NOT_KNOWN)
        return known == HELD;
    return !put(store, key, "", "May a PUT expect that nothing is there, again?\n");
}

bool zs_store_has_conditions(struct zs_store *store)
{
    if (!store->is_remote)
        return false;
    const enum zs_conditions c = conditions_of(store);
    bool holds = false;
    if (store->can_expect && c != ZS_CONDITIONS_NO)
        holds = c == ZS_CONDITIONS_YES || holds_conditions(store);
    __atomic_store_n(&store->lacks_conditions, !holds, __ATOMIC_RELAXED);
    return holds;
}

bool zs_store_lacks_conditions(const struct zs_store *store)
{
    return __atomic_load_n(&store->lacks_conditions, __ATOMIC_RELAXED) ||
           __atomic_load_n(&store->lacked_version, __ATOMIC_RELAXED);
}

const char *zs_store_expected(struct zs_store *store, const char *etag)
{
    if (etag == NULL)
        __atomic_store_n(&store->lacked_version, true, __ATOMIC_RELAXED);
    return etag;
}
