#include "dataset.h"

#include <algorithm>

#include "gdal/connection.h"
#include "gdal/create/creation_options.h"
#include "gdal/guard.h"

extern "C"
{
#include "raster/overviews.h"
}

/* ---- Finding ---- */

/* Opens the levels of an array, once for all clones. */
enum zs_status ShardedZarrDataset::OpenLevels(ZSArray &base, struct zs_error *err)
{
    const std::lock_guard<std::mutex> guard(base.lock);
    if (base.overviewsFound)
        return ZS_OK;
    ZSOpenOptions options = m_view.options;
    if (!base.isHealpix)
    {
        options.dim_x = std::to_string(base.axes.x);
        options.dim_y = base.axes.y >= 0 ? std::to_string(base.axes.y) : "";
    }
    struct zs_levels levels;
    ZS_TRY(zs_overviews_find(m_view.store->hierarchy, base.node, base.axes, &levels, err));
    base.overviews.clear();
    for (size_t i = 0; i < levels.count; i++)
    {
        auto opened = ZSArray::Open(*m_view.store, levels.list[i], options, err);
        if (opened != nullptr)
            base.overviews.push_back(std::move(opened));
        else
            CPLDebug("ShardedZarr", "overview /%s is left out: %s", levels.list[i]->path, err->message);
    }
    base.overviewsFound = true;
    return ZS_OK;
}

/* The level of another array that is as large as this one of the first; null where it has none. */
static std::shared_ptr<ZSArray> levelLike(const ZSArray &level, const ZSArray &base)
{
    const auto size = [](const ZSArray &array, int dim) { return dim >= 0 ? array.node->array->shape[dim] : 1; };
    for (const auto &other : base.overviews)
    {
        const bool isSize = level.isHealpix ? other->healpix.order == level.healpix.order
                                            : size(*other, other->axes.x) == size(level, level.axes.x);
        if (isSize && size(*other, other->axes.y) == size(level, level.axes.y))
            return other;
    }
    return nullptr;
}

/* Finds the levels that all arrays have. After a failure, the next call tries again. */
void ShardedZarrDataset::FindLevels()
{
    if (m_areLevelsFound || IsOverview())
        return;
    struct zs_error err;
    for (const auto &source : m_view.sources)
    {
        if (OpenLevels(*source.array, &err) == ZS_OK)
            continue;
        zsReport(err);
        return;
    }
    m_levels.clear();
    for (const auto &opened : m_view.Array(0).overviews)
    {
        ZSBandSources level = m_view.sources;
        for (auto &source : level)
            source.array = &source == &level[0] ? opened : levelLike(*opened, *source.array);
        const bool isWhole = std::all_of(level.begin(), level.end(),
                                         [](const ZSBandSource &source) { return source.array != nullptr; });
        auto overview = isWhole ? OverLevel(level, m_view.group, GetAccess(), &err) : nullptr;
        if (overview != nullptr && overview->GetRasterCount() == GetRasterCount())
            m_levels.push_back(std::move(overview));
        else
            CPLDebug("ShardedZarr", "overview /%s is left out: %s", opened->node->path,
                     !isWhole ? "not all arrays have it" : overview == nullptr ? err.message : "other bands");
    }
    m_areLevelsFound = true;
}

void ShardedZarrDataset::ForgetLevels()
{
    m_levels.clear();
    m_areLevelsFound = false;
    for (const auto &source : m_view.sources)
    {
        source.array->overviews.clear();
        source.array->overviewsFound = false;
    }
}

CPLErr ShardedZarrDataset::RemoveLevels()
{
    struct zs_error err;
    if (zs_store_is_replaced(m_view.store->store))
        return zsRefuse(CPLE_AppDefined, "%s: this store was replaced or removed after it was opened",
                        zsShown(m_view.store->store->root).c_str());
    ForgetLevels();
    for (const auto &source : m_view.sources)
    {
        const ZSArray &array = *source.array;
        if (zs_overviews_take_out(m_view.store->hierarchy, array.node, array.axes, &err) != ZS_OK ||
            zs_hierarchy_flush(m_view.store->hierarchy, &err) != ZS_OK)
            return zsReport(err);
    }
    return CE_None;
}

