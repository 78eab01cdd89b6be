/* store/staging.h: where files and whole stores are written before they take their place, under names that tell them
 * from what is finished.
 *
 * A file has a random name and is locked for as long as its writer lives. So two writers never share one, whatever
 * machines or containers they run in, and what a killed writer left is told from what is being written.
 *
 * A new store, on file systems that rename (local ones and /vsimem/), is written to a hidden directory beside its path,
 * ".NAME.<16 digits>.tmp", locked by its maker for as long as it lives. A rename moves it to its path; where another
 * store is there, the two are exchanged. So at every moment the path holds the old store or the new one, whole.
 * Elsewhere a store is written in place, and one that replaces another under such a hidden name. */
#ifndef ZS_STORE_STAGING_H
#define ZS_STORE_STAGING_H

#include <stdbool.h>

#include "store/store.h"

/* ---- Files; paths are of the operating system (zs_is_temporary_name() and zs_journal_key() are in store.h) ---- */

/* A path in `directory` that nothing has yet; zs_is_temporary_name() knows its last part. NULL without memory or
 * randomness; freed with free(). */
char *zs_temporary_path(const char *directory);

/* Makes and locks such a file, open for reading and writing; closing the descriptor releases the lock. *path is freed
 * with free(). ZS_NOT_FOUND when there is no such directory. */
enum zs_status zs_temporary_create(const char *directory, int *fd, char **path, struct zs_error *err) ZS_MUST_CHECK;

/* Removes those in `directory` whose writer is gone: nobody holds their lock or, where files cannot be locked, nobody
 * has written to them for a day. What cannot be removed stays. */
void zs_temporary_clean(const char *directory);

/* ---- Whole stores ---- */

struct zs_staging {
    char *root;     /* the place, with a symbolic link at its end followed */
    char *path;     /* where to write: beside it, or the same */
    bool is_beside;
    int lock;       /* of the directory at `path`; -1 where there is none */
    int made;       /* directories above the place that were not there */
};

/* Makes the directory, and those above it. `replaces` says that something is at `root`. Released with zs_staging_end(),
 * also on failure. */
enum zs_status zs_staging_begin(const char *root, bool replaces, struct zs_staging *s,
                                struct zs_error *err) ZS_MUST_CHECK;

/* Puts what is at `path` at the place, and the rename on the disk if `sync`. *older, freed with free(), says where that
 * is now which was there: to be removed by the caller. NULL when nothing was, or an empty directory. On failure what
 * was there is there. */
enum zs_status zs_staging_publish(struct zs_staging *s, bool sync, char **older, struct zs_error *err) ZS_MUST_CHECK;

/* Gives up the lock. What was not put in place must be gone by now: so go the directories that were made for it. */
void zs_staging_end(struct zs_staging *s);

/* Whether a path is called as such a directory is: its maker holds its lock, and nobody else looks at it. */
bool zs_staging_is_path(const char *path);

/* What writers that are gone left beside a place: NULL-terminated paths, freed with zs_names_free(); NULL when there is
 * nothing. An older store that one of them had taken away, and not yet replaced, is put back. */
char **zs_staging_leftovers(const char *root);

/* The same on a store of objects, where nothing tells whether a writer lives: of those beside the place whatever has
 * had nothing written to it for a day. One that was killed while it took the place may have left all that there is:
 * remove them when another has taken it. */
char **zs_staging_old_prefixes(const char *root);

/* Where a store that is to go gets out of sight, at once and whole: a path beside it, freed with free(). NULL where
 * that cannot be. */
char *zs_staging_set_aside(const char *root);

#endif
