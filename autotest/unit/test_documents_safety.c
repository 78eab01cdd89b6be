/* Changes of several documents whose writer is killed, at every step: the next writer finds all of them, or none. */
#include <stdlib.h>

#include <cpl_vsi.h>

#include "fault_store.h"
#include "zarr/hierarchy.h"

#define ARRAY_OF(size, fill, attributes)                                                                     \
    "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[" size "],\"data_type\":\"uint8\",\"fill_value\":" fill \
    ",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[2]}},"                        \
    "\"chunk_key_encoding\":\"default\",\"codecs\":[\"bytes\"],\"dimension_names\":[\"t\"]" attributes "}"
#define ARRAY ARRAY_OF("4", "0", "")
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
    CHECK_OK(zs_hierarchy_open(store, true, &h, &err), &err);
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
    const bool has = zs_store_get(store, key, 100000, &text, NULL) == ZS_OK && text.size > strlen("{}");
    zs_buffer_free(&text);
    free(key);
    return has;
}

/* ---- Edits, and what is there when all of one is done ---- */

static bool grow_to_6(struct zs_hierarchy *h)
{
    return grow(h, 6);
}

static bool is_grown(struct zs_hierarchy *h)
{
    const uint64_t now = length(h, "g/a");
    CHECK((now == 4 || now == 6) && length(h, "g/b") == now);
    return now == 6;
}

static bool rename_array(struct zs_hierarchy *h)
{
    return zs_node_rename(h, "g/b", "n", NULL) == ZS_OK;
}

static bool is_array_renamed(struct zs_hierarchy *h)
{
    const bool is = length(h, "g/n") == 4;
    CHECK((length(h, "g/b") == 4) != is);
    return is;
}

static bool rename_group(struct zs_hierarchy *h)
{
    return zs_node_rename(h, "g", "n", NULL) == ZS_OK;
}

static bool is_group_renamed(struct zs_hierarchy *h)
{
    const bool is = length(h, "n/a") == 4;
    CHECK(length(h, is ? "n/b" : "g/b") == 4 && length(h, is ? "g/a" : "n/a") == 0);
    return is;
}

static bool make(struct zs_hierarchy *h, const char *parent, const char *name)
{
    const struct zs_node *node = NULL;
    zs_json *document = NULL;
    return zs_json_parse(ARRAY, strlen(ARRAY), &document, NULL) == ZS_OK &&
           zs_node_make(h, parent, name, document, &node, NULL) == ZS_OK;
}

static bool set(struct zs_hierarchy *h, const char *path, const char *name, const char *value)
{
    const struct zs_node *node = NULL;
    zs_json *attributes;
    return zs_hierarchy_node(h, path, &node, NULL) == ZS_OK && zs_hierarchy_edit(h, node, &attributes, NULL) == ZS_OK &&
           zs_json_set_string(attributes, name, value);
}

static bool has(struct zs_hierarchy *h, const char *path, const char *name, const char *value)
{
    const struct zs_node *node = NULL;
    return zs_hierarchy_node(h, path, &node, NULL) == ZS_OK && zs_json_equals(zs_json_get(node->attributes, name), value);
}

/* Adds a group of two arrays, and says so in attributes beside them and of the root. */
static bool add_group(struct zs_hierarchy *h)
{
    const struct zs_node *node = NULL;
    return zs_node_make(h, "", "n", zs_group_document(), &node, NULL) == ZS_OK && make(h, "n", "c") && make(h, "n", "d") &&
           set(h, "", "has", "n") && set(h, "g/a", "of", "n") && zs_hierarchy_flush(h, NULL) == ZS_OK;
}

static bool is_group_added(struct zs_hierarchy *h)
{
    const bool is = length(h, "n/c") == 4;
    CHECK((length(h, "n/d") == 4) == is && has(h, "", "has", "n") == is && has(h, "g/a", "of", "n") == is);
    CHECK(length(h, "g/a") == 4);
    return is;
}

