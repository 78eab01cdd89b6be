#define _GNU_SOURCE /* renameat2() */
#include "store/staging.h"

#include <cpl_vsi.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/files.h"
#include "base/memory.h"

#define TEMPORARY ".tmp" /* being written, or being removed */
#define ASIDE ".old"     /* an older store, between two renames */
#define CHANCE_LENGTH 16 /* hexadecimal digits of a name */
#define ATTEMPTS 16
#define DEAD_AFTER (24 * 3600) /* seconds without an upload */

static bool is_local(const char *path)
{
    return strncmp(path, "/vsi", 4) != 0;
}

static bool has_rename(const char *path)
{
    return is_local(path) || strncmp(path, "/vsimem/", 8) == 0;
}

static bool exists(const char *path)
{
    VSIStatBufL st;
    return VSIStatExL(path, &st, VSI_STAT_EXISTS_FLAG) == 0;
}

/* ---- Names ---- */

/* Length of the directory of a path, with its slash; 0 when it has none. */
static size_t directory_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

/* A name beside `root` that nobody else comes upon; NULL without memory or chance. */
static char *name_beside(const char *root, const char *ending)
{
    uint64_t chance;
    if (getrandom(&chance, sizeof chance, 0) != (ssize_t)sizeof chance)
        return NULL;
    const size_t n = directory_length(root);
    return zs_format("%.*s.%s.%016llx%s", (int)n, root, root + n, (unsigned long long)chance, ending);
}

/* Whether `entry` is a name that name_beside() gives for a place called `name`. */
static bool is_beside(const char *entry, const char *name, const char *ending)
{
    const size_t n = strlen(name);
    if (entry[0] != '.' || strncmp(entry + 1, name, n) != 0 || entry[n + 1] != '.')
        return false;
    const char *chance = entry + n + 2;
    return strspn(chance, "0123456789abcdef") == CHANCE_LENGTH && strcmp(chance + CHANCE_LENGTH, ending) == 0;
}

bool zs_staging_is_path(const char *path)
{
    const char *entry = path + directory_length(path);
    const size_t n = strlen(entry), chance = CHANCE_LENGTH + strlen(TEMPORARY);
    return entry[0] == '.' && n > chance + 2 && entry[n - chance - 1] == '.' &&
           strspn(entry + n - chance, "0123456789abcdef") == CHANCE_LENGTH &&
           strcmp(entry + n - strlen(TEMPORARY), TEMPORARY) == 0;
}

/* The path at which a rename changes what `root` stands for. NULL without memory, and for a link that leads nowhere
 * (errno). */
static char *resolve(const char *root)
{
    struct stat st;
    const char *name = root + directory_length(root);
    const bool is_dots = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
    if (is_local(root) && (is_dots || (lstat(root, &st) == 0 && S_ISLNK(st.st_mode))))
        return realpath(root, NULL);
    return zs_strdup(root);
}

/* ---- Directories ---- */

/* Makes the directories above `path`, and counts those that were not there. */
static enum zs_status make_parents(const char *path, int *made, struct zs_error *err)
{
    const size_t n = directory_length(path);
    if (n <= 1)
        return ZS_OK;
    char *parent = zs_strndup(path, n - 1);
    if (parent == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a path");
    enum zs_status status = ZS_OK;
    if (!exists(parent)) {
        status = make_parents(parent, made, err);
        if (status == ZS_OK && VSIMkdir(parent, 0755) == 0)
            ++*made;
        else if (status == ZS_OK && !exists(parent))
            status = zs_fail(err, ZS_IO, "%s: cannot be created: %s", parent, strerror(errno));
    }
    free(parent);
    return status;
}

/* Whether `path` is a directory with nothing in it. */
static bool is_empty_directory(const char *path)
{
    VSIStatBufL st;
    VSIDIR *d = VSIStatL(path, &st) == 0 && VSI_ISDIR(st.st_mode) ? VSIOpenDir(path, 0, NULL) : NULL;
    const bool is_empty = d != NULL && VSIGetNextDirEntry(d) == NULL;
    if (d != NULL)
        VSICloseDir(d);
    return is_empty;
}

/* Locks a directory; -1 when it is gone, another process holds it, or cannot tell. */
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

/* A new directory beside the place, locked where it is local. Who looks for leftovers may take it for one before it is
 * locked, and remove it: then another is made. A file system without locks keeps its leftovers. */
static enum zs_status make_beside(struct zs_staging *s, struct zs_error *err)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        char *path = name_beside(s->root, TEMPORARY);
        if (path == NULL)
            return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a path");
        errno = 0;
        if (VSIMkdir(path, 0755) == 0) {
            s->lock = is_local(path) ? lock_directory(path) : -1;
            if (s->lock >= 0 || exists(path)) {
                s->path = path;
                s->is_beside = true;
                return ZS_OK;
            }
            errno = EEXIST;
        }
        const int reason = errno;
        free(path);
        if (reason != EEXIST)
            return zs_fail(err, ZS_IO, "%s: cannot be created: no directory can be made beside it: %s", s->root,
                           strerror(reason));
    }
    return zs_fail(err, ZS_IO, "%s: cannot be created: all names beside it are taken", s->root);
}

