/* Nodes are found by path, read once and listed, in stores of every completeness. */
#include "check.h"

#include <stdlib.h>

#include "base/parallel.h"
#include "zarr/hierarchy.h"
#include "zarr/make.h"

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

static enum zs_status counting_get(struct zs_store *s, const char *key, size_t max_bytes, struct zs_buffer *out,
                                   struct zs_error *err)
{
    struct counting *c = (struct counting *)s;
    atomic_fetch_add(&c->gets, 1);
    if (c->refused != NULL && strcmp(key, c->refused) == 0)
        return zs_fail(err, ZS_IO, "%s/%s: 403 Forbidden", s->root, key);
    return zs_store_get(c->inner, key, max_bytes, out, err);
}

static enum zs_status counting_list(struct zs_store *s, const char *prefix, char ***names, struct zs_error *err)
{
    struct counting *c = (struct counting *)s;
    atomic_fetch_add(&c->lists, 1);
    if (c->no_listing)
        return zs_fail(err, ZS_UNSUPPORTED, "%s: cannot be listed", s->root);
    return zs_store_list(c->inner, prefix, names, err);
}

static const struct zs_store_ops counting_ops = {.get = counting_get, .list = counting_list};

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
    if (!CHECK(zs_hierarchy_open(&c->base, use_consolidated, &h, &err) == ZS_OK))
        fprintf(stderr, "%s\n", err.message);
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
    if (!CHECK(zs_hierarchy_list(h, &nodes, &count, &err) == ZS_OK))
        fprintf(stderr, "%s\n", err.message);
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

static void test_nodes_are_read_once(void)
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

static void test_opening_needs_a_root(void)
{
    struct counting c = STORE("a/zarr.json", ARRAY);
    struct zs_hierarchy *h = NULL;
    struct zs_error err = {0};
    CHECK(zs_hierarchy_open(&c.base, true, &h, &err) == ZS_NOT_FOUND);
    put(c.inner, "zarr.json", "{\"zarr_format\":3,");
    CHECK(zs_hierarchy_open(&c.base, true, &h, &err) == ZS_INVALID);
    CHECK_CONTAINS(err.message, "store/zarr.json: not JSON");
    put(c.inner, "zarr.json", "");
    CHECK(zs_hierarchy_open(&c.base, true, &h, &err) == ZS_INVALID);
    put(c.inner, "zarr.json", "{\"zarr_format\":2}");
    CHECK(zs_hierarchy_open(&c.base, true, &h, &err) == ZS_UNSUPPORTED);
    CHECK_CONTAINS(err.message, "zarr_format");
    put(c.inner, "zarr.json", ARRAY);
    c.refused = "zarr.json";
    CHECK(zs_hierarchy_open(&c.base, true, &h, &err) == ZS_IO);
    CHECK_CONTAINS(err.message, "403");
    CHECK(h == NULL);
    c.refused = NULL;
    h = open_hierarchy(&c, true);
    check_node(h, "", "", ZS_NODE_ARRAY);
    check_list(h, "-"); /* below an array there is nothing */
    close_all(h, &c);
    zs_hierarchy_free(NULL);
}

