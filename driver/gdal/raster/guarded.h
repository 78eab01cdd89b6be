/* gdal/raster/guarded.h: the dataset and the band that GDAL gets: what can throw or allocate is guarded (guard.h). */
#pragma once

#include "dataset.h"
#include "gdal/guard.h"

/* The method of Base, guarded; `parameters` with their names, `arguments` these names alone. */
#define ZS_GUARDED(type, name, parameters, arguments)          \
    type name parameters override                              \
    {                                                          \
        return zsGuard([&] { return Base::name arguments; });  \
    }

/* The metadata of a dataset or a band. */
#define ZS_GUARDED_METADATA                                                                           \
    ZS_GUARDED(char **, GetMetadataDomainList, (), ())                                                \
    ZS_GUARDED(ZSMetadata, GetMetadata, (const char *domain), (domain))                               \
    ZS_GUARDED(const char *, GetMetadataItem, (const char *name, const char *domain), (name, domain)) \
    ZS_GUARDED(CPLErr, SetMetadata, (ZSMetadataArg metadata, const char *domain), (metadata, domain)) \
    ZS_GUARDED(CPLErr, SetMetadataItem, (const char *name, const char *value, const char *domain),    \
               (name, value, domain))

class ZSGuardedDataset final : public ShardedZarrDataset
{
    using Base = ShardedZarrDataset;

  protected:
#if ZS_GDAL_AT_LEAST(10)
    ZS_GUARDED(std::unique_ptr<GDALDataset>, Clone, (int scope, bool canShare) const, (scope, canShare))
#endif
    ZS_GUARDED(CPLErr, IRasterIO,
               (GDALRWFlag flag, int x, int y, int width, int height, void *data, int bufWidth, int bufHeight,
                GDALDataType type, int bandCount, BANDMAP_TYPE bands, GSpacing pixelSpace, GSpacing lineSpace,
                GSpacing bandSpace, GDALRasterIOExtraArg *extra),
               (flag, x, y, width, height, data, bufWidth, bufHeight, type, bandCount, bands, pixelSpace, lineSpace,
                bandSpace, extra))
    ZS_GUARDED(CPLErr, IBuildOverviews,
               (const char *resampling, int count, const int *factors, int bandCount, const int *bands,
                GDALProgressFunc progress, void *progressData, CSLConstList options),
               (resampling, count, factors, bandCount, bands, progress, progressData, options))

  public:
    using Base::Base;

    ZS_GUARDED(const OGRSpatialReference *, GetSpatialRef, () const, ())
    ZS_GUARDED(CPLErr, SetSpatialRef, (const OGRSpatialReference *srs), (srs))
    ZS_GUARDED(CPLErr, GetGeoTransform, (ZS_GET_GEOTRANSFORM_ARG transform) ZS_GEOTRANSFORM_CONST, (transform))
    ZS_GUARDED(CPLErr, SetGeoTransform, (ZS_SET_GEOTRANSFORM_ARG transform), (transform))
    ZS_GUARDED(int, GetGCPCount, (), ())
    ZS_GUARDED(const OGRSpatialReference *, GetGCPSpatialRef, () const, ())
    ZS_GUARDED(const GDAL_GCP *, GetGCPs, (), ())
    ZS_GUARDED(CPLErr, SetGCPs, (int count, const GDAL_GCP *list, const OGRSpatialReference *srs), (count, list, srs))
    ZS_GUARDED_METADATA
    ZS_GUARDED(CPLErr, CreateMaskBand, (int flags), (flags))
    ZS_GUARDED(char **, GetFileList, (), ())
    ZS_GUARDED(CPLErr, AdviseRead,
               (int x, int y, int width, int height, int bufWidth, int bufHeight, GDALDataType type, int bandCount,
                int *bands, ZSCreateOptions options),
               (x, y, width, height, bufWidth, bufHeight, type, bandCount, bands, options))
    ZS_GUARDED(ZSFlushResult, FlushCache, (bool atClosing), (atClosing))
#if ZS_GDAL_AT_LEAST(7)
    ZS_GUARDED(CPLErr, Close, (ZS_CLOSE_PARAMETERS), (ZS_CLOSE_ARGUMENTS))
#endif
};

