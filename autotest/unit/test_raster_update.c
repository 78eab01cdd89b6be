/* Stores that are there are changed: georeferencing, nodata, metadata; and every reader is told the same. Overviews:
 * gdrivers/test_build_overviews.py. */
#include <math.h>

#include "changed_store.h"
#include "geo/bands.h"
#include "geo/crs.h"
#include "geo/georef.h"
#include "raster/overviews.h"
#include "raster/update.h"

static const struct zs_axes yx = {1, 0};
static const double moved[6] = {5000, 20, 0, 9000, 0, -20};

static void check_place(struct zs_hierarchy *h, const char *path, const double *transform, const char *code)
{
    struct zs_error err = {""};
    const struct zs_node *node;
    struct zs_georef g;
    check_ok(zs_hierarchy_node(h, path, &node, &err), &err);
    check_ok(zs_georef_read(h, node, yx, &g, &err), &err);
    if (CHECK(g.has_transform == (transform != NULL)) && transform != NULL)
        for (int i = 0; i < 6; i++)
            CHECK(fabs(g.transform[i] - transform[i]) < 1e-6);
    if (code == NULL)
        CHECK(g.srs == NULL);
    else if (CHECK(g.srs != NULL))
        CHECK_EQ_STR(OSRGetAuthorityCode(g.srs, NULL), code);
    zs_georef_clear(&g);
}

/* Sets it; `is_aside` is what is expected. */
static void set(struct geo_store *s, const char *path, const double *transform, int64_t epsg, bool is_aside)
{
    struct zs_error err = {""};
    struct zs_georef_update u = {.has_transform = transform != NULL, .srs = epsg != 0 ? zs_crs_from_epsg(epsg) : NULL};
    bool found = false;
    if (transform != NULL)
        memcpy(u.transform, transform, sizeof u.transform);
    const struct zs_node *node = open_node(s, path);
    check_ok(zs_update_georefs(s->h, &node, &yx, 1, &u, &found, &err), &err);
    CHECK(found == is_aside);
    check_ok(zs_hierarchy_flush(s->h, &err), &err);
    CHECK(!zs_hierarchy_is_changed(s->h));
    if (u.srs != NULL)
        OSRRelease(u.srs);
}

static void move(struct geo_store *s, const char *path, const double *transform, int64_t epsg)
{
    set(s, path, transform, epsg, false);
}

static void check_everyone(struct geo_store *s, const char *path, const double *transform, const char *code)
{
    check_place(s->h, path, transform, code);
    for (int i = 0; i < 2; i++) {
        struct zs_hierarchy *h = reopen(s, i == 1);
        check_place(h, path, transform, code);
        zs_hierarchy_free(h);
    }
}

static struct zs_buffer bytes_of(struct geo_store *s, const char *key)
{
    struct zs_error err = {""};
    struct zs_buffer bytes = {0};
    check_ok(zs_store_get(s->store, key, ZS_JSON_MAX_BYTES, &bytes, &err), &err);
    return bytes;
}

static void check_bytes(struct geo_store *s, const char *key, struct zs_buffer *expected, bool is_same)
{
    struct zs_buffer now = bytes_of(s, key);
    CHECK((now.size == expected->size && memcmp(now.data, expected->data, now.size) == 0) == is_same);
    zs_buffer_free(&now);
    zs_buffer_free(expected);
}

/* ---- Georeferencing ---- */

TEST(test_bare_array_gets_all_conventions)
{
    struct geo_store s = {0};
    put_group(&s, "", "{}");
    put_array(&s, "a", "[10,20]", "['y','x']", "uint8", "0", "{'keep':12345678901234567890}");
    move(&s, "a", moved, 32631);
    check_everyone(&s, "a", moved, "32631");
    zs_json *a = document(&s, "a/zarr.json");
    CHECK(zs_json_equals(zs_json_get(zs_json_get(a, "attributes"), "grid_mapping"), "spatial_ref"));
    const char *token = "";
    CHECK(zs_json_number(zs_json_get(zs_json_get(a, "attributes"), "keep"), &token));
    CHECK_EQ_STR(token, "12345678901234567890");
    zs_json_free(a);
    CHECK(is_there(&s, "x/c/0") && is_there(&s, "y/c/0") && is_there(&s, "spatial_ref/zarr.json"));
    /* And again, over what is there now; then nothing is known. */
    const double other[6] = {1, 2, 0, 3, 0, 4};
    move(&s, "a", other, 4326);
    check_everyone(&s, "a", other, "4326");
    move(&s, "a", NULL, 0);
    check_everyone(&s, "a", NULL, NULL);
    CHECK(!is_there(&s, "x/zarr.json") && !is_there(&s, "x/c/0"));
    close_store(&s);
}

