#define _DEFAULT_SOURCE /* gethostname(), readlink() */
#include "store/mark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/fork.h"
#include "base/map.h"
#include "store/lease.h"
#include "store/staging.h"
#include "store/vsi.h"

#define MOST_BYTES 1024
#define TOKEN_DIGITS 32
#define WORD 64 /* bytes of a word in a mark, and a zero */
#define FIRST_LINE "A raster is being written here, or was when its writer was killed.\n"
#define FORMAT FIRST_LINE "%s process %ld since %s in %s boot %s on %s\n"
#define PARSED FIRST_LINE "%63s process %ld since %63s in %63s boot %63s on %63s"
#define NOT_KNOWN "-"

/* The maker of a mark. */
struct maker {
    char token[WORD]; /* of this mark */
    long process;
    char since[WORD]; /* when that began, after the boot: a number is given to many processes */
    char in[WORD];    /* its namespace of processes */
    char boot[WORD], host[WORD];
};

/* ---- Marks of this process ---- */

struct own_mark {
    struct own_mark *next;
    long process; /* not that of a forked one */
    char token[WORD];
    uint64_t hash; /* of the store and the key */
};
static struct own_mark *own_marks;
/* Where the store has no conditions: what a thread loads from its look at a mark to the replacement. */
static struct zs_cache *being_put;

static void forget(const char *token)
{
    (void)pthread_mutex_lock(&zs_locks[ZS_LOCK_MARKS]);
    for (struct own_mark **m = &own_marks; *m != NULL; m = &(*m)->next) {
        struct own_mark *found = *m;
        if (strcmp(found->token, token) != 0)
            continue;
        *m = found->next;
        free(found);
        break;
    }
    (void)pthread_mutex_unlock(&zs_locks[ZS_LOCK_MARKS]);
}

static uint64_t hash_of(const struct zs_store *store, const char *key)
{
    return zs_hash(zs_hash(ZS_HASH, store->root, strlen(store->root) + 1), key, strlen(key));
}

/* The token of this process's mark at a key; false where it has none. */
static bool find_own(uint64_t hash, char *token)
{
    bool is_found = false;
    (void)pthread_mutex_lock(&zs_locks[ZS_LOCK_MARKS]);
    for (const struct own_mark *m = own_marks; m != NULL && !is_found; m = m->next) {
        is_found = m->process == (long)getpid() && m->hash == hash;
        if (is_found)
            memcpy(token, m->token, sizeof m->token);
    }
    (void)pthread_mutex_unlock(&zs_locks[ZS_LOCK_MARKS]);
    return is_found;
}

static bool add_own(const struct maker *us, uint64_t hash)
{
    struct own_mark *m = malloc(sizeof *m);
    if (m == NULL)
        return false;
    m->process = us->process;
    m->hash = hash;
    memcpy(m->token, us->token, sizeof m->token);
    (void)pthread_mutex_lock(&zs_locks[ZS_LOCK_MARKS]);
    m->next = own_marks;
    own_marks = m;
    (void)pthread_mutex_unlock(&zs_locks[ZS_LOCK_MARKS]);
    return true;
}

/* Whether a mark is of this process, and its maker has neither ended nor failed. */
static bool is_own(const char *token)
{
    bool is_found = false;
    (void)pthread_mutex_lock(&zs_locks[ZS_LOCK_MARKS]);
    for (const struct own_mark *m = own_marks; m != NULL && !is_found; m = m->next)
        is_found = m->process == (long)getpid() && strcmp(m->token, token) == 0;
    (void)pthread_mutex_unlock(&zs_locks[ZS_LOCK_MARKS]);
    return is_found;
}

bool zs_mark_is_own(const struct zs_store *store, const char *key)
{
    char token[WORD];
    return find_own(hash_of(store, key), token);
}

/* ---- Makers ---- */

/* Keeps the letters, digits and so on of a word, so that a mark can be read back. */
static void clean(char *word)
{
    for (char *c = word; *c != '\0'; c++)
        if (*c <= ' ' || *c >= 127)
            *c = '_';
    if (word[0] == '\0')
        memcpy(word, NOT_KNOWN, sizeof NOT_KNOWN);
}

