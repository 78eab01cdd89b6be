/* The plugin as GDAL uses it, while memory or files fail: the n-th call, for every n. It says so (or did without),
 * crashes nowhere, leaks nothing (LeakSanitizer), and what was there before is there, or what was asked for is,
 * whole. */
#include <cpl_conv.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <gdal.h>
#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK_OWN_MAIN
#include "check.h"
#include "faults.h"
#include "icechunk_make.h"

#define ROOT "/vsimem/faults"
#define STORE ROOT "/a.zarr"
#define NAME "SHARDEDZARR:\"" STORE "\""
#define SIDE 24
#define BANDS 2
/* Every 31st call fails in turn: a minute. FAULTS_STEP=1 makes every call fail: ten minutes, or one case of its name,
 * FAULTS_CASE. */
static long step = 31;
/* By far the longest of all tests is that of two processes, which take cases in turn. */
#define PROCESSES 2
static int process, case_count;
/* More calls than any case below makes. */
#define MOST_CALLS 20000

void GDALRegister_ShardedZarr(void);
void GDALRegister_MEM(void);

static const char *const options[] = {"CHUNK_SHAPE=4", "SHARD_SHAPE=8", "COMPRESS=GZIP",
                                      "NUM_THREADS=1", "OVERVIEWS=2,4", NULL};
static const char *const plain_options[] = {"CHUNK_SHAPE=4", "SHARD_SHAPE=8",  "COMPRESS=GZIP",
                                            "NUM_THREADS=1", "OVERVIEWS=NONE", NULL};
static const char *const append_options[] = {
    "CHUNK_SHAPE=4", "SHARD_SHAPE=8",         "COMPRESS=GZIP",   "NUM_THREADS=1",
    "OVERVIEWS=2",   "APPEND_SUBDATASET=YES", "ARRAY_NAME=more", NULL};

/* ---- Rasters: each is told from its pixels ---- */

static GDALDatasetH source_of(int first)
{
    GDALDatasetH ds = GDALCreate(GDALGetDriverByName("MEM"), "", SIDE, SIDE, BANDS, GDT_UInt16, NULL);
    double transform[6] = {500000, 10, 0, 4000000, 0, -10};
    GUInt16 pixels[SIDE * SIDE];
    CHECK(GDALSetGeoTransform(ds, transform) == CE_None);
    CHECK(GDALSetProjection(ds, "LOCAL_CS[\"x\",UNIT[\"m\",1]]") == CE_None);
    for (int b = 1; b <= BANDS; b++) {
        for (int i = 0; i < SIDE * SIDE; i++)
            pixels[i] = (GUInt16)(1000 * first + 100 * b + i % 90);
        CHECK(GDALRasterIO(GDALGetRasterBand(ds, b), GF_Write, 0, 0, SIDE, SIDE, pixels, SIDE, SIDE, GDT_UInt16, 0,
                           0) == CE_None);
    }
    return ds;
}

static GDALDatasetH open_quietly(const char *name, unsigned flags)
{
    static const char *const drivers[] = {"ShardedZarr", NULL};
    static const char *const one_thread[] = {"NUM_THREADS=1", NULL};
    CPLErrorReset();
    return GDALOpenEx(name, GDAL_OF_RASTER | GDAL_OF_VERBOSE_ERROR | flags, drivers, one_thread, NULL);
}

/* `first` of the raster, 0 when it cannot be opened or read, -1 when its pixels are of none, or of two. */
static int which(const char *name)
{
    GDALDatasetH ds = open_quietly(name, 0);
    GUInt16 pixels[SIDE * SIDE];
    int found = 0;
    if (ds != NULL && GDALGetRasterXSize(ds) == SIDE && GDALGetRasterCount(ds) == BANDS)
        for (int b = 1; b <= BANDS; b++) {
            if (GDALRasterIO(GDALGetRasterBand(ds, b), GF_Read, 0, 0, SIDE, SIDE, pixels, SIDE, SIDE, GDT_UInt16, 0,
                             0) != CE_None) {
                found = 0;
                break;
            }
            const int first = pixels[0] / 1000;
            found = b == 1 || found == first ? first : -1;
            for (int i = 0; i < SIDE * SIDE; i++)
                if (pixels[i] != 1000 * first + 100 * b + i % 90)
                    found = -1;
            if (found == -1)
                break;
        }
    if (ds != NULL)
        GDALClose(ds);
    return found;
}