int ShardedZarrDataset::CountLevels()
{
    FindLevels();
    return static_cast<int>(m_levels.size());
}

GDALRasterBand *ShardedZarrDataset::GetLevel(int band, int i)
{
    return i >= 0 && i < CountLevels() ? m_levels[static_cast<size_t>(i)]->GetRasterBand(band) : nullptr;
}

CPLErr ShardedZarrDataset::FlushLevels(bool atClosing)
{
    CPLErr result = CE_None;
    for (const auto &level : m_levels)
    {
        if (level->FlushAll(atClosing) != CE_None)
            result = CE_Failure;
        level->m_isClosed = atClosing;
    }
    return result;
}

/* Those of the one raster of a local store may be beside it, in NAME.zarr.ovr, as GDAL keeps them. */
void ShardedZarrDataset::LookBeside(const std::string &store)
{
    const std::string name = CPLGetFilename(store.c_str());
    if (m_view.store->store->is_remote || m_view.store->store->is_snapshot || zsIsArchive(store) || name.empty() ||
        name == "." || name == "..")
        return;
    m_beside = store;
    oOvManager.Initialize(this, m_beside.c_str());
}

/* ---- Making ---- */

/* Whether a level may be made from the one before: means of means are means (of whole pixels), but the nearest of the
 * nearest is not the nearest, nor the mode of modes the mode. */
static bool cascades(const char *resampling)
{
    return !STARTS_WITH_CI(resampling, "NEAR") && !EQUAL(resampling, "MODE");
}

/* Fills a level of `base` by resampling `from`, which is that or a larger level. */
static CPLErr fillLevel(ShardedZarrDataset &base, ShardedZarrDataset &from, ShardedZarrDataset &level,
                        const char *resampling, GDALProgressFunc progress, void *progressData, CSLConstList options)
{
    const double bands = base.GetRasterCount();
    for (int b = 1; b <= bands; b++)
    {
        // An overview takes its nodata from the source band; levels being made have none of their own to ask.
        if (&from != &base)
            from.Band(b).Properties() = base.Band(b).Properties();
        level.Band(b).Properties() = base.Band(b).Properties();
        const ZSScaledProgress scaled((b - 1) / bands, b / bands, progress, progressData);
        if (zsMakeLevelBand(from, level, b, resampling, GDALScaledProgress, scaled.Part(), options) != CE_None)
            return CE_Failure;
    }
    return CE_None;
}

/* Fills and stores levels, of ascending factors, of which the first ones are filled: each from the coarsest before it
 * whose factor divides its own, where the resampling allows that. */
static CPLErr fillLevels(ShardedZarrDataset &base, const std::vector<ZSBegunLevel> &levels, size_t filled,
                         const char *resampling, GDALProgressFunc progress, void *progressData, CSLConstList options)
{
    const auto n = static_cast<double>(levels.size());
    for (size_t i = 0; i < levels.size(); i++)
    {
        ShardedZarrDataset *from = &base, &level = *levels[i].dataset;
        for (size_t k = i; k-- > 0 && cascades(resampling) && from == &base;)
        {
            if (levels[i].factor % levels[k].factor == 0)
                from = levels[k].dataset.get();
        }
        const double before = static_cast<double>(i) / n, done = static_cast<double>(i + 1) / n;
        const ZSScaledProgress scaled(before, done, progress, progressData);
        if (i >= filled &&
            fillLevel(base, *from, level, resampling, GDALScaledProgress, scaled.Part(), options) != CE_None)
            return CE_Failure;
        // GDAL does not look at the answer when a band is finished.
        if (level.FlushAll(false) != CE_None)
            return CE_Failure;
        if (!progress(done, "", progressData))
            return zsRefuse(CPLE_UserInterrupt, "User terminated");
    }
    return CE_None;
}