static void put_cf(struct geo_store *s, bool has_b)
{
    put_group(s, "", "{}");
    put_array(s, "a", "[10,20]", "['y','x']", "uint8", "0", "{'grid_mapping':'crs'}");
    if (has_b)
        put_array(s, "b", "[10,20]", "['y','x']", "int16", "0", "{'grid_mapping':'crs'}");
    put_array(s, "crs", "[]", "[]", "int64", "0",
              "{'grid_mapping_name':'latitude_longitude','semi_major_axis':6378137.0,'inverse_flattening':298.2572235"
              "63,'comment':'mine'}");
    put_axis(s, "x", "x", 20, 10.5, 1, "{'units':'degrees_east','mine':1}");
    put_axis(s, "y", "y", 10, 50.5, -1, "{'units':'degrees_north'}");
}

/* Arrays beside or below that use a variable of `a`, or may. */
static const struct {
    const char *path, *shape, *dims, *attributes;
    bool is_user;
} others[] = {
    {"b", "[10,20]", "['y','x']", "{'grid_mapping':'crs'}", true},
    {"b", "[10,21]", "['y','x2']", "{}", true},
    {"b", "[5,6]", "['v','u']", "{}", true}, /* rioxarray looks for spatial_ref in its group */
    {"zonal", "[10]", "['y']", "{}", true},
    {"sub/b", "[10,20]", "['y','x']", "{}", true},
    {"sub/b", "[5,6]", "['v','u']", "{'grid_mapping':'crs'}", true},
    {"sub/b", "[5,6]", "['v','u']", "{'grid_mapping':'other'}", false},
    {"t", "[7]", "['t']", "{'bounds':'t_bnds'}", false},
};

TEST(test_what_other_arrays_use_stays)
{
    static const char *const kept[] = {"zarr.json", "x/zarr.json", "y/zarr.json", "crs/zarr.json", "x/c/0", "y/c/0"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct geo_store s = {0};
        struct zs_buffer before[sizeof kept / sizeof kept[0]];
        put_cf(&s, false);
        put_group(&s, "sub", "{}");
        put_array(&s, "t_bnds", "[7,2]", "['t','bnds']", "uint8", "0", "{}");
        put_array(&s, "t", "[7]", "['t']", "uint8", "0", "{'bounds':'t_bnds'}");
        put_array(&s, others[i].path, others[i].shape, others[i].dims, "uint8", "0", others[i].attributes);
        for (size_t k = 0; k < sizeof kept / sizeof kept[0]; k++)
            before[k] = bytes_of(&s, kept[k]);
        set(&s, "a", moved, 32631, others[i].is_user);
        check_everyone(&s, "a", moved, "32631");
        for (size_t k = 0; k < sizeof kept / sizeof kept[0]; k++) {
            if (others[i].is_user)
                check_bytes(&s, kept[k], &before[k], true);
            else
                zs_buffer_free(&before[k]);
        }
        close_store(&s);
    }
}

TEST(test_group_entries_and_levels_follow)
{
    struct geo_store s = {0};
    const double half[6] = {5000, 40, 0, 9000, 0, -40};
    put_group(&s, "",
              "{'spatial:transform':[1,0,0,0,-1,0],'spatial:shape':[10,20],'proj:code':'EPSG:4326','zarr_conventions'"
              ":[{'uuid':'689b58e2-cf7b-45e0-9fff-9cfc0883d6b4'},{'uuid':'f17cb550-5864-4468-aeb7-f3180cfb622f'},{'uu"
              "id':'d35379db-88df-4056-af3a-620245f8e347'}],'multiscales':{'mine':1,'layout':[{'asset':'a','spatial:t"
              "ransform':[1,0,0,0,-1,0]},{'asset':'ovr_2x','mine':2,'derived_from':'a','spatial:transform':[2,0,0,0,-"
              "2,0]}]}}");
    put_group(&s, "ovr_2x", "{}");
    put_array(&s, "a", "[10,20]", "['y','x']", "uint8", "0",
              "{'_CRS':{'url':'http://www.opengis.net/def/crs/EPSG/0/4326'}}");
    put_array(&s, "ovr_2x/a", "[5,10]", "['y','x']", "uint8", "0", "{'proj:code':'EPSG:4326'}");
    move(&s, "a", moved, 32631);
    check_everyone(&s, "a", moved, "32631");
    check_everyone(&s, "ovr_2x/a", half, "32631");
    zs_json *root = document(&s, "zarr.json");
    const zs_json *a = zs_json_get(root, "attributes"), *layout = zs_json_get(zs_json_get(a, "multiscales"), "layout");
    double t[6];
    CHECK(zs_json_equals(zs_json_get(a, "proj:code"), "EPSG:32631"));
    CHECK(zs_json_doubles(zs_json_get(a, "spatial:transform"), t, 6) && t[2] == 5000 && t[0] == 20);
    CHECK(zs_json_doubles(zs_json_get(zs_json_at(layout, 1), "spatial:transform"), t, 6) && t[0] == 40);
    CHECK(zs_json_get(zs_json_at(layout, 1), "mine") != NULL);
    zs_json_free(root);
    close_store(&s);
}

