/* Stores that are there are changed: georeferencing, nodata, metadata, overviews; and every reader is told the same. */
#define _GNU_SOURCE /* mkdtemp, symlink */
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "geo/bands.h"
#include "geo/crs.h"
#include "geo/georef.h"
#include "geo_store.h"
#include "raster/overviews.h"
#include "raster/update.h"
#include "shard/writer.h"

static const struct zs_axes yx = {1, 0};
static const double moved[6] = {5000, 20, 0, 9000, 0, -20};

static void check_ok(enum zs_status status, const struct zs_error *err)
{
    if (!CHECK(status == ZS_OK))
        fprintf(stderr, "%s\n", err->message);
}

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

/* The store as somebody sees it who comes now, with and without consolidated metadata; and without what this reader
 * believes first, so that CF has to say the same. */
static struct zs_hierarchy *reopen(struct geo_store *s, bool use_consolidated)
{
    struct zs_error err = {""};
    struct zs_hierarchy *h = NULL;
    check_ok(zs_hierarchy_open(s->store, use_consolidated, &h, &err), &err);
    return h;
}

static zs_json *document(struct geo_store *s, const char *key)
{
    struct zs_error err = {""};
    struct zs_buffer text = {0};
    zs_json *json = NULL;
    check_ok(zs_store_get(s->store, key, ZS_JSON_MAX_BYTES, &text, &err), &err);
    check_ok(zs_json_parse((const char *)text.data, text.size, &json, &err), &err);
    zs_buffer_free(&text);
    return json;
}

static bool is_there(struct geo_store *s, const char *key)
{
    struct zs_error err;
    struct zs_buffer b = {0};
    const enum zs_status status = zs_store_get(s->store, key, ZS_JSON_MAX_BYTES, &b, &err);
    zs_buffer_free(&b);
    return status == ZS_OK;
}

