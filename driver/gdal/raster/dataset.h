/* gdal/raster/dataset.h: an array of a store as a dataset: two dimensions are the raster, the others are flattened to
 * bands; or the arrays of a group that lie on one grid, the bands of one behind those of the other. */
#ifndef ZS_GDAL_DATASET_H
#define ZS_GDAL_DATASET_H

#include <memory>
#include <string>
#include <vector>

#include <gdal_rat.h>

#include "gdal/compat.h"
#include "gdal/connection.h"
#include "gdal/handles.h"
#include "dataset_georef.h"
#include "dataset_items.h"
#include "part.h"
#include "view.h"
#include "gdal/target.h"
#include "gdal/types.h"

extern "C"
{
#include "array/array.h"
#include "geo/bands.h"
#include "geo/meaning.h"
#include "raster/masks.h"
}

class ShardedZarrRasterBand;
class ShardedZarrDataset;

/* What says which pixels of an array's bands are valid (dataset_masks.cpp). */
struct ZSMask
{
    bool isThere = false;
    bool isNamed = false; /* by the array: before a nodata value */
    struct zs_mask found = {};
    /* A dataset of Byte, 0 and 255, with a band for each slice of the mask; null where it could not be opened. Shared
     * by the arrays that have one mask. */
    std::shared_ptr<ShardedZarrDataset> dataset;
};

class ShardedZarrDataset : public GDALPamDataset
{
    friend class ShardedZarrRasterBand;

    ZSView m_view;
    std::unique_ptr<ShardedZarrDataset> m_column; /* the same cells, each once; until some change */

    std::unique_ptr<ZSGeoreferencing> m_georef;
    std::unique_ptr<ZSItems> m_items;
    bool m_hasSideCar = false; /* a side-car file was read: it is written again when what it says goes to the store */
    CPLStringList m_subdatasets;
    bool m_overviewsFound = false;
    std::vector<std::unique_ptr<ShardedZarrDataset>> m_overviews;
    /* Overviews beside the store, in <m_beside>.ovr, as GDAL keeps them for files that are not to be changed. Only the
     * one raster of a local store has them: "" for all others. */
    std::string m_beside;
    GDALDefaultOverviews m_external;
    int ExternalCount()
    {
        return m_external.IsInitialized() ? m_external.GetOverviewCount(1) : 0; // the former looks for the file
    }
    bool m_geolocationAdded = false;
    bool m_isOverview = false;
    ShardedZarrDataset *m_base = nullptr; /* of an overview: the dataset that has it */

    /* Of each array; read when first asked for. */
    bool m_masksFound = false;
    std::vector<ZSMask> m_masks;
    bool m_masksKeepLevels = false; /* their overviews were just made */
    /* Of a dataset that is a mask itself: how its elements tell it, and whose it is. */
    bool m_isMask = false;
    struct zs_validity m_validity = {};
    ShardedZarrDataset *m_maskOf = nullptr;

    /* In update mode: what is to be written at the next flush. */
    bool m_bandsChanged = false;
    bool m_maskAdded = false;
    bool m_maskLost = false;
    bool m_partWritten = false; /* of arrays: statistics of the whole are not true any more */
    bool m_isMaskSought = false; /* whether others have the array as their mask was looked for */
    void DropStatisticsOfMasked();
    bool m_closed = false;
    /* Made by Create() and not written to: a nodata value may still become the fill value. */
    bool m_isBlank = false;
    /* Made by Create(): overviews that it gets when it is closed; what closes it may watch them. */
    std::vector<int> m_overviewsLater;
    std::string m_overviewResampling;
    bool m_hasStatisticsLater = false;
    bool m_isWritten = false; /* pixels were */
    GDALProgressFunc m_closeProgress = GDALDummyProgress;
    void *m_closeProgressData = nullptr;
    /* What it replaces when it is flushed, if it does: until then it lies beside that. */
    std::unique_ptr<ZSTarget> m_target;

    ShardedZarrRasterBand &Band(int band) const;
    bool IsUpdate() const
    {
        return eAccess == GA_Update;
    }
    bool HasGCPs() const;
    enum zs_status PrepareCells(struct zs_error *err);
    /* What statistics of a band of a whole sphere are of; null where that is the dataset itself. */
    ShardedZarrDataset *Column(int band);
    void AddOverview(ZSArray &base, const struct zs_node *node, const ZSOpenOptions &options);
    void FindMasks();
    void FindMask(size_t source);
    void OpenMask(size_t source, const ZSBandSource &mask);
    const ZSMask &MaskOf(size_t source);
    /* Which band of an array's mask is that of the band. */
    int MaskBandOf(int band);
    bool HasOneMask();
    std::vector<ShardedZarrDataset *> OwnMasks() const;
    CPLErr FlushMasks(bool atClosing);
    CPLErr MakeMaskLevels(const char *resampling, const std::vector<int> &factors, CSLConstList options);
    enum zs_status OpenOverviews(ZSArray &base, struct zs_error *err);
    void FindOverviews();
    void ForgetOverviews();
    void AddGeolocation();

