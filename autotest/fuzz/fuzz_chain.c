/* A zarr.json of anyone's: parsed, made a node, its codecs compiled, the array opened over an empty store and its
 * corners read. */
#include <stdlib.h>

#include "array/array.h"
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct zs_error err = {""};
    zs_json *document;
    struct zs_node *node;
    if (zs_json_parse((const char *)data, size, &document, &err) != ZS_OK ||
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
    zs_store_free(store);
    zs_node_free(node);
    return 0;
}
