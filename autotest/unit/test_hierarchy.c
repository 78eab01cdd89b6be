/* Nodes are found by path, read once and listed, in stores of every completeness. */
#include "check.h"
#include "memory_store.h"

#include <stdlib.h>

#include "base/parallel.h"
#include "zarr/hierarchy.h"

#define GROUP "{\"zarr_format\":3,\"node_type\":\"group\"}"
#define ARRAY                                                                                            \
    "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[4],\"data_type\":\"uint8\",\"fill_value\":0," \
    "\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[2]}},"                     \
    "\"chunk_key_encoding\":\"default\",\"codecs\":[\"bytes\"]}"
#define STRINGS                                                                                              \
    "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[4],\"data_type\":\"string\",\"fill_value\":\"\"," \
    "\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[2]}},"                         \
    "\"chunk_key_encoding\":\"default\",\"codecs\":[\"vlen-utf8\"]}"
#define CONSOLIDATED(metadata)                                                                                         \
    "{\"zarr_format\":3,\"node_type\":\"group\",\"consolidated_metadata\":{\"kind\":\"inline\","                       \
    "\"must_understand\":false,\"metadata\":{" metadata "}}}"

/* A store that counts its requests, and fails those for one key. */
struct counting {
    struct zs_store base;
    struct zs_store *inner;
    atomic_int gets, lists;
    const char *refused; /* key that cannot be read */
    bool no_listing;
};

static enum zs_status counting_open(struct zs_store *s, const char *key, struct zs_first_read *first,
                                    struct zs_object **object, struct zs_error *err)
{
    struct counting *c = (struct counting *)s;
    atomic_fetch_add(&c->gets, 1);
    if (c->refused != NULL && strcmp(key, c->refused) == 0)
        return zs_fail(err, ZS_IO, "%s/%s: 403 Forbidden", s->root, key);
    return zs_object_open_first(c->inner, key, first, object, err);
}

static enum zs_status counting_list(struct zs_store *s, const char *prefix, char ***names, struct zs_error *err)
{
    struct counting *c = (struct counting *)s;
    atomic_fetch_add(&c->lists, 1);
    if (c->no_listing)
        return zs_fail(err, ZS_UNSUPPORTED, "%s: cannot be listed", s->root);
    return zs_store_list(c->inner, prefix, names, err);
}

static const struct zs_store_ops counting_ops = {.open = counting_open, .list = counting_list};

static void put(struct zs_store *store, const char *key, const char *text)
{
    CHECK(zs_store_put(store, key, text, strlen(text), NULL) == ZS_OK);
}

/* A store with the given keys and contents, alternating, up to a NULL. */
static struct counting make_store(const char *const *objects)
{
    struct counting c = {.base = {.ops = &counting_ops}};
    static char root[] = "store";
    c.base.root = root;
    CHECK(zs_store_open_memory(&c.inner, NULL) == ZS_OK);
    for (size_t i = 0; objects[i] != NULL; i += 2)
        put(c.inner, objects[i], objects[i + 1]);
    return c;
}
#define STORE(...) make_store((const char *const[]){__VA_ARGS__, NULL})

static struct zs_hierarchy *open_hierarchy(struct counting *c, bool use_consolidated)
{
    struct zs_hierarchy *h = NULL;
    struct zs_error err = {0};
    CHECK_OK(zs_hierarchy_open(&c->base, use_consolidated, &h, &err), &err);
    return h;
}

static void check_node(struct zs_hierarchy *h, const char *path, const char *expected_path, enum zs_node_type type)
{
    const struct zs_node *node = NULL;
    struct zs_error err = {0};
    if (!CHECK(zs_hierarchy_node(h, path, &node, &err) == ZS_OK)) {
        fprintf(stderr, "%s: %s\n", path, err.message);
        return;
    }
    CHECK_EQ_STR(node->path, expected_path);
    CHECK(node->type == type);
    const struct zs_node *again = NULL;
    CHECK(zs_hierarchy_node(h, path, &again, NULL) == ZS_OK && again == node);
}

