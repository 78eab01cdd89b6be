/* Changes of several documents whose writer is killed, at every step: the next writer finds all of them, or none. */
#define _GNU_SOURCE /* mkdtemp */
#include <stdlib.h>

#include <cpl_vsi.h>

#include "fault_store.h"
#include "zarr/hierarchy.h"
#include "zarr/make.h"

#define ARRAY                                                                                                \
    "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[4],\"data_type\":\"uint8\",\"fill_value\":0,"     \
    "\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[2]}},"                         \
    "\"chunk_key_encoding\":\"default\",\"codecs\":[\"bytes\"],\"dimension_names\":[\"t\"]}"
#define GROUP "{\"zarr_format\":3,\"node_type\":\"group\"}"
#define LISTING(nodes)                                                                                 \
    "{\"zarr_format\":3,\"node_type\":\"group\",\"consolidated_metadata\":{\"kind\":\"inline\","       \
    "\"must_understand\":false,\"metadata\":{" nodes "}}}"
#define CONSOLIDATED LISTING("\"g\":" GROUP ",\"g/a\":" ARRAY ",\"g/b\":" ARRAY)

/* A store on disk, each time anew, before which calls fail. */
struct stage {
    char *root;
    struct zs_store *inner;
    struct fault_store store;
};

static void put(struct zs_store *store, const char *key, const char *text)
{
    CHECK(zs_store_put(store, key, text, strlen(text), NULL) == ZS_OK);
}

static void stage_open(struct stage *s, bool is_consolidated)
{
    const char *tmp = getenv("TMPDIR");
    s->root = zs_format("%s/test_documents_safety.XXXXXX", tmp != NULL ? tmp : "/tmp");
    CHECK(mkdtemp(s->root) != NULL);
    CHECK(zs_store_open(s->root, &s->inner, NULL) == ZS_OK);
    zs_store_set_sync(s->inner, ZS_SYNC_NO);
    put(s->inner, "zarr.json", is_consolidated ? CONSOLIDATED : GROUP);
    put(s->inner, "g/zarr.json", GROUP);
    put(s->inner, "g/a/zarr.json", ARRAY);
    put(s->inner, "g/b/zarr.json", ARRAY);
    fault_store_init(&s->store, s->inner);
}

static void stage_close(struct stage *s)
{
    zs_store_free(s->inner);
    VSIRmdirRecursive(s->root);
    free(s->root);
}

static struct zs_hierarchy *opened(struct zs_store *store)
{
    struct zs_hierarchy *h = NULL;
    struct zs_error err = {0};
    if (!CHECK(zs_hierarchy_open(store, true, &h, &err) == ZS_OK))
        fprintf(stderr, "%s\n", err.message);
    return h;
}

static bool grow(struct zs_hierarchy *h, uint64_t size)
{
    static const char *const paths[] = {"g/a", "g/b"};
    const struct zs_node *node = NULL;
    for (int i = 0; i < 2; i++)
        if (zs_hierarchy_node(h, paths[i], &node, NULL) != ZS_OK ||
            zs_array_update_document(h, node, &size, NULL, NULL, &node, NULL) != ZS_OK)
            return false;
    return zs_hierarchy_flush(h, NULL) == ZS_OK;
}

static uint64_t length(struct zs_hierarchy *h, const char *path)
{
    const struct zs_node *node = NULL;
    return zs_hierarchy_node(h, path, &node, NULL) == ZS_OK && node->array != NULL ? node->array->shape[0] : 0;
}

static bool has_journal(struct zs_store *store)
{
    char *key = zs_journal_key("zarr.json");
    struct zs_buffer text = {0};
    const bool has = zs_store_get(store, key, 100000, &text, NULL) == ZS_OK;
    zs_buffer_free(&text);
    free(key);
    return has;
}

/* What is done to a store, and what the next writer finds when the process that did it was killed. */
struct trial {
    void (*open)(struct stage *s, bool is_consolidated);
    bool (*act)(struct zs_hierarchy *h); /* returns whether all was done */
    bool (*check)(struct stage *s);      /* returns whether all of it is there */
};

/* How many processes were killed, and of how many of these all is there. */
struct kills {
    int killed, whole;
};

/* Kills a trial at its first step, and another at its second, until one is done. Unless `is_killed` that call alone
 * fails, and the process ends after it has told so. */
static void end_at_each_step(const struct trial *t, bool is_consolidated, bool is_killed, struct kills *kills)
{
    bool is_done = false;
    for (long step = 1; !is_done && step < 100; step++) {
        struct stage s;
        t->open(&s, is_consolidated);
        struct zs_hierarchy *h = opened(&s.store.base);
        s.store.fail_at = s.store.calls + step;
        s.store.fail_on = is_killed;
        is_done = t->act(h);
        zs_hierarchy_free(h);
        const bool is_whole = t->check(&s);
        stage_close(&s);
        kills->killed += is_done ? 0 : 1;
        kills->whole += is_whole && !is_done;
    }
    CHECK(is_done);
}

