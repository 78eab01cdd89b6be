#define _DEFAULT_SOURCE /* gethostname(), readlink() */
#include "store/mark.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fork.h"
#include "base/map.h"
#include "store/staging.h"

#define MOST_BYTES 1024
#define TOKEN_DIGITS 16
#define WORD 64 /* bytes of a word in a mark, and a zero */
#define FIRST_LINE "A raster is being written here, or was when its writer was killed.\n"
#define FORMAT FIRST_LINE "process %ld since %s in %s boot %s on %s at %s\n%s\n"
#define PARSED FIRST_LINE "process %ld since %63s in %63s boot %63s on %63s at %63s"
#define NOT_KNOWN "-"

/* The maker of a mark. */
struct maker {
    long process;
    char since[WORD]; /* when that began, after the boot: a number is given to many processes */
    char in[WORD];    /* its namespace of processes */
    char boot[WORD], host[WORD];
    char at[WORD]; /* when the mark was put, by the maker's clock: for messages alone */
};

/* The marks that this process has put and not removed yet, by their names' hashes. One that it could not remove is
 * nobody's. */
static struct zs_map held;

/* ---- Makers ---- */

/* Whether a mark is held, and from now on: HOLDS it, LEAVES it, or KEEPS to what was. Without memory it is not held. */
enum holding { HOLDS, LEAVES, KEEPS };
static bool hold(const struct zs_store *store, const char *key, enum holding from_now)
{
    const uint64_t root = zs_hash(ZS_HASH, store->root, strlen(store->root) + 1);
    const uint64_t name = zs_hash(root, key, strlen(key));
    pthread_mutex_lock(&zs_locks[ZS_LOCK_MARKS]);
    const bool was_held = zs_map_get(&held, name) != NULL;
    if (from_now == HOLDS)
        (void)zs_map_set(&held, name, &held);
    else if (from_now == LEAVES)
        (void)zs_map_remove(&held, name);
    pthread_mutex_unlock(&zs_locks[ZS_LOCK_MARKS]);
    return was_held;
}

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
    struct tm t;
    const time_t now = time(NULL);
    if (gmtime_r(&now, &t) == NULL || strftime(us->at, sizeof us->at, "%Y-%m-%dT%H:%M:%SZ", &t) == 0)
        memcpy(us->at, NOT_KNOWN, sizeof NOT_KNOWN);
}

static bool parse(const struct zs_buffer *text, struct maker *maker)
{
    char copy[MOST_BYTES + 1];
    const size_t n = text->size < MOST_BYTES ? text->size : MOST_BYTES;
    memcpy(copy, text->data, n);
    copy[n] = '\0';
    *maker = (struct maker){.process = 0};
    return sscanf(copy, PARSED, &maker->process, maker->since, maker->in, maker->boot, maker->host, maker->at) == 6;
}

/* Whether this machine sees the processes of the maker. */
static bool is_here(const struct maker *maker, const struct maker *us)
{
    return strcmp(maker->boot, NOT_KNOWN) != 0 && strcmp(maker->since, NOT_KNOWN) != 0 &&
           strcmp(maker->boot, us->boot) == 0 && strcmp(maker->in, us->in) == 0 && strcmp(maker->host, us->host) == 0;
}

static bool is_us(const struct maker *maker, const struct maker *us)
{
    return is_here(maker, us) && maker->process == us->process && strcmp(maker->since, us->since) == 0;
}

/* Reads the mark at a key. *has_maker is false where none is named, as in a file that somebody else put. */
static enum zs_status read_mark(struct zs_store *store, const char *key, struct maker *maker, bool *has_maker,
                                char **etag, struct zs_error *err)
{
    struct zs_buffer text = {0};
    zs_store_forget(store, key);
    const enum zs_status status = zs_store_get_tagged(store, key, MOST_BYTES, &text, etag, err);
    *has_maker = status == ZS_OK && parse(&text, maker);
    zs_buffer_free(&text);
    return status;
}

