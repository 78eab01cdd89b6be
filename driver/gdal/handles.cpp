#include "handles.h"

#include <algorithm>
#include <cstdarg>
#include <map>
#include <memory>

#include "connection.h"
#include "guard.h"

extern "C"
{
#include "base/cache.h"
#include "base/parallel.h"
}

/* Paths of the stores of datasets, while one of these lives. */
struct OpenStores
{
    using Names = std::map<const ZSStore *, std::string>;
    static Names &names; /* never destroyed: datasets may be closed while the process ends */

    OpenStores() { pthread_mutex_lock(&zs_locks[ZS_LOCK_STORES]); }
    ~OpenStores() { pthread_mutex_unlock(&zs_locks[ZS_LOCK_STORES]); }
    CPL_DISALLOW_COPY_ASSIGN(OpenStores)
};
OpenStores::Names &OpenStores::names = *new Names;

/* A path without links, and whole: a relative one means another folder once the program changes its own. As it is
 * where there is no such path on the disk. */
static std::string realPath(const std::string &name)
{
    const std::unique_ptr<char, decltype(&free)> path(realpath(name.c_str(), nullptr), free);
    return path != nullptr ? path.get() : name;
}

void ZSStore::NoteOpen()
{
    OpenStores().names[this] = realPath(name);
}

bool zsIsOpen(const std::string &path)
{
    const std::string real = realPath(path);
    const OpenStores open;
    return std::any_of(open.names.begin(), open.names.end(), [&](const auto &entry) { return entry.second == real; });
}

ZSStore::~ZSStore()
{
    OpenStores().names.erase(this);
    zs_hierarchy_free(hierarchy);
    zs_store_free(store);
}

std::string ZSStore::Entry() const
{
    return std::string(store->root) + "/" + (store->manifest != nullptr ? store->manifest : "zarr.json");
}

void ZSOverlap::Begin(const ZSStore &store)
{
    if (zs_store_overlap(store.store)) // else the caller that began it ends it
        m_store = store.store;
}

bool ZSOverlap::End()
{
    struct zs_error err;
    const bool ok = m_store == nullptr || zs_store_overlap_end(m_store, &err) == ZS_OK;
    m_store = nullptr;
    if (!ok)
        zsReport(err);
    return ok;
}

ZSOverlap::~ZSOverlap()
{
    struct zs_error err;
    if (m_store != nullptr && zs_store_overlap_end(m_store, &err) != ZS_OK)
        CPLDebug("ShardedZarr", "%s", err.message); // the reason was reported
}

ZSArray::~ZSArray()
{
    zs_georef_clear(&georef);
    zs_healpix_cells_clear(&cells);
    if (isOwned)
        zs_array_close(array);
}

/* Once for all clones. */
enum zs_status ZSArray::ReadCells(const ZSStore &store, struct zs_error *err)
{
    const std::lock_guard<std::mutex> guard(lock);
    if (healpix.coordinate == nullptr || cellsRead)
        return ZS_OK;
    ZS_TRY(zs_healpix_cells_read(store.hierarchy, &healpix, node->array->shape[healpix.dim], &cells, err));
    cellsRead = true;
    return ZS_OK;
}

bool ZSArray::MayWriteCells(const ZSStore &store, struct zs_error *err)
{
    if (!isHealpix)
        return true;
    const bool isWhole = node->array->shape[healpix.dim] == zs_healpix_cells_of(healpix.order);
    const bool isPlain = !healpix.is_ring && healpix.words == ZS_HEALPIX_NUMBERS;
    if (isPlain && isWhole && ReadCells(store, err) != ZS_OK)
        return false;
    if (isPlain && isWhole && (healpix.coordinate == nullptr || cells.is_all))
        return true;
    zs_fail(err, ZS_UNSUPPORTED,
            "array /%s: only nested HEALPix cells of all the sphere in order are written as a map; the open option "
            "HEALPIX=NO opens them as one row",
            node->path);
    return false;
}

ZSFailed zsRefuse(CPLErrorNum number, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    CPLErrorV(CE_Failure, number, format, arguments);
    va_end(arguments);
    return {};
}

ZSFailed zsReport(const struct zs_error &err)
{
    return zsRefuse(CPLE_AppDefined, "ShardedZarr: %s", err.message);
}

static thread_local enum { EACH_WARNS, NEXT_WARNS, NONE_WARNS } recoding;

ZSOneWarning::ZSOneWarning() : m_isOutermost(recoding == EACH_WARNS)
{
    recoding = m_isOutermost ? NEXT_WARNS : recoding;
}

ZSOneWarning::~ZSOneWarning()
{
    recoding = m_isOutermost ? EACH_WARNS : recoding;
}