static void check_no_node(struct zs_hierarchy *h, const char *path, enum zs_status expected, const char *part)
{
    const struct zs_node *node = NULL;
    for (int i = 0; i < 2; i++) { /* the answer and the words stay */
        struct zs_error err = {0};
        if (!CHECK(zs_hierarchy_node(h, path, &node, &err) == expected))
            fprintf(stderr, "%s\n", path);
        CHECK_CONTAINS(err.message, part);
    }
    CHECK(node == NULL);
}

/* The paths of all nodes, "-" for the root, implicit groups in brackets. */
static void check_list(struct zs_hierarchy *h, const char *expected)
{
    const struct zs_node **nodes = NULL;
    size_t count = 0;
    struct zs_error err = {0};
    char text[4096] = "";
    CHECK_OK(zs_hierarchy_list(h, &nodes, &count, &err), &err);
    for (size_t i = 0; i < count && strlen(text) < 3000; i++) {
        const char *path = nodes[i]->path[0] != '\0' ? nodes[i]->path : "-";
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), nodes[i]->is_implicit ? " (%s)" : " %s", path);
    }
    CHECK_EQ_STR(text[0] == ' ' ? text + 1 : text, expected);
    free(nodes);
}

static void close_all(struct zs_hierarchy *h, struct counting *c)
{
    zs_hierarchy_free(h);
    zs_store_free(c->inner);
}

TEST(test_nodes_are_read_once)
{
    struct counting c = STORE("zarr.json", GROUP, "g/zarr.json", GROUP, "g/a/zarr.json", ARRAY);
    struct zs_hierarchy *h = open_hierarchy(&c, true);
    CHECK(zs_hierarchy_store(h) == &c.base && !zs_hierarchy_is_consolidated(h));
    CHECK_EQ_I64(c.gets, 1);
    check_node(h, "", "", ZS_NODE_GROUP);
    check_node(h, "/", "", ZS_NODE_GROUP);
    CHECK_EQ_I64(c.gets, 1);
    check_node(h, "g/a", "g/a", ZS_NODE_ARRAY);
    check_node(h, "/g/a/", "g/a", ZS_NODE_ARRAY);
    CHECK_EQ_I64(c.gets, 2);
    check_no_node(h, "g/b", ZS_NOT_FOUND, "store: there is no array or group \"g/b\"");
    CHECK_EQ_I64(c.gets, 3);
    const struct zs_node *node = NULL;
    CHECK(zs_hierarchy_node_at(h, "g", "a", &node, NULL) == ZS_OK && strcmp(node->path, "g/a") == 0);
    CHECK(zs_hierarchy_node_at(h, "", "g", &node, NULL) == ZS_OK && strcmp(node->path, "g") == 0);
    CHECK(zs_hierarchy_node_at(h, "g", "", &node, NULL) == ZS_OK && strcmp(node->path, "g") == 0);
    CHECK(zs_hierarchy_node_at(h, "g", "../g", &node, NULL) == ZS_INVALID);
    CHECK_EQ_I64(c.gets, 4);
    CHECK_EQ_I64(c.lists, 1); /* for g/b: is it an implicit group? */
    close_all(h, &c);
}

TEST(test_opening_needs_a_root)
{
    static const struct {
        const char *root; /* NULL: there is none */
        enum zs_status status;
        const char *message;
    } rows[] = {{NULL, ZS_NOT_FOUND, ""},
                {"{\"zarr_format\":3,", ZS_CORRUPT, "store/zarr.json: not JSON"},
                {"", ZS_CORRUPT, "store/zarr.json: is empty, expected a JSON object"},
                {"[]", ZS_CORRUPT, "store/zarr.json: expected a JSON object"},
                {"{\"zarr_format\":2}", ZS_UNSUPPORTED, "zarr_format"}};
    struct counting c = STORE("a/zarr.json", ARRAY);
    struct zs_hierarchy *h = NULL;
    struct zs_error err = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].root != NULL)
            put(c.inner, "zarr.json", rows[i].root);
        CHECK(zs_hierarchy_open(&c.base, true, &h, &err) == rows[i].status);
        CHECK_CONTAINS(err.message, rows[i].message);
    }
    put(c.inner, "zarr.json", ARRAY);
    c.refused = "zarr.json";
    CHECK(zs_hierarchy_open(&c.base, true, &h, &err) == ZS_IO && h == NULL);
    CHECK_CONTAINS(err.message, "403");
    c.refused = NULL;
    h = open_hierarchy(&c, true);
    check_node(h, "", "", ZS_NODE_ARRAY);
    check_list(h, "-"); /* below an array there is nothing */
    close_all(h, &c);
    zs_hierarchy_free(NULL);
}

