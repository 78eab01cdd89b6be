/* gdal/raster/dataset_parts.h: the parts of a dataset (gdal/raster/dataset.h), each with a state and a source file of
 * its own: none refers to another. That of band properties is in band.h. */
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gdal/compat.h"
#include "gdal/guard.h"
#include "gdal/types.h"
#include "items.h"
#include "gdal/create/filter.h"
#include "gdal/create/target.h"
#include "view.h"

extern "C"
{
#include "geo/georef.h"
#include "raster/masks.h"
#include "raster/overviews.h"
#include "raster/pixels.h"
}

class ShardedZarrDataset;

/* The role of a dataset for another: its overview, or its mask. */
struct ZSRole
{
    ShardedZarrDataset *base = nullptr;   /* whose overview it is; null where it is none */
    ShardedZarrDataset *masked = nullptr; /* whose mask it is; null where it is none, and for overviews of a mask */
    bool isMask = false;                  /* a mask, or an overview of one */
    struct zs_validity validity = {};     /* of these: which elements mean "valid" */

    bool IsOverview() const
    {
        return base != nullptr;
    }
};

/* A part whose changes are documents. */
class ZSDatasetPart
{
  public:
    ZSDatasetPart() = default;
    ZSDatasetPart(const ZSDatasetPart &) = delete;
    ZSDatasetPart &operator=(const ZSDatasetPart &) = delete;
    virtual ~ZSDatasetPart() = default;

    /* Whether something was set that is not in the store. */
    virtual bool IsPending() const = 0;
    /* Puts it into the store's pending documents, which are published together after all parts. */
    virtual enum zs_status Flush(struct zs_error *err) = 0;
    /* It was published. */
    virtual void SetPublished() = 0;
};

/* Ground control points of a dataset as the store keeps them. */
class ZSGcps
{
    std::vector<struct zs_gcp> m_list;
    std::string m_crs;
    struct zs_gcps m_gcps = {};
    bool m_isKept = false;

  public:
    ZSGcps(int count, const GDAL_GCP *list, const OGRSpatialReference *srs);
    ZSGcps(const ZSGcps &) = delete;
    ZSGcps &operator=(const ZSGcps &) = delete;
    /* False where they are too many, or not finite: none are kept then. */
    bool IsKept() const
    {
        return m_isKept;
    }
    const struct zs_gcps &Get() const
    {
        return m_gcps;
    }
};

/* ---- Georeferencing of the store: transform, CRS, ground control points, geolocation arrays
 * (dataset_georef.cpp) ---- */

class ZSGeoreferencing : public ZSDatasetPart
{
    std::vector<GDAL_GCP> m_gcps;
    std::vector<std::string> m_gcpNames;
    char m_noText[1] = {};
    OGRSpatialReference m_gcpSrs;
    bool m_gcpsRead = false, m_gcpsAreDeclared = false, m_geolocationAdded = false;

    CPLStringList Geolocation();
    void KeepGCPs(const struct zs_gcps &gcps);
    enum zs_status FlushGCPs(struct zs_error *err);

  protected:
    static constexpr unsigned TRANSFORM = 1, CRS = 2, REGISTRATION = 4, POINTS = 8;
    ZSView &m_view;
    struct zs_georef m_georef = {};
    bool m_isRead = false; /* read when first asked for, since that may cost requests */
    unsigned m_changed = 0; /* TRANSFORM | CRS | REGISTRATION | POINTS */

    /* Reads m_georef. */
    virtual void Read();

  public:
    explicit ZSGeoreferencing(ZSView &view) : m_view(view)
    {
    }
    ~ZSGeoreferencing() override
    {
        zs_georef_clear(&m_georef);
    }
    /* The georeferencing of that kind of pixels. */
    static std::unique_ptr<ZSGeoreferencing> Of(ZSView &view);

