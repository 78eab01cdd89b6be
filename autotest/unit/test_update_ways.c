/* How a shard that is there is changed (shard/writer_private.h): appended to, or overwritten in place. What it costs, what a
 * kill at any call leaves, and what is rewritten instead. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array_store.h"
#include "fault_store.h"
#include "shard/shard.h"

#define SIDE 16
#define CHUNK 4
#define GRID (SIDE / CHUNK)
#define JOURNAL "a/c/0/.shardedzarr-0.journal"

#define SHARD(codecs, more) \
    "[{'name':'sharding_indexed','configuration':{'chunk_shape':[4,4],'codecs':[" codecs "]" more "}}]"
#define START ",'index_location':'start'"
#define NESTED(inner) "[{'name':'sharding_indexed','configuration':{'chunk_shape':[8,8],'codecs':" inner "}}]"

/* One shard of 16 x 16 elements. */
static struct zs_node *node_of(const char *codecs)
{
    return array_node("[16,16]", "[16,16]", "uint16", "0", codecs);
}

static struct zs_array *open_with(struct zs_store *store, const struct zs_node *node, enum zs_update update)
{
    struct zs_error err;
    const struct zs_array_options options = {.threads = 1, .update = update};
    struct zs_array *array = NULL;
    must(zs_array_open_in(store, node, &options, &array, &err), &err);
    return array;
}

static enum zs_status write_box(struct zs_array *a, uint64_t y, uint64_t x, uint64_t h, uint64_t w, uint16_t *model,
                                uint16_t value, struct zs_error *err)
{
    for (uint64_t i = 0; i < h * w; i++)
        model[(y + i / w) * SIDE + x + i % w] = value;
    const struct zs_window window = {
        .start = {y, x}, .count = {h, w}, .data = model + y * SIDE + x, .stride = {SIDE * 2, 2}};
    return zs_array_write_windows(a, &window, 1, 2, NULL, NULL, err);
}

/* The whole of chunk `number`. */
static enum zs_status write_chunk(struct zs_array *a, int number, uint16_t *model, uint16_t value, struct zs_error *err)
{
    return write_box(a, (uint64_t)(number / GRID) * CHUNK, (uint64_t)(number % GRID) * CHUNK, CHUNK, CHUNK, model,
                     value, err);
}

/* A store with all chunks but those from `first_empty` on; chunk n has 1 + n. */
static void fill(struct zs_store *store, const struct zs_node *node, int first_empty, uint16_t *model)
{
    struct zs_error err;
    struct zs_array *a = open_with(store, node, ZS_UPDATE_REWRITE);
    memset(model, 0, SIDE * SIDE * 2);
    for (int n = 0; n < first_empty; n++)
        must(write_chunk(a, n, model, (uint16_t)(1 + n), &err), &err);
    must(zs_array_flush(a, &err), &err);
    zs_array_close(a);
}

static void check_content(struct zs_store *store, const struct zs_node *node, const uint16_t *model)
{
    static const uint64_t start[2], count[2] = {SIDE, SIDE};
    struct zs_error err = {""};
    uint16_t out[SIDE * SIDE];
    struct zs_array *a = open_with(store, node, ZS_UPDATE_REWRITE);
    CHECK_OK(zs_array_read(a, start, count, out, &err), &err);
    CHECK_EQ_MEM(out, model, sizeof out);
    zs_array_close(a);
}

/* Writes one chunk in a session of its own. */
static void update_chunk(struct zs_store *store, const struct zs_node *node, enum zs_update update, int number,
                         uint16_t *model, uint16_t value)
{
    struct zs_error err;
    struct zs_array *a = open_with(store, node, update);
    must(write_chunk(a, number, model, value, &err), &err);
    must(zs_array_flush(a, &err), &err);
    zs_array_close(a);
}

/* ---- What is written ---- */

