/* Bands that differ: what is common goes to the array, the rest to gdal:bands, and comes back. */
#include <math.h>

#include "geo/bands.h"
#include "geo/georef.h"
#include "geo_store.h"
#include "zarr/make.h"

static char text_red[] = "red", text_nir[] = "near infrared", text_m[] = "m", text_k[] = "K",
            text_palette[] = "Palette", text_cyan[] = "Cyan", text_gray[] = "Gray",
            text_mean[] = "STATISTICS_MEAN=3.5", text_empty[] = "", text_sea[] = "open sea";

static const struct zs_node *store_with(struct geo_store *s, const char *type, const zs_json *attributes)
{
    char *text = zs_json_print(attributes);
    put_group(s, "", "{}");
    put_array(s, "a", "[2,10,20]", "['band','y','x']", type, "0", text);
    free(text);
    return open_node(s, "a");
}

static struct zs_band_properties band(const struct zs_node *node, uint64_t i, uint64_t n)
{
    struct zs_error err = {""};
    struct zs_band_properties base, m;
    CHECK(zs_band_properties_read(node, &base, &err) == ZS_OK);
    if (!CHECK(zs_bands_read(node, i, 1, n, &base, &m, &err) == ZS_OK))
        exit(1);
    zs_band_properties_clear(&base);
    return m;
}

TEST(test_common_properties_go_to_the_array_and_others_to_bands)
{
    struct geo_store s = {0};
    struct zs_error err;
    const struct zs_dtype f32 = zs_dtype_of(ZS_FLOAT32);
    char *metadata[] = {text_mean, NULL}, *categories[] = {text_empty, text_sea, NULL};
    struct zs_colour_entry table[] = {{1, 2, 3, 255}, {250, 0, 9, 0}};
    struct zs_band_properties in[2] = {
        {.description = text_red,
         .unit = text_m,
         .has_scale = true,
         .scale = 0.1,
         .has_offset = true,
         .offset = -5,
         .colour_name = text_palette,
         .colour_table = table,
         .colour_count = 2,
         .metadata = metadata,
         .has_nodata = true},
        {.description = text_nir,
         .unit = text_k,
         .has_scale = true,
         .scale = 0.1,
         .categories = categories,
         .colour_name = text_cyan},
    };
    const float nan32 = NAN;
    memcpy(in[0].nodata, &nan32, sizeof nan32);
    zs_json *a = zs_json_new_object();
    CHECK(zs_bands_write(a, &f32, NULL, in, 2, ZS_BAND_ALL, &err) == ZS_OK);
    CHECK(zs_bands_write(a, &f32, NULL, in, 2, ZS_BAND_ALL, &err) == ZS_OK); /* again: replaced */
    CHECK_EQ_U64(zs_json_size(zs_json_get(a, "long_name")), 2);
    /* The scale is the same for both, the offset is not: CF's readers take both or none. */
    CHECK(zs_json_get(a, "scale_factor") == NULL && zs_json_get(a, "add_offset") == NULL &&
          zs_json_get(a, "units") == NULL);
    CHECK_EQ_U64(zs_json_size(zs_json_get(a, "gdal:bands")), 2);
    CHECK(zs_json_get(zs_json_at(zs_json_get(a, "gdal:bands"), 1), "scale") != NULL);

    const struct zs_node *node = store_with(&s, "float32", a);
    struct zs_band_properties m = band(node, 0, 2);
    CHECK_EQ_STR(m.description, "red");
    CHECK_EQ_STR(m.unit, "m");
    CHECK(m.has_scale && m.has_offset && m.scale == 0.1 && m.offset == -5);
    CHECK_EQ_STR(m.colour_name, "Palette");
    if (CHECK(m.colour_count == 2))
        CHECK(m.colour_table[1].r == 250 && m.colour_table[1].a == 0 && m.colour_table[0].a == 255);
    CHECK(m.metadata != NULL && strcmp(m.metadata[0], "STATISTICS_MEAN=3.5") == 0 && m.metadata[1] == NULL);
    float nodata;
    memcpy(&nodata, m.nodata, sizeof nodata);
    CHECK(m.has_nodata && isnan(nodata));
    zs_band_properties_clear(&m);
    m = band(node, 1, 2);
    CHECK_EQ_STR(m.description, "near infrared");
    CHECK_EQ_STR(m.unit, "K");
    CHECK(m.has_scale && !m.has_offset && !m.has_nodata && m.metadata == NULL && m.colour_table == NULL);
    CHECK_EQ_STR(m.colour_name, "Cyan");
    CHECK(m.categories != NULL && strcmp(m.categories[1], "open sea") == 0);
    zs_band_properties_clear(&m);
    zs_json_free(a);
    close_store(&s);
}