/* Removes g/b, which has a chunk, and says so in attributes of g/a. */
static bool remove_array(struct zs_hierarchy *h)
{
    return set(h, "g/a", "is", "alone") && zs_hierarchy_remove(h, "g/b", NULL) == ZS_OK &&
           zs_hierarchy_flush(h, NULL) == ZS_OK;
}

static bool is_there(struct zs_store *store, const char *key)
{
    struct zs_buffer data = {0};
    const bool is = zs_store_get(store, key, 100000, &data, NULL) == ZS_OK;
    zs_buffer_free(&data);
    return is;
}

static bool is_removed(struct zs_hierarchy *h)
{
    const bool is = length(h, "g/b") == 0;
    CHECK(has(h, "g/a", "is", "alone") == is && is_there(zs_hierarchy_store(h), "g/b/c/1") != is);
    CHECK(is_there(zs_hierarchy_store(h), "g/b/zarr.json") != is);
    return is;
}

static bool replace_by_group(struct zs_hierarchy *h)
{
    const struct zs_node *node = NULL;
    return zs_node_make(h, "g", "more", zs_group_document(), &node, NULL) == ZS_OK && remove_array(h);
}

static bool is_replaced(struct zs_hierarchy *h)
{
    const bool is = is_removed(h);
    CHECK(is_there(zs_hierarchy_store(h), "g/more/zarr.json") == is);
    return is;
}

/* ---- Kills ---- */

static const struct trial {
    bool (*act)(struct zs_hierarchy *h); /* returns whether all was done */
    bool (*is)(struct zs_hierarchy *h);  /* whether all of it is there; else nothing is */
    bool may_unlist; /* a kill may leave the store without consolidated metadata */
} trials[] = {{grow_to_6, is_grown, false},       {rename_array, is_array_renamed, true},
              {rename_group, is_group_renamed, true}, {add_group, is_group_added, false},
              {remove_array, is_removed, false},  {replace_by_group, is_replaced, false}};

/* What the next writer finds, and readers with and without consolidated metadata: all, or nothing. What the journal
 * tells is done. */
static bool check_next(struct stage *s, const struct trial *t, bool is_consolidated)
{
    const bool was_noted = has_journal(s->inner);
    bool is[2];
    CHECK(zs_hierarchy_recover(s->inner, NULL) == ZS_OK && !has_journal(s->inner));
    for (int i = 0; i < 2; i++) {
        struct zs_hierarchy *h = NULL;
        CHECK(zs_hierarchy_open(s->inner, i == 0, &h, NULL) == ZS_OK);
        is[i] = t->is(h);
        CHECK(i == 1 || t->may_unlist || zs_hierarchy_is_consolidated(h) == is_consolidated);
        zs_hierarchy_free(h);
    }
    CHECK(is[0] == is[1] && (is[0] || !was_noted));
    return is[0];
}

/* Ends a process at its first call, another at its second, until one is done: killed, told that the call failed, or
 * told so of a call that was done. */
enum ending { FAILED, KILLED, UNTOLD };
static void end_at_each_step(const struct trial *t, bool is_consolidated, enum ending ending)
{
    bool is_done = false;
    int ended = 0, whole = 0;
    for (long step = 1; !is_done && step < 200; step++) {
        struct stage s;
        stage_open(&s, is_consolidated);
        put(s.inner, "g/b/c/1", "34");
        struct zs_hierarchy *h = opened(&s.store.base);
        s.store.fail_at = s.store.calls + step;
        s.store.fail_on = ending == KILLED;
        s.store.has_committed = ending == UNTOLD;
        is_done = t->act(h);
        zs_hierarchy_free(h);
        whole += check_next(&s, t, is_consolidated) && !is_done;
        ended += !is_done;
        stage_close(&s);
    }
    CHECK(is_done && ended > 4 && (whole > 0 || ending == FAILED || t->may_unlist));
}

TEST(test_an_edit_whose_writer_was_killed_is_done_whole_or_not_at_all)
{
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++)
        for (int k = 0; k < 6; k++)
            end_at_each_step(&trials[i], k % 2 == 1, (enum ending)(k / 2));
}

