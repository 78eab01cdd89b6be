/* A store that fails: the Nth call, for every N. Whatever fails is said, nothing leaks (LeakSanitizer), every object is
 * its old or its new self, and with the store in order again everything works. */
#include "array_store.h"
#include "fault_store.h"
#include "oracle_store.h"

#define SIDE 12

#define INNER_SHARD "{'name':'sharding_indexed','configuration':{'chunk_shape':[2,2],'codecs':['bytes']}}"

static const char *const layouts[] = {
    "[{'name':'sharding_indexed','configuration':{'chunk_shape':[2,4],'codecs':['bytes','gzip']}}]",
    "[{'name':'sharding_indexed','configuration':{'chunk_shape':[2,4],'codecs':['bytes'],'index_location':'start'}}]",
    "['bytes','crc32c']",
    "[{'name':'sharding_indexed','configuration':{'chunk_shape':[4,4],'codecs':[" INNER_SHARD "]}}]",
    "[{'name':'sharding_indexed','configuration':{'chunk_shape':[4,4],'codecs':['bytes']}},'gzip']",
};
enum { LAYOUTS = sizeof layouts / sizeof layouts[0] };

static const uint64_t zeros[2], whole[2] = {SIDE, SIDE};

static struct zs_node *node_of(int layout)
{
    return array_node("[12,12]", "[4,8]", "uint8", "0", layouts[layout]);
}

static enum zs_status write_box(struct zs_array *a, uint64_t y, uint64_t x, uint64_t h, uint64_t w,
                                const unsigned char *model, struct zs_error *err)
{
    unsigned char data[SIDE * SIDE];
    memcpy(data, model, sizeof data);
    const struct zs_window window = {
        .start = {y, x}, .count = {h, w}, .data = data + y * SIDE + x, .stride = {SIDE, 1}};
    return zs_array_write_windows(a, &window, 1, 1, NULL, NULL, err);
}

static void fill_model(unsigned char *model, unsigned first)
{
    for (unsigned i = 0; i < SIDE * SIDE; i++)
        model[i] = (unsigned char)(first + i % 50);
}

/* A store with all of `model` in it. */
static struct zs_store *store_with(const struct zs_node *node, const unsigned char *model)
{
    struct zs_error err;
    struct zs_store *store = memory_store();
    struct zs_array *a = open_node(store, node, 1, 0);
    must(write_box(a, 0, 0, SIDE, SIDE, model, &err), &err);
    must(zs_array_flush(a, &err), &err);
    zs_array_close(a);
    return store;
}

static void check_content(struct zs_array *a, const unsigned char *model)
{
    struct zs_error err = {""};
    unsigned char out[SIDE * SIDE] = {0};
    CHECK_OK(zs_array_read(a, zeros, whole, out, &err), &err);
    CHECK_EQ_MEM(out, model, sizeof out);
}

/* ---- Reading ---- */

static void read_with_failures(int layout, int threads, bool remote)
{
    struct zs_node *node = node_of(layout);
    unsigned char model[SIDE * SIDE];
    fill_model(model, 1);
    struct zs_store *store = store_with(node, model);
    bool failed = true;
    for (long n = 1; failed; n++) {
        struct fault_store faults;
        fault_store_init(&faults, store);
        faults.base.is_remote = remote;
        struct zs_array *a = open_node(&faults.base, node, threads, 0);
        faults.fail_at = n;
        struct zs_error err = {""};
        unsigned char out[SIDE * SIDE] = {0};
        const enum zs_status status = zs_array_read(a, zeros, whole, out, &err);
        failed = faults.calls >= n;
        CHECK(status == (failed ? ZS_IO : ZS_OK)); /* never nodata */
        if (failed)
            CHECK_CONTAINS(err.message, "fault/a");
        else
            CHECK_EQ_MEM(out, model, sizeof out);
        faults.fail_at = 0;
        check_content(a, model);
        zs_array_close(a);
        if (!CHECK(n < 1000))
            break;
    }
    zs_store_free(store);
    zs_node_free(node);
}