TEST(test_appending_leaves_all_old_bytes_where_they_are)
{
    static const char *const layouts[] = {SHARD("'bytes'", ""), SHARD("'bytes','gzip'", START),
                                          NESTED(SHARD("'bytes'", "")), NESTED(SHARD("'bytes'", START))};
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        struct zs_node *node = node_of(layouts[i]);
        struct zs_store *store = memory_store();
        uint16_t model[SIDE * SIDE];
        fill(store, node, 8, model);
        struct zs_buffer before = get_object(store, "a/c/0/0");
        update_chunk(store, node, ZS_UPDATE_APPEND, 9, model, 99);
        struct zs_buffer after = get_object(store, "a/c/0/0");
        const bool at_start = strstr(layouts[i], "start") != NULL && strstr(layouts[i], "[8,8]") == NULL;
        const size_t skip = at_start ? 16 * GRID * GRID + 4 : 0;
        CHECK(after.size > before.size);
        CHECK_EQ_MEM(after.data + skip, before.data + skip, before.size - skip);
        CHECK(!has_object(store, JOURNAL));
        check_content(store, node, model);
        zs_buffer_free(&before);
        zs_buffer_free(&after);
        zs_store_free(store);
        zs_node_free(node);
    }
}

TEST(test_in_place_no_other_byte_changes)
{
    static const char *const layouts[] = {SHARD("'bytes'", ""), SHARD("'bytes','crc32c'", START)};
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        struct zs_node *node = node_of(layouts[i]);
        struct zs_store *store = memory_store();
        uint16_t model[SIDE * SIDE];
        size_t changed = 0;
        fill(store, node, 12, model);
        struct zs_buffer before = get_object(store, "a/c/0/0");
        update_chunk(store, node, ZS_UPDATE_IN_PLACE, 5, model, 0x6363);
        struct zs_buffer after = get_object(store, "a/c/0/0");
        if (CHECK_EQ_U64(after.size, before.size))
            for (size_t k = 0; k < after.size; k++)
                changed += after.data[k] != before.data[k];
        CHECK(changed >= CHUNK * CHUNK * 2 && changed <= CHUNK * CHUNK * 2 + 4);
        check_content(store, node, model);
        zs_buffer_free(&before);
        zs_buffer_free(&after);
        zs_store_free(store);
        zs_node_free(node);
    }
}

/* The calls of a flush by their order: commit, file, flush, remove. */
static void note_call(struct fault_store *s, enum fault_call call, void *ctx)
{
    char *calls = ctx;
    const char *letter = call == FAULT_COMMIT   ? "c"
                         : call == FAULT_FILE   ? "f"
                         : call == FAULT_FLUSH  ? "s"
                         : call == FAULT_REMOVE ? "r"
                                                : "";
    (void)s;
    if (strlen(calls) < 20)
        strcat(calls, letter);
}

TEST(test_journal_then_chunks_then_index_are_flushed_in_order)
{
    for (int start = 0; start < 2; start++) {
        struct zs_error err;
        struct zs_node *node = node_of(start ? SHARD("'bytes'", START) : SHARD("'bytes'", ""));
        struct zs_store *store = memory_store();
        uint16_t model[SIDE * SIDE];
        char calls[30] = "";
        fill(store, node, 12, model);
        struct fault_store faults;
        fault_store_init(&faults, store);
        struct zs_array *a = open_with(&faults.base, node, ZS_UPDATE_APPEND);
        must(write_chunk(a, 13, model, 5, &err), &err);
        faults.before = note_call;
        faults.ctx = calls;
        must(zs_array_flush(a, &err), &err);
        CHECK(strcmp(calls, "fcfsfsr") == 0); /* opened; journal; chunk; index; no journal */
        faults.before = NULL;
        zs_array_close(a);
        zs_store_free(store);
        zs_node_free(node);
    }
}

/* ---- What is rewritten instead: nothing of the file but what counts is left ---- */

struct rewritten {
    const char *codecs;
    enum zs_update update;
    int number; /* of the chunk that is written; 12 and more are empty before */
};