static int overview_count(const char *name)
{
    GDALDatasetH ds = open_quietly(name, 0);
    const int n = ds != NULL && GDALGetRasterCount(ds) > 0 ? GDALGetOverviewCount(GDALGetRasterBand(ds, 1)) : -1;
    if (ds != NULL)
        GDALClose(ds);
    return n;
}

static bool copy_to(const char *name, int first, const char *const *list)
{
    GDALDatasetH source = source_of(first);
    CPLErrorReset();
    GDALDatasetH ds =
        GDALCreateCopy(GDALGetDriverByName("ShardedZarr"), name, source, FALSE, (char **)(uintptr_t)list, NULL, NULL);
    if (ds != NULL)
        GDALClose(ds);
    GDALClose(source);
    return ds != NULL;
}

/* ---- What is done while calls fail. Each says whether it succeeded, as far as its user can tell. ---- */

static bool no_error(void)
{
    return CPLGetLastErrorType() != CE_Failure && CPLGetLastErrorType() != CE_Fatal;
}

static bool do_read(void)
{
    GDALDatasetH ds = open_quietly(NAME, 0);
    GUInt16 pixels[SIDE * SIDE];
    double transform[6];
    bool ok = ds != NULL && GDALGetRasterCount(ds) == BANDS;
    if (ds != NULL) {
        (void)GDALGetGeoTransform(ds, transform);
        (void)GDALGetProjectionRef(ds);
        char **domains = GDALGetMetadataDomainList(ds);
        CSLDestroy(domains);
        (void)GDALGetMetadata(ds, NULL);
    }
    for (int b = 1; ok && b <= BANDS; b++) {
        GDALRasterBandH band = GDALGetRasterBand(ds, b);
        (void)GDALGetDescription(band);
        (void)GDALGetMetadata(band, NULL);
        (void)GDALGetOverviewCount(band);
        ok = GDALRasterIO(band, GF_Read, 0, 0, SIDE, SIDE, pixels, SIDE, SIDE, GDT_UInt16, 0, 0) == CE_None;
        for (int i = 0; ok && i < SIDE * SIDE; i++)
            if (!CHECK(pixels[i] == 1000 + 100 * b + i % 90)) /* never nodata */
                break;
    }
    if (ds != NULL)
        GDALClose(ds);
    return ok;
}

static bool do_copy(void)
{
    return copy_to(STORE, 2, options);
}

static bool do_append(void)
{
    return copy_to(STORE, 2, append_options);
}

static bool is_half_made; /* the array may be there, and who made it gave up before its pixels */

/* Raster 2 as an array of three dimensions. */
static bool write_array(GDALGroupH root)
{
    static const char *const names[] = {"band", "y", "x"}, *const list[] = {"CHUNK_SHAPE=1,4,4", "COMPRESS=GZIP", NULL};
    const GUInt64 sizes[] = {BANDS, SIDE, SIDE}, start[] = {0, 0, 0};
    const size_t count[] = {BANDS, SIDE, SIDE};
    static GUInt16 pixels[BANDS * SIDE * SIDE];
    for (int i = 0; i < BANDS * SIDE * SIDE; i++)
        pixels[i] = (GUInt16)(2000 + 100 * (1 + i / (SIDE * SIDE)) + i % (SIDE * SIDE) % 90);
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreate(GDT_UInt16);
    GDALDimensionH dims[3] = {NULL};
    bool ok = true;
    for (int d = 0; d < 3 && ok; d++)
        ok = (dims[d] = GDALGroupCreateDimension(root, names[d], NULL, NULL, sizes[d], NULL)) != NULL;
    GDALMDArrayH array =
        ok ? GDALGroupCreateMDArray(root, "a", 3, dims, type, (char **)(uintptr_t)list) : NULL;
    is_half_made = ok && (array == NULL || !GDALMDArraySetUnit(array, "m"));
    ok = array != NULL && !is_half_made &&
         GDALMDArrayWrite(array, start, count, NULL, NULL, type, pixels, NULL, 0);
    GDALAttributeH note = ok ? GDALGroupCreateAttribute(root, "note", 0, NULL, type, NULL) : NULL;
    ok = note != NULL && GDALAttributeWriteInt(note, 7);
    if (note != NULL)
        GDALAttributeRelease(note);
    if (array != NULL)
        GDALMDArrayRelease(array);
    for (int d = 0; d < 3; d++)
        if (dims[d] != NULL)
            GDALDimensionRelease(dims[d]);
    GDALExtendedDataTypeRelease(type);
    return ok;
}