/* ---- Only what was set ---- */

/* An axis that is off its line by as much as Gaussian latitudes are. */
static void put_gaussian_axis(struct geo_store *s, const char *path, size_t n, double first, double step)
{
    double values[100];
    char *shape = zs_format("[%zu]", n), *key = zs_format("%s/c/0", path);
    for (size_t i = 0; i < n; i++)
        values[i] = first + ((double)i + (i % 3 == 2 ? 0.015 : 0)) * step;
    put_array(s, path, shape, "['lat']", "float64", "'NaN'", "{'units':'degrees_north','mine':1}");
    put(s, key, values, n * sizeof *values);
    free(shape);
    free(key);
}

/* An array, and an overview that has every second row and column. */
static void put_gaussian(struct geo_store *s)
{
    put_group(s, "", "{'multiscales':{'layout':[{'asset':'a'},{'asset':'half/a','derived_from':'a'}]},"
                     "'zarr_conventions':[{'uuid':'d35379db-88df-4056-af3a-620245f8e347'}]}");
    put_group(s, "half", "{}");
    put_array(s, "a", "[10,20]", "['lat','lon']", "uint8", "0", "{'mine':1}");
    put_array(s, "half/a", "[5,10]", "['lat','lon']", "uint8", "0", "{}");
    put_gaussian_axis(s, "lat", 10, 50, -1);
    put_gaussian_axis(s, "half/lat", 5, 50, -2);
    put_axis(s, "lon", "lon", 20, 5, 1, "{'units':'degrees_east'}");
    put_axis(s, "half/lon", "lon", 10, 5, 2, "{'units':'degrees_east'}");
}

static const char *const gaussian_axes[] = {"lat/c/0",       "lon/c/0",       "half/lat/c/0",       "half/lon/c/0",
                                            "lat/zarr.json", "lon/zarr.json", "half/lat/zarr.json",
                                            "half/lon/zarr.json"};

TEST(test_a_crs_leaves_coordinates_of_the_array_and_its_overviews)
{
    const double base[6] = {4.5, 1, 0, 50.5, 0, -1}, half[6] = {4, 2, 0, 51, 0, -2};
    struct geo_store s = {0};
    struct zs_buffer before[8];
    put_gaussian(&s);
    for (int i = 0; i < 8; i++)
        before[i] = bytes_of(&s, gaussian_axes[i]);
    CHECK(open_node(&s, "half/a") != NULL);
    check_everyone(&s, "half/a", half, "4326");
    move(&s, "a", base, 4258);
    for (int i = 0; i < 8; i++)
        check_bytes(&s, gaussian_axes[i], &before[i], true);
    check_everyone(&s, "a", base, "4258");
    check_everyone(&s, "half/a", half, "4258");
    zs_json *a = document(&s, "a/zarr.json"), *mapping = document(&s, "spatial_ref/zarr.json");
    CHECK(zs_json_get(zs_json_get(a, "attributes"), "spatial:transform") == NULL);
    CHECK(zs_json_get(zs_json_get(mapping, "attributes"), "crs_wkt") != NULL);
    zs_json_free(a);
    zs_json_free(mapping);
    close_store(&s);
}

TEST(test_a_crs_keeps_the_geotransform_of_a_grid_mapping)
{
    struct geo_store s = {0};
    const double t[6] = {5000, 20, 1, 9000, 2, -20};
    put_group(&s, "", "{}");
    put_array(&s, "a", "[10,20]", "['y','x']", "uint8", "0", "{'grid_mapping':'crs'}");
    put_array(&s, "b", "[10,21]", "['y','x2']", "uint8", "0", "{'grid_mapping':'crs'}");
    put_array(&s, "crs", "[]", "[]", "int64", "0",
              "{'spatial_ref':'EPSG:32631','GeoTransform':'5000 20 1 9000 2 -20.00'}");
    set(&s, "a", t, 32632, true);
    check_everyone(&s, "a", t, "32632");
    check_everyone(&s, "b", t, "32631");
    close_store(&s);
}

TEST(test_other_units_follow_a_crs)
{
    const double t[6] = {10, 1, 0, 51, 0, -1};
    struct geo_store s = {0};
    put_cf(&s, false);
    struct zs_buffer x = bytes_of(&s, "x/c/0");
    move(&s, "a", t, 32631); /* these are no degrees */
    check_bytes(&s, "x/c/0", &x, true);
    zs_json *d = document(&s, "x/zarr.json");
    CHECK(zs_json_equals(zs_json_get(zs_json_get(d, "attributes"), "units"), "m"));
    zs_json_free(d);
    close_store(&s);
}