static void move(struct geo_store *s, const char *path, const double *transform, int64_t epsg)
{
    struct zs_error err = {""};
    struct zs_georef_update u = {.has_transform = transform != NULL, .srs = epsg != 0 ? zs_crs_from_epsg(epsg) : NULL};
    if (transform != NULL)
        memcpy(u.transform, transform, sizeof u.transform);
    const struct zs_node *node = open_node(s, path);
    check_ok(zs_update_georef(s->h, node, yx, &u, &err), &err);
    CHECK(zs_hierarchy_is_changed(s->h));
    check_ok(zs_update_flush(s->h, &err), &err);
    CHECK(!zs_hierarchy_is_changed(s->h));
    if (u.srs != NULL)
        OSRRelease(u.srs);
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

/* Inline consolidated metadata of the root as zarr-python writes them. */
static void consolidate(struct geo_store *s, const char *const *paths, size_t n)
{
    zs_json *root = document(s, "zarr.json");
    zs_json *c = zs_json_add_object(root, "consolidated_metadata");
    zs_json_add_string(c, "kind", "inline");
    zs_json_add_bool(c, "must_understand", false);
    zs_json *metadata = zs_json_add_object(c, "metadata");
    for (size_t i = 0; i < n; i++) {
        char *key = zs_format("%s/zarr.json", paths[i]);
        zs_json_add(metadata, paths[i], document(s, key));
        free(key);
    }
    char *text = zs_json_print(root);
    zs_json_free(root);
    put(s, "zarr.json", text, strlen(text));
    free(text);
}

/* ---- Georeferencing ---- */

static void test_bare_array_gets_all_conventions(void)
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

static void put_cf(struct geo_store *s)
{
    put_group(s, "", "{}");
    put_array(s, "a", "[10,20]", "['y','x']", "uint8", "0", "{'grid_mapping':'crs'}");
    put_array(s, "b", "[10,20]", "['y','x']", "int16", "0", "{'grid_mapping':'crs'}");
    put_array(s, "crs", "[]", "[]", "int64", "0",
              "{'grid_mapping_name':'latitude_longitude','semi_major_axis':6378137.0,'inverse_flattening':298.2572235"
              "63,'comment':'mine'}");
    put_axis(s, "x", "x", 20, 10.5, 1, "{'units':'degrees_east','mine':1}");
    put_axis(s, "y", "y", 10, 50.5, -1, "{'units':'degrees_north'}");
}

static void test_cf_stays_cf(void)
{
    static const char *const paths[] = {"a", "b", "crs", "x", "y"};
    for (int consolidated = 0; consolidated < 2; consolidated++) {
        struct geo_store s = {0};
        put_cf(&s);
        if (consolidated)
            consolidate(&s, paths, 5);
        const struct zs_node *before = open_node(&s, "a");
        CHECK(zs_hierarchy_is_consolidated(s.h) == (consolidated == 1));
        move(&s, "a", moved, 32631);
        CHECK(open_node(&s, "a") == before);
        check_everyone(&s, "a", moved, "32631");
        check_everyone(&s, "b", moved, "32631"); /* of the same coordinates */
        zs_json *a = document(&s, "a/zarr.json"), *x = document(&s, "x/zarr.json"),
                *crs = document(&s, "crs/zarr.json");
        CHECK(zs_json_get(zs_json_get(a, "attributes"), "spatial:transform") == NULL);
        CHECK(zs_json_equals(zs_json_get(zs_json_get(x, "attributes"), "units"), "m"));
        CHECK(zs_json_get(zs_json_get(x, "attributes"), "mine") != NULL);
        CHECK(zs_json_equals(zs_json_get(zs_json_get(crs, "attributes"), "comment"), "mine"));
        CHECK(zs_json_equals(zs_json_get(zs_json_get(crs, "attributes"), "grid_mapping_name"), "transverse_mercator"));
        zs_json_free(a);
        zs_json_free(x);
        zs_json_free(crs);
        close_store(&s);
    }
}

static void test_rotation_takes_the_coordinates_away(void)
{
    const double rotated[6] = {5000, 20, 1, 9000, 2, -20};
    static const char *const paths[] = {"a", "b", "crs", "x", "y"};
    struct geo_store s = {0};
    put_cf(&s);
    consolidate(&s, paths, 5);
    move(&s, "a", rotated, 32631);
    check_everyone(&s, "a", rotated, "32631");
    CHECK(!is_there(&s, "x/zarr.json") && !is_there(&s, "y/c/0"));
    zs_json *root = document(&s, "zarr.json");
    const zs_json *metadata = zs_json_get(zs_json_get(root, "consolidated_metadata"), "metadata");
    CHECK(zs_json_get(metadata, "x") == NULL && zs_json_get(metadata, "a") != NULL);
    zs_json_free(root);
    move(&s, "a", moved, 32631); /* and back */
    check_everyone(&s, "a", moved, "32631");
    CHECK(is_there(&s, "x/zarr.json"));
    close_store(&s);
}

static void test_narrow_coordinates_become_float64(void)
{
    struct geo_store s = {0};
    const float x[20] = {0, 1, 2};
    const int16_t y[10] = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
    put_group(&s, "", "{}");
    put_array(&s, "a", "[10,20]", "['y','x']", "uint8", "0", "{}");
    put_array(&s, "x", "[20]", "['x']", "float32", "0", "{'axis':'X'}");
    put_array(&s, "y", "[10]", "['y']", "int16", "0", "{'axis':'Y','scale_factor':2}");
    put(&s, "x/c/0", x, sizeof x);
    put(&s, "y/c/0", y, sizeof y);
    const double fine[6] = {4000000.123, 0.001, 0, 9000, 0, -20};
    move(&s, "a", moved, 0); /* float32 holds these */
    zs_json *d = document(&s, "x/zarr.json");
    CHECK(zs_json_equals(zs_json_get(d, "data_type"), "float32"));
    zs_json_free(d);
    check_everyone(&s, "a", moved, NULL);
    move(&s, "a", fine, 0);
    check_everyone(&s, "a", fine, NULL);
    d = document(&s, "x/zarr.json");
    CHECK(zs_json_equals(zs_json_get(d, "data_type"), "float64"));
    zs_json_free(d);
    close_store(&s);
}

static void test_group_entries_and_levels_follow(void)
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

/* ---- Meaning ---- */

static void test_nodata_and_metadata(void)
{
    static const char *const paths[] = {"g", "g/a"};
    struct geo_store s = {0};
    struct zs_error err = {""};
    struct zs_meaning m;
    put_group(&s, "", "{'title':'old'}");
    put_group(&s, "g", "{}");
    put_array(&s, "g/a", "[10,20]", "['y','x']", "int16", "0",
              "{'n':1.50,'list':[1,2],'gone':'x','long_name':'L','units':'m'}");
    consolidate(&s, paths, 2);
    const struct zs_node *a = open_node(&s, "g/a");
    const int16_t value = -7;
    const char *const metadata[] = {"n=1.50", "list=[1,2]", "new=v", "units=km", NULL};
    check_ok(zs_update_nodata(s.h, a, yx, &value, &err), &err);
    check_ok(zs_update_metadata(s.h, a, metadata, &err), &err);
    const char *const title[] = {"title=new", NULL};
    check_ok(zs_update_metadata(s.h, open_node(&s, ""), title, &err), &err);
    check_ok(zs_update_flush(s.h, &err), &err);
    for (int i = 0; i < 2; i++) {
        struct zs_hierarchy *h = reopen(&s, i == 1);
        const struct zs_node *node;
        check_ok(zs_hierarchy_node(h, "g/a", &node, &err), &err);
        CHECK(zs_json_get(node->attributes, "gone") == NULL && zs_json_get(node->attributes, "long_name") != NULL);
        CHECK(zs_json_equals(zs_json_get(node->attributes, "units"), "m"));
        CHECK(zs_json_equals(zs_json_get(node->attributes, "new"), "v"));
        const char *token = "";
        CHECK(zs_json_number(zs_json_get(node->attributes, "n"), &token));
        CHECK_EQ_STR(token, "1.50");
        CHECK(zs_json_is_array(zs_json_get(node->attributes, "list")));
        check_ok(zs_meaning_read(node, &m, &err), &err);
        int16_t nodata = 0;
        memcpy(&nodata, m.nodata, sizeof nodata);
        CHECK(m.has_nodata && nodata == -7);
        zs_meaning_clear(&m);
        check_ok(zs_hierarchy_node(h, "", &node, &err), &err);
        CHECK(zs_json_equals(zs_json_get(node->attributes, "title"), "new"));
        zs_hierarchy_free(h);
    }
    close_store(&s);
}

static void test_what_came_to_a_file_meanwhile_stays(void)
{
    struct geo_store s = {0};
    struct zs_error err = {""};
    put_group(&s, "", "{}");
    put_array(&s, "a", "[10,20]", "['y','x']", "uint8", "0", "{}");
    const struct zs_node *a = open_node(&s, "a");
    put_array(&s, "a", "[30,20]", "['y','x']", "uint8", "0", "{}"); /* another process has made it longer */
    const char *const metadata[] = {"new=v", NULL};
    check_ok(zs_update_metadata(s.h, a, metadata, &err), &err);
    check_ok(zs_update_flush(s.h, &err), &err);
    zs_json *d = document(&s, "a/zarr.json");
    uint64_t n = 0;
    CHECK(zs_json_uint64(zs_json_at(zs_json_get(d, "shape"), 0), &n) && n == 30);
    CHECK(zs_json_equals(zs_json_get(zs_json_get(d, "attributes"), "new"), "v"));
    zs_json_free(d);
    close_store(&s);
}

static void test_attributes_that_are_newer_than_consolidated_metadata_stay(void)
{
    static const char *const paths[] = {"g", "g/a"};
    struct geo_store s = {0};
    struct zs_error err = {""};
    put_group(&s, "", "{}");
    put_group(&s, "g", "{}");
    put_array(&s, "g/a", "[10,20]", "['y','x']", "uint8", "0", "{'old':'1','gone':'1','taken':'1','number':1.50}");
    consolidate(&s, paths, 2);
    const struct zs_node *a = open_node(&s, "g/a");
    /* Another program writes to the array's own file, as zarr-python does. */
    put_array(&s, "g/a", "[10,20]", "['y','x']", "uint8", "0",
              "{'old':'2','taken':'1','number':1.50,'theirs':{'b':2}}");
    const char *const metadata[] = {"old=1", "gone=1", "number=1.50", "new=v", NULL};
    check_ok(zs_update_metadata(s.h, a, metadata, &err), &err);
    check_ok(zs_update_flush(s.h, &err), &err);
    zs_json *root = document(&s, "zarr.json"), *own = document(&s, "g/a/zarr.json");
    const zs_json *inlined = zs_json_get(zs_json_get(zs_json_get(root, "consolidated_metadata"), "metadata"), "g/a");
    char *text = zs_json_print(zs_json_get(own, "attributes"));
    CHECK_EQ_STR(text, "{\"old\":\"2\",\"number\":1.50,\"theirs\":{\"b\":2},\"new\":\"v\"}");
    CHECK(zs_json_is_same(zs_json_get(own, "attributes"), zs_json_get(inlined, "attributes")));
    free(text);
    zs_json_free(root);
    zs_json_free(own);
    close_store(&s);
}

static void test_a_node_that_became_another_is_not_edited(void)
{
    static const char *const paths[] = {"a"};
    struct geo_store s = {0};
    struct zs_error err = {""};
    put_group(&s, "", "{}");
    put_array(&s, "a", "[10,20]", "['y','x']", "uint8", "0", "{}");
    consolidate(&s, paths, 1);
    const struct zs_node *a = open_node(&s, "a");
    put_group(&s, "a", "{'theirs':1}");
    const char *const metadata[] = {"new=v", NULL};
    check_ok(zs_update_metadata(s.h, a, metadata, &err), &err);
    CHECK(zs_update_flush(s.h, &err) == ZS_INVALID);
    CHECK_CONTAINS(err.message, "a/zarr.json: expected the array it was");
    zs_json *own = document(&s, "a/zarr.json");
    CHECK(zs_json_get(zs_json_get(own, "attributes"), "theirs") != NULL &&
          zs_json_equals(zs_json_get(own, "node_type"), "group"));
    zs_json_free(own);
    close_store(&s);
}

/* ---- Overviews ---- */

/* A sharded array of (2, 20, 30): chunks of 1 x 4 x 4, shards of 2 x 16 x 16. */
static void put_sharded(struct geo_store *s, const char *path, const char *attributes)
{
    char *text = zs_format(
        "{'zarr_format':3,'node_type':'array','shape':[2,20,30],'dimension_names':['band','y','x'],'data_type':'uint1"
        "6','fill_value':0,'chunk_grid':{'name':'regular','configuration':{'chunk_shape':[2,16,16]}},'chunk_key_encod"
        "ing':{'name':'default'},'codecs':[{'name':'sharding_indexed','configuration':{'chunk_shape':[1,4,4],'codecs'"
        ":[{'name':'bytes','configuration':{'endian':'little'}}],'index_codecs':[{'name':'bytes','configuration':{'en"
        "dian':'little'}},{'name':'crc32c'}]}}],'attributes':%s}",
        attributes);
    for (char *p = text; *p != '\0'; p++)
        if (*p == '\'')
            *p = '"';
    put_document(s, path, text);
}

static const struct zs_axes band_yx = {2, 1};

static void build(struct geo_store *s, const char *path, const int *factors, size_t n, uint16_t value)
{
    struct zs_error err = {""};
    struct zs_overviews *o = NULL;
    check_ok(zs_overviews_create(s->h, open_node(s, path), band_yx, factors, n, "average", 0, NULL, &o, &err), &err);
    for (size_t i = 0; o != NULL && i < n; i++) {
        struct zs_array *array = zs_overviews_array(o, i);
        const struct zs_array_info info = zs_array_get_info(array);
        uint16_t pixels[2 * 20 * 30];
        for (size_t k = 0; k < sizeof pixels / sizeof pixels[0]; k++)
            pixels[k] = (uint16_t)(value + factors[i]);
        struct zs_window w = {
            .count = {2, info.shape[1], info.shape[2]},
            .data = pixels,
            .stride = {(ptrdiff_t)(info.shape[1] * info.shape[2] * 2), (ptrdiff_t)info.shape[2] * 2, 2}};
        check_ok(zs_array_write_windows(array, &w, 1, 2, NULL, NULL, &err), &err);
    }
    check_ok(zs_overviews_publish(o, &err), &err);
    zs_overviews_free(o);
}

static void check_levels(struct zs_hierarchy *h, const char *path, const char *const *levels, size_t n)
{
    struct zs_error err = {""};
    const struct zs_node *node;
    char **paths = NULL;
    size_t count = 0;
    check_ok(zs_hierarchy_node(h, path, &node, &err), &err);
    check_ok(zs_overviews_find(h, node, band_yx, &paths, &count, &err), &err);
    if (CHECK(count == n))
        for (size_t i = 0; i < n; i++)
            CHECK_EQ_STR(paths[i], levels[i]);
    zs_paths_free(paths, count);
}

static void check_pixel(struct zs_hierarchy *h, const char *path, uint16_t expected)
{
    struct zs_error err = {""};
    const struct zs_node *node = NULL;
    struct zs_array *array = NULL;
    uint16_t pixel = 0;
    check_ok(zs_hierarchy_node(h, path, &node, &err), &err);
    check_ok(zs_array_open_node(h, node, NULL, &array, &err), &err);
    const uint64_t start[3] = {1, node->array->shape[1] - 1, node->array->shape[2] - 1}, one[3] = {1, 1, 1};
    check_ok(zs_array_read(array, start, one, &pixel, &err), &err);
    CHECK_EQ_U64(pixel, expected);
    zs_array_close(array);
}

static void test_overviews_are_made_and_removed(void)
{
    static const char *const paths[] = {"a", "band", "x", "y"};
    for (int consolidated = 0; consolidated < 2; consolidated++) {
        struct geo_store s = {0};
        struct zs_error err = {""};
        const int64_t numbers[2] = {1, 2};
        put_group(&s, "", "{}");
        put_sharded(&s, "a", "{'long_name':['one','two'],'gdal:bands':[{'unit':'m'},{}],'_FillValue':9}");
        put_array(&s, "band", "[2]", "['band']", "int64", "0", "{}");
        put(&s, "band/c/0", numbers, sizeof numbers);
        put_axis(&s, "x", "x", 30, 5, 10, "{'units':'m','standard_name':'projection_x_coordinate'}");
        put_axis(&s, "y", "y", 20, 95, -10, "{'units':'m','standard_name':'projection_y_coordinate'}");
        if (consolidated)
            consolidate(&s, paths, 4);
        open_node(&s, "a");
        const int first[] = {4, 2}, second[] = {3, 2};
        build(&s, "a", first, 2, 100);
        static const char *const two[] = {"ovr_2x/a", "ovr_4x/a"}, *const three[] = {"ovr_2x/a", "ovr_3x/a",
                                                                                     "ovr_4x/a"};
        check_levels(s.h, "a", two, 2);
        build(&s, "a", second, 2, 200); /* one of them anew, one between */
        check_levels(s.h, "a", three, 3);
        for (int i = 0; i < 2; i++) {
            struct zs_hierarchy *h = reopen(&s, i == 1);
            check_levels(h, "a", three, 3);
            check_pixel(h, "ovr_2x/a", 202);
            check_pixel(h, "ovr_3x/a", 203);
            check_pixel(h, "ovr_4x/a", 104);
            const struct zs_node *node;
            check_ok(zs_hierarchy_node(h, "ovr_4x/a", &node, &err), &err);
            CHECK(node->array->is_sharded && node->array->shape[0] == 2 && node->array->shape[1] == 5 &&
                  node->array->shape[2] == 8);
            CHECK(node->array->chunk_shape[1] == 8 && node->array->chunk_shape[2] == 8);
            CHECK(is_overview_of_another(h, node));
            struct zs_georef g;
            check_ok(zs_georef_read(h, node, band_yx, &g, &err), &err);
            CHECK(g.has_transform && g.transform[0] == 0 && g.transform[1] == 37.5 && g.transform[3] == 100 &&
                  g.transform[5] == -40);
            zs_georef_clear(&g);
            struct zs_meaning base, m;
            check_ok(zs_meaning_read(node, &base, &err), &err);
            check_ok(zs_band_meaning_read(node, 0, 2, &base, &m, &err), &err);
            CHECK_EQ_STR(m.description, "one");
            CHECK_EQ_STR(m.unit, "m");
            zs_meaning_clear(&base);
            zs_meaning_clear(&m);
            check_ok(zs_hierarchy_node(h, "ovr_4x/band", &node, &err), &err);
            zs_hierarchy_free(h);
        }
        size_t removed;
        check_ok(zs_overviews_remove(s.h, open_node(&s, "a"), band_yx, &removed, &err), &err);
        CHECK_EQ_U64(removed, 3);
        for (int i = 0; i < 2; i++) {
            struct zs_hierarchy *h = reopen(&s, i == 1);
            check_levels(h, "a", NULL, 0);
            const struct zs_node *root;
            check_ok(zs_hierarchy_node(h, "", &root, &err), &err);
            CHECK(zs_json_get(root->attributes, "multiscales") == NULL &&
                  zs_json_get(root->attributes, "zarr_conventions") == NULL);
            zs_hierarchy_free(h);
        }
        char **names;
        check_ok(zs_store_list(s.store, "ovr_2x", &names, &err), &err);
        CHECK(names[0] == NULL);
        zs_names_free(names);
        check_levels(s.h, "a", NULL, 0);
        build(&s, "a", first, 2, 50); /* the same hierarchy again */
        check_levels(s.h, "a", two, 2);
        close_store(&s);
    }
}

static void test_overviews_of_several_arrays(void)
{
    struct geo_store s = {0};
    struct zs_error err = {""};
    put_group(&s, "", "{}");
    put_group(&s, "g", "{}");
    put_sharded(&s, "g/a", "{}");
    put_sharded(&s, "g/b", "{}");
    const int factors[] = {2, 4};
    open_node(&s, "g/a");
    build(&s, "g/a", factors, 1, 10);
    build(&s, "g/b", factors, 2, 20);
    static const char *const a[] = {"g/ovr_2x/a"}, *const b[] = {"g/ovr_2x/b", "g/ovr_4x/b"};
    for (int i = 0; i < 2; i++) {
        struct zs_hierarchy *h = i == 0 ? s.h : reopen(&s, true);
        check_levels(h, "g/a", a, 1);
        check_levels(h, "g/b", b, 2);
        check_pixel(h, "g/ovr_2x/a", 12);
        const struct zs_node *level;
        check_ok(zs_hierarchy_node(h, "g/ovr_2x/a", &level, &err), &err);
        CHECK(is_overview_of_another(h, level));
        if (i == 1)
            zs_hierarchy_free(h);
    }
    check_ok(zs_overviews_remove(s.h, open_node(&s, "g/b"), band_yx, NULL, &err), &err);
    check_levels(s.h, "g/a", a, 1);
    check_levels(s.h, "g/b", NULL, 0);
    CHECK(!is_there(&s, "g/ovr_4x/zarr.json") && is_there(&s, "g/ovr_2x/a/zarr.json") &&
          !is_there(&s, "g/ovr_2x/b/zarr.json"));
    close_store(&s);
}

static void test_overviews_that_are_dropped_leave_nothing(void)
{
    struct geo_store s = {0};
    struct zs_error err = {""};
    struct zs_overviews *o = NULL;
    const int factors[] = {2};
    put_group(&s, "", "{}");
    put_sharded(&s, "a", "{}");
    put(&s, "ovr_2x/a/c/0/0/0", "left by another", 15);
    check_ok(
        zs_overviews_create((open_node(&s, ""), s.h), open_node(&s, "a"), band_yx, factors, 1, NULL, 0, NULL, &o, &err),
        &err);
    CHECK(!is_there(&s, "ovr_2x/a/c/0/0/0"));
    uint16_t pixels[2 * 10 * 15];
    memset(pixels, 1, sizeof pixels);
    struct zs_window w = {.count = {2, 10, 15}, .data = pixels, .stride = {300, 30, 2}};
    check_ok(zs_array_write_windows(zs_overviews_array(o, 0), &w, 1, 2, NULL, NULL, &err), &err);
    check_ok(zs_array_flush(zs_overviews_array(o, 0), &err), &err);
    CHECK(is_there(&s, "ovr_2x/a/c/0/0/0"));
    zs_overviews_free(o);
    CHECK(!is_there(&s, "ovr_2x/a/c/0/0/0"));
    const int bad[] = {2, 1};
    CHECK(zs_overviews_create(s.h, open_node(&s, "a"), band_yx, bad, 2, NULL, 0, NULL, &o, &err) == ZS_ARGUMENT);
    close_store(&s);
}

/* Offset in its shard of inner chunk `number` of `count`, by the index at its end. */
static uint64_t chunk_offset(struct geo_store *s, const char *key, uint64_t count, uint64_t number)
{
    struct zs_error err = {""};
    struct zs_buffer b = {0};
    uint64_t offset = 0;
    check_ok(zs_store_get(s->store, key, 1 << 20, &b, &err), &err);
    if (CHECK(b.size > 16 * count + 4))
        memcpy(&offset, b.data + b.size - 4 - 16 * count + 16 * number, sizeof offset);
    zs_buffer_free(&b);
    return offset;
}

static void test_levels_have_the_chunk_order_of_their_base(void)
{
    struct geo_store s = {0};
    struct zs_error err = {""};
    struct zs_array *base = NULL;
    const int factors[] = {2};
    put_group(&s, "", "{}");
    put_sharded(&s, "a", "{}");
    check_ok(zs_array_open_node((open_node(&s, "a"), s.h), open_node(&s, "a"), NULL, &base, &err), &err);
    CHECK_EQ_I64(zs_array_chunk_order(base), ZS_ORDER_ROW_MAJOR);
    zs_array_set_new(base, ZS_ORDER_MORTON);
    CHECK_EQ_I64(zs_array_chunk_order(base), ZS_ORDER_MORTON);
    for (int order = 0; order < 2; order++) {
        struct zs_overviews *o = NULL;
        const int chunk_order = order == 0 ? ZS_ORDER_ROW_MAJOR : zs_array_chunk_order(base);
        check_ok(zs_overviews_create(s.h, open_node(&s, "a"), band_yx, factors, 1, NULL, chunk_order, NULL, &o, &err),
                 &err);
        uint16_t pixels[2 * 10 * 15];
        memset(pixels, 1, sizeof pixels);
        struct zs_window w = {.count = {2, 10, 15}, .data = pixels, .stride = {300, 30, 2}};
        check_ok(zs_array_write_windows(zs_overviews_array(o, 0), &w, 1, 2, NULL, NULL, &err), &err);
        check_ok(zs_array_flush(zs_overviews_array(o, 0), &err), &err);
        /* A shard of 2 x 3 x 4 chunks: (0, 1, 0) is number 4, (0, 0, 2) number 2. */
        const bool is_before =
            chunk_offset(&s, "ovr_2x/a/c/0/0/0", 24, 4) < chunk_offset(&s, "ovr_2x/a/c/0/0/0", 24, 2);
        CHECK(is_before == (order == 1));
        zs_overviews_free(o);
    }
    zs_array_close(base);
    close_store(&s);
}

static void test_levels_of_a_transposed_base_have_cut_shards(void)
{
    struct geo_store s = {0};
    struct zs_error err = {""};
    struct zs_overviews *o = NULL;
    const int factors[] = {4};
    /* Stored as (x, y, band), shards of (16, 16, 2), chunks of (2, 4, 1). */
    char *text = zs_format(
        "%s",
        "{'zarr_format':3,'node_type':'array','shape':[2,20,30],'dimension_names':['band','y','x'],'data_type':'uint1"
        "6','fill_value':0,'chunk_grid':{'name':'regular','configuration':{'chunk_shape':[2,16,16]}},'chunk_key_encod"
        "ing':{'name':'default'},'codecs':[{'name':'transpose','configuration':{'order':[2,1,0]}},{'name':'sharding_i"
        "ndexed','configuration':{'chunk_shape':[2,4,1],'codecs':['bytes'],'index_codecs':['bytes']}}]}");
    for (char *p = text; *p != '\0'; p++)
        if (*p == '\'')
            *p = '"';
    for (char *p; (p = strstr(text, "[\"bytes\"]")) != NULL;) { /* with an endianness */
        char *longer = zs_format("%.*s[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}]%s",
                                 (int)(p - text), text, p + 9);
        free(text);
        text = longer;
    }
    put_group(&s, "", "{}");
    put_document(&s, "a", text);
    check_ok(zs_overviews_create((open_node(&s, "a"), s.h), open_node(&s, "a"), band_yx, factors, 1, NULL, 0, NULL, &o,
                                 &err),
             &err);
    if (o != NULL) {
        const struct zs_array_info info = zs_array_get_info(zs_overviews_array(o, 0));
        CHECK_EQ_U64(info.shape[1], 5);
        CHECK_EQ_U64(info.shape[2], 8);
        CHECK_EQ_U64(info.chunk_shape[1], 4);
        CHECK_EQ_U64(info.chunk_shape[2], 2);
        CHECK_EQ_U64(info.shard_shape[0], 2);
        CHECK_EQ_U64(info.shard_shape[1], 8);
        CHECK_EQ_U64(info.shard_shape[2], 8);
    }
    zs_overviews_free(o);
    close_store(&s);
}

static void test_overviews_of_a_root_array_are_refused_with_a_way_out(void)
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

/* ---- Symbolic links ---- */

static char *join(const char *a, const char *b)
{
    return zs_format("%s/%s", a, b);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    if (CHECK(file != NULL)) {
        CHECK(fwrite(text, 1, strlen(text), file) == strlen(text));
        fclose(file);
    }
}

static void test_removal_does_not_follow_links_out_of_the_store(void)
{
    static const char group[] = "{\"zarr_format\":3,\"node_type\":\"group\"}";
    struct zs_error err = {""};
    const char *tmp = getenv("TMPDIR");
    char *top = zs_format("%s/test_raster_update.XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (!CHECK(mkdtemp(top) != NULL)) {
        free(top);
        return;
    }
    char *root = join(top, "store"), *outside = join(top, "outside"), *kept = join(outside, "zarr.json");
    char *root_json = join(root, "zarr.json"), *g = join(root, "g"), *link_in_g = join(g, "link"),
         *g_json = join(g, "zarr.json");
    char *link_at_top = join(root, "link"), *file_link = join(g, "zarr_link");
    CHECK(mkdir(root, 0777) == 0 && mkdir(outside, 0777) == 0 && mkdir(g, 0777) == 0);
    write_file(root_json, group);
    write_file(g_json, group);
    write_file(kept, group);
    CHECK(symlink(outside, link_in_g) == 0 && symlink(outside, link_at_top) == 0 && symlink(kept, file_link) == 0);
    struct zs_store *store;
    struct zs_hierarchy *h;
    struct stat st;
    check_ok(zs_store_open_vsi(root, &store, &err), &err);
    check_ok(zs_hierarchy_open(store, true, &h, &err), &err);
    check_ok(zs_store_remove_tree(store, "g", &err), &err);
    CHECK(lstat(g, &st) != 0);
    CHECK(lstat(kept, &st) == 0);
    check_ok(zs_hierarchy_remove(h, "link", &err), &err);
    check_ok(zs_hierarchy_flush(h, &err), &err);
    CHECK(lstat(link_at_top, &st) != 0);
    CHECK(lstat(kept, &st) == 0);
    zs_hierarchy_free(h);
    zs_store_free(store);
    (void)remove(kept);
    (void)remove(outside);
    (void)remove(root_json);
    (void)remove(root);
    CHECK(remove(top) == 0);
    char *const all[] = {top, root, outside, kept, root_json, g, link_in_g, g_json, link_at_top, file_link};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
}

int main(void)
{
    RUN(test_bare_array_gets_all_conventions);
    RUN(test_cf_stays_cf);
    RUN(test_rotation_takes_the_coordinates_away);
    RUN(test_narrow_coordinates_become_float64);
    RUN(test_group_entries_and_levels_follow);
    RUN(test_nodata_and_metadata);
    RUN(test_what_came_to_a_file_meanwhile_stays);
    RUN(test_attributes_that_are_newer_than_consolidated_metadata_stay);
    RUN(test_a_node_that_became_another_is_not_edited);
    RUN(test_overviews_are_made_and_removed);
    RUN(test_overviews_of_several_arrays);
    RUN(test_overviews_that_are_dropped_leave_nothing);
    RUN(test_levels_have_the_chunk_order_of_their_base);
    RUN(test_levels_of_a_transposed_base_have_cut_shards);
    RUN(test_overviews_of_a_root_array_are_refused_with_a_way_out);
    RUN(test_removal_does_not_follow_links_out_of_the_store);
    return check_result();
}