TEST(test_bands_without_a_difference_have_no_list)
{
    struct zs_error err;
    const struct zs_dtype u8 = zs_dtype_of(ZS_UINT8);
    struct zs_band_properties in[2] = {{.unit = text_m, .colour_name = text_gray},
                                       {.unit = text_m, .colour_name = text_gray}};
    zs_json *a = zs_json_new_object();
    CHECK(zs_bands_write(a, &u8, NULL, in, 2, ZS_BAND_ALL, &err) == ZS_OK);
    CHECK(zs_json_equals(zs_json_get(a, "units"), "m") &&
          zs_json_equals(zs_json_get(a, "COLOR_INTERPRETATION"), "Gray"));
    CHECK_EQ_U64(zs_json_size(a), 2);
    /* One description of two is no list for rioxarray. */
    in[1].description = text_red;
    CHECK(zs_bands_write(a, &u8, NULL, in, 2, ZS_BAND_ALL, &err) == ZS_OK);
    CHECK(zs_json_get(a, "long_name") == NULL);
    CHECK(zs_json_equals(zs_json_get(zs_json_at(zs_json_get(a, "gdal:bands"), 1), "description"), "red"));
    zs_json_free(a);
}

TEST(test_malformed_band_lists_are_ignored)
{
    static const char *const odd[] = {
        "{'gdal:bands':7,'long_name':['only one']}",
        "{'gdal:bands':[{}],'long_name':[1,2]}",
        "{'gdal:bands':[3,'x'],'long_name':{}}",
        "{'gdal:bands':[{'scale':'x','offset':[],'unit':1,'description':{},'categories':{'a':1}},null]}",
        "{'gdal:bands':[{'color_table':[[1,2]],'metadata':[1],'nodata':'x','color_interpretation':3},null]}",
        "{'gdal:bands':[{'color_table':[[1,2,NaN]],'scale':Infinity,'nodata':{}},[]],'gdal:color_table':[[1e9,0,0]]}",
    };
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        struct geo_store s = {0};
        put_group(&s, "", "{}");
        put_array(&s, "a", "[2,10,20]", "['band','y','x']", "uint8", "0", odd[i]);
        const struct zs_node *node = open_node(&s, "a");
        for (uint64_t b = 0; b < 2; b++) {
            struct zs_band_properties m = band(node, b, 2);
            CHECK(!m.has_scale && m.unit == NULL && m.description == NULL && m.colour_table == NULL);
            CHECK(m.categories == NULL && m.metadata == NULL);
            zs_band_properties_clear(&m);
        }
        close_store(&s);
    }
}

