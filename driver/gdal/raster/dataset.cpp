#include "guarded.h"

#include <algorithm>
#include <climits>

#include "choices.h"
#include "healpix_map.h"

extern "C"
{
#include "base/checked.h"
#include "raster/pixels.h"
}

/* ---- Opening ---- */

// Of a block, where chunks are of different shapes.
constexpr uint64_t MOST_BLOCK = 512;

std::unique_ptr<ShardedZarrDataset> ShardedZarrDataset::OpenArray(const std::shared_ptr<ZSStore> &store,
                                                                  const struct zs_node *node,
                                                                  const ZSOpenOptions &options, GDALAccess access,
                                                                  struct zs_error *err)
{
    const auto opened = ZSArray::Open(*store, node, options, err);
    if (opened == nullptr)
        return nullptr;
    const ZSBandSources sources(1, ZSBandSource{opened, {}});
    return Over(store, sources, nullptr, options, access, err);
}

/* The bands of one array. From the last: the first call makes room for all. */
void ShardedZarrDataset::AddBands(size_t source)
{
    const struct zs_array_info info = m_view.Info(source);
    const int x = m_view.Array(source).axes.x, y = m_view.Array(source).axes.y;
    // GDAL's blocks are of one size. Where chunks are not, they need not be chunks: the cache of these serves all that
    // touch one.
    const uint64_t mostBlock = info.has_edges && !info.is_sharded ? MOST_BLOCK : UINT64_MAX;
    const auto block = [&](int d) {
        return static_cast<int>(std::min({info.chunk_shape[d], info.shape[d], mostBlock}));
    };
    const bool isHealpix = m_view.Array(source).isHealpix;
    const int blockWidth = isHealpix ? zsHealpixBlock(m_view.Array(source)) : block(x);
    const int blockHeight = isHealpix ? blockWidth : y >= 0 ? block(y) : 1;
    const GDALDataType type = m_isMask ? GDT_Byte : zsGDALType(info.data_type, info.item_size);
    const int before = m_view.Before(source);
    for (int b = static_cast<int>(m_view.Slices(source).count); b >= 1; b--)
        SetBand(before + b, new ZSGuardedBand(this, before + b, type, blockWidth, blockHeight));
}

std::unique_ptr<ShardedZarrDataset> ShardedZarrDataset::Over(const std::shared_ptr<ZSStore> &store,
                                                             const ZSBandSources &sources, const struct zs_node *group,
                                                             const ZSOpenOptions &options, GDALAccess access,
                                                             struct zs_error *err, const struct zs_validity *validity)
{
    std::unique_ptr<ShardedZarrDataset> ds = std::make_unique<ZSGuardedDataset>();
    ZSView &view = ds->m_view;
    view.store = store;
    view.sources = sources;
    view.group = group;
    view.options = options;
    for (const auto &source : sources)
    {
        if (access == GA_Update && !source.array->MayWriteCells(*store, err))
            return nullptr;
    }
    if (!view.Make(err))
        return nullptr;
    ds->m_isMask = validity != nullptr;
    if (validity != nullptr)
        ds->m_validity = *validity;
    ds->m_georef = ZSGeoreferencing::Of(view);
    const auto georef = [&part = *ds->m_georef]() -> const struct zs_georef & { return part.Get(); };
    ds->m_items = ZSItems::Of(*ds, view, georef);
    ds->nRasterXSize = view.width;
    ds->nRasterYSize = view.height;
    ds->eAccess = access;
    // Before there are bands: afterwards it would give each of them a record of its own.
    ds->PamInitialize();
    for (size_t i = sources.size(); i-- > 0;)
        ds->AddBands(i);
    return ds;
}

void ShardedZarrDataset::AttachPam(const char *description)
{
    SetDescription(description);
    if (m_view.store->store->is_remote || m_view.store->store->is_snapshot)
    {
        nPamFlags |= GPF_NOSAVE;
        return;
    }
    SetPhysicalFilename(m_view.store->Entry().c_str());
    // Bands of a selection are not those of the whole.
    const std::string name = m_view.Name();
    if (!name.empty())
        SetSubdatasetName(name.c_str());
    TryLoadXML();
}