TEST(test_kilometres_stay_kilometres)
{
    const double t[6] = {-500, 1000, 0, 500, 0, -1000};
    struct geo_store s = {0};
    put_group(&s, "", "{}");
    put_array(&s, "a", "[10,20]", "['y','x']", "uint8", "0", "{'grid_mapping':'crs'}");
    put_array(&s, "crs", "[]", "[]", "int64", "0", "{'spatial_ref':'EPSG:3031'}");
    put_axis(&s, "x", "x", 20, 0, 1, "{'units':'km'}");
    put_axis(&s, "y", "y", 10, 0, -1, "{'units':'km'}");
    struct zs_buffer x = bytes_of(&s, "x/c/0"), y = bytes_of(&s, "y/c/0");
    CHECK(open_node(&s, "a") != NULL);
    check_everyone(&s, "a", t, "3031");
    move(&s, "a", t, 3413);
    check_bytes(&s, "x/c/0", &x, true);
    check_bytes(&s, "y/c/0", &y, true);
    check_everyone(&s, "a", t, "3413");
    move(&s, "a", moved, 3413); /* what is written is in units of the CRS */
    check_everyone(&s, "a", moved, "3413");
    close_store(&s);
}

static void check_nameless(const char *path)
{
    struct geo_store s = {0};
    if (path[0] != '\0')
        put_group(&s, "", "{}");
    put_array(&s, path, "[10,20]", "null", "uint8", "0", "{}");
    move(&s, path, moved, 32631);
    check_everyone(&s, path, moved, "32631");
    zs_json *d = document(&s, path[0] != '\0' ? "a/zarr.json" : "zarr.json");
    CHECK(zs_json_get(zs_json_get(d, "attributes"), "spatial:dimensions") == NULL);
    CHECK(zs_json_get(zs_json_get(d, "attributes"), "spatial:transform") == NULL);
    zs_json_free(d);
    move(&s, path, NULL, 0);
    check_everyone(&s, path, NULL, NULL);
    close_store(&s);
}

TEST(test_array_without_dimension_names_gets_none)
{
    check_nameless("a");
    check_nameless("");
}

/* ---- Band properties ---- */

TEST(test_nodata_and_metadata)
{
    static const char *const paths[] = {"g", "g/a"};
    const char *const metadata[] = {"n=1.50", "list=[1,2]", "new=v", "units=km", NULL};
    const int16_t value = -7;
    struct zs_band_properties wanted = {.has_nodata = true, .scale = 1};
    struct geo_store s = {0};
    struct zs_error err = {""};
    memcpy(wanted.nodata, &value, sizeof value);
    put_group(&s, "", "{}");
    put_group(&s, "g", "{}");
    put_array(&s, "g/a", "[10,20]", "['y','x']", "int16", "0",
              "{'n':1.50,'list':[1,2],'gone':'x','long_name':'L','units':'m'}");
    consolidate(&s, paths, 2);
    const struct zs_node *a = open_node(&s, "g/a");
    check_ok(zs_update_bands(s.h, a, yx, &wanted, 1, ZS_BAND_NODATA, &err), &err);
    check_ok(zs_update_metadata(s.h, a, metadata, &err), &err);
    check_ok(zs_hierarchy_flush(s.h, &err), &err);
    for (int i = 0; i < 2; i++) {
        struct zs_hierarchy *h = reopen(&s, i == 1);
        const struct zs_node *node;
        check_ok(zs_hierarchy_node(h, "g/a", &node, &err), &err);
        char *text = zs_json_print(node->attributes);
        CHECK_EQ_STR(text, "{\"n\":1.50,\"list\":[1,2],\"long_name\":\"L\",\"units\":\"m\",\"_FillValue\":-7,"
                           "\"new\":\"v\",\"gdal:metadata\":{\"units\":\"km\"}}");
        free(text);
        zs_hierarchy_free(h);
    }
    close_store(&s);
}

TEST(test_overviews_of_a_root_array_are_refused_with_a_way_out)
{
    struct geo_store s = {0};
    struct zs_error err = {""};
    struct zs_overviews *o = NULL;
    const int factors[] = {2};
    put_array(&s, "", "[20,30]", "['y','x']", "uint8", "0", "{}");
    CHECK(zs_overviews_create((open_node(&s, ""), s.h), open_node(&s, ""), yx, factors, 1, NULL, 0, NULL, &o, &err) ==
          ZS_ARGUMENT);
    CHECK_CONTAINS(err.message, "root of its store");
    CHECK_CONTAINS(err.message, "gdal_translate -of ShardedZarr");
    close_store(&s);
}
