#define _GNU_SOURCE /* renameat2(), getentropy(), O_CLOEXEC, gethostname() */
#include "store/staging.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/map.h"

#define PREFIX ".shardedzarr-" /* of files */
#define TEMPORARY ".tmp"       /* being written, or being removed */
#define ASIDE ".old"           /* an older store, between two renames */
#define JOURNAL ".journal"
#define FILE_DIGITS 32      /* random hexadecimal digits in the name of a file */
#define DIRECTORY_DIGITS 16 /* ... of a directory */
#define ATTEMPTS 16

/* ---- Random names ---- */

static const char hex[] = "0123456789abcdef";

void zs_random_digits(char *digits, size_t n)
{
    static atomic_uint count;
    struct timespec now;
    uint64_t bytes[2] = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    const int64_t seed[] = {now.tv_sec, now.tv_nsec, getpid(), atomic_fetch_add(&count, 1)};
    (void)getentropy(bytes, sizeof bytes); /* a filter of system calls: then names are as good as the clock */
    bytes[0] ^= zs_hash(ZS_HASH, seed, sizeof seed);
    bytes[1] ^= zs_hash(bytes[0], seed, sizeof seed);
    for (size_t i = 0; i < n; i++)
        digits[i] = hex[bytes[i / 16] >> 4 * (i % 16) & 15];
    digits[n] = '\0';
}

/* Whether a text is n hexadecimal digits and TEMPORARY: the end of the name of an unfinished file or store. */
static bool is_ending(const char *text, size_t n)
{
    return strspn(text, hex) == n && strcmp(text + n, TEMPORARY) == 0;
}

/* ---- Files ---- */

static bool is_unfinished(const char *name)
{
    return strncmp(name, PREFIX, strlen(PREFIX)) == 0 && is_ending(name + strlen(PREFIX), FILE_DIGITS);
}

bool zs_is_temporary_name(const char *name)
{
    const size_t n = strlen(name);
    return is_unfinished(name) || (n > strlen(PREFIX JOURNAL) && strncmp(name, PREFIX, strlen(PREFIX)) == 0 &&
                                   strcmp(name + n - strlen(JOURNAL), JOURNAL) == 0);
}

char *zs_journal_key(const char *key)
{
    const char *slash = strrchr(key, '/');
    const int folder = slash != NULL ? (int)(slash + 1 - key) : 0;
    return zs_format("%.*s" PREFIX "%s" JOURNAL, folder, key, key + folder);
}

char *zs_temporary_path(const char *directory)
{
    char digits[FILE_DIGITS + 1];
    zs_random_digits(digits, FILE_DIGITS);
    const size_t n = strlen(directory);
    return zs_format("%s%s" PREFIX "%s" TEMPORARY, directory, n > 0 && directory[n - 1] == '/' ? "" : "/", digits);
}

/* Locks a file, or does nothing where there are no locks. False when another process took it for a dead file and
 * removed it. */
static bool lock(int fd)
{
    struct stat st;
    while (flock(fd, LOCK_EX) != 0)
        if (errno != EINTR)
            return true;
    return fstat(fd, &st) != 0 || st.st_nlink > 0;
}

enum zs_status zs_temporary_create(const char *directory, int *fd, char **path, struct zs_error *err)
{
    for (;;) {
        *path = zs_temporary_path(directory);
        ZS_TRY_MEMORY(*path, err);
        *fd = zs_open_file(*path, O_RDWR | O_CREAT | O_EXCL);
        if (*fd >= 0 && lock(*fd))
            return ZS_OK;
        const int code = errno;
        if (*fd >= 0)
            close(*fd);
        else if (code != EEXIST)
            zs_error_set(err, "%s: cannot be created: %s", *path, strerror(code));
        const bool failed = *fd < 0 && code != EEXIST;
        free(*path);
        *path = NULL;
        if (failed)
            return code == ENOENT ? ZS_NOT_FOUND : ZS_IO;
    }
}