TEST(test_every_read_failure_is_reported_and_reading_works_again)
{
    for (int layout = 0; layout < LAYOUTS; layout++)
        for (int remote = 0; remote < 2; remote++) {
            read_with_failures(layout, 1, remote);
            read_with_failures(layout, 4, remote);
        }
}

/* ---- Writing ---- */

struct object_copy {
    char *key;
    struct zs_buffer bytes;
    bool is_there;
};

#define MOST_OBJECTS 6

/* All objects that the array can have, as they are. */
static void copy_objects(struct zs_store *store, struct object_copy *copies)
{
    for (int i = 0; i < MOST_OBJECTS; i++) {
        copies[i] = (struct object_copy){.key = zs_format("a/c/%d/%d", i / 2, i % 2)};
        copies[i].is_there = has_object(store, copies[i].key);
        if (copies[i].is_there)
            copies[i].bytes = get_object(store, copies[i].key);
    }
}

static void free_copies(struct object_copy *copies)
{
    for (int i = 0; i < MOST_OBJECTS; i++) {
        zs_buffer_free(&copies[i].bytes);
        free(copies[i].key);
    }
}

static bool same(const struct object_copy *a, const struct object_copy *b)
{
    return a->is_there == b->is_there && (!a->is_there || (a->bytes.size == b->bytes.size &&
                                                           memcmp(a->bytes.data, b->bytes.data, a->bytes.size) == 0));
}

/* Whole chunks, parts of chunks, a shard all fill, in the order of an impatient user. Goes on after failures. */
static bool change(struct zs_array *a, const unsigned char *model, struct zs_error *err)
{
    bool ok = write_box(a, 0, 0, 4, 8, model, err) == ZS_OK;   /* a shard */
    ok = write_box(a, 1, 9, 2, 2, model, err) == ZS_OK && ok;  /* inside of chunks */
    ok = write_box(a, 3, 0, 4, 12, model, err) == ZS_OK && ok; /* across shards */
    ok = write_box(a, 8, 0, 4, 8, model, err) == ZS_OK && ok;  /* a shard of fill */
    return zs_array_flush(a, err) == ZS_OK && ok;
}

/* What `change` makes of the first model. */
static void changed_model(const unsigned char *before, const unsigned char *written, unsigned char *after)
{
    static const int boxes[4][4] = {{0, 0, 4, 8}, {1, 9, 2, 2}, {3, 0, 4, 12}, {8, 0, 4, 8}};
    memcpy(after, before, SIDE * SIDE);
    for (int b = 0; b < 4; b++)
        for (int y = boxes[b][0]; y < boxes[b][0] + boxes[b][2]; y++)
            memcpy(after + y * SIDE + boxes[b][1], written + y * SIDE + boxes[b][1], (size_t)boxes[b][3]);
}

