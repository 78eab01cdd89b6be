/* zarr.json as structures: what is read, what is refused and in which words, and the keys of chunks. */
#include "check.h"

#include <stdlib.h>

#include "base/memory.h"
#include "zarr/node.h"

/* An array's document: this one, with the given members replaced ("name": value, ...) or, with a value of `absent`, left
 * out. */
static const char base[] = "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[100,200],\"data_type\":\"uint16\","
                           "\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[10,20]}},"
                           "\"chunk_key_encoding\":{\"name\":\"default\",\"configuration\":{\"separator\":\"/\"}},"
                           "\"fill_value\":7,\"codecs\":[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}]}";

static zs_json *parse(const char *text)
{
    zs_json *root = NULL;
    struct zs_error err = {0};
    if (!CHECK(zs_json_parse(text, strlen(text), &root, &err) == ZS_OK))
        fprintf(stderr, "%s: %s\n", text, err.message);
    return root;
}

static struct zs_node *node_with(const char *members)
{
    zs_json *document = parse(base);
    zs_json *changes = parse(members);
    for (const zs_json *c = zs_json_first(changes); c != NULL; c = zs_json_next(c)) {
        if (zs_json_equals(c, "absent"))
            zs_json_remove(document, zs_json_name(c));
        else
            zs_json_set(document, zs_json_name(c), zs_json_copy(c));
    }
    zs_json_free(changes);
    struct zs_node *node = NULL;
    struct zs_error err = {0};
    if (!CHECK(zs_node_create("g/a", document, true, &node, &err) == ZS_OK))
        fprintf(stderr, "%s: %s\n", members, err.message);
    return node;
}

static struct zs_node *readable_with(const char *members)
{
    struct zs_node *node = node_with(members);
    if (node != NULL && !CHECK(node->array_status == ZS_OK && node->array != NULL))
        fprintf(stderr, "%s: %s\n", members, node->array_error->message);
    return node;
}

static void check_unreadable(const char *members, enum zs_status expected, const char *part)
{
    struct zs_node *node = node_with(members);
    if (node == NULL)
        return;
    if (!CHECK(node->array_status == expected && node->array == NULL))
        fprintf(stderr, "%s: status %d: %s\n", members, (int)node->array_status, node->array_error->message);
    CHECK_CONTAINS(node->array_error->message, part);
    CHECK_CONTAINS(node->array_error->message, "g/a/zarr.json: ");
    CHECK(node->type == ZS_NODE_ARRAY);
    zs_node_free(node);
}

static void check_accepted(const char *members)
{
    zs_node_free(readable_with(members));
}

TEST(test_array_metadata_are_read)
{
    struct zs_node *node = readable_with("{\"dimension_names\":[\"y\",null],\"attributes\":{\"u\":\"m\"}}");
    CHECK_EQ_STR(node->path, "g/a");
    CHECK(zs_json_equals(zs_json_get(node->attributes, "u"), "m"));
    CHECK(!node->is_implicit);
    const struct zs_array_meta *m = node->array;
    CHECK_EQ_I64(m->ndim, 2);
    CHECK(m->shape[0] == 100 && m->shape[1] == 200 && m->chunk_shape[0] == 10 && m->chunk_shape[1] == 20);
    CHECK(m->dtype.type == ZS_UINT16 && !m->fill_value_is_null && !m->is_sharded);
    const uint16_t seven = 7;
    CHECK_EQ_MEM(m->fill_value, &seven, 2);
    CHECK_EQ_STR(m->dimension_names[0], "y");
    CHECK_EQ_STR(m->dimension_names[1], NULL);
    CHECK(m->key_separator == '/' && !m->key_is_v2);
    CHECK_EQ_U64(zs_json_size(m->codecs), 1);
    zs_node_free(node);

    node = readable_with("{\"fill_value\":null}");
    CHECK(node->array->fill_value_is_null && node->attributes == NULL);
    zs_node_free(node);
    node = readable_with("{\"fill_value\":\"absent\"}");
    CHECK(node->array->fill_value_is_null);
    zs_node_free(node);
    zs_node_free(NULL);
}

