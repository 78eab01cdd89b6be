/* gdal/raster/dataset.h: an array of a store as a dataset: two dimensions are the raster, the others are flattened to
 * bands; or the arrays of a group that lie on one grid, the bands of one behind those of the other. Overviews and masks
 * are such datasets, too. Each subject has a file of its own: dataset_georef.cpp, dataset_items.cpp ... */
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "band.h"
#include "gdal/compat.h"
#include "gdal/create/target.h"
#include "gdal/guard.h"
#include "gdal/types.h"
#include "items.h"
#include "view.h"

extern "C"
{
#include "geo/georef.h"
#include "raster/masks.h"
#include "raster/overviews.h"
#include "raster/pixels.h"
}

/* Ground control points of a dataset as the store keeps them. */
struct ZSGcps
{
    std::vector<struct zs_gcp> list;
    std::string crs;
    bool isKept; /* else they are too many, or not finite, and the list is empty */

    ZSGcps(int count, const GDAL_GCP *points, const OGRSpatialReference *srs);
    struct zs_gcps Get() const
    {
        return {const_cast<struct zs_gcp *>(list.data()), list.size(), crs.empty() ? nullptr : crs.c_str(),
                !list.empty()};
    }
};

/* The mask of an array's bands: an array beside it that marks valid pixels. */
struct ZSMask
{
    bool isThere = false;
    struct zs_mask found = {};
    /* A dataset of Byte, 0 and 255, with a band for each slice of the mask, which are GDAL's masks; null where it could
     * not be opened. Shared by the arrays that have one mask. */
    std::shared_ptr<ShardedZarrDataset> dataset;
};

/* An overview level that is being made. */
struct ZSBegunLevel
{
    int factor;
    std::shared_ptr<ShardedZarrDataset> dataset;
};

class ShardedZarrDataset : public ZSWithMetadata<GDALPamDataset>
{
    friend class ShardedZarrRasterBand;
    friend class ZSCopiedLevels;

    ZSView m_view;

    /* ---- Its role for another dataset ---- */
    ShardedZarrDataset *m_base = nullptr;   /* whose overview it is; null where it is none */
    ShardedZarrDataset *m_masked = nullptr; /* whose mask it is; null where it is none, and for overviews of a mask */
    bool m_isMask = false;                  /* a mask, or an overview of one */
    struct zs_validity m_validity = {};     /* of these: which elements mean "valid" */

    bool IsOverview() const
    {
        return m_base != nullptr;
    }

    /* ---- Flushing and closing (dataset.cpp) ---- */
    bool m_hasFailed = false;       /* pending documents could not be published */
    bool m_areBandsChanged = false; /* properties of bands were set, which are pending */
    std::map<size_t, std::vector<ZSProperties>> m_bandProperties; /* of all slices of an array, once asked for */
    bool m_isClosed = false;        /* nothing is flushed any more */
    GDALProgressFunc m_progress = GDALDummyProgress; /* of closing */
    void *m_progressData = nullptr;
    /* Overviews to be made at the close; none without factors. Resampling "": by the bands' kind then. */
    std::vector<int> m_laterFactors;
    std::string m_laterResampling;
    bool m_hasLaterStatistics = false;
    std::unique_ptr<ZSNewStore> m_newStore; /* by Create(), until the first flush publishes it */

    CPLErr FlushPixels(bool atClosing);
    /* Puts properties that were set on bands, with those of all other slices of their arrays, into the store's pending
     * documents (band_properties.cpp). */
    enum zs_status FlushBands(struct zs_error *err);
    enum zs_status FlushBandsOf(size_t source, struct zs_error *err);
    enum zs_status PutDocuments(struct zs_error *err);
    CPLErr FlushDocuments();
    CPLErr FlushChanges(bool atClosing);
    CPLErr Publish(bool hasLost);
    CPLErr CloseAll();

    /* ---- Pixels: windows of the bands, read and written (dataset_pixels.cpp) ---- */
    bool m_areCellsReady = false; /* where there are some; nodata may still be set in update mode */
    bool m_isBlank = false;       /* made by Create(), and not written yet */
    bool m_isWritten = false;
    bool m_areLevelsOld = false; /* pixels were written, and no overviews since */
    bool m_hasLost = false;      /* pixels could not be written */