#if ZS_GDAL_AT_LEAST(10)
std::unique_ptr<GDALDataset> ShardedZarrDataset::Clone(int scope, bool canShareState) const
{
    if (IsUpdate() || !canShareState)
        return GDALPamDataset::Clone(scope, canShareState);
    // Other threads may be at work on this dataset: only what is set when it is opened may be looked at.
    struct zs_error err;
    auto ds = Over(m_view.store, m_view.sources, m_view.group, m_view.options, GA_ReadOnly, &err);
    if (ds == nullptr)
    {
        zsReport(err);
        return nullptr;
    }
    ds->poDriver = poDriver;
    ds->nOpenFlags = scope;
    ds->papszOpenOptions = CSLDuplicate(papszOpenOptions);
    ds->AttachPam(GetDescription());
    ds->SetSubdatasets(m_subdatasets);
    if (!m_beside.empty())
        ds->KeepOverviewsBeside(m_beside);
    return ds;
}
#endif

ShardedZarrRasterBand &ShardedZarrDataset::Band(int band) const
{
    return *static_cast<ShardedZarrRasterBand *>(papoBands[band - 1]);
}

/* ---- Pixels ---- */

/* What is asked of a remote store between two calls of a progress function. */
constexpr uint64_t REMOTE_PIECE_BYTES = 16 << 20;

/* The arrays that a window has bands of, each once. */
static std::vector<size_t> sourcesOf(const struct zs_bands &bands, const struct zs_band_window &window)
{
    if (bands.count == 1)
        return {0};
    std::vector<size_t> list;
    for (size_t i = 0; i < window.band_count; i++)
    {
        size_t source = 0;
        uint64_t slice;
        zs_band_find(&bands, window.bands[i], &source, &slice);
        if (list.empty() || list.back() != source)
            list.push_back(source);
    }
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
}

/* How the elements of some of `count` arrays pass to or from a buffer. */
template <class T>
static std::vector<struct zs_conversion> conversionsBy(size_t count, const std::vector<size_t> &sources,
                                                       std::vector<T> &steps, zs_convert_fn function)
{
    std::vector<struct zs_conversion> list(count);
    for (size_t i = 0; i < sources.size(); i++)
        list[sources[i]] = {steps[i].IsIdentity() ? nullptr : function, &steps[i]};
    return list;
}

CPLErr ShardedZarrDataset::ReadWindow(const struct zs_band_window &window, GDALDataType type)
{
    const auto sources = sourcesOf(m_view.Bands(), window);
    std::vector<ZSConversion> steps;
    for (const size_t i : sources)
        steps.push_back({m_view.Info(i).data_type, m_view.Info(i).item_size, type});
    auto conversions = conversionsBy(m_view.sources.size(), sources, steps, zsConvert);
    ZSMasking masking{&m_validity, m_view.Info(0).data_type, m_view.Info(0).item_size, type};
    if (m_isMask && !m_validity.is_plain)
        conversions.assign(1, {zsConvertMask, &masking});
    const struct zs_bands bands = m_view.Bands();
    struct zs_error err;
    if (PrepareCells(&err) == ZS_OK && zs_pixels_read(&bands, &window, conversions.data(), &err) == ZS_OK)
        return CE_None;
    zsReport(err);
    return CE_Failure;
}

CPLErr ShardedZarrDataset::WriteWindow(const struct zs_band_window &window, GDALDataType type)
{
    if (!IsUpdate())
    {
        CPLError(CE_Failure, CPLE_NoWriteAccess, "%s was not opened in update mode", zsShown(GetDescription()).c_str());
        return CE_Failure;
    }
    if (m_isMask && !m_validity.is_writable)
    {
        CPLError(CE_Failure, CPLE_NotSupported, "array /%s: it says more than which pixels are valid, and is not "
                 "written as a mask", m_view.Array(0).node->path);
        return CE_Failure;
    }
    if (m_isBlank && SettleFillValue() != CE_None)
        return CE_Failure;
    m_isWritten = true;
    if (m_maskOf != nullptr)
        m_maskOf->m_isWritten = true;
    const auto sources = sourcesOf(m_view.Bands(), window);
    std::vector<ZSStoring> steps;
    for (const size_t i : sources)
        steps.push_back({type, m_view.Info(i).data_type, m_view.Info(i).item_size});
    auto conversions = conversionsBy(m_view.sources.size(), sources, steps, zsStore);
    ZSMasking masking{&m_validity, m_view.Info(0).data_type, m_view.Info(0).item_size, type};
    if (m_isMask)
        conversions.assign(1, {zsStoreMask, &masking});
    const struct zs_bands bands = m_view.Bands();
    struct zs_error err;
    if (zs_pixels_write(&bands, &window, static_cast<size_t>(GDALGetDataTypeSizeBytes(type)), conversions.data(),
                        &err) == ZS_OK)
        return CE_None;
    zsReport(err);
    return CE_Failure;
}