/* Whether this process works in that directory: another that takes its place would not be where the process is. */
static bool is_current_directory(const char *path)
{
    struct stat here, there;
    return is_local(path) && stat(".", &here) == 0 && stat(path, &there) == 0 && here.st_dev == there.st_dev &&
           here.st_ino == there.st_ino;
}

enum zs_status zs_staging_begin(const char *root, bool replaces, struct zs_staging *s, struct zs_error *err)
{
    *s = (struct zs_staging){.lock = -1};
    s->root = resolve(root);
    if (s->root == NULL)
        return zs_fail(err, ZS_IO, "%s: cannot be followed: %s", root, strerror(errno));
    if (has_rename(s->root) && !(is_current_directory(s->root) && is_empty_directory(s->root))) {
        ZS_TRY(make_parents(s->root, &s->made, err));
        struct stat st;
        const bool is_there = is_local(s->root) && stat(s->root, &st) == 0;
        const enum zs_status status = make_beside(s, err);
        if (status == ZS_OK) {
            if (is_there)
                (void)chmod(s->path, st.st_mode & 07777);
            return ZS_OK;
        }
        /* An empty directory in one that nobody may write to: nothing is lost there. */
        if (status != ZS_IO || !is_there || !is_empty_directory(s->root))
            return status;
    }
    s->path = replaces && !has_rename(s->root) ? name_beside(s->root, TEMPORARY) : zs_strdup(s->root);
    return s->path != NULL ? ZS_OK : zs_fail(err, ZS_NO_MEMORY, "cannot allocate a path");
}

/* ---- Taking the place ---- */

/* Two renames, where there is no exchange. Who is killed between them leaves both stores whole: see
 * zs_staging_leftovers(). */
static int rename_both(const struct zs_staging *s, char **older)
{
    char *aside = name_beside(s->root, ASIDE);
    if (aside == NULL || VSIRename(s->root, aside) != 0) {
        free(aside);
        return -1;
    }
    if (VSIRename(s->path, s->root) != 0) {
        const int reason = errno;
        (void)VSIRename(aside, s->root);
        free(aside);
        errno = reason;
        return -1;
    }
    *older = aside;
    return 0;
}

static int take_local(const struct zs_staging *s, char **older)
{
    if (rename(s->path, s->root) == 0) /* onto an empty directory as well */
        return 0;
    if (errno != EEXIST && errno != ENOTEMPTY)
        return -1;
    *older = zs_strdup(s->path);
    if (*older != NULL && renameat2(AT_FDCWD, s->path, AT_FDCWD, s->root, RENAME_EXCHANGE) == 0)
        return 0;
    free(*older);
    *older = NULL;
    return errno == EINVAL || errno == ENOSYS ? rename_both(s, older) : -1;
}

static int take_in_memory(const struct zs_staging *s, char **older)
{
    if (is_empty_directory(s->root)) /* /vsimem/ removes others too */
        (void)VSIRmdir(s->root);
    return exists(s->root) ? rename_both(s, older) : VSIRename(s->path, s->root);
}

/* The rename itself on the disk, as far as that is possible. */
static void sync_parent(const char *path)
{
    const size_t n = directory_length(path);
    char *parent = n > 0 ? zs_strndup(path, n) : zs_strdup(".");
    const int fd = parent != NULL ? zs_open_file(parent, O_RDONLY | O_DIRECTORY) : -1;
    if (fd >= 0) {
        (void)fsync(fd);
        (void)close(fd);
    }
    free(parent);
}

enum zs_status zs_staging_publish(struct zs_staging *s, bool sync, char **older, struct zs_error *err)
{
    *older = NULL;
    if (!s->is_beside) {
        s->made = 0;
        return ZS_OK;
    }
    errno = 0;
    if ((is_local(s->root) ? take_local(s, older) : take_in_memory(s, older)) != 0)
        return zs_fail(err, ZS_IO, "%s: cannot be put in place: %s", s->root,
                       errno != 0 ? strerror(errno) : "no reason given");
    if (sync && is_local(s->root))
        sync_parent(s->root);
    s->is_beside = false;
    s->made = 0;
    return ZS_OK;
}

