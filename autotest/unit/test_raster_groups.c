/* Which arrays of a store lie on one grid, and in which order they are bands. */
#include "geo_store.h"
#include "raster/listing.h"

/* "group: array array; group: ..." of all rasters of a store. */
static const char *groups(struct geo_store *s, const char *dim_x, const char *dim_y)
{
    static char joined[1024];
    struct zs_error err = {""};
    struct zs_raster_groups found;
    const struct zs_node **nodes;
    size_t count;
    joined[0] = '\0';
    if (!CHECK(zs_rasters_find(s->h, open_node(s, ""), &nodes, &count, NULL, &err) == ZS_OK))
        return joined;
    CHECK(zs_raster_groups_find(s->h, nodes, count, dim_x, dim_y, &found, &err) == ZS_OK);
    for (size_t g = 0; g < found.count; g++) {
        strcat(strcat(strcat(joined, g > 0 ? "; " : ""), found.list[g].group->path), ":");
        for (size_t i = 0; i < found.list[g].count; i++)
            strcat(strcat(joined, " "), zs_path_name(found.list[g].arrays[i]->path));
    }
    zs_raster_groups_clear(&found);
    free(nodes);
    return joined;
}

static void put_grid(struct geo_store *s, const char *path, const char *shape, const char *attributes)
{
    put_array(s, path, shape, "['y','x']", "uint8", "0", attributes);
}

static void test_names_are_ordered_naturally(void)
{
    static const char *const ordered[] = {"", "08", "8", "10", "B2", "b", "b02", "b2", "b02a", "b3", "b10", "b10a", "c"};
    const int n = (int)(sizeof ordered / sizeof ordered[0]);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) {
            const int order = zs_compare_naturally(ordered[i], ordered[k]);
            CHECK((order > 0) - (order < 0) == (i > k) - (i < k));
        }
    CHECK(zs_compare_naturally("b99999999999999999999998", "b99999999999999999999999") < 0);
}

static void test_arrays_of_one_grid_are_a_group(void)
{
    struct geo_store s = {0};
    put_group(&s, "", "{}");
    put_grid(&s, "b10", "[4,6]", "{}");
    put_grid(&s, "b2", "[4,6]", "{}");
    put_grid(&s, "coarse", "[2,3]", "{}");
    put_array(&s, "cube", "[3,4,6]", "['time','y','x']", "float32", "0", "{}"); /* another type, more dimensions */
    put_array(&s, "turned", "[6,4]", "['x','y']", "uint8", "0", "{}");
    put_array(&s, "other_names", "[4,6]", "['lat','lon']", "uint8", "0", "{}");
    put_array(&s, "line", "[6]", "['x']", "uint8", "0", "{}");
    put_group(&s, "g", "{}");
    put_grid(&s, "g/alone", "[4,6]", "{}");
    put_group(&s, "g/h", "{}");
    put_grid(&s, "g/h/v", "[5,5]", "{}");
    put_grid(&s, "g/h/u", "[5,5]", "{}");
    open_node(&s, "");
    CHECK_EQ_STR(groups(&s, NULL, NULL), ": b2 b10 cube turned; g/h: u v");
    CHECK_EQ_STR(groups(&s, "lon", "lat"), "");
    close_store(&s);
}

static void test_arrays_with_other_georeferencing_are_no_group(void)
{
    struct geo_store s = {0};
    put_group(&s, "", "{}");
    put_grid(&s, "a", "[4,6]", "{'spatial:transform':[1,0,0,0,-1,0],'proj:code':'EPSG:32633','long_name':'A'}");
    put_grid(&s, "b", "[4,6]", "{'proj:code':'EPSG:32633','spatial:transform':[1,0,0,0,-1,0],'units':'m'}");
    put_grid(&s, "c", "[4,6]", "{'spatial:transform':[1,0,100,0,-1,0],'proj:code':'EPSG:32633'}");
    put_grid(&s, "d", "[4,6]", "{}");
    put_grid(&s, "e", "[4,6]", "{'grid_mapping':'crs'}");
    put_grid(&s, "f", "[4,6]", "{'_CRS':{'wkt':'LOCAL_CS[]'}}");
    open_node(&s, "");
    CHECK_EQ_STR(groups(&s, NULL, NULL), ": a b");
    close_store(&s);
}