static void write_with_failures(int layout, uint64_t budget, bool fail_on, bool half_written, bool remote)
{
    struct zs_node *node = node_of(layout);
    unsigned char before[SIDE * SIDE], written[SIDE * SIDE], after[SIDE * SIDE];
    fill_model(before, 1);
    fill_model(written, 101);
    memset(written + 8 * SIDE, 0, 4 * SIDE);
    changed_model(before, written, after);
    bool failed = true;
    for (long n = 1; failed; n++) {
        struct zs_error err = {""};
        struct zs_store *store = store_with(node, before);
        struct object_copy old[MOST_OBJECTS], now[MOST_OBJECTS];
        copy_objects(store, old);
        struct fault_store faults;
        fault_store_init(&faults, store);
        faults.fail_on = fail_on;
        faults.half_written = half_written;
        faults.base.is_remote = remote; /* shards side by side */
        struct zs_array *a = open_node(&faults.base, node, 2, budget);
        faults.fail_at = n;
        const bool ok = change(a, written, &err);
        failed = faults.calls >= n;
        CHECK(ok == !failed);
        if (failed)
            CHECK_CONTAINS(err.message, "fault/a");

        /* Each object alone is one that a reader can use, of old and new pixels only. */
        struct zs_array *reader = open_node(store, node, 1, 0);
        unsigned char out[SIDE * SIDE];
        if (CHECK(zs_array_read(reader, zeros, whole, out, &err) == ZS_OK))
            for (int i = 0; i < SIDE * SIDE; i++)
                CHECK(out[i] == before[i] || out[i] == after[i]);
        else
            fprintf(stderr, "layout %d, call %ld: %s\n", layout, n, err.message);
        if (!failed)
            CHECK_EQ_MEM(out, after, sizeof out);
        zs_array_close(reader);
        if (fail_on && n == 1) { /* nothing at all got through */
            copy_objects(store, now);
            for (int i = 0; i < MOST_OBJECTS; i++)
                CHECK(same(&old[i], &now[i]));
            free_copies(now);
        }

        faults.fail_at = 0;
        if (n % 2 == 0) { /* a user who tries again */
            CHECK(change(a, written, &err));
            check_content(a, after);
        }
        zs_array_close(a); /* ... or gives up */
        reader = open_node(store, node, 1, 0);
        if (n % 2 == 0)
            check_content(reader, after);
        zs_array_close(reader);
        free_copies(old);
        zs_store_free(store);
        if (!CHECK(n < 1000))
            break;
    }
    zs_node_free(node);
}

TEST(test_every_write_failure_is_reported_and_objects_are_old_or_new)
{
    for (int layout = 0; layout < LAYOUTS; layout++)
        for (int variant = 0; variant < 16; variant++)
            write_with_failures(layout, variant & 1 ? 1 : 0, variant & 2, variant & 4, variant & 8);
}

/* Six objects of which each has a changed element; one call fails. */
TEST(test_a_flush_that_fails_at_one_shard_writes_the_others_and_can_be_tried_again)
{
    for (int layout = 0; layout < 2 * LAYOUTS; layout++) {
        bool failed = true;
        for (long n = 1; failed; n++) {
            struct zs_error err = {""};
            struct zs_node *node = node_of(layout / 2);
            unsigned char before[SIDE * SIDE], after[SIDE * SIDE], out[SIDE * SIDE];
            fill_model(before, 1);
            memcpy(after, before, sizeof after);
            struct zs_store *store = store_with(node, before);
            struct fault_store faults;
            fault_store_init(&faults, store);
            faults.base.is_remote = layout % 2;
            struct zs_array *a = open_node(&faults.base, node, 2, 0);
            for (uint64_t i = 0; i < MOST_OBJECTS; i++) {
                after[(i / 2 * 4 + 1) * SIDE + i % 2 * 8 + 1] = 99;
                must(write_box(a, i / 2 * 4 + 1, i % 2 * 8 + 1, 1, 1, after, &err), &err);
            }
            faults.calls = 0;
            faults.fail_at = n;
            const enum zs_status status = zs_array_flush(a, &err);
            failed = faults.calls >= n;
            CHECK((status != ZS_OK) == failed);
            if (failed)
                CHECK_CONTAINS(err.message, "fault/a");
            struct zs_array *reader = open_node(store, node, 1, 0);
            int written = 0;
            must(zs_array_read(reader, zeros, whole, out, &err), &err);
            for (int i = 0; i < SIDE * SIDE; i++) {
                CHECK(out[i] == before[i] || out[i] == after[i]);
                written += out[i] != before[i];
            }
            CHECK(written >= (failed ? MOST_OBJECTS - 1 : MOST_OBJECTS)); /* a shard that is complete is tried twice */
            zs_array_close(reader);
            faults.fail_at = 0;
            must(zs_array_flush(a, &err), &err);
            zs_array_close(a);
            reader = open_node(store, node, 1, 0);
            check_content(reader, after);
            zs_array_close(reader);
            zs_store_free(store);
            zs_node_free(node);
            if (!CHECK(n < 1000))
                break;
        }
    }
}
