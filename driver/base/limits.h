/* base/limits.h: what all of this process may take at most, however many stores, datasets and arrays are open, and what
 * happens beyond. Limits of one array, one document or one request stand where they are held. */
#ifndef ZS_BASE_LIMITS_H
#define ZS_BASE_LIMITS_H

/* Memory: bytes of decoded chunks, indexes and what was written and not published, until zs_budget_set() (cache.h).
 * Beyond, what was not used longest goes from the caches, and chunks that were written go to their shards. */
#define ZS_USUAL_BUDGET_BYTES ((uint64_t)64 << 20)

/* Threads of the pool (parallel.h). They wait for network replies as well as decode, so more of them than processors is
 * normal; beyond this a loop gets fewer helpers. */
#define ZS_MOST_POOL_THREADS 128

/* Files (descriptors.h): one in so many of the descriptors that the process may have (RLIMIT_NOFILE) is for us, others
 * are GDAL's, PROJ's and the program's. Beyond, files that nobody reads just now are closed, and opened again when they
 * are. Half of them may be of shards that are being written; beyond, shards are published before they are complete. */
#define ZS_SHARE_OF_FILES 2
/* ... and no more than so many where there is no such limit. */
#define ZS_MOST_FILES 8192

/* Requests under way at once, of an array to a remote store: beyond some ten, servers and links gain nothing more, but
 * some answer late. */
#define ZS_MOST_FETCHES 32
/* Objects on their way to a remote store at once, of an array. */
#define ZS_MOST_UPLOADS 16

#endif