static void kill_at_each_step(const struct trial *t, bool is_consolidated, struct kills *kills)
{
    end_at_each_step(t, is_consolidated, true, kills);
}

/* The same with and without consolidated metadata. */
static struct kills kill_with_each_listing(const struct trial *t)
{
    struct kills kills = {0};
    for (int is_consolidated = 0; is_consolidated < 2; is_consolidated++)
        kill_at_each_step(t, is_consolidated == 1, &kills);
    return kills;
}

/* The next writer makes whole what is there, and leaves no journal. */
static void check_recovers(struct stage *s)
{
    CHECK(zs_hierarchy_recover(s->inner, NULL) == ZS_OK && !has_journal(s->inner));
}

static bool grow_to_6(struct zs_hierarchy *h)
{
    return grow(h, 6);
}

/* What the next writer finds: both arrays are as long. Then they grow to 8, for readers of each kind. */
static bool check_grows(struct stage *s)
{
    check_recovers(s);
    struct zs_hierarchy *h = opened(s->inner);
    const uint64_t now = length(h, "g/a");
    CHECK((now == 4 || now == 6) && length(h, "g/b") == now);
    CHECK(grow(h, 8));
    zs_hierarchy_free(h);
    for (int i = 0; i < 2; i++) {
        CHECK(zs_hierarchy_open(s->inner, i == 0, &h, NULL) == ZS_OK);
        CHECK_EQ_U64(length(h, "g/a"), 8);
        CHECK_EQ_U64(length(h, "g/b"), 8);
        zs_hierarchy_free(h);
    }
    return now == 6;
}

static void test_arrays_growing_together_are_completed_after_a_kill(void)
{
    const struct trial t = {stage_open, grow_to_6, check_grows};
    CHECK(kill_with_each_listing(&t).killed > 10);
}

/* Exactly one of two paths is listed, and has what is to be below it. Returns whether it is the second. */
static bool check_is_one(struct stage *s, const char *from, const char *to)
{
    bool is_renamed = false;
    check_recovers(s);
    for (int i = 0; i < 2; i++) {
        struct zs_hierarchy *h = NULL;
        const struct zs_node *node = NULL;
        CHECK(zs_hierarchy_open(s->inner, i == 0, &h, NULL) == ZS_OK);
        const bool has_from = zs_hierarchy_node(h, from, &node, NULL) == ZS_OK;
        const bool has_to = zs_hierarchy_node(h, to, &node, NULL) == ZS_OK;
        CHECK(has_from != has_to);
        char *a = zs_path_join(has_to ? to : from, "a");
        CHECK(node != NULL && (node->type == ZS_NODE_ARRAY || length(h, a) == 4));
        free(a);
        zs_hierarchy_free(h);
        is_renamed = has_to;
    }
    return is_renamed;
}

static bool rename_array(struct zs_hierarchy *h)
{
    return zs_node_rename(h, "g/b", "n", NULL) == ZS_OK;
}

static bool check_array(struct stage *s)
{
    return check_is_one(s, "g/b", "g/n");
}

static bool rename_group(struct zs_hierarchy *h)
{
    return zs_node_rename(h, "g", "n", NULL) == ZS_OK;
}

static bool check_group(struct stage *s)
{
    return check_is_one(s, "g", "n");
}

static void test_a_node_that_is_renamed_is_listed_after_a_kill(void)
{
    const struct trial array = {stage_open, rename_array, check_array}, group = {stage_open, rename_group, check_group};
    CHECK(kill_with_each_listing(&array).killed + kill_with_each_listing(&group).killed > 20);
}

/* Adds arrays g/c and g/d, and says so in attributes of the root. */
static bool add_two(struct zs_hierarchy *h)
{
    static const char *const names[] = {"c", "d"};
    const struct zs_node *node = NULL, *root = NULL;
    zs_json *attributes;
    for (int i = 0; i < 2; i++) {
        zs_json *document = NULL;
        if (zs_json_parse(ARRAY, strlen(ARRAY), &document, NULL) != ZS_OK ||
            zs_node_make(h, "g", names[i], document, &node, NULL) != ZS_OK)
            return false;
    }
    if (zs_hierarchy_node(h, "", &root, NULL) != ZS_OK || zs_hierarchy_edit(h, root, &attributes, NULL) != ZS_OK ||
        !zs_json_set_string(attributes, "has", "both"))
        return false;
    return zs_hierarchy_flush(h, NULL) == ZS_OK;
}

