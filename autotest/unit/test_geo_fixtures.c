/* Metadata that others published, from the folder of fixtures beside the project (SHARDEDZARR_FIXTURES, else
 * ../shared/fixtures). Without that folder there is nothing to test. */
#include <math.h>

#include "geo/georef.h"
#include "raster/overviews.h"
#include "geo_store.h"

static char *read_file(const char *name, size_t *size)
{
    const char *folder = getenv("SHARDEDZARR_FIXTURES");
    char *path = zs_format("%s/%s", folder != NULL ? folder : "../shared/fixtures", name);
    FILE *file = fopen(path, "rb");
    free(path);
    if (file == NULL)
        return NULL;
    char *text = malloc(8 << 20);
    *size = fread(text, 1, 8 << 20, file);
    fclose(file);
    return text;
}

/* The nested `members` of EOPF's dump as the consolidated metadata it was made from. */
static void flatten(zs_json *out, const char *prefix, const zs_json *members)
{
    for (const zs_json *c = zs_json_first(members); c != NULL; c = zs_json_next(c)) {
        char *path = zs_format("%s%s%s", prefix, prefix[0] != '\0' ? "/" : "", zs_json_name(c));
        zs_json *node = zs_json_add(out, path, zs_json_copy(c));
        zs_json_remove(node, "members");
        flatten(out, path, zs_json_get(c, "members"));
        free(path);
    }
}

static bool open_fixture(struct geo_store *s, const char *name)
{
    size_t size = 0;
    struct zs_error err;
    zs_json *document;
    char *text = read_file(name, &size);
    if (text == NULL) {
        fprintf(stderr, "%s is not there\n", name);
        return false;
    }
    if (CHECK(zs_json_parse(text, size, &document, &err) == ZS_OK) && zs_json_get(document, "members") != NULL) {
        zs_json *root = zs_json_new_object();
        zs_json_add_uint64(root, "zarr_format", 3);
        zs_json_add_string(root, "node_type", "group");
        zs_json *consolidated = zs_json_add_object(root, "consolidated_metadata");
        zs_json_add_string(consolidated, "kind", "inline");
        zs_json_add_bool(consolidated, "must_understand", false);
        flatten(zs_json_add_object(consolidated, "metadata"), "", zs_json_get(document, "members"));
        free(text);
        text = zs_json_print(root);
        size = strlen(text);
        zs_json_free(root);
    }
    zs_json_free(document);
    put(s, "zarr.json", text, size);
    free(text);
    return true;
}

/* Georeferencing of one array: its step, origin and EPSG code (NULL: another CRS; step 0: no transform). */
static void check_georef(struct geo_store *s, const char *path, double step, double x, double y, const char *epsg)
{
    struct zs_error err = {""};
    struct zs_axes axes;
    struct zs_georef g;
    const struct zs_node *node = open_node(s, path);
    if (!CHECK(node->array != NULL) || !CHECK(zs_axes_find(s->h, node, NULL, NULL, &axes, &err) == ZS_OK) ||
        !CHECK(zs_georef_read(s->h, node, axes, &g, &err) == ZS_OK))
        return;
    CHECK(g.has_transform == (step != 0));
    if (g.has_transform) {
        CHECK_EQ_F64(g.transform[0], x);
        CHECK(fabs(g.transform[1] - step) < 1e-9 * step);
        CHECK_EQ_F64(g.transform[3], y);
        CHECK(fabs(g.transform[5] + step) < 1e-9 * step);
    }
    if (epsg != NULL)
        CHECK_EQ_STR(g.srs != NULL ? OSRGetAuthorityCode(g.srs, NULL) : NULL, epsg);
    zs_georef_clear(&g);
}

static void test_gdal(void)
{
    struct geo_store s = {0};
    if (open_fixture(&s, "gdal/simple_multiscales_spatial/zarr.json")) {
        check_georef(&s, "level0/ar", 10, 1000, 2000, NULL);
        check_georef(&s, "level1/ar", 20, 1000, 2000, NULL);
        check_georef(&s, "level2/ar", 40, 1000, 2000, NULL);
    }
    close_store(&s);
    if (open_fixture(&s, "gdal/spatial_proj_at_array_level.zarr/zarr.json"))
        check_georef(&s, "ar", 10, 450000, 5000000, "32631");
    close_store(&s);
    if (open_fixture(&s, "gdal/spatial_proj_at_parent_level.zarr/zarr.json"))
        check_georef(&s, "ar", 10, 450000, 5000000, "32631");
    close_store(&s);
    if (open_fixture(&s, "gdal/spatial_proj_convention_at_root_level.zarr/zarr.json"))
        check_georef(&s, "group/ar", 10, 450000, 5000000, "32631");
    close_store(&s);
}

static void test_eopf(void)
{
    struct geo_store s = {0};
    if (open_fixture(
            &s, "eopf/optimized_geozarr_examples/S2A_MSIL2A_20251008T100041_N0511_R122_T32TQM_20251008T122613.json")) {
        /* No spatial:transform anywhere and no chunks: the arrays' own proj:transform where its shape is theirs, and
         * by ratio where it is a leftover of another level. */
        check_georef(&s, "measurements/reflectance/r10m/b02", 10, 699960, 4700040, "32632");
        check_georef(&s, "measurements/reflectance/r60m/b02", 60, 699960, 4700040, "32632");
        check_georef(&s, "measurements/reflectance/r120m/b01", 120, 699960, 4700040, "32632");
        check_georef(&s, "measurements/reflectance/r720m/b05", 109800.0 / 152, 699960, 4700040, "32632");
        check_georef(&s, "conditions/geometry/sun_angles", 0, 0, 0, NULL);
        CHECK(!is_overview(&s, "measurements/reflectance/r10m/b02"));
        CHECK(!is_overview(&s, "measurements/reflectance/r20m/b05"));
        CHECK(is_overview(&s, "measurements/reflectance/r20m/b02"));
    }
    close_store(&s);
}

static void test_dynamical(void)
{
    struct geo_store s = {0};
    if (open_fixture(&s, "dynamical/noaa_hrrr_analysis.json"))
        check_georef(&s, "temperature_2m", 3000, -2699020.142521929, 1588193.847443335, NULL);
    close_store(&s);
    if (open_fixture(&s, "dynamical/contrib_nasa_smap_level3_36km_v9.json"))
        check_georef(&s, "soil_moisture_am", 0, 0, 0, "6933");
    close_store(&s);
    if (open_fixture(&s, "dynamical/nasa_imerg_analysis_late.json"))
        check_georef(&s, "precipitation_surface", 0, 0, 0, "4326");
    close_store(&s);
}

int main(void)
{
    RUN(test_gdal);
    RUN(test_eopf);
    RUN(test_dynamical);
    return check_result();
}