    void AddBands(size_t source);
    CPLErr TakePlace();

    CPLErr ReadWindow(const struct zs_band_window &window, GDALDataType type);
    /* Whether GDAL will turn to an overview for a read of this size. */
    bool IsForOverview(int x, int y, int width, int height, int bufWidth, int bufHeight, GDALRasterIOExtraArg *extra);
    /* Reads from the overview that GDAL would take, all bands together. False where it would take none, or none of the
     * store. */
    bool ReadOverview(int x, int y, int width, int height, void *data, int bufWidth, int bufHeight, GDALDataType type,
                      int bandCount, BANDMAP_TYPE bands, GSpacing pixelSpace, GSpacing lineSpace, GSpacing bandSpace,
                      GDALRasterIOExtraArg *extra, CPLErr &result);
    /* Reads a window into a buffer of another size, taking the nearest pixels as GDAL does, as one plan rather than
     * block by block. False where that is left to GDAL: other resamplings, windows too large to hold. */
    bool ReadNearest(const struct zs_band_window &window, int bufWidth, int bufHeight, GDALDataType type,
                     GDALRasterIOExtraArg *extra, CPLErr &result);
    /* Gets the chunks of a window into the cache for reads that come block by block. */
    CPLErr Prefetch(const struct zs_band_window &window);
    CPLErr WriteWindow(const struct zs_band_window &window, GDALDataType type);
    /* Reads or writes a window; with a progress function piecewise, and no further than it wants. */
    CPLErr MoveWindow(GDALRWFlag flag, const struct zs_band_window &window, GDALDataType type,
                      const GDALRasterIOExtraArg *extra);

    CPLErr FlushChanges(bool atClosing);
    CPLErr SettleFillValue();
    CPLErr WriteMetadata();
    enum zs_status WriteBands(size_t source, struct zs_error *err);
    CPLErr RemoveOverviews();
    CPLErr MakeOverviews(const char *resampling, const std::vector<int> &factors, GDALProgressFunc progress,
                         void *progressData, CSLConstList options);
    CPLErr MakeLevels(const char *resampling, const std::vector<int> &factors, GDALProgressFunc progress,
                      void *progressData, CSLConstList options);
    CPLErr MakeLevelsOfEach(const char *resampling, const std::vector<int> &factors, GDALProgressFunc progress,
                            void *progressData, CSLConstList options);
    /* Fills a band of this level by resampling `from`, which is larger: where anything is stored. */
    CPLErr MakeBand(ShardedZarrDataset &from, int band, const char *resampling, GDALProgressFunc progress,
                    void *progressData, CSLConstList options);
    bool FindStored(ShardedZarrDataset &from, int band, const std::vector<ZSBox> &parts, int64_t &stored,
                    std::vector<ZSBox> &found);
    bool FindParts(ShardedZarrDataset &from, int band, std::vector<ZSBox> &parts);
    CPLErr MakeLaterOverviews();
    bool WillMakeOverviews() const
    {
        return !m_overviewsLater.empty() && m_isWritten && !bSuppressOnClose;
    }
    CPLErr BuildExternal(const char *resampling, int count, const int *factors, int bandCount, const int *bandList,
                         GDALProgressFunc progress, void *progressData, CSLConstList options);

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