void zs_staging_end(struct zs_staging *s)
{
    if (s->lock >= 0)
        (void)close(s->lock);
    for (size_t n; s->made > 0 && (n = directory_length(s->root)) > 1; s->made--) {
        s->root[n - 1] = '\0';
        if (!is_empty_directory(s->root) || VSIRmdir(s->root) != 0)
            break;
    }
    free(s->root);
    free(s->path);
    *s = (struct zs_staging){.lock = -1};
}

char *zs_staging_set_aside(const char *root)
{
    char *path = has_rename(root) ? name_beside(root, TEMPORARY) : NULL;
    if (path != NULL && VSIRename(root, path) == 0)
        return path;
    free(path);
    return NULL;
}

/* ---- Leftovers ---- */

struct leftovers {
    const char *root;
    char **paths;
    size_t count;
    bool has_writer; /* one that lives */
};

static void append(struct leftovers *l, char *path)
{
    char **grown = path != NULL ? realloc(l->paths, (l->count + 2) * sizeof *grown) : NULL;
    if (grown == NULL) {
        free(path);
        return;
    }
    l->paths = grown;
    l->paths[l->count++] = path;
    l->paths[l->count] = NULL;
}

/* Notes the entry if it is one that nobody holds. */
static void note(struct leftovers *l, const char *entry)
{
    const size_t n = directory_length(l->root);
    const bool is_aside = is_beside(entry, l->root + n, ASIDE);
    if (!is_aside && !is_beside(entry, l->root + n, TEMPORARY))
        return;
    char *path = zs_format("%.*s%s", (int)n, l->root, entry);
    const int lock = path != NULL ? lock_directory(path) : -1;
    l->has_writer |= lock < 0;
    if (lock < 0) {
        free(path);
        return;
    }
    (void)close(lock);
    append(l, path);
}

/* Puts an older store back that lost its place to nobody. */
static void put_back(struct leftovers *l)
{
    for (size_t i = 0; i < l->count && !exists(l->root); i++) {
        const size_t n = strlen(l->paths[i]);
        if (strcmp(l->paths[i] + n - strlen(ASIDE), ASIDE) != 0 || rename(l->paths[i], l->root) != 0)
            continue;
        free(l->paths[i]);
        l->paths[i] = l->paths[--l->count];
        l->paths[l->count] = NULL;
    }
}

char **zs_staging_leftovers(const char *root)
{
    char *place = is_local(root) ? resolve(root) : NULL;
    const size_t n = place != NULL ? directory_length(place) : 0;
    char *parent = place == NULL ? NULL : n > 0 ? zs_strndup(place, n) : zs_strdup(".");
    DIR *d = parent != NULL ? opendir(parent) : NULL;
    struct leftovers l = {.root = place};
    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        if (e->d_name[0] == '.')
            note(&l, e->d_name);
    if (d != NULL)
        (void)closedir(d);
    if (!l.has_writer)
        put_back(&l);
    free(parent);
    free(place);
    return l.paths;
}

/* Whether there are objects below the prefix, and the youngest is that old. */
static bool is_old(const char *prefix)
{
    const time_t now = time(NULL);
    VSIDIR *d = VSIOpenDir(prefix, -1, NULL);
    size_t count = 0;
    bool result = d != NULL;
    for (const VSIDIREntry *e; result && (e = VSIGetNextDirEntry(d)) != NULL;)
        if (!e->bModeKnown || !VSI_ISDIR(e->nMode)) {
            result = e->bMTimeKnown && now - (time_t)e->nMTime > DEAD_AFTER;
            count++;
        }
    if (d != NULL)
        VSICloseDir(d);
    return result && count > 0;
}

char **zs_staging_old_prefixes(const char *root)
{
    const size_t n = directory_length(root);
    char *parent = n > 0 ? zs_strndup(root, n - 1) : NULL, *prefix = zs_format("PREFIX=.%s.", root + n);
    const char *const options[] = {prefix, NULL};
    VSIDIR *d = parent != NULL && prefix != NULL ? VSIOpenDir(parent, 0, options) : NULL;
    struct leftovers l = {.root = root};
    for (const VSIDIREntry *e; d != NULL && (e = VSIGetNextDirEntry(d)) != NULL;) {
        char *name = zs_strndup(e->pszName, strcspn(e->pszName, "/"));
        char *path = name != NULL && is_beside(name, root + n, TEMPORARY) ? zs_format("%s/%s", parent, name) : NULL;
        if (path != NULL && is_old(path))
            append(&l, path);
        else
            free(path);
        free(name);
    }
    if (d != NULL)
        VSICloseDir(d);
    free(parent);
    free(prefix);
    return l.paths;
}