TEST(test_shard_that_cannot_be_changed_is_rewritten)
{
    static const struct rewritten cases[] = {
        /* an index that is half there would not be told */
        {SHARD("'bytes'", ",'index_codecs':['bytes']"), ZS_UPDATE_APPEND, 3},
        {"[{'name':'sharding_indexed','configuration':{'chunk_shape':[4,4],'codecs':['bytes']}},'gzip']",
         ZS_UPDATE_APPEND, 3},
        {"[{'name':'sharding_indexed','configuration':{'chunk_shape':[4,4],'codecs':['bytes']}},'crc32c']",
         ZS_UPDATE_IN_PLACE, 3},
        {SHARD("'bytes','gzip'", ""), ZS_UPDATE_IN_PLACE, 3},
        {SHARD("'bytes'", ""), ZS_UPDATE_IN_PLACE, 13},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct zs_node *node = node_of(cases[i].codecs);
        struct zs_store *store = memory_store(), *other = memory_store();
        uint16_t model[SIDE * SIDE], same[SIDE * SIDE];
        fill(store, node, 12, model);
        fill(other, node, 12, same);
        update_chunk(store, node, cases[i].update, cases[i].number, model, 7777);
        update_chunk(other, node, ZS_UPDATE_REWRITE, cases[i].number, same, 7777);
        struct zs_buffer found = get_object(store, "a/c/0/0"), expected = get_object(other, "a/c/0/0");
        if (CHECK_EQ_U64(found.size, expected.size))
            CHECK_EQ_MEM(found.data, expected.data, found.size);
        check_content(store, node, model);
        zs_buffer_free(&found);
        zs_buffer_free(&expected);
        zs_store_free(store);
        zs_store_free(other);
        zs_node_free(node);
    }
}

/* Some writers store equal chunks once. */
TEST(test_bytes_that_two_chunks_share_are_not_overwritten)
{
    struct zs_node *node = node_of(SHARD("'bytes'", ",'index_codecs':['bytes']"));
    struct zs_store *store = memory_store();
    uint16_t model[SIDE * SIDE];
    fill(store, node, GRID * GRID, model);
    struct zs_buffer bytes = get_object(store, "a/c/0/0");
    unsigned char *index = bytes.data + bytes.size - 16 * GRID * GRID;
    memcpy(index + 16 * 6, index + 16 * 5, 16); /* chunk 6 is chunk 5 */
    put_object(store, "a/c/0/0", bytes.data, bytes.size);
    for (int y = 4; y < 8; y++)
        for (int x = 8; x < 12; x++)
            model[y * SIDE + x] = 6;
    update_chunk(store, node, ZS_UPDATE_IN_PLACE, 5, model, 500);
    check_content(store, node, model);
    zs_buffer_free(&bytes);
    zs_store_free(store);
    zs_node_free(node);
}

/* An entry beyond the end is an error, and must not become one that is not when the shard grows. */
TEST(test_a_shard_with_a_wrong_entry_is_not_appended_to)
{
    struct zs_error err;
    struct zs_node *plain = node_of(SHARD("'bytes'", ",'index_codecs':['bytes']")),
                   *node = node_of(SHARD("'bytes'", ""));
    struct zs_store *store = memory_store();
    uint16_t model[SIDE * SIDE];
    fill(store, plain, GRID * GRID, model);
    struct zs_buffer bytes = get_object(store, "a/c/0/0");
    unsigned char *index = bytes.data + bytes.size - 16 * GRID * GRID;
    index[16 * 7] = (unsigned char)(bytes.size - 8); /* chunk 7 begins within the index */
    index[16 * 7 + 1] = (unsigned char)((bytes.size - 8) >> 8);
    const uint32_t crc = slow_crc32c(index, 16 * GRID * GRID);
    const unsigned char sum[4] = {(unsigned char)crc, (unsigned char)(crc >> 8), (unsigned char)(crc >> 16),
                                  (unsigned char)(crc >> 24)};
    must(zs_buffer_append(&bytes, sum, 4, &err), &err);
    put_object(store, "a/c/0/0", bytes.data, bytes.size);
    struct zs_array *a = open_with(store, node, ZS_UPDATE_APPEND);
    must(write_chunk(a, 3, model, 5, &err), &err);
    CHECK(zs_array_flush(a, &err) == ZS_CORRUPT);
    CHECK_CONTAINS(err.message, "a/c/0/0");
    zs_array_close(a);
    struct zs_buffer after = get_object(store, "a/c/0/0");
    CHECK(after.size == bytes.size && memcmp(after.data, bytes.data, bytes.size) == 0);
    zs_buffer_free(&bytes);
    zs_buffer_free(&after);
    zs_store_free(store);
    zs_node_free(node);
    zs_node_free(plain);
}