/* The pieces of a window that are moved between two calls of a progress function: rows of chunks, so that none is met
 * twice; where one row of them holds all, bands, if chunks have one each. */
struct Pieces
{
    uint64_t rows, bands;
};

static Pieces piecesOf(const struct zs_band_window &window, uint64_t blockHeight, bool areBandsApart, uint64_t least)
{
    constexpr uint64_t MOST_PIECES = 32;
    const uint64_t rowsAtLeast = std::max(least, zs_ceil_div_u64(window.height, MOST_PIECES));
    const uint64_t rows = zs_ceil_div_u64(rowsAtLeast, blockHeight) * blockHeight;
    if (rows < window.height || !areBandsApart || least > 1)
        return {rows, window.band_count};
    return {window.height, zs_ceil_div_u64(window.band_count, MOST_PIECES)};
}

/* Whether each chunk holds pixels of one band alone. */
static bool areBandsApart(const struct zs_array_info &info, const struct zs_axes &axes)
{
    for (int d = 0; d < info.ndim; d++)
    {
        if (d != axes.x && d != axes.y && info.chunk_shape[d] != 1)
            return false;
    }
    return true;
}

CPLErr ShardedZarrDataset::MoveWindow(GDALRWFlag flag, const struct zs_band_window &window, GDALDataType type,
                                      const GDALRasterIOExtraArg *extra)
{
    const auto move = [&](const struct zs_band_window &piece)
    { return flag == GF_Read ? ReadWindow(piece, type) : WriteWindow(piece, type); };
    if (extra == nullptr || extra->pfnProgress == nullptr)
        return move(window);
    // Requests go side by side within a piece.
    const uint64_t line = std::max<uint64_t>(1, window.width * window.band_count * m_view.Info(0).item_size);
    const uint64_t least = m_view.store->store->is_remote ? std::max<uint64_t>(1, REMOTE_PIECE_BYTES / line) : 1;
    int blockWidth = 0, blockHeight = 0;
    papoBands[window.bands[0] - 1]->GetBlockSize(&blockWidth, &blockHeight);
    const Pieces pieces = piecesOf(window, static_cast<uint64_t>(blockHeight),
                                   areBandsApart(m_view.Info(0), m_view.Array(0).axes) && !m_view.IsHealpix(), least);
    struct zs_band_window piece = window;
    for (uint64_t y = 0; y < window.height; y += piece.height)
    {
        piece.y = window.y + y;
        piece.height = std::min(window.height - y, pieces.rows - piece.y % pieces.rows);
        if (pieces.rows >= window.height)
            piece.height = window.height;
        for (size_t b = 0; b < window.band_count; b += piece.band_count)
        {
            piece.bands = window.bands + b;
            piece.band_count = std::min<size_t>(window.band_count - b, pieces.bands);
            piece.data = static_cast<char *>(window.data) + window.line_space * static_cast<ptrdiff_t>(y) +
                         window.band_space * static_cast<ptrdiff_t>(b);
            const CPLErr result = move(piece);
            if (result != CE_None)
                return result;
            const double done = static_cast<double>(y) + static_cast<double>(piece.height) *
                                                             static_cast<double>(b + piece.band_count) /
                                                             static_cast<double>(window.band_count);
            if (extra->pfnProgress(done / static_cast<double>(window.height), "", extra->pProgressData))
                continue;
            CPLError(CE_Failure, CPLE_UserInterrupt, "User terminated");
            return CE_Failure;
        }
    }
    return CE_None;
}

