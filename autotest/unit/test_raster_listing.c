/* Which arrays of a store are shown, and what finding them costs. */

#include "raster/listing.h"
#include "geo_store.h"

/* Paths of the rasters below a group, joined by blanks; the message where there are none. */
static const char *rasters(struct geo_store *s, const char *group)
{
    static char joined[1024];
    struct zs_error err = {""};
    const struct zs_node **nodes;
    size_t count, unreadable;
    joined[0] = '\0';
    if (zs_rasters_find(s->h, open_node(s, group), &nodes, &count, &unreadable, &err) != ZS_OK) {
        (void)snprintf(joined, sizeof joined, "%s", err.message);
        return joined;
    }
    for (size_t i = 0; i < count + unreadable; i++) {
        strcat(joined, i == count ? " but " : i > 0 ? " " : "");
        strcat(joined, nodes[i]->path);
    }
    free(nodes);
    return joined;
}

static void put_raster(struct geo_store *s, const char *path, const char *attributes)
{
    put_array(s, path, "[4,6]", "['y','x']", "uint8", "0", attributes);
}

static void test_coordinates_and_masks_are_not_listed(void)
{
    struct geo_store s = {0};
    put_group(&s, "", "{}");
    put_raster(&s, "a", "{'coordinates':'lat lon','grid_mapping':'crs: x y','bounds':'a'}");
    put_raster(&s, "lat", "{}");
    put_raster(&s, "lon", "{'bounds':'lon_bounds'}");
    put_raster(&s, "lon_bounds", "{}");
    put_raster(&s, "crs", "{}");
    put_array(&s, "y", "[4]", "['y']", "uint8", "0", "{}");
    put_array(&s, "track", "[9]", "['t']", "uint8", "0", "{}");
    put_group(&s, "g", "{}");
    put_raster(&s, "g/lat", "{}"); /* named in another group */
    open_node(&s, "");
    CHECK_EQ_STR(rasters(&s, ""), "a g/lat");
    CHECK_EQ_STR(rasters(&s, "g"), "g/lat");
    close_store(&s);
}

static void test_unreadable_arrays_are_listed_last(void)
{
    struct geo_store s = {0};
    put_group(&s, "", "{}");
    put_array(&s, "digest", "[9]", "['cells']", "variable_length_bytes", "''", "{}");
    put_array(&s, "count", "[9]", "['cells']", "uint8", "0", "{}");
    put_array(&s, "sum", "[9]", "['cells']", "uint8", "0", "{'coordinates':'odd'}");
    put_array(&s, "cells", "[9]", "['cells']", "variable_length_bytes", "''", "{}"); /* a coordinate */
    put_array(&s, "odd", "[9]", "['cells']", "variable_length_bytes", "''", "{}");   /* of another */
    put_array(&s, "name", "[9]", "['cells']", "string", "''", "{}");                 /* text */
    put_array(&s, "scalar", "[]", "[]", "variable_length_bytes", "''", "{}");
    open_node(&s, "");
    CHECK_EQ_STR(rasters(&s, ""), "count sum but digest");
    close_store(&s);
}

static void test_one_dimensional_arrays_are_listed_when_nothing_else_is_there(void)
{
    struct geo_store s = {0};
    put_group(&s, "", "{}");
    put_array(&s, "Time", "[9]", "['time']", "uint8", "0", "{}");
    open_node(&s, "");
    CHECK_CONTAINS(rasters(&s, ""), "no array in it that can be a raster");
    zs_hierarchy_free(s.h);
    s.h = NULL;
    put_array(&s, "track", "[9]", "['time']", "uint8", "0", "{}");
    open_node(&s, "");
    CHECK_EQ_STR(rasters(&s, ""), "track");
    zs_hierarchy_free(s.h);
    s.h = NULL;
    put_array(&s, "bad", "[4,6]", "['y','x']", "uint9", "0", "{}");
    CHECK(zs_store_remove(s.store, "track/zarr.json", NULL) == ZS_OK);
    open_node(&s, "");
    CHECK_CONTAINS(rasters(&s, ""), "uint9");
    close_store(&s);
}

/* A remote store is not listed: a node is a request. */
static void test_a_remote_store_is_not_searched(void)
{
    struct geo_store s = {0};
    put_group(&s, "", "{}");
    put_raster(&s, "a", "{}");
    put_group(&s, "image", "{'ome':{'multiscales':[{'datasets':[{'path':'0'},{'path':'1'}]}]}}");
    put_raster(&s, "image/0", "{}");
    put_array(&s, "image/1", "[2,3]", "['y','x']", "uint8", "0", "{}");
    s.store->is_remote = true;
    open_node(&s, "");
    CHECK_CONTAINS(rasters(&s, ""), "name one");
    CHECK_EQ_STR(rasters(&s, "image"), "image/0");
    close_store(&s);
}

/* ---- Cost ---- */

