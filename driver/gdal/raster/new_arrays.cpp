#include "new_arrays.h"

#include <algorithm>

#include "gdal/creation_options.h"
#include "dataset.h"

extern "C"
{
#include "geo/cf.h"
}

bool zsIsDimension(const struct zs_raster_spec &spec, const std::string &name)
{
    const auto isNamed = [&](const struct zs_extra_axis &axis) { return name == axis.name; };
    return name == spec.dim_x || (spec.dim_y != nullptr && name == spec.dim_y) ||
           (spec.healpix != nullptr && name == ZS_CELL_COORDINATE) ||
           std::any_of(spec.axes, spec.axes + spec.axis_count, isNamed);
}

/* Three bands of bytes, and a fourth beside them, are a picture until their colours are set: as GTiff takes them, too,
 * and gdalwarp sets none but alpha. */
static struct zs_meaning meaningOfNew(int band, int bands, const struct zs_dtype &dtype)
{
    struct zs_meaning m = {};
    if (dtype.type == ZS_UINT8 && (bands == 3 || bands == 4) && band < 3)
    {
        m.colour_name = zs_strdup(GDALGetColorInterpretationName(static_cast<GDALColorInterp>(GCI_RedBand + band)));
        m.colour = zs_colour_of_name(m.colour_name);
    }
    return m;
}

ZSNewArrays::~ZSNewArrays()
{
    for (auto &m : m_bands)
        zs_meaning_clear(&m);
}

std::vector<struct zs_meaning> &ZSNewArrays::Read(GDALDataset *source, int bands, const struct zs_dtype &dtype)
{
    for (int b = 0; b < bands; b++)
        m_bands.push_back(source != nullptr ? zsMeaningOf(*source->GetRasterBand(b + 1))
                                            : meaningOfNew(b, bands, dtype));
    return m_bands;
}

void ZSNewArrays::Set(bool single, const std::string &name, const struct zs_raster_spec &spec)
{
    for (size_t b = 0; b < m_bands.size(); b++)
    {
        const char *description = m_bands[b].description;
        const bool usable = description != nullptr && zsIsArrayName(description) && !zsIsDimension(spec, description) &&
                            std::find(m_names.begin(), m_names.end(), description) == m_names.end();
        m_names.push_back(usable ? description : name + "_" + std::to_string(b + 1));
    }
    if (single)
        m_specs.push_back({(m_names[0] = name).c_str(), m_bands.data(), m_bands.size()});
    for (size_t b = 0; !single && b < m_bands.size(); b++)
        m_specs.push_back({m_names[b].c_str(), &m_bands[b], 1});
}

void ZSNewArrays::Apply(struct zs_raster_spec &spec) const
{
    spec.arrays = m_specs.data();
    spec.array_count = m_specs.size();
}

std::string ZSNewArrays::MaskName(const struct zs_raster_spec &spec) const
{
    const auto isTaken = [&](const std::string &name)
    {
        return zsIsDimension(spec, name) || name == ZS_GRID_MAPPING ||
               std::any_of(m_specs.begin(), m_specs.end(),
                           [&](const struct zs_raster_array_spec &array) { return name == array.name; });
    };
    std::string name = "mask";
    for (int i = 2; isTaken(name); i++)
        name = "mask_" + std::to_string(i);
    return name;
}
