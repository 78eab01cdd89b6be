/* A store of anyone's, opened as users open it: GDALOpenEx() on a tree in /vsimem/, then all that can be asked of a
 * dataset, then changed: georeference, metadata, pixels, overviews made and removed. Whatever is in it, nothing outside
 * of it may change, and a pixel that was written is read. */
#include <cpl_conv.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <gdal.h>
#include <ogr_srs_api.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tree.h"

#define OUTSIDE "/vsimem/fuzz"
#define STORE OUTSIDE "/s.zarr"
#define BAIT                                                                                                       \
    "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[4,4],\"data_type\":\"uint8\",\"fill_value\":0,\"codecs\":" \
    "[\"bytes\"],\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[4,4]}},"                 \
    "\"chunk_key_encoding\":\"default\"}"
/* Rasters up to this many pixels are read whole and changed. */
#define FEW_PIXELS 250000.0

void GDALRegister_ShardedZarr(void);

/* ---- The tree, and what lies beside it ---- */

static const struct {
    const char *path, *text;
} baits[] = {
    {OUTSIDE "/zarr.json", BAIT}, /* an array: the store would be part of a group there */
    {OUTSIDE "/bait/zarr.json", BAIT},
    {OUTSIDE "/bait/c/0/0", "0123456789abcdef"},
    {OUTSIDE "/ovr_2x/zarr.json", "{\"zarr_format\":3,\"node_type\":\"group\"}"},
};
enum { BAITS = sizeof baits / sizeof baits[0] };

static void put(const char *path, const void *data, size_t size)
{
    GByte *copy = CPLMalloc(size > 0 ? size : 1);
    if (size > 0)
        memcpy(copy, data, size);
    VSILFILE *file = VSIFileFromMemBuffer(path, copy, size, TRUE);
    if (file != NULL)
        VSIFCloseL(file);
}

static void check_baits(void)
{
    for (int i = 0; i < BAITS; i++) {
        vsi_l_offset size = 0;
        const GByte *data = VSIGetMemFileBuffer(baits[i].path, &size, FALSE);
        if (data == NULL || size != strlen(baits[i].text) || memcmp(data, baits[i].text, (size_t)size) != 0)
            abort(); /* changed outside of the store */
    }
    char **names = VSIReadDirRecursive(OUTSIDE);
    for (int i = 0; names != NULL && names[i] != NULL; i++) {
        bool known = strncmp(names[i], "s.zarr", 6) == 0 || strcmp(names[i], "bait/") == 0 ||
                     strcmp(names[i], "bait/c/") == 0 || strcmp(names[i], "bait/c/0/") == 0 ||
                     strcmp(names[i], "ovr_2x/") == 0;
        for (int k = 0; k < BAITS; k++)
            known = known || strcmp(names[i], baits[k].path + strlen(OUTSIDE "/")) == 0;
        if (!known)
            abort(); /* made outside of the store */
    }
    CSLDestroy(names);
}

static void build(const struct tree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        put(CPLSPrintf(STORE "/%s", tree->files[i].path), tree->files[i].data, tree->files[i].size);
    for (int i = 0; i < BAITS; i++)
        put(baits[i].path, baits[i].text, strlen(baits[i].text));
}

/* ---- Asking ---- */

static bool is_small(GDALDatasetH ds)
{
    return (double)GDALGetRasterXSize(ds) * GDALGetRasterYSize(ds) * GDALGetRasterCount(ds) <= FEW_PIXELS;
}

static void ask_metadata(GDALMajorObjectH object)
{
    char **domains = GDALGetMetadataDomainList(object);
    for (int i = 0; domains != NULL && domains[i] != NULL; i++)
        (void)GDALGetMetadata(object, domains[i]);
    CSLDestroy(domains);
    (void)GDALGetMetadata(object, NULL);
    (void)GDALGetDescription(object);
}

static void read_corners(GDALRasterBandH band)
{
    const int width = GDALGetRasterBandXSize(band), height = GDALGetRasterBandYSize(band);
    double pixel[2];
    for (int corner = 0; corner < 4; corner++)
        (void)!GDALRasterIO(band, GF_Read, corner % 2 ? width - 1 : 0, corner / 2 ? height - 1 : 0, 1, 1, pixel, 1, 1,
                            GDT_CFloat64, 0, 0);
}

static void ask_band(GDALRasterBandH band)
{
    int has, x, y;
    ask_metadata(band);
    (void)GDALGetRasterNoDataValue(band, &has);
    (void)GDALGetRasterScale(band, &has);
    (void)GDALGetRasterOffset(band, &has);
    (void)GDALGetRasterUnitType(band);
    (void)GDALGetRasterCategoryNames(band);
    (void)GDALGetRasterColorTable(band);
    (void)GDALGetRasterColorInterpretation(band);
    GDALGetBlockSize(band, &x, &y);
    if (x <= 0 || y <= 0)
        abort();
    read_corners(band);
    const int overviews = GDALGetOverviewCount(band);
    for (int i = 0; i < overviews && i < 4; i++)
        if (GDALGetOverview(band, i) != NULL)
            read_corners(GDALGetOverview(band, i));
}