#define ARRAY_OF(shape, attributes)                                                                               \
    "{'zarr_format':3,'node_type':'array','shape':[" shape                                                        \
    "],'dimension_names':['y','x'],'data_type':'uint8','fill_value':0,"                                           \
    "'chunk_grid':{'name':'regular','configuration':{'chunk_shape':[" shape "]}},'chunk_key_encoding':'default'," \
    "'codecs':['bytes'],'attributes':{" attributes "}}"
#define GROUP_OF(attributes) "{'zarr_format':3,'node_type':'group','attributes':{" attributes "}}"

/* Members of the metadata, and attributes of the root, of a store with about n arrays. */
typedef void (*fill_function)(FILE *metadata, FILE *root, int n);

static void fill_flat(FILE *metadata, FILE *root, int n)
{
    (void)root;
    for (int i = 0; i < n; i++)
        fprintf(metadata, ",'a%d':" ARRAY_OF("4,6", "'long_name':'x'"), i);
}

/* Half of the arrays are coordinates of the others: a document's length goes with their number, too. */
static void fill_coordinates(FILE *metadata, FILE *root, int n)
{
    (void)root;
    for (int i = 0; i < n; i += 2) {
        fprintf(metadata, ",'c%d':" ARRAY_OF("4,6", ""), i);
        fprintf(metadata, ",'a%d':" ARRAY_OF("4,6", "'coordinates':'c%d c%d gone'"), i, i, n - 2 - i);
    }
}

static void fill_images(FILE *metadata, FILE *root, int n)
{
    (void)root;
    for (int i = 0; i < n; i += 2) {
        fprintf(metadata, ",'i%d':" GROUP_OF("'ome':{'multiscales':[{'datasets':[{'path':'0'},{'path':'1'}]}]}"), i);
        fprintf(metadata, ",'i%d/0':" ARRAY_OF("4,6", "") ",'i%d/1':" ARRAY_OF("2,3", ""), i, i);
    }
}

static void fill_images_of_one_group(FILE *metadata, FILE *root, int n)
{
    fprintf(root, "'ome':{'multiscales':[");
    for (int i = 0; i < n; i += 2) {
        fprintf(root, "%s{'datasets':[{'path':'i%d/0'},{'path':'i%d/1'}]}", i > 0 ? "," : "", i, i);
        fprintf(metadata, ",'i%d/0':" ARRAY_OF("4,6", "") ",'i%d/1':" ARRAY_OF("2,3", ""), i, i);
    }
    fprintf(root, "]}");
}

static void fill_levels_by_gdal(FILE *metadata, FILE *root, int n)
{
    (void)root;
    for (int i = 0; i < n; i += 2)
        fprintf(metadata, ",'a%d':" ARRAY_OF("4,6", "") ",'ovr_2x/a%d':" ARRAY_OF("2,3", ""), i, i);
}

/* The number of rasters that a store of n arrays lists. */
static size_t count_listed(fill_function fill, int n)
{
    char *members, *attributes;
    size_t members_size, attributes_size, count = 0;
    FILE *metadata = open_memstream(&members, &members_size), *root = open_memstream(&attributes, &attributes_size);
    fill(metadata, root, n);
    (void)fclose(metadata);
    (void)fclose(root);
    char *text = zs_format("{'zarr_format':3,'node_type':'group','attributes':{%s},'consolidated_metadata':"
                           "{'kind':'inline','must_understand':false,'metadata':{%s}}}",
                           attributes, members + 1);
    for (char *p = text; *p != '\0'; p++)
        if (*p == '\'')
            *p = '"';
    struct geo_store s = {0};
    put_document(&s, "", text);
    const struct zs_node **nodes, *group = open_node(&s, "");
    CHECK(zs_rasters_find(s.h, group, &nodes, &count, NULL, NULL) == ZS_OK);
    free(nodes);
    free(members);
    free(attributes);
    close_store(&s);
    return count;
}

/* So many that a list that costs the square of them is felt. */
static void test_huge_groups_list_only_arrays_that_are_no_coordinates(void)
{
    enum { N = 30000 };
    CHECK_EQ_U64(count_listed(fill_flat, N), N);
    CHECK_EQ_U64(count_listed(fill_coordinates, N), N / 2);
    CHECK_EQ_U64(count_listed(fill_images, N), N / 2);
    CHECK_EQ_U64(count_listed(fill_images_of_one_group, N), N / 2);
    CHECK_EQ_U64(count_listed(fill_levels_by_gdal, N), N / 2);
}

int main(void)
{
    RUN(test_coordinates_and_masks_are_not_listed);
    RUN(test_unreadable_arrays_are_listed_last);
    RUN(test_one_dimensional_arrays_are_listed_when_nothing_else_is_there);
    RUN(test_a_remote_store_is_not_searched);
    RUN(test_huge_groups_list_only_arrays_that_are_no_coordinates);
    return check_result();
}
