/* array/written.h: which elements of an innermost chunk were written since it was read, so that what others write
 * meanwhile is not lost. */
#ifndef ZS_ARRAY_WRITTEN_H
#define ZS_ARRAY_WRITTEN_H

#include "codec/chain.h"

struct zs_written {
    uint64_t content;     /* zs_content_of() the chunk that was read */
    uint64_t version;     /* version of the object that it was read from; 0 where equal versions do not prove equal
                             objects */
    uint64_t left;        /* elements in the array that were not written; 0: the chunk was written whole */
    size_t size;          /* of the mask in bytes */
    unsigned char mask[]; /* a bit for each element as stored, lowest first */
};

/* No element is written yet, of a chunk that has `inside` elements in the array. NULL without memory; freed with
 * free(). */
struct zs_written *zs_written_create(const struct zs_level *level, uint64_t inside, uint64_t content);
struct zs_written *zs_written_copy(const struct zs_written *written);

/* Notes that an extent of the chunk was written: start and count in elements per dimension of the array. */
void zs_written_add(struct zs_written *written, const struct zs_level *level, const uint64_t *start,
                    const uint64_t *count);

/* Copies the elements that were written from one decoded chunk to another. */
void zs_written_apply(const struct zs_written *written, const struct zs_level *level, const void *from, void *to);

/* A hash of the n encoded bytes of a chunk; NULL: the chunk is empty. */
uint64_t zs_content_of(const void *encoded, size_t n);

#endif
