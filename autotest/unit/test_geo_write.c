/* What is written is read back the same, by the readers of this room. */
#include <math.h>

#include "geo/crs.h"
#include "geo/georef.h"
#include "geo/write.h"
#include "geo_store.h"

static struct zs_georef_out raster(OGRSpatialReferenceH srs)
{
    return (struct zs_georef_out){.has_transform = true,
                                  .transform = {1000, 10, 0.5, 2000, 0.25, -20},
                                  .srs = srs,
                                  .width = 20,
                                  .height = 10,
                                  .dim_x = "x",
                                  .dim_y = "y"};
}

static char *text_of(zs_json *json)
{
    char *text = zs_json_print(json);
    zs_json_free(json);
    return text;
}

static void check_transform(const struct zs_georef *g, const double *expected)
{
    CHECK(g->has_transform);
    for (int i = 0; i < 6; i++)
        CHECK_EQ_F64(g->transform[i], expected[i]);
}

static struct zs_georef read_back(struct geo_store *s, const char *path)
{
    struct zs_error err = {""};
    struct zs_georef g;
    const struct zs_node *node = open_node(s, path);
    if (!CHECK(zs_georef_read(s->h, node, (struct zs_axes){1, 0}, &g, &err) == ZS_OK))
        exit(1);
    return g;
}

static void round_trip(OGRSpatialReferenceH srs, bool pixel_is_point, const char *must_have)
{
    struct geo_store s = {0};
    struct zs_error err;
    struct zs_georef_out out = raster(srs);
    out.pixel_is_point = pixel_is_point;
    zs_json *a = zs_json_new_object();
    CHECK(zs_write_spatial_proj(a, &out, true, &err) == ZS_OK);
    CHECK(zs_write_spatial_proj(a, &out, true, &err) == ZS_OK); /* again: replaced, not doubled */
    CHECK_EQ_U64(zs_json_size(zs_json_get(a, "zarr_conventions")), 2);
    CHECK_EQ_U64(zs_json_size(zs_json_get(a, "spatial:transform")), 6);
    CHECK(zs_json_get(a, must_have) != NULL);
    char *text = text_of(a);
    put_group(&s, "", "{}");
    put_array(&s, "a", "[10,20]", "['y','x']", "uint8", "0", text);
    struct zs_georef g = read_back(&s, "a");
    check_transform(&g, out.transform);
    CHECK(g.pixel_is_point == pixel_is_point);
    CHECK(g.srs != NULL && OSRIsSame(g.srs, srs));
    zs_georef_clear(&g);
    close_store(&s);
    free(text);
}

static void test_spatial_and_proj_round_trip(void)
{
    OGRSpatialReferenceH utm = zs_crs_from_epsg(32631);
    round_trip(utm, false, "proj:code");
    round_trip(utm, true, "proj:code");
    /* The code no longer stands for a CRS that was changed. */
    OSRSetProjParm(utm, "central_meridian", 4.5);
    round_trip(utm, false, "proj:wkt2");
    round_trip(utm, false, "proj:projjson");
    OSRRelease(utm);
    OGRSpatialReferenceH wgs84 = zs_crs_from_epsg(4326);
    round_trip(wgs84, false, "proj:code");
    OSRRelease(wgs84);
}

static void test_grid_mapping_round_trip(void)
{
    struct geo_store s = {0};
    struct zs_error err;
    OGRSpatialReferenceH utm = zs_crs_from_epsg(32631);
    const struct zs_georef_out out = raster(utm);
    zs_json *a = zs_json_new_object();
    CHECK(zs_write_grid_mapping(a, &out, &err) == ZS_OK);
    CHECK(zs_json_equals(zs_json_get(a, "grid_mapping_name"), "transverse_mercator"));
    CHECK(zs_json_equals(zs_json_get(a, "GeoTransform"), "1000 10 0.5 2000 0.25 -20"));
    char *text = text_of(a);
    put_group(&s, "", "{}");
    put_array(&s, "spatial_ref", "[]", "[]", "int64", "0", text);
    put_array(&s, "a", "[10,20]", "['y','x']", "uint8", "0", "{'grid_mapping':'spatial_ref'}");
    struct zs_georef g = read_back(&s, "a");
    check_transform(&g, out.transform);
    CHECK(g.srs != NULL && OSRIsSame(g.srs, utm));
    zs_georef_clear(&g);
    close_store(&s);
    free(text);
    OSRRelease(utm);
}

