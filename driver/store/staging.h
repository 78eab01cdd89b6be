/* store/staging.h: where files and whole stores are written before they are published, under names that distinguish
 * them from what is finished.
 *
 * A file has a random name and is locked for as long as its writer lives. So two writers never share one, whatever
 * machines or containers they run in, and a killed writer's files are distinguished from those being written.
 *
 * A new store on a local disk is written to a hidden directory beside its path, ".NAME.<16 digits>.tmp", locked by its
 * maker for as long as it lives. A rename moves it to its path; where another store is there, the two are exchanged. So
 * at every moment the path holds the old store or the new one, whole. Elsewhere, in memory too, a store is written in
 * place, and one that replaces another under such a hidden name. */
#pragma once

#include <stdbool.h>

#include "store/store.h"

/* ---- Files; paths are of the operating system (zs_is_temporary_name() and zs_journal_key() are in store.h) ---- */

/* Writes n random hexadecimal digits, 32 at most, and a zero. */
void zs_random_digits(char *digits, size_t n);
/* A new random path in `directory`; zs_is_temporary_name() knows its name. NULL without memory; freed with free(). */
char *zs_temporary_path(const char *directory);

/* Makes and locks such a file, open for reading and writing; closing the descriptor releases the lock. *path is freed
 * with free(). ZS_NOT_FOUND when there is no such directory. */
enum zs_status zs_temporary_create(const char *directory, int *fd, char **path, struct zs_error *err);

/* Removes the files in `directory` whose writer is gone: their lock is free. Files that cannot be removed, and those on
 * file systems without locks, stay. */
void zs_temporary_clean(const char *directory);

/* ---- Whole stores ---- */

struct zs_staging {
    char *root;     /* the final path, with a symbolic link at its end followed */
    char *path;     /* where to write: beside it, or the same */
    bool is_beside;
    int lock;       /* of the directory at `path`; -1 where there is none */
};

/* Makes the directory beside. ZS_NOT_FOUND where the directory above a local path is not there. `replaces`: something
 * is at `root`. Release with zs_staging_end(), also on failure. */
enum zs_status zs_staging_begin(const char *root, bool replaces, struct zs_staging *staging, struct zs_error *err);

/* Moves the store at `path` to its final path, and flushes the rename to the disk if `sync`. *older, freed with free(),
 * is the path to which the older store was moved, for the caller to remove; NULL when there was none, or an empty
 * directory. On failure the older store is where it was. */
enum zs_status zs_staging_publish(struct zs_staging *staging, bool sync, char **older, struct zs_error *err);

/* Releases the lock. The caller removes a store that was not published before. */
void zs_staging_end(struct zs_staging *staging);

/* Whether a path has the name of such a directory: its maker holds its lock, and no other process reads it. */
bool zs_staging_is_path(const char *path);

/* Finds what dead writers left unfinished beside a store: NULL-terminated paths, freed with zs_names_free(); NULL when
 * there are none. An older store that one had moved away (".NAME.<16 digits>.old") is not among them. */
char **zs_staging_leftovers(const char *root);

/* Moves a store that is to be removed out of sight, at once and whole: to the returned path beside it, freed with
 * free(). NULL where that is impossible. */
char *zs_staging_set_aside(const char *root);

/* ---- Who makes a store on an object store ----
 *
 * An object ".unfinished" is in its root from before the first chunk until all is there. One maker puts it, on the
 * condition that nothing is there: `store` has conditions. It names the maker's machine and process, and when.
 * The mark of a process that this machine sees to be gone is replaced; that of another machine's is where the user says
 * so. */

#define ZS_MARK_NAME ".unfinished"

/* Puts the mark. *was_left: that of a maker who is gone was there. ZS_CONFLICT where zs_mark_check() finds one. */
enum zs_status zs_mark_put(struct zs_store *store, bool overwrites, bool *was_left, struct zs_error *err);
/* ZS_CONFLICT where a mark is there whose maker lives or, unless `overwrites`, may live: the message names it. Likewise
 * where another object has its name. */
enum zs_status zs_mark_check(struct zs_store *store, bool overwrites, struct zs_error *err);
/* Removes the mark, which this process put, unless another maker's is there by now. */
enum zs_status zs_mark_remove(struct zs_store *store, struct zs_error *err);
/* In place of removing the mark: it stays, for the next maker to remove what is there. */
void zs_mark_leave(void);
