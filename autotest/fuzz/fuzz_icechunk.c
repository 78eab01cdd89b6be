/* Files of an Icechunk repository: the first byte says which, the rest is the file; the others are in order. All arrays
 * are read. corpus/icechunk has the files that icechunk_make.h makes, plain and compressed. */
#include "array/array.h"
#include "codec/codec.h"
#include "fuzz.h"
#include "../unit/icechunk_make.h"
#include "../unit/memory_store.h"
#include "zarr/hierarchy.h"
#include "icechunk/icechunk.h"

/* Elements of an array that are read. */
#define FEW 4096

static void read_array(struct zs_hierarchy *h, const struct zs_node *node)
{
    static unsigned char values[FEW * 64];
    struct zs_error err;
    struct zs_array *array = NULL;
    uint64_t start[ZS_MAX_NDIM] = {0}, count[ZS_MAX_NDIM] = {0}, all = 1;
    if (node->array == NULL || node->array->dtype.size > 64)
        return;
    for (int d = 0; d < node->array->ndim; d++) {
        count[d] = node->array->shape[d] < 16 ? node->array->shape[d] : 16;
        all *= count[d];
        if (all > FEW)
            return;
    }
    if (zs_array_open_node(h, node, NULL, &array, &err) == ZS_OK)
        (void)!zs_array_read(array, start, count, values, &err);
    zs_array_close(array);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct zs_error err;
    struct zs_store *store = NULL;
    struct zs_hierarchy *h = NULL;
    const struct zs_node **nodes = NULL;
    size_t count = 0;
    if (size == 0 || zs_store_open_memory(&store, &err) != ZS_OK)
        return 0;
    static const uint8_t nothing[1];
    if (ice_put(store, data[0] % ICE_FILES, size > 1 ? data + 1 : nothing, size - 1) &&
        zs_icechunk_open(&store, data[0] & 0x40 ? "as_of=2026-01-01" : "", &err) == ZS_OK &&
        zs_hierarchy_open(store, true, &h, &err) == ZS_OK && zs_hierarchy_list(h, &nodes, &count, &err) == ZS_OK)
        for (size_t i = 0; i < count && i < 16; i++)
            read_array(h, nodes[i]);
    free(nodes);
    zs_hierarchy_free(h);
    zs_store_free(store);
    return 0;
}
