/* Stores of the 2022 draft: where nodes are, what their documents say in the words of the specification, and that
 * nothing is written. */
#include "check.h"
#include "memory_store.h"

#include <stdlib.h>

#include "array/array.h"
#include "zarr/hierarchy.h"

#define CORE "\"https://purl.org/zarr/spec/protocol/core/3.0\""
#define ENTRY                                                                                                          \
    "{\"zarr_format\":" CORE ",\"metadata_encoding\":" CORE ",\"metadata_key_suffix\":\".json\",\"extensions\":[]}"
#define GRID "\"chunk_grid\":{\"type\":\"regular\",\"chunk_shape\":[2,3],\"separator\":\"/\"}"
#define PLAIN "\"shape\":[5,7],\"chunk_memory_layout\":\"C\",\"fill_value\":7,\"extensions\":[]," GRID
#define SHARDED                                                                                                        \
    "\"storage_transformers\":[{\"extension\":\"https://purl.org/zarr/spec/storage_transformers/sharding/"             \
    "1.0\",\"type\":"                                                                                                  \
    "\"indexed\",\"configuration\":{\"chunks_per_shard\":[2,4]}}]"

static void put(struct zs_store *store, const char *key, const char *text)
{
    CHECK(zs_store_put(store, key, text, strlen(text), NULL) == ZS_OK);
}

static struct zs_store *make_store(void)
{
    struct zs_store *store;
    CHECK(zs_store_open_memory(&store, NULL) == ZS_OK);
    put(store, "zarr.json", ENTRY);
    put(store, "meta/root/g.group.json", "{\"attributes\":{\"title\":\"t\"},\"extensions\":[]}");
    put(store, "meta/root/g/a.array.json",
        "{\"data_type\":\">i2\",\"attributes\":{\"units\":\"m\",\"filters\":[]}," SHARDED "," PLAIN "}");
    put(store, "meta/root/h/i/b.array.json", "{\"data_type\":\"u1\",\"attributes\":{}," PLAIN "}");
    put(store, "meta/root/bad.array.json",
        "{\"data_type\":\"|O\",\"attributes\":{\"units\":\"m\"}," SHARDED "," PLAIN "}");
    put(store, "meta/root/consolidated/.zmetadata", "{}");
    return store;
}

static struct zs_hierarchy *open_hierarchy(struct zs_store *store)
{
    struct zs_hierarchy *h = NULL;
    struct zs_error err = {0};
    CHECK(zs_hierarchy_open(store, true, &h, &err) == ZS_OK);
    CHECK(zs_hierarchy_is_draft(h));
    return h;
}

static const struct zs_node *node_at(struct zs_hierarchy *h, const char *path)
{
    const struct zs_node *node = NULL;
    CHECK(zs_hierarchy_node(h, path, &node, NULL) == ZS_OK);
    return node;
}

static void test_nodes_are_found_and_listed_with_the_groups_that_were_left_out(void)
{
    static const char *const expected[] = {"", "bad", "g", "g/a", "h", "h/i", "h/i/b"};
    struct zs_store *store = make_store();
    struct zs_hierarchy *h = open_hierarchy(store);
    const struct zs_node **nodes;
    size_t count;
    CHECK(zs_hierarchy_list(h, &nodes, &count, NULL) == ZS_OK);
    CHECK(count == sizeof expected / sizeof expected[0]);
    for (size_t i = 0; i < count; i++)
        CHECK(strcmp(nodes[i]->path, expected[i]) == 0);
    free(nodes);
    CHECK(strcmp(node_at(h, "g/a")->key, "meta/root/g/a.array.json") == 0);
    CHECK(zs_json_equals(zs_json_get(node_at(h, "g")->attributes, "title"), "t"));
    CHECK(node_at(h, "h/i")->is_implicit);
    const struct zs_node *node;
    CHECK(zs_hierarchy_node(h, "absent", &node, NULL) == ZS_NOT_FOUND);
    CHECK(zs_hierarchy_node(h, "../g", &node, NULL) == ZS_INVALID);
    zs_hierarchy_free(h);
    zs_store_free(store);
}