    /* A dataset of the array `node`, or of those that are opened, of `group` where that is not null: all as large.
     * Null, with the message in err, when they cannot be a raster. */
    static std::unique_ptr<ShardedZarrDataset> OpenArray(const std::shared_ptr<ZSStore> &store,
                                                         const struct zs_node *node, const ZSOpenOptions &options,
                                                         GDALAccess access, struct zs_error *err);
    static std::unique_ptr<ShardedZarrDataset> Over(const std::shared_ptr<ZSStore> &store,
                                                    const ZSBandSources &sources, const struct zs_node *group,
                                                    const ZSOpenOptions &options, GDALAccess access,
                                                    struct zs_error *err, const struct zs_validity *validity = nullptr);
    /* Overviews that are made do not come with those of the mask, which has them. */
    void KeepMaskLevels()
    {
        m_masksKeepLevels = true;
    }
    void MarkBlank()
    {
        m_isBlank = true;
    }
    /* When it is closed it gets overviews of these factors, unless nothing was written or BuildOverviews() was called.
     * The resampling may be
     * "": that which the bands then mean. */
    void MakeOverviewsLater(const std::vector<int> &factors, const std::string &resampling)
    {
        m_overviewsLater = factors;
        m_overviewResampling = resampling;
    }
    /* Computes statistics and histograms of all bands, which go to the store; a band of nodata alone has none. */
    CPLErr AddStatistics(GDALProgressFunc progress, void *progressData);
    /* The same when it is closed, unless nothing was written. */
    void AddStatisticsLater()
    {
        m_hasStatisticsLater = true;
    }
    /* It lies beside what it replaces: the first flush puts it in place. */
    void CommitLater(std::unique_ptr<ZSTarget> target)
    {
        m_target = std::move(target);
    }
    /* Order of chunks in the shards that are written (enum zs_chunk_order), which nothing in a store tells. */
    void SetChunkOrder(int order)
    {
        for (const auto &source : m_view.sources)
            zs_array_set_order(source.array->array, order);
    }
    /* A group that is all of its store: what is in it can be opened by itself, too. */
    void SetSubdatasets(const CPLStringList &list)
    {
        m_subdatasets = list;
    }
    bool IsWholeSphere() const
    {
        return m_view.IsWholeSphere();
    }
    /* Whether it is a group, and other things are in the store. */
    bool IsOneOfMany() const
    {
        return m_view.IsGroup() && m_subdatasets.empty();
    }
    /* Which pixels of a band are cells: 255, else 0. */
    CPLErr ReadMask(int band, int x, int y, int width, int height, unsigned char *mask, int lineSpace);
    /* Says that this is the one raster of a store, and where that is. */
    void KeepOverviewsBeside(const std::string &store);
    /* Attaches side-car metadata (statistics), for file systems where looking for them costs nothing. */
    void AttachPam(const char *description);

    /* Whether X or Y has coordinates that no transform tells. */
    bool HasIrregularAxes() const
    {
        return m_georef->HasIrregularAxes();
    }
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
    /* The same, with what came of it for every GDAL. */
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

class ShardedZarrRasterBand : public GDALPamRasterBand
{
    friend class ShardedZarrDataset;

    /* Read when it is first asked for, which for most bands of a long series is never. */
    ZSMeaning m_meaning;
    std::unique_ptr<GDALColorTable> m_colorTable;
    bool m_metadataAdded = false;
    bool m_domainsAdded = false;
    CPLStringList m_fromStore; /* metadata that the store tells: a side-car file does not repeat them */
    bool m_sideCarHasStatistics = false;
    bool m_isDescribedBeside = false; /* the description is a side-car file's, not the store's */
    bool m_statisticsSet = false; /* since the dataset was opened */
    unsigned m_changed = 0;       /* which properties were set and are pending: ZS_BAND_UNIT ... */
    std::unique_ptr<GDALRasterBand> m_cellMask;
    bool m_flagsRead = false, m_hasMaskedFlags = false;
    std::unique_ptr<GDALRasterAttributeTable> m_flagTable; /* made of the flags; null where there are none */
    std::unique_ptr<GDALRasterBand> m_derivedMask; /* of a level whose mask has none, or of one that cannot be read */

    ShardedZarrDataset &Dataset() const
    {
        return *static_cast<ShardedZarrDataset *>(poDS);
    }
    ZSView &View() const
    {
        return Dataset().m_view;
    }
    size_t Source() const
    {
        return View().SourceOf(nBand);
    }
    struct zs_meaning &Meaning();
    void ReadMeanings();
    void TakeMeaning(ShardedZarrRasterBand &other);
    struct zs_band_window BlockWindow(int column, int row, void *data) const;
    void AddMetadata();
    /* Where the band is in the extra dimensions: DIM_time_INDEX=0, DIM_time_VALUE=2024-05-01T00:00:00; and in words. */
    CPLStringList PlaceItems(std::string &place);
    void AddDomains(const char *domain);
    /* Pixels are written: statistics that were known are not true any more. Blocks may come late, after statistics of
     * them were set. */
    void DropStatistics(bool isBlock);
    /* In update mode, GDAL's block cache must not hold what is read or written past it. */
    CPLErr SettleBlocks();
    /* The mask of the store, where that counts for this band. */
    const ZSMask *StoredMask();
    bool IsMaskedOtherwise();
    /* Whether pixels that are not stored are what GDAL takes for none: the nodata value, or 0 where there is none. */
    bool FillIsEmpty();
    /* Brings m_meaning up to what was set, for writing. */
    const struct zs_meaning &CurrentMeaning();
    CPLErr SetNodata(const void *element);
    /* Before a property (ZS_BAND_UNIT ...) is set: it is written at the next flush. Fails (CPLError emitted) where the
     * store has no place for it. */
    CPLErr WillChange(unsigned property);
    /* What a side-car file says of a property, which goes before the store. */
    void DropFromSideCar(unsigned property);
    bool HasSideCarNodata();
    CPLErr SetNodata(bool isHeld, const void *element, const std::string &text);
    /* Whether pixels that are no HEALPix cell have no value of their own. */
    bool HasCellMask();
    GDALRasterBand *CellMaskBand();