static void ask_dataset(GDALDatasetH ds)
{
    double transform[6];
    ask_metadata(ds);
    (void)GDALGetGeoTransform(ds, transform);
    (void)GDALGetSpatialRef(ds);
    CSLDestroy(GDALGetFileList(ds));
    const int bands = GDALGetRasterCount(ds);
    for (int b = 1; b <= bands && b <= 3; b++)
        ask_band(GDALGetRasterBand(ds, b));
    if (bands > 3)
        ask_band(GDALGetRasterBand(ds, bands));
    if (bands > 0 && is_small(ds)) {
        double picture[16 * 16];
        const int width = GDALGetRasterXSize(ds), height = GDALGetRasterYSize(ds);
        (void)!GDALDatasetRasterIO(ds, GF_Read, 0, 0, width, height, picture, width < 16 ? width : 16,
                                   height < 16 ? height : 16, GDT_Float64, 1, NULL, 0, 0, 0);
    }
}

static GDALDatasetH open_as(const char *name, unsigned flags)
{
    static const char *const drivers[] = {"ShardedZarr", NULL};
    static const char *const options[] = {"NUM_THREADS=1", "CACHE_SIZE=16", NULL};
    CPLErrorReset();
    GDALDatasetH ds = GDALOpenEx(name, flags | GDAL_OF_RASTER | GDAL_OF_VERBOSE_ERROR, drivers, options, NULL);
    if (ds == NULL && CPLGetLastErrorType() == CE_None)
        abort(); /* every failure says why */
    return ds;
}

/* ---- The multidimensional face ---- */

static void ask_attributes(GDALAttributeH *attributes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        (void)GDALAttributeReadAsString(attributes[i]);
        CSLDestroy(GDALAttributeReadAsStringArray(attributes[i]));
    }
    GDALReleaseAttributes(attributes, count);
}

/* Single elements in the corners, and every other of a few. */
static void read_elements(GDALMDArrayH array, GDALDimensionH *dimensions, size_t count)
{
    GUInt64 first[32] = {0}, last[32] = {0};
    size_t one[32], few[32], total = 1;
    GInt64 back[32];
    for (size_t d = 0; d < count; d++) {
        const GUInt64 size = GDALDimensionGetSize(dimensions[d]);
        if (size == 0)
            return;
        last[d] = size - 1;
        one[d] = 1;
        few[d] = size > 3 && total < 1000 ? 2 : 1;
        back[d] = few[d] > 1 ? -2 : 1;
        total *= few[d];
    }
    GDALExtendedDataTypeH type = GDALMDArrayGetDataType(array);
    const size_t size = GDALExtendedDataTypeGetSize(type);
    void *data = CPLCalloc(total, size);
    (void)GDALMDArrayRead(array, first, one, NULL, NULL, type, data, data, total * size);
    if (GDALExtendedDataTypeGetClass(type) == GEDTC_STRING)
        CPLFree(*(char **)data);
    memset(data, 0, total * size);
    (void)GDALMDArrayRead(array, last, few, back, NULL, type, data, data, total * size);
    for (size_t i = 0; i < total && GDALExtendedDataTypeGetClass(type) == GEDTC_STRING; i++)
        CPLFree(((char **)data)[i]);
    CPLFree(data);
    GDALExtendedDataTypeRelease(type);
}

static void ask_array(GDALMDArrayH array)
{
    size_t count = 0;
    int has;
    OGRSpatialReferenceH srs = GDALMDArrayGetSpatialRef(array);
    if (srs != NULL)
        OSRRelease(srs);
    (void)GDALMDArrayGetScale(array, &has);
    (void)GDALMDArrayGetNoDataValueAsDouble(array, &has);
    (void)GDALMDArrayGetStructuralInfo(array);
    CPLFree(GDALMDArrayGetBlockSize(array, &count));
    GDALAttributeH *attributes = GDALMDArrayGetAttributes(array, &count, NULL);
    ask_attributes(attributes, count);
    GDALMDArrayH *coordinates = GDALMDArrayGetCoordinateVariables(array, &count);
    GDALReleaseArrays(coordinates, count);
    GDALDimensionH *dimensions = GDALMDArrayGetDimensions(array, &count);
    for (size_t d = 0; d < count; d++) {
        GDALMDArrayH variable = GDALDimensionGetIndexingVariable(dimensions[d]);
        if (variable != NULL)
            GDALMDArrayRelease(variable);
    }
    if (count <= 32)
        read_elements(array, dimensions, count);
    GDALReleaseDimensions(dimensions, count);
}