    const struct zs_georef &Get();
    /* Whether X or Y has coordinates that no transform can express. */
    virtual bool HasIrregularAxes();
    /* Null removes the CRS. CE_Failure with CPLError emitted. */
    virtual CPLErr SetSrs(const OGRSpatialReference *srs);
    virtual CPLErr SetTransform(const double *transform);
    void SetPixelIsPoint(bool isPoint);

    virtual const std::vector<GDAL_GCP> &GCPs();
    /* Null where they have none. */
    const OGRSpatialReference *GCPSrs() const
    {
        return m_gcpSrs.IsEmpty() ? nullptr : &m_gcpSrs;
    }
    /* Whether they are of a product, where times of rows and ranges of columns give a transform, too. */
    bool HasGCPsOfProduct()
    {
        return !GCPs().empty() && !m_gcpsAreDeclared;
    }
    /* Sets those that the array declares. As in a GeoTIFF they take the place of a transform, and it theirs. CE_Failure
     * with CPLError emitted. */
    CPLErr SetGCPs(int count, const GDAL_GCP *list, const OGRSpatialReference *srs);
    /* Gives the dataset, once, the metadata domain GEOLOCATION, as GDAL's warper reads it, where there are
     * two-dimensional coordinates. */
    void AddGeolocation(GDALDataset &dataset);

    bool IsPending() const override
    {
        return m_changed != 0;
    }
    enum zs_status Flush(struct zs_error *err) override;
    void SetPublished() override
    {
        m_changed = 0;
    }
};

/* The value of AREA_OR_POINT; null where none is to be shown. */
const char *zsRegistrationOf(const struct zs_georef &georef);

/* ---- Metadata: items and domains of the array and the group above it, or of a group's arrays, are read, merged and
 * written here. They are kept in GDAL's own object; those of a side-car file go before (dataset_items.cpp) ---- */

class ZSItems : public ZSDatasetPart
{
    ShardedZarrDataset &m_dataset;
    ZSView &m_view;
    bool m_isRead = false, m_netcdfRead = false, m_domainsRead = false;
    CPLStringList m_fromStore; /* the store's items: a side-car file does not repeat them */
    struct zs_domains m_domains = {};
    CPLStringList m_structure; /* the domain IMAGE_STRUCTURE, once it was asked for */
    std::vector<CPLStringList> m_ownItems; /* of each array */
    CPLStringList m_commonItems;
    bool m_isPending = false, m_domainsChanged = false;

    void SortItems();
    void KeepDomains();
    void AddFixedPosition(CPLStringList &md, size_t source, int dim);
    void AddAxisItems(CPLStringList &md, size_t source);
    CPLStringList AxisItems();
    /* Coordinates of the only band dimension as the netCDF driver shows them, which rioxarray and that driver's copies
     * understand. */
    CPLStringList NetcdfItems();
    const char *StoredRegistration();
    /* The group directly above the arrays, null where there is none; and its items. */
    const struct zs_node *GroupAbove() const;
    CPLStringList ItemsAbove() const;
    /* The items to write: without those of axes, unless changed, and without AREA_OR_POINT where a convention declares
     * it. */
    CPLStringList ItemsToWrite();
    const CPLStringList &CommonItems();
    enum zs_status WriteItemsOfArray(struct zs_error *err);
    enum zs_status WriteItemsOfGroup(struct zs_error *err);

  public:
    ZSItems(ShardedZarrDataset &dataset, ZSView &view) : m_dataset(dataset), m_view(view)
    {
    }
    ~ZSItems() override
    {
        zs_domains_clear(&m_domains);
    }

    /* Gives the dataset the items of the default domain, or of another (NULL: of all), unless it has them. */
    void Read();
    /* Reads NETCDF_DIM_ items, too, which takes reading coordinates: for callers that ask for these or for all. */
    void ReadAll();
    void ReadDomains(const char *domain);
    /* IMAGE_STRUCTURE: whether the bands of a pixel lie in a chunk together, how chunks are compressed, what shape
     * shards have. Of the array as it is, and nothing that a side-car file should repeat. */
    CPLStringList &Structure();

