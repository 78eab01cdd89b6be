#include "dataset.h"

#include <algorithm>

#include "gdal/guard.h"

extern "C"
{
#include "geo/attributes.h"
}

namespace
{
/* A mask that is read by a function, and as masks of all drivers of no dataset. */
class MaskBand final : public GDALRasterBand
{
    const ZSReadMask m_read;

  public:
    MaskBand(GDALRasterBand &of, const ZSReadMask &read) : m_read(read)
    {
        nRasterXSize = of.GetXSize();
        nRasterYSize = of.GetYSize();
        eDataType = GDT_Byte;
        of.GetBlockSize(&nBlockXSize, &nBlockYSize);
    }
    bool IsMaskBand() const override
    {
        return true;
    }
    GDALMaskValueRange GetMaskValueRange() const override
    {
        return GMVR_0_AND_255_ONLY;
    }

  protected:
    CPLErr IReadBlock(int column, int row, void *data) override
    {
        const int x = column * nBlockXSize, y = row * nBlockYSize;
        return zsGuard(
            [&]
            {
                return m_read(x, y, std::min(nBlockXSize, nRasterXSize - x), std::min(nBlockYSize, nRasterYSize - y),
                              static_cast<unsigned char *>(data), nBlockXSize);
            });
    }
};
} // namespace

GDALRasterBand *ShardedZarrRasterBand::OwnMask(const ZSReadMask &read)
{
    if (m_ownMask == nullptr)
        m_ownMask = std::make_unique<MaskBand>(*this, read);
    return m_ownMask.get();
}

/* The mask of an overview level when the mask array has no such level: the nearest pixels of the whole mask. */
static ZSReadMask nearestOf(GDALRasterBand &whole, const GDALRasterBand &level)
{
    const double across = static_cast<double>(whole.GetXSize()) / const_cast<GDALRasterBand &>(level).GetXSize(),
                 down = static_cast<double>(whole.GetYSize()) / const_cast<GDALRasterBand &>(level).GetYSize();
    return [&whole, across, down](int x, int y, int width, int height, unsigned char *mask, int lineSpace)
    {
        GDALRasterIOExtraArg extra;
        INIT_RASTERIO_EXTRA_ARG(extra);
        extra.bFloatingPointWindowValidity = TRUE;
        extra.dfXOff = x * across;
        extra.dfYOff = y * down;
        extra.dfXSize = width * across;
        extra.dfYSize = height * down;
        const int left = static_cast<int>(extra.dfXOff), top = static_cast<int>(extra.dfYOff);
        const int right = std::min(static_cast<int>(extra.dfXOff + extra.dfXSize + 1 - 1e-9), whole.GetXSize()),
                  bottom = std::min(static_cast<int>(extra.dfYOff + extra.dfYSize + 1 - 1e-9), whole.GetYSize());
        return whole.RasterIO(GF_Read, left, top, std::max(1, right - left), std::max(1, bottom - top), mask, width,
                              height, GDT_Byte, 1, lineSpace, &extra);
    };
}

/* ---- Finding ---- */

/* The selection in the mask's dimensions that corresponds to the bands' selection in the array's. */
static std::vector<struct zs_selection> selectionOf(const struct zs_mask &mask, const struct zs_slices &slices)
{
    std::vector<struct zs_selection> selections;
    for (int d = 0; d < mask.node->array->ndim; d++)
    {
        if (d == mask.axes.x || d == mask.axes.y)
            continue;
        uint64_t count = 1;
        for (int i = 0; i < slices.dim_count; i++)
            count = slices.dims[i] == mask.dims[d] ? slices.sizes[i] : count;
        selections.push_back({count > 1 ? ZS_SELECT_RANGE : ZS_SELECT_ONE, slices.first[mask.dims[d]], count});
    }
    return selections;
}

void ShardedZarrDataset::OpenMask(size_t source, const ZSBandSource &mask)
{
    struct zs_error err;
    ZSMask &m = m_masks[source];
    m.dataset = ShardedZarrDataset::Over(m_view.store, ZSBandSources(1, mask), nullptr, m_view.options,
                                         GetAccess(), &err, &m.found.validity);
    if (m.dataset == nullptr)
    {
        zsReport(err);
        return;
    }
    m.dataset->m_masked = this;
    m.dataset->nPamFlags |= GPF_NOSAVE;
    m.dataset->SetDescription((std::string(GetDescription()) + ": mask").c_str());
}

