/* Which dimension is X, where the pixels lie and in which CRS: one store in memory per convention, layout that others
 * publish, and trap that these set. */
#include <cpl_conv.h>
#include <cpl_error.h>
#include <math.h>

#include "geo/georef.h"
#include "geo_store.h"
#include "raster/overviews.h"

#define PROJ "{'uuid':'f17cb550-5864-4468-aeb7-f3180cfb622f','name':'proj:'}"
#define SPATIAL "{'uuid':'689b58e2-cf7b-45e0-9fff-9cfc0883d6b4','name':'spatial'}"
#define DECLARED "'zarr_conventions':[" PROJ "," SPATIAL "]"
#define YX "'spatial:dimensions':['y','x']"

static struct zs_georef read_georef(struct geo_store *s, const char *path)
{
    struct zs_error err = {""};
    struct zs_axes axes;
    struct zs_georef g;
    const struct zs_node *node = open_node(s, path);
    CHECK(node->array != NULL);
    CHECK(zs_axes_find(s->h, node, NULL, NULL, &axes, &err) == ZS_OK);
    if (!CHECK(zs_georef_read(s->h, node, axes, &g, &err) == ZS_OK))
        exit(1);
    return g;
}

static void check_transform(const char *path, const struct zs_georef *g, const double *expected)
{
    if (CHECK(g->has_transform == (expected != NULL)) && expected != NULL)
        for (int i = 0; i < 6; i++)
            if (!CHECK(fabs(g->transform[i] - expected[i]) <= 1e-9 * fmax(1, fabs(expected[i]))))
                fprintf(stderr, "  %s: transform[%d] is %.17g, not %.17g\n", path, i, g->transform[i], expected[i]);
}

/* Checks transform (NULL: none) and EPSG code (NULL: none) of an array. */
static void check_place(struct geo_store *s, const char *path, const double *expected, const char *code)
{
    struct zs_georef g = read_georef(s, path);
    check_transform(path, &g, expected);
    CHECK_EQ_STR(g.srs != NULL ? OSRGetAuthorityCode(g.srs, NULL) : NULL, code);
    zs_georef_clear(&g);
}

static const double north_up[6] = {1000, 10, 0, 2000, 0, -10}, half[6] = {1000, 20, 0, 2000, 0, -20};

TEST(test_array_with_x_first)
{
    struct geo_store s = {0};
    put_group(&s, "",
              "{" DECLARED ",'spatial:dimensions':['lines','samples'],'spatial:transform':[10,0,1000,0,-20,2000],"
              "'spatial:shape':[3,4]}");
    put_array(&s, "ar", "[4,3]", "['samples','lines']", "uint8", "0", "{}");
    struct zs_axes axes;
    CHECK(zs_axes_find((open_node(&s, "ar"), s.h), open_node(&s, "ar"), NULL, NULL, &axes, NULL) == ZS_OK);
    CHECK_EQ_I64(axes.x, 0);
    CHECK_EQ_I64(axes.y, 1);
    check_place(&s, "ar", (double[]){1000, 10, 0, 2000, 0, -20}, NULL);
    close_store(&s);
}

TEST(test_multiscales_entries_and_ratio)
{
    struct geo_store s = {0};
    put_group(&s, "", "{}");
    put_group(&s, "m",
              "{" DECLARED ",'proj:code':'EPSG:32632','spatial:dimensions':['y','x'],'spatial:bbox':[0,0,0,0],"
              "'spatial:transform':[10,0,1000,0,-10,2000],'multiscales':{'layout':[{'asset':'r10','spatial:shape':[10"
              ",20]},{'asset':'r20','derived_from':'r10','spatial:shape':[5,10],'spatial:transform':[20,0,1000,0,-20,"
              "2000]},{'asset':'r50'}]}}");
    put_group(&s, "m/r10", "{}");
    put_group(&s, "m/r20", "{}");
    put_group(&s, "m/r50", "{}");
    put_array(&s, "m/r10/b", "[10,20]", "['y','x']", "uint8", "0", "{}");
    put_array(&s, "m/r20/b", "[5,10]", "['y','x']", "uint8", "0", "{'proj:transform':[10,0,1000,0,-10,2000,0,0,1]}");
    put_array(&s, "m/r50/b", "[2,4]", "['y','x']", "uint8", "0",
              "{'proj:shape':[10,20],'proj:transform':[1,0,0,0,-1,0]}");
    check_place(&s, "m/r10/b", north_up, "32632");
    check_place(&s, "m/r20/b", half, "32632");
    check_place(&s, "m/r50/b", (double[]){1000, 50, 0, 2000, 0, -50}, "32632");
    close_store(&s);
}

TEST(test_overview_of_gdal_inherits_georeferencing_of_its_base)
{
    struct geo_store s = {0};
    put_group(&s, "", "{'multiscales':{'layout':[{'asset':'a'},{'asset':'ovr_2x','derived_from':'a'}]}}");
    put_array(&s, "a", "[10,20]", "['Y','X']", "uint8", "0",
              "{" DECLARED ",'proj:code':'EPSG:32632','spatial:transform':[10,0,1000,0,-10,2000]}");
    put_group(&s, "ovr_2x", "{}");
    put_array(&s, "ovr_2x/a", "[5,10]", "['Y','X']", "uint8", "0", "{}");
    check_place(&s, "ovr_2x/a", half, "32632");
    close_store(&s);
}