TEST(test_transport_failures_are_retried)
{
    struct counting c = STORE("zarr.json", GROUP, "a/zarr.json", ARRAY);
    struct zs_hierarchy *h = open_hierarchy(&c, true);
    c.refused = "a/zarr.json";
    check_no_node(h, "a", ZS_IO, "403");
    const struct zs_node **nodes = NULL;
    size_t count = 0;
    struct zs_error err = {0};
    CHECK(zs_hierarchy_list(h, &nodes, &count, &err) == ZS_IO);
    CHECK_CONTAINS(err.message, "403");
    c.refused = NULL;
    check_node(h, "a", "a", ZS_NODE_ARRAY);
    check_list(h, "- a");
    close_all(h, &c);
}

TEST(test_implicit_groups_are_found_where_listing_is_cheap)
{
    struct counting c = STORE("zarr.json", GROUP, "g/h/a/zarr.json", ARRAY, "g/h/a/c/0", "xx", "docs/readme.txt", "x");
    struct zs_hierarchy *h = open_hierarchy(&c, true);
    check_node(h, "g/h", "g/h", ZS_NODE_GROUP);
    check_node(h, "g", "g", ZS_NODE_GROUP);
    check_no_node(h, "docs", ZS_NOT_FOUND, "docs"); /* only files in it */
    check_no_node(h, "g/h/a/c", ZS_NOT_FOUND, "g/h/a/c");
    check_list(h, "- (g) (g/h) g/h/a");
    zs_hierarchy_free(h);

    c.base.is_remote = true;
    h = open_hierarchy(&c, true);
    atomic_store(&c.lists, 0);
    check_no_node(h, "g", ZS_NOT_FOUND, "g");
    CHECK_EQ_I64(c.lists, 0);
    check_list(h, "- (g) (g/h) g/h/a"); /* but the walk finds it, and from then on it is known */
    check_node(h, "g", "g", ZS_NODE_GROUP);
    close_all(h, &c);
}

TEST(test_the_walk_lists_all_nodes_once_in_order)
{
    struct counting c =
        STORE("zarr.json", GROUP, "b/zarr.json", ARRAY, "b/c/0", "x", "a/zarr.json", GROUP, "a/y/zarr.json", ARRAY,
              "a/x/zarr.json", ARRAY, "a-b/zarr.json", ARRAY, "a/x/c/0", "x", "a/x/deep/zarr.json", ARRAY,
              "__MACOSX/b/zarr.json", ARRAY, "empty/zarr.json", GROUP, "junk/more/x.txt", "x");
    struct zs_hierarchy *h = open_hierarchy(&c, true);
    check_list(h, "- a a/x a/y a-b b empty");
    const int lists = c.lists, gets = c.gets;
    CHECK_EQ_I64(gets, 9); /* root, 6 nodes, junk, junk/more; nothing below arrays */
    check_list(h, "- a a/x a/y a-b b empty");
    check_node(h, "a/y", "a/y", ZS_NODE_ARRAY);
    CHECK_EQ_I64(c.lists, lists);
    CHECK_EQ_I64(c.gets, gets);
    check_node(h, "a/x/deep", "a/x/deep", ZS_NODE_ARRAY); /* odd, but there when named */
    close_all(h, &c);
}