static void read_word(const char *path, char *word)
{
    FILE *file = fopen(path, "re");
    if (file == NULL || fscanf(file, "%63s", word) != 1)
        memcpy(word, NOT_KNOWN, sizeof NOT_KNOWN);
    if (file != NULL)
        (void)fclose(file);
}

/* When a process began; false where there is none, or one that has ended and was not waited for. */
static bool read_since(long process, char *since)
{
    char path[64], text[1024] = {0}, state = 'Z';
    (void)snprintf(path, sizeof path, "/proc/%ld/stat", process);
    FILE *file = fopen(path, "re");
    const size_t n = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file != NULL)
        (void)fclose(file);
    const char *end = n > 0 ? strrchr(text, ')') : NULL; /* of the name, in which may be anything */
    return end != NULL &&
           sscanf(end + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %63s", &state,
                  since) == 2 &&
           state != 'Z' && state != 'X';
}

static void describe(struct maker *us)
{
    *us = (struct maker){.process = (long)getpid()};
    if (!read_since(us->process, us->since))
        memcpy(us->since, NOT_KNOWN, sizeof NOT_KNOWN);
    const ssize_t n = readlink("/proc/self/ns/pid", us->in, sizeof us->in - 1);
    us->in[n > 0 ? (size_t)n : 0] = '\0';
    clean(us->in);
    read_word("/proc/sys/kernel/random/boot_id", us->boot);
    if (gethostname(us->host, sizeof us->host - 1) != 0)
        us->host[0] = '\0';
    clean(us->host);
    zs_random_digits(us->token, TOKEN_DIGITS);
}

static bool parse(const struct zs_buffer *text, struct maker *maker)
{
    char copy[MOST_BYTES + 1];
    const size_t n = text->size < MOST_BYTES ? text->size : MOST_BYTES;
    memcpy(copy, text->data, n);
    copy[n] = '\0';
    *maker = (struct maker){.process = 0};
    return sscanf(copy, PARSED, maker->token, &maker->process, maker->since, maker->in, maker->boot, maker->host) == 6;
}

enum life { DEAD, LIVES, MAY_LIVE };

/* Whether nothing was written for an hour to what the mark is of, nor to its replacement. */
static bool is_quiet(struct zs_store *store, const char *key)
{
    const char *slash = strrchr(key, '/');
    char *folder = zs_strndup(key, slash != NULL ? (size_t)(slash - key) : 0);
    char *path = folder != NULL ? zs_vsi_path(store, folder) : NULL;
    const bool is = path != NULL && zs_staging_is_quiet(path);
    free(folder);
    free(path);
    return is;
}

/* Whether the maker lives. A mark without one is of an older version of this driver, or of somebody's test: then its
 * maker is dead, as it was for that version. */
static enum life life_of(struct zs_store *store, const char *key, const struct maker *maker, bool has_maker,
                         const struct maker *us)
{
    char since[WORD] = "";
    if (!has_maker)
        return DEAD;
    if (strcmp(maker->boot, NOT_KNOWN) == 0 || strcmp(maker->since, NOT_KNOWN) == 0 ||
        strcmp(maker->boot, us->boot) != 0 || strcmp(maker->in, us->in) != 0 || strcmp(maker->host, us->host) != 0)
        return is_quiet(store, key) ? DEAD : MAY_LIVE;
    if (maker->process == us->process && strcmp(maker->since, us->since) == 0)
        return is_own(maker->token) ? LIVES : DEAD;
    return read_since(maker->process, since) && strcmp(since, maker->since) == 0 ? LIVES : DEAD;
}