    /* They are set in the dataset, in update mode. */
    void SetChanged(const char *domain);
    void ForgetStructure()
    {
        m_structure.Clear();
    }

    /* Items of an array that its bands show in a group's dataset. The dataset itself shows the items that all arrays
     * have alike. */
    const CPLStringList &OwnItems(size_t source);
    /* Removes the array's items that none of its bands shows any more; new and changed items are written to the
     * band. */
    enum zs_status WriteOwnItems(size_t source, const std::function<bool(const char *)> &isShown,
                                 struct zs_error *err);

    /* Takes out of the XML of a side-car file what the store has. */
    void DropStored(CPLXMLNode *tree)
    {
        KeepDomains();
        zsDropStored(tree, m_fromStore.List(), m_domains);
    }

    bool IsPending() const override
    {
        return m_isPending;
    }
    enum zs_status Flush(struct zs_error *err) override;
    void SetPublished() override;
};

/* ---- Masks: arrays beside a raster's that mark valid pixels, as datasets of Byte whose bands are GDAL's
 * masks (dataset_masks.cpp) ---- */

/* The mask of an array's bands. */
struct ZSMask
{
    bool isThere = false;
    bool isNamed = false; /* the array names it: then it goes before a nodata value */
    struct zs_mask found = {};
    /* A dataset of Byte, 0 and 255, with a band for each slice of the mask; null where it could not be opened. Shared
     * by the arrays that have one mask. */
    std::shared_ptr<ShardedZarrDataset> dataset;
};

class ZSMasks : public ZSDatasetPart
{
    ShardedZarrDataset &m_dataset;
    ZSView &m_view;
    bool m_isFound = false;
    std::vector<ZSMask> m_masks; /* of each array; read when first asked for */
    bool m_keepsLevels = false;
    bool m_isAdded = false, m_isLost = false, m_isWhole = true;

    void Find();
    void FindOf(size_t source);
    void Open(size_t source, const ZSBandSource &mask);

  public:
    ZSMasks(ShardedZarrDataset &dataset, ZSView &view) : m_dataset(dataset), m_view(view)
    {
    }

    /* The mask of an array; of an overview, that of its base. */
    const ZSMask &Of(size_t source);
    /* The band of that mask's dataset which belongs to a band of the raster. */
    int BandOf(int band);
    /* Whether all bands have the same mask. */
    bool IsOne();
    /* Each dataset of masks once. */
    std::vector<ShardedZarrDataset *> Datasets();
    /* Makes one for all bands. CE_Failure with CPLError emitted. */
    CPLErr Create();

    /* Notes that the mask has overviews of its own: new ones need none of it. */
    void KeepLevels()
    {
        m_keepsLevels = true;
    }
    CPLErr MakeLevels(const char *resampling, const std::vector<int> &factors, CSLConstList options);

    CPLErr FlushPixels(bool atClosing);
    /* A new mask is named by its arrays only when it is whole: else nothing is published. */
    bool IsWhole() const
    {
        return m_isWhole;
    }
    void Close()
    {
        m_masks.clear();
    }

    /* Its documents are handed over when it is made. */
    bool IsPending() const override
    {
        return m_isAdded;
    }
    enum zs_status Flush(struct zs_error *) override
    {
        return ZS_OK;
    }
    void SetPublished() override
    {
        m_isAdded = false;
    }
};

/* ---- Overviews in the store, found, made and removed (dataset_overviews.cpp); those beside it are GDAL's ---- */

class ZSOverviews
{
  public:
    /* A level that is being made. */
    struct Level
    {
        int factor;
        std::unique_ptr<ShardedZarrDataset> dataset;
    };

