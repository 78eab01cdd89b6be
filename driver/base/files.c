#define _GNU_SOURCE /* O_CLOEXEC */
#include "base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/limits.h"

static struct {
    pthread_mutex_t lock; /* of the list of those that are open, and of opening and closing them */
    struct zs_idle_file *newest, *oldest;
    int open;
    atomic_int taken;
} files = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The limit may be changed while the process runs. */
static int most_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur / ZS_SHARE_OF_FILES > ZS_MOST_FILES)
        return ZS_MOST_FILES;
    return (int)(limit.rlim_cur / ZS_SHARE_OF_FILES);
}

/* ---- The list, under its lock ---- */

static void list_remove(struct zs_idle_file *f)
{
    *(f->newer != NULL ? &f->newer->older : &files.newest) = f->older;
    *(f->older != NULL ? &f->older->newer : &files.oldest) = f->newer;
    f->newer = f->older = NULL;
    files.open--;
}

static void list_push(struct zs_idle_file *f)
{
    f->older = files.newest;
    f->newer = NULL;
    *(files.newest != NULL ? &files.newest->newer : &files.oldest) = f;
    files.newest = f;
    files.open++;
}

/* Closes those that were opened longest ago, and are not read, until `most` are open. */
static bool close_down_to(int most)
{
    bool has_closed = false;
    for (struct zs_idle_file *f = files.oldest, *next; f != NULL && files.open > most; f = next) {
        int nobody = 0;
        next = f->newer;
        if (!atomic_compare_exchange_strong(&f->pins, &nobody, -1))
            continue;
        list_remove(f);
        (void)close(f->fd);
        f->fd = -1;
        has_closed = true;
    }
    return has_closed;
}

static bool close_idle(void)
{
    (void)pthread_mutex_lock(&files.lock);
    const bool has_closed = close_down_to(0);
    (void)pthread_mutex_unlock(&files.lock);
    return has_closed;
}

/* ---- Opening ---- */

bool zs_means_too_many_files(int code)
{
    return code == EMFILE || code == ENFILE;
}

int zs_create_file(const char *path, int flags, unsigned rights)
{
    int fd;
    do
        fd = open(path, flags | O_CLOEXEC, (mode_t)rights);
    while (fd < 0 && (errno == EINTR || (zs_means_too_many_files(errno) && close_idle())));
    return fd;
}

DIR *zs_open_directory(const char *path)
{
    DIR *dir;
    do
        dir = opendir(path);
    while (dir == NULL && zs_means_too_many_files(errno) && close_idle());
    return dir;
}

int zs_open_file(const char *path, int flags)
{
    return zs_create_file(path, flags, 0);
}

/* ---- Idle files ---- */

void zs_idle_file_init(struct zs_idle_file *f)
{
    *f = (struct zs_idle_file){.fd = -1};
    atomic_init(&f->pins, -1);
}

int zs_idle_file_acquire(struct zs_idle_file *f)
{
    int pins = atomic_load(&f->pins);
    while (pins >= 0)
        if (atomic_compare_exchange_weak(&f->pins, &pins, pins + 1))
            return f->fd;
    return -1;
}

int zs_idle_file_opened(struct zs_idle_file *f, int fd)
{
    (void)pthread_mutex_lock(&files.lock);
    const int theirs = zs_idle_file_acquire(f); /* nobody closes it under the lock */
    if (theirs >= 0) {
        (void)close(fd);
    } else {
        f->fd = fd;
        atomic_store(&f->pins, 1);
        list_push(f);
        (void)close_down_to(most_files() - atomic_load(&files.taken));
    }
    (void)pthread_mutex_unlock(&files.lock);
    return theirs >= 0 ? theirs : fd;
}

void zs_idle_file_release(struct zs_idle_file *f)
{
    (void)atomic_fetch_sub(&f->pins, 1);
}

void zs_idle_file_close(struct zs_idle_file *f)
{
    (void)pthread_mutex_lock(&files.lock);
    if (f->fd >= 0) {
        list_remove(f);
        (void)close(f->fd);
        f->fd = -1;
        atomic_store(&f->pins, -1);
    }
    (void)pthread_mutex_unlock(&files.lock);
}

/* ---- Others ---- */

void zs_files_take(int n)
{
    (void)pthread_mutex_lock(&files.lock);
    const int taken = atomic_fetch_add(&files.taken, n) + n;
    (void)close_down_to(most_files() - taken);
    (void)pthread_mutex_unlock(&files.lock);
}

void zs_files_give(int n)
{
    (void)atomic_fetch_sub(&files.taken, n);
}

bool zs_files_are_scarce(void)
{
    return atomic_load(&files.taken) > most_files() / 2;
}
