/* gdal/raster/dataset.h: an array of a store as a dataset: two dimensions are the raster, the others are flattened to
 * bands; or the arrays of a group that lie on one grid, the bands of one behind those of the other.
 *
 * A dataset is made of parts. Here is how they work together, and what GDAL asks. */
#ifndef ZS_GDAL_DATASET_H
#define ZS_GDAL_DATASET_H

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "band.h"
#include "dataset_georef.h"
#include "dataset_items.h"
#include "dataset_masks.h"
#include "dataset_overviews.h"
#include "dataset_pixels.h"
#include "dataset_statistics.h"
#include "gdal/compat.h"
#include "gdal/connection.h"
#include "gdal/target.h"
#include "gdal/types.h"

class ShardedZarrDataset : public GDALPamDataset
{
    friend class ShardedZarrRasterBand;
    friend class ZSBandProperties;

    ZSView m_view;
    std::unique_ptr<ZSGeoreferencing> m_georef;
    std::unique_ptr<ZSItems> m_items;
    ZSPixels m_pixels{*this, m_view};
    ZSBandProperties m_properties{*this, m_view};
    ZSMasks m_masks{*this, m_view};
    ZSStatistics m_statistics{*this, m_view};
    ZSOverviews m_overviews{*this, m_view};

    ShardedZarrDataset *m_base = nullptr;   /* of an overview: the dataset that has it */
    ShardedZarrDataset *m_maskOf = nullptr; /* of a mask */
    bool m_isMask = false;
    struct zs_validity m_validity = {}; /* of a mask, and of its overviews: which elements mean "valid" */

    bool m_isAll = true; /* it is the only raster in the store */
    bool m_geolocationAdded = false;
    bool m_hasSideCar = false; /* a side-car file was read; it is written again when its content moves to the store */
    bool m_isClosed = false;
    GDALProgressFunc m_closeProgress = GDALDummyProgress;
    void *m_closeProgressData = nullptr;
    std::unique_ptr<ZSTarget> m_target; /* what it replaces at the first flush; until then it is written beside that */

    void AddBands(size_t source);

    /* ---- Parts ---- */
    std::vector<ZSDatasetPart *> Parts();
    CPLErr FlushPixels(bool atClosing);
    void AddMasksToGeoref();
    CPLErr FlushDocuments();
    CPLErr FlushChanges(bool atClosing);
    CPLErr TakePlace();
    CPLErr RemoveOverviews();
    CPLErr MakeOverviews(const char *resampling, const std::vector<int> &factors, GDALProgressFunc progress,
                         void *progressData, CSLConstList options);
    CPLErr MakeLaterOverviews();
    bool WillMakeOverviews() const
    {
        return m_overviews.IsLater() && m_pixels.IsWritten() && !bSuppressOnClose;
    }
    /* The mask of an array, which may be that of the dataset whose overview this is. */
    const ZSMask &MaskOf(size_t source);
    int MaskBandOf(int band);
    bool HasOneMask();
    bool HasGCPs() const;
    void AddGeolocation();
    /* Reads a metadata domain of the store, NULL: all. */
    void ReadDomain(const char *domain);
    bool SetRegistration(const char *value);

  protected:
#if ZS_GDAL_AT_LEAST(10)
    /* For GDAL's thread-safe datasets, in any thread. */
    std::unique_ptr<GDALDataset> Clone(int scope, bool canShareState) const override;
#endif
    CPLErr IRasterIO(GDALRWFlag flag, int x, int y, int width, int height, void *data, int bufWidth, int bufHeight,
                     GDALDataType type, int bandCount, BANDMAP_TYPE bands, GSpacing pixelSpace, GSpacing lineSpace,
                     GSpacing bandSpace, GDALRasterIOExtraArg *extra) override;
    CPLErr TrySaveXML() override;
    CPLXMLNode *SerializeToXML(const char *path) override;
    CPLErr XMLInit(ZSPamTree tree, const char *path) override;
    CPLErr IBuildOverviews(const char *resampling, int count, const int *factors, int bandCount, const int *bands,
                           GDALProgressFunc progress, void *progressData, CSLConstList options) override;

