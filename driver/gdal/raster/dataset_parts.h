/* gdal/raster/dataset_parts.h: the parts of a dataset (gdal/raster/dataset.h), each with a state and a source file of
 * its own. Properties of bands are those of dataset.h, in band_properties.cpp. */
#pragma once

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

/* ---- Georeferencing of the store: transform, CRS, ground control points, geolocation arrays
 * (dataset_georef.cpp) ---- */

class ZSGeoreferencing
{
    std::vector<GDAL_GCP> m_gcps;
    std::vector<std::string> m_gcpNames;
    char m_noText[1] = {};
    OGRSpatialReference m_gcpSrs;
    bool m_gcpsRead = false, m_gcpsAreDeclared = false;

    ZSView &m_view;
    struct zs_georef m_georef = {};
    bool m_isRead = false; /* read when first asked for, since that may cost requests */
    static constexpr unsigned TRANSFORM = 1, CRS = 2, REGISTRATION = 4, POINTS = 8;
    unsigned m_changed = 0; /* TRANSFORM | CRS | REGISTRATION | POINTS */

    /* Reads m_georef. */
    void Read();
    CPLErr SetSrsOfCells(const OGRSpatialReference *srs);
    void KeepGCPs(const struct zs_gcps &gcps);
    enum zs_status FlushGCPs(struct zs_error *err);

  public:
    explicit ZSGeoreferencing(ZSView &view) : m_view(view)
    {
    }
    ~ZSGeoreferencing()
    {
        zs_georef_clear(&m_georef);
    }
    ZSGeoreferencing(const ZSGeoreferencing &) = delete;
    ZSGeoreferencing &operator=(const ZSGeoreferencing &) = delete;

    const struct zs_georef &Get();
    /* Whether X or Y has coordinates that no transform can express. */
    bool HasIrregularAxes();
    /* False of an array of one dimension: what is set of it is for a side-car file. */
    bool HasAxes() const
    {
        return m_view.IsHealpix() || m_view.Array(0).axes.y >= 0;
    }
    /* Null removes the CRS. CE_Failure with CPLError emitted. */
    CPLErr SetSrs(const OGRSpatialReference *srs);
    CPLErr SetTransform(const double *transform);
    void SetPixelIsPoint(bool isPoint);

    const std::vector<GDAL_GCP> &GCPs();
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
    /* The metadata domain GEOLOCATION, as GDAL's warper reads it, where there are two-dimensional coordinates. */
    CPLStringList Geolocation();

    bool IsPending() const
    {
        return m_changed != 0;
    }
    /* Puts what was set into the store's pending documents. */
    enum zs_status Flush(struct zs_error *err);
};

/* The value of AREA_OR_POINT; null where none is to be shown. */
const char *zsRegistrationOf(const struct zs_georef &georef);

/* ---- Metadata: items and domains of the array and the group above it, or of a group's arrays, are read, merged and
 * written here (dataset_items.cpp) ---- */

class ZSItems
{
    ShardedZarrDataset &m_dataset;
    ZSView &m_view;
    static constexpr unsigned ITEMS = 1, NETCDF_ITEMS = 2, STRUCTURE = 4, GEOLOCATION = 8, DOMAINS = 16;
    unsigned m_read = 0; /* of these */
    std::vector<CPLStringList> m_ownItems; /* of each array */
    CPLStringList m_commonItems;
    bool m_isPending = false, m_domainsChanged = false;

    void SortItems();
    void ReadItems();
    void ReadDomains();
    void ReadStructure();
    void AddFixedPosition(CPLStringList &md, size_t source, int dim);
    void AddAxisItems(CPLStringList &md, size_t source);
    CPLStringList AxisItems();
    /* Coordinates of the only band dimension as the netCDF driver shows them, which rioxarray and that driver's copies
     * understand. */
    CPLStringList NetcdfItems();
    const char *StoredRegistration();
    CPLStringList ItemsAbove() const;
    /* The items to write: without those of axes, unless changed, and without AREA_OR_POINT where a convention declares
     * it. */
    CPLStringList ItemsToWrite();
    enum zs_status WriteItemsOfArray(struct zs_error *err);
    enum zs_status WriteItemsOfGroup(struct zs_error *err);

  public:
    ZSShownMetadata shown;

    ZSItems(ShardedZarrDataset &dataset, ZSView &view) : m_dataset(dataset), m_view(view)
    {
    }

    /* Makes sure that `shown` has an item of a domain, with name NULL all of it. False for domains that are GDAL's. */
    bool Read(const char *domain, const char *name);
    /* Before a domain, which was read, is changed: it is written at the next flush. False where the store does not take
     * it. */
    bool WillChange(const char *domain);
    /* After the array was replaced. */
    void ForgetStructure()
    {
        m_read &= ~STRUCTURE;
    }