static void ask_group(GDALGroupH group, int depth)
{
    size_t count = 0;
    GDALAttributeH *attributes = GDALGroupGetAttributes(group, &count, NULL);
    ask_attributes(attributes, count);
    GDALDimensionH *dimensions = GDALGroupGetDimensions(group, &count, NULL);
    GDALReleaseDimensions(dimensions, count);
    char **names = GDALGroupGetMDArrayNames(group, NULL);
    for (int i = 0; names != NULL && names[i] != NULL && i < 16; i++) {
        CPLErrorReset();
        GDALMDArrayH array = GDALGroupOpenMDArray(group, names[i], NULL);
        if (array == NULL && CPLGetLastErrorType() == CE_None)
            abort(); /* what is listed opens, or says why not */
        if (array != NULL)
            ask_array(array);
        if (array != NULL)
            GDALMDArrayRelease(array);
    }
    CSLDestroy(names);
    names = GDALGroupGetGroupNames(group, NULL);
    for (int i = 0; names != NULL && names[i] != NULL && i < 8 && depth < 3; i++) {
        GDALGroupH below = GDALGroupOpenGroup(group, names[i], NULL);
        if (below == NULL)
            abort(); /* what is listed is there */
        ask_group(below, depth + 1);
        GDALGroupRelease(below);
    }
    CSLDestroy(names);
}

static void ask_multidimensional(const char *name)
{
    static const char *const drivers[] = {"ShardedZarr", NULL};
    static const char *const options[] = {"NUM_THREADS=1", "CACHE_SIZE=16", NULL};
    CPLErrorReset();
    GDALDatasetH ds = GDALOpenEx(name, GDAL_OF_MULTIDIM_RASTER | GDAL_OF_VERBOSE_ERROR, drivers, options, NULL);
    if (ds == NULL && CPLGetLastErrorType() == CE_None)
        abort();
    GDALGroupH root = ds != NULL ? GDALDatasetGetRootGroup(ds) : NULL;
    if (ds != NULL)
        GDALClose(ds); /* the group outlives it */
    if (root != NULL) {
        ask_group(root, 0);
        GDALGroupRelease(root);
    }
}

/* ---- Changing ---- */

static void change(GDALDatasetH ds)
{
    double transform[6] = {100, 2, 0, 200, 0, -2}, value = 1;
    GDALRasterBandH band = GDALGetRasterBand(ds, 1);
    OGRSpatialReferenceH srs = OSRNewSpatialReference(NULL);
    (void)OSRSetWellKnownGeogCS(srs, "WGS84");
    (void)GDALSetGeoTransform(ds, transform);
    (void)GDALSetSpatialRef(ds, srs);
    (void)GDALSetMetadataItem(ds, "note", "changed", NULL);
    (void)GDALSetDescription(band, "changed");
    OSRDestroySpatialReference(srs);
    const bool wrote = GDALRasterIO(band, GF_Write, 0, 0, 1, 1, &value, 1, 1, GDT_Float64, 0, 0) == CE_None;
    (void)GDALFlushCache(ds);
    if (wrote && CPLGetLastErrorType() != CE_Failure) {
        double found = 0;
        if (GDALRasterIO(band, GF_Read, 0, 0, 1, 1, &found, 1, 1, GDT_Float64, 0, 0) != CE_None || found != value)
            abort();
    }
    int factor = 2;
    if (GDALBuildOverviews(ds, "NEAREST", 1, &factor, 0, NULL, NULL, NULL) == CE_None)
        (void)!GDALBuildOverviews(ds, "NONE", 0, NULL, 0, NULL, NULL, NULL);
}

static void try_subdatasets(GDALDatasetH ds, bool update)
{
    char **list = CSLDuplicate(GDALGetMetadata(ds, "SUBDATASETS"));
    for (int i = 1; i <= 4; i++) {
        const char *name = CSLFetchNameValue(list, CPLSPrintf("SUBDATASET_%d_NAME", i));
        GDALDatasetH sub = name != NULL ? open_as(name, update ? GDAL_OF_UPDATE : 0) : NULL;
        if (sub == NULL)
            continue;
        ask_dataset(sub);
        if (update && GDALGetRasterCount(sub) > 0 && is_small(sub))
            change(sub);
        GDALClose(sub);
    }
    CSLDestroy(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool is_set_up;
    if (!is_set_up) {
        GDALRegister_ShardedZarr();
        CPLSetErrorHandler(CPLQuietErrorHandler);
        CPLSetConfigOption("GDAL_PAM_ENABLED", "NO");
        CPLSetConfigOption("GDAL_NUM_THREADS", "1");
        GDALSetCacheMax(64 << 20);
        is_set_up = true;
    }
    struct tree tree;
    tree_parse(data, size, &tree);
    if (tree.count == 0)
        return 0;
    build(&tree);
    CPLErrorReset();
    GDALDatasetH ds = GDALOpenEx(STORE, GDAL_OF_RASTER, NULL, NULL, NULL); /* as anyone's file: may be declined */
    if (ds != NULL)
        GDALClose(ds);
    ask_multidimensional("SHARDEDZARR:\"" STORE "\"");
    for (int update = 0; update < 2; update++) {
        ds = open_as("SHARDEDZARR:\"" STORE "\"", update ? GDAL_OF_UPDATE : 0);
        if (ds == NULL)
            continue;
        ask_dataset(ds);
        try_subdatasets(ds, update);
        if (update && GDALGetRasterCount(ds) > 0 && is_small(ds))
            change(ds);
        GDALClose(ds);
        check_baits();
    }
    (void)VSIRmdirRecursive(OUTSIDE);
    return 0;
}