CPLErr ShardedZarrDataset::IRasterIO(GDALRWFlag flag, int x, int y, int width, int height, void *data, int bufWidth,
                                     int bufHeight, GDALDataType type, int bandCount, BANDMAP_TYPE bands,
                                     GSpacing pixelSpace, GSpacing lineSpace, GSpacing bandSpace,
                                     GDALRasterIOExtraArg *extra)
{
    for (int i = 0; i < bandCount && flag == GF_Write && IsUpdate(); i++)
        Band(bands[i]).DropStatistics(false);
    const auto window = zsBandWindow(x, y, width, height, data, bands, bandCount, pixelSpace, lineSpace, bandSpace);
    if (width == bufWidth && height == bufHeight)
    {
        for (int i = 0; i < bandCount; i++)
        {
            if (Band(bands[i]).SettleBlocks() != CE_None)
                return CE_Failure;
        }
        return MoveWindow(flag, window, type, extra);
    }
    CPLErr result = CE_None;
    if (flag == GF_Read && !IsUpdate() && bandCount > 1 &&
        ReadOverview(x, y, width, height, data, bufWidth, bufHeight, type, bandCount, bands, pixelSpace, lineSpace,
                     bandSpace, extra, result))
        return result;
    if (flag == GF_Read && !IsUpdate() && !IsForOverview(x, y, width, height, bufWidth, bufHeight, extra))
    {
        if (ReadNearest(window, bufWidth, bufHeight, type, extra, result))
            return result;
        if (Prefetch(window) != CE_None)
            return CE_Failure;
    }
    return GDALPamDataset::IRasterIO(flag, x, y, width, height, data, bufWidth, bufHeight, type, bandCount, bands,
                                     pixelSpace, lineSpace, bandSpace, extra);
}

bool ShardedZarrDataset::IsForOverview(int x, int y, int width, int height, int bufWidth, int bufHeight,
                                       GDALRasterIOExtraArg *extra)
{
    if (m_isOverview || nBands == 0 || (bufWidth >= width && bufHeight >= height))
        return false;
    GDALRasterIOExtraArg copy; // the call changes what it is given
    INIT_RASTERIO_EXTRA_ARG(copy);
    if (extra != nullptr)
        copy = *extra;
    return GDALBandGetBestOverviewLevel2(papoBands[0], x, y, width, height, bufWidth, bufHeight, &copy) >= 0;
}

/* Bands together, whose chunks are asked for side by side: GDAL asks its overview for one band after the other. */
bool ShardedZarrDataset::ReadOverview(int x, int y, int width, int height, void *data, int bufWidth, int bufHeight,
                                      GDALDataType type, int bandCount, BANDMAP_TYPE bands, GSpacing pixelSpace,
                                      GSpacing lineSpace, GSpacing bandSpace, GDALRasterIOExtraArg *extra,
                                      CPLErr &result)
{
    if (!IsForOverview(x, y, width, height, bufWidth, bufHeight, extra))
        return false;
    GDALRasterIOExtraArg inLevel;
    INIT_RASTERIO_EXTRA_ARG(inLevel);
    if (extra != nullptr)
        inLevel = *extra;
    // places in the level, too
    const int level = GDALBandGetBestOverviewLevel2(papoBands[0], x, y, width, height, bufWidth, bufHeight, &inLevel);
    auto overview = dynamic_cast<ShardedZarrDataset *>(papoBands[0]->GetOverview(level)->GetDataset());
    if (overview == nullptr || overview->nBands != nBands)
        return false; // of a file beside the store
    result = overview->RasterIO(GF_Read, x, y, width, height, data, bufWidth, bufHeight, type, bandCount, bands,
                                pixelSpace, lineSpace, bandSpace, &inLevel);
    return true;
}

/* Windows up to this size are read whole and then thinned out. */
constexpr uint64_t NEAREST_BYTES = 64 << 20;

/* Source pixel of each buffer pixel, relative to the window, as GDALRasterBand::IRasterIO() computes it. */
static std::vector<int> nearestPixels(double offset, double step, int count, int first, int size)
{
    constexpr double EPS = 1e-10;
    std::vector<int> pixels(static_cast<size_t>(count));
    double at = 0.5 * step + offset + EPS;
    for (auto &pixel : pixels)
    {
        pixel = std::max(0, std::min(size - 1, static_cast<int>(at) - first));
        at += step;
    }
    return pixels;
}

