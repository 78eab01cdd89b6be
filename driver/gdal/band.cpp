#include <algorithm>

#include "dataset.h"

ShardedZarrRasterBand::ShardedZarrRasterBand(ShardedZarrDataset *dataset, int band, GDALDataType type, int blockWidth,
                                             int blockHeight)
{
    poDS = dataset;
    nBand = band;
    eDataType = type;
    nBlockXSize = blockWidth;
    nBlockYSize = blockHeight;
}

/* ---- Pixels ---- */

CPLErr ShardedZarrRasterBand::IReadBlock(int column, int row, void *data)
{
    const int x = column * nBlockXSize, y = row * nBlockYSize;
    const int size = GDALGetDataTypeSizeBytes(eDataType);
    return Dataset().ReadWindow(x, y, std::min(nBlockXSize, nRasterXSize - x), std::min(nBlockYSize, nRasterYSize - y), data,
                                eDataType, {nBand}, size, static_cast<GSpacing>(size) * nBlockXSize, 0);
}

CPLErr ShardedZarrRasterBand::IRasterIO(GDALRWFlag flag, int x, int y, int width, int height, void *data, int bufWidth,
                                        int bufHeight, GDALDataType type, GSpacing pixelSpace, GSpacing lineSpace,
                                        GDALRasterIOExtraArg *extra)
{
    if (flag == GF_Read && width == bufWidth && height == bufHeight)
        return Dataset().ReadWindow(x, y, width, height, data, type, {nBand}, pixelSpace, lineSpace, 0);
    return GDALPamRasterBand::IRasterIO(flag, x, y, width, height, data, bufWidth, bufHeight, type, pixelSpace, lineSpace, extra);
}

/* ---- What pixels mean ---- */

const void *ShardedZarrRasterBand::Nodata(bool &has) const
{
    const struct zs_meaning &m = Dataset().Meaning();
    has = m.has_nodata;
    return m.nodata;
}

static void setFlag(int *flag, bool value)
{
    if (flag != nullptr)
        *flag = value;
}

double ShardedZarrRasterBand::GetNoDataValue(int *has)
{
    bool found;
    const void *value = Nodata(found);
    if (!found)
        return GDALPamRasterBand::GetNoDataValue(has);
    setFlag(has, true);
    const struct zs_array_info info = zs_array_get_info(Dataset().m_array);
    return zsElementToDouble(info.data_type, info.item_size, value);
}

int64_t ShardedZarrRasterBand::GetNoDataValueAsInt64(int *has)
{
    bool found;
    const void *value = Nodata(found);
    if (!found || eDataType != GDT_Int64)
        return GDALPamRasterBand::GetNoDataValueAsInt64(has);
    setFlag(has, true);
    int64_t v;
    memcpy(&v, value, sizeof v);
    return v;
}

uint64_t ShardedZarrRasterBand::GetNoDataValueAsUInt64(int *has)
{
    bool found;
    const void *value = Nodata(found);
    if (!found || eDataType != GDT_UInt64)
        return GDALPamRasterBand::GetNoDataValueAsUInt64(has);
    setFlag(has, true);
    uint64_t v;
    memcpy(&v, value, sizeof v);
    return v;
}

double ShardedZarrRasterBand::GetScale(int *has)
{
    const struct zs_meaning &m = Dataset().Meaning();
    if (!m.has_scale)
        return GDALPamRasterBand::GetScale(has);
    setFlag(has, true);
    return m.scale;
}

double ShardedZarrRasterBand::GetOffset(int *has)
{
    const struct zs_meaning &m = Dataset().Meaning();
    if (!m.has_offset)
        return GDALPamRasterBand::GetOffset(has);
    setFlag(has, true);
    return m.offset;
}

const char *ShardedZarrRasterBand::GetUnitType()
{
    const struct zs_meaning &m = Dataset().Meaning();
    return m.unit != nullptr ? m.unit : GDALPamRasterBand::GetUnitType();
}

char **ShardedZarrRasterBand::GetCategoryNames()
{
    const struct zs_meaning &m = Dataset().Meaning();
    return m.categories != nullptr ? m.categories : GDALPamRasterBand::GetCategoryNames();
}

static GDALColorInterp interpretationOf(enum zs_colour colour)
{
    switch (colour)
    {
        case ZS_COLOUR_GRAY:
            return GCI_GrayIndex;
        case ZS_COLOUR_RED:
            return GCI_RedBand;
        case ZS_COLOUR_GREEN:
            return GCI_GreenBand;
        case ZS_COLOUR_BLUE:
            return GCI_BlueBand;
        case ZS_COLOUR_ALPHA:
            return GCI_AlphaBand;
        case ZS_COLOUR_NONE:
            break;
    }
    return GCI_Undefined;
}

