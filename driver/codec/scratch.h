/* codec/scratch.h: what one worker needs while it encodes or decodes: library contexts, which cost as much to make as a
 * small chunk to decode, and buffers, whose first touch costs more than decoding into them. Kept for the next
 * worker. */
#pragma once

#include "base/memory.h"

struct zs_scratch;

enum zs_scratch_buffer_use {
    ZS_SCRATCH_CODEC_A, /* of codec/codec.c */
    ZS_SCRATCH_CODEC_B,
    ZS_SCRATCH_STAGE_A, /* of codec/stages.c */
    ZS_SCRATCH_STAGE_B,
    ZS_SCRATCH_STORED,  /* what the bytes codecs of a chunk gave, for the stages before them */
    ZS_SCRATCH_PACKED,   /* of codec/chain.c */
    ZS_SCRATCH_PROMOTED, /* of codec/zfp.c */
    ZS_SCRATCH_FETCHED, /* encoded bytes as they came from the store */
    ZS_SCRATCH_DECODED, /* one decoded chunk */
    ZS_SCRATCH_BUFFERS
};

enum zs_scratch_context_use {
    ZS_SCRATCH_ZSTD_DECODER,
    ZS_SCRATCH_ZSTD_ENCODER,
    ZS_SCRATCH_DEFLATE_DECODER,
    ZS_SCRATCH_DEFLATE_ENCODER,
    ZS_SCRATCH_CONTEXTS
};

/* A scratch for this worker alone, new or used before. NULL without memory. */
struct zs_scratch *zs_scratch_acquire(void);
void zs_scratch_release(struct zs_scratch *scratch); /* NULL is allowed */

/* Frees all but the smallest buffers of scratches that are not in use. */
void zs_scratch_trim(void);

/* The buffer for one use, with whatever an earlier use left in it. It belongs to the scratch. */
struct zs_buffer *zs_scratch_buffer(struct zs_scratch *scratch, enum zs_scratch_buffer_use use);

/* A library context, NULL until set. The scratch releases it with destroy. `tag` tells contexts of different settings
 * apart (a compression level): a context of another tag is released and NULL returned. */
void *zs_scratch_context(struct zs_scratch *scratch, enum zs_scratch_context_use use, int tag);
void zs_scratch_set_context(struct zs_scratch *scratch, enum zs_scratch_context_use use, int tag, void *context,
                            void (*destroy)(void *));