/* Like zs_mark_check(). *etag is the version of the mark that may be replaced, for the caller to free. */
static enum zs_status check(struct zs_store *store, const char *key, bool overwrites, char **etag,
                            struct zs_error *err)
{
    struct maker us, maker;
    bool has_maker;
    char since[WORD] = "";
    describe(&us);
    const enum zs_status status = read_mark(store, key, &maker, &has_maker, etag, err);
    if (status != ZS_OK || !has_maker)
        return status == ZS_NOT_FOUND ? ZS_OK : status;
    const bool is_seen = is_here(&maker, &us);
    if (is_us(&maker, &us) ? hold(store, key, KEEPS)
                           : is_seen && read_since(maker.process, since) && strcmp(since, maker.since) == 0)
        return zs_fail(err, ZS_CONFLICT, "%s/%s: process %ld on %s is making what shall be there, since %s",
                       store->root, key, maker.process, maker.host, maker.at);
    if (!is_seen && !overwrites)
        return zs_fail(err, ZS_CONFLICT,
                       "%s/%s: process %ld on %s is making what shall be there, since %s; if it was killed, remove "
                       "this object, or give OVERWRITE=YES", store->root, key, maker.process, maker.host, maker.at);
    return ZS_OK;
}

enum zs_status zs_mark_check(struct zs_store *store, const char *key, bool overwrites, struct zs_error *err)
{
    char *etag = NULL;
    const enum zs_status status = check(store, key, overwrites, &etag, err);
    free(etag);
    return status;
}

/* ---- Putting and removing ---- */

/* Puts a mark where a lock keeps other makers away, or nothing does. */
static enum zs_status put_locked(struct zs_store *store, const char *key, bool overwrites, const char *text,
                                 struct zs_error *err)
{
    struct zs_lock *lock;
    ZS_TRY(zs_store_lock(store, key, &lock, err));
    enum zs_status status = zs_mark_check(store, key, overwrites, err);
    if (status == ZS_OK)
        status = zs_store_put(store, key, text, strlen(text), err);
    zs_store_unlock(store, lock);
    return status;
}

/* Puts a mark where nothing is, else over the one that may be replaced. */
static enum zs_status put_on_condition(struct zs_store *store, const char *key, bool overwrites, const char *text,
                                       struct zs_error *err)
{
    int tries = 0;
    enum zs_status status = zs_store_put_over(store, key, "", text, strlen(text), err);
    while (status == ZS_CONFLICT && zs_conflict_again(&tries)) {
        char *etag = NULL;
        const enum zs_status checked = check(store, key, overwrites, &etag, err);
        if (checked == ZS_OK)
            status = zs_store_put_over(store, key, etag, text, strlen(text), err);
        free(etag);
        ZS_TRY(checked);
    }
    return status;
}

enum zs_status zs_mark_put(struct zs_store *store, const char *key, bool overwrites, struct zs_error *err)
{
    struct maker us;
    char text[MOST_BYTES], token[TOKEN_DIGITS + 1];
    describe(&us);
    zs_random_digits(token, TOKEN_DIGITS); /* a PUT that is refused where its very bytes are counts as done */
    (void)snprintf(text, sizeof text, FORMAT, us.process, us.since, us.in, us.boot, us.host, us.at, token);
    const enum zs_status status = zs_store_has_conditions(store) ? put_on_condition(store, key, overwrites, text, err)
                                                                 : put_locked(store, key, overwrites, text, err);
    if (status == ZS_OK)
        (void)hold(store, key, HOLDS);
    return status;
}

enum zs_status zs_mark_remove(struct zs_store *store, const char *key, struct zs_error *err)
{
    struct maker us, maker;
    bool has_maker;
    char *etag = NULL;
    (void)hold(store, key, LEAVES); /* even where it cannot be removed: then it is nobody's */
    describe(&us);
    enum zs_status status = read_mark(store, key, &maker, &has_maker, &etag, err);
    free(etag);
    if (status == ZS_OK && has_maker && is_us(&maker, &us))
        status = zs_store_remove(store, key, err);
    return status == ZS_NOT_FOUND ? ZS_OK : status;
}

bool zs_is_mark(const char *key)
{
    const char *slash = strrchr(key, '/');
    return strcmp(slash != NULL ? slash + 1 : key, ZS_MARK_NAME) == 0;
}