bool ShardedZarrDataset::ReadNearest(const struct zs_band_window &window, int bufWidth, int bufHeight,
                                     GDALDataType type, GDALRasterIOExtraArg *extra, CPLErr &result)
{
    const auto item = static_cast<uint64_t>(GDALGetDataTypeSizeBytes(type));
    const uint64_t plane = item * window.width * window.height;
    if ((extra != nullptr && extra->eResampleAlg != GRIORA_NearestNeighbour) ||
        plane > NEAREST_BYTES / window.band_count)
        return false;
    const auto x = static_cast<int>(window.x), y = static_cast<int>(window.y);
    const auto width = static_cast<int>(window.width), height = static_cast<int>(window.height);
    const bool exact = extra != nullptr && extra->bFloatingPointWindowValidity;
    const auto columns =
        nearestPixels(exact ? extra->dfXOff : x, (exact ? extra->dfXSize : width) / bufWidth, bufWidth, x, width);
    const auto rows =
        nearestPixels(exact ? extra->dfYOff : y, (exact ? extra->dfYSize : height) / bufHeight, bufHeight, y, height);
    std::vector<unsigned char> pixels(static_cast<size_t>(plane) * window.band_count);
    struct zs_band_window whole = window;
    whole.data = pixels.data();
    whole.pixel_space = static_cast<ptrdiff_t>(item);
    whole.line_space = static_cast<ptrdiff_t>(item) * width;
    whole.band_space = static_cast<ptrdiff_t>(plane);
    result = MoveWindow(GF_Read, whole, type, extra);
    for (size_t b = 0; b < window.band_count && result == CE_None; b++)
    {
        for (int row = 0; row < bufHeight; row++)
        {
            const unsigned char *from = pixels.data() + b * plane + rows[static_cast<size_t>(row)] * whole.line_space;
            auto to = static_cast<char *>(window.data) + window.band_space * static_cast<ptrdiff_t>(b) +
                      window.line_space * row;
            for (const int column : columns)
            {
                memcpy(to, from + static_cast<size_t>(column) * item, item);
                to += window.pixel_space;
            }
        }
    }
    return true;
}

CPLErr ShardedZarrDataset::Prefetch(const struct zs_band_window &window)
{
    // A resampling kernel looks a little beyond the window.
    constexpr uint64_t MARGIN = 16;
    struct zs_band_window around = window;
    around.data = nullptr;
    around.x = window.x > MARGIN ? window.x - MARGIN : 0;
    around.y = window.y > MARGIN ? window.y - MARGIN : 0;
    around.width = std::min(static_cast<uint64_t>(nRasterXSize), window.x + window.width + MARGIN) - around.x;
    around.height = std::min(static_cast<uint64_t>(nRasterYSize), window.y + window.height + MARGIN) - around.y;
    const struct zs_bands bands = m_view.Bands();
    struct zs_error err;
    if (PrepareCells(&err) == ZS_OK && zs_pixels_prefetch(&bands, &around, &err) == ZS_OK)
        return CE_None;
    zsReport(err);
    return CE_Failure;
}

CPLErr ShardedZarrDataset::AdviseRead(int x, int y, int width, int height, int bufWidth, int bufHeight, GDALDataType,
                                      int bandCount, int *bandList, ZSCreateOptions)
{
    std::vector<int> bands(bandList != nullptr ? std::vector<int>(bandList, bandList + bandCount) : std::vector<int>());
    for (int b = 1; bands.empty() && b <= nBands; b++)
        bands.push_back(b);
    if (IsUpdate() || IsForOverview(x, y, width, height, bufWidth, bufHeight, nullptr))
        return CE_None;
    return Prefetch(zsBandWindow(x, y, width, height, nullptr, bands.data(), static_cast<int>(bands.size()), 0, 0, 0));
}

/* ---- Flushing and closing ---- */