  protected:
    CPLXMLNode *SerializeToXML(const char *path) override;
    CPLErr XMLInit(ZSPamTree tree, const char *path) override;
    CPLErr IReadBlock(int column, int row, void *data) override;
    CPLErr IWriteBlock(int column, int row, void *data) override;
    CPLErr IRasterIO(GDALRWFlag flag, int x, int y, int width, int height, void *data, int bufWidth, int bufHeight,
                     GDALDataType type, GSpacing pixelSpace, GSpacing lineSpace, GDALRasterIOExtraArg *extra) override;

  public:
    ShardedZarrRasterBand(ShardedZarrDataset *dataset, int band, GDALDataType type, int blockWidth, int blockHeight);

    double GetNoDataValue(int *has = nullptr) override;
    int64_t GetNoDataValueAsInt64(int *has = nullptr) override;
    uint64_t GetNoDataValueAsUInt64(int *has = nullptr) override;
    CPLErr SetNoDataValue(double value) override;
    CPLErr SetNoDataValueAsInt64(int64_t value) override;
    CPLErr SetNoDataValueAsUInt64(uint64_t value) override;
    CPLErr DeleteNoDataValue() override;
    double GetScale(int *has = nullptr) override;
    CPLErr SetScale(double scale) override;
    double GetOffset(int *has = nullptr) override;
    CPLErr SetOffset(double offset) override;
    const char *GetUnitType() override;
    CPLErr SetUnitType(const char *unit) override;
    char **GetCategoryNames() override;
    CPLErr SetCategoryNames(char **names) override;
    GDALColorInterp GetColorInterpretation() override;
    CPLErr SetColorInterpretation(GDALColorInterp interpretation) override;
    GDALColorTable *GetColorTable() override;
    CPLErr SetColorTable(GDALColorTable *table) override;
    const char *GetDescription() const override;
    void SetDescription(const char *description) override;
    char **GetMetadataDomainList() override;
    ZSMetadata GetMetadata(const char *domain = "") override;
    const char *GetMetadataItem(const char *name, const char *domain = "") override;
    CPLErr SetMetadata(ZSMetadataArg metadata, const char *domain = "") override;
    CPLErr SetMetadataItem(const char *name, const char *value, const char *domain = "") override;
    int GetOverviewCount() override;
    GDALRasterBand *GetOverview(int i) override;
    GDALRasterAttributeTable *GetDefaultRAT() override;
    /* Whether the attribute table says no more than the names of categories do. */
    bool IsTableInCategories();
    GDALRasterBand *GetMaskBand() override;
    int GetMaskFlags() override;
    CPLErr ComputeStatistics(int approximate, double *min, double *max, double *mean, double *deviation,
                             GDALProgressFunc progress, void *progressData) override;
    CPLErr GetHistogram(double min, double max, int buckets, GUIntBig *histogram, int includeOutOfRange,
                        int approximate, GDALProgressFunc progress, void *progressData) override;
    CPLErr GetDefaultHistogram(double *min, double *max, int *buckets, GUIntBig **histogram, int force,
                               GDALProgressFunc progress, void *progressData) override;
    CPLErr SetDefaultHistogram(double min, double max, int buckets, GUIntBig *histogram) override;
    /* Whether histograms go to the store. */
    bool KeepsHistogram();
    CPLErr AddHistogram(GDALProgressFunc progress, void *progressData);
    bool IsMaskBand() const override;
    GDALMaskValueRange GetMaskValueRange() const override;
    CPLErr CreateMaskBand(int flags) override;
    int IGetDataCoverageStatus(int x, int y, int width, int height, int stopFlags, double *percent) override;
};

/* A window of bands (from 1) in the terms of RasterIO(). */
inline struct zs_band_window zsBandWindow(int x, int y, int width, int height, void *data, const int *bands,
                                          int bandCount, GSpacing pixelSpace, GSpacing lineSpace, GSpacing bandSpace)
{
    return {static_cast<uint64_t>(x),
            static_cast<uint64_t>(y),
            static_cast<uint64_t>(width),
            static_cast<uint64_t>(height),
            bands,
            static_cast<size_t>(bandCount),
            data,
            static_cast<ptrdiff_t>(pixelSpace),
            static_cast<ptrdiff_t>(lineSpace),
            static_cast<ptrdiff_t>(bandSpace)};
}

/* What a band of any driver means, as the core keeps it; released with zs_meaning_clear(). Nodata is left out. */
struct zs_meaning zsMeaningOf(GDALRasterBand &band);

/* A list of strings as the core owns them; null for an empty one. */
char **zsCopyList(CSLConstList list);

#endif