/* Readers see both arrays or none, and after the next writer the same, with the attribute. */
static bool check_both_are_listed(struct stage *s)
{
    struct zs_hierarchy *stored = NULL;
    CHECK(zs_hierarchy_open(s->inner, false, &stored, NULL) == ZS_OK);
    const bool are_there = length(stored, "g/c") == 4 && length(stored, "g/d") == 4;
    zs_hierarchy_free(stored);
    CHECK(zs_store_remove(s->inner, "g/c/.unfinished", NULL) == ZS_OK); /* of this process, which lives */
    CHECK(zs_store_remove(s->inner, "g/d/.unfinished", NULL) == ZS_OK);
    check_recovers(s);
    struct zs_hierarchy *h = opened(s->inner);
    const struct zs_node *root = NULL;
    CHECK(length(h, "g/c") == (are_there ? 4 : 0) && length(h, "g/d") == length(h, "g/c"));
    CHECK(zs_hierarchy_node(h, "", &root, NULL) == ZS_OK);
    CHECK(zs_json_equals(zs_json_get(root->attributes, "has"), "both") == are_there);
    CHECK(length(h, "g/a") == 4);
    zs_hierarchy_free(h);
    return are_there;
}

static void test_new_nodes_whose_writer_was_killed_are_listed_all_or_not_at_all(void)
{
    const struct trial t = {stage_open, add_two, check_both_are_listed};
    for (int is_consolidated = 0; is_consolidated < 2; is_consolidated++) {
        struct kills kills = {0};
        kill_at_each_step(&t, is_consolidated == 1, &kills);
        CHECK(kills.killed > 10 && kills.whole > 0);
    }
}

/* Kills what grows two arrays just after its journal was written. */
static void stage_noted(struct stage *s)
{
    stage_open(s, true);
    struct zs_hierarchy *h = opened(&s->store.base);
    s->store.fail_on = true;
    for (long step = 1; !has_journal(s->inner) && step < 100; step++) {
        s->store.fail_at = s->store.calls + step;
        CHECK(!grow(h, 6));
    }
    zs_hierarchy_free(h);
    s->store.fail_on = false;
    s->store.fail_at = 0;
}

static void test_changes_of_others_since_the_kill_stay(void)
{
    struct stage s;
    stage_noted(&s);
    struct zs_hierarchy *h = NULL;
    put(s.inner, "g/b/zarr.json", GROUP);
    CHECK(zs_hierarchy_recover(s.inner, NULL) == ZS_OK && !has_journal(s.inner));
    h = opened(s.inner);
    CHECK_EQ_U64(length(h, "g/a"), 6);
    zs_hierarchy_free(h);
    CHECK(zs_hierarchy_open(s.inner, false, &h, NULL) == ZS_OK);
    CHECK_EQ_U64(length(h, "g/b"), 0);
    zs_hierarchy_free(h);
    stage_close(&s);
}

static void test_a_damaged_document_keeps_no_other_from_being_finished(void)
{
    struct stage s;
    stage_noted(&s);
    put(s.inner, "g/a/zarr.json", "{");
    CHECK(zs_hierarchy_recover(s.inner, NULL) == ZS_OK && !has_journal(s.inner));
    struct zs_hierarchy *h = opened(s.inner);
    CHECK_EQ_U64(length(h, "g/a"), 4);
    CHECK_EQ_U64(length(h, "g/b"), 6);
    zs_hierarchy_free(h);
    stage_close(&s);
}

static void test_a_root_that_is_half_written_keeps_the_journal_until_it_is_whole(void)
{
    struct stage s;
    stage_noted(&s);
    struct zs_error err;
    struct zs_buffer root = {0};
    CHECK(zs_store_get(s.inner, "zarr.json", 1 << 20, &root, &err) == ZS_OK);
    put(s.inner, "zarr.json", "{");
    CHECK(zs_hierarchy_recover(s.inner, NULL) == ZS_IO && has_journal(s.inner));
    CHECK(zs_store_put(s.inner, "zarr.json", root.data, root.size, &err) == ZS_OK);
    zs_buffer_free(&root);
    CHECK(zs_hierarchy_recover(s.inner, NULL) == ZS_OK && !has_journal(s.inner));
    struct zs_hierarchy *h = opened(s.inner);
    CHECK_EQ_U64(length(h, "g/a"), 6);
    CHECK_EQ_U64(length(h, "g/b"), 6);
    zs_hierarchy_free(h);
    stage_close(&s);
}

/* Consolidated metadata that are older than the documents: arrays that have five elements by now. */
static void stage_open_older(struct stage *s, bool is_consolidated)
{
    char *longer = zs_strdup(ARRAY);
    memcpy(strstr(longer, "[4]"), "[5]", 3);
    stage_open(s, is_consolidated);
    put(s->inner, "g/a/zarr.json", longer);
    put(s->inner, "g/b/zarr.json", longer);
    free(longer);
}

static bool check_grow_together(struct stage *s)
{
    struct zs_hierarchy *h = NULL;
    check_recovers(s);
    CHECK(zs_hierarchy_open(s->inner, false, &h, NULL) == ZS_OK);
    const uint64_t now = length(h, "g/a");
    CHECK((now == 5 || now == 6) && length(h, "g/b") == now);
    zs_hierarchy_free(h);
    return now == 6;
}