static void test_hostile_paths_are_invalid(void)
{
    struct counting c = STORE("zarr.json", GROUP);
    struct zs_hierarchy *h = open_hierarchy(&c, true);
    static const char *const paths[] = {"..", "../x", "g/../h", "g/..", ".", "./g", "g//a", "g/./a", "...", "/../"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        check_no_node(h, paths[i], ZS_INVALID, paths[i]);
    CHECK_EQ_I64(c.gets, 1);
    close_all(h, &c);
}

static void test_broken_nodes_leave_the_rest_usable(void)
{
    struct counting c = STORE("zarr.json", GROUP, "a/zarr.json", ARRAY, "bad/zarr.json", "{]", "old/zarr.json",
                              "{\"zarr_format\":2}", "s/zarr.json", STRINGS);
    struct zs_hierarchy *h = open_hierarchy(&c, true);
    check_no_node(h, "bad", ZS_INVALID, "store/bad/zarr.json: not JSON");
    check_no_node(h, "old", ZS_UNSUPPORTED, "old/zarr.json: zarr_format");
    CHECK_EQ_I64(c.gets, 3);
    const struct zs_node *node = NULL;
    CHECK(zs_hierarchy_node(h, "s", &node, NULL) == ZS_OK && node->array_status == ZS_UNSUPPORTED);
    check_list(h, "- a s");
    close_all(h, &c);
}

static void test_failures_of_the_transport_are_asked_again(void)
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

static void test_implicit_groups_are_found_where_listing_is_cheap(void)
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

static void test_the_walk_lists_all_nodes_once_in_order(void)
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

static void test_a_store_that_cannot_be_listed_gives_what_is_known(void)
{
    struct counting c = STORE("zarr.json", GROUP, "a/zarr.json", ARRAY, "b/zarr.json", ARRAY);
    c.no_listing = true;
    struct zs_hierarchy *h = open_hierarchy(&c, true);
    check_list(h, "-");
    check_node(h, "b", "b", ZS_NODE_ARRAY);
    check_no_node(h, "z", ZS_NOT_FOUND, "z");
    check_list(h, "- b");
    close_all(h, &c);
}

static void test_consolidated_metadata_answer_without_requests(void)
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

static void test_consolidated_metadata_that_say_nothing_are_ignored(void)
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

static void test_hostile_consolidated_keys_are_skipped(void)
{
    struct counting c =
        STORE("zarr.json", CONSOLIDATED("\"..\":" ARRAY ",\"../x\":" ARRAY ",\"\":" ARRAY ",\"/abs\":" ARRAY
                                        ",\"a/\":" ARRAY ",\"a//b\":" ARRAY ",\"a/../b\":" ARRAY ",\".\":" ARRAY
                                        ",\"ok\":" ARRAY ",\"ok\":" GROUP ",\"ok/below\":" ARRAY ",\"ok\":1"
                                        ",\"n\":null"));
    struct zs_hierarchy *h = open_hierarchy(&c, true);
    check_node(h, "", "", ZS_NODE_GROUP);
    check_no_node(h, "n", ZS_INVALID, "object");
    check_no_node(h, "abs", ZS_NOT_FOUND, "abs");
    const struct zs_node **nodes = NULL;
    size_t count = 0;
    CHECK(zs_hierarchy_list(h, &nodes, &count, NULL) == ZS_OK);
    CHECK_EQ_U64(count, 3);
    CHECK_EQ_STR(nodes[1]->path, "ok");
    CHECK_EQ_STR(nodes[2]->path, "ok/below");
    free(nodes);
    close_all(h, &c);

    /* One that is too deep, and one that is too long. */
    char *text = malloc(20000);
    strcpy(text, "{\"zarr_format\":3,\"node_type\":\"group\",\"consolidated_metadata\":{\"kind\":\"inline\","
                 "\"metadata\":{\"a\":" ARRAY ",\"d");
    for (int i = 0; i < ZS_HIERARCHY_MAX_DEPTH; i++)
        strcat(text, "/d");
    strcat(text, "\":" ARRAY ",\"");
    for (int i = 0; i <= ZS_HIERARCHY_MAX_PATH; i++)
        strcat(text, "x");
    strcat(text, "\":" ARRAY "}}}");
    c = STORE("zarr.json", text);
    free(text);
    h = open_hierarchy(&c, true);
    check_list(h, "- a");
    close_all(h, &c);
}

static char *many_groups(int n)
{
    char *text = malloc((size_t)n * 40 + 200);
    char *p =
        text +
        sprintf(
            text,
            "{\"zarr_format\":3,\"node_type\":\"group\",\"consolidated_metadata\":{\"kind\":\"inline\",\"metadata\":{");
    for (int i = 0; i < n; i++)
        p += sprintf(p, "%s\"%d/a\":{\"zarr_format\":2}", i > 0 ? "," : "", i);
    strcpy(p, "}}}");
    return text;
}

static void test_implicit_groups_of_consolidated_metadata_are_limited(void)
{
    char *text = many_groups(ZS_HIERARCHY_MAX_NODES);
    struct counting c = STORE("zarr.json", text);
    free(text);
    struct zs_hierarchy *h = open_hierarchy(&c, true);
    const struct zs_node **nodes = NULL;
    size_t count = 0;
    CHECK(zs_hierarchy_list(h, &nodes, &count, NULL) == ZS_OK);
    CHECK_EQ_U64(count, ZS_HIERARCHY_MAX_NODES + 1);
    free(nodes);
    close_all(h, &c);

    text = many_groups(ZS_HIERARCHY_MAX_NODES + 1);
    c = STORE("zarr.json", text);
    free(text);
    struct zs_error err = {0};
    h = NULL;
    CHECK(zs_hierarchy_open(&c.base, true, &h, &err) == ZS_INVALID && h == NULL);
    CHECK_CONTAINS(err.message, "at most 20000 groups");
    close_all(NULL, &c);
}

static void test_the_walk_is_limited(void)
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

    char deep[256] = "";
    c = STORE("zarr.json", GROUP, "a/zarr.json", ARRAY);
    for (int i = 0; i < ZS_HIERARCHY_MAX_DEPTH + 5; i++)
        strcat(deep, "d/");
    strcat(deep, "zarr.json");
    put(c.inner, deep, ARRAY);
    h = open_hierarchy(&c, true);
    check_list(h, "- a");
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

static void test_many_threads_ask_at_once(void)
{
    struct counting c = STORE("zarr.json", GROUP, "g/zarr.json", GROUP);
    char key[64];
    for (int i = 0; i < 50; i++) {
        (void)snprintf(key, sizeof key, "g/a%d/zarr.json", i);
        put(c.inner, key, ARRAY);
    }
    struct threads t = {open_hierarchy(&c, true)};
    struct zs_error err = {0};
    if (!CHECK(zs_parallel_for(8, 400, look_up, &t, &err) == ZS_OK))
        fprintf(stderr, "%s\n", err.message);
    close_all(t.h, &c);
}

static void check_names(struct zs_store *store, const char *prefix, const char *expected)
{
    char **names = NULL, text[256] = "";
    CHECK(zs_store_list(store, prefix, &names, NULL) == ZS_OK);
    for (char **n = names; *n != NULL; n++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s ", *n);
    CHECK_EQ_STR(text, expected);
    zs_names_free(names);
}

/* The store under all of this. */
static void test_memory_store(void)
{
    struct zs_store *s = NULL;
    CHECK(zs_store_open_memory(&s, NULL) == ZS_OK);
    put(s, "a/c/1", "one");
    put(s, "a/c/0", "null");
    put(s, "a-b", "x");
    put(s, "a/zarr.json", "json");
    put(s, "a", "a file and a prefix");
    check_names(s, "", "a a-b a/ ");
    check_names(s, "a", "c/ zarr.json ");
    check_names(s, "a/c", "0 1 ");
    check_names(s, "b", "");
    struct zs_error err = {0};
    struct zs_buffer b = {0};
    CHECK(zs_store_get(s, "a/c/1", 3, &b, NULL) == ZS_OK && b.size == 3 && memcmp(b.data, "one", 3) == 0);
    CHECK(zs_store_get(s, "a/c/1", 2, &b, &err) == ZS_INVALID);
    CHECK(zs_store_get(s, "a/c", 100, &b, &err) == ZS_NOT_FOUND);
    CHECK_CONTAINS(err.message, "memory/a/c");
    zs_buffer_free(&b);

    /* What is open stays as it was; what is not committed does not appear. */
    struct zs_object *object = NULL, *newer = NULL;
    char bytes[8] = "";
    CHECK(zs_object_open(s, "a/c/1", &object, NULL) == ZS_OK && zs_object_size(object) == 3);
    put(s, "a/c/1", "another");
    CHECK(zs_object_open(s, "a/c/1", &newer, NULL) == ZS_OK && zs_object_size(newer) == 7);
    CHECK(object->version != newer->version);
    CHECK(zs_store_remove(s, "a/c/1", NULL) == ZS_OK && zs_store_remove(s, "a/c/1", NULL) == ZS_OK);
    CHECK(zs_object_read(object, 1, 2, bytes, NULL) == ZS_OK && memcmp(bytes, "ne", 2) == 0);
    CHECK(zs_object_read(object, 2, 2, bytes, NULL) == ZS_CORRUPT);
    CHECK(zs_object_read(newer, 0, 7, bytes, NULL) == ZS_OK && memcmp(bytes, "another", 7) == 0);
    zs_object_close(object);
    zs_object_close(newer);
    check_names(s, "a/c", "0 ");

    struct zs_writer *w = NULL;
    CHECK(zs_store_create(s, "w", &w, NULL) == ZS_OK);
    CHECK(zs_writer_write(w, "ab", 2, NULL) == ZS_OK && zs_writer_write(w, "c", 1, NULL) == ZS_OK);
    CHECK(zs_object_open(s, "w", &object, NULL) == ZS_NOT_FOUND);
    zs_writer_abort(w);
    CHECK(zs_object_open(s, "w", &object, NULL) == ZS_NOT_FOUND);
    CHECK(zs_store_create(s, "w", &w, NULL) == ZS_OK && zs_writer_write(w, "ab", 2, NULL) == ZS_OK);
    CHECK(zs_writer_commit(w, NULL) == ZS_OK);
    CHECK(zs_object_open(s, "w", &object, NULL) == ZS_OK && zs_object_size(object) == 2);
    zs_object_close(object);
    zs_store_free(s);
}

static void add(struct zs_hierarchy *h, const char *path, const char *text)
{
    zs_json *document = NULL;
    struct zs_node *node = NULL;
    CHECK(zs_json_parse(text, strlen(text), &document, NULL) == ZS_OK);
    CHECK(zs_node_create(path, document, true, &node, NULL) == ZS_OK && zs_hierarchy_add(h, node, NULL) == ZS_OK);
}

static void test_a_new_store_that_is_held_appears_at_once(void)
{
    struct zs_store *s = NULL;
    struct zs_hierarchy *h = NULL, *seen = NULL;
    CHECK(zs_store_open_memory(&s, NULL) == ZS_OK && zs_hierarchy_create(s, &h, NULL) == ZS_OK);
    zs_hierarchy_hold(h, true);
    add(h, "", CONSOLIDATED("\"a\":" ARRAY));
    add(h, "a", ARRAY);
    CHECK(zs_hierarchy_flush(h, NULL) == ZS_OK && zs_hierarchy_is_changed(h));
    add(h, "g", GROUP);
    add(h, "g/b", ARRAY);
    CHECK(zs_hierarchy_flush(h, NULL) == ZS_OK);
    check_list(h, "- a g g/b");
    check_no_node(h, "c", ZS_NOT_FOUND, "no array or group \"c\"");
    CHECK(zs_hierarchy_open(s, true, &seen, NULL) == ZS_NOT_FOUND);
    zs_hierarchy_hold(h, false);
    CHECK(zs_hierarchy_flush(h, NULL) == ZS_OK && !zs_hierarchy_is_changed(h));
    CHECK(zs_hierarchy_open(s, true, &seen, NULL) == ZS_OK && zs_hierarchy_is_consolidated(seen));
    check_list(seen, "- a g g/b");
    zs_hierarchy_free(seen);
    zs_hierarchy_free(h);

    /* Without consolidated metadata a listing goes by what is in the store: nothing is held. */
    put(s, "zarr.json", GROUP);
    CHECK(zs_hierarchy_open(s, true, &h, NULL) == ZS_OK);
    zs_hierarchy_hold(h, true);
    add(h, "n", ARRAY);
    CHECK(zs_hierarchy_flush(h, NULL) == ZS_OK && !zs_hierarchy_is_changed(h));
    check_list(h, "- a g g/b n");
    zs_hierarchy_free(h);
    zs_store_free(s);
}

static void test_a_look_sees_what_consolidated_metadata_do_not_list(void)
{
    struct counting c = STORE("zarr.json", CONSOLIDATED("\"a\":" ARRAY ",\"i/b\":" ARRAY), "new/zarr.json", ARRAY,
                              "g/n/zarr.json", ARRAY, "bad/zarr.json", "{");
    struct zs_hierarchy *h = open_hierarchy(&c, true);
    const struct zs_node *node = NULL;
    struct zs_error err = {0};
    check_no_node(h, "new", ZS_NOT_FOUND, "consolidated metadata");
    CHECK(zs_hierarchy_look(h, "new", &node, &err) == ZS_OK && node->type == ZS_NODE_ARRAY);
    check_node(h, "new", "new", ZS_NODE_ARRAY); /* from now on it is known */
    check_list(h, "- a (i) i/b new");
    CHECK(zs_hierarchy_look(h, "g", &node, &err) == ZS_NOT_FOUND &&
          zs_hierarchy_look(h, "i", &node, &err) == ZS_NOT_FOUND);
    CHECK_CONTAINS(err.message, "there is no array or group \"i\"");
    CHECK(zs_hierarchy_look(h, "bad", &node, &err) == ZS_INVALID); /* something is there */
    c.refused = "g/n/zarr.json";
    CHECK(zs_hierarchy_look(h, "g/n", &node, &err) == ZS_IO);
    c.refused = NULL;
    CHECK(zs_hierarchy_look(h, "g/n", &node, &err) == ZS_OK);
    CHECK(zs_hierarchy_remove(h, "g/n", &err) == ZS_OK && zs_hierarchy_look(h, "g/n", &node, &err) == ZS_NOT_FOUND);
    close_all(h, &c);
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

static void test_a_shape_is_changed_alone_and_where_it_is_what_it_was(void)
{
    static const uint64_t six[] = {6}, eight[] = {8};
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
    CHECK(zs_array_restate(h, node, six, NULL, &fresh, &err) == ZS_OK && fresh->array->shape[0] == 6);
    CHECK(node->array->shape[0] == 4); /* as those see it who have it */
    CHECK(zs_array_restate(h, fresh, NULL, names, &fresh, &err) == ZS_OK && fresh->array->shape[0] == 6);
    CHECK(strstr(text_of(s, "a/zarr.json", text), "\"shape\":[4]") != NULL); /* until the flush */
    (void)snprintf(other, sizeof other, "{\"attributes\":{\"k\":1},%s", &ARRAY[1]);
    put(s, "a/zarr.json", other); /* somebody else meanwhile */
    CHECK(zs_hierarchy_flush(h, &err) == ZS_OK);
    zs_hierarchy_free(h);
    CHECK(zs_hierarchy_open(s, true, &h, NULL) == ZS_OK && zs_hierarchy_is_consolidated(h));
    CHECK(zs_hierarchy_node(h, "a", &node, NULL) == ZS_OK && node->array->shape[0] == 6);
    CHECK(zs_json_get(node->attributes, "k") != NULL);
    CHECK(zs_json_equals(zs_json_at(zs_json_get(node->document, "dimension_names"), 0), "x"));

    put(s, "a/zarr.json", ARRAY); /* of four elements again, by somebody else */
    CHECK(zs_array_restate(h, node, eight, NULL, &fresh, &err) == ZS_OK);
    CHECK(zs_hierarchy_flush(h, &err) == ZS_INVALID);
    CHECK_CONTAINS(err.message, "somebody else");
    CHECK_EQ_STR(text_of(s, "a/zarr.json", text), ARRAY);
    zs_hierarchy_free(h);
    zs_store_free(s);
}

static void test_paths_are_taken_apart(void)
{
    char *parent = zs_path_parent("a/b/c");
    CHECK_EQ_STR(parent, "a/b");
    free(parent);
    parent = zs_path_parent("a");
    CHECK_EQ_STR(parent, "");
    free(parent);
    CHECK(zs_path_parent("") == NULL);
    CHECK_EQ_STR(zs_path_name("a/b/c"), "c");
    CHECK_EQ_STR(zs_path_name("a"), "a");
    CHECK_EQ_STR(zs_path_name(""), "");
}

int main(void)
{
    RUN(test_memory_store);
    RUN(test_paths_are_taken_apart);
    RUN(test_a_new_store_that_is_held_appears_at_once);
    RUN(test_a_look_sees_what_consolidated_metadata_do_not_list);
    RUN(test_a_shape_is_changed_alone_and_where_it_is_what_it_was);
    RUN(test_nodes_are_read_once);
    RUN(test_opening_needs_a_root);
    RUN(test_hostile_paths_are_invalid);
    RUN(test_broken_nodes_leave_the_rest_usable);
    RUN(test_failures_of_the_transport_are_asked_again);
    RUN(test_implicit_groups_are_found_where_listing_is_cheap);
    RUN(test_the_walk_lists_all_nodes_once_in_order);
    RUN(test_a_store_that_cannot_be_listed_gives_what_is_known);
    RUN(test_consolidated_metadata_answer_without_requests);
    RUN(test_consolidated_metadata_that_say_nothing_are_ignored);
    RUN(test_hostile_consolidated_keys_are_skipped);
    RUN(test_implicit_groups_of_consolidated_metadata_are_limited);
    RUN(test_the_walk_is_limited);
    RUN(test_many_threads_ask_at_once);
    return check_result();
}