std::string zsUtf8(const std::string &text)
{
    if (zs_utf8_length(text.data(), text.size()) == text.size())
        return text;
    const ZSOwned<char> recoded(CPLRecode(text.c_str(), CPL_ENC_ISO8859_1, CPL_ENC_UTF8),
                                [](char *p) { CPLFree(p); });
    if (recoding != NONE_WARNS)
        CPLError(CE_Warning, CPLE_AppDefined, "\"%.100s\": the text was not UTF-8, and was taken for Latin-1%s",
                 recoded.get(), recoding == NEXT_WARNS ? ", as all texts that are not UTF-8" : "");
    recoding = recoding == NEXT_WARNS ? NONE_WARNS : recoding;
    return recoded.get();
}

CPLStringList zsUtf8List(CSLConstList list)
{
    const ZSOneWarning once;
    CPLStringList texts;
    for (int i = 0; list != nullptr && list[i] != nullptr; i++)
        texts.AddString(zsUtf8(list[i]).c_str());
    return texts;
}

std::unique_ptr<OGRSpatialReference> zsStoredSrs(const OGRSpatialReference *srs, const char *name)
{
    if (name != nullptr && srs != nullptr && srs->GetCoordinateEpoch() > 0)
        CPLError(CE_Warning, CPLE_NotSupported, "%s: the coordinate epoch %g of the CRS is not kept",
                 zsShown(name).c_str(), srs->GetCoordinateEpoch());
    static const char *const version[] = {"FORMAT=WKT2_2019", nullptr};
    std::unique_ptr<OGRSpatialReference> own(srs != nullptr ? srs->Clone() : nullptr);
    char *wkt = nullptr;
    const bool isText = own != nullptr && own->exportToWkt(&wkt, version) == OGRERR_NONE;
    const std::string text = isText ? zsUtf8(wkt) : "";
    if (isText && text != wkt)
    {
        static_cast<void>(own->importFromWkt(text.c_str()));
        own->SetDataAxisToSRSAxisMapping(srs->GetDataAxisToSRSAxisMapping());
    }
    CPLFree(wkt);
    return own;
}

static const char *nullIfEmpty(const std::string &s)
{
    return s.empty() ? nullptr : s.c_str();
}

struct zs_array_options zsArrayOptions(int threads)
{
    struct zs_array_options options = {};
    zs_budget_set(static_cast<uint64_t>(GDALGetCacheMax64()) / 4);
    options.threads = threads;
    return options;
}

struct zs_array_options ZSOpenOptions::ForArrays() const
{
    struct zs_array_options options = zsArrayOptions(threads);
    options.cache_bytes = cache_bytes;
    options.max_chunk_bytes = max_chunk_bytes;
    options.merge_gap = merge_gap;
    options.update = update;
    return options;
}

std::shared_ptr<ZSArray> ZSArray::Open(const ZSStore &store, const struct zs_node *node, const ZSOpenOptions &options,
                                       struct zs_error *err, bool *isKind)
{
    const auto opened = std::make_shared<ZSArray>(node, nullptr, zs_axes{}, true);
    const size_t failures = zs_hierarchy_failures(store.hierarchy);
    const struct zs_array_options arrayOptions = options.ForArrays();
    enum zs_status status = zs_array_open_node(store.hierarchy, node, &arrayOptions, &opened->array, err);
    if (status == ZS_OK)
        status = zs_axes_find(store.hierarchy, node, nullIfEmpty(options.dim_x), nullIfEmpty(options.dim_y),
                              &opened->axes, err);
    if (status == ZS_OK && options.healpix && options.dim_x.empty() && options.dim_y.empty() &&
        zs_healpix_find(store.hierarchy, node, &opened->healpix))
    {
        opened->isHealpix = true;
        opened->axes = {opened->healpix.dim, -1};
    }
    if (status == ZS_OK)
        status = zs_hierarchy_check_since(store.hierarchy, failures, err);
    if (isKind != nullptr)
        *isKind = status == ZS_UNSUPPORTED || status == ZS_INVALID;
    return status == ZS_OK ? opened : nullptr;
}

/* ---- Properties ---- */

static void check(bool ok)
{
    if (!ok)
        throw std::bad_alloc();
}

ZSProperties::ZSProperties(const ZSProperties &other) : zs_band_properties{}
{
    check(zs_band_properties_copy(&other, this, nullptr) == ZS_OK);
}

void ZSProperties::Unset(const char *name)
{
    check(zs_band_set_text(this, name, nullptr));
}

void ZSProperties::SetText(const char *name, const char *text)
{
    check(zs_band_set_text(this, name, text != nullptr ? zsUtf8(text).c_str() : nullptr));
}

void ZSProperties::SetNumber(const char *name, double value)
{
    check(zs_json_set_double(zs_band_members(this), name, value));
}

void ZSProperties::SetNames(const char *name, CSLConstList names)
{
    Unset(name);
    if (names == nullptr || *names == nullptr)
        return;
    zs_json_remove(members, name);
    check(zs_add_names(members, name, zsUtf8List(names).List()));
}

void ZSProperties::SetItems(CSLConstList items)
{
    char **copy;
    check(zs_names_copy(zsUtf8List(items).List(), &copy));
    zs_names_free(std::exchange(metadata, copy));
}