TEST(test_extension_points_may_be_bare_strings)
{
    struct zs_node *node = readable_with("{\"codecs\":[\"bytes\"],\"chunk_key_encoding\":\"v2\",\"data_type\":{\"name\":\"int8\"}}");
    CHECK(node->array->key_is_v2 && node->array->key_separator == '.');
    zs_node_free(node);
    node = readable_with("{\"chunk_key_encoding\":{\"name\":\"default\"}}");
    CHECK(!node->array->key_is_v2 && node->array->key_separator == '/');
    zs_node_free(node);

    const zs_json *configuration = (const zs_json *)base;
    zs_json *root = parse("[\"a\",{\"name\":\"b\",\"configuration\":{\"x\":1}},{\"name\":\"c\"},{\"name\":3},{},4]");
    CHECK_EQ_STR(zs_extension_name(zs_json_at(root, 0), &configuration), "a");
    CHECK(configuration == NULL);
    CHECK_EQ_STR(zs_extension_name(zs_json_at(root, 1), &configuration), "b");
    CHECK_EQ_U64(zs_json_size(configuration), 1);
    CHECK_EQ_STR(zs_extension_name(zs_json_at(root, 2), &configuration), "c");
    CHECK(configuration == NULL);
    for (size_t i = 3; i < 6; i++)
        CHECK(zs_extension_name(zs_json_at(root, i), &configuration) == NULL);
    CHECK(zs_extension_name(NULL, NULL) == NULL);
    zs_json_free(root);
}

TEST(test_members_that_must_be_understood)
{
    check_unreadable("{\"flavour\":{}}", ZS_UNSUPPORTED, "member \"flavour\" must be understood");
    check_unreadable("{\"flavour\":{\"must_understand\":true}}", ZS_UNSUPPORTED, "flavour");
    check_unreadable("{\"flavour\":{\"must_understand\":\"false\"}}", ZS_UNSUPPORTED, "flavour");
    check_unreadable("{\"flavour\":false}", ZS_UNSUPPORTED, "flavour");
    check_unreadable("{\"chunk_key_encoding\":{\"name\":\"default\",\"configuration\":[\"/\"]}}", ZS_INVALID, "expected an object");
    check_unreadable("{\"Shape\":[1]}", ZS_UNSUPPORTED, "Shape");
    check_accepted("{\"flavour\":{\"must_understand\":false,\"name\":\"x\"}}");
    check_accepted("{\"storage_transformers\":[],\"attributes\":{},\"consolidated_metadata\":null}");
    check_unreadable("{\"storage_transformers\":[{\"name\":\"chunk-manifest\"}]}", ZS_UNSUPPORTED, "\"chunk-manifest\"");
    check_unreadable("{\"storage_transformers\":[5]}", ZS_UNSUPPORTED, "storage transformer");
    check_unreadable("{\"storage_transformers\":{}}", ZS_INVALID, "storage_transformers");
    check_unreadable("{\"attributes\":[]}", ZS_INVALID, "attributes");
    check_accepted("{\"attributes\":null}");
}

TEST(test_dimension_names)
{
    check_unreadable("{\"dimension_names\":[\"y\"]}", ZS_INVALID, "dimension_names: expected an array of 2 names, found 1");
    check_unreadable("{\"dimension_names\":[\"y\",2]}", ZS_INVALID, "dimension_names");
    check_unreadable("{\"dimension_names\":\"yx\"}", ZS_INVALID, "dimension_names");
    struct zs_node *node = readable_with("{\"dimension_names\":null,\"attributes\":{\"_ARRAY_DIMENSIONS\":[\"lat\",\"lon\"]}}");
    CHECK_EQ_STR(node->array->dimension_names[0], "lat");
    CHECK_EQ_STR(node->array->dimension_names[1], "lon");
    zs_node_free(node);
    node = readable_with("{\"attributes\":{\"_ARRAY_DIMENSIONS\":[\"lat\",7]}}");
    CHECK_EQ_STR(node->array->dimension_names[0], "lat");
    CHECK_EQ_STR(node->array->dimension_names[1], NULL);
    zs_node_free(node);
    node = readable_with("{\"attributes\":{\"_ARRAY_DIMENSIONS\":[\"time\",\"lat\",\"lon\"]}}"); /* of no use, no error */
    CHECK_EQ_STR(node->array->dimension_names[0], NULL);
    zs_node_free(node);
    node = readable_with("{\"dimension_names\":[\"y\",\"\"],\"attributes\":{\"_ARRAY_DIMENSIONS\":[\"lat\",\"lon\"]}}");
    CHECK_EQ_STR(node->array->dimension_names[0], "y");
    CHECK_EQ_STR(node->array->dimension_names[1], NULL);
    zs_node_free(node);
}

static void check_no_node(const char *text, enum zs_status expected, const char *part)
{
    struct zs_node *node = NULL;
    struct zs_error err = {0};
    CHECK(zs_node_create("", parse(text), true, &node, &err) == expected);
    CHECK(node == NULL);
    CHECK_CONTAINS(err.message, part);
    CHECK(strncmp(err.message, "zarr.json: ", 11) == 0);
}