CPLErr ShardedZarrDataset::MakeLevelsOfEach(const char *resampling, const std::vector<int> &factors,
                                            GDALProgressFunc progress, void *progressData, CSLConstList options)
{
    ForgetLevels();
    const auto n = static_cast<double>(m_view.sources.size());
    for (size_t i = 0; i < m_view.sources.size(); i++)
    {
        struct zs_error err;
        const ZSBandSources sources(1, m_view.sources[i]);
        auto one = ShardedZarrDataset::Over(m_view.store, sources, nullptr, m_view.options, GA_Update, &err);
        if (one == nullptr)
            return zsReport(err);
        const ZSScaledProgress scaled(static_cast<double>(i) / n, static_cast<double>(i + 1) / n, progress,
                                      progressData);
        if (one->MakeLevels(resampling, factors, GDALScaledProgress, scaled.Part(), options) != CE_None)
            return CE_Failure;
    }
    return CE_None;
}

CPLErr ShardedZarrDataset::BeginLevels(const char *resampling, const std::vector<int> &factors)
{
    // In ascending order, so that a level can be made from the one before.
    std::vector<int> sorted(factors);
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    ForgetLevels();
    struct zs_error err;
    struct zs_overviews *raw = nullptr;
    struct zs_array_options arrayOptions = zsArrayOptions(m_view.options.threads);
    const std::string name = CPLString(resampling).tolower();
    const bool isFilled = name != "none"; // else levels are made without content: others write it
    const ZSArray &base = m_view.Array(0);
    if (zs_overviews_create(m_view.store->hierarchy, base.node, base.axes, sorted.data(), sorted.size(),
                            isFilled ? name.c_str() : nullptr, zs_array_chunk_order(base.array), &arrayOptions, &raw,
                            &err) != ZS_OK)
        return zsReport(err);
    ZSOwned<struct zs_overviews> made(raw, zs_overviews_free); // outlives the levels
    std::vector<ZSBegunLevel> levels;
    for (size_t i = 0; isFilled && i < sorted.size(); i++)
    {
        const auto opened = std::make_shared<ZSArray>(zs_overviews_node(made.get(), i),
                                                      zs_overviews_array(made.get(), i), base.axes, false);
        auto level = OverLevel(ZSBandSources(1, ZSBandSource{opened, {}}), nullptr, GA_Update, &err);
        if (level == nullptr)
            return zsReport(err);
        levels.push_back({sorted[i], std::move(level)});
    }
    m_made = std::move(made);
    m_begun = std::move(levels);
    m_filled = 0;
    return CE_None;
}

CPLErr ShardedZarrDataset::MakeLevels(const char *resampling, const std::vector<int> &factors,
                                      GDALProgressFunc progress, void *progressData, CSLConstList options)
{
    if (m_made == nullptr && BeginLevels(resampling, factors) != CE_None)
        return CE_Failure;
    ForgetLevels();
    const auto made = std::move(m_made); // outlives the levels
    auto levels = std::move(m_begun);
    struct zs_error err;
    if (fillLevels(*this, levels, m_filled, resampling, progress, progressData, options) != CE_None)
    {
        const ZSQuiet isTold; // at their close they fail again
        levels.clear();
        return CE_Failure;
    }
    return zs_overviews_publish(made.get(), &err) == ZS_OK ? CE_None : zsReport(err);
}

/* ---- What GDAL asks, and what waits for the end ---- */