void ShardedZarrDataset::FindMaskOf(size_t source)
{
    struct zs_error err;
    ZSMask &m = m_masks[source];
    const ZSArray &array = m_view.Array(source);
    if (array.isHealpix) // what is beside cells is no plane
        return;
    if (zs_mask_find(m_view.store->hierarchy, array.node, array.axes, &m.found, &err) != ZS_OK)
    {
        zsReport(err);
        m.isThere = m.found.is_named = true; // or is not: that is unknown
        return;
    }
    if (m.found.node == nullptr)
        return;
    m.isThere = true;
    const bool isWhole = m_view.sources[source].selections.empty();
    for (size_t i = 0; i < source && isWhole; i++)
    {
        if (m_masks[i].found.node == m.found.node && m_view.sources[i].selections.empty())
            m.dataset = m_masks[i].dataset;
    }
    if (m.dataset != nullptr)
        return;
    ZSOpenOptions options = m_view.options;
    options.dim_x = std::to_string(m.found.axes.x);
    options.dim_y = std::to_string(m.found.axes.y);
    const auto opened = ZSArray::Open(*m_view.store, m.found.node, options, &err);
    if (opened == nullptr)
        zsReport(err);
    else
        OpenMask(source, {opened, isWhole ? ZSBandSource().selections : selectionOf(m.found, m_view.Slices(source))});
}

void ShardedZarrDataset::FindMasks()
{
    if (m_areMasksFound)
        return;
    m_masks.assign(m_view.sources.size(), ZSMask()); // without memory masks are looked for again
    for (size_t i = 0; i < m_view.sources.size(); i++)
        FindMaskOf(i);
    m_areMasksFound = true;
}

const ZSMask &ShardedZarrDataset::MaskOf(size_t source)
{
    static const ZSMask none;
    if (m_isMask)
        return none;
    if (IsOverview())
        return m_base->MaskOf(source);
    FindMasks();
    return m_masks[source];
}

std::vector<ShardedZarrDataset *> ShardedZarrDataset::MaskDatasets()
{
    FindMasks();
    std::vector<ShardedZarrDataset *> list;
    for (const auto &m : m_masks)
    {
        if (m.dataset != nullptr && std::find(list.begin(), list.end(), m.dataset.get()) == list.end())
            list.push_back(m.dataset.get());
    }
    return list;
}

int ShardedZarrDataset::MaskBandOf(int band)
{
    const size_t source = m_view.SourceOf(band);
    const ZSMask &m = MaskOf(source);
    const struct zs_slices &own = m_view.Slices(source), &of = m.dataset->View().Slices(0);
    const auto position = m_view.BandPosition(band);
    uint64_t number = 0;
    for (int d = 0; d < of.dim_count; d++)
    {
        uint64_t at = 0;
        for (int i = 0; i < own.dim_count; i++)
            at = own.dims[i] == m.found.dims[of.dims[d]] ? position[static_cast<size_t>(i)] : at;
        number = number * of.sizes[d] + at;
    }
    return static_cast<int>(number) + 1;
}

bool ShardedZarrDataset::HasOneMask()
{
    const ZSMask &first = MaskOf(0);
    for (size_t i = 0; i < m_view.sources.size(); i++)
    {
        const ZSMask &m = MaskOf(i);
        if (!m.isThere || m.found.node != first.found.node ||
            (m.dataset != nullptr && m.dataset->GetRasterCount() > 1))
            return false;
    }
    return true;
}

/* ---- Bands ---- */

bool ShardedZarrRasterBand::HasCellMask()
{
    return Dataset().m_view.IsHealpix() && !Properties().has_nodata && !HasNodataBeside();
}

/* Whether GDAL has a mask of another kind: nodata, alpha. */
bool ShardedZarrRasterBand::IsMaskedOtherwise()
{
    auto &ds = Dataset();
    // An integer fill value that is not declared as nodata is a value like others.
    const bool has = Properties().has_nodata ? !GDALDataTypeIsInteger(eDataType) ||
                                                   zs_declares_nodata(ds.m_view.Array(Source()).node)
                                             : HasNodataBeside();
    return has || ds.GetMetadataItem("NODATA_VALUES") != nullptr ||
           ((ds.nBands == 2 || ds.nBands == 4) &&
            ds.GetRasterBand(ds.nBands)->GetColorInterpretation() == GCI_AlphaBand);
}

const ZSMask *ShardedZarrRasterBand::StoredMask()
{
    const ZSMask &m = Dataset().MaskOf(Source());
    return m.isThere && (m.found.is_named || !IsMaskedOtherwise()) ? &m : nullptr;
}

int ShardedZarrRasterBand::GetMaskFlags()
{
    return zsGuard([&] {
        if (HasCellMask())
            return GMF_PER_DATASET;
        if (StoredMask() == nullptr)
        {
            GDALPamRasterBand::GetMaskBand(); // looks whether a nodata value was set since the last time
            return GDALPamRasterBand::GetMaskFlags();
        }
        return Dataset().HasOneMask() ? GMF_PER_DATASET : 0;
    });
}