  private:
    ShardedZarrDataset &m_dataset;
    ZSView &m_view;
    bool m_isFound = false;
    std::vector<std::unique_ptr<ShardedZarrDataset>> m_levels; /* of the store */
    ZSOwned<struct zs_overviews> m_made{nullptr, zs_overviews_free}; /* outlives the levels that are being made: */
    std::vector<Level> m_begun; /* by ascending factors; none where they get no content */
    size_t m_filled = 0; /* how many of these have their pixels, from the first on */

    void Add(ZSArray &base, const struct zs_node *node, const ZSOpenOptions &options);
    enum zs_status Open(ZSArray &base, struct zs_error *err);
    void Find();
    void Forget();

  public:
    ZSOverviews(ShardedZarrDataset &dataset, ZSView &view);
    ~ZSOverviews();
    ZSOverviews(const ZSOverviews &) = delete;
    ZSOverviews &operator=(const ZSOverviews &) = delete;

    int Count();
    GDALRasterBand *Get(int band, int i);

    /* Sets up the levels that Make() fills and publishes. */
    CPLErr Begin(const char *resampling, const std::vector<int> &factors);
    const std::vector<Level> &Begun() const
    {
        return m_begun;
    }
    /* Notes that the first ones have their pixels. */
    void SetFilled(size_t count)
    {
        m_filled = count;
    }
    /* Replaces the overviews by levels of the given factors. The arrays of a group are done one after the other: after
     * a failure, some have new levels. */
    CPLErr Make(const char *resampling, const std::vector<int> &factors, GDALProgressFunc progress, void *progressData,
                CSLConstList options);
    CPLErr MakeOfEach(const char *resampling, const std::vector<int> &factors, GDALProgressFunc progress,
                      void *progressData, CSLConstList options);
    CPLErr Remove();

    CPLErr FlushPixels();
    CPLErr Close();
};

/* Fills a band of a level by resampling that of `from`, which is larger: where anything is stored (dataset_levels.cpp).
 * CE_Failure with CPLError emitted. */
CPLErr zsMakeLevelBand(ShardedZarrDataset &from, ShardedZarrDataset &level, int band, const char *resampling,
                       GDALProgressFunc progress, void *progressData, CSLConstList options);

/* Whether overviews of such pixels can be made so; else CPLError is emitted, before any is. Resampling "": default. */
bool zsMayResample(const std::string &name, GDALDataType type, const ZSNodata &nodata, const std::string &resampling);

/* ---- Pixels: windows of the bands, read and written. Knows whether pixels of a new raster were written, and makes its
 * nodata value the fill value until then (dataset_pixels.cpp) ---- */

class ZSPixels
{
    ShardedZarrDataset &m_dataset;
    ZSView &m_view;
    bool m_isBlank = false;  /* made by Create(), and not written yet: see Settle() */
    std::array<unsigned char, ZS_MAX_ITEM_SIZE> m_blankFill = {}; /* the fill value that Create() gave it */

    /* Of a blank array the nodata value becomes the fill value: pixels that are never written read as nodata, as in
     * other drivers. The first window that is written (else null) chooses the filter of blosc. */
    CPLErr Settle(const struct zs_band_window *first, GDALDataType type);
    CPLErr ReplaceArray(const unsigned char *fill, const struct zs_blosc_settings *filter);
    /* Converts the elements of a window and writes them. */
    CPLErr Store(const struct zs_band_window &window, GDALDataType type);
    /* Reads a window into a buffer of another size, taking the nearest pixels as GDAL does, as one plan rather than
     * block by block. Returns false when GDAL must read: other resamplings, windows too large to hold. */
    bool ReadNearest(const struct zs_band_window &window, int bufWidth, int bufHeight, GDALDataType type,
                     GDALRasterIOExtraArg *extra, CPLErr &result);

  public:
    bool isWritten = false;
    bool areLevelsOld = false; /* pixels were written, and no overviews since */
    bool hasLost = false;      /* pixels could not be written */
    ZSFilterOfFirst firstFilter;

