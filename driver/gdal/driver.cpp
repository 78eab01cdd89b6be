/* The one symbol that the plugin exports. */
#include "command.h"
#include "create.h"
#include "guard.h"
#include "open.h"

extern "C" CPL_DLL void GDALRegister_ShardedZarr();

static const char OPEN_OPTIONS[] =
    "<OpenOptionList>"
    "  <Option name='USE_CONSOLIDATED_METADATA' type='boolean' default='YES' "
    "description='Whether inline consolidated metadata of the root group are used where they are present'/>"
    "  <Option name='MULTIBAND' type='boolean' default='YES' "
    "description='Whether arrays of three and more dimensions are opened as bands; NO lists their slices as subdatasets'/>"
    "  <Option name='DIM_X' type='string' description='Name or index of the X dimension'/>"
    "  <Option name='DIM_Y' type='string' description='Name or index of the Y dimension'/>"
    "  <Option name='NUM_THREADS' type='string' "
    "description='Number of threads that decode, or ALL_CPUS. Default: GDAL_NUM_THREADS if set, else ALL_CPUS'/>"
    "  <Option name='CACHE_SIZE' type='float' min='0' "
    "description='Most decoded chunks that are kept, in megabytes. Default: what all datasets share, a quarter of GDAL_CACHEMAX'/>"
    "  <Option name='MAX_CHUNK_SIZE' type='float' min='0' "
    "description='Chunks of more megabytes, decoded, are refused. Default: 512, or GDAL_CACHEMAX where that is more'/>"
    "  <Option name='FSYNC' type='boolean' default='YES' description='Whether what is changed is put on the disk before it takes the place "
    "of what was there. Default: the configuration option SHARDEDZARR_FSYNC if set'/>"
    "  <Option name='MERGE_GAP' type='float' min='0' "
    "description='Chunks of a shard with fewer kilobytes between them are one request. Default: 128 over a network, else 4'/>"
    "</OpenOptionList>";

void GDALRegister_ShardedZarr()
{
    if (!GDAL_CHECK_VERSION("ShardedZarr") || GDALGetDriverByName("ShardedZarr") != nullptr)
        return;
    auto driver = new GDALDriver();
    driver->SetDescription("ShardedZarr");
    driver->SetMetadataItem(GDAL_DMD_LONGNAME, "Sharded Zarr v3");
    driver->SetMetadataItem(GDAL_DCAP_RASTER, "YES");
    driver->SetMetadataItem(GDAL_DCAP_VIRTUALIO, "YES");
    driver->SetMetadataItem(GDAL_DMD_EXTENSIONS, "zarr");
    driver->SetMetadataItem(GDAL_DMD_CONNECTION_PREFIX, "SHARDEDZARR:");
    driver->SetMetadataItem(GDAL_DMD_SUBDATASETS, "YES");
    driver->SetMetadataItem(GDAL_DMD_OPENOPTIONLIST, OPEN_OPTIONS);
    driver->pfnIdentify = ZSGuarded<zsIdentify>::Call;
    driver->pfnOpen = ZSGuarded<zsOpen>::Call;
    zsAddCreation(*driver);
    zsAddCommands(*driver);
    GetGDALDriverManager()->RegisterDriver(driver);
}
