/* gdal/handles.h: an opened store and its arrays, which both faces share, and what lies beside them. */
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compat.h"

extern "C"
{
#include "array/array.h"
#include "geo/axes.h"
#include "geo/bands.h"
#include "geo/georef.h"
#include "raster/healpix_read.h"
}

/* What a function returns that failed, and has emitted CPLError: false, CE_Failure or null. */
struct ZSFailed
{
    operator bool() const
    {
        return false;
    }
    operator CPLErr() const
    {
        return CE_Failure;
    }
    template <class T> operator T *() const
    {
        return nullptr;
    }
    template <class T> operator std::unique_ptr<T>() const
    {
        return nullptr;
    }
    template <class T> operator std::shared_ptr<T>() const
    {
        return nullptr;
    }
};

/* Emits a CPLError. */
ZSFailed zsRefuse(CPLErrorNum number, const char *format, ...) CPL_PRINT_FUNC_FORMAT(2, 3);
/* Emits the message of a core error as one CPLError. */
ZSFailed zsReport(const struct zs_error &err);

/* A text that GDAL hands over, as UTF-8, which all texts of a store are. What is not UTF-8 is taken for Latin-1, as old
 * files have it, with a warning: while a ZSOneWarning lives in this thread, with one for all texts. */
std::string zsUtf8(const std::string &text);
CPLStringList zsUtf8List(CSLConstList list);
/* What a store keeps of a CRS: a copy, of such texts; null of null. That it keeps no coordinate epoch is a warning,
 * which begins with `name`; none without a name. */
std::unique_ptr<OGRSpatialReference> zsStoredSrs(const OGRSpatialReference *srs, const char *name);
class ZSOneWarning
{
    const bool m_isOutermost;

  public:
    ZSOneWarning();
    ~ZSOneWarning();
    CPL_DISALLOW_COPY_ASSIGN(ZSOneWarning)
};

/* An opened store, shared by the datasets made of it (overviews, clones in other threads). */
struct ZSStore
{
    struct zs_store *store = nullptr;
    struct zs_hierarchy *hierarchy = nullptr;
    std::string name; /* its VSI path; of a signed URL with the signature, which messages and store->root leave out */

    ZSStore() = default;
    ~ZSStore();
    /* Notes that a dataset of the program is opened on it, until it goes: Delete() asks (zsIsOpen). */
    void NoteOpen();
    /* The path of the document at its root. */
    std::string Entry() const;
    CPL_DISALLOW_COPY_ASSIGN(ZSStore)
};

/* Whether this program has a dataset open on the store at a path. */
bool zsIsOpen(const std::string &path);

/* While it lives, an edit that changes several documents; one that is not kept, and has changed some, ends the
 * hierarchy: nothing of it is written. */
class ZSWholeEdit
{
    struct zs_hierarchy *m_hierarchy;
    size_t m_edits;

  public:
    explicit ZSWholeEdit(struct zs_hierarchy *hierarchy)
        : m_hierarchy(hierarchy), m_edits(zs_hierarchy_edits(hierarchy))
    {
    }
    CPL_DISALLOW_COPY_ASSIGN(ZSWholeEdit)
    ~ZSWholeEdit()
    {
        zs_hierarchy_abandon(m_hierarchy, m_edits);
    }
    void Keep()
    {
        m_edits = zs_hierarchy_edits(m_hierarchy);
    }
};

/* While it lives, what is written to a remote store goes side by side; nobody is to look at that before its metadata,
 * which come last. */
class ZSOverlap
{
    struct zs_store *m_store = nullptr; /* null where there is nothing to end */

  public:
    ZSOverlap() = default;
    CPL_DISALLOW_COPY_ASSIGN(ZSOverlap)
    ~ZSOverlap();
    void Begin(const ZSStore &store);
    bool End(); // false with CPLError emitted
};