/* ---- Kills ---- */

/* Each chunk as in one of the two, unless broken ones are allowed; every chunk alone, since one may be torn. */
static void check_old_or_new(struct zs_store *store, const struct zs_node *node, const uint16_t *before,
                             const uint16_t *after, bool may_be_torn)
{
    struct zs_array *a = open_with(store, node, ZS_UPDATE_REWRITE);
    for (uint64_t n = 0; n < GRID * GRID; n++) {
        const uint64_t start[2] = {n / GRID * CHUNK, n % GRID * CHUNK}, count[2] = {CHUNK, CHUNK};
        struct zs_error err = {""};
        uint16_t out[CHUNK * CHUNK], old[CHUNK * CHUNK], new[CHUNK * CHUNK];
        for (uint64_t i = 0; i < CHUNK * CHUNK; i++) {
            const uint64_t at = (start[0] + i / CHUNK) * SIDE + start[1] + i % CHUNK;
            old[i] = before[at];
            new[i] = after[at];
        }
        const enum zs_status status = zs_array_read(a, start, count, out, &err);
        if (status == ZS_CORRUPT && may_be_torn && memcmp(old, new, sizeof old) != 0)
            continue; /* said, and not shown */
        if (!CHECK(status == ZS_OK))
            fprintf(stderr, "chunk %d: %s\n", (int)n, err.message);
        else
            CHECK(memcmp(out, old, sizeof out) == 0 || memcmp(out, new, sizeof out) == 0);
    }
    zs_array_close(a);
}

/* The same in one request over a network, where a small shard comes whole. */
static void check_old_or_new_from_afar(struct zs_store *store, const struct zs_node *node, const uint16_t *before,
                                       const uint16_t *after)
{
    static const uint64_t start[2], count[2] = {SIDE, SIDE};
    struct zs_error err = {""};
    uint16_t out[SIDE * SIDE];
    store->is_remote = true;
    struct zs_array *a = open_with(store, node, ZS_UPDATE_REWRITE);
    if (CHECK_OK(zs_array_read(a, start, count, out, &err), &err))
        for (size_t i = 0; i < SIDE * SIDE; i++)
            CHECK(out[i] == before[i] || out[i] == after[i]);
    zs_array_close(a);
    store->is_remote = false;
}

