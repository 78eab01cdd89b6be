/* Overviews of stores that are there: made, replaced, removed. */
#include "changed_store.h"
#include "geo/bands.h"
#include "geo/georef.h"
#include "geo/variables.h"
#include "raster/overviews.h"

static const struct zs_axes yx = {1, 0};

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
    struct zs_names found = {0};
    check_ok(zs_hierarchy_node(h, path, &node, &err), &err);
    check_ok(zs_overviews_find(h, node, band_yx, &found, &err), &err);
    if (CHECK(found.count == n))
        for (size_t i = 0; i < n; i++)
            CHECK_EQ_STR(found.list[i], levels[i]);
    zs_names_free(found.list);
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
            const struct zs_node *band = zs_coordinate_find(h, node, 0);
            CHECK(band != NULL && strcmp(band->path, "band") == 0); /* of the group above */
            struct zs_band_properties base, m;
            check_ok(zs_band_properties_read(node, &base, &err), &err);
            check_ok(zs_bands_read(node, 0, 1, 2, &base, &m, &err), &err);
            CHECK_EQ_STR(m.description, "one");
            CHECK_EQ_STR(m.unit, "m");
            zs_band_properties_clear(&base);
            zs_band_properties_clear(&m);
            zs_hierarchy_free(h);
        }
        check_ok(zs_overviews_take_out(s.h, open_node(&s, "a"), band_yx, &err), &err);
        check_ok(zs_hierarchy_flush(s.h, &err), &err);
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
    check_ok(zs_overviews_take_out(s.h, open_node(&s, "g/b"), band_yx, &err), &err);
    check_ok(zs_hierarchy_flush(s.h, &err), &err);
    check_levels(s.h, "g/a", a, 1);
    check_levels(s.h, "g/b", NULL, 0);
    CHECK(!is_there(&s, "g/ovr_4x/zarr.json") && is_there(&s, "g/ovr_2x/a/zarr.json") &&
          !is_there(&s, "g/ovr_2x/b/zarr.json"));
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

int main(void)
{
    RUN(test_overviews_are_made_and_removed);
    RUN(test_overviews_of_several_arrays);
    RUN(test_overviews_of_a_root_array_are_refused_with_a_way_out);
    return check_result();
}