/* Kills what grows two arrays just after its journal was written. */
static void stage_noted(struct stage *s)
{
    stage_open(s, true);
    s->store.fail_on = true;
    for (long step = 1; !has_journal(s->inner) && step < 100; step++) {
        s->store.fail_at = 0;
        struct zs_hierarchy *h = opened(&s->store.base);
        s->store.fail_at = s->store.calls + step;
        CHECK(!grow(h, 6));
        zs_hierarchy_free(h);
    }
    s->store.fail_on = false;
    s->store.fail_at = 0;
}

/* Each document of an edit is done again by each of two who find the journal, one of them killed as well. */
TEST(test_a_journal_may_be_done_twice_and_in_part)
{
    bool is_done = false;
    for (long step = 1; !is_done && step < 200; step++) {
        struct stage s;
        stage_noted(&s);
        s.store.fail_at = s.store.calls + step;
        s.store.fail_on = true;
        is_done = zs_hierarchy_recover(&s.store.base, NULL) == ZS_OK;
        CHECK(check_next(&s, &trials[0], true));
        stage_close(&s);
    }
    CHECK(is_done);
}

TEST(test_changes_of_others_since_the_kill_stay)
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

/* Older builds wrote such a journal. */
TEST(test_a_journal_of_whole_documents_changes_what_differs_in_them)
{
    struct stage s;
    int64_t a = 0, b = 0;
    const struct zs_node *node = NULL;
    stage_open(&s, false);
    char *key = zs_journal_key("zarr.json");
    put(s.inner, key,
        "{\"id\":\"1\",\"edits\":[{\"path\":\"g/a\",\"before\":" ARRAY_OF("4", "0", ",\"attributes\":{\"a\":1,\"b\":1}")
        ",\"after\":" ARRAY_OF("4", "0", ",\"attributes\":{\"a\":2,\"b\":1}") "}]}");
    put(s.inner, "g/a/zarr.json", ARRAY_OF("6", "7", ",\"attributes\":{\"a\":1,\"b\":3}"));
    CHECK(zs_hierarchy_recover(s.inner, NULL) == ZS_OK && !has_journal(s.inner));
    struct zs_hierarchy *h = opened(s.inner);
    CHECK(zs_hierarchy_node(h, "g/a", &node, NULL) == ZS_OK && node->array != NULL);
    CHECK(node->array->shape[0] == 6 && node->array->fill_value[0] == 7);
    CHECK(zs_json_int64(zs_json_get(node->attributes, "a"), &a) && a == 2);
    CHECK(zs_json_int64(zs_json_get(node->attributes, "b"), &b) && b == 3);
    zs_hierarchy_free(h);
    free(key);
    stage_close(&s);
}

TEST(test_a_damaged_document_keeps_no_other_from_being_finished)
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

TEST(test_a_root_that_is_half_written_keeps_the_journal_until_it_is_whole)
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

/* ---- Groups that another session renames or removes ---- */

static bool remove_group(struct zs_hierarchy *h)
{
    return zs_hierarchy_remove(h, "g", NULL) == ZS_OK && zs_hierarchy_flush(h, NULL) == ZS_OK;
}

TEST(test_an_array_whose_group_another_session_renamed_or_removed_is_an_error)
{
    bool (*const theirs[])(struct zs_hierarchy *h) = {rename_group, remove_group};
    for (int i = 0; i < 4; i++) {
        struct stage s;
        struct zs_error err = {0};
        const struct zs_node *node = NULL;
        stage_open(&s, i % 2 == 1);
        struct zs_hierarchy *h = opened(s.inner), *other = opened(s.inner);
        CHECK(zs_hierarchy_node(h, "g", &node, NULL) == ZS_OK && make(h, "g", "new"));
        CHECK(theirs[i / 2](other));
        CHECK(zs_hierarchy_flush(h, &err) == ZS_INVALID);
        CHECK_CONTAINS(err.message, "/g: another writer removed or renamed this group");
        CHECK(!is_there(s.inner, "g/new/zarr.json") && !has_journal(s.inner));
        zs_hierarchy_free(h);
        zs_hierarchy_free(other);
        stage_close(&s);
    }
}