static bool do_make_array(void)
{
    static const char *const list[] = {"OVERWRITE=YES", "NUM_THREADS=1", NULL};
    CPLErrorReset();
    is_half_made = false;
    GDALDatasetH ds = GDALCreateMultiDimensional(GDALGetDriverByName("ShardedZarr"), STORE, NULL,
                                                 (char **)(uintptr_t)list);
    if (ds == NULL)
        return false;
    GDALGroupH root = GDALDatasetGetRootGroup(ds);
    const bool ok = root != NULL && write_array(root);
    if (root != NULL)
        GDALGroupRelease(root);
    GDALClose(ds);
    return ok && no_error();
}

/* Writes all pixels of raster `first` to an opened one. */
static bool fill(GDALDatasetH ds, int first)
{
    GDALDatasetH new_pixels = source_of(first);
    GUInt16 pixels[SIDE * SIDE];
    bool ok = GDALSetMetadataItem(ds, "note", "changed", NULL) == CE_None;
    for (int b = 1; b <= BANDS; b++)
        ok = GDALRasterIO(GDALGetRasterBand(new_pixels, b), GF_Read, 0, 0, SIDE, SIDE, pixels, SIDE, SIDE, GDT_UInt16,
                          0, 0) == CE_None &&
             GDALRasterIO(GDALGetRasterBand(ds, b), GF_Write, 0, 0, SIDE, SIDE, pixels, SIDE, SIDE, GDT_UInt16, 0, 0) ==
                 CE_None &&
             ok;
    GDALClose(new_pixels);
    return ok;
}

static bool do_update(void)
{
    GDALDatasetH ds = open_quietly(NAME, GDAL_OF_UPDATE);
    if (ds == NULL)
        return false;
    bool ok = fill(ds, 3);
    (void)GDALFlushCache(ds);
    ok = no_error() && ok;
    GDALClose(ds);
    return no_error() && ok;
}

/* Overviews are made when it is closed. */
static bool do_create(void)
{
    CPLErrorReset();
    GDALDatasetH ds = GDALCreate(GDALGetDriverByName("ShardedZarr"), STORE, SIDE, SIDE, BANDS, GDT_UInt16,
                                 (char **)(uintptr_t)options);
    if (ds == NULL)
        return false;
    const bool ok = fill(ds, 2);
    GDALClose(ds);
    return no_error() && ok;
}

static bool do_overviews(void)
{
    GDALDatasetH ds = open_quietly(NAME, GDAL_OF_UPDATE);
    if (ds == NULL)
        return false;
    const int factors[] = {2, 4};
    bool ok = GDALBuildOverviews(ds, "AVERAGE", 2, (int *)(uintptr_t)factors, 0, NULL, NULL, NULL) == CE_None;
    GDALClose(ds);
    return no_error() && ok;
}

/* ---- Every n ---- */

static void clear(void)
{
    (void)VSIRmdirRecursive(ROOT);
}

struct fault_case {
    const char *name;
    const char *const *before; /* options of the raster 1 that is there before; NULL: nothing is */
    bool (*act)(void);
    void (*check)(long n, bool ok);
};

static void check_same(long n, bool ok)
{
    (void)n, (void)ok;
    CHECK_EQ_I64(which(NAME), 1);
}

/* Whether the new store stands aside, whole: in memory the old one goes before the new one is copied to its path. */
static bool is_aside(void)
{
    char **names = VSIReadDir(ROOT);
    bool found = false;
    for (int i = 0; names != NULL && names[i] != NULL; i++) {
        char name[300];
        (void)snprintf(name, sizeof name, "SHARDEDZARR:\"" ROOT "/%s\"", names[i]);
        found = found || (strncmp(names[i], ".a.zarr.", 8) == 0 && which(name) == 2);
    }
    CSLDestroy(names);
    return found;
}

/* Done: the new one is there. Said to have failed: the old one, or already the new one, whole in either case. */
static void check_replaced(long n, bool ok)
{
    const int found = which(NAME), count = overview_count(NAME);
    if (!ok && found == 0 && CHECK(is_aside()))
        return;
    if (!CHECK((found == 2 || (!ok && found == 1)) && count == 2))
        fprintf(stderr, "call %ld: %s, found %d with %d overviews\n", n, ok ? "done" : "failed", found, count);
}