CPLErr ShardedZarrDataset::FlushChanges(bool atClosing)
{
    CPLErr result = FlushMasks(atClosing);
    // A new mask that is not whole is not named; what is closed and could not be stored is gone.
    m_maskLost = m_maskLost || (m_maskAdded && atClosing && result != CE_None);
    const bool isHeldBack = m_maskLost || (m_maskAdded && result != CE_None);
    struct zs_error err;
    for (const auto &source : m_view.sources)
    {
        if ((atClosing ? zs_array_flush_last : zs_array_flush)(source.array->array, &err) != ZS_OK)
        {
            zsReport(err);
            result = CE_Failure;
        }
    }
    // Of other datasets that show them, too. (An overview's node is gone where it could not be published.)
    for (const auto &source : m_view.sources)
    {
        if (m_isWritten && !m_isMask && !m_isOverview && !m_view.store->store->is_remote)
            zsDropSideCarStatistics(m_view.store->Entry(), source.array->node->path);
    }
    if (result == CE_None && atClosing && m_hasStatisticsLater && m_isWritten && !bSuppressOnClose)
        result = AddStatistics(m_closeProgress, m_closeProgressData);
    if (!m_isOverview && (isHeldBack || WriteMetadata() != CE_None))
        result = CE_Failure;
    if (result != CE_None)
        return result;
    // The raster is whole, and takes its place, whatever becomes of its overviews.
    if (atClosing)
        result = MakeLaterOverviews();
    if (m_target != nullptr && TakePlace() != CE_None)
        result = CE_Failure;
    return result;
}

CPLErr ShardedZarrDataset::TakePlace()
{
    const std::string root = m_target->Root();
    if (!zsTakePlace(m_target, m_view.store->store))
        return CE_Failure;
    if (!m_view.store->store->is_remote)
        SetPhysicalFilename((root + "/zarr.json").c_str());
    return CE_None;
}

CPLErr ShardedZarrDataset::FlushAll(bool atClosing)
{
#if ZS_GDAL_AT_LEAST(7)
    CPLErr result = GDALPamDataset::FlushCache(atClosing);
#else
    const auto before = CPLGetErrorCounter(); // of blocks that could not be written it says nothing else
    GDALPamDataset::FlushCache(atClosing);
    CPLErr result = CPLGetErrorCounter() != before && CPLGetLastErrorType() >= CE_Failure ? CE_Failure : CE_None;
#endif
    for (const auto &overview : m_overviews) // what is closed closes them
    {
        if (IsUpdate() && !m_closed && !atClosing && overview->FlushAll(false) != CE_None)
            result = CE_Failure;
    }
    if (IsUpdate() && !m_closed && FlushChanges(atClosing) != CE_None)
        result = CE_Failure;
    return result;
}

ZSFlushResult ShardedZarrDataset::FlushCache(bool atClosing)
{
    const CPLErr result = FlushAll(atClosing);
    ZS_FLUSH_RETURN(result);
}

#if ZS_GDAL_AT_LEAST(7)
CPLErr ShardedZarrDataset::Close(ZS_CLOSE_PARAMETERS)
{
    CPLErr result = CE_None;
    if (!m_closed)
    {
#if ZS_GDAL_AT_LEAST(13)
        m_closeProgress = progress != nullptr ? progress : GDALDummyProgress;
        m_closeProgressData = progressData;
#endif
        if (IsUpdate()) // else only the side-car file is to be written; FlushCache() walks up to 65,536 bands for that
            result = FlushCache(true);
        // FlushChanges() may have dropped statistics. ~GDALPamDataset() would write the file without what our
        // SerializeToXML() adds, and would remove one that says nothing of this array.
        if ((nPamFlags & GPF_DIRTY) != 0 && TrySaveXML() != CE_None)
            result = CE_Failure;
        m_closed = true;
        for (const auto &overview : m_overviews)
        {
            if (overview->Close() != CE_None)
                result = CE_Failure;
        }
        m_overviews.clear();
        m_masks.clear();
        if (GDALPamDataset::Close(ZS_CLOSE_ARGUMENTS) != CE_None)
            result = CE_Failure;
    }
    return result;
}
#endif

ShardedZarrDataset::~ShardedZarrDataset()
{
#if ZS_GDAL_AT_LEAST(7)
    static_cast<void>(zsGuard([this] { return ShardedZarrDataset::Close(); }));
#else
    if (IsUpdate())
        zsGuard([this] { static_cast<void>(FlushAll(true)); });
    m_closed = true;
    // What changed of the side-car file meanwhile: the base would write it when its bands' dataset is no longer ours.
    zsGuard([this] { GDALPamDataset::FlushCache(true); });
    m_overviews.clear();
    m_masks.clear();
#endif
}
