/* Layouts that others publish: zagg's rectilinear products, ndpyramid, empty grid mappings. */
#include <math.h>

#include "geo/crs.h"
#include "geo/georef.h"
#include "geo_store.h"
#include "raster/overviews.h"

static void check_place_in(struct zs_hierarchy *h, const char *path, const double *expected, const char *code)
{
    struct zs_error err = {""};
    struct zs_axes axes;
    struct zs_georef g;
    const struct zs_node *node;
    if (!CHECK(zs_hierarchy_node(h, path, &node, &err) == ZS_OK))
        return;
    CHECK(zs_axes_find(h, node, NULL, NULL, &axes, &err) == ZS_OK);
    if (!CHECK(zs_georef_read(h, node, axes, &g, &err) == ZS_OK))
        return;
    if (CHECK(g.has_transform == (expected != NULL)) && expected != NULL)
        for (int i = 0; i < 6; i++)
            CHECK_EQ_F64(g.transform[i], expected[i]);
    CHECK_EQ_STR(g.srs != NULL ? OSRGetAuthorityCode(g.srs, NULL) : NULL, code);
    zs_georef_clear(&g);
}

static void check_place(struct geo_store *s, const char *path, const double *expected, const char *code)
{
    open_node(s, path);
    check_place_in(s->h, path, expected, code);
}

/* ---- zagg ---- */

#define ZAGG "{'crs':'EPSG:3031','resolution':[100,200],'bounds':[-1000,-2000,-50,600]}"

/* A product of 16 x 12 pixels, padded to whole tiles; the box is of 13 rows and 9.5 columns. */
static void put_zagg(struct geo_store *s, const char *attributes)
{
    put_group(s, "", "{}");
    put_group(s, "rectilinear", attributes);
    put_array(s, "rectilinear/h", "[16,12]", "['y','x']", "float32", "'NaN'", "{}");
    put_array(s, "rectilinear/slope", "[4,2]", "['chunk_y','chunk_x']", "float32", "'NaN'", "{}");
    put_array(s, "rectilinear/histogram", "[4,2,5]", "['chunk_y','chunk_x','bin']", "float32", "'NaN'", "{}");
}

static void test_unrelated_members_named_like_those_of_zagg_are_ignored(void)
{
    static const char *const others[] = {
        "{'crs':'EPSG:3031','resolution':[100,200]}",
        "{'resolution':[100,200],'bounds':[-1000,-2000,-50,600]}",
        "{'crs':'EPSG:3031','resolution':'high','bounds':[-1000,-2000,-50,600]}",
        "{'crs':'EPSG:3031','resolution':[0,200],'bounds':[-1000,-2000,-50,600]}",
        "{'crs':'EPSG:3031','resolution':[100,-200],'bounds':[-1000,-2000,-50,600]}",
        "{'crs':'EPSG:3031','resolution':[100,200],'bounds':[-1000,-2000,-1000,600]}",
        "{'crs':'EPSG:3031','resolution':[1e-320,200],'bounds':[-1000,-2000,-50,600]}",
        "{'crs':'EPSG:3031','resolution':[100,200],'bounds':'time_bounds'}",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct geo_store s = {0};
        put_zagg(&s, others[i]);
        check_place(&s, "rectilinear/h", NULL, NULL);
        close_store(&s);
    }
    /* A box that the array does not hold is of another array. */
    struct geo_store s = {0};
    put_zagg(&s, "{'crs':'EPSG:3031','resolution':[100,200],'bounds':[-1000,-2000,500,600]}");
    check_place(&s, "rectilinear/h", NULL, "3031");
    close_store(&s);
}

static void test_nearer_conventions_win_over_zagg(void)
{
    static const double own[6] = {5, 1, 0, 7, 0, -1};
    struct geo_store s = {0};
    put_zagg(&s, ZAGG);
    put_array(&s, "rectilinear/own", "[16,12]", "['y','x']", "uint8", "0",
              "{'spatial:dimensions':['y','x'],'spatial:transform':[1,0,5,0,-1,7],'proj:code':'EPSG:32633'}");
    check_place(&s, "rectilinear/own", own, "32633");
    close_store(&s);
}

/* ---- Grid mappings without a word ---- */

static void test_pyramid_with_empty_grid_mappings_uses_its_entries(void)
{
    static const double half[6] = {0, 2, 0, 8, 0, -2};
    struct geo_store s = {0};
    put_group(&s, "",
              "{'proj:code':'EPSG:4326','spatial:dimensions':['y','x'],'multiscales':{'layout':[{'asset':'0','spatial"
              ":shape':[8,12],'spatial:transform':[1,0,0,0,-1,8]},{'asset':'1','derived_from':'0','transform':{'scale"
              "':[1,2,2],'translation':[0,0.5,0.5]},'spatial:shape':[4,6],'spatial:transform':[2,0,0,0,-2,8]}]}}");
    put_group(&s, "1", "{}");
    put_array(&s, "1/t", "[3,4,6]", "['time','y','x']", "float32", "0", "{'grid_mapping':'spatial_ref'}");
    put_array(&s, "1/spatial_ref", "[]", "[]", "int64", "0", "{}");
    check_place(&s, "1/t", half, "4326");
    close_store(&s);
}

int main(void)
{
    RUN(test_unrelated_members_named_like_those_of_zagg_are_ignored);
    RUN(test_nearer_conventions_win_over_zagg);
    RUN(test_pyramid_with_empty_grid_mappings_uses_its_entries);
    return check_result();
}
