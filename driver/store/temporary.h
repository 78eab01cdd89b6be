/* store/temporary.h: files of this driver that are not finished: named by chance, and locked for as long as their
 * writer lives. So two writers never share one, whatever machines or containers they run in, and what a killed one left
 * is told from what is being written. Paths are of the operating system. */
#ifndef ZS_STORE_TEMPORARY_H
#define ZS_STORE_TEMPORARY_H

#include "store/store.h"

/* A path in `directory` that nothing has yet; zs_is_temporary_name() knows its last part. NULL without memory or
 * randomness; freed with free(). */
char *zs_temporary_path(const char *directory);

/* Makes and locks such a file, open for reading and writing; closing the descriptor releases the lock. *path is freed
 * with free(). ZS_NOT_FOUND when there is no such directory. */
enum zs_status zs_temporary_create(const char *directory, int *fd, char **path, struct zs_error *err) ZS_MUST_CHECK;

/* Removes those in `directory` whose writer is gone: nobody holds their lock or, where files cannot be locked, nobody
 * has written to them for a day. What cannot be removed stays. */
void zs_temporary_clean(const char *directory);

#endif
