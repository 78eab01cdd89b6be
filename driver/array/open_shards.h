/* array/open_shards.h: what merge.c, open_shards.c, publish.c and put.c share: the shards of an array that are being
 * built (pending_writes.h). All with the array's lock held. */
#ifndef ZS_ARRAY_OPEN_SHARDS_H
#define ZS_ARRAY_OPEN_SHARDS_H

#include "array/pending_writes.h"

/* ---- merge.c ---- */

/* Decodes an innermost chunk; one that is empty is fill values. */
enum zs_status zs_chunk_decode_present(const struct zs_array *a, const struct zs_level *level,
                                       struct zs_scratch *scratch, bool is_empty, const struct zs_buffer *encoded,
                                       void *data, struct zs_error *err) ZS_MUST_CHECK;
/* The encoded bytes that the store has of an innermost chunk; `s` is its open shard, NULL where chunks are objects. */
enum zs_status zs_chunk_read_present(struct zs_array *a, struct zs_open_shard *s, uint64_t chunk, bool *is_empty,
                                     struct zs_buffer *out, struct zs_error *err) ZS_MUST_CHECK;
/* What tells whether that is still what it was: zs_content_of(). */
uint64_t zs_chunk_content(bool is_empty, const struct zs_buffer *encoded);

/* What a chunk is made of when others changed it. */
struct zs_merged {
    struct zs_level room;
    const struct zs_level *level;
    struct zs_scratch *scratch;
    struct zs_buffer ours, theirs; /* decoded */
    const void *encoded;           /* NULL: it is empty */
    size_t n;
};

/* Begins with nothing in `ours`, which is for the caller to fill in. Ended with zs_merged_end(), also on failure. */
enum zs_status zs_merged_begin(struct zs_array *a, uint64_t chunk, struct zs_merged *m,
                               struct zs_error *err) ZS_MUST_CHECK;
/* Puts our elements over theirs: `ours` is filled in, and so are the bytes that the store has now. */
enum zs_status zs_chunk_merge(struct zs_array *a, const struct zs_written *written, bool is_empty,
                              const struct zs_buffer *present, struct zs_merged *m, struct zs_error *err) ZS_MUST_CHECK;
void zs_merged_end(struct zs_merged *m);

/* ---- open_shards.c ---- */

/* The open shard of that number, opened on what is there if need be, unless that is torn: who writes all of it does not
 * need it. */
enum zs_status zs_open_shard_get(struct zs_array *a, uint64_t shard, struct zs_open_shard **out,
                                 struct zs_error *err) ZS_MUST_CHECK;
/* Makes the writer build on the object that is there now. */
enum zs_status zs_open_shard_reopen(struct zs_array *a, struct zs_open_shard *s, const char *key,
                                    struct zs_error *err) ZS_MUST_CHECK;
/* The same where it does not build on any yet: before something of it is read. */
enum zs_status zs_open_shard_need(struct zs_array *a, struct zs_open_shard *s, struct zs_error *err) ZS_MUST_CHECK;
/* Counts the memory that a shard holds. */
void zs_open_shard_account(struct zs_pending_writes *e, struct zs_open_shard *s, bool is_open);
void zs_open_shard_forget(struct zs_array *a, struct zs_open_shard *s);
/* Whether all its chunks came. */
bool zs_open_shard_is_complete(const struct zs_array *a, const struct zs_open_shard *s);
/* Whether nobody else can have made this shard. */
bool zs_shard_is_unpublished(const struct zs_array *a, uint64_t shard);
/* The version of the object that the writer builds on, as in zs_written; s may be NULL. */
uint64_t zs_open_shard_version(const struct zs_open_shard *s);

/* ---- publish.c ---- */

/* Whether the store still has this array. */
enum zs_status zs_array_check_document(struct zs_array *a, struct zs_error *err) ZS_MUST_CHECK;
/* Publishes n shards, all that can be, to a remote store side by side. The first failure is returned. */
enum zs_status zs_open_shards_publish(struct zs_array *a, struct zs_open_shard *const *list, size_t n,
                                      struct zs_error *err) ZS_MUST_CHECK;
/* Publishes a shard that is complete: with others that are, where that spares waiting. */
enum zs_status zs_open_shard_publish_complete(struct zs_array *a, struct zs_open_shard *s,
                                              struct zs_error *err) ZS_MUST_CHECK;
/* Publishes those that are longest idle, until what is open is within its limits. */
enum zs_status zs_open_shards_close_idle(struct zs_array *a, struct zs_error *err) ZS_MUST_CHECK;

#endif