/* Swaths: `coordinates` tell the place where they are of two dimensions, and scalars and lines beside it do not. */
static void test_two_dimensional_coordinates_distinguish_grids(void)
{
    struct geo_store s = {0};
    put_group(&s, "", "{}");
    put_grid(&s, "lat", "[4,6]", "{}");
    put_grid(&s, "lon", "[4,6]", "{}");
    put_grid(&s, "lat2", "[4,6]", "{}");
    put_array(&s, "level", "[]", "[]", "uint8", "0", "{}");
    put_grid(&s, "a", "[4,6]", "{'coordinates':'level lat lon'}");
    put_grid(&s, "b", "[4,6]", "{'coordinates':'lat lon gone'}");
    put_grid(&s, "c", "[4,6]", "{'coordinates':'lat2 lon'}");
    open_node(&s, "");
    CHECK_EQ_STR(groups(&s, NULL, NULL), ": a b");
    close_store(&s);
}

/* Most arrays; of as many, the finest. */
static void test_one_grid_of_a_group_counts(void)
{
    struct geo_store s = {0};
    put_group(&s, "", "{}");
    put_grid(&s, "c1", "[2,3]", "{}");
    put_grid(&s, "c2", "[2,3]", "{}");
    put_grid(&s, "f1", "[4,6]", "{}");
    put_grid(&s, "f2", "[4,6]", "{}");
    open_node(&s, "");
    CHECK_EQ_STR(groups(&s, NULL, NULL), ": f1 f2");
    zs_hierarchy_free(s.h);
    s.h = NULL;
    put_grid(&s, "c3", "[2,3]", "{}");
    open_node(&s, "");
    CHECK_EQ_STR(groups(&s, NULL, NULL), ": c1 c2 c3");
    close_store(&s);
}

static void test_bands_are_the_slices_of_all_arrays(void)
{
    struct geo_store s = {0};
    struct zs_raster_groups found;
    const struct zs_node **nodes;
    struct zs_error err;
    size_t count;
    put_group(&s, "", "{}");
    put_array(&s, "a", "[5,3,4,6]", "['s','t','y','x']", "uint8", "0", "{}");
    put_array(&s, "b", "[4,7,6]", "['y','t','x']", "uint8", "0", "{}");
    put_grid(&s, "c", "[4,6]", "{}");
    open_node(&s, "");
    CHECK(zs_rasters_find(s.h, open_node(&s, ""), &nodes, &count, NULL, &err) == ZS_OK);
    CHECK(zs_raster_groups_find(s.h, nodes, count, NULL, NULL, &found, &err) == ZS_OK);
    CHECK(found.count == 1 && found.list[0].bands == 5 * 3 + 7 + 1);
    CHECK(found.list[0].width == 6 && found.list[0].height == 4);
    zs_raster_groups_clear(&found);
    free(nodes);
    close_store(&s);
}

static void test_an_unreadable_array_is_missed_where_its_size_is_that_of_the_grid(void)
{
    struct geo_store s = {0};
    put_group(&s, "", "{}");
    put_group(&s, "g", "{}");
    put_array(&s, "g/bad", "[3,4,6]", "['t','y','x']", "uint9", "0", "{}");
    put_array(&s, "g/square", "[4,4]", "['y','x']", "uint9", "0", "{}");
    put_array(&s, "elsewhere", "[4,6]", "['y','x']", "uint9", "0", "{}");
    const struct zs_raster_group grid = {.group = open_node(&s, "g"), .width = 6, .height = 4};
    const struct zs_raster_group square = {.group = open_node(&s, "g"), .width = 4, .height = 4};
    CHECK(zs_raster_group_misses(&grid, open_node(&s, "g/bad")));
    CHECK(!zs_raster_group_misses(&square, open_node(&s, "g/bad")));
    CHECK(zs_raster_group_misses(&square, open_node(&s, "g/square")));
    CHECK(!zs_raster_group_misses(&grid, open_node(&s, "elsewhere")));
    close_store(&s);
}

int main(void)
{
    RUN(test_names_are_ordered_naturally);
    RUN(test_arrays_of_one_grid_are_a_group);
    RUN(test_arrays_with_other_georeferencing_are_no_group);
    RUN(test_two_dimensional_coordinates_distinguish_grids);
    RUN(test_one_grid_of_a_group_counts);
    RUN(test_bands_are_the_slices_of_all_arrays);
    RUN(test_an_unreadable_array_is_missed_where_its_size_is_that_of_the_grid);
    return check_result();
}