/* ZS_OK where no mark is there, or that of a dead maker (*is_left); *etag is its version. */
static enum zs_status look(struct zs_store *store, const char *key, const struct maker *us, bool *is_left, char **etag,
                           struct zs_error *err)
{
    struct zs_buffer text = {0};
    struct maker maker;
    *is_left = false;
    zs_store_forget(store, key);
    enum zs_status status = zs_store_get_tagged(store, key, MOST_BYTES, &text, etag, err);
    if (status == ZS_OK) {
        const bool has_maker = parse(&text, &maker);
        const enum life life = life_of(store, key, &maker, has_maker, us);
        *is_left = life == DEAD;
        if (life == LIVES)
            status = zs_fail(err, ZS_CONFLICT, "%s/%s: process %ld on %s is making what shall be there", store->root,
                             key, maker.process, maker.host);
        if (life == MAY_LIVE)
            status = zs_fail(err, ZS_CONFLICT,
                             "%s/%s: process %ld on %s is making what shall be there, or was killed; if it was, remove "
                             "this object", store->root, key, maker.process, maker.host);
    }
    zs_buffer_free(&text);
    return status == ZS_NOT_FOUND ? ZS_OK : status;
}

/* ---- Putting and removing ---- */

/* A mark that is to be put. */
struct new_mark {
    struct zs_store *store;
    const char *key;
    const struct maker *us;
    const char *text;
    const struct zs_mark_question *question;
};

/* Looks for a mark that may be replaced, as look(). */
static enum zs_status look_and_ask(const struct new_mark *p, bool *was_left, char **etag, struct zs_error *err)
{
    ZS_TRY(look(p->store, p->key, p->us, was_left, etag, err));
    return *was_left && p->question != NULL ? p->question->may_replace(p->question->ctx, err) : ZS_OK;
}

/* Puts a mark where a lock, or nothing, keeps other makers away. */
static enum zs_status put_locked(const struct new_mark *p, bool *was_left, struct zs_error *err)
{
    struct zs_lock *lock;
    char *etag = NULL;
    bool must_load;
    const struct zs_cache_key key = {0, hash_of(p->store, p->key)};
    ZS_TRY_MEMORY(zs_cache_once(&being_put, 0, free), err);
    ZS_TRY(zs_store_lock(p->store, p->key, &lock, err));
    (void)zs_cache_get_or_load(being_put, key, &must_load);
    enum zs_status status = look_and_ask(p, was_left, &etag, err);
    if (status == ZS_OK)
        status = zs_store_put(p->store, p->key, p->text, strlen(p->text), err);
    zs_cache_abandon(being_put, key);
    zs_store_unlock(p->store, lock);
    free(etag);
    return status;
}

/* Puts a mark over that of a dead maker. ZS_CONFLICT where the mark was replaced or removed meanwhile (*is_over), and
 * where its maker lives. */
static enum zs_status take_over(const struct new_mark *p, bool *was_left, bool *is_over, struct zs_error *err)
{
    char *etag = NULL;
    enum zs_status status = look_and_ask(p, was_left, &etag, err);
    *is_over = status == ZS_OK;
    if (status == ZS_OK)
        status = *was_left ? zs_store_put_over(p->store, p->key, etag, p->text, strlen(p->text), err)
                           : zs_fail(err, ZS_CONFLICT, "%s/%s: others put and remove it again and again",
                                     p->store->root, p->key);
    free(etag);
    return status;
}

/* Puts a mark under a condition: where nothing is, or over that of a dead maker. */
static enum zs_status put_held(const struct new_mark *p, bool *was_left, struct zs_error *err)
{
    int tries = 0;
    bool is_over;
    enum zs_status status;
    do {
        *was_left = is_over = false;
        status = zs_store_put_over(p->store, p->key, "", p->text, strlen(p->text), err);
        if (status == ZS_CONFLICT)
            status = take_over(p, was_left, &is_over, err);
    } while (status == ZS_CONFLICT && is_over && zs_conflict_again(&tries));
    return status;
}

static enum zs_status put(const struct new_mark *p, bool *was_left, struct zs_error *err)
{
    return zs_store_has_conditions(p->store) ? put_held(p, was_left, err) : put_locked(p, was_left, err);
}

