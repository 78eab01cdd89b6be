/* Traps of georeferencing that published stores, and versions of the conventions, set. */
#include <math.h>

#include "geo/bands.h"
#include "geo/georef.h"
#include "geo_store.h"
#include "raster/overviews.h"

#define PROJ_UUID "f17cb550-5864-4468-aeb7-f3180cfb622f"
#define SPATIAL_UUID "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4"
#define DECLARED "'zarr_conventions':[{'uuid':'" PROJ_UUID "'},{'uuid':'" SPATIAL_UUID "'}]"
#define YX "'spatial:dimensions':['y','x']"

/* Checks transform (NULL: none) and EPSG code (NULL: none) of an array. */
static void check_place(struct geo_store *s, const char *path, const double *expected, const char *code)
{
    struct zs_error err = {""};
    struct zs_axes axes;
    struct zs_georef g;
    const struct zs_node *node = open_node(s, path);
    CHECK(zs_axes_find(s->h, node, NULL, NULL, &axes, &err) == ZS_OK);
    if (!CHECK(zs_georef_read(s->h, node, axes, &g, &err) == ZS_OK))
        return;
    if (CHECK(g.has_transform == (expected != NULL)) && expected != NULL)
        for (int i = 0; i < 6; i++)
            if (!CHECK(fabs(g.transform[i] - expected[i]) <= 1e-9 * fmax(1, fabs(expected[i]))))
                fprintf(stderr, "  %s: transform[%d] is %.17g, not %.17g\n", path, i, g.transform[i], expected[i]);
    CHECK_EQ_STR(g.srs != NULL ? OSRGetAuthorityCode(g.srs, NULL) : NULL, code);
    zs_georef_clear(&g);
}

static void check_one(const char *attributes, const double *expected, const char *code)
{
    struct geo_store s = {0};
    put_group(&s, "", "{}");
    put_array(&s, "ar", "[4,6]", "['y','x']", "uint16", "0", attributes);
    check_place(&s, "ar", expected, code);
    close_store(&s);
}

static const double north_up[6] = {1000, 10, 0, 2000, 0, -10};

static void test_bbox_serves_where_there_is_no_transform(void)
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

static void test_bbox_of_a_pyramid_is_of_every_level(void)
{
    static const double half[6] = {1000, 20, 0, 2000, 0, -20};
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

static void test_scale_of_all_dimensions_and_translation_do_not_move_levels(void)
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
    static const double half[6] = {1000, 20, 0, 2000, 0, -20};
    check_place(&s, "0/ar", north_up, NULL);
    check_place(&s, "1/ar", half, NULL);
    struct zs_names levels = {0};
    CHECK(zs_overviews_find(s.h, open_node(&s, "0/ar"), (struct zs_axes){2, 1}, &levels, &err) == ZS_OK);
    if (CHECK_EQ_U64(levels.count, 1))
        CHECK_EQ_STR(levels.list[0], "1/ar");
    zs_names_free(levels.list);
    close_store(&s);
}

int main(void)
{
    RUN(test_bbox_serves_where_there_is_no_transform);
    RUN(test_bbox_of_a_pyramid_is_of_every_level);
    RUN(test_scale_of_all_dimensions_and_translation_do_not_move_levels);
    return check_result();
}