static void test_arrays_that_consolidated_metadata_list_shorter_grow_together_after_a_kill(void)
{
    const struct trial t = {stage_open_older, grow_to_6, check_grow_together};
    const struct kills kills = kill_with_each_listing(&t);
    CHECK(kills.killed > 10 && kills.whole > 0);
}

/* A journal that a killed writer left while this one waited for its lock. */
struct left_journal {
    char *text;
    long fail_after; /* calls after it; the next one fails */
};

static void leave_journal(struct fault_store *store, enum fault_call call, void *ctx)
{
    struct left_journal *left = ctx;
    if (call != FAULT_LOCK || left->text == NULL)
        return;
    char *key = zs_journal_key("zarr.json");
    put(store->inner, key, left->text);
    free(key);
    free(left->text);
    left->text = NULL;
    store->fail_at = store->calls + left->fail_after + 1;
}

static char *journal_text(struct zs_store *store)
{
    char *key = zs_journal_key("zarr.json");
    struct zs_buffer text = {0};
    CHECK(zs_store_get(store, key, 100000, &text, NULL) == ZS_OK && zs_store_remove(store, key, NULL) == ZS_OK);
    char *copy = zs_strndup((const char *)text.data, text.size);
    zs_buffer_free(&text);
    free(key);
    return copy;
}

static void test_a_rename_that_cannot_finish_what_another_writer_began_leaves_its_journal(void)
{
    bool is_done = false;
    int failed = 0;
    for (long calls = 0; !is_done && calls < 200; calls++) {
        struct stage s;
        stage_noted(&s);
        struct left_journal left = {journal_text(s.inner), calls};
        put(s.inner, "zarr.json", LISTING("\"g\":" GROUP ",\"g/a\":" ARRAY ",\"g/b\":" ARRAY ",\"k\":" ARRAY));
        put(s.inner, "k/zarr.json", ARRAY);
        struct zs_hierarchy *h = opened(&s.store.base);
        s.store.before = leave_journal;
        s.store.ctx = &left;
        is_done = zs_node_rename(h, "k", "n", NULL) == ZS_OK;
        zs_hierarchy_free(h);
        failed += !is_done;
        check_recovers(&s);
        h = opened(s.inner);
        CHECK(length(h, "g/a") == 6 && length(h, "g/b") == 6);
        CHECK((length(h, "k") == 4) != (length(h, "n") == 4));
        zs_hierarchy_free(h);
        stage_close(&s);
    }
    CHECK(is_done && failed > 10);
}

/* ---- Answers that are lost ---- */

static bool add_three(struct zs_hierarchy *h)
{
    static const char *const names[] = {"n", "o", "p"};
    const struct zs_node *node = NULL;
    for (int i = 0; i < 3; i++) {
        zs_json *document = NULL;
        if (zs_json_parse(ARRAY, strlen(ARRAY), &document, NULL) != ZS_OK ||
            zs_node_make(h, "", names[i], document, &node, NULL) != ZS_OK)
            return false;
    }
    return true;
}

static void test_a_new_document_whose_answer_was_lost_is_put_again(void)
{
    for (int kind = 0; kind < 2; kind++) {
        bool is_done = false;
        for (long step = 1; !is_done && step < 200; step++) {
            struct stage s;
            struct zs_error err = {0};
            stage_open(&s, kind == 1);
            struct zs_hierarchy *h = opened(&s.store.base);
            CHECK(add_three(h));
            s.store.has_committed = true;
            s.store.fail_at = s.store.calls + step;
            is_done = zs_hierarchy_flush(h, &err) == ZS_OK;
            if (!CHECK(zs_hierarchy_flush(h, &err) == ZS_OK))
                fprintf(stderr, "%s\n", err.message);
            zs_hierarchy_free(h);
            h = opened(s.inner);
            CHECK(length(h, "n") == 4 && length(h, "o") == 4 && length(h, "p") == 4);
            zs_hierarchy_free(h);
            stage_close(&s);
        }
        CHECK(is_done);
    }
}

/* What another writer says of a new array that a flush stored before it failed stays when the flush is tried again. */
static void test_properties_set_on_a_new_array_between_two_flushes_stay(void)
{
    int set = 0;
    bool is_done = false;
    for (long step = 1; !is_done && step < 200; step++) {
        struct stage s;
        const struct zs_node *node = NULL;
        zs_json *attributes;
        stage_open(&s, false);
        struct zs_hierarchy *h = opened(&s.store.base), *other;
        CHECK(add_three(h));
        s.store.fail_at = s.store.calls + step;
        is_done = zs_hierarchy_flush(h, NULL) == ZS_OK;
        other = opened(s.inner);
        const bool is_there = zs_hierarchy_node(other, "p", &node, NULL) == ZS_OK;
        if (is_there) {
            CHECK(zs_hierarchy_edit(other, node, &attributes, NULL) == ZS_OK);
            CHECK(zs_json_set_string(attributes, "k", "theirs") && zs_hierarchy_flush(other, NULL) == ZS_OK);
        }
        zs_hierarchy_free(other);
        CHECK(zs_hierarchy_flush(h, NULL) == ZS_OK);
        zs_hierarchy_free(h);
        h = opened(s.inner);
        CHECK(zs_hierarchy_node(h, "p", &node, NULL) == ZS_OK);
        CHECK(zs_json_equals(zs_json_get(node->attributes, "k"), "theirs") == is_there);
        zs_hierarchy_free(h);
        stage_close(&s);
        set += is_there && !is_done;
    }
    CHECK(is_done && set > 0);
}