    void AddBands(size_t source);
    /* Of a blank array the nodata value becomes the fill value: pixels that are never written read as nodata, as in
     * other drivers. */
    CPLErr UpdateBlank();
    std::vector<struct zs_conversion> Conversions(GDALRWFlag flag, const struct zs_band_window &window,
                                                  GDALDataType type, std::vector<ZSConversion> &steps) const;
    /* Reads or writes a window of as many pixels as the buffer has. CE_Failure with CPLError emitted, as below. */
    CPLErr ReadWindow(const struct zs_band_window &window, GDALDataType type);
    CPLErr WriteWindow(const struct zs_band_window &window, GDALDataType type);
    /* Either, as one plan, of which progress is told the end. */
    CPLErr MoveWhole(GDALRWFlag flag, const struct zs_band_window &window, GDALDataType type,
                     const GDALRasterIOExtraArg *extra);
    /* Reads a window into a buffer of another size, or one of fractions, taking the nearest pixels as GDAL does.
     * Returns false when GDAL must read: other resamplings, windows too large to hold. */
    bool ReadNearest(const struct zs_band_window &window, int bufWidth, int bufHeight, GDALDataType type,
                     GDALRasterIOExtraArg *extra, CPLErr &result);
    /* What RasterIO() asks for. Returns false when GDAL must read or write, block by block: then the chunks of a window
     * to read are in the cache, unless it is in update mode. */
    bool MoveWindow(GDALRWFlag flag, const struct zs_band_window &window, int bufWidth, int bufHeight,
                    GDALDataType type, GDALRasterIOExtraArg *extra, CPLErr &result);
    /* Loads the chunks of a window into the cache, for reads that come block by block. */
    CPLErr Prefetch(const struct zs_band_window &window);
    /* Finds the HEALPix cells of the pixels, if the view shows cells. */
    enum zs_status PrepareCells(struct zs_error *err);
    /* Which pixels of a band are cells: 255, else 0. */
    CPLErr ReadCellMask(int band, int x, int y, int width, int height, unsigned char *mask, int lineSpace);

    /* ---- Georeferencing of the store: transform, CRS, ground control points, geolocation arrays; that of a side-car
     * file goes before it (dataset_georef.cpp). Read when first asked for, since that may cost requests ---- */
    mutable struct zs_georef m_georef = {};
    mutable bool m_isGeorefRead = false;
    unsigned m_georefChanged = 0; /* what was set and is pending: TRANSFORM ... */
    enum zs_georef_style m_style = ZS_GEOREF_ALL; /* in which it is written where the store declares none */
    mutable std::vector<GDAL_GCP> m_gcps;
    mutable std::vector<std::string> m_gcpNames;
    mutable OGRSpatialReference m_gcpSrs;
    mutable bool m_gcpsRead = false;
    mutable bool m_gcpsAreDeclared = false; /* else a product's, where times and ranges give a transform, too */

    void ReadGeoref() const;
    const struct zs_georef &Georef() const;
    /* Whether georeferencing goes into a side-car file: the store is only read, or the array has one dimension. */
    bool IsKeptBeside() const
    {
        return !IsUpdate() || (!m_view.IsHealpix() && m_view.Array(0).axes.y < 0);
    }
    /* Whether it can be kept there; else CPLError is emitted. */
    bool MayKeepBeside();
    CPLErr SetSrsOfCells(const OGRSpatialReference *srs);
    CPLErr SetSrs(const OGRSpatialReference *srs);
    CPLErr SetTransform(const double *transform);
    /* Takes over what AREA_OR_POINT is set to. CE_Failure, with CPLError emitted, for what is neither. */
    CPLErr SetRegistration(const char *value);
    /* Calls SetRegistration() where `list` changes AREA_OR_POINT, and puts the value that holds into `list`. */
    CPLErr TakeRegistration(const char *name, CPLStringList &list);
    void KeepGCPs(const struct zs_gcps &gcps) const;
    const std::vector<GDAL_GCP> &StoredGCPs() const;
    /* Sets those that the array declares. As in a GeoTIFF they take the place of a transform, and it theirs. */
    CPLErr SetStoredGCPs(int count, const GDAL_GCP *list, const OGRSpatialReference *srs);
    bool HasGCPs() const;
    enum zs_status FlushGCPs(struct zs_error *err);
    enum zs_status FlushGeoref(struct zs_error *err);
    /* The metadata domain GEOLOCATION, as GDAL's warper reads it, where there are two-dimensional coordinates. */
    CPLStringList Geolocation();