TEST(test_consolidated_metadata_answer_without_requests)
{
    struct counting c = STORE("zarr.json",
                              CONSOLIDATED("\"g/a\":" ARRAY ",\"g\":" GROUP ",\"s\":" STRINGS ",\"i/j/a\":" ARRAY
                                           ",\"z\":{\"zarr_format\":2},\"i/j-k\":" ARRAY),
                              "hidden/zarr.json", ARRAY, "g/a/zarr.json", GROUP);
    struct zs_hierarchy *h = open_hierarchy(&c, true);
    CHECK(zs_hierarchy_is_consolidated(h));
    check_node(h, "g/a", "g/a", ZS_NODE_ARRAY);
    check_node(h, "g", "g", ZS_NODE_GROUP);
    check_node(h, "i", "i", ZS_NODE_GROUP);
    check_node(h, "i/j", "i/j", ZS_NODE_GROUP);
    check_no_node(h, "hidden", ZS_NOT_FOUND, "consolidated metadata");
    check_no_node(h, "z", ZS_UNSUPPORTED, "store: consolidated metadata: z/zarr.json: zarr_format");
    check_list(h, "- g g/a (i) (i/j) i/j/a i/j-k s");
    check_list(h, "- g g/a (i) (i/j) i/j/a i/j-k s");
    CHECK_EQ_I64(c.gets, 1);
    CHECK_EQ_I64(c.lists, 0);
    const struct zs_node *node = NULL;
    CHECK(zs_hierarchy_node(h, "s", &node, NULL) == ZS_OK && node->array_status == ZS_UNSUPPORTED);
    zs_hierarchy_free(h);

    h = open_hierarchy(&c, false); /* not believed */
    CHECK(!zs_hierarchy_is_consolidated(h));
    check_node(h, "hidden", "hidden", ZS_NODE_ARRAY);
    check_node(h, "g/a", "g/a", ZS_NODE_GROUP);
    close_all(h, &c);
}

TEST(test_empty_consolidated_metadata_are_ignored)
{
    static const char *const roots[] = {
        "{\"zarr_format\":3,\"node_type\":\"group\",\"consolidated_metadata\":null}",
        "{\"zarr_format\":3,\"node_type\":\"group\",\"consolidated_metadata\":{\"kind\":\"external\",\"metadata\":{\""
        "b\":" ARRAY "}}}",
        "{\"zarr_format\":3,\"node_type\":\"group\",\"consolidated_metadata\":{\"kind\":\"inline\",\"metadata\":[]}}",
        "{\"zarr_format\":3,\"node_type\":\"group\",\"consolidated_metadata\":{\"kind\":\"inline\"}}",
        "{\"zarr_format\":3,\"node_type\":\"group\",\"consolidated_metadata\":[]}",
        CONSOLIDATED(""),
        CONSOLIDATED("\"..\":" ARRAY),
    };
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        struct counting c = STORE("zarr.json", roots[i], "a/zarr.json", ARRAY);
        struct zs_hierarchy *h = open_hierarchy(&c, true);
        CHECK(!zs_hierarchy_is_consolidated(h));
        check_list(h, "- a");
        close_all(h, &c);
    }
}

TEST(test_the_walk_is_limited)
{
    struct counting c = STORE("zarr.json", GROUP);
    char key[128];
    for (int i = 0; i <= ZS_HIERARCHY_MAX_NODES; i++) {
        (void)snprintf(key, sizeof key, "d%06d/x", i); /* in order: the memory store keeps a sorted table */
        put(c.inner, key, "");
    }
    struct zs_hierarchy *h = open_hierarchy(&c, true);
    const struct zs_node **nodes = NULL;
    size_t count = 0;
    struct zs_error err = {0};
    CHECK(zs_hierarchy_list(h, &nodes, &count, &err) == ZS_UNSUPPORTED);
    CHECK_CONTAINS(err.message, "at most 20000 directories");
    close_all(h, &c);

    c = STORE("zarr.json", GROUP, "a/zarr.json", ARRAY);
    key[0] = '\0';
    for (int i = 0; i <= ZS_HIERARCHY_MAX_DEPTH; i++)
        strcat(key, "d/");
    strcat(key, "x");
    put(c.inner, key, "");
    h = open_hierarchy(&c, true);
    CHECK(zs_hierarchy_list(h, &nodes, &count, &err) == ZS_UNSUPPORTED);
    CHECK_CONTAINS(err.message, "32 one in the other");
    close_all(h, &c);
}