class ZSGuardedBand final : public ShardedZarrRasterBand
{
    using Base = ShardedZarrRasterBand;

  protected:
    ZS_GUARDED(CPLErr, IReadBlock, (int column, int row, void *data), (column, row, data))
    ZS_GUARDED(CPLErr, IWriteBlock, (int column, int row, void *data), (column, row, data))
    ZS_GUARDED(CPLErr, IRasterIO,
               (GDALRWFlag flag, int x, int y, int width, int height, void *data, int bufWidth, int bufHeight,
                GDALDataType type, GSpacing pixelSpace, GSpacing lineSpace, GDALRasterIOExtraArg *extra),
               (flag, x, y, width, height, data, bufWidth, bufHeight, type, pixelSpace, lineSpace, extra))

  public:
    using Base::Base;

    ZS_GUARDED(double, GetNoDataValue, (int *has), (has))
    ZS_GUARDED(int64_t, GetNoDataValueAsInt64, (int *has), (has))
    ZS_GUARDED(uint64_t, GetNoDataValueAsUInt64, (int *has), (has))
    ZS_GUARDED(CPLErr, SetNoDataValue, (double value), (value))
    ZS_GUARDED(CPLErr, SetNoDataValueAsInt64, (int64_t value), (value))
    ZS_GUARDED(CPLErr, SetNoDataValueAsUInt64, (uint64_t value), (value))
    ZS_GUARDED(CPLErr, DeleteNoDataValue, (), ())
    ZS_GUARDED(double, GetScale, (int *has), (has))
    ZS_GUARDED(CPLErr, SetScale, (double scale), (scale))
    ZS_GUARDED(double, GetOffset, (int *has), (has))
    ZS_GUARDED(CPLErr, SetOffset, (double offset), (offset))
    ZS_GUARDED(const char *, GetUnitType, (), ())
    ZS_GUARDED(CPLErr, SetUnitType, (const char *unit), (unit))
    ZS_GUARDED(char **, GetCategoryNames, (), ())
    ZS_GUARDED(CPLErr, SetCategoryNames, (char **names), (names))
    ZS_GUARDED(GDALColorInterp, GetColorInterpretation, (), ())
    ZS_GUARDED(CPLErr, SetColorInterpretation, (GDALColorInterp interpretation), (interpretation))
    ZS_GUARDED(GDALColorTable *, GetColorTable, (), ())
    ZS_GUARDED(CPLErr, SetColorTable, (GDALColorTable *table), (table))
    ZS_GUARDED(const char *, GetDescription, () const, ())
    ZS_GUARDED(void, SetDescription, (const char *description), (description))
    ZS_GUARDED_METADATA
    ZS_GUARDED(int, GetOverviewCount, (), ())
    ZS_GUARDED(GDALRasterBand *, GetOverview, (int i), (i))
    ZS_GUARDED(GDALRasterAttributeTable *, GetDefaultRAT, (), ())
    ZS_GUARDED(GDALRasterBand *, GetMaskBand, (), ())
    ZS_GUARDED(int, GetMaskFlags, (), ())
    /* 0 is no answer. */
    int IGetDataCoverageStatus(int x, int y, int width, int height, int stopFlags, double *percent) override
    {
        const int status =
            zsGuard([&] { return Base::IGetDataCoverageStatus(x, y, width, height, stopFlags, percent); });
        return status != 0 ? status : GDAL_DATA_COVERAGE_STATUS_UNIMPLEMENTED | GDAL_DATA_COVERAGE_STATUS_DATA;
    }
};

#undef ZS_GUARDED_METADATA
#undef ZS_GUARDED
