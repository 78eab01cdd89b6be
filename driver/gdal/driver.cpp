/* The one symbol that the plugin exports. */
#include "driver.h"

#include "guard.h"
#include "gdal/create/creation_options.h"

extern "C"
{
#include "store/store.h"
#include "icechunk/icechunk.h"
}

extern "C" CPL_DLL void GDALRegister_ShardedZarr();

#if ZS_GDAL_AT_LEAST(13)
namespace
{
/* GDAL 3.13 deletes the old dataset, directories too, before it asks the driver for a new one: after a failed or
 * refused copy both would be gone. This driver replaces the old store itself, when the new one is complete.
 * GDALDriver::QuietDelete(), which GDAL calls to make room, asks for the driver by Identify() and then twice for the
 * callback; a user's deletion asks once. */
class Driver final : public GDALDriver
{
    static thread_local int s_asked;

    static CPLErr Delete(const char *name)
    {
        const bool makesRoom = s_asked > 1;
        s_asked = 0;
        if (!makesRoom)
            return ZSGuarded<zsDelete>::Call(name);
        CPLDebug("ShardedZarr", "%s stays until what replaces it is complete", name);
        return CE_Failure; // which callers that make room for a new store ignore
    }

  public:
    static int Identify(GDALOpenInfo *info)
    {
        s_asked = 0;
        return ZSGuarded<zsIdentify>::Call(info);
    }
    DeleteCallback GetDeleteCallback() override
    {
        s_asked++;
        return Delete;
    }
};
thread_local int Driver::s_asked = 0;
} // namespace
#endif

/* A source without bands, but with a root group, is copied as that. */
static GDALDataset *createCopy(const char *name, GDALDataset *source, int strict, ZSCreateOptions options,
                               GDALProgressFunc progress, void *progressData)
{
    const bool isMultidim = source->GetRasterCount() == 0 && source->GetRootGroup() != nullptr;
    const auto copy = isMultidim ? zsMdimCopy : zsRasterCopy;
    return copy(name, source, strict != FALSE, options, progress, progressData);
}

static void addCreation(GDALDriver &driver)
{
    driver.SetMetadataItem(GDAL_DMD_CREATIONDATATYPES, "Byte "
#if ZS_GDAL_AT_LEAST(7)
                                                       "Int8 "
#endif
                                                       "UInt16 Int16 UInt32 Int32 UInt64 Int64 "
#if ZS_GDAL_AT_LEAST(11)
                                                       "Float16 "
#endif
                                                       "Float32 Float64 CFloat32 CFloat64");
    driver.SetMetadataItem(GDAL_DMD_CREATIONOPTIONLIST, zsOptionList(ZS_RASTER).c_str());
    driver.pfnCreateCopy = ZSGuarded<createCopy>::Call;
    driver.pfnCreate = ZSGuarded<zsRasterCreate>::Call;
    driver.SetMetadataItem(GDAL_DCAP_CREATE_MULTIDIMENSIONAL, "YES");
    driver.SetMetadataItem(GDAL_DMD_MULTIDIM_DATASET_CREATIONOPTIONLIST, zsOptionList(ZS_DATASET).c_str());
    driver.SetMetadataItem(GDAL_DMD_MULTIDIM_ARRAY_CREATIONOPTIONLIST, zsOptionList(ZS_ARRAY).c_str());
    driver.pfnCreateMultiDimensional = ZSGuarded<zsMdimCreate>::Call;
    driver.pfnDelete = ZSGuarded<zsDelete>::Call;
    driver.pfnRename = ZSGuarded<zsRename>::Call;
    driver.pfnCopyFiles = ZSGuarded<zsCopyFiles>::Call;
}

void GDALRegister_ShardedZarr()
{
    if (!GDAL_CHECK_VERSION("ShardedZarr") || GDALGetDriverByName("ShardedZarr") != nullptr)
        return;
#if ZS_GDAL_AT_LEAST(13)
    auto driver = new Driver();
    driver->pfnIdentify = Driver::Identify;
#else
    auto driver = new GDALDriver();
    driver->pfnIdentify = ZSGuarded<zsIdentify>::Call;
#endif
    driver->SetDescription("ShardedZarr");
    driver->SetMetadataItem(GDAL_DMD_LONGNAME, "Sharded Zarr v3");
    driver->SetMetadataItem("VERSION", ZS_VERSION); // as gdalinfo --format shows those of other drivers' libraries
    driver->SetMetadataItem(GDAL_DCAP_RASTER, "YES");
    driver->SetMetadataItem(GDAL_DCAP_MULTIDIM_RASTER, "YES");
    driver->SetMetadataItem(GDAL_DCAP_VIRTUALIO, "YES");
    driver->SetMetadataItem(GDAL_DMD_EXTENSIONS, "zarr");
    driver->SetMetadataItem(GDAL_DMD_CONNECTION_PREFIX, "SHARDEDZARR:");
    driver->SetMetadataItem(GDAL_DMD_SUBDATASETS, "YES");
#ifdef GDAL_DCAP_CREATE_SUBDATASETS // 3.13 refuses APPEND_SUBDATASET=YES without it
    driver->SetMetadataItem(GDAL_DCAP_CREATE_SUBDATASETS, "YES");
#endif
    driver->SetMetadataItem(GDAL_DMD_OPENOPTIONLIST, zsOptionList(ZS_OPENING).c_str());
    // Items that programs read from GDAL's own driver before they choose one.
    driver->SetMetadataItem("COMPRESSORS", zsCompressors().c_str());
    driver->pfnOpen = ZSGuarded<zsOpen>::Call;
#if ZS_GDAL_AT_LEAST(8)
    driver->pfnGetSubdatasetInfoFunc = ZSGuarded<zsSubdatasetInfo>::Call;
#endif
#ifdef GDAL_DMD_UPDATE_ITEMS // 3.11
    driver->SetMetadataItem(GDAL_DCAP_UPDATE, "YES");
    driver->SetMetadataItem(GDAL_DMD_UPDATE_ITEMS, "GeoTransform SRS GCPs NoData ColorInterpretation RasterValues "
                                                   "DatasetMetadata BandMetadata");
#endif
#if ZS_GDAL_AT_LEAST(13)
    driver->pfnClearCaches = [](GDALDriver *) {
        zs_store_forget_all();
        zs_icechunk_forget_all();
    };
#endif
    addCreation(*driver);
    GetGDALDriverManager()->RegisterDriver(driver);
}