    ZSPixels(ShardedZarrDataset &dataset, ZSView &view) : m_dataset(dataset), m_view(view)
    {
    }

    /* Reads or writes a window of as many pixels as the buffer has. CE_Failure with CPLError emitted, as below. */
    CPLErr Read(const struct zs_band_window &window, GDALDataType type);
    CPLErr Write(const struct zs_band_window &window, GDALDataType type);
    /* Like Read() and Write(); with a progress function in pieces, until it cancels. */
    CPLErr Move(GDALRWFlag flag, const struct zs_band_window &window, GDALDataType type,
                const GDALRasterIOExtraArg *extra);

    /* Returns whether GDAL will read this window from an overview. */
    bool IsForOverview(int x, int y, int width, int height, int bufWidth, int bufHeight, GDALRasterIOExtraArg *extra);
    /* Reads from the overview that GDAL would take, all bands together. Returns false when GDAL would take none, or one
     * that is not in the store. */
    bool ReadOverview(int x, int y, int width, int height, void *data, int bufWidth, int bufHeight, GDALDataType type,
                      int bandCount, BANDMAP_TYPE bands, GSpacing pixelSpace, GSpacing lineSpace, GSpacing bandSpace,
                      GDALRasterIOExtraArg *extra, CPLErr &result);
    /* Reads a window into a buffer of another size where this driver is quicker than GDAL. Returns false when GDAL must
     * read, block by block: then the chunks of the window are in the cache, unless it is an overview's or in update
     * mode. */
    bool ReadResampled(const struct zs_band_window &window, int bufWidth, int bufHeight, GDALDataType type,
                       GDALRasterIOExtraArg *extra, CPLErr &result);
    /* Writes a window from a buffer of another size, the nearest pixels as GDAL does. GDAL itself would read blocks,
     * and write them whole later: what other writers put there meanwhile would be lost. */
    CPLErr WriteResampled(const struct zs_band_window &window, int bufWidth, int bufHeight, GDALDataType type,
                          const GDALRasterIOExtraArg *extra);
    /* Loads the chunks of a window into the cache, for reads that come block by block. */
    CPLErr Prefetch(const struct zs_band_window &window);
    /* Finds the HEALPix cells of the pixels, if the view shows cells. */
    enum zs_status PrepareCells(struct zs_error *err);

    /* Whether the view shows cells, and has an element for each. */
    bool HasAllCells();
    /* Which pixels of a band are cells: 255, else 0. */
    CPLErr ReadCellMask(int band, int x, int y, int width, int height, unsigned char *mask, int lineSpace);

    /* Notes that the raster is new, and has only fill values. */
    void SetBlank()
    {
        m_isBlank = true;
        memcpy(m_blankFill.data(), m_view.Info(0).fill_value, m_view.Info(0).item_size);
    }
    /* The properties of a blank raster are about to be published. */
    CPLErr SettleProperties()
    {
        const CPLErr result = Settle(nullptr, GDT_Unknown);
        m_isBlank = false;
        return result;
    }
};

/* Whether a buffer of the window's size takes its pixels one by one. Of a window of fractions GDAL's other drivers, but
 * for MEM, take those under the centres of the buffer's pixels, which may be others. */
bool zsIsWhole(const struct zs_band_window &window, const GDALRasterIOExtraArg *extra);

/* What waits for the end of a dataset (dataset.cpp). */
struct ZSClosing
{
    bool isDone = false; /* it was closed: nothing is flushed any more */
    GDALProgressFunc progress = GDALDummyProgress;
    void *progressData = nullptr;
    /* Overviews to be made at the end; none without factors. Resampling "": by the bands' kind then. */
    std::vector<int> factors;
    std::string resampling;
    bool hasStatistics = false;
    std::unique_ptr<ZSNewStore> made; /* by Create(), until the first flush publishes it */
};
