/* Stages that take arrays, run over a chunk. Elementwise ones that follow each other make one pass over it, a block at
 * a time that stays in the processor's nearest cache. */
#include <string.h>

#include "codec/codec.h"

/* Elements that are encoded, decoded or checked at a time: two blocks of the largest, side by side, are half of a small
 * L1 cache. */
#define BLOCK 512

struct block {
    _Alignas(64) unsigned char bytes[BLOCK * ZS_MAX_ITEM_SIZE];
};

bool zs_stages_keep_size(const struct zs_stage *stages, int count)
{
    for (int i = 0; i < count; i++)
        if (!stages[i].codec->is_elementwise || stages[i].in.size != stages[i].out.size)
            return false;
    return true;
}

static bool is_aligned(const void *p, const struct zs_dtype *dtype)
{
    return (uintptr_t)p % dtype->swap_unit == 0;
}

/* The elementwise stages first..last of n elements. */
static enum zs_status decode_run(const struct zs_stage *stages, int first, int last, size_t n, const unsigned char *src,
                                 unsigned char *dst, struct zs_error *err)
{
    struct block blocks[2];
    const struct zs_dtype *from = &stages[last].out, *to = &stages[first].in;
    for (size_t at = 0; at < n; at += BLOCK) {
        const size_t part = n - at < BLOCK ? n - at : BLOCK;
        const void *in = src + at * from->size;
        unsigned char *const end = dst + at * to->size;
        int free_block = 0;
        if (!is_aligned(in, from)) {
            in = memcpy(blocks[free_block].bytes, in, part * from->size);
            free_block = 1;
        }
        for (int i = last; i >= first; i--) {
            if (stages[i].codec->decode_array == NULL)
                continue;
            const bool is_direct = i == first && is_aligned(end, to);
            void *out = is_direct ? end : blocks[free_block].bytes;
            ZS_TRY(stages[i].codec->decode_array(&stages[i], part, in, out, err));
            in = out;
            free_block = !free_block;
        }
        if (in != end)
            memcpy(end, in, part * to->size);
    }
    return ZS_OK;
}

static enum zs_status encode_run(const struct zs_stage *stages, int first, int last, size_t n, const unsigned char *src,
                                 unsigned char *dst, struct zs_error *err)
{
    struct block blocks[2];
    const size_t from = stages[first].in.size, to = stages[last].out.size;
    for (size_t at = 0; at < n; at += BLOCK) {
        const size_t part = n - at < BLOCK ? n - at : BLOCK;
        const void *in = src + at * from;
        for (int i = first; i <= last; i++) {
            void *out = i == last ? dst + at * to : blocks[(i - first) % 2].bytes;
            ZS_TRY(stages[i].codec->encode_array(&stages[i], part, in, out, err));
            in = out;
        }
    }
    return ZS_OK;
}

bool zs_stages_keep_element(const struct zs_stage *stages, int count, const void *element)
{
    _Alignas(16) unsigned char in[ZS_MAX_ITEM_SIZE], stored[ZS_MAX_ITEM_SIZE], out[ZS_MAX_ITEM_SIZE];
    if (count == 0)
        return true;
    const struct zs_dtype *dtype = &stages[0].in;
    memcpy(in, element, dtype->size);
    if (encode_run(stages, 0, count - 1, 1, in, stored, NULL) != ZS_OK ||
        decode_run(stages, 0, count - 1, 1, stored, out, NULL) != ZS_OK)
        return false;
    const double before = zs_dtype_to_double(dtype, in), after = zs_dtype_to_double(dtype, out);
    return memcmp(in, out, dtype->size) == 0 || (dtype->swap_unit == dtype->size && before != before && after != after);
}

/* The buffer of stages that does not hold `data`, with room for n bytes. */
static enum zs_status next_buffer(struct zs_scratch *scratch, const void *data, size_t n, void **out,
                                  struct zs_error *err)
{
    struct zs_buffer *b = zs_scratch_buffer(scratch, ZS_SCRATCH_STAGE_A);
    if (b->data == data)
        b = zs_scratch_buffer(scratch, ZS_SCRATCH_STAGE_B);
    ZS_TRY(zs_buffer_reset(b, n, err));
    *out = b->data;
    return ZS_OK;
}

enum zs_status zs_stages_decode(const struct zs_stage *stages, int count, size_t n, struct zs_scratch *scratch,
                                const void *src, void *dst, struct zs_error *err)
{
    for (int last = count - 1, first; last >= 0; last = first - 1) {
        const bool is_elementwise = stages[last].codec->is_elementwise;
        for (first = last; is_elementwise && first > 0 && stages[first - 1].codec->is_elementwise;)
            first--;
        const size_t size = n * stages[first].in.size;
        void *out = dst;
        if (first > 0 || !is_elementwise) /* others need aligned memory */
            ZS_TRY(next_buffer(scratch, src, size, &out, err));
        if (is_elementwise)
            ZS_TRY(decode_run(stages, first, last, n, src, out, err));
        else
            ZS_TRY(stages[last].codec->decode_array(&stages[last], n, src, out, err));
        if (first == 0 && out != dst)
            memcpy(dst, out, size);
        src = out;
    }
    return ZS_OK;
}

enum zs_status zs_stages_encode(const struct zs_stage *stages, int count, size_t n, struct zs_scratch *scratch,
                                void *src, const void **encoded, struct zs_error *err)
{
    void *out = src;
    *encoded = src;
    if (count == 0)
        return ZS_OK;
    if (!zs_stages_keep_size(stages, count))
        ZS_TRY(next_buffer(scratch, src, n * stages[count - 1].out.size, &out, err));
    *encoded = out;
    return encode_run(stages, 0, count - 1, n, src, out, err);
}