static void test_multiscales_round_trip(void)
{
    struct geo_store s = {0};
    struct zs_error err;
    const struct zs_georef_out out = raster(NULL);
    static const char *const paths[] = {"a", "ovr_2x"};
    const uint64_t widths[] = {20, 10}, heights[] = {10, 5};
    zs_json *m = zs_json_new_object();
    CHECK(zs_write_multiscales(m, &out, 2, paths, widths, heights, "average", &err) == ZS_OK);
    char *text = text_of(m);
    put_group(&s, "", text);
    put_group(&s, "ovr_2x", "{}");
    put_array(&s, "a", "[10,20]", "['y','x']", "uint8", "0", "{}");
    put_array(&s, "ovr_2x/a", "[5,10]", "['y','x']", "uint8", "0", "{}");
    struct zs_georef g = read_back(&s, "ovr_2x/a");
    const double expected[6] = {1000, 20, 1, 2000, 0.5, -40};
    check_transform(&g, expected);
    zs_georef_clear(&g);
    close_store(&s);
    free(text);
}

static void test_coordinate_attributes(void)
{
    struct zs_error err;
    OGRSpatialReferenceH wgs84 = zs_crs_from_epsg(4326), utm = zs_crs_from_epsg(32631);
    struct zs_georef_out out = raster(wgs84);
    zs_json *a = zs_json_new_object();
    CHECK(zs_write_coordinate(a, &out, false, &err) == ZS_OK);
    CHECK(zs_json_equals(zs_json_get(a, "units"), "degrees_north"));
    out.srs = utm;
    CHECK(zs_write_coordinate(a, &out, true, &err) == ZS_OK);
    CHECK(zs_json_equals(zs_json_get(a, "standard_name"), "projection_x_coordinate"));
    CHECK(zs_json_equals(zs_json_get(a, "units"), "m"));
    zs_json_free(a);
    OSRRelease(wgs84);
    OSRRelease(utm);
}

static void test_nodata_as_xarray_encodes_it(void)
{
    struct zs_error err;
    const struct zs_dtype f32 = zs_dtype_of(ZS_FLOAT32), u64 = zs_dtype_of(ZS_UINT64);
    const float nan32 = NAN;
    const uint64_t all = UINT64_MAX;
    zs_json *a = zs_json_new_object();
    CHECK(zs_write_nodata(a, &f32, &nan32, false, &err) == ZS_OK);
    CHECK(zs_json_equals(zs_json_get(a, "_FillValue"), "AAAAAAAA+H8="));
    CHECK(zs_write_nodata(a, &u64, &all, false, &err) == ZS_OK);
    uint64_t back = 0;
    CHECK(zs_json_uint64(zs_json_get(a, "_FillValue"), &back) && back == all);
    CHECK(zs_write_nodata(a, &u64, NULL, false, &err) == ZS_OK);
    CHECK(zs_json_get(a, "_FillValue") == NULL && zs_json_get(a, ZS_NO_NODATA_ATTRIBUTE) != NULL);
    zs_json_free(a);
}

static void test_band_properties_round_trip(void)
{
    struct geo_store s = {0};
    struct zs_error err;
    char unit[] = "m", name[] = "Height", none[] = "", one[] = "very high", meta1[] = "A=b=c", meta2[] = "units=no";
    char colour[] = "Green";
    char *categories[] = {none, one, none, NULL}, *metadata[] = {meta1, meta2, NULL};
    struct zs_band_properties m = {.has_scale = true, .scale = 0.1, .unit = unit, .description = name,
                                   .categories = categories, .metadata = metadata, .colour_name = colour}, back;
    zs_json *a = zs_json_new_object();
    CHECK(zs_write_band_properties(a, &m, ZS_BAND_ALL, &err) == ZS_OK);
    CHECK(zs_json_equals(zs_json_get(a, "flag_meanings"), "very_high"));
    char *text = text_of(a);
    put_group(&s, "", "{}");
    put_array(&s, "a", "[10,20]", "['y','x']", "uint8", "0", text);
    const struct zs_node *node = open_node(&s, "a");
    CHECK(zs_band_properties_read(node, &back, &err) == ZS_OK);
    CHECK(back.has_scale && !back.has_offset && strcmp(back.colour_name, colour) == 0);
    CHECK_EQ_F64(back.scale, 0.1);
    CHECK_EQ_STR(back.unit, "m");
    CHECK_EQ_STR(back.description, "Height");
    for (int i = 0; CHECK(back.categories != NULL) && i < 3; i++)
        CHECK_EQ_STR(back.categories[i], categories[i]);
    if (CHECK(back.metadata != NULL && back.metadata[0] != NULL))
        CHECK_EQ_STR(back.metadata[1], "A=b=c");
    zs_band_properties_clear(&back);
    close_store(&s);
    free(text);
}

int main(void)
{
    RUN(test_spatial_and_proj_round_trip);
    RUN(test_grid_mapping_round_trip);
    RUN(test_multiscales_round_trip);
    RUN(test_coordinate_attributes);
    RUN(test_nodata_as_xarray_encodes_it);
    RUN(test_band_properties_round_trip);
    return check_result();
}
