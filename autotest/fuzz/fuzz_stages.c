/* A zarr.json of anyone's, a zero, and the bytes of a chunk: decoded through all codecs of the array, encoded and
 * decoded again. */
#include <stdlib.h>

#include "codec/chain.h"
#include "fuzz.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct zs_error err = {""};
    zs_json *document;
    struct zs_node *node;
    struct zs_chain chain;
    const uint8_t *end = size > 0 ? memchr(data, 0, size) : NULL;
    const size_t n = end != NULL ? (size_t)(end - data) : size;
    if (zs_json_parse((const char *)data, n, &document, &err) != ZS_OK ||
        zs_node_create("", document, true, &node, &err) != ZS_OK)
        return 0;
    if (end != NULL && node->array != NULL && zs_chain_compile(node->array, &chain, &err) == ZS_OK) {
        const struct zs_level *leaf = &chain.levels[chain.count - 1];
        if (leaf->decoded_size <= MAX_CHUNK_BYTES && leaf->stored_size <= MAX_CHUNK_BYTES)
            decode(leaf, end + 1, size - n - 1);
        zs_chain_clear(&chain);
    }
    zs_node_free(node);
    return 0;
}