/* What the open options ask for: nothing before Parse(), which sets all by the table (create/options.cpp). */
struct ZSOpenOptions
{
    int threads = 0;
    uint64_t cache_bytes = 0, max_chunk_bytes = 0, merge_gap = 0; /* 0: the core's default */
    bool multiband = false;
    bool fsync = false; /* as in ZSCreationOptions */
    enum zs_update update = {};
    std::optional<bool> conditions; /* none: as it is configured */
    bool healpix = false; /* cells are shown as a map */
    std::string dim_x, dim_y; /* "" when not given */

    /* Reads GDAL's list; false (CPLError emitted) when a value is not allowed. */
    bool Parse(CSLConstList options);
    /* What they say of an array that is opened. */
    struct zs_array_options ForArrays() const;
};

/* For an array that decodes and encodes with so many threads, within the budget of the process: set to a quarter of
 * GDAL_CACHEMAX. */
struct zs_array_options zsArrayOptions(int threads);

/* What the coordinates of each band dimension of an array say. */
using ZSLabels = std::vector<std::shared_ptr<const struct zs_labels>>;

/* An opened array, shared by a dataset and its clones in other threads, all of them read-only; in update mode by
 * nobody. What is read when first asked for is read under the lock, once for all, and then stays as it is. */
struct ZSArray
{
    const struct zs_node *node; /* of the store's hierarchy; the store must outlive it */
    struct zs_array *array;
    struct zs_axes axes;
    bool isOwned;
    bool isHealpix = false; /* X is the dimension of cells, which `healpix` describes; there is no Y */
    struct zs_healpix healpix = {};

    std::mutex lock;
    bool georefRead = false, georefFailed = false;
    struct zs_georef georef = {};
    std::shared_ptr<const ZSLabels> labels; /* null: not read yet */
    bool cellsRead = false;
    struct zs_healpix_cells cells = {}; /* where there is a coordinate of them */
    bool overviewsFound = false;
    std::vector<std::shared_ptr<ZSArray>> overviews;

    ZSArray(const struct zs_node *nodeIn, struct zs_array *arrayIn, struct zs_axes axesIn, bool isOwnedIn)
        : node(nodeIn), array(arrayIn), axes(axesIn), isOwned(isOwnedIn)
    {
    }
    ~ZSArray();
    CPL_DISALLOW_COPY_ASSIGN(ZSArray)

    /* Reads the coordinate of cells, where there is one. */
    enum zs_status ReadCells(const ZSStore &store, struct zs_error *err);
    /* Whether it can be written as a raster: of HEALPix cells nested ones of all the sphere. False with the reason in
     * err. */
    bool MayWriteCells(const ZSStore &store, struct zs_error *err);

    /* Null, with the message in err, when that is not possible; *isKind tells whether it is the kind of array that is
     * not. */
    static std::shared_ptr<ZSArray> Open(const ZSStore &store, const struct zs_node *node, const ZSOpenOptions &options,
                                         struct zs_error *err, bool *isKind = nullptr);
};

/* Properties of a band or an array, owned. What sets them throws without memory; texts become UTF-8. */
struct ZSProperties : zs_band_properties
{
    ZSProperties() : zs_band_properties{}
    {
    }
    ZSProperties(const ZSProperties &other);
    ZSProperties(ZSProperties &&other) noexcept : zs_band_properties(other)
    {
        static_cast<zs_band_properties &>(other) = {};
    }
    ZSProperties &operator=(ZSProperties other)
    {
        std::swap<zs_band_properties>(*this, other);
        return *this;
    }
    ~ZSProperties()
    {
        zs_band_properties_clear(this);
    }
    /* Makes a member, of whatever kind, one that the band has not. */
    void Unset(const char *name);
    /* Members: null, "" and an empty list are none. */
    void SetText(const char *name, const char *text);
    void SetNumber(const char *name, double value);
    void SetNames(const char *name, CSLConstList names);
    void SetItems(CSLConstList items);
};