struct threads {
    struct zs_hierarchy *h;
};

static enum zs_status look_up(void *ctx, size_t item, struct zs_error *err)
{
    struct zs_hierarchy *h = ((struct threads *)ctx)->h;
    char path[32];
    (void)snprintf(path, sizeof path, "g/a%zu", item % 50);
    const struct zs_node *node = NULL;
    ZS_TRY(zs_hierarchy_node(h, path, &node, err));
    CHECK_EQ_STR(node->path, path);
    CHECK(zs_hierarchy_node(h, "g/none", &node, NULL) == ZS_NOT_FOUND);
    if (item % 40 == 0) {
        const struct zs_node **nodes = NULL;
        size_t count = 0;
        ZS_TRY(zs_hierarchy_list(h, &nodes, &count, err));
        CHECK_EQ_U64(count, 52);
        free(nodes);
    }
    return ZS_OK;
}

TEST(test_many_threads_ask_at_once)
{
    struct counting c = STORE("zarr.json", GROUP, "g/zarr.json", GROUP);
    char key[64];
    for (int i = 0; i < 50; i++) {
        (void)snprintf(key, sizeof key, "g/a%d/zarr.json", i);
        put(c.inner, key, ARRAY);
    }
    struct threads t = {open_hierarchy(&c, true)};
    struct zs_error err = {0};
    CHECK_OK(zs_parallel_for(8, 400, look_up, &t, &err), &err);
    close_all(t.h, &c);
}

static void add(struct zs_hierarchy *h, const char *path, const char *text)
{
    zs_json *document = NULL;
    struct zs_node *node = NULL;
    CHECK(zs_json_parse(text, strlen(text), &document, NULL) == ZS_OK);
    CHECK(zs_node_create(path, document, true, &node, NULL) == ZS_OK && zs_hierarchy_add(h, node, NULL) == ZS_OK);
}

/* What is stored, in room for 1000 bytes. */
static const char *text_of(struct zs_store *s, const char *key, char *room)
{
    struct zs_buffer text = {0};
    CHECK(zs_store_get(s, key, 999, &text, NULL) == ZS_OK);
    (void)snprintf(room, 1000, "%.*s", (int)text.size, (const char *)text.data);
    zs_buffer_free(&text);
    return room;
}

TEST(test_shape_change_changes_nothing_else)
{
    static const uint64_t six[] = {6};
    static const char *const names[] = {"x"};
    struct zs_store *s = NULL;
    struct zs_hierarchy *h = NULL;
    const struct zs_node *node = NULL, *fresh = NULL;
    struct zs_error err = {0};
    char other[500], text[1000];
    CHECK(zs_store_open_memory(&s, NULL) == ZS_OK);
    put(s, "zarr.json", CONSOLIDATED("\"a\":" ARRAY));
    put(s, "a/zarr.json", ARRAY);
    CHECK(zs_hierarchy_open(s, true, &h, NULL) == ZS_OK && zs_hierarchy_node(h, "a", &node, NULL) == ZS_OK);
    CHECK(zs_array_update_document(h, node, six, NULL, NULL, &fresh, &err) == ZS_OK && fresh->array->shape[0] == 6);
    CHECK(node->array->shape[0] == 4); /* as those see it who have it */
    CHECK(zs_array_update_document(h, fresh, NULL, names, NULL, &fresh, &err) == ZS_OK && fresh->array->shape[0] == 6);
    CHECK(strstr(text_of(s, "a/zarr.json", text), "\"shape\":[4]") != NULL); /* until the flush */
    (void)snprintf(other, sizeof other, "{\"attributes\":{\"k\":1},%s", &ARRAY[1]);
    put(s, "a/zarr.json", other); /* somebody else meanwhile */
    CHECK(zs_hierarchy_flush(h, &err) == ZS_OK);
    zs_hierarchy_free(h);
    CHECK(zs_hierarchy_open(s, true, &h, NULL) == ZS_OK && zs_hierarchy_is_consolidated(h));
    CHECK(zs_hierarchy_node(h, "a", &node, NULL) == ZS_OK && node->array->shape[0] == 6);
    CHECK(zs_json_get(node->attributes, "k") != NULL);
    CHECK(zs_json_equals(zs_json_at(zs_json_get(node->document, "dimension_names"), 0), "x"));

    zs_hierarchy_free(h);
    zs_store_free(s);
}