static void test_sharded_draft_array_is_translated_to_sharding_indexed(void)
{
    struct zs_store *store = make_store();
    struct zs_hierarchy *h = open_hierarchy(store);
    const struct zs_node *node = node_at(h, "g/a");
    const struct zs_array_meta *meta = node->array;
    CHECK(meta != NULL && meta->is_sharded && meta->is_draft);
    CHECK(meta->dtype.type == ZS_INT16 && meta->chunk_shape[0] == 4 && meta->chunk_shape[1] == 12 &&
          meta->shape[1] == 7);
    CHECK(zs_json_get(node->attributes, "filters") == NULL &&
          zs_json_equals(zs_json_get(node->attributes, "units"), "m"));
    char *codecs = zs_json_print(meta->codecs);
    CHECK(
        strcmp(
            codecs,
            "[{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[2,3],\"codecs\":[{\"name\":\"bytes\","
            "\"configuration\":"
            "{\"endian\":\"big\"}}],\"index_codecs\":[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}],"
            "\"index_location\":\"end\"}}]") == 0);
    free(codecs);
    zs_hierarchy_free(h);
    zs_store_free(store);
}

static void check_key(int ndim, bool is_sharded, char separator, const char *path, const char *expected)
{
    const struct zs_array_meta meta = {
        .ndim = ndim, .is_sharded = is_sharded, .key_separator = separator, .is_draft = true};
    const uint64_t index[] = {3, 0, 12};
    uint64_t found[3] = {0};
    char *key = zs_chunk_key(&meta, path, index), *folder = zs_chunk_folder(&meta, path);
    CHECK(strcmp(key, expected) == 0);
    CHECK(strncmp(key, folder, strlen(folder)) == 0 && zs_chunk_key_parse(&meta, key + strlen(folder) + 1, found));
    CHECK(memcmp(index, found, (size_t)ndim * sizeof *index) == 0);
    free(folder);
    free(key);
}

static void test_keys_of_chunks(void)
{
    check_key(3, false, '/', "g/a", "data/root/g/a/c3/0/12");
    check_key(2, true, '.', "a", "data/root/a/c3.0");
    check_key(1, false, '/', "", "data/root/c3");
    check_key(0, false, '/', "a", "data/root/a/c");
    check_key(0, true, '/', "a", "data/root/a/c0");
    const struct zs_array_meta meta = {.ndim = 2, .key_separator = '/', .is_draft = true};
    uint64_t index[2];
    CHECK(!zs_chunk_key_parse(&meta, "c/3/0", index) && !zs_chunk_key_parse(&meta, "c3", index) &&
          !zs_chunk_key_parse(&meta, "3/0", index));
}

static void test_unsupported_draft_array_says_why_and_hides_nothing(void)
{
    struct zs_store *store = make_store();
    struct zs_hierarchy *h = open_hierarchy(store);
    const struct zs_node *node = node_at(h, "bad");
    CHECK(node->type == ZS_NODE_ARRAY && node->array == NULL && node->array_status == ZS_UNSUPPORTED);
    CHECK(strcmp(node->array_error->message, "meta/root/bad.array.json: data_type \"|O\" is not supported") == 0);
    CHECK(zs_json_equals(zs_json_get(node->attributes, "units"), "m"));
    zs_hierarchy_free(h);
    zs_store_free(store);
}

static void check_data_type(const char *given, enum zs_data_type type, const char *unit, int64_t scale, bool is_big)
{
    struct zs_store *store = make_store();
    char *document = zs_format("{\"data_type\":%s,\"attributes\":{}," PLAIN "}", given);
    put(store, "meta/root/t.array.json", document);
    free(document);
    struct zs_hierarchy *h = open_hierarchy(store);
    const struct zs_node *node = node_at(h, "t");
    CHECK(node->array != NULL && node->array->dtype.type == type);
    CHECK(strcmp(node->array->dtype.unit, unit) == 0 && node->array->dtype.unit_scale == scale);
    const zs_json *endian = zs_json_get(zs_json_get(zs_json_first(node->array->codecs), "configuration"), "endian");
    CHECK(zs_json_equals(endian, is_big ? "big" : "little"));
    zs_hierarchy_free(h);
    zs_store_free(store);
}

