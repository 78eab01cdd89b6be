/* gdal/raster/guarded.h: the dataset and the band that GDAL gets: each virtual method of ours, guarded (guard.h). */
#ifndef ZS_GDAL_GUARDED_H
#define ZS_GDAL_GUARDED_H

#include "dataset.h"
#include "gdal/guard.h"

class ZSGuardedDataset final : public ShardedZarrDataset
{
    using Base = ShardedZarrDataset;

  protected:
#if ZS_GDAL_AT_LEAST(10)
    std::unique_ptr<GDALDataset> Clone(int scope, bool canShareState) const override
    {
        return zsGuard([&] { return Base::Clone(scope, canShareState); });
    }
#endif
    CPLErr IRasterIO(GDALRWFlag flag, int x, int y, int width, int height, void *data, int bufWidth, int bufHeight,
                     GDALDataType type, int bandCount, BANDMAP_TYPE bands, GSpacing pixelSpace, GSpacing lineSpace,
                     GSpacing bandSpace, GDALRasterIOExtraArg *extra) override
    {
        return zsGuard([&] { return Base::IRasterIO(flag, x, y, width, height, data, bufWidth, bufHeight, type,
                                                    bandCount, bands, pixelSpace, lineSpace, bandSpace, extra); });
    }
    CPLErr IBuildOverviews(const char *resampling, int count, const int *factors, int bandCount, const int *bands,
                           GDALProgressFunc progress, void *progressData, CSLConstList options) override
    {
        return zsGuard([&] { return Base::IBuildOverviews(resampling, count, factors, bandCount, bands, progress,
                                                          progressData, options); });
    }

  public:
    using Base::Base;

    const OGRSpatialReference *GetSpatialRef() const override
    {
        return zsGuard([&] { return Base::GetSpatialRef(); });
    }
    CPLErr SetSpatialRef(const OGRSpatialReference *srs) override
    {
        return zsGuard([&] { return Base::SetSpatialRef(srs); });
    }
    CPLErr GetGeoTransform(ZS_GET_GEOTRANSFORM_ARG transform) ZS_GEOTRANSFORM_CONST override
    {
        return zsGuard([&] { return Base::GetGeoTransform(transform); });
    }
    CPLErr SetGeoTransform(ZS_SET_GEOTRANSFORM_ARG transform) override
    {
        return zsGuard([&] { return Base::SetGeoTransform(transform); });
    }
    int GetGCPCount() override
    {
        return zsGuard([&] { return Base::GetGCPCount(); });
    }
    const OGRSpatialReference *GetGCPSpatialRef() const override
    {
        return zsGuard([&] { return Base::GetGCPSpatialRef(); });
    }
    const GDAL_GCP *GetGCPs() override
    {
        return zsGuard([&] { return Base::GetGCPs(); });
    }
    char **GetMetadataDomainList() override
    {
        return zsGuard([&] { return Base::GetMetadataDomainList(); });
    }
    ZSMetadata GetMetadata(const char *domain) override
    {
        return zsGuard([&] { return Base::GetMetadata(domain); });
    }
    const char *GetMetadataItem(const char *name, const char *domain) override
    {
        return zsGuard([&] { return Base::GetMetadataItem(name, domain); });
    }
    CPLErr SetMetadata(ZSMetadataArg metadata, const char *domain) override
    {
        return zsGuard([&] { return Base::SetMetadata(metadata, domain); });
    }
    CPLErr SetMetadataItem(const char *name, const char *value, const char *domain) override
    {
        return zsGuard([&] { return Base::SetMetadataItem(name, value, domain); });
    }
    CPLErr CreateMaskBand(int flags) override
    {
        return zsGuard([&] { return Base::CreateMaskBand(flags); });
    }
    char **GetFileList() override
    {
        return zsGuard([&] { return Base::GetFileList(); });
    }
    CPLErr AdviseRead(int x, int y, int width, int height, int bufWidth, int bufHeight, GDALDataType type,
                      int bandCount, int *bands, ZSCreateOptions options) override
    {
        return zsGuard([&] { return Base::AdviseRead(x, y, width, height, bufWidth, bufHeight, type, bandCount, bands,
                                                     options); });
    }
    ZSFlushResult FlushCache(bool atClosing) override
    {
        return zsGuard([&] { return Base::FlushCache(atClosing); });
    }
#if ZS_GDAL_AT_LEAST(7)
    CPLErr Close(ZS_CLOSE_PARAMETERS) override
    {
        return zsGuard([&] { return Base::Close(ZS_CLOSE_ARGUMENTS); });
    }
#endif
#if ZS_GDAL_AT_LEAST(13)
    bool GetCloseReportsProgress() const override
    {
        return zsGuard([&] { return Base::GetCloseReportsProgress(); });
    }
#endif
};