/* ---- Nodes that are taken back ---- */

/* Adds a group n with the arrays n/c and n/d. */
static bool add_group(struct zs_hierarchy *h)
{
    static const char *const names[] = {"c", "d"};
    const struct zs_node *node = NULL;
    bool ok = zs_group_make(h, "", "n", &node, NULL) == ZS_OK;
    for (int i = 0; i < 2 && ok; i++) {
        zs_json *document = NULL;
        ok = zs_json_parse(ARRAY, strlen(ARRAY), &document, NULL) == ZS_OK &&
             zs_node_make(h, "n", names[i], document, &node, NULL) == ZS_OK;
    }
    return ok && zs_hierarchy_flush(h, NULL) == ZS_OK;
}

static void check_taken_back(struct stage *s, bool has_theirs, bool is_changed)
{
    for (int i = 0; i < 2; i++) {
        struct zs_hierarchy *h = NULL;
        CHECK(zs_hierarchy_open(s->inner, i == 0, &h, NULL) == ZS_OK);
        CHECK_EQ_U64(length(h, "g/a"), 4);
        CHECK_EQ_U64(length(h, "n/c"), 0);
        if (i == 1 || !is_changed) /* what is listed of theirs is theirs to change */
            CHECK_EQ_U64(length(h, "n/d"), is_changed ? 5 : 0);
        zs_hierarchy_free(h);
    }
    struct zs_buffer data = {0};
    CHECK((zs_store_get(s->inner, "n/theirs/c/0", 10, &data, NULL) == ZS_OK) == has_theirs);
    CHECK((zs_store_get(s->inner, "n/theirs/zarr.json", 1000, &data, NULL) == ZS_OK) == has_theirs);
    CHECK((zs_store_get(s->inner, "n/d/c/0", 10, &data, NULL) == ZS_OK) == is_changed);
    CHECK(zs_store_get(s->inner, "n/c/c/0", 10, &data, NULL) == ZS_NOT_FOUND);
    zs_buffer_free(&data);
}

/* Whichever step fails, what was added goes, listed or not; what somebody else put into the group or replaced stays. */
static void test_failed_edit_removes_only_nodes_that_it_added(void)
{
    int failed = 0, changed = 0;
    for (int kind = 0; kind < 6; kind++) {
        bool is_done = false;
        for (long step = 1; !is_done && step < 100; step++) {
            struct stage s;
            const bool has_theirs = kind / 2 >= 1;
            stage_open(&s, kind % 2 == 1);
            struct zs_hierarchy *h = opened(&s.store.base);
            s.store.fail_at = s.store.calls + step;
            is_done = add_group(h);
            put(s.inner, "n/c/c/0", "ab");
            put(s.inner, "n/d/c/0", "cd");
            if (has_theirs) {
                put(s.inner, "n/theirs/zarr.json", ARRAY);
                put(s.inner, "n/theirs/c/0", "12");
            }
            const bool is_changed = kind / 2 == 2;
            if (is_changed) {
                char *longer = zs_strdup(ARRAY);
                memcpy(strstr(longer, "[4]"), "[5]", 3);
                put(s.inner, "n/d/zarr.json", longer);
                free(longer);
            }
            struct zs_error err = {0};
            s.store.fail_at = 0;
            if (!CHECK(zs_hierarchy_take_back(h, &s.store.base, "n", &err) == ZS_OK))
                fprintf(stderr, "%s\n", err.message);
            check_taken_back(&s, has_theirs, is_changed);
            zs_hierarchy_free(h);
            stage_close(&s);
            failed += is_done ? 0 : 1;
            changed += is_changed;
        }
        CHECK(is_done);
    }
    CHECK(failed > 20 && changed > 5);
}

