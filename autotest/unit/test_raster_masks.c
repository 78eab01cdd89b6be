/* Which array beside a raster is its mask. */

#include "raster/masks.h"
#include "geo_store.h"

#define GOOD "{'flag_values':[0,1],'flag_meanings':'bad good'}"

/* Name of the mask of an array, "" where it has none. */
static const char *mask_of(struct geo_store *s, const char *path)
{
    struct zs_mask mask;
    struct zs_axes axes;
    struct zs_error err = {""};
    const struct zs_node *node = open_node(s, path);
    CHECK(zs_axes_find(s->h, node, NULL, NULL, &axes, &err) == ZS_OK);
    if (!CHECK(zs_mask_find(s->h, node, axes, &mask, &err) == ZS_OK))
        fprintf(stderr, "%s\n", err.message);
    return mask.node != NULL ? mask.node->path : "";
}

static void test_first_validity_array_is_the_mask(void)
{
    struct geo_store s = {0};
    put_group(&s, "", "{}");
    put_array(&s, "a", "[4,6]", "['y','x']", "int16", "0", "{'ancillary_variables':'gone a clouds q r'}");
    put_array(&s, "clouds", "[4,6]", "['y','x']", "uint8", "0", "{'flag_values':[0,1],'flag_meanings':'clear cloud'}");
    put_array(&s, "q", "[4,6]", "['y','x']", "uint8", "0", GOOD);
    put_array(&s, "r", "[4,6]", "['y','x']", "uint8", "0", GOOD);
    CHECK_EQ_STR(mask_of(&s, "a"), "q");
    CHECK_EQ_STR(mask_of(&s, "q"), "");
    close_store(&s);
}

static void test_a_mask_has_the_dimensions_of_its_raster(void)
{
    static const struct {
        const char *shape, *names;
        bool fits;
    } cases[] = {{"[4,6]", "['y','x']", true},          {"[6,4]", "['x','y']", true},
                 {"[3,4,6]", "['t','y','x']", true},    {"[4,3,6]", "['y','t','x']", true},
                 {"[4,6]", "['x','y']", false},         {"[2,4,6]", "['t','y','x']", false},
                 {"[3,4,6]", "['z','y','x']", false},   {"[4]", "['y']", false},
                 {"[4,4,6]", "['y','y','x']", false},   {"[4,6]", "[null,null]", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct geo_store s = {0};
        put_group(&s, "", "{}");
        put_array(&s, "a", "[3,4,6]", "['t','y','x']", "int16", "0", "{'ancillary_variables':'q'}");
        put_array(&s, "q", cases[i].shape, cases[i].names, "uint8", "0", GOOD);
        if (!CHECK_EQ_STR(mask_of(&s, "a"), cases[i].fits ? "q" : ""))
            fprintf(stderr, "%s %s\n", cases[i].shape, cases[i].names);
        close_store(&s);
    }
}

static void test_names_of_known_products(void)
{
    struct geo_store s = {0};
    put_group(&s, "", "{}");
    put_group(&s, "r", "{'crs':'EPSG:3031','resolution':[1,1],'bounds':[0,0,6,4]}");
    put_array(&s, "r/count", "[4,6]", "['y','x']", "int32", "0", "{}");
    put_array(&s, "r/aoi_mask", "[4,6]", "['y','x']", "bool", "false", "{}");
    put_group(&s, "u", "{}");
    put_array(&s, "u/embeddings_d4", "[2,4,4,6]", "['t','b','y','x']", "int8", "0", "{}");
    put_array(&s, "u/other", "[2,4,4,6]", "['t','b','y','x']", "int8", "0", "{}");
    put_array(&s, "u/scales", "[2,4,6]", "['t','y','x']", "float32", "0", "{}");
    put_array(&s, "u/aoi_mask", "[4,6]", "['y','x']", "bool", "false", "{}");
    CHECK_EQ_STR(mask_of(&s, "r/count"), "r/aoi_mask");
    CHECK_EQ_STR(mask_of(&s, "u/embeddings_d4"), "u/scales");
    CHECK_EQ_STR(mask_of(&s, "u/other"), "");
    close_store(&s);
}

static void test_new_mask_is_created_beside_its_arrays(void)
{
    struct geo_store s = {0};
    struct zs_error err = {""};
    const struct zs_array_options options = {.threads = 1};
    const struct zs_axes axes[2] = {{.x = 2, .y = 1}, {.x = 1, .y = 0}};
    struct zs_mask mask, found;
    struct zs_array *array = NULL;
    put_group(&s, "", "{}");
    put_array(&s, "a", "[3,4,6]", "['t','y','x']", "int16", "0", "{'ancillary_variables':'q'}");
    put_array(&s, "b", "[4,6]", "['y','x']", "int16", "0", "{}");
    put_array(&s, "mask", "[4]", "['y']", "uint8", "0", "{}");
    const struct zs_node *nodes[2] = {open_node(&s, "a"), open_node(&s, "b")};
    if (!CHECK(zs_mask_create(s.h, nodes, axes, 2, 0, &options, &mask, &array, &err) == ZS_OK))
        fprintf(stderr, "%s\n", err.message);
    CHECK_EQ_STR(mask.node->path, "mask_2");
    CHECK(mask.validity.is_plain && mask.is_named);
    CHECK_EQ_U64(mask.node->array->shape[1], 6);
    zs_array_close(array);
    for (int i = 0; i < 2; i++) {
        CHECK(zs_mask_find(s.h, nodes[i], axes[i], &found, &err) == ZS_OK);
        CHECK(found.node == mask.node);
    }
    const char *list = "";
    CHECK(zs_json_string(zs_json_get(nodes[0]->attributes, "ancillary_variables"), &list));
    CHECK_EQ_STR(list, "mask_2 q");
    close_store(&s);
}

static void test_a_mask_takes_the_last_name_that_is_free(void)
{
    struct geo_store s = {0};
    struct zs_error err = {""};
    const struct zs_array_options options = {.threads = 1};
    const struct zs_axes axes = {.x = 1, .y = 0};
    struct zs_mask mask;
    struct zs_array *array = NULL;
    put_group(&s, "", "{}");
    put_array(&s, "a", "[4,6]", "['y','x']", "int16", "0", "{}");
    for (int i = 1; i <= 98; i++) {
        char name[16] = "mask";
        if (i > 1)
            (void)snprintf(name, sizeof name, "mask_%d", i);
        put_group(&s, name, "{}");
    }
    const struct zs_node *node = open_node(&s, "a");
    if (!CHECK(zs_mask_create(s.h, &node, &axes, 1, 0, &options, &mask, &array, &err) == ZS_OK))
        fprintf(stderr, "%s\n", err.message);
    else
        CHECK_EQ_STR(mask.node->path, "mask_99");
    zs_array_close(array);
    array = NULL;
    CHECK(zs_mask_create(s.h, &node, &axes, 1, 0, &options, &mask, &array, &err) == ZS_ARGUMENT);
    CHECK_CONTAINS(err.message, "mask to mask_99 taken");
    close_store(&s);
}

int main(void)
{
    RUN(test_first_validity_array_is_the_mask);
    RUN(test_a_mask_has_the_dimensions_of_its_raster);
    RUN(test_names_of_known_products);
    RUN(test_new_mask_is_created_beside_its_arrays);
    RUN(test_a_mask_takes_the_last_name_that_is_free);
    return check_result();
}