class ZSGuardedBand final : public ShardedZarrRasterBand
{
    using Base = ShardedZarrRasterBand;

  protected:
    CPLErr IReadBlock(int column, int row, void *data) override
    {
        return zsGuard([&] { return Base::IReadBlock(column, row, data); });
    }
    CPLErr IWriteBlock(int column, int row, void *data) override
    {
        return zsGuard([&] { return Base::IWriteBlock(column, row, data); });
    }
    CPLErr IRasterIO(GDALRWFlag flag, int x, int y, int width, int height, void *data, int bufWidth, int bufHeight,
                     GDALDataType type, GSpacing pixelSpace, GSpacing lineSpace, GDALRasterIOExtraArg *extra) override
    {
        return zsGuard([&] { return Base::IRasterIO(flag, x, y, width, height, data, bufWidth, bufHeight, type,
                                                    pixelSpace, lineSpace, extra); });
    }

  public:
    using Base::Base;

    double GetNoDataValue(int *has) override
    {
        return zsGuard([&] { return Base::GetNoDataValue(has); });
    }
    int64_t GetNoDataValueAsInt64(int *has) override
    {
        return zsGuard([&] { return Base::GetNoDataValueAsInt64(has); });
    }
    uint64_t GetNoDataValueAsUInt64(int *has) override
    {
        return zsGuard([&] { return Base::GetNoDataValueAsUInt64(has); });
    }
    CPLErr SetNoDataValue(double value) override
    {
        return zsGuard([&] { return Base::SetNoDataValue(value); });
    }
    CPLErr SetNoDataValueAsInt64(int64_t value) override
    {
        return zsGuard([&] { return Base::SetNoDataValueAsInt64(value); });
    }
    CPLErr SetNoDataValueAsUInt64(uint64_t value) override
    {
        return zsGuard([&] { return Base::SetNoDataValueAsUInt64(value); });
    }
    CPLErr DeleteNoDataValue() override
    {
        return zsGuard([&] { return Base::DeleteNoDataValue(); });
    }
    double GetScale(int *has) override
    {
        return zsGuard([&] { return Base::GetScale(has); });
    }
    CPLErr SetScale(double scale) override
    {
        return zsGuard([&] { return Base::SetScale(scale); });
    }
    double GetOffset(int *has) override
    {
        return zsGuard([&] { return Base::GetOffset(has); });
    }
    CPLErr SetOffset(double offset) override
    {
        return zsGuard([&] { return Base::SetOffset(offset); });
    }
    const char *GetUnitType() override
    {
        return zsGuard([&] { return Base::GetUnitType(); });
    }
    CPLErr SetUnitType(const char *unit) override
    {
        return zsGuard([&] { return Base::SetUnitType(unit); });
    }
    char **GetCategoryNames() override
    {
        return zsGuard([&] { return Base::GetCategoryNames(); });
    }
    CPLErr SetCategoryNames(char **names) override
    {
        return zsGuard([&] { return Base::SetCategoryNames(names); });
    }
    GDALColorInterp GetColorInterpretation() override
    {
        return zsGuard([&] { return Base::GetColorInterpretation(); });
    }
    CPLErr SetColorInterpretation(GDALColorInterp interpretation) override
    {
        return zsGuard([&] { return Base::SetColorInterpretation(interpretation); });
    }
    GDALColorTable *GetColorTable() override
    {
        return zsGuard([&] { return Base::GetColorTable(); });
    }
    CPLErr SetColorTable(GDALColorTable *table) override
    {
        return zsGuard([&] { return Base::SetColorTable(table); });
    }
    const char *GetDescription() const override
    {
        return zsGuard([&] { return Base::GetDescription(); });
    }
    void SetDescription(const char *description) override
    {
        return zsGuard([&] { return Base::SetDescription(description); });
    }
    char **GetMetadataDomainList() override
    {
        return zsGuard([&] { return Base::GetMetadataDomainList(); });
    }
    ZSMetadata GetMetadata(const char *domain) override
    {
        return zsGuard([&] { return Base::GetMetadata(domain); });
    }
    const char *GetMetadataItem(const char *name, const char *domain) override
    {
        return zsGuard([&] { return Base::GetMetadataItem(name, domain); });
    }
    CPLErr SetMetadata(ZSMetadataArg metadata, const char *domain) override
    {
        return zsGuard([&] { return Base::SetMetadata(metadata, domain); });
    }
    CPLErr SetMetadataItem(const char *name, const char *value, const char *domain) override
    {
        return zsGuard([&] { return Base::SetMetadataItem(name, value, domain); });
    }
    int GetOverviewCount() override
    {
        return zsGuard([&] { return Base::GetOverviewCount(); });
    }
    GDALRasterBand *GetOverview(int i) override
    {
        return zsGuard([&] { return Base::GetOverview(i); });
    }
    GDALRasterAttributeTable *GetDefaultRAT() override
    {
        return zsGuard([&] { return Base::GetDefaultRAT(); });
    }
    GDALRasterBand *GetMaskBand() override
    {
        return zsGuard([&] { return Base::GetMaskBand(); });
    }
    int GetMaskFlags() override
    {
        return zsGuard([&] { return Base::GetMaskFlags(); });
    }
    CPLErr ComputeStatistics(int approximate, double *min, double *max, double *mean, double *deviation,
                             GDALProgressFunc progress, void *progressData) override
    {
        return zsGuard([&] { return Base::ComputeStatistics(approximate, min, max, mean, deviation, progress,
                                                            progressData); });
    }
    CPLErr GetHistogram(double min, double max, int buckets, GUIntBig *histogram, int includeOutOfRange,
                        int approximate, GDALProgressFunc progress, void *progressData) override
    {
        return zsGuard([&] { return Base::GetHistogram(min, max, buckets, histogram, includeOutOfRange, approximate,
                                                       progress, progressData); });
    }
    CPLErr GetDefaultHistogram(double *min, double *max, int *buckets, GUIntBig **histogram, int force,
                               GDALProgressFunc progress, void *progressData) override
    {
        return zsGuard([&] { return Base::GetDefaultHistogram(min, max, buckets, histogram, force, progress,
                                                              progressData); });
    }
    CPLErr SetDefaultHistogram(double min, double max, int buckets, GUIntBig *histogram) override
    {
        return zsGuard([&] { return Base::SetDefaultHistogram(min, max, buckets, histogram); });
    }
    CPLErr CreateMaskBand(int flags) override
    {
        return zsGuard([&] { return Base::CreateMaskBand(flags); });
    }
    int IGetDataCoverageStatus(int x, int y, int width, int height, int stopFlags, double *percent) override
    {
        const int status =
            zsGuard([&] { return Base::IGetDataCoverageStatus(x, y, width, height, stopFlags, percent); });
        return status != 0 ? status : GDAL_DATA_COVERAGE_STATUS_UNIMPLEMENTED | GDAL_DATA_COVERAGE_STATUS_DATA;
    }
};

#endif