/* An array that was added here and removed, or added and undone, and then made by somebody else, is theirs. */
static void test_array_of_another_writer_at_a_removed_path_is_not_undone(void)
{
    for (int is_undone = 0; is_undone < 2; is_undone++) {
        struct stage s;
        const struct zs_node *node = NULL;
        stage_open(&s, false);
        struct zs_hierarchy *h = opened(&s.store.base);
        const struct zs_savepoint savepoint = zs_savepoint_begin(h);
        CHECK(add_group(h));
        if (is_undone) {
            zs_json *document = NULL;
            CHECK(zs_json_parse(ARRAY, strlen(ARRAY), &document, NULL) == ZS_OK);
            CHECK(zs_node_make(h, "n", "e", document, &node, NULL) == ZS_OK);
        } else {
            CHECK(zs_hierarchy_remove(h, "n/c", NULL) == ZS_OK);
        }
        zs_savepoint_end(h, savepoint, !is_undone);
        CHECK(zs_hierarchy_flush(h, NULL) == ZS_OK);
        const char *path = is_undone ? "n/e" : "n/c";
        char *key = zs_path_join(path, "zarr.json");
        put(s.inner, key, ARRAY);
        CHECK(zs_hierarchy_stored_node(h, path, &node, NULL) == ZS_OK);
        CHECK(zs_hierarchy_take_back(h, &s.store.base, "n", NULL) == ZS_OK);
        struct zs_buffer text = {0};
        CHECK(zs_store_get(s.inner, key, 1000, &text, NULL) == ZS_OK);
        CHECK(zs_store_get(s.inner, "n/d/zarr.json", 1000, &text, NULL) == ZS_NOT_FOUND);
        zs_buffer_free(&text);
        free(key);
        zs_hierarchy_free(h);
        stage_close(&s);
    }
}

/* ---- Removed nodes ---- */

static bool is_there(struct zs_store *store, const char *key)
{
    struct zs_buffer data = {0};
    const bool is = zs_store_get(store, key, 100000, &data, NULL) == ZS_OK;
    zs_buffer_free(&data);
    return is;
}

/* A store of g, g/a, g/b with chunks, and k. */
static void stage_open_full(struct stage *s, bool is_consolidated)
{
    stage_open(s, is_consolidated);
    put(s->inner, "k/zarr.json", ARRAY);
    put(s->inner, "g/a/c/0", "12");
    put(s->inner, "g/b/c/1", "34");
    if (is_consolidated)
        put(s->inner, "zarr.json",
            LISTING("\"g\":" GROUP ",\"g/a\":" ARRAY ",\"g/b\":" ARRAY ",\"k\":" ARRAY));
}

/* Removes g, and says so in attributes of k. */
static bool remove_group(struct zs_hierarchy *h)
{
    const struct zs_node *k = NULL;
    zs_json *attributes;
    return zs_hierarchy_node(h, "k", &k, NULL) == ZS_OK && zs_hierarchy_edit(h, k, &attributes, NULL) == ZS_OK &&
           zs_json_set_string(attributes, "is", "alone") && zs_hierarchy_remove(h, "g", NULL) == ZS_OK &&
           zs_hierarchy_flush(h, NULL) == ZS_OK;
}

/* Whether g is there, of which all readers see the same: with all its documents and chunks, or with nothing. */
static bool has_group(struct stage *s)
{
    static const char *const keys[] = {"g/zarr.json", "g/a/zarr.json", "g/b/zarr.json", "g/a/c/0", "g/b/c/1"};
    const bool has = is_there(s->inner, keys[0]);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        CHECK(is_there(s->inner, keys[i]) == has);
    for (int i = 0; i < 2; i++) {
        struct zs_hierarchy *h = NULL;
        const struct zs_node *node = NULL, *k = NULL;
        CHECK(zs_hierarchy_open(s->inner, i == 0, &h, NULL) == ZS_OK);
        CHECK((zs_hierarchy_node(h, "g", &node, NULL) == ZS_OK && !node->is_implicit) == has);
        CHECK((length(h, "g/a") == 4) == has && (length(h, "g/b") == 4) == has && length(h, "k") == 4);
        CHECK(zs_hierarchy_node(h, "k", &k, NULL) == ZS_OK);
        CHECK(zs_json_equals(zs_json_get(k->attributes, "is"), "alone") != has);
        zs_hierarchy_free(h);
    }
    return has;
}

/* What was noted to go is gone after the next writer. */
static bool check_is_gone(struct stage *s)
{
    const bool was_noted = has_journal(s->inner);
    check_recovers(s);
    const bool is_gone = !has_group(s);
    CHECK(is_gone || !was_noted);
    return is_gone;
}

static void test_nodes_whose_remover_was_killed_are_gone_or_all_there(void)
{
    const struct trial t = {stage_open_full, remove_group, check_is_gone};
    const struct kills kills = kill_with_each_listing(&t);
    CHECK(kills.killed > 20 && kills.whole > 10);
}

static void test_nodes_whose_removal_failed_are_gone_or_all_there(void)
{
    const struct trial t = {stage_open_full, remove_group, check_is_gone};
    struct kills kills = {0};
    for (int is_consolidated = 0; is_consolidated < 2; is_consolidated++)
        end_at_each_step(&t, is_consolidated == 1, false, &kills);
    CHECK(kills.killed > 20 && kills.whole > 5);
}

/* Makes groups in the place of g, and says so in attributes of k. */
static bool replace_group(struct zs_hierarchy *h)
{
    const struct zs_node *node = NULL;
    return zs_group_make(h, "", "more", &node, NULL) == ZS_OK && zs_group_make(h, "more", "new", &node, NULL) == ZS_OK &&
           remove_group(h);
}