/* ---- Traps ---- */

static void check_one(const char *attributes, const double *expected, const char *code)
{
    struct geo_store s = {0};
    put_group(&s, "", "{}");
    put_array(&s, "ar", "[4,6]", "['y','x']", "uint16", "0", attributes);
    check_place(&s, "ar", expected, code);
    close_store(&s);
}

TEST(test_bbox_serves_where_there_is_no_transform)
{
    check_one("{" DECLARED "," YX ",'spatial:bbox':[1000,1960,1060,2000]}", north_up, NULL);
    check_one("{" YX ",'spatial:bbox':[1000,1960,1060,2000],'spatial:shape':[4,6]}", north_up, NULL);
    check_one("{" DECLARED "," YX ",'spatial:bbox':[1000,1960,1060,2000],'spatial:transform':null}", north_up, NULL);
    /* Centres of the outermost pixels. */
    check_one("{" DECLARED "," YX ",'spatial:registration':'node','spatial:bbox':[1005,1965,1055,1995]}", north_up,
              NULL);
    /* X first: columns run along the array's rows. */
    struct geo_store s = {0};
    put_group(&s, "", "{" DECLARED ",'spatial:dimensions':['y','x'],'spatial:bbox':[1000,1960,1060,2000]}");
    put_array(&s, "ar", "[6,4]", "['x','y']", "uint16", "0", "{}");
    check_place(&s, "ar", north_up, NULL);
    close_store(&s);
}

TEST(test_bbox_of_a_pyramid_is_of_every_level)
{
    static const char *const registrations[] = {"'spatial:bbox':[1000,1960,1060,2000]",
                                                "'spatial:registration':'node','spatial:bbox':[1005,1965,1055,1995]"};
    for (int i = 0; i < 2; i++) {
        struct geo_store s = {0};
        char *attributes = zs_format("{" DECLARED "," YX
                                     ",%s,'multiscales':{'layout':[{'asset':'0'},{'asset':'1','derived_from':'0'}]}}",
                                     registrations[i]);
        put_group(&s, "", attributes);
        put_group(&s, "0", "{}");
        put_group(&s, "1", "{}");
        put_array(&s, "0/ar", "[4,6]", "['y','x']", "uint16", "0", "{}");
        put_array(&s, "1/ar", "[2,3]", "['y','x']", "uint16", "0", "{}");
        check_place(&s, "0/ar", north_up, NULL);
        check_place(&s, "1/ar", half, NULL);
        close_store(&s);
        free(attributes);
    }
}

