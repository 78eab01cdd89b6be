/* gdal/raster/new_arrays.h: the arrays of a raster that is created: what they are called and what their bands mean. */
#ifndef ZS_GDAL_NEW_ARRAYS_H
#define ZS_GDAL_NEW_ARRAYS_H

#include <string>
#include <vector>

#include "gdal/compat.h"

extern "C"
{
#include "raster/create.h"
}

/* Whether a coordinate variable of the raster has that name. */
bool zsIsDimension(const struct zs_raster_spec &spec, const std::string &name);

/* What the spec points to lives here. */
class ZSNewArrays
{
    std::vector<struct zs_meaning> m_bands;
    std::vector<std::string> m_names;
    std::vector<struct zs_raster_array_spec> m_specs;

  public:
    ZSNewArrays() = default;
    ZSNewArrays(const ZSNewArrays &) = delete;
    ZSNewArrays &operator=(const ZSNewArrays &) = delete;
    ~ZSNewArrays();

    /* What the bands mean; `source` may be null: no more is known of them than their type. */
    std::vector<struct zs_meaning> &Read(GDALDataset *source, int bands, const struct zs_dtype &dtype);
    /* One array of all bands, or one per band named by the band's description. */
    void Set(bool single, const std::string &name, const struct zs_raster_spec &spec);
    void Apply(struct zs_raster_spec &spec) const;
    const char *Name(size_t i) const
    {
        return m_specs[i].name;
    }
    /* A name for the mask beside them: mask, or mask_2 ... */
    std::string MaskName(const struct zs_raster_spec &spec) const;
};

#endif