static void test_data_types(void)
{
    check_data_type("\"|u1\"", ZS_UINT8, "", 1, false);
    check_data_type("\"i1\"", ZS_INT8, "", 1, false);
    check_data_type("\"<u8\"", ZS_UINT64, "", 1, false);
    check_data_type("\">f2\"", ZS_FLOAT16, "", 1, true);
    check_data_type("{\"extension\":\"e\",\"type\":\">c16\",\"fallback\":null}", ZS_COMPLEX128, "", 1, true);
    check_data_type("{\"extension\":\"e\",\"type\":\"<M8[ns]\"}", ZS_DATETIME64, "ns", 1, false);
    check_data_type("{\"extension\":\"e\",\"type\":\">m8[10us]\"}", ZS_TIMEDELTA64, "us", 10, true);
    check_data_type("{\"extension\":\"e\",\"type\":\"strange\",\"fallback\":\"<i4\"}", ZS_INT32, "", 1, false);
}

static void check_refused_type(const char *given)
{
    struct zs_store *store = make_store();
    char *document = zs_format("{\"data_type\":%s,\"attributes\":{}," PLAIN "}", given);
    put(store, "meta/root/t.array.json", document);
    free(document);
    struct zs_hierarchy *h = open_hierarchy(store);
    CHECK(node_at(h, "t")->array == NULL && strstr(node_at(h, "t")->array_error->message, "data_type") != NULL);
    zs_hierarchy_free(h);
    zs_store_free(store);
}

static void test_unknown_draft_types_are_refused(void)
{
    static const char *const types[] = {"\"i2\"",       "\"|i2\"",
                                        "\"=i2\"",      "\"<i3\"",
                                        "\"<\"",        "\"\"",
                                        "\"<M8[\"",     "\"<M8[ns\"",
                                        "\"<M8[]\"",    "\"<M8[3]\"",
                                        "\"<M8[ns]x\"", "\"<M8[0s]\"",
                                        "\"<M8[-1s]\"", "\"<M8nothing\"",
                                        "\"<U\"",       "\"<U-1\"",
                                        "\"r7\"",       "3",
                                        "[]",           "{}",
                                        "{\"type\":3}", "null"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        check_refused_type(types[i]);
}

static void test_draft_store_is_never_written(void)
{
    struct zs_store *store = make_store();
    struct zs_hierarchy *h = open_hierarchy(store);
    struct zs_error err = {0};
    zs_json *attributes;
    CHECK(zs_hierarchy_edit(h, node_at(h, "g"), &attributes, &err) == ZS_UNSUPPORTED &&
          strstr(err.message, "only read") != NULL);
    CHECK(zs_hierarchy_remove(h, "g/a", &err) == ZS_UNSUPPORTED);
    struct zs_node *group;
    CHECK(zs_node_create_implicit("new", &group, &err) == ZS_OK);
    CHECK(zs_hierarchy_add(h, group, &err) == ZS_UNSUPPORTED);
    CHECK(!zs_hierarchy_is_changed(h) && zs_hierarchy_flush(h, &err) == ZS_OK);
    struct zs_array *array;
    const uint64_t start[2] = {0}, count[2] = {1, 1};
    int16_t value = 1;
    const struct zs_window window = {.count = {1, 1}, .data = &value};
    CHECK(zs_array_open_node(h, node_at(h, "g/a"), NULL, &array, &err) == ZS_OK);
    CHECK(zs_array_write_windows(array, &window, 1, sizeof value, NULL, NULL, &err) == ZS_UNSUPPORTED);
    int16_t found = 0;
    CHECK(zs_array_read(array, start, count, &found, &err) == ZS_OK && found == 7);
    zs_array_close(array);
    zs_hierarchy_free(h);
    zs_store_free(store);
}

int main(void)
{
    RUN(test_nodes_are_found_and_listed_with_the_groups_that_were_left_out);
    RUN(test_sharded_draft_array_is_translated_to_sharding_indexed);
    RUN(test_keys_of_chunks);
    RUN(test_unsupported_draft_array_says_why_and_hides_nothing);
    RUN(test_data_types);
    RUN(test_unknown_draft_types_are_refused);
    RUN(test_draft_store_is_never_written);
    return check_result();
}