/* Two sessions of one store. */
struct two {
    struct zs_store *s;
    struct zs_hierarchy *a, *b;
};

static struct two open_two(const char *root)
{
    struct two t = {0};
    CHECK(zs_store_open_memory(&t.s, NULL) == ZS_OK);
    put(t.s, "zarr.json", root);
    put(t.s, "x/zarr.json", ARRAY);
    CHECK(zs_hierarchy_open(t.s, true, &t.a, NULL) == ZS_OK && zs_hierarchy_open(t.s, true, &t.b, NULL) == ZS_OK);
    return t;
}

static void close_two(struct two *t)
{
    zs_hierarchy_free(t->a);
    zs_hierarchy_free(t->b);
    zs_store_free(t->s);
}

static void set_attribute(struct zs_hierarchy *h, const char *path, const char *name)
{
    const struct zs_node *node = NULL;
    zs_json *attributes = NULL;
    CHECK(zs_hierarchy_node(h, path, &node, NULL) == ZS_OK && zs_hierarchy_edit(h, node, &attributes, NULL) == ZS_OK);
    CHECK(zs_json_set(attributes, name, zs_json_new_array()) != NULL);
}

static bool has_attribute(struct zs_store *s, const char *path, const char *name)
{
    struct zs_hierarchy *h = NULL;
    const struct zs_node *node = NULL;
    CHECK(zs_hierarchy_open(s, true, &h, NULL) == ZS_OK);
    const bool has =
        zs_hierarchy_node(h, path, &node, NULL) == ZS_OK && zs_json_get(node->attributes, name) != NULL;
    zs_hierarchy_free(h);
    return has;
}

TEST(test_changes_of_two_sessions_are_both_stored)
{
    static const char *const roots[] = {CONSOLIDATED("\"x\":" ARRAY), GROUP};
    for (size_t i = 0; i < 2; i++) {
        struct two t = open_two(roots[i]);
        set_attribute(t.a, "x", "of_a");
        set_attribute(t.b, "x", "of_b");
        set_attribute(t.a, "", "root_of_a");
        set_attribute(t.b, "", "root_of_b");
        add(t.a, "m", ARRAY);
        add(t.b, "n", ARRAY);
        add(t.a, "g", GROUP);
        add(t.b, "g", GROUP); /* the same to both */
        CHECK(zs_hierarchy_flush(t.a, NULL) == ZS_OK && zs_hierarchy_flush(t.b, NULL) == ZS_OK);
        CHECK(has_attribute(t.s, "x", "of_a") && has_attribute(t.s, "x", "of_b"));
        CHECK(has_attribute(t.s, "", "root_of_a") && has_attribute(t.s, "", "root_of_b"));
        struct zs_hierarchy *seen = NULL;
        CHECK(zs_hierarchy_open(t.s, true, &seen, NULL) == ZS_OK);
        check_list(seen, "- g m n x");
        zs_hierarchy_free(seen);
        close_two(&t);
    }
}

