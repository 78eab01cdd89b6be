/* base/limits.h: limits of the process, for all its stores, datasets and arrays together, and what happens beyond them.
 * Limits of one array, one document or one request stand where they are checked. */
#pragma once

/* Memory: bytes of decoded chunks, indexes and pending writes, until zs_budget_set() (cache.h). Beyond, the least
 * recently used values leave the caches, and pending chunks are written to their shards. */
#define ZS_USUAL_BUDGET_BYTES ((uint64_t)64 << 20)

/* Threads of the pool (parallel.h). They wait for network replies as well as decode, so more of them than processors is
 * normal; beyond this a loop gets fewer helpers. */
#define ZS_MOST_POOL_THREADS 128

/* Files (descriptors.h): one in so many of the descriptors that the process may have (RLIMIT_NOFILE) is for us, others
 * are GDAL's, PROJ's and the program's. Half of ours are kept open for reading; beyond, the one that was not read for
 * the longest time is closed. The other half may belong to shards being written; beyond, shards are published before
 * they are complete. */
#define ZS_SHARE_OF_FILES 2
/* ... and no more than so many where there is no such limit. */
#define ZS_MOST_FILES 8192

/* Requests at once, of an array to a remote store: more than some ten gain nothing, but some servers answer late. */
#define ZS_MOST_FETCHES 32
/* Uploads at once, of an array to a remote store. */
#define ZS_MOST_UPLOADS 16
/* Files and folders that are flushed to a local disk at once: waiting for many costs little more than for one. */
#define ZS_MOST_SYNCS 16

/* How often a change is repeated because another writer published first, in stores with conditional commits
 * (store/vsi_write.c). Beyond, it is an error, and pending writes stay for another flush. With the waits between
 * (zs_conflict_again()) that is half a minute. */
#define ZS_MOST_CONFLICTS 60
/* How often a commit to a remote store is sent again, when it failed and the store is as it was. With the waits between
 * that is a third of a second. */
#define ZS_MOST_REFUSALS 5
