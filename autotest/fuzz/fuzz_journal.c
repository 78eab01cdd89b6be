/* A journal of anyone's beside a shard of anyone's: what was there before is read whole and in parts, the shard changed
 * and read again. Byte 0 is the layout, how the shard is changed, and what of the journal is put in order so that the
 * rest of it is looked at; byte 1 the part that is changed; byte 2 the size of the shard; the shard; the journal. */
#include "codec/codec.h"
#include "layouts.h"
#include "../unit/memory_store.h"

/* Of four chunks each. */
static const char *const layouts[] = {
    SHARD("[4,4]", "\"bytes\"", ""),
    SHARD("[4,4]", "\"bytes\",\"crc32c\"", START),
    SHARD("[4,4]", "\"bytes\",\"gzip\"", ""),
    SHARD("[4,4]", SHARD("[4,2]", "\"bytes\"", ",\"index_codecs\":[\"bytes\"]"), START),
};
enum { LAYOUTS = sizeof layouts / sizeof layouts[0] };

/* Of a journal (shard/journal.c): magic, size, n, crc32c; index, its crc32c; crc32c. */
enum { HEAD = 8 + 8 + 8 + 4, INDEX = 4 * 16 + 4, JOURNAL = HEAD + INDEX + 4 };

static uint64_t load_le(const uint8_t *p, int n)
{
    uint64_t v = 0;
    for (int i = n - 1; i >= 0; i--)
        v = v << 8 | p[i];
    return v;
}

static void put_crc(uint8_t *at, const uint8_t *data, size_t n)
{
    const uint32_t crc = zs_crc32c(data, n);
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(crc >> (8 * i));
}

/* Checksums that are right: a fuzzer does not find them. */
static void put_in_order(uint8_t *journal, size_t n, const uint8_t *shard, size_t shard_size, int what)
{
    if (n != JOURNAL)
        return;
    const uint64_t size = load_le(journal + 8, 8), tail = load_le(journal + 16, 8);
    if ((what & 1) != 0)
        put_crc(journal + JOURNAL - 8, journal + HEAD, INDEX - 4);
    if ((what & 2) != 0 && size <= shard_size && tail <= size)
        put_crc(journal + 24, shard + (size - tail), (size_t)tail);
    if ((what & 4) != 0)
        put_crc(journal + JOURNAL - 4, journal, JOURNAL - 4);
}

/* What is read whole is read in parts; an element that is changed is what is read, and the journal gone with that. */
static void use(struct zs_store *store, struct zs_array *a, uint64_t y, uint64_t x)
{
    struct zs_error err;
    uint16_t whole[SIDE * SIDE], value = 0xA55A, found = 0;
    const enum zs_status status = read_box(a, 0, 0, SIDE, SIDE, whole);
    for (uint64_t i = 0; i < SIDE; i++)
        if ((read_box(a, i, SIDE - 1 - i, 1, 1, &found) != ZS_OK || found != whole[i * SIDE + SIDE - 1 - i]) &&
            status == ZS_OK)
            abort();
    const struct zs_window w = {.start = {y, x}, .count = {1, 1}, .data = &value, .stride = {2, 2}};
    if (zs_array_write_windows(a, &w, 1, 2, NULL, NULL, &err) != ZS_OK || zs_array_flush(a, &err) != ZS_OK)
        return;
    if (read_box(a, y, x, 1, 1, &found) != ZS_OK || found != value)
        abort();
    struct zs_buffer left = {0};
    char *key = zs_journal_key(KEY);
    if (key == NULL || zs_store_get(store, key, SIZE_MAX / 2, &left, &err) != ZS_NOT_FOUND)
        abort();
    free(key);
    zs_buffer_free(&left);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct zs_node *nodes[LAYOUTS];
    struct zs_error err;
    struct zs_store *store;
    struct zs_array *a;
    if (size < 3 || size - 3 < data[2])
        return 0;
    const int layout = data[0] % LAYOUTS;
    const uint8_t *shard = data + 3;
    const size_t shard_size = data[2], journal_size = size - 3 - shard_size;
    uint8_t *journal = malloc(journal_size + 1);
    char *key = zs_journal_key(KEY);
    if (journal == NULL || key == NULL)
        abort();
    memcpy(journal, shard + shard_size, journal_size);
    put_in_order(journal, journal_size, shard, shard_size, data[0] / LAYOUTS / 3 % 8);
    const struct zs_array_options options = {.threads = 1, .update = (enum zs_update)(data[0] / LAYOUTS % 3)};
    if (zs_store_open_memory(&store, &err) != ZS_OK || zs_store_put(store, KEY, shard, shard_size, &err) != ZS_OK ||
        zs_store_put(store, key, journal, journal_size, &err) != ZS_OK)
        abort();
    store->is_remote = data[1] / SIDE / SIDE % 2 != 0;
    /* else this build lacks a library */
    if (zs_array_open_in(store, node_of(layouts[layout], &nodes[layout]), &options, &a, &err) == ZS_OK) {
        use(store, a, data[1] / SIDE % SIDE, data[1] % SIDE);
        zs_array_close(a);
    }
    zs_store_free(store);
    free(journal);
    free(key);
    return 0;
}