/* The same where what is made has no overviews. A store without the array, which could not be made, is whole, too: who
 * made it was told, and closed it all the same. */
static void check_made(long n, bool ok)
{
    const int found = which(NAME);
    if (!CHECK(found == 2 || (!ok && (found == 1 || found == 0 || is_half_made))))
        fprintf(stderr, "call %ld: %s, found %d\n", n, ok ? "done" : "failed", found);
}

static void check_new(long n, bool ok)
{
    const int found = which(NAME);
    if (!CHECK(found == 2 || (!ok && found == 0)))
        fprintf(stderr, "call %ld: %s, found %d\n", n, ok ? "done" : "failed", found);
}

static void check_appended(long n, bool ok)
{
    const int base = which(NAME ":/a"), more = which(NAME ":/more/more");
    if (!CHECK(base == 1) || !CHECK(more == 2 || (!ok && more == 0)))
        fprintf(stderr, "call %ld: %s, found %d and %d\n", n, ok ? "done" : "failed", base, more);
}

/* Pixels of each chunk are old or new, and those of overviews can be read. */
static void check_updated(long n, bool ok)
{
    if (ok) {
        CHECK_EQ_I64(which(NAME), 3);
        return;
    }
    GDALDatasetH ds = open_quietly(NAME, 0);
    GUInt16 pixels[SIDE * SIDE];
    if (!CHECK(ds != NULL)) {
        fprintf(stderr, "call %ld: %s\n", n, CPLGetLastErrorMsg());
        return;
    }
    for (int b = 1; b <= BANDS; b++) {
        if (!CHECK(GDALRasterIO(GDALGetRasterBand(ds, b), GF_Read, 0, 0, SIDE, SIDE, pixels, SIDE, SIDE, GDT_UInt16, 0,
                                0) == CE_None))
            break;
        for (int i = 0; i < SIDE * SIDE; i++)
            if (!CHECK(pixels[i] == 1000 + 100 * b + i % 90 || pixels[i] == 3000 + 100 * b + i % 90))
                break;
    }
    GDALClose(ds);
}

/* Done: the new one is there with its overviews. Else the old one, or the new one without what could not be written, or
 * without overviews. */
static void check_created(long n, bool ok)
{
    const int found = which(NAME), count = overview_count(NAME);
    if (!ok && found == 0 && count == -1 && CHECK(is_aside()))
        return;
    if (!CHECK(ok ? found == 2 && count == 2 : count == 0 || count == 2) || !CHECK(ok || found != 1 || count == 2))
        fprintf(stderr, "call %ld: %s, found %d with %d overviews\n", n, ok ? "done" : "failed", found, count);
}

static void check_overviews(long n, bool ok)
{
    CHECK_EQ_I64(which(NAME), 1);
    GDALDatasetH ds = open_quietly(NAME, 0);
    if (!CHECK(ds != NULL))
        return;
    GDALRasterBandH band = GDALGetRasterBand(ds, 1);
    const int count = GDALGetOverviewCount(band);
    if (!CHECK(!ok || count == 2))
        fprintf(stderr, "call %ld: %d overviews\n", n, count);
    for (int i = 0; i < count; i++) { /* those that are listed are whole: no nodata */
        GDALRasterBandH overview = GDALGetOverview(band, i);
        const int side = GDALGetRasterBandXSize(overview);
        GUInt16 pixels[SIDE * SIDE];
        if (!CHECK(GDALRasterIO(overview, GF_Read, 0, 0, side, side, pixels, side, side, GDT_UInt16, 0, 0) == CE_None))
            break;
        for (int k = 0; k < side * side; k++)
            if (!CHECK(pixels[k] >= 1100 && pixels[k] < 1200)) {
                fprintf(stderr, "call %ld: overview %d has %d\n", n, i, pixels[k]);
                break;
            }
    }
    GDALClose(ds);
}

/* ---- Icechunk repositories ---- */

#define REPOSITORY "/vsimem/faults.icechunk"

static void put_file(const char *key, const void *data, size_t n)
{
    GByte *copy = CPLMalloc(n);
    memcpy(copy, data, n);
    VSILFILE *file = VSIFileFromMemBuffer(CPLSPrintf("%s/%s", REPOSITORY, key), copy, n, TRUE);
    CHECK(file != NULL && VSIFCloseL(file) == 0);
}