/* One session makes groups in a group that another renames: what is listed is what is stored. */
TEST(test_consolidated_metadata_list_what_sessions_made_and_renamed)
{
    struct stage s;
    struct zs_error err = {0};
    const struct zs_node *node = NULL;
    stage_open(&s, true);
    struct zs_hierarchy *h = opened(s.inner), *late = opened(s.inner), *other = opened(s.inner);
    CHECK(zs_node_make(h, "g", "c", zs_group_document(), &node, NULL) == ZS_OK && zs_hierarchy_flush(h, NULL) == ZS_OK);
    CHECK(rename_group(other));
    CHECK(zs_node_make(late, "g", "d", zs_group_document(), &node, NULL) == ZS_OK && zs_hierarchy_flush(late, NULL) == ZS_INVALID);
    CHECK(zs_node_rename(h, "g", "again", &err) == ZS_INVALID);
    CHECK_CONTAINS(err.message, "/g: another writer removed or renamed it");
    CHECK(zs_node_make(other, "n", "e", zs_group_document(), &node, NULL) == ZS_OK && zs_hierarchy_flush(other, NULL) == ZS_OK);
    zs_hierarchy_free(h);
    zs_hierarchy_free(late);
    zs_hierarchy_free(other);
    h = opened(s.inner);
    CHECK(zs_hierarchy_is_consolidated(h) && is_group_renamed(h));
    CHECK(zs_hierarchy_node(h, "n/c", &node, NULL) == ZS_OK && zs_hierarchy_node(h, "n/e", &node, NULL) == ZS_OK);
    zs_hierarchy_free(h);
    stage_close(&s);
}

TEST(test_a_group_without_a_document_is_renamed)
{
    for (int i = 0; i < 2; i++) {
        struct stage s;
        stage_open(&s, i == 1);
        CHECK(zs_store_remove(s.inner, "g/zarr.json", NULL) == ZS_OK);
        put(s.inner, "zarr.json", i == 0 ? GROUP : LISTING("\"g/a\":" ARRAY ",\"g/b\":" ARRAY));
        struct zs_hierarchy *h = opened(s.inner);
        CHECK(length(h, "g/a") == 4 && length(h, "g/b") == 4);
        CHECK(rename_group(h) && is_group_renamed(h));
        zs_hierarchy_free(h);
        h = opened(s.inner);
        CHECK(zs_hierarchy_is_consolidated(h) == (i == 1) && is_group_renamed(h));
        zs_hierarchy_free(h);
        stage_close(&s);
    }
}

/* ---- Journals of anyone ---- */

TEST(test_an_invalid_journal_is_ignored)
{
    static const char *const texts[] = {
        "", "{", "[]", "{}", "{\"edits\":{}}", "{\"edits\":[1]}", "{\"edits\":[{\"path\":\"../x\",\"new\":" GROUP "}]}",
        "{\"edits\":[{\"path\":\"\",\"removed\":null}]}", "{\"edits\":[{\"path\":\"g/a\",\"set\":1}]}",
        "{\"edits\":[{\"path\":\"g/a\",\"removed\":" GROUP "}]}", "{\"edits\":[{\"path\":\"g\",\"to\":\"..\"}]}",
        "{\"edits\":[{\"path\":\"p\",\"to\":\"q\"}]}", "{\"edits\":[{\"path\":\"g/a\",\"new\":7}]}",
        "{\"edits\":[{\"path\":\"g/a\",\"attributes\":{\"set\":[1],\"drop\":[2]},\"set\":{\"shape\":[]},\"drop\":{}}]}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct stage s;
        stage_open(&s, true);
        char *key = zs_journal_key("zarr.json");
        put(s.inner, key, texts[i]);
        free(key);
        struct zs_hierarchy *h = opened(s.inner);
        CHECK(zs_hierarchy_recover(s.inner, NULL) == ZS_OK && grow(h, 6));
        zs_hierarchy_free(h);
        CHECK(check_next(&s, &trials[0], true));
        stage_close(&s);
    }
}