TEST(test_scale_of_all_dimensions_and_translation_do_not_move_levels)
{
    struct geo_store s = {0};
    struct zs_error err = {""};
    put_group(&s, "",
              "{" DECLARED "," YX
              ",'spatial:transform':[10,0,1000,0,-10,2000],'spatial:shape':[4,6],'multiscales':{'layout':[{'asset':'0"
              "','transform':{'scale':[1,1,1],'translation':[0,0,0]}},{'asset':'1','derived_from':'0','transform':{'s"
              "cale':[1,2,2],'translation':[0,0.5,0.5]}}]}}");
    put_group(&s, "0", "{}");
    put_group(&s, "1", "{}");
    put_array(&s, "0/ar", "[3,4,6]", "['time','y','x']", "uint16", "0", "{}");
    put_array(&s, "1/ar", "[3,2,3]", "['time','y','x']", "uint16", "0", "{}");
    check_place(&s, "0/ar", north_up, NULL);
    check_place(&s, "1/ar", half, NULL);
    struct zs_levels levels = {.count = 0};
    CHECK(zs_overviews_find(s.h, open_node(&s, "0/ar"), (struct zs_axes){2, 1}, &levels, &err) == ZS_OK);
    if (CHECK_EQ_U64(levels.count, 1))
        CHECK_EQ_STR(levels.list[0]->path, "1/ar");
    close_store(&s);
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

TEST(test_unrelated_members_named_like_those_of_zagg_are_ignored)
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

TEST(test_nearer_conventions_win_over_zagg)
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

TEST(test_pyramid_with_empty_grid_mappings_uses_its_entries)
{
    static const double half_of_it[6] = {0, 2, 0, 8, 0, -2};
    struct geo_store s = {0};
    put_group(&s, "",
              "{'proj:code':'EPSG:4326','spatial:dimensions':['y','x'],'multiscales':{'layout':[{'asset':'0','spatial"
              ":shape':[8,12],'spatial:transform':[1,0,0,0,-1,8]},{'asset':'1','derived_from':'0','transform':{'scale"
              "':[1,2,2],'translation':[0,0.5,0.5]},'spatial:shape':[4,6],'spatial:transform':[2,0,0,0,-2,8]}]}}");
    put_group(&s, "1", "{}");
    put_array(&s, "1/t", "[3,4,6]", "['time','y','x']", "float32", "0", "{'grid_mapping':'spatial_ref'}");
    put_array(&s, "1/spatial_ref", "[]", "[]", "int64", "0", "{}");
    check_place(&s, "1/t", half_of_it, "4326");
    close_store(&s);
}

/* ---- Units and turns ---- */

#define GOES                                                                                                          \
    "'grid_mapping_name':'geostationary','perspective_point_height':35786023.0,'semi_major_axis':6378137.0,"           \
    "'semi_minor_axis':6356752.31414,'inverse_flattening':298.2572221,'latitude_of_projection_origin':0.0,"            \
    "'longitude_of_projection_origin':-75.0"

/* The place of 6 x 4 pixels along x and y, of attributes each; the rest are as the array has it. */
static struct zs_georef read_axes(const char *mapping, double first, double step, const char *x, const char *y)
{
    struct geo_store s = {0};
    put_group(&s, "", "{}");
    put_array(&s, "a", "[4,6]", "['y','x']", "uint8", "0", "{'grid_mapping':'crs'}");
    put_array(&s, "crs", "[]", "[]", "int64", "0", mapping);
    put_axis(&s, "x", "x", 6, first, step, x);
    put_axis(&s, "y", "y", 4, -first, -step, y);
    struct zs_georef g = read_georef(&s, "a");
    close_store(&s);
    return g;
}

static void check_proj(const struct zs_georef *g, const char *const *parts)
{
    char *text = NULL;
    if (!CHECK(g->srs != NULL) || !CHECK(OSRExportToProj4(g->srs, &text) == OGRERR_NONE))
        return;
    for (; *parts != NULL; parts++)
        CHECK_CONTAINS(text, *parts);
    CPLFree(text);
}

TEST(test_a_geostationary_view_is_in_metres)
{
    static const char *const sweep_x[] = {"+proj=geos", "+sweep=x", "+lon_0=-75", "+h=35786023", NULL};
    static const char *const sweeps[] = {"{" GOES ",'sweep_angle_axis':'x'}", "{" GOES ",'fixed_angle_axis':'y'}"};
    static const struct {
        double size;
        const char *x, *y;
    } angles[] = {
        {1, "{'units':'rad','standard_name':'projection_x_coordinate'}", "{'units':'radians'}"},
        {1e6, "{'units':'microradian'}", "{'units':'microradian'}"},
        {1, "{'standard_name':'projection_x_angular_coordinate'}",
         "{'standard_name':'projection_y_angular_coordinate'}"},
        {35786023.0, "{'units':'m'}", "{'units':'m'}"}};
    const double h = 35786023.0;
    for (int i = 0; i < 4; i++) {
        struct zs_georef g =
            read_axes(sweeps[i % 2], -0.1 * angles[i].size, 0.001 * angles[i].size, angles[i].x, angles[i].y);
        check_transform("a", &g, (double[]){-0.1005 * h, 0.001 * h, 0, 0.1005 * h, 0, -0.001 * h});
        check_proj(&g, sweep_x);
        zs_georef_clear(&g);
    }
}

TEST(test_perspectives_and_oblique_mercators)
{
    static const char *const nsper[] = {"+proj=nsper", "+lat_0=10", "+lon_0=20", "+h=35786023", NULL};
    static const char *const omerc[] = {"+proj=omerc", "+lat_0=10", "+lonc=20", "+alpha=50",
                                        "+gamma=0",    "+k=0.9",    NULL};
#define OBLIQUE                                                                                                        \
    "'azimuth_of_central_line':50.0,'latitude_of_projection_origin':10.0,'longitude_of_projection_origin':20.0,"       \
    "'scale_factor_at_projection_origin':0.9}"
    static const struct {
        const char *mapping;
        const char *const *parts;
    } rows[] = {{"{'grid_mapping_name':'vertical_perspective','perspective_point_height':35786023.0,"
                 "'latitude_of_projection_origin':10.0,'longitude_of_projection_origin':20.0}", nsper},
                {"{'grid_mapping_name':'oblique_mercator'," OBLIQUE, omerc},
                {"{'grid_mapping_name':'rotated_mercator'," OBLIQUE, omerc}};
    for (int i = 0; i < 3; i++) {
        struct zs_georef g = read_axes(rows[i].mapping, 0, 1000, "{'units':'m'}", "{'units':'m'}");
        check_proj(&g, rows[i].parts);
        zs_georef_clear(&g);
    }
}

TEST(test_longitudes_across_the_antimeridian_are_a_line)
{
    static const double lon[6] = {178, 179, 180, -179, -178, -177};
    struct geo_store s = {0};
    put_group(&s, "", "{}");
    put_array(&s, "a", "[4,6]", "['lat','lon']", "uint8", "0", "{}");
    put_axis(&s, "lat", "lat", 4, 10, -1, "{'units':'degrees_north'}");
    put_array(&s, "lon", "[6]", "['lon']", "float64", "'NaN'", "{'units':'degrees_east'}");
    put(&s, "lon/c/0", lon, sizeof lon);
    check_place(&s, "a", (double[]){177.5, 1, 0, 10.5, 0, -1}, "4326");
    close_store(&s);
}
