/* Many threads read one store through GDAL: one dataset where GDAL has thread-safe ones (3.10), else a dataset for each
 * thread, which share what the process keeps. Run under ThreadSanitizer in CI. */
#include <cpl_conv.h>
#include <cpl_vsi.h>
#include <gdal.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define CHECK_OWN_MAIN
#include "check.h"

#define SIDE 300
#define BANDS 3
#define THREADS 6
#define WINDOWS 60

void GDALRegister_ShardedZarr(void);
void GDALRegister_MEM(void);

static char store[200];

static GUInt16 pixel(int band, int y, int x)
{
    return (GUInt16)(band * 20000 + (y * 31 + x * 7) % 19999);
}

static void make_store(void)
{
    static const char *const options[] = {"CHUNK_SHAPE=32", "SHARD_SHAPE=128",    "COMPRESS=GZIP",
                                          "OVERVIEWS=2,4",  "RESAMPLING=NEAREST", NULL};
    GDALDatasetH source = GDALCreate(GDALGetDriverByName("MEM"), "", SIDE, SIDE, BANDS, GDT_UInt16, NULL);
    double transform[6] = {500000, 10, 0, 4000000, 0, -10};
    CHECK(GDALSetGeoTransform(source, transform) == CE_None);
    GUInt16 *pixels = malloc(sizeof *pixels * SIDE * SIDE);
    for (int b = 1; b <= BANDS; b++) {
        for (int i = 0; i < SIDE * SIDE; i++)
            pixels[i] = pixel(b, i / SIDE, i % SIDE);
        CHECK(GDALRasterIO(GDALGetRasterBand(source, b), GF_Write, 0, 0, SIDE, SIDE, pixels, SIDE, SIDE, GDT_UInt16, 0,
                           0) == CE_None);
    }
    free(pixels);
    GDALDatasetH ds = GDALCreateCopy(GDALGetDriverByName("ShardedZarr"), store, source, FALSE,
                                     (char **)(uintptr_t)options, NULL, NULL);
    CHECK(ds != NULL);
    GDALClose(ds);
    GDALClose(source);
}

static GDALDatasetH open_store(unsigned flags)
{
    static const char *const options[] = {"NUM_THREADS=3", "CACHE_SIZE=0.2", NULL};
    return GDALOpenEx(store, GDAL_OF_RASTER | flags, NULL, options, NULL);
}

struct reader {
    GDALDatasetH shared; /* NULL: it opens its own */
    unsigned seed;
};

static int below(struct reader *r, int n)
{
    r->seed = r->seed * 1664525u + 1013904223u;
    return (int)((r->seed >> 8) % (unsigned)n);
}

static void read_window(struct reader *r, GDALDatasetH ds)
{
    const int band = 1 + below(r, BANDS), level = below(r, 3), step = 1 << level, side = (SIDE + step - 1) / step;
    GDALRasterBandH h = GDALGetRasterBand(ds, band);
    if (level > 0)
        h = GDALGetOverview(h, level - 1);
    const int x = below(r, side - 40), y = below(r, side - 40), width = 1 + below(r, 40), height = 1 + below(r, 40);
    GUInt16 out[40 * 40];
    if (!CHECK(h != NULL) ||
        !CHECK(GDALRasterIO(h, GF_Read, x, y, width, height, out, width, height, GDT_UInt16, 0, 0) == CE_None))
        return;
    if (level == 0)
        for (int i = 0; i < width * height; i++)
            if (!CHECK_EQ_U64(out[i], pixel(band, y + i / width, x + i % width)))
                return;
}

static void *run_reader(void *arg)
{
    struct reader *r = arg;
    GDALDatasetH ds = r->shared != NULL ? r->shared : open_store(0);
    if (!CHECK(ds != NULL))
        return NULL;
    double transform[6];
    for (int i = 0; i < WINDOWS; i++) {
        read_window(r, ds);
        CHECK(GDALGetGeoTransform(ds, transform) == CE_None && transform[1] == 10);
        (void)GDALGetMetadata(GDALGetRasterBand(ds, 1), NULL);
    }
    if (r->shared == NULL)
        GDALClose(ds);
    return NULL;
}

static void read_from_threads(GDALDatasetH shared)
{
    pthread_t threads[THREADS];
    struct reader readers[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        readers[i] = (struct reader){shared, i + 1};
        CHECK(pthread_create(&threads[i], NULL, run_reader, &readers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

TEST(test_datasets_of_several_threads_read_right)
{
    read_from_threads(NULL);
}

TEST(test_a_thread_safe_dataset_reads_right)
{
#if GDAL_VERSION_NUM >= GDAL_COMPUTE_VERSION(3, 10, 0)
    GDALDatasetH ds = open_store(GDAL_OF_THREAD_SAFE);
    if (CHECK(ds != NULL))
        read_from_threads(ds);
    GDALClose(ds);
#endif
}

int main(void)
{
    GDALRegister_ShardedZarr();
    GDALRegister_MEM();
    CPLSetConfigOption("GDAL_PAM_ENABLED", "NO");
    (void)snprintf(store, sizeof store, "/tmp/shardedzarr_threads_%ld.zarr", (long)getpid());
    make_store();
    check_all();
    CHECK(VSIRmdirRecursive(store) == 0);
    return check_result();
}