enum zs_status zs_mark_put(struct zs_store *store, const char *key, const struct zs_mark_question *question,
                           bool *was_left, struct zs_error *err)
{
    struct maker us;
    char text[MOST_BYTES];
    *was_left = false;
    describe(&us);
    if (!add_own(&us, hash_of(store, key))) /* first: others of this process may see the mark at once */
        return zs_fail_memory(err);
    (void)snprintf(text, sizeof text, FORMAT, us.token, us.process, us.since, us.in, us.boot, us.host);
    const struct new_mark p = {store, key, &us, text, question};
    const enum zs_status status = put(&p, was_left, err);
    if (status != ZS_OK)
        forget(us.token);
    return status;
}

enum zs_status zs_mark_check(struct zs_store *store, const char *key, struct zs_error *err)
{
    struct maker us;
    bool is_left;
    char *etag = NULL;
    describe(&us);
    const enum zs_status status = look(store, key, &us, &is_left, &etag, err);
    free(etag);
    return status;
}

enum zs_status zs_mark_check_own(struct zs_store *store, const char *key, struct zs_error *err)
{
    struct zs_buffer text = {0};
    struct maker maker;
    zs_store_forget(store, key);
    enum zs_status status = zs_store_get(store, key, MOST_BYTES, &text, err);
    const bool has_maker = status == ZS_OK && parse(&text, &maker);
    if (status == ZS_NOT_FOUND)
        status = zs_fail(err, ZS_IO, "%s/%s: is gone: another process took this one for killed, and made what "
                         "shall be there", store->root, key);
    else if (has_maker && !is_own(maker.token))
        status = zs_fail(err, ZS_IO, "%s/%s: process %ld on %s took this one for killed, and is making what "
                         "shall be there", store->root, key, maker.process, maker.host);
    else if (status == ZS_OK && !has_maker)
        status = zs_fail(err, ZS_IO, "%s/%s: was replaced by another process", store->root, key);
    zs_buffer_free(&text);
    return status;
}

/* Half of the time after which others take a maker for killed. */
#define LEASE (30 * 60)

enum zs_status zs_mark_hold(struct zs_store *store, const char *key, struct zs_error *err)
{
    struct zs_lease *lease = zs_calloc(1, sizeof *lease);
    if (lease == NULL || (lease->key = zs_strdup(key)) == NULL) {
        free(lease);
        return zs_fail_memory(err);
    }
    lease->store = store;
    zs_lease_renew(lease);
    for (struct zs_store *s = store; s != NULL; s = s->inner)
        s->lease = lease;
    return ZS_OK;
}

enum zs_status zs_lease_check(struct zs_lease *lease, struct zs_error *err)
{
    const int64_t now = (int64_t)time(NULL);
    const int64_t seen = lease != NULL ? atomic_load(&lease->seen) : now;
    if (now >= seen && now - seen < LEASE)
        return ZS_OK;
    ZS_TRY(zs_mark_check_own(lease->store, lease->key, err));
    zs_lease_renew(lease);
    return ZS_OK;
}

void zs_lease_renew(struct zs_lease *lease)
{
    if (lease != NULL)
        atomic_store(&lease->seen, (int64_t)time(NULL));
}

void zs_lease_free(struct zs_lease *lease)
{
    if (lease == NULL)
        return;
    free(lease->key);
    free(lease);
}

enum zs_status zs_mark_remove(struct zs_store *store, const char *key, struct zs_error *err)
{
    struct zs_buffer text = {0};
    struct maker maker;
    char token[WORD];
    const bool is_known = find_own(hash_of(store, key), token);
    zs_store_forget(store, key);
    enum zs_status status = zs_store_get(store, key, MOST_BYTES, &text, err);
    if (status == ZS_OK && parse(&text, &maker) && is_own(maker.token)) {
        status = zs_store_remove(store, key, err);
        forget(maker.token);
    }
    if (is_known) /* what stays because it could not be read or removed is a dead maker's from now on */
        forget(token);
    zs_buffer_free(&text);
    return status == ZS_NOT_FOUND ? ZS_OK : status;
}

bool zs_is_mark(const char *key)
{
    const char *slash = strrchr(key, '/');
    return strcmp(slash != NULL ? slash + 1 : key, ZS_MARK_NAME) == 0;
}