TEST(test_documents_that_are_no_nodes)
{
    check_no_node("[]", ZS_INVALID, "object");
    check_no_node("null", ZS_INVALID, "object");
    check_no_node("{}", ZS_INVALID, "zarr_format");
    check_no_node("{\"zarr_format\":2}", ZS_UNSUPPORTED, "zarr_format: expected 3, found 2");
    check_no_node("{\"zarr_format\":\"https://purl.org/zarr/spec/protocol/core/3.0\"}", ZS_UNSUPPORTED, "purl.org");
    check_no_node("{\"zarr_format\":3}", ZS_INVALID, "node_type");
    check_no_node("{\"zarr_format\":3,\"node_type\":\"table\"}", ZS_INVALID, "node_type");
    check_no_node("{\"zarr_format\":true,\"node_type\":\"group\"}", ZS_INVALID, "zarr_format");
}

static void check_key(int ndim, bool is_v2, char separator, const char *path, const char *expected)
{
    const struct zs_array_meta meta = {.ndim = ndim, .key_is_v2 = is_v2, .key_separator = separator};
    const uint64_t index[3] = {1, 23, UINT64_MAX};
    char *key = zs_chunk_key(&meta, path, index);
    CHECK_EQ_STR(key, expected);
    uint64_t parsed[3] = {0};
    if (CHECK(zs_chunk_key_parse(&meta, key + strlen(path) + (path[0] != '\0'), parsed)))
        CHECK_EQ_MEM(parsed, index, (size_t)ndim * sizeof *index);
    free(key);
}

TEST(test_other_keys_are_not_taken_for_chunk_keys)
{
    const struct zs_array_meta meta = {.ndim = 2, .key_separator = '/'}, v2 = {.ndim = 2, .key_is_v2 = true, .key_separator = '.'};
    const struct zs_array_meta scalar = {.key_separator = '/'};
    static const char *const keys[] = {"",      "c",     "c/1",    "c/1/2/3", "c/01/2",  "c/1/",   "c/-1/2",  "c/+1/2",
                                       "c/ 1/2", "c.1.2", "1/2",    "1.2",     "C/1/2",   "c/1/2x", "c/1/.2.tmp", "zarr.json",
                                       "c/1/18446744073709551616"};
    uint64_t index[2];
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        CHECK(!zs_chunk_key_parse(&meta, keys[i], index));
    CHECK(!zs_chunk_key_parse(&v2, "c/1/2", index));
    CHECK(!zs_chunk_key_parse(&v2, "1.", index));
    CHECK(!zs_chunk_key_parse(&scalar, "c/0", index));
    CHECK(!zs_chunk_key_parse(&scalar, "0", index));
}

TEST(test_chunk_keys)
{
    check_key(3, false, '/', "g/a", "g/a/c/1/23/18446744073709551615");
    check_key(2, false, '.', "a", "a/c.1.23");
    check_key(2, true, '.', "a", "a/1.23");
    check_key(2, true, '/', "a", "a/1/23");
    check_key(2, false, '/', "", "c/1/23");
    check_key(1, true, '.', "", "1");
    check_key(0, false, '/', "a", "a/c");
    check_key(0, false, '.', "", "c");
    check_key(0, true, '.', "a", "a/0");
    const struct zs_array_meta meta = {.ndim = ZS_MAX_NDIM, .key_separator = '/'};
    uint64_t index[ZS_MAX_NDIM];
    for (int i = 0; i < ZS_MAX_NDIM; i++)
        index[i] = UINT64_MAX;
    char *key = zs_chunk_key(&meta, "a", index);
    CHECK_EQ_U64(strlen(key), 3 + 21 * ZS_MAX_NDIM);
    free(key);
}

/* Each member removed, and replaced by a value of each kind: never more than a clear error. */
TEST(test_members_of_any_json_type_do_not_crash)
{
    static const char *const values[] = {"null", "true", "-1", "1e999", "\"\"", "\"absent\"", "[]", "[[]]", "{}", "[null,{}]",
                                         "{\"name\":\"default\",\"configuration\":[]}", "[{\"name\":\"\"}]", "NaN"};
    static const char *const members[] = {"shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs",
                                          "attributes", "storage_transformers", "dimension_names", "consolidated_metadata", ""};
    for (size_t m = 0; m < sizeof members / sizeof members[0]; m++) {
        for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
            char *text = zs_format("{\"%s\":%s}", members[m], values[v]);
            struct zs_node *node = node_with(text);
            CHECK((node->array_status == ZS_OK) == (node->array != NULL));
            CHECK((node->array_status == ZS_OK) == (node->array_error->message[0] == '\0'));
            zs_node_free(node);
            free(text);
        }
    }
}