static void put_repository(void)
{
    struct flat f;
    ice_make_repo(&f);
    put_file(ice_keys[ICE_REPO], f.data, f.size);
    ice_make_snapshot(&f);
    put_file(ice_keys[ICE_SNAPSHOT], f.data, f.size);
    ice_make_manifest(&f);
    put_file(ice_keys[ICE_MANIFEST], f.data, f.size);
    put_file("chunks/00000000000000000000", ice_chunk, sizeof ice_chunk);
}

static bool do_read_repository(void)
{
    unsigned char values[12] = {0};
    GDALDatasetH ds = open_quietly("SHARDEDZARR:" REPOSITORY "?tag=v1:/t2m", 0);
    const bool ok = ds != NULL && GDALRasterIO(GDALGetRasterBand(ds, 1), GF_Read, 0, 0, 12, 1, values, 12, 1, GDT_Byte,
                                               0, 0) == CE_None;
    CHECK(!ok || memcmp(values, ice_values, sizeof values) == 0); /* an object that fails is no fill value */
    if (ds != NULL)
        GDALClose(ds);
    return ok;
}

static void check_nothing(long n, bool ok)
{
    (void)n, (void)ok;
}

static const struct fault_case cases[] = {
    {"reading", options, do_read, check_same},
    {"reading a repository", NULL, do_read_repository, check_nothing},
    {"a copy to a new place", NULL, do_copy, check_new},
    {"a copy over a store", options, do_copy, check_replaced},
    {"appending", plain_options, do_append, check_appended},
    {"updating", plain_options, do_update, check_updated},
    {"creating over a store", options, do_create, check_created},
    {"making an array", NULL, do_make_array, check_made},
    {"making an array over a store", options, do_make_array, check_made},
    {"making overviews", plain_options, do_overviews, check_overviews},
    {"making overviews anew", options, do_overviews, check_overviews},
};
enum { CASES = sizeof cases / sizeof cases[0] };

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
static int leaks(void) { return __lsan_do_recoverable_leak_check(); }
#else
static int leaks(void) { return 0; }
#endif

static void run_case(const struct fault_case *c, enum fault_kind kind, int on)
{
    const char *only = getenv("FAULTS_CASE");
    if (case_count++ % PROCESSES != process || (only != NULL && strcmp(only, c->name) != 0))
        return;
    const int failures = check_failures;
    bool reached = true;
    long n = 0;
    for (n = 1; reached && n < MOST_CALLS; n += step) {
        clear();
        CHECK(c->before == NULL || copy_to(STORE, 1, c->before));
        faults_begin(kind, n, on);
        const bool ok = c->act();
        reached = faults_end() >= n;
        if (!ok && !CHECK(!no_error())) /* every failure says why */
            fprintf(stderr, "call %ld: no error\n", n);
        if (!CHECK(reached || ok))
            fprintf(stderr, "call %ld: nothing failed, and yet: %s\n", n, CPLGetLastErrorMsg());
        c->check(n, ok);
        if (check_failures > failures + 20)
            break;
    }
    if (check_failures > failures)
        fprintf(stderr, "... in %s, kind %d%s, up to call %ld\n", c->name, kind, on ? " and all after it" : "", n);
    clear();
    if (!CHECK(leaks() == 0))
        fprintf(stderr, "... leaked in %s, kind %d%s\n", c->name, kind, on ? " and all after it" : "");
}

TEST(test_failing_file_operations_lose_nothing)
{
    for (int i = 0; i < CASES; i++)
        for (int on = 0; on < 2; on++)
            run_case(&cases[i], FAULT_FILES, on);
}

TEST(test_failing_allocations_lose_nothing)
{
    for (int i = 0; i < CASES; i++)
        run_case(&cases[i], FAULT_MEMORY, 0);
}

int main(void)
{
    GDALRegister_ShardedZarr();
    GDALRegister_MEM();
    CPLSetErrorHandler(CPLQuietErrorHandler);
    CPLSetConfigOption("GDAL_PAM_ENABLED", "NO");
    CPLSetConfigOption("GDAL_NUM_THREADS", "1");
    if (getenv("FAULTS_STEP") != NULL)
        step = strtol(getenv("FAULTS_STEP"), NULL, 10);
    const pid_t other = fork();
    CHECK(other >= 0);
    process = other == 0 ? 0 : 1;
    put_repository();
    check_all();
    int status = 0;
    CHECK(other == 0 || (waitpid(other, &status, 0) == other && status == 0));
    return check_result();
}
