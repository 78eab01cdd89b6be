#include "codec/filter.h"

#include <string.h>

#include "codec/chain.h"

/* A filter replaces the guess where it saves one byte of so many. */
#define WORTH_ONE_OF 50

static const char *const filters[] = {"noshuffle", "shuffle", "bitshuffle"};
#define FILTERS (sizeof filters / sizeof filters[0])

/* Adds up the encoded sizes of all samples. Encoding overwrites its source, so each sample is copied first. */
static enum zs_status encode_all(const struct zs_level *level, const struct zs_samples *samples, uint64_t *size,
                                 struct zs_error *err)
{
    struct zs_buffer copy = {0};
    struct zs_scratch *scratch = zs_scratch_acquire();
    enum zs_status status = scratch != NULL ? zs_buffer_reset(&copy, (size_t)level->decoded_size, err)
                                            : zs_fail_memory(err);
    *size = 0;
    for (size_t i = 0; i < samples->count && status == ZS_OK; i++) {
        const void *encoded;
        size_t n = 0;
        memcpy(copy.data, samples->elements[i], (size_t)level->decoded_size);
        status = zs_chunk_encode(level, scratch, copy.data, &encoded, &n, err);
        *size += n;
    }
    zs_scratch_release(scratch);
    zs_buffer_free(&copy);
    return status;
}

/* The encoded size of all samples with one filter, and what goes with it in the array. */
static enum zs_status try_filter(struct zs_array_spec spec, const char *filter, const struct zs_samples *samples,
                                 uint64_t *size, struct zs_error *err)
{
    struct zs_node *node;
    struct zs_chain chain;
    spec.encoding.blosc_shuffle = filter;
    const struct zs_blosc_settings settings = zs_blosc_settings_of(&spec);
    spec.encoding.level = settings.level;
    spec.encoding.is_usual_level = false;
    spec.encoding.blosc_blocksize = settings.block_size;
    spec.ndim = samples->ndim;
    spec.is_sharded = false;
    for (int d = 0; d < spec.ndim; d++) {
        spec.shape[d] = spec.chunk_shape[d] = samples->shape[d];
        spec.edges[d] = NULL;
        spec.dimension_names[d] = NULL;
    }
    zs_json *document = zs_array_document(&spec);
    ZS_TRY_MEMORY(document, err);
    ZS_TRY(zs_node_create("", document, true, &node, err));
    enum zs_status status = node->array != NULL ? zs_chain_compile(node->array, &chain, err)
                                                : zs_fail(err, ZS_UNSUPPORTED, "samples cannot be encoded");
    if (status == ZS_OK) {
        status = encode_all(&chain.levels[chain.count - 1], samples, size, err);
        zs_chain_clear(&chain);
    }
    zs_node_free(node);
    return status;
}

enum zs_status zs_filter_choose(const struct zs_array_spec *spec, const struct zs_samples *samples, const char **filter,
                                struct zs_error *err)
{
    const char *guess = spec->encoding.blosc_shuffle;
    uint64_t least, size;
    *filter = guess;
    ZS_TRY(try_filter(*spec, guess, samples, &least, err));
    least -= least / WORTH_ONE_OF;
    for (size_t i = 0; i < FILTERS; i++) {
        if (strcmp(filters[i], guess) == 0 || (spec->dtype.size == 1 && strcmp(filters[i], "shuffle") == 0))
            continue; /* single bytes have no order but one */
        ZS_TRY(try_filter(*spec, filters[i], samples, &size, err));
        if (size < least) {
            *filter = filters[i];
            least = size;
        }
    }
    return ZS_OK;
}