/* An array of (slow, fast, y, x), or with y last, grows with its lists; an empty text: not at all. */
TEST(test_lists_grow_where_new_slices_follow_those_that_are_there)
{
    static const struct {
        const char *shape, *dimensions, *attributes, *expected;
        uint64_t to[4];
    } rows[] = {
        {"[2,1,4,5]", "['t','b','y','x']", "{'k':1,'gdal:bands':[{'unit':'m'},{}],'long_name':['a','b']}",
         "{'k':1,'gdal:bands':[{'unit':'m'},{},{},{}],'long_name':['a','b','','']}", {4, 1, 4, 5}},
        {"[2,2,4,5]", "['t','b','y','x']", "{'gdal:bands':[{'unit':'m'},{},{},{}]}",
         "{'gdal:bands':[{'unit':'m'},{},{},{},{},{}]}", {3, 2, 4, 5}},
        {"[1,2,4,5]", "['t','b','y','x']", "{'long_name':['a','b']}", "{'long_name':['a','b','']}", {1, 3, 4, 5}},
        {"[2,2,4,5]", "['t','b','y','x']", "{'gdal:bands':[{},{},{},{}]}", "", {2, 3, 4, 5}},
        {"[1,2,4,5]", "['t','b','y','x']", "{'long_name':['a','b']}", "", {2, 3, 4, 5}},
        {"[2,1,4,5]", "['t','b','y','x']", "{'long_name':['a','b']}", "", {1 << 21, 1, 4, 5}},
        {"[2,1,4,5]", "['t','b','y','x']", "{'gdal:bands':[{'unit':'m'},{}]}", "{'gdal:bands':[{'unit':'m'},{}]}",
         {2, 1, 9, 9}},
        {"[2,1,4,5]", "['t','b','y','x']", "{'gdal:bands':[{}],'long_name':'a'}", "{'gdal:bands':[{}],'long_name':'a'}",
         {4, 1, 4, 5}},
        {"[2,4,5,2]", "['t','y','x','b']", "{'long_name':['a','b','c','d']}", "{'long_name':['a','b','c','d','','']}",
         {3, 4, 5, 2}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct geo_store s = {0};
        struct zs_error err = {""};
        const struct zs_node *fresh = NULL;
        put_group(&s, "", "{}");
        put_array(&s, "a", rows[i].shape, rows[i].dimensions, "uint8", "0", rows[i].attributes);
        const enum zs_status status = zs_array_grow((open_node(&s, "a"), s.h), open_node(&s, "a"), rows[i].to, &err);
        CHECK(status == (rows[i].expected[0] == '\0' ? ZS_UNSUPPORTED : ZS_OK));
        CHECK(zs_hierarchy_is_changed(s.h) == (status == ZS_OK));
        if (status == ZS_OK && CHECK(zs_hierarchy_node(s.h, "a", &fresh, &err) == ZS_OK)) {
            char *found = zs_json_print(fresh->attributes);
            for (char *p = found; *p != '\0'; p++)
                *p = *p == '"' ? '\'' : *p;
            CHECK_EQ_STR(found, rows[i].expected);
            free(found);
        }
        close_store(&s);
    }
}

TEST(test_a_list_of_healpix_cells_has_an_element_for_each_index_but_cells)
{
    static const uint64_t three[] = {3, 12};
    struct geo_store s = {0};
    struct zs_error err = {""};
    const struct zs_node *fresh = NULL;
    put_group(&s, "", "{'zarr_conventions':[{'name':'dggs','uuid':'7b255807-140c-42ca-97f6-7a1cfecdbc38'}],"
                      "'dggs':{'name':'healpix','refinement_level':0,'indexing_scheme':'nested',"
                      "'spatial_dimension':'cells'}}");
    put_array(&s, "a", "[2,12]", "['time','cells']", "uint8", "0", "{'gdal:bands':[{'unit':'m'},{'unit':'K'}]}");
    const struct zs_node *node = open_node(&s, "a");
    CHECK(zs_array_grow(s.h, node, three, &err) == ZS_OK);
    CHECK(zs_hierarchy_node(s.h, "a", &fresh, &err) == ZS_OK && fresh->array->shape[0] == 3);
    CHECK_EQ_U64(zs_json_size(zs_json_get(fresh->attributes, ZS_BANDS_ATTRIBUTE)), 3);
    close_store(&s);
}