    /* ---- Metadata: items and domains of the array and the group above it, or of a group's arrays, are read, merged
     * and written here (dataset_items.cpp) ---- */
    static constexpr unsigned ITEMS = 1, NETCDF_ITEMS = 2, STRUCTURE = 4, GEOLOCATION = 8, DOMAINS = 16;
    std::vector<CPLStringList> m_ownItems; /* of each array */
    CPLStringList m_commonItems;
    bool m_areItemsChanged = false, m_areDomainsChanged = false;

    void SortItems();
    void ReadDefaultDomain();
    void ReadStoredDomains();
    void ReadStructure();
    /* Coordinates of the only band dimension as the netCDF driver shows them, which rioxarray and that driver's copies
     * understand. */
    CPLStringList NetcdfItems();
    const char *StoredRegistration();
    /* The items to write: without those of axes, unless changed, and without AREA_OR_POINT where a convention declares
     * it. */
    CPLStringList ItemsToWrite();
    enum zs_status WriteItemsOfArray(struct zs_error *err);
    enum zs_status WriteItemsOfGroup(struct zs_error *err);
    bool ReadDomain(const char *domain, const char *name) override;
    CPLErr WillSetDomain(const char *domain, const char *name, CPLStringList &list, bool &isStored) override;
    /* Items of an array that its bands show in a group's dataset. The dataset itself shows the items that all arrays
     * have alike. */
    const CPLStringList &OwnItems(size_t source);
    enum zs_status FlushItems(struct zs_error *err);

    /* ---- Masks (dataset_masks.cpp) ---- */
    bool m_areMasksFound = false;
    std::vector<ZSMask> m_masks; /* of each array; read when first asked for */
    bool m_isMaskAdded = false;  /* its arrays name a new one at the next flush, if that stored its pixels */

    void FindMasks();
    void FindMaskOf(size_t source);
    void OpenMask(size_t source, const ZSBandSource &mask);
    /* The mask of an array; of an overview, that of its base. */
    const ZSMask &MaskOf(size_t source);
    /* The band of that mask's dataset which belongs to a band of the raster. */
    int MaskBandOf(int band);
    /* Whether all bands have the same mask. */
    bool HasOneMask();
    /* Each dataset of masks once. */
    std::vector<ShardedZarrDataset *> MaskDatasets();
    CPLErr MakeMaskLevels(const char *resampling, const std::vector<int> &factors, CSLConstList options);
    CPLErr FlushMasks(bool atClosing);

    /* ---- Overviews in the store, found, made and removed (dataset_overviews.cpp); those beside it are GDAL's ---- */
    std::string m_beside; /* the store with overviews beside it, as LookBeside() has it; else "" */
    bool m_areLevelsFound = false;
    std::vector<std::shared_ptr<ShardedZarrDataset>> m_levels; /* of the store */
    ZSOwned<struct zs_overviews> m_made{nullptr, zs_overviews_free}; /* outlives the levels that are being made: */
    std::vector<ZSBegunLevel> m_begun; /* by ascending factors; none where they get no content */
    size_t m_filled = 0; /* how many levels that were begun have their pixels, from the first on */