static bool is_dead(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

void zs_temporary_clean(const char *directory)
{
    DIR *dir = opendir(directory);
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        if (!is_unfinished(entry->d_name)) /* a journal is of use to the next writer */
            continue;
        const int fd = openat(dirfd(dir), entry->d_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
            continue;
        /* Under its lock, which a living writer would hold. A renamed file no longer has this name. */
        if (is_dead(fd))
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
        close(fd);
    }
    if (dir != NULL)
        closedir(dir);
}

/* ---- Whole stores ---- */

static bool is_local(const char *path)
{
    return strncmp(path, "/vsi", 4) != 0;
}

/* Length of the directory of a path, with its slash; 0 when it has none. */
static size_t directory_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

/* A new random name beside `root`; NULL without memory. */
static char *name_beside(const char *root, const char *ending)
{
    char digits[DIRECTORY_DIGITS + 1];
    zs_random_digits(digits, DIRECTORY_DIGITS);
    const size_t n = directory_length(root);
    return zs_format("%.*s.%s.%s%s", (int)n, root, root + n, digits, ending);
}

/* Whether `entry` is a name that name_beside() gives for what is written beside a store called `name`. */
static bool is_leftover(const char *entry, const char *name)
{
    const size_t n = strlen(name);
    return entry[0] == '.' && strncmp(entry + 1, name, n) == 0 && entry[n + 1] == '.' &&
           is_ending(entry + n + 2, DIRECTORY_DIGITS);
}

bool zs_staging_is_path(const char *path)
{
    const char *entry = path + directory_length(path);
    const size_t n = strlen(entry), end = DIRECTORY_DIGITS + strlen(TEMPORARY);
    return entry[0] == '.' && n > end + 2 && entry[n - end - 1] == '.' &&
           is_ending(entry + n - end, DIRECTORY_DIGITS);
}

/* Follows `root` to the path that a rename must replace. NULL without memory, and for a link that leads nowhere
 * (errno). */
static char *resolve(const char *root)
{
    struct stat st;
    const char *name = root + directory_length(root);
    const bool is_dots = strcmp(name, ".") == 0 || strcmp(name, "..") == 0; /* which no rename replaces */
    if (is_local(root) && (is_dots || (lstat(root, &st) == 0 && S_ISLNK(st.st_mode))))
        return realpath(root, NULL);
    return zs_strdup(root);
}

/* ---- Directories ---- */

/* Locks a directory; -1 when it is gone, another process holds it, or that is unknown. */
static int lock_directory(const char *path)
{
    struct stat held, there;
    const int fd = zs_open_file(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &held) == 0 && stat(path, &there) == 0 &&
        held.st_ino == there.st_ino)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

/* Makes a directory beside the store, and locks it. Another process may take it for a leftover before it is locked, and
 * remove it: then this makes another. A file system without locks keeps its leftovers. */
static enum zs_status make_beside(struct zs_staging *staging, struct zs_error *err)
{
    int reason = EEXIST;
    for (int i = 0; i < ATTEMPTS && reason == EEXIST; i++) {
        struct stat st;
        char *path = name_beside(staging->root, TEMPORARY);
        ZS_TRY_MEMORY(path, err);
        reason = mkdir(path, 0777) == 0 ? 0 : errno;
        staging->lock = reason == 0 ? lock_directory(path) : -1;
        if (reason == 0 && (staging->lock >= 0 || stat(path, &st) == 0)) {
            staging->path = path;
            staging->is_beside = true;
            return ZS_OK;
        }
        free(path);
        reason = reason == 0 ? EEXIST : reason;
    }
    /* as in GDAL's other drivers no folder is made above it, since a name that is mistyped would make one */
    return zs_fail(err, reason == ENOENT ? ZS_NOT_FOUND : ZS_IO,
                   "%s: cannot be created: no directory can be made beside it: %s", staging->root, strerror(reason));
}

enum zs_status zs_staging_begin(const char *root, bool replaces, struct zs_staging *staging, struct zs_error *err)
{
    *staging = (struct zs_staging){.lock = -1};
    staging->root = resolve(root);
    if (staging->root == NULL)
        return zs_fail(err, ZS_IO, "%s: cannot be followed: %s", root, strerror(errno));
    if (is_local(staging->root))
        return make_beside(staging, err);
    staging->path = replaces ? name_beside(staging->root, TEMPORARY) : zs_strdup(staging->root);
    return staging->path != NULL ? ZS_OK : zs_fail_memory(err);
}

/* ---- Publishing ---- */

/* Renames thrice, where there is no exchange: at the end the older store has the name of the new one, as after an
 * exchange. A kill between the first two leaves both stores whole beside the path; the older one stays there until a
 * person renames or removes it. */
static int rename_both(const struct zs_staging *staging, char **older)
{
    char *aside = name_beside(staging->root, ASIDE);
    if (aside == NULL || rename(staging->root, aside) != 0) {
        free(aside);
        return -1;
    }
    if (rename(staging->path, staging->root) != 0) {
        const int reason = errno;
        (void)rename(aside, staging->root);
        free(aside);
        errno = reason;
        return -1;
    }
    char *left = zs_strdup(staging->path);
    const bool is_left = left != NULL && rename(aside, left) == 0;
    free(is_left ? aside : left);
    *older = is_left ? left : aside;
    return 0;
}

static int take_place(const struct zs_staging *staging, char **older)
{
    if (rename(staging->path, staging->root) == 0) /* onto an empty directory as well */
        return 0;
    if (errno != EEXIST && errno != ENOTEMPTY)
        return -1;
    *older = zs_strdup(staging->path);
    if (*older != NULL && renameat2(AT_FDCWD, staging->path, AT_FDCWD, staging->root, RENAME_EXCHANGE) == 0)
        return 0;
    free(*older);
    *older = NULL;
    return errno == EINVAL || errno == ENOSYS ? rename_both(staging, older) : -1;
}

enum zs_status zs_staging_publish(struct zs_staging *staging, bool sync, char **older, struct zs_error *err)
{
    *older = NULL;
    if (!staging->is_beside)
        return ZS_OK;
    if (take_place(staging, older) != 0)
        return zs_fail(err, ZS_IO, "%s: cannot be put in place: %s", staging->root, strerror(errno));
    if (sync)
        (void)zs_entry_sync(staging->root, NULL); /* as far as that is possible */
    staging->is_beside = false;
    return ZS_OK;
}

void zs_staging_end(struct zs_staging *staging)
{
    if (staging->lock >= 0)
        (void)close(staging->lock);
    free(staging->root);
    free(staging->path);
    *staging = (struct zs_staging){.lock = -1};
}

char *zs_staging_set_aside(const char *root)
{
    char *path = is_local(root) ? name_beside(root, TEMPORARY) : NULL;
    if (path != NULL && rename(root, path) == 0)
        return path;
    free(path);
    return NULL;
}

/* ---- Leftovers ---- */

char **zs_staging_leftovers(const char *root)
{
    char *resolved = is_local(root) ? resolve(root) : NULL;
    const size_t n = resolved != NULL ? directory_length(resolved) : 0;
    char *parent = resolved == NULL ? NULL : n > 0 ? zs_strndup(resolved, n) : zs_strdup(".");
    DIR *d = parent != NULL ? opendir(parent) : NULL;
    struct zs_names paths = {0};
    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        if (!is_leftover(e->d_name, resolved + n))
            continue;
        char *path = zs_format("%.*s%s", (int)n, resolved, e->d_name);
        const int lock = path != NULL ? lock_directory(path) : -1;
        if (lock >= 0) {
            (void)close(lock);
            (void)zs_names_add(&paths, path, NULL); /* without memory it is left to the next writer */
        } else {
            free(path);
        }
    }
    if (d != NULL)
        (void)closedir(d);
    free(parent);
    free(resolved);
    return paths.list;
}