static bool check_is_replaced(struct stage *s)
{
    check_recovers(s);
    const bool is_gone = !has_group(s);
    CHECK(is_there(s->inner, "more/zarr.json") == is_gone && is_there(s->inner, "more/new/zarr.json") == is_gone);
    return is_gone;
}

static void test_nodes_that_are_replaced_by_others_are_gone_when_these_are_there(void)
{
    const struct trial killed = {stage_open_full, replace_group, check_is_replaced};
    CHECK(kill_with_each_listing(&killed).whole > 5);
}

/* Kills what removes g when the documents go. */
static void stage_killed(struct stage *s, bool is_consolidated)
{
    bool is_cut = false;
    for (long step = 1; !is_cut && step < 100; step++) {
        if (step > 1)
            stage_close(s);
        stage_open_full(s, is_consolidated);
        struct zs_hierarchy *h = opened(&s->store.base);
        s->store.fail_at = s->store.calls + step;
        s->store.fail_on = true;
        CHECK(!remove_group(h));
        zs_hierarchy_free(h);
        h = opened(s->inner);
        const struct zs_node *node = NULL;
        is_cut = is_consolidated ? zs_hierarchy_node(h, "g", &node, NULL) == ZS_NOT_FOUND : has_journal(s->inner);
        zs_hierarchy_free(h);
    }
    CHECK(is_cut && has_journal(s->inner) && is_there(s->inner, "g/b/zarr.json"));
}

static void test_nodes_created_by_others_at_removed_paths_stay(void)
{
    static const char other[] = "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[9],\"data_type\":\"uint8\","
                                "\"fill_value\":0,\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_"
                                "shape\":[2]}},\"chunk_key_encoding\":\"default\",\"codecs\":[\"bytes\"]}";
    for (int is_consolidated = 0; is_consolidated < 2; is_consolidated++) {
        struct stage s;
        stage_killed(&s, is_consolidated == 1);
        put(s.inner, "g/b/zarr.json", other);
        put(s.inner, "g/n/zarr.json", ARRAY);
        CHECK(zs_hierarchy_recover(s.inner, NULL) == ZS_OK && !has_journal(s.inner));
        CHECK(!is_there(s.inner, "g/a/zarr.json") && !is_there(s.inner, "g/a/c/0"));
        CHECK(is_there(s.inner, "g/b/zarr.json") && is_there(s.inner, "g/b/c/1") && is_there(s.inner, "g/n/zarr.json"));
        CHECK(is_there(s.inner, "g/zarr.json"));
        stage_close(&s);
    }
}

static void test_removed_nodes_listed_again_by_others_stay(void)
{
    struct stage s;
    stage_killed(&s, true);
    put(s.inner, "zarr.json", LISTING("\"g\":" GROUP ",\"g/b\":" ARRAY ",\"k\":" ARRAY));
    CHECK(zs_hierarchy_recover(s.inner, NULL) == ZS_OK && !has_journal(s.inner));
    CHECK(!is_there(s.inner, "g/a/zarr.json") && is_there(s.inner, "g/b/zarr.json") && is_there(s.inner, "g/b/c/1"));
    struct zs_hierarchy *h = opened(s.inner);
    CHECK(length(h, "g/b") == 4);
    zs_hierarchy_free(h);
    stage_close(&s);
}

/* Adds a group and one in it. */
static bool add_groups(struct zs_hierarchy *h)
{
    const struct zs_node *node = NULL;
    return zs_group_make(h, "", "more", &node, NULL) == ZS_OK && zs_group_make(h, "more", "new", &node, NULL) == ZS_OK &&
           zs_hierarchy_flush(h, NULL) == ZS_OK;
}

/* Both groups are there and listed, or none, and then they can be made. */
static bool check_both_groups(struct stage *s)
{
    check_recovers(s);
    const bool has = is_there(s->inner, "more/zarr.json");
    CHECK(is_there(s->inner, "more/new/zarr.json") == has);
    const struct zs_node *node = NULL;
    struct zs_hierarchy *h = opened(s->inner);
    CHECK((zs_hierarchy_node(h, "more/new", &node, NULL) == ZS_OK) == has);
    CHECK(has || add_groups(h));
    zs_hierarchy_free(h);
    return has;
}

static void test_new_groups_of_a_killed_writer_can_be_created_again(void)
{
    const struct trial t = {stage_open, add_groups, check_both_groups};
    for (int is_consolidated = 0; is_consolidated < 2; is_consolidated++) {
        struct kills kills = {0};
        kill_at_each_step(&t, is_consolidated == 1, &kills);
        CHECK(kills.whole > 0);
    }
}