    /* Items of an array that its bands show in a group's dataset. The dataset itself shows the items that all arrays
     * have alike. */
    const CPLStringList &OwnItems(size_t source);
    /* Removes the array's items that none of its bands shows any more; new and changed items are written to the
     * band. */
    enum zs_status WriteOwnItems(size_t source, const std::function<bool(const char *)> &isShown,
                                 struct zs_error *err);
    bool IsPending() const
    {
        return m_isPending;
    }
    /* Puts what was set into the store's pending documents. */
    enum zs_status Flush(struct zs_error *err);
};

/* Adds the items of an index into a dimension: DIM_time_INDEX=0, DIM_time_VALUE=2024-05-01T00:00:00 ... Label and unit
 * may be null. */
void zsAddPosition(CPLStringList &items, const ZSView &view, size_t source, int dim, uint64_t index, const char *label,
                   const char *unit);

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

class ZSMasks
{
    ShardedZarrDataset &m_dataset;
    ZSView &m_view;
    bool m_isFound = false;
    std::vector<ZSMask> m_masks; /* of each array; read when first asked for */
    bool m_keepsLevels = false;
    bool m_isAdded = false;

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
    void Close()
    {
        m_masks.clear();
    }

    /* Whether there is a new one: its arrays name it at the next flush, if that stored its pixels. */
    bool IsAdded() const
    {
        return m_isAdded;
    }
    void SetPublished()
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
        std::shared_ptr<ShardedZarrDataset> dataset;
    };

  private:
    ShardedZarrDataset &m_dataset;
    ZSView &m_view;
    bool m_isFound = false;
    std::vector<std::shared_ptr<ShardedZarrDataset>> m_levels; /* of the store */
    ZSOwned<struct zs_overviews> m_made{nullptr, zs_overviews_free}; /* outlives the levels that are being made: */
    std::vector<Level> m_begun; /* by ascending factors; none where they get no content */

    enum zs_status Open(ZSArray &base, struct zs_error *err);
    void Find();
    void Forget();

  public:
    size_t filled = 0; /* how many levels that were begun have their pixels, from the first on */

    ZSOverviews(ShardedZarrDataset &dataset, ZSView &view) : m_dataset(dataset), m_view(view)
    {
    }

    int Count();
    GDALRasterBand *Get(int band, int i);

    /* Sets up the levels that Make() fills and publishes. */
    CPLErr Begin(const char *resampling, const std::vector<int> &factors);
    const std::vector<Level> &Begun() const
    {
        return m_begun;
    }
    /* Replaces the overviews by levels of the given factors. The arrays of a group are done one after the other: after
     * a failure, some have new levels. */
    CPLErr Make(const char *resampling, const std::vector<int> &factors, GDALProgressFunc progress, void *progressData,
                CSLConstList options);
    CPLErr MakeOfEach(const char *resampling, const std::vector<int> &factors, GDALProgressFunc progress,
                      void *progressData, CSLConstList options);
    CPLErr Remove();

    CPLErr FlushPixels(bool atClosing);
    void Close()
    {
        m_levels.clear();
    }
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
    bool m_areCellsReady = false; /* where there are some; nodata may still be set in update mode */
    bool m_isBlank = false;  /* made by Create(), and not written yet: see Settle() */

    /* Of a blank array the nodata value becomes the fill value: pixels that are never written read as nodata, as in
     * other drivers. The first window that is written (else null) chooses the filter of blosc. */
    CPLErr Settle(const struct zs_band_window *first, GDALDataType type);
    CPLErr ReplaceArray(const unsigned char *fill, const struct zs_blosc_settings *filter);
    /* Converts the elements of a window and writes them. */
    CPLErr Store(const struct zs_band_window &window, GDALDataType type);
    /* Reads or writes a window of as many pixels as the buffer has; with a progress function in strips, until it
     * cancels. */
    CPLErr MoveStrips(GDALRWFlag flag, const struct zs_band_window &window, GDALDataType type,
                      const GDALRasterIOExtraArg *extra);
    /* Reads a window into a buffer of another size, or one of fractions, taking the nearest pixels as GDAL does.
     * Returns false when GDAL must read: other resamplings, windows too large to hold. */
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
    /* What RasterIO() asks for, as one plan. Returns false when GDAL must read or write, block by block: then the
     * chunks of a window to read are in the cache, unless it is in update mode. */
    bool Move(GDALRWFlag flag, const struct zs_band_window &window, int bufWidth, int bufHeight, GDALDataType type,
              GDALRasterIOExtraArg *extra, CPLErr &result);
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
    }
    /* The properties of a blank raster are about to be published. */
    CPLErr SettleProperties()
    {
        const CPLErr result = Settle(nullptr, GDT_Unknown);
        m_isBlank = false;
        return result;
    }
};

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