/* All calls from the n-th on fail, as if the writer had been killed there. Then somebody else writes. */
static void kill_at_every_call(const char *codecs, enum zs_update update, bool half_written, bool fail_on)
{
    struct zs_node *node = node_of(codecs);
    bool failed = true;
    for (long n = 1; failed; n++) {
        struct zs_error err = {""};
        struct zs_store *store = memory_store();
        uint16_t before[SIDE * SIDE], after[SIDE * SIDE];
        fill(store, node, 12, before);
        memcpy(after, before, sizeof after);
        struct fault_store faults;
        fault_store_init(&faults, store);
        faults.half_written = half_written;
        faults.fail_on = fail_on;
        struct zs_array *a = open_with(&faults.base, node, update);
        faults.fail_at = n;
        const int chunks[] = {1, 6, 11, 13}; /* the last one new, where there is room for it */
        enum zs_status status = ZS_OK;
        for (int i = 0; i < (update == ZS_UPDATE_IN_PLACE ? 3 : 4); i++) {
            const enum zs_status here = write_chunk(a, chunks[i], after, (uint16_t)(0x7777 + i), &err);
            status = status == ZS_OK ? here : status;
        }
        if (status == ZS_OK)
            status = zs_array_flush(a, &err);
        failed = faults.calls >= n;
        CHECK(failed || status == ZS_OK); /* a journal that cannot be removed is no failure */
        const bool may_be_torn = update == ZS_UPDATE_IN_PLACE && half_written;
        check_old_or_new(store, node, before, after, may_be_torn);
        if (!may_be_torn)
            check_old_or_new_from_afar(store, node, before, after);
        if (status == ZS_OK)
            check_content(store, node, after);
        zs_array_close(a);

        /* Whoever comes next; a chunk in which nobody else had written, but one that may be broken. */
        uint16_t next[SIDE * SIDE];
        memcpy(next, after, sizeof next);
        for (int turn = 0; turn < 2; turn++) {
            struct zs_error ignored;
            struct zs_array *b = open_with(store, node, n % 2 == 0 ? ZS_UPDATE_APPEND : ZS_UPDATE_REWRITE);
            for (int i = 0; i < 4; i++)
                must(write_chunk(b, chunks[i], next, (uint16_t)(0x5555 + i), &ignored), &ignored);
            must(write_chunk(b, 2, next, (uint16_t)(40 + turn), &ignored), &ignored);
            must(zs_array_flush(b, &err), &err);
            zs_array_close(b);
            check_content(store, node, next);
        }
        CHECK(!has_object(store, JOURNAL));
        zs_store_free(store);
        if (!CHECK(n < 1000))
            break;
    }
    zs_node_free(node);
}

TEST(test_a_kill_at_any_call_of_appending_loses_nothing_that_was_there)
{
    static const char *const layouts[] = {
        SHARD("'bytes'", ""), SHARD("'bytes','gzip'", START), NESTED(SHARD("'bytes','crc32c'", "")),
        "[{'name':'sharding_indexed','configuration':{'chunk_shape':[8,8],'codecs':" SHARD("'bytes'", "") START "}}]"};
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        for (int variant = 0; variant < 4; variant++)
            kill_at_every_call(layouts[i], ZS_UPDATE_APPEND, variant & 1, variant & 2);
}

TEST(test_a_kill_at_any_call_in_place_leaves_chunks_old_or_new_or_known_to_be_torn)
{
    static const char *const layouts[] = {SHARD("'bytes','crc32c'", ""), SHARD("'bytes','crc32c'", START)};
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        for (int variant = 0; variant < 4; variant++)
            kill_at_every_call(layouts[i], ZS_UPDATE_IN_PLACE, variant & 1, variant & 2);
}

/* ---- Journals ---- */