CPLErr ShardedZarrDataset::IBuildOverviews(const char *resampling, int count, const int *factors, int bandCount,
                                           const int *bandList, GDALProgressFunc progress, void *progressData,
                                           CSLConstList options)
{
    return zsGuard([&]() -> CPLErr {
        if (!IsUpdate() && !m_beside.empty() && CountLevels() == 0)
            return GDALPamDataset::IBuildOverviews(resampling, count, factors, bandCount, bandList, progress,
                                                   progressData, options);
        struct zs_error err;
        if (!IsUpdate() && zs_store_check_access(m_view.store->store, "", &err) != ZS_OK)
            return zsReport(err); // gdaladdo has tried the update mode before, in silence
        if (!IsUpdate())
            return zsRefuse(CPLE_NotSupported, "%s: open it for update: it has overviews already, or is not one raster",
                            zsShown(GetDescription()).c_str());
        if (m_view.IsHealpix())
            return zsRefuse(CPLE_NotSupported, "%s: overviews of HEALPix cells go beside the store: gdaladdo -ro",
                            zsShown(GetDescription()).c_str());
        if (m_view.IsSelection() || bandCount != nBands)
            return zsRefuse(CPLE_NotSupported, "%s: overviews are built for all bands of %s together",
                            zsShown(GetDescription()).c_str(), m_view.IsGroup() ? "a group" : "an array");
        m_laterFactors.clear(); // from now on it is the caller who decides
        if (FlushAll(false) != CE_None)
            return CE_Failure;
        if (count == 0)
            return RemoveOverviews();
        if (nRasterXSize == 1 && nRasterYSize == 1)
            return CE_None; // no level would be smaller
        return MakeOverviews(resampling, std::vector<int>(factors, factors + count),
                             progress != nullptr ? progress : GDALDummyProgress, progressData, options);
    });
}

bool ShardedZarrDataset::WillMakeOverviews() const
{
    return !m_laterFactors.empty() && m_isWritten && !bSuppressOnClose;
}

CPLErr ShardedZarrDataset::MakeLaterOverviews()
{
    if (!WillMakeOverviews())
        return CE_None;
    const std::vector<int> factors = std::exchange(m_laterFactors, {}); // once, even after a failure
    const std::string resampling = zsOverviewResampling(m_laterResampling, *this);
    CPLDebug("ShardedZarr", "%s: %d overviews are made (%s)", GetDescription(), static_cast<int>(factors.size()),
             resampling.c_str());
    const CPLConfigOptionSetter threads("GDAL_NUM_THREADS", std::to_string(m_view.options.threads).c_str(), false);
    return MakeOverviews(resampling.c_str(), factors, m_progress, m_progressData, nullptr);
}

CPLErr ShardedZarrDataset::MakeOverviews(const char *resampling, const std::vector<int> &factors,
                                         GDALProgressFunc progress, void *progressData, CSLConstList options)
{
    for (int b = 1; b <= nBands; b++)
    {
        if (!zsMayResample(GetDescription(), Band(b).GetRasterDataType(), ZSNodata(Band(b)), resampling))
            return CE_Failure;
    }
    const bool wereOld = m_areLevelsOld;
    ZSOverlap overlap; // ends when the levels are closed
    overlap.Begin(*m_view.store);
    // The mask's overviews come first: overviews of pixels are made of valid pixels alone.
    CPLErr result = MakeMaskLevels(resampling, factors, options);
    if (result != CE_None)
        return result;
    if (m_view.IsGroup())
        result = MakeLevelsOfEach(resampling, factors, progress, progressData, options);
    else
        result = MakeLevels(resampling, factors, progress, progressData, options);
    if (result != CE_None || !overlap.End())
        return CE_Failure;
    m_areLevelsOld = wereOld && CountLevels() > static_cast<int>(factors.size()); // others stay as they are
    return CE_None;
}

/* Warns of overviews that are older than the pixels: a copy makes them unasked, so its later writer may not know. */
void ShardedZarrDataset::WarnOfOldOverviews()
{
    if (m_areLevelsOld && !m_isMask && !IsOverview() && CountLevels() > 0)
        CPLError(CE_Warning, CPLE_AppDefined,
                 "%s: pixels were written, and its overviews are as they were before: gdaladdo makes them anew",
                 zsShown(GetDescription()).c_str());
}

CPLErr ShardedZarrDataset::RemoveOverviews()
{
    CPLErr result = RemoveLevels();
    if (result == CE_None && oOvManager.IsInitialized() && oOvManager.GetOverviewCount(1) > 0)
        result = oOvManager.CleanOverviews();
    for (ShardedZarrDataset *mask : MaskDatasets())
        result = result == CE_None ? mask->RemoveLevels() : result;
    return result;
}