/* An array that is told of its new neighbour. */
static bool add_one_beside(struct zs_hierarchy *h)
{
    const struct zs_node *node = NULL, *a = NULL;
    zs_json *attributes, *document = NULL;
    return zs_json_parse(ARRAY, strlen(ARRAY), &document, NULL) == ZS_OK &&
           zs_node_make(h, "g", "A", document, &node, NULL) == ZS_OK && zs_hierarchy_node(h, "g/a", &a, NULL) == ZS_OK &&
           zs_hierarchy_edit(h, a, &attributes, NULL) == ZS_OK && zs_json_set_string(attributes, "of", "A") &&
           zs_hierarchy_flush(h, NULL) == ZS_OK;
}

/* What readers of each kind find, and the next writer: no array names one that is not there. */
static bool check_names_what_is_there(struct stage *s)
{
    bool is_named = false;
    for (int i = 0; i < 3; i++) {
        struct zs_hierarchy *h = NULL;
        const struct zs_node *a = NULL;
        if (i == 2)
            check_recovers(s);
        CHECK(zs_hierarchy_open(s->inner, i == 1, &h, NULL) == ZS_OK);
        CHECK(zs_hierarchy_node(h, "g/a", &a, NULL) == ZS_OK);
        const bool names = zs_json_equals(zs_json_get(a->attributes, "of"), "A"), has = length(h, "g/A") == 4;
        CHECK(i == 2 ? names == has : !names || has);
        is_named = names && has;
        zs_hierarchy_free(h);
    }
    return is_named;
}

static void test_an_array_never_names_one_whose_writer_was_killed(void)
{
    const struct trial t = {stage_open, add_one_beside, check_names_what_is_there};
    for (int is_consolidated = 0; is_consolidated < 2; is_consolidated++) {
        struct kills kills = {0};
        kill_at_each_step(&t, is_consolidated == 1, &kills);
        CHECK(kills.whole > 0);
    }
}

static void test_invalid_journal_is_ignored(void)
{
    static const char *const texts[] = {"", "{", "[]", "{}", "{\"changes\":{\"../x\":{}}}", "{\"changes\":{\"g/a\":{}}}",
                                        "{\"changes\":{\"g/a\":{\"before\":1,\"after\":2}}}",
                                        "{\"removed\":{\"../x\":{}}}", "{\"removed\":{\"\":" GROUP "}}", "{\"removed\":[1]}",
                                        "{\"removed\":{\"g/a\":" GROUP "}}", "{\"removed\":{\"g/a\":1},\"root\":-1}",
                                        "{\"new\":{\"x\":" GROUP "},\"made\":[\"../x\"]}",
                                        "{\"new\":{\"x\":" GROUP "},\"made\":[7]}", "{\"new\":{\"x\":1},\"made\":[\"g\"]}",
                                        "{\"new\":{\"x\":" GROUP "},\"made\":{\"x\":\"x\"}}",
                                        "{\"changes\":[2]}", "{\"new\":[2],\"made\":[\"x\"]}",
                                        "{\"new\":{\"g\":" GROUP "},\"made\":[],\"beside\":[{}]}",
                                        "{\"removed\":[\"g/a\"]}",
                                        "{\"from\":\"..\",\"to\":\"g\"}", "{\"from\":\"p\",\"to\":\"q\"}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct stage s;
        stage_open(&s, true);
        char *key = zs_journal_key("zarr.json");
        put(s.inner, key, texts[i]);
        free(key);
        check_grows(&s);
        stage_close(&s);
    }
}

int main(void)
{
    RUN(test_arrays_growing_together_are_completed_after_a_kill);
    RUN(test_a_node_that_is_renamed_is_listed_after_a_kill);
    RUN(test_new_nodes_whose_writer_was_killed_are_listed_all_or_not_at_all);
    RUN(test_changes_of_others_since_the_kill_stay);
    RUN(test_failed_edit_removes_only_nodes_that_it_added);
    RUN(test_nodes_whose_remover_was_killed_are_gone_or_all_there);
    RUN(test_nodes_created_by_others_at_removed_paths_stay);
    RUN(test_removed_nodes_listed_again_by_others_stay);
    RUN(test_new_groups_of_a_killed_writer_can_be_created_again);
    RUN(test_a_damaged_document_keeps_no_other_from_being_finished);
    RUN(test_a_root_that_is_half_written_keeps_the_journal_until_it_is_whole);
    RUN(test_arrays_that_consolidated_metadata_list_shorter_grow_together_after_a_kill);
    RUN(test_a_rename_that_cannot_finish_what_another_writer_began_leaves_its_journal);
    RUN(test_a_new_document_whose_answer_was_lost_is_put_again);
    RUN(test_properties_set_on_a_new_array_between_two_flushes_stay);
    RUN(test_array_of_another_writer_at_a_removed_path_is_not_undone);
    RUN(test_nodes_whose_removal_failed_are_gone_or_all_there);
    RUN(test_nodes_that_are_replaced_by_others_are_gone_when_these_are_there);
    RUN(test_an_array_never_names_one_whose_writer_was_killed);
    RUN(test_invalid_journal_is_ignored);
    return check_result();
}