/* Any byte of it, or all of another shard's, does not make pixels of a broken shard. */
TEST(test_invalid_or_foreign_journal_is_ignored)
{
    struct zs_error err = {""};
    struct zs_node *node = node_of(SHARD("'bytes'", ""));
    struct zs_store *store = memory_store();
    uint16_t model[SIDE * SIDE], ignored[SIDE * SIDE];
    fill(store, node, 12, model);
    struct fault_store faults;
    fault_store_init(&faults, store);
    faults.fail_on = true;
    struct zs_array *a = open_with(&faults.base, node, ZS_UPDATE_APPEND);
    memcpy(ignored, model, sizeof ignored);
    must(write_chunk(a, 13, ignored, 1, &err), &err);
    for (long n = 1; n < 100; n++) { /* until it is there, and something is written behind the shard */
        faults.calls = 0;
        faults.fail_at = n;
        faults.half_written = true;
        struct zs_buffer before = get_object(store, "a/c/0/0");
        CHECK(zs_array_flush(a, &err) != ZS_OK);
        struct zs_buffer now = get_object(store, "a/c/0/0");
        const bool is_torn = now.size != before.size;
        zs_buffer_free(&before);
        zs_buffer_free(&now);
        if (is_torn)
            break;
    }
    zs_array_close(a);
    if (!CHECK(has_object(store, JOURNAL)))
        return;
    check_content(store, node, model);
    struct zs_buffer journal = get_object(store, JOURNAL), torn = get_object(store, "a/c/0/0");
    const uint64_t start[2] = {0}, count[2] = {SIDE, SIDE};
    uint16_t out[SIDE * SIDE];
    for (size_t i = 0; i <= journal.size; i++) { /* the last time with a shard of another's bytes */
        struct zs_buffer copy = {0}, other = {0};
        must(zs_buffer_append(&copy, journal.data, journal.size, &err), &err);
        must(zs_buffer_append(&other, torn.data, torn.size, &err), &err);
        if (i < journal.size)
            copy.data[i] ^= 1;
        else
            other.data[40] ^= 1;
        put_object(store, JOURNAL, copy.data, i % 3 == 0 && i < journal.size ? i : copy.size);
        put_object(store, "a/c/0/0", other.data, other.size);
        a = open_with(store, node, ZS_UPDATE_APPEND);
        CHECK(zs_array_read(a, start, count, out, &err) == ZS_CORRUPT);
        zs_array_close(a);
        zs_buffer_free(&copy);
        zs_buffer_free(&other);
    }
    zs_buffer_free(&journal);
    zs_buffer_free(&torn);
    zs_store_free(store);
    zs_node_free(node);
}

/* ---- Files ---- */

static void remove_all(const char *root, const char *const *names)
{
    for (; *names != NULL; names++) {
        char path[300];
        (void)snprintf(path, sizeof path, "%s/%s", root, *names);
        CHECK(remove(path) == 0);
    }
    CHECK(rmdir(root) == 0);
}

/* A copy made of hard links stays what it is, and a link is replaced. */
TEST(test_hard_linked_files_are_not_changed_in_place)
{
    char root[100], shard[200], backup[200];
    (void)snprintf(root, sizeof root, "/tmp/shardedzarr_ways_%ld", (long)getpid());
    (void)snprintf(shard, sizeof shard, "%s/a/c/0/0", root);
    (void)snprintf(backup, sizeof backup, "%s/backup", root);
    struct zs_error err;
    struct zs_node *node = node_of(SHARD("'bytes'", ""));
    struct zs_store *store = NULL;
    must(zs_store_open(root, &store, &err), &err);
    uint16_t model[SIDE * SIDE];
    fill(store, node, 12, model);
    for (int way = ZS_UPDATE_APPEND; way <= ZS_UPDATE_IN_PLACE; way++) {
        struct stat before, now;
        CHECK(stat(shard, &before) == 0);
        update_chunk(store, node, (enum zs_update)way, 3, model, (uint16_t)(way + 60));
        CHECK(stat(shard, &now) == 0 && now.st_ino == before.st_ino); /* the same file */
        for (int soft = 0; soft < 2; soft++) {
            CHECK((soft ? rename(shard, backup) == 0 && symlink("../../../backup", shard) == 0
                        : link(shard, backup) == 0));
            struct zs_buffer kept = get_object(store, "backup");
            update_chunk(store, node, (enum zs_update)way, 3, model, (uint16_t)(way + 70 + soft));
            struct zs_buffer later = get_object(store, "backup");
            CHECK(kept.size == later.size && memcmp(kept.data, later.data, kept.size) == 0);
            check_content(store, node, model);
            zs_buffer_free(&kept);
            zs_buffer_free(&later);
            CHECK(unlink(backup) == 0);
        }
    }
    zs_store_free(store);
    zs_node_free(node);
    remove_all(root, (const char *const[]){"a/c/0/0", "a/c/0", "a/c", "a", NULL});
}
