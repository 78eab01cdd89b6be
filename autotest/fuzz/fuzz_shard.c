/* A shard of anyone's under metadata that are in order: read whole and in parts, changed, read again. Byte 0 is the
 * layout and how a shard is changed, byte 1 the part that is changed; the rest is the object. */
#include "layouts.h"
#include "../unit/memory_store.h"

static const char *const layouts[] = {
    SHARD("[4,4]", "\"bytes\"", BARE_INDEX),
    SHARD("[4,4]", "\"bytes\"", BARE_INDEX START),
    SHARD("[4,4]", "\"bytes\",\"gzip\"", BARE_INDEX),
    SHARD("[4,4]", "\"bytes\",\"zstd\",\"crc32c\"", BARE_INDEX START),
    SHARD("[4,8]", SHARD("[2,2]", "\"bytes\"", BARE_INDEX), BARE_INDEX),
    SHARD("[4,8]", SHARD("[2,2]", "\"bytes\"", BARE_INDEX START) ",\"gzip\"", BARE_INDEX),
    SHARD("[4,4]", "\"bytes\"", BARE_INDEX) ",\"gzip\"",
    SHARD("[8,4]", SHARD("[2,4]", SHARD("[1,2]", "\"bytes\"", BARE_INDEX), BARE_INDEX), BARE_INDEX),
    "{\"name\":\"transpose\",\"configuration\":{\"order\":[1,0]}}," SHARD("[4,2]", "\"bytes\"", BARE_INDEX),
    SHARD("[4,4]", "\"bytes\"", ""),
    "\"bytes\"",
    "\"bytes\",\"blosc\"",
};
enum { LAYOUTS = sizeof layouts / sizeof layouts[0] };

/* What one chunk was changed to is what is read, whether or not its neighbours are in order. */
static void change(struct zs_array *a, uint64_t y, uint64_t x)
{
    struct zs_error err;
    uint16_t value = 0xA55A, found = 0;
    const struct zs_window w = {.start = {y, x}, .count = {1, 1}, .data = &value, .stride = {2, 2}};
    if (zs_array_write_windows(a, &w, 1, 2, NULL, NULL, &err) != ZS_OK)
        return;
    if (read_box(a, y, x, 1, 1, &found) == ZS_OK && found != value)
        abort();
    if (zs_array_flush(a, &err) == ZS_OK && (read_box(a, y, x, 1, 1, &found) != ZS_OK || found != value))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct zs_node *nodes[LAYOUTS];
    struct zs_error err;
    struct zs_store *store;
    struct zs_array *a;
    if (size < 2)
        return 0;
    const int layout = data[0] % LAYOUTS;
    const struct zs_array_options options = {.threads = 1, .update = (enum zs_update)(data[0] / LAYOUTS % 3)};
    const uint64_t y = data[1] / SIDE % SIDE, x = data[1] % SIDE;
    if (zs_store_open_memory(&store, &err) != ZS_OK || zs_store_put(store, KEY, data + 2, size - 2, &err) != ZS_OK)
        abort();
    /* else this build lacks a library */
    if (zs_array_open_in(store, node_of(layouts[layout], &nodes[layout]), &options, &a, &err) == ZS_OK) {
        uint16_t whole[SIDE * SIDE], part[SIDE * SIDE];
        const enum zs_status status = read_box(a, 0, 0, SIDE, SIDE, whole);
        for (uint64_t i = 0; i < 4; i++) {
            const uint64_t h = i * 2 + 1, w = SIDE - i;
            const enum zs_status again = read_box(a, i, i, h > SIDE - i ? SIDE - i : h, w, part);
            if (status == ZS_OK && (again != ZS_OK || part[0] != whole[i * SIDE + i]))
                abort(); /* the same, in parts */
        }
        change(a, y, x);
        zs_array_close(a);
    }
    zs_store_free(store);
    return 0;
}