TEST(test_a_shape_is_compared_with_that_of_the_own_document)
{
    static const uint64_t six[] = {6}, nine[] = {9};
    struct two t = open_two(CONSOLIDATED("\"x\":" ARRAY));
    const struct zs_node *node = NULL;
    struct zs_error err = {0};
    char longer[1000], text[1000];
    CHECK(zs_hierarchy_node(t.a, "x", &node, NULL) == ZS_OK);
    CHECK(zs_array_update_document(t.a, node, six, NULL, NULL, &node, NULL) == ZS_OK);
    CHECK(zs_hierarchy_flush(t.a, NULL) == ZS_OK);
    (void)text_of(t.s, "x/zarr.json", longer);
    zs_hierarchy_free(t.a);
    put(t.s, "zarr.json", CONSOLIDATED("\"x\":" ARRAY)); /* older than the array */
    CHECK(zs_hierarchy_open(t.s, true, &t.a, NULL) == ZS_OK && zs_hierarchy_node(t.a, "x", &node, NULL) == ZS_OK);
    CHECK_EQ_U64(node->array->shape[0], 4);
    CHECK(zs_array_update_document(t.a, node, nine, NULL, NULL, &node, NULL) == ZS_OK);
    CHECK(zs_hierarchy_flush(t.a, &err) == ZS_OK);

    put(t.s, "zarr.json", CONSOLIDATED("\"x\":" ARRAY));
    CHECK(zs_hierarchy_node(t.b, "x", &node, NULL) == ZS_OK);
    CHECK(zs_array_update_document(t.b, node, six, NULL, NULL, &node, NULL) == ZS_OK);
    CHECK(zs_hierarchy_flush(t.b, &err) == ZS_INVALID); /* it has nine by now */
    CHECK_CONTAINS(err.message, "longer");
    CHECK_CONTAINS(text_of(t.s, "x/zarr.json", text), "[9]");
    close_two(&t);
}

static bool has(struct zs_store *s, const char *key)
{
    struct zs_buffer text = {0};
    const enum zs_status status = zs_store_get(s, key, 9999, &text, NULL);
    zs_buffer_free(&text);
    return status == ZS_OK;
}

TEST(test_recreated_array_keeps_its_document_as_long_as_its_chunks)
{
    static const char *const roots[] = {CONSOLIDATED("\"x\":" ARRAY ",\"y\":" ARRAY), GROUP};
    for (size_t i = 0; i < 2; i++) {
        struct two t = open_two(roots[i]);
        const struct zs_node *node = NULL;
        put(t.s, "x/c/0", "ab");
        put(t.s, "y/zarr.json", ARRAY);
        CHECK(zs_hierarchy_remove(t.a, "y", NULL) == ZS_OK && zs_hierarchy_remove(t.a, "x", NULL) == ZS_OK);
        CHECK(has(t.s, "x/zarr.json") && has(t.s, "x/c/0"));
        struct zs_error err = {0};
        CHECK_OK(zs_node_make(t.a, "", "x", zs_group_document(), &node, &err), &err);
        CHECK(!has(t.s, "x/zarr.json") && !has(t.s, "x/c/0") && !has(t.s, "y/zarr.json"));
        struct zs_hierarchy *seen = NULL;
        CHECK(zs_hierarchy_open(t.s, true, &seen, NULL) == ZS_OK);
        check_list(seen, "-");
        zs_hierarchy_free(seen);
        CHECK(zs_hierarchy_flush(t.a, NULL) == ZS_OK && zs_hierarchy_open(t.s, true, &seen, NULL) == ZS_OK);
        check_list(seen, "- x");
        zs_hierarchy_free(seen);
        close_two(&t);
    }
}

/* What failed half way is not written, and neither is what comes after it; what failed before it changed anything ends
 * nothing. */
TEST(test_an_edit_that_failed_half_way_ends_the_hierarchy)
{
    struct two t = open_two(GROUP);
    struct zs_error err = {0};
    const struct zs_node *node = NULL;
    zs_json *attributes;
    zs_hierarchy_abandon(t.a, zs_hierarchy_edits(t.a));
    const size_t before = zs_hierarchy_edits(t.a);
    set_attribute(t.a, "x", "half");
    zs_hierarchy_abandon(t.a, before);
    CHECK(zs_hierarchy_flush(t.a, &err) == ZS_INVALID);
    CHECK_CONTAINS(err.message, "an edit of several documents failed");
    CHECK(zs_hierarchy_node(t.a, "x", &node, NULL) == ZS_OK);
    CHECK(zs_hierarchy_edit(t.a, node, &attributes, &err) == ZS_INVALID && zs_hierarchy_remove(t.a, "x", &err) == ZS_INVALID);
    CHECK(!has_attribute(t.s, "x", "half"));
    close_two(&t);
}
