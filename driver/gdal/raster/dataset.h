/* gdal/raster/dataset.h: an array of a store as a dataset: two dimensions are the raster, the others are flattened to
 * bands; or the arrays of a group that lie on one grid, the bands of one behind those of the other.
 *
 * A dataset is made of parts. Here is how they work together, and what GDAL asks. */
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "band.h"
#include "dataset_parts.h"
#include "gdal/compat.h"
#include "gdal/types.h"

class ShardedZarrDataset : public GDALPamDataset
{
    friend class ShardedZarrRasterBand;

    ZSView m_view;
    ZSRole m_role;
    bool m_hasFailed = false;       /* pending documents could not be published */
    bool m_areBandsChanged = false; /* properties of bands were set, which are pending */
    std::string m_beside; /* the store with overviews beside it, as LookBeside() has it; else "" */

    void AddBands(size_t source);

    /* ---- Parts together ---- */
    CPLErr FlushPixels(bool atClosing);
    /* Puts properties that were set on bands, with those of all other slices of their arrays, into the store's pending
     * documents (band_properties.cpp). */
    enum zs_status FlushBands(struct zs_error *err);
    enum zs_status FlushBandsOf(size_t source, struct zs_error *err);
    enum zs_status PutDocuments(struct zs_error *err);
    CPLErr FlushDocuments();
    CPLErr FlushChanges(bool atClosing);
    CPLErr RemoveOverviews();
    CPLErr MakeOverviews(const char *resampling, const std::vector<int> &factors, GDALProgressFunc progress,
                         void *progressData, CSLConstList options);
    CPLErr MakeLaterOverviews();
    CPLErr Publish(bool hasLost);
    CPLErr CloseParts();
    /* Whether georeferencing goes into a side-car file: the store is only read, or the array has one dimension. */
    bool IsKeptBeside()
    {
        return !IsUpdate() || !georef.HasAxes();
    }
    /* Whether it can be kept there; else CPLError is emitted. */
    bool MayKeepBeside();
    bool WillMakeOverviews() const;
    void WarnOfOldOverviews();
    bool HasGCPs() const;
    /* Takes over what AREA_OR_POINT is set to. CE_Failure, with CPLError emitted, for what is neither. */
    CPLErr SetRegistration(const char *value);

  protected:
#if ZS_GDAL_AT_LEAST(10)
    /* For GDAL's thread-safe datasets, in any thread. */
    std::unique_ptr<GDALDataset> Clone(int scope, bool canShareState) const override;
#endif
    CPLErr IRasterIO(GDALRWFlag flag, int x, int y, int width, int height, void *data, int bufWidth, int bufHeight,
                     GDALDataType type, int bandCount, BANDMAP_TYPE bands, GSpacing pixelSpace, GSpacing lineSpace,
                     GSpacing bandSpace, GDALRasterIOExtraArg *extra) override;
    CPLXMLNode *SerializeToXML(const char *path) override;
    CPLErr IBuildOverviews(const char *resampling, int count, const int *factors, int bandCount, const int *bands,
                           GDALProgressFunc progress, void *progressData, CSLConstList options) override;

  public:
    /* The parts. Each has a state of its own. */
    mutable ZSGeoreferencing georef{m_view};
    ZSItems items{*this, m_view};
    ZSPixels pixels{*this, m_view};
    ZSMasks masks{*this, m_view};
    ZSOverviews overviews{*this, m_view};
    ZSClosing closing;

    ShardedZarrDataset() = default;
    ~ShardedZarrDataset() override;

    /* A dataset of arrays that are as large as each other, of `group` where that is not null. With `validity` it is a
     * mask. Null, with the message in err, when they cannot be a raster. */
    static std::unique_ptr<ShardedZarrDataset> Over(const std::shared_ptr<ZSStore> &store,
                                                    const ZSBandSources &sources, const struct zs_node *group,
                                                    const ZSOpenOptions &options, GDALAccess access,
                                                    struct zs_error *err, const struct zs_validity *validity = nullptr);
    /* Like Over(), for an overview level of this dataset. */
    std::unique_ptr<ShardedZarrDataset> OverLevel(const ZSBandSources &sources, const struct zs_node *group,
                                                  GDALAccess access, struct zs_error *err);
    void SetMaskOf(ShardedZarrDataset &dataset);
    /* The dataset is the one raster of the store at that path: GDAL may keep overviews beside it. */
    void LookBeside(const std::string &store);
    /* Attaches side-car metadata (statistics), for file systems where looking for them costs nothing. */
    void AttachPam(const char *description);

    const ZSView &View() const
    {
        return m_view;
    }
    const ZSRole &Role() const
    {
        return m_role;
    }
    ShardedZarrRasterBand &Band(int band) const
    {
        return *static_cast<ShardedZarrRasterBand *>(papoBands[band - 1]);
    }
    bool IsUpdate() const
    {
        return eAccess == GA_Update;
    }

    const OGRSpatialReference *GetSpatialRef() const override;
    CPLErr SetSpatialRef(const OGRSpatialReference *srs) override;
    CPLErr GetGeoTransform(ZS_GET_GEOTRANSFORM_ARG transform) ZS_GEOTRANSFORM_CONST override;
    CPLErr SetGeoTransform(ZS_SET_GEOTRANSFORM_ARG transform) override;
    int GetGCPCount() override;
    const OGRSpatialReference *GetGCPSpatialRef() const override;
    const GDAL_GCP *GetGCPs() override;
    CPLErr SetGCPs(int count, const GDAL_GCP *list, const OGRSpatialReference *srs) override;
    char **GetMetadataDomainList() override;
    ZSMetadata GetMetadata(const char *domain = "") override;
    const char *GetMetadataItem(const char *name, const char *domain = "") override;
    CPLErr SetMetadata(ZSMetadataArg metadata, const char *domain = "") override;
    CPLErr SetMetadataItem(const char *name, const char *value, const char *domain = "") override;
    CPLErr CreateMaskBand(int flags) override;
    char **GetFileList() override;
    CPLErr AdviseRead(int x, int y, int width, int height, int bufWidth, int bufHeight, GDALDataType type,
                      int bandCount, int *bands, ZSCreateOptions options) override;
    ZSFlushResult FlushCache(bool atClosing = false) override;
    /* Like FlushCache(), with the result in every version of GDAL. */
    CPLErr FlushAll(bool atClosing);
    /* Has GDAL compute the statistics of all bands; a band of nodata alone gets none. */
    CPLErr AddStatistics(GDALProgressFunc progress, void *progressData);
#if ZS_GDAL_AT_LEAST(7)
    CPLErr Close(ZS_CLOSE_DEFAULTS) override;
#endif
#if ZS_GDAL_AT_LEAST(13)
    bool GetCloseReportsProgress() const override
    {
        return WillMakeOverviews();
    }
#endif
};

/* Whether all pixels of any dataset that are cells are valid: this driver's maps without nodata have a mask of where
 * there are faces. */
bool zsHasAllCells(GDALDataset &dataset);
/* Whether a band has a mask that neither its nodata value nor an alpha band makes. */
inline bool zsHasMask(GDALRasterBand &band)
{
    return (band.GetMaskFlags() & (GMF_ALL_VALID | GMF_NODATA | GMF_ALPHA)) == 0;
}