/* ---- The mark of a maker ---- */

#define MOST_BYTES 1024
#define TOKEN_DIGITS 16
#define WORD 64 /* bytes of a word in a mark, and a zero */
#define FIRST_LINE "A raster is being written here, or was when its writer was killed.\n"
#define FORMAT FIRST_LINE "process %ld since %s on %s at %s\n%s\n"
#define PARSED FIRST_LINE "process %ld since %63s on %255s at %63s"

static atomic_size_t marks; /* that this process has put, for stores that it is making */

/* The maker of a mark. */
struct maker {
    long process;
    char since[WORD];       /* when that began, after the boot: a number is given to many processes */
    char machine[4 * WORD]; /* "host/boot/namespace of processes"; "host" where that is not known */
    char at[WORD];          /* when the mark was put, by the maker's clock: for messages alone */
};

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

static struct maker this_process(void)
{
    struct maker us = {.process = (long)getpid(), .since = "-", .at = "-"};
    char host[WORD] = "-", boot[WORD] = "", in[WORD] = "";
    (void)gethostname(host, sizeof host - 1);
    host[strcspn(host, " \t\n/")] = '\0';
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    const bool has_boot = file != NULL && fscanf(file, "%63s", boot) == 1;
    if (file != NULL)
        (void)fclose(file);
    const bool is_known = read_since(us.process, us.since) && has_boot &&
                          readlink("/proc/self/ns/pid", in, sizeof in - 1) > 0;
    if (is_known)
        (void)snprintf(us.machine, sizeof us.machine, "%s/%s/%s", host, boot, in);
    else
        (void)snprintf(us.machine, sizeof us.machine, "%s", host);
    struct tm t;
    const time_t now = time(NULL);
    if (gmtime_r(&now, &t) != NULL)
        (void)strftime(us.at, sizeof us.at, "%Y-%m-%dT%H:%M:%SZ", &t);
    return us;
}