  public:
    ShardedZarrDataset() = default;
    ~ShardedZarrDataset() override;

    /* A dataset of the array `node`, or of those that are opened, of `group` where that is not null: all as large. With
     * `validity` it is a mask. Null, with the message in err, when they cannot be a raster. */
    static std::unique_ptr<ShardedZarrDataset> OpenArray(const std::shared_ptr<ZSStore> &store,
                                                         const struct zs_node *node, const ZSOpenOptions &options,
                                                         GDALAccess access, struct zs_error *err);
    static std::unique_ptr<ShardedZarrDataset> Over(const std::shared_ptr<ZSStore> &store,
                                                    const ZSBandSources &sources, const struct zs_node *group,
                                                    const ZSOpenOptions &options, GDALAccess access,
                                                    struct zs_error *err, const struct zs_validity *validity = nullptr);
    /* The same, of an overview level of this dataset. */
    std::unique_ptr<ShardedZarrDataset> OverLevel(const ZSBandSources &sources, const struct zs_node *group,
                                                  GDALAccess access, struct zs_error *err);
    void SetMaskOf(ShardedZarrDataset &dataset);
    /* Keeps the dataset from writing a side-car file. */
    void SetUnsaved()
    {
        nPamFlags |= GPF_NOSAVE;
    }
    void SetClosed()
    {
        m_isClosed = true;
    }
    /* Attaches side-car metadata (statistics), for file systems where looking for them costs nothing. */
    void AttachPam(const char *description);
    void SetIsOneOfMany()
    {
        m_isAll = false;
    }
    /* Order of chunks in the shards that are written (enum zs_chunk_order), which nothing in a store tells. */
    void SetChunkOrder(int order);
    /* The dataset was written beside what it replaces: the first flush puts it in place. */
    void CommitLater(std::unique_ptr<ZSTarget> target)
    {
        m_target = std::move(target);
    }

    const ZSView &View() const
    {
        return m_view;
    }
    ZSPixels &Pixels()
    {
        return m_pixels;
    }
    ZSMasks &Masks()
    {
        return m_masks;
    }
    ZSStatistics &Statistics()
    {
        return m_statistics;
    }
    ZSOverviews &Overviews()
    {
        return m_overviews;
    }
    ShardedZarrRasterBand &Band(int band) const
    {
        return *static_cast<ShardedZarrRasterBand *>(papoBands[band - 1]);
    }
    bool IsUpdate() const
    {
        return eAccess == GA_Update;
    }
    bool IsOverview() const
    {
        return m_base != nullptr;
    }
    bool IsMask() const
    {
        return m_isMask;
    }
    /* The dataset whose mask this is; null where it is none. */
    ShardedZarrDataset *Masked() const
    {
        return m_maskOf;
    }
    const struct zs_validity &Validity() const
    {
        return m_validity;
    }
    /* Whether it shows a group's arrays, and the store holds other things, too. */
    bool IsOneOfMany() const
    {
        return !m_isAll;
    }
    bool HasIrregularAxes() const
    {
        return m_georef->HasIrregularAxes();
    }
    /* Whether it shows HEALPix cells, and has an element for each. */
    bool HasAllCells();
    /* Which pixels of a band are cells: 255, else 0. */
    CPLErr ReadCellMask(int band, int x, int y, int width, int height, unsigned char *mask, int lineSpace);

    const OGRSpatialReference *GetSpatialRef() const override;
    CPLErr SetSpatialRef(const OGRSpatialReference *srs) override;
    CPLErr GetGeoTransform(ZS_GET_GEOTRANSFORM_ARG transform) ZS_GEOTRANSFORM_CONST override;
    CPLErr SetGeoTransform(ZS_SET_GEOTRANSFORM_ARG transform) override;
    int GetGCPCount() override;
    const OGRSpatialReference *GetGCPSpatialRef() const override;
    const GDAL_GCP *GetGCPs() override;
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
    /* The same for every version of GDAL, with the result. */
    CPLErr FlushAll(bool atClosing);
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

#endif
