/* A zarr.json of anyone's: parsed, made a node, its codecs compiled, the array opened over an empty store and its
 * corners read. What stands behind a zero are the bytes of a chunk: decoded through all codecs of the array, encoded and
 * decoded again. */
#include <stdlib.h>

#include "array/array.h"
#include "codec/chain.h"
#include "fuzz.h"
#include "../unit/memory_store.h"

static void read_corners(struct zs_array *a)
{
    const struct zs_array_info info = zs_array_get_info(a);
    uint64_t start[ZS_MAX_NDIM] = {0}, count[ZS_MAX_NDIM];
    unsigned char element[16];
    struct zs_error err;
    for (int corner = 0; corner < 2; corner++) {
        for (int d = 0; d < info.ndim; d++) {
            if (info.shape[d] == 0)
                return;
            start[d] = corner == 0 ? 0 : info.shape[d] - 1;
            count[d] = 1;
        }
        if (zs_array_read(a, start, count, element, &err) != ZS_OK ||
            memcmp(element, info.fill_value, info.item_size) != 0)
            abort(); /* nothing is stored */
    }
}

#define MAX_CHUNK_BYTES ((uint64_t)1 << 16)

/* Of the exact size: the sanitizer watches both ends. */
static uint8_t *filled(size_t n, int byte)
{
    uint8_t *p = malloc(n != 0 ? n : 1);
    if (p == NULL)
        abort();
    memset(p, byte, n);
    return p;
}

static void decode(const struct zs_level *leaf, const uint8_t *chunk, size_t n)
{
    const size_t size = (size_t)leaf->decoded_size;
    struct zs_error err = {""};
    struct zs_scratch *scratch = zs_scratch_acquire();
    uint8_t *out = filled(size, 0x55), *again = filled(size, 0xAA), *in = filled(n, 0);
    const void *encoded;
    size_t n_encoded;
    if (scratch == NULL)
        abort();
    memcpy(in, chunk, n);
    if (zs_chunk_decode(leaf, scratch, in, n, out, &err) != ZS_OK) {
        if (err.message[0] == '\0')
            abort(); /* every failure says why */
    } else {
        if (zs_chunk_decode(leaf, scratch, in, n, again, &err) != ZS_OK || memcmp(out, again, size) != 0)
            abort(); /* not every byte was written */
        if (zs_chunk_encode(leaf, scratch, again, &encoded, &n_encoded, &err) == ZS_OK) {
            uint8_t *copy = filled(n_encoded, 0);
            memcpy(copy, encoded, n_encoded);
            if (zs_chunk_decode(leaf, scratch, copy, n_encoded, again, &err) != ZS_OK && err.message[0] == '\0')
                abort();
            free(copy);
        }
    }
    zs_scratch_release(scratch);
    free(out);
    free(again);
    free(in);
}

static void decode_chunk(const struct zs_node *node, const uint8_t *chunk, size_t n)
{
    struct zs_error err;
    struct zs_chain chain;
    if (node->array == NULL || zs_chain_compile(node->array, &chain, &err) != ZS_OK)
        return;
    const struct zs_level *leaf = &chain.levels[chain.count - 1];
    if (leaf->decoded_size <= MAX_CHUNK_BYTES && leaf->stored_size <= MAX_CHUNK_BYTES)
        decode(leaf, chunk, n);
    zs_chain_clear(&chain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct zs_error err = {""};
    zs_json *document;
    struct zs_node *node;
    const uint8_t *end = size > 0 ? memchr(data, 0, size) : NULL;
    const size_t n = end != NULL ? (size_t)(end - data) : size;
    if (zs_json_parse((const char *)data, n, &document, &err) != ZS_OK ||
        zs_node_create("", document, true, &node, &err) != ZS_OK) {
        if (err.message[0] == '\0')
            abort(); /* every failure says why */
        return 0;
    }
    struct zs_store *store;
    struct zs_array *a;
    const struct zs_array_options options = {.threads = 1};
    if (zs_store_open_memory(&store, &err) != ZS_OK)
        abort();
    err.message[0] = '\0';
    if (zs_array_open_in(store, node, &options, &a, &err) == ZS_OK) {
        read_corners(a);
        zs_array_close(a);
    } else if (err.message[0] == '\0') {
        abort();
    }
    if (end != NULL)
        decode_chunk(node, end + 1, size - n - 1);
    zs_store_free(store);
    zs_node_free(node);
    return 0;
}
