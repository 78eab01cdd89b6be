/* Which smaller arrays are overviews of an array, by each of the conventions. */
#include "raster/overviews.h"
#include "geo_store.h"

/* Paths of the overviews, joined by blanks. */
static const char *overviews(struct geo_store *s, const char *path)
{
    static char joined[512];
    struct zs_error err = {""};
    struct zs_axes axes;
    struct zs_names levels = {0};
    const struct zs_node *node = open_node(s, path);
    joined[0] = '\0';
    CHECK(zs_axes_find(s->h, node, NULL, NULL, &axes, &err) == ZS_OK);
    CHECK(zs_overviews_find(s->h, node, axes, &levels, &err) == ZS_OK);
    for (size_t i = 0; i < levels.count; i++) {
        strcat(joined, i > 0 ? " " : "");
        strcat(joined, levels.list[i]);
    }
    zs_names_free(levels.list);
    return joined;
}

static void test_groups_as_assets_in_any_order(void)
{
    struct geo_store s = {0};
    put_group(&s, "", "{'multiscales':{'layout':[{'asset':'2'},{'asset':'0'},{'asset':'1','derived_from':'0'},"
                      "{'asset':'super','derived_from':'0'},{'asset':'gone'}]}}");
    static const char *const groups[] = {"0", "1", "2", "super"};
    for (int i = 0; i < 4; i++)
        put_group(&s, groups[i], "{}");
    put_array(&s, "0/a", "[3,9,10]", "['b','y','x']", "uint8", "0", "{}");
    put_array(&s, "1/a", "[3,5,5]", "['b','y','x']", "uint8", "0", "{}");
    put_array(&s, "2/a", "[3,2,2]", "['b','y','x']", "uint8", "0", "{}");
    put_array(&s, "super/a", "[3,18,20]", "['b','y','x']", "uint8", "0", "{}");
    put_array(&s, "0/type", "[9,10]", "['y','x']", "uint8", "0", "{}");
    put_array(&s, "1/type", "[5,5]", "['y','x']", "uint16", "0", "{}");
    CHECK_EQ_STR(overviews(&s, "0/a"), "1/a 2/a");
    CHECK_EQ_STR(overviews(&s, "1/a"), "2/a");
    CHECK_EQ_STR(overviews(&s, "2/a"), "");
    CHECK_EQ_STR(overviews(&s, "super/a"), "1/a 2/a"); /* but not the level it was made from */
    CHECK_EQ_STR(overviews(&s, "0/type"), "");
    CHECK(!is_overview(&s, "0/a")); /* the super-resolution is made from it */
    CHECK(is_overview(&s, "1/a"));
    CHECK(is_overview(&s, "2/a"));
    close_store(&s);
}

static void test_arrays_as_assets(void)
{
    struct geo_store s = {0};
    put_group(&s, "", "{}");
    put_group(&s, "p", "{'multiscales':{'layout':[{'asset':'l0/ar'},{'asset':'flat','spatial:shape':[5,5]},"
                       "{'asset':'wrong','spatial:shape':[4,4]},{'asset':'../l0'}]}}");
    put_group(&s, "p/l0", "{}");
    put_array(&s, "p/l0/ar", "[10,10]", "['y','x']", "uint8", "0", "{}");
    put_array(&s, "p/l0/other", "[20,20]", "['y','x']", "uint8", "0", "{}");
    put_array(&s, "p/flat", "[5,5]", "['y','x']", "uint8", "0", "{}");
    put_array(&s, "p/wrong", "[3,3]", "['y','x']", "uint8", "0", "{}");
    CHECK_EQ_STR(overviews(&s, "p/l0/ar"), "p/flat");
    CHECK_EQ_STR(overviews(&s, "p/l0/other"), "");
    CHECK(!is_overview(&s, "p/l0/ar"));
    CHECK(is_overview(&s, "p/flat"));
    close_store(&s);
}

static void test_groups_of_gdal_beside_the_array(void)
{
    struct geo_store s = {0};
    put_group(&s, "", "{}");
    put_array(&s, "ar", "[10,10]", "['y','x']", "uint8", "0", "{}");
    put_group(&s, "ovr_2x", "{}");
    put_array(&s, "ovr_2x/ar", "[5,5]", "['y','x']", "uint8", "0", "{}");
    put_group(&s, "ovr_4x", "{}");
    put_array(&s, "ovr_4x/ar", "[3,3]", "['y','x']", "uint8", "0", "{}");
    put_array(&s, "ovr_4x/x", "[3]", "['x']", "uint8", "0", "{}");
    CHECK_EQ_STR(overviews(&s, "ar"), "ovr_2x/ar ovr_4x/ar");
    CHECK_EQ_STR(overviews(&s, "ovr_2x/ar"), "ovr_4x/ar");
    CHECK(!is_overview(&s, "ar"));
    CHECK(is_overview(&s, "ovr_4x/ar"));
    CHECK(!is_overview(&s, "ovr_4x/x"));
    close_store(&s);
}

static void test_ome_datasets(void)
{
    struct geo_store s = {0};
    put_group(&s, "", "{'ome':{'multiscales':[{'datasets':[{'path':'0'},{'path':'1'},{'path':'2'}]}]}}");
    put_array(&s, "0", "[2,8,8]", "['z','y','x']", "uint8", "0", "{}");
    put_array(&s, "1", "[2,4,4]", "['z','y','x']", "uint8", "0", "{}");
    put_array(&s, "2", "[1,2,2]", "['z','y','x']", "uint8", "0", "{}"); /* smaller in depth, too: no overview */
    CHECK_EQ_STR(overviews(&s, "0"), "1");
    CHECK(is_overview(&s, "1"));
    CHECK(!is_overview(&s, "2"));
    close_store(&s);
}

static void test_circular_derivation_ends(void)
{
    struct geo_store s = {0};
    put_group(&s, "", "{'multiscales':{'layout':[{'asset':'0','derived_from':'1'},{'asset':'1','derived_from':'0'}]}}");
    put_array(&s, "0", "[8,8]", "['y','x']", "uint8", "0", "{}");
    put_array(&s, "1", "[4,4]", "['y','x']", "uint8", "0", "{}");
    CHECK_EQ_STR(overviews(&s, "0"), "");
    close_store(&s);
}

int main(void)
{
    RUN(test_groups_as_assets_in_any_order);
    RUN(test_arrays_as_assets);
    RUN(test_groups_of_gdal_beside_the_array);
    RUN(test_ome_datasets);
    RUN(test_circular_derivation_ends);
    return check_result();
}