GDALRasterBand *ShardedZarrRasterBand::GetMaskBand()
{
    return zsGuard([&]() -> GDALRasterBand * {
        auto &ds = Dataset();
        if (HasCellMask())
            return OwnMask([this](int x, int y, int width, int height, unsigned char *mask, int lineSpace)
                           { return Dataset().ReadCellMask(nBand, x, y, width, height, mask, lineSpace); });
        const ZSMask *m = StoredMask();
        if (m == nullptr)
            return GDALPamRasterBand::GetMaskBand();
        if (m->dataset == nullptr) // reading fails: an unknown mask is not "all valid"
            return OwnMask(
                [name = std::string(m->found.node != nullptr ? m->found.node->path : "")](auto...) -> CPLErr
                {
                    return zsRefuse(CPLE_AppDefined, "array /%s: it marks valid pixels, and cannot be read",
                                    name.c_str());
                });
        GDALRasterBand *whole = m->dataset->GetRasterBand(ds.MaskBandOf(nBand));
        if (!ds.IsOverview())
            return whole;
        for (int i = 0; i < whole->GetOverviewCount(); i++)
        {
            GDALRasterBand *level = whole->GetOverview(i);
            if (level != nullptr && level->GetXSize() == nRasterXSize && level->GetYSize() == nRasterYSize)
                return level;
        }
        return OwnMask(nearestOf(*whole, *this));
    });
}

bool ShardedZarrRasterBand::IsMaskBand() const
{
    return Dataset().m_isMask || GDALPamRasterBand::IsMaskBand();
}

GDALMaskValueRange ShardedZarrRasterBand::GetMaskValueRange() const
{
    return Dataset().m_isMask ? GMVR_0_AND_255_ONLY : GDALPamRasterBand::GetMaskValueRange();
}

/* ---- Making ---- */

CPLErr ShardedZarrRasterBand::CreateMaskBand(int flags)
{
    return Dataset().CreateMaskBand(flags);
}

CPLErr ShardedZarrDataset::CreateMaskBand(int flags)
{
    return zsGuard([&]() -> CPLErr {
        if (!IsUpdate() || m_isMask || IsOverview())
            return zsRefuse(CPLE_NotSupported, "%s: a mask is made of a raster that was opened in update mode",
                            zsShown(GetDescription()).c_str());
        if (m_view.IsHealpix())
            return zsRefuse(CPLE_NotSupported, "%s: HEALPix cells have no mask but nodata",
                            zsShown(GetDescription()).c_str());
        if (flags != GMF_PER_DATASET || m_view.IsSelection())
            return zsRefuse(CPLE_NotSupported, "%s: a mask is one for all bands of the whole (GMF_PER_DATASET)",
                            zsShown(GetDescription()).c_str());
        return AddMask(nullptr);
    });
}

CPLErr ShardedZarrDataset::AddMask(const struct zs_encoding *encoding)
{
    FindMasks();
    if (std::any_of(m_masks.begin(), m_masks.end(), [](const ZSMask &m) { return m.isThere; }))
        return zsRefuse(CPLE_NotSupported, "%s: there is a mask already", zsShown(GetDescription()).c_str());
    std::vector<const struct zs_node *> nodes;
    std::vector<struct zs_axes> axes;
    m_view.ListArrays(nodes, axes);
    struct zs_error err;
    struct zs_array *array = nullptr;
    ZSMask made;
    struct zs_array_options options = zsArrayOptions(m_view.options.threads);
    options.update = m_view.options.update;
    if (zs_mask_create(m_view.store->hierarchy, nodes.data(), axes.data(), nodes.size(), encoding, &options,
                       &made.found, &array, &err) != ZS_OK)
        return zsReport(err);
    zs_array_set_new(array, zs_array_chunk_order(m_view.Array(0).array));
    made.isThere = true;
    m_masks.assign(m_view.sources.size(), made);
    OpenMask(0, {std::make_shared<ZSArray>(made.found.node, array, made.found.axes, true), {}});
    for (auto &m : m_masks)
        m.dataset = m_masks[0].dataset;
    m_isMaskAdded = true;
    return m_masks[0].dataset != nullptr ? CE_None : CE_Failure;
}

/* ---- Levels and flushing ---- */

CPLErr ShardedZarrDataset::MakeMaskLevels(const char *resampling, const std::vector<int> &factors, CSLConstList options)
{
    for (ShardedZarrDataset *mask : MaskDatasets())
    {
        if (!mask->m_validity.is_plain)
            continue; // masks that are only read show the base's nearest pixels
        if (mask->MakeLevels(resampling, factors, GDALDummyProgress, nullptr, options) != CE_None)
            return CE_Failure;
    }
    return CE_None;
}

CPLErr ShardedZarrDataset::FlushMasks(bool atClosing)
{
    CPLErr result = CE_None;
    for (ShardedZarrDataset *mask : m_areMasksFound ? MaskDatasets() : std::vector<ShardedZarrDataset *>())
    {
        if (mask->FlushAll(atClosing) != CE_None)
            result = CE_Failure;
        else if (m_isMaskAdded && mask->m_hasLost)
            result = zsRefuse(CPLE_FileIO, "%s: the mask is not added: pixels of it could not be written",
                              zsShown(GetDescription()).c_str());
        if (atClosing)
            mask->m_isClosed = true;
    }
    return result;
}