static bool parse(const struct zs_buffer *text, struct maker *maker)
{
    char copy[MOST_BYTES + 1];
    const size_t n = text->size < MOST_BYTES ? text->size : MOST_BYTES;
    memcpy(copy, text->data, n);
    copy[n] = '\0';
    *maker = (struct maker){.process = 0};
    return sscanf(copy, PARSED, &maker->process, maker->since, maker->machine, maker->at) == 4;
}

/* Whether this machine sees the processes of the maker. */
static bool is_here(const struct maker *maker, const struct maker *us)
{
    return strchr(us->machine, '/') != NULL && strcmp(maker->machine, us->machine) == 0;
}

/* Reads the mark. ZS_CONFLICT where another object has its name. */
static enum zs_status read_mark(struct zs_store *store, struct maker *maker, char **etag, struct zs_error *err)
{
    struct zs_buffer text = {0};
    zs_store_forget(store, ZS_MARK_NAME);
    enum zs_status status = zs_store_get_tagged(store, ZS_MARK_NAME, MOST_BYTES, &text, etag, err);
    if (status == ZS_OK && !parse(&text, maker))
        status = zs_fail(err, ZS_CONFLICT, "%s/" ZS_MARK_NAME ": expected an object that this driver has put there",
                         store->root);
    zs_buffer_free(&text);
    return status;
}

/* Like zs_mark_check(). *etag is the version of the mark that may be replaced, "" where there is none, for the caller
 * to free. */
static enum zs_status check(struct zs_store *store, bool overwrites, char **etag, struct zs_error *err)
{
    const struct maker us = this_process();
    struct maker maker;
    char since[WORD] = "";
    const enum zs_status status = read_mark(store, &maker, etag, err);
    if (status != ZS_OK)
        return status == ZS_NOT_FOUND ? ZS_OK : status;
    const bool is_seen = is_here(&maker, &us);
    const bool is_left = maker.process == us.process && atomic_load(&marks) == 0; /* it could not be removed */
    const bool lives = is_seen && !is_left && read_since(maker.process, since) && strcmp(since, maker.since) == 0;
    if (!lives && (is_seen || overwrites))
        return ZS_OK;
    return zs_fail(err, ZS_CONFLICT,
                   "%s/" ZS_MARK_NAME ": process %ld on %.*s is making what shall be there, since %s%s",
                   store->root, maker.process, (int)strcspn(maker.machine, "/"), maker.machine, maker.at,
                   lives ? "" : "; if it was killed, a new store with OVERWRITE=YES takes the place of what it left");
}

enum zs_status zs_mark_check(struct zs_store *store, bool overwrites, struct zs_error *err)
{
    char *etag = NULL;
    const enum zs_status status = check(store, overwrites, &etag, err);
    free(etag);
    return status;
}

enum zs_status zs_mark_put(struct zs_store *store, bool overwrites, bool *was_left, struct zs_error *err)
{
    const struct maker us = this_process();
    char text[MOST_BYTES], token[TOKEN_DIGITS + 1];
    int tries = 0;
    *was_left = false;
    zs_random_digits(token, TOKEN_DIGITS); /* a PUT that is refused where its very bytes are counts as done */
    (void)snprintf(text, sizeof text, FORMAT, us.process, us.since, us.machine, us.at, token);
    enum zs_status status = zs_store_put_over(store, ZS_MARK_NAME, "", text, strlen(text), err);
    while (status == ZS_CONFLICT && zs_conflict_again(&tries)) {
        char *etag = NULL;
        const enum zs_status checked = check(store, overwrites, &etag, err);
        if (checked == ZS_OK)
            status = zs_store_put_over(store, ZS_MARK_NAME, etag, text, strlen(text), err);
        *was_left = checked == ZS_OK && etag != NULL && etag[0] != '\0';
        free(etag);
        ZS_TRY(checked);
    }
    if (status == ZS_OK)
        (void)atomic_fetch_add(&marks, 1);
    return status;
}

enum zs_status zs_mark_remove(struct zs_store *store, struct zs_error *err)
{
    const struct maker us = this_process();
    struct maker maker;
    char *etag = NULL;
    zs_mark_leave();
    enum zs_status status = read_mark(store, &maker, &etag, err);
    free(etag);
    if (status == ZS_OK && is_here(&maker, &us) && maker.process == us.process &&
        strcmp(maker.since, us.since) == 0)
        status = zs_store_remove(store, ZS_MARK_NAME, err);
    return status == ZS_NOT_FOUND ? ZS_OK : status;
}

void zs_mark_leave(void)
{
    (void)atomic_fetch_sub(&marks, 1);
}