GDALColorInterp ShardedZarrRasterBand::GetColorInterpretation()
{
    const GDALColorInterp set = GDALPamRasterBand::GetColorInterpretation();
    if (set != GCI_Undefined)
        return set;
    auto &ds = Dataset();
    enum zs_colour colour = ds.Meaning().colour;
    if (colour == ZS_COLOUR_NONE && !ds.m_bandDims.empty())
    {
        ds.ReadLabels();
        const auto position = ds.BandPosition(nBand);
        for (size_t i = 0; i < position.size() && colour == ZS_COLOUR_NONE; i++)
        {
            if (!ds.m_labels[i].empty())
                colour = zs_colour_of_name(ds.m_labels[i][position[i]].c_str());
        }
    }
    if (colour == ZS_COLOUR_NONE && ds.nBands == 1)
        colour = zs_colour_of_name(zs_path_name(ds.m_node->path));
    return interpretationOf(colour);
}

/* ---- Names and metadata ---- */

const char *ShardedZarrRasterBand::GetDescription() const
{
    const_cast<ShardedZarrRasterBand *>(this)->AddMetadata();
    return GDALPamRasterBand::GetDescription();
}

/* "time=2024-05-01T00:00:00, level=500" of a band's place in the extra dimensions, and the array's own attributes. */
void ShardedZarrRasterBand::AddMetadata()
{
    if (m_metadataAdded)
        return;
    m_metadataAdded = true;
    auto &ds = Dataset();
    CPLStringList md;
    const struct zs_meaning &meaning = ds.Meaning();
    for (char **item = meaning.metadata; item != nullptr && *item != nullptr; item++)
        md.AddString(*item);

    std::string place;
    ds.ReadLabels();
    const auto position = ds.BandPosition(nBand);
    for (size_t i = 0; i < position.size(); i++)
    {
        const char *dimension = zs_dimension_name(ds.m_node, ds.m_bandDims[i]);
        const std::string name = dimension != nullptr ? dimension : "dim" + std::to_string(ds.m_bandDims[i]);
        const std::string key = "DIM_" + name;
        md.SetNameValue((key + "_INDEX").c_str(), std::to_string(position[i]).c_str());
        std::string text = std::to_string(position[i]);
        if (!ds.m_labels[i].empty())
        {
            text = ds.m_labels[i][position[i]];
            md.SetNameValue((key + "_VALUE").c_str(), text.c_str());
            if (!ds.m_labelUnits[i].empty())
                md.SetNameValue((key + "_UNIT").c_str(), ds.m_labelUnits[i].c_str());
        }
        place += (i == 0 ? "" : ", ") + name + "=" + text;
    }

    // What a side-car file says stays on top.
    CPLStringList merged(CSLMerge(md.StealList(), GDALPamRasterBand::GetMetadata()));
    GDALMajorObject::SetMetadata(merged.List());
    std::string description = meaning.description != nullptr ? meaning.description : "";
    if (!place.empty())
        description += (description.empty() ? "" : ", ") + place;
    if (description.empty() && ds.m_node->path[0] != '\0')
        description = zs_path_name(ds.m_node->path);
    if (GDALPamRasterBand::GetDescription()[0] == '\0' && !description.empty())
        GDALMajorObject::SetDescription(description.c_str());
}

char **ShardedZarrRasterBand::GetMetadataDomainList()
{
    AddMetadata();
    return GDALPamRasterBand::GetMetadataDomainList();
}

ZSMetadata ShardedZarrRasterBand::GetMetadata(const char *domain)
{
    AddMetadata();
    return GDALPamRasterBand::GetMetadata(domain);
}

const char *ShardedZarrRasterBand::GetMetadataItem(const char *name, const char *domain)
{
    AddMetadata();
    return GDALPamRasterBand::GetMetadataItem(name, domain);
}

/* ---- Overviews ---- */

int ShardedZarrRasterBand::GetOverviewCount()
{
    auto &ds = Dataset();
    ds.FindOverviews();
    return ds.m_overviews.empty() ? GDALPamRasterBand::GetOverviewCount() : static_cast<int>(ds.m_overviews.size());
}

GDALRasterBand *ShardedZarrRasterBand::GetOverview(int i)
{
    auto &ds = Dataset();
    ds.FindOverviews();
    if (ds.m_overviews.empty())
        return GDALPamRasterBand::GetOverview(i);
    if (i < 0 || i >= static_cast<int>(ds.m_overviews.size()))
        return nullptr;
    return ds.m_overviews[static_cast<size_t>(i)]->GetRasterBand(nBand);
}