    enum zs_status OpenLevels(ZSArray &base, struct zs_error *err);
    void FindLevels();
    void ForgetLevels();
    int CountLevels();
    GDALRasterBand *GetLevel(int band, int i);
    /* Sets up the levels that MakeLevels() fills and publishes. */
    CPLErr BeginLevels(const char *resampling, const std::vector<int> &factors);
    /* Replaces the overviews by levels of the given factors. The arrays of a group are done one after the other: after
     * a failure, some have new levels. */
    CPLErr MakeLevels(const char *resampling, const std::vector<int> &factors, GDALProgressFunc progress,
                      void *progressData, CSLConstList options);
    CPLErr MakeLevelsOfEach(const char *resampling, const std::vector<int> &factors, GDALProgressFunc progress,
                            void *progressData, CSLConstList options);
    CPLErr RemoveLevels();
    CPLErr FlushLevels(bool atClosing);
    /* Levels of the pixels and of their masks. */
    CPLErr MakeOverviews(const char *resampling, const std::vector<int> &factors, GDALProgressFunc progress,
                         void *progressData, CSLConstList options);
    CPLErr RemoveOverviews();
    bool WillMakeOverviews() const;
    CPLErr MakeLaterOverviews();
    void WarnOfOldOverviews();

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
    /* The dataset is the one raster of the store at that path: GDAL may keep overviews beside it. */
    void LookBeside(const std::string &store);
    /* Attaches side-car metadata (statistics), for file systems where looking for them costs nothing. */
    void AttachPam(const char *description);
    /* Makes a mask for all bands, with that encoding; null: as arrays of this driver have it. */
    CPLErr AddMask(const struct zs_encoding *encoding);
    /* Notes that this process creates the arrays, with that order of chunks in shards (enum zs_chunk_order) and in
     * those conventions, which no store records. */
    void StartNew(int chunkOrder, enum zs_georef_style style);
    /* Drops all that is pending: the store is not made. */
    void Abandon();
    /* Notes that Create() made the raster, which has fill values alone, and what it gets at the close: overviews of
     * these factors, and statistics. */
    void StartBlank(std::unique_ptr<ZSNewStore> made, bool hasStatistics, const std::vector<int> &factors,
                    const std::string &resampling);

    const ZSView &View() const
    {
        return m_view;
    }
    ShardedZarrRasterBand &Band(int band) const
    {
        return *static_cast<ShardedZarrRasterBand *>(papoBands[band - 1]);
    }
    bool IsUpdate() const
    {
        return eAccess == GA_Update;
    }
    /* Whether X or Y has coordinates that no transform can express. */
    bool HasIrregularAxes();
    /* Whether the view shows cells, and has an element for each: its mask without nodata is that of faces. */
    bool HasAllCells();

    const OGRSpatialReference *GetSpatialRef() const override;
    CPLErr SetSpatialRef(const OGRSpatialReference *srs) override;
    CPLErr GetGeoTransform(ZS_GET_GEOTRANSFORM_ARG transform) ZS_GEOTRANSFORM_CONST override;
    CPLErr SetGeoTransform(ZS_SET_GEOTRANSFORM_ARG transform) override;
    int GetGCPCount() override;
    const OGRSpatialReference *GetGCPSpatialRef() const override;
    const GDAL_GCP *GetGCPs() override;
    CPLErr SetGCPs(int count, const GDAL_GCP *list, const OGRSpatialReference *srs) override;
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

/* Adds the items of an index into a dimension: DIM_time_INDEX=0, DIM_time_VALUE=2024-05-01T00:00:00 ... Label and unit
 * may be null. */
void zsAddPosition(CPLStringList &items, const ZSView &view, size_t source, int dim, uint64_t index, const char *label,
                   const char *unit);

/* Fills a band of a level by resampling that of `from`, which is larger: where anything is stored (dataset_levels.cpp).
 * CE_Failure with CPLError emitted. */
CPLErr zsMakeLevelBand(ShardedZarrDataset &from, ShardedZarrDataset &level, int band, const char *resampling,
                       GDALProgressFunc progress, void *progressData, CSLConstList options);

/* Whether overviews of such pixels can be made so; else CPLError is emitted, before any is. Resampling "": default. */
bool zsMayResample(const std::string &name, GDALDataType type, const ZSNodata &nodata, const std::string &resampling);

/* Whether a band has a mask that neither its nodata value nor an alpha band makes. */
inline bool zsHasMask(GDALRasterBand &band)
{
    return (band.GetMaskFlags() & (GMF_ALL_VALID | GMF_NODATA | GMF_ALPHA)) == 0;
}
