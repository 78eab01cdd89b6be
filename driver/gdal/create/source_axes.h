/* gdal/create/source_axes.h: the dimensions that the bands of a new raster are flattened from. */
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gdal/compat.h"

extern "C"
{
#include "raster/create.h"
}

/* An item of a dataset's metadata, by this driver: the dimensions that its bands are flattened from, "{time,level}",
 * slowest first. Where there is only one, its name is not needed. */
constexpr const char *ZS_EXTRA_DIMENSIONS = "EXTRA_DIM";

/* The netCDF driver's number for a data type; 0 where it has none. */
int zsNetcdfType(enum zs_data_type type);

/* Extra dimensions (time, level ...) in the metadata of a source's bands.
 *
 * Understood are DIM_<name>_INDEX, _VALUE and _UNIT (this driver, GDAL's Zarr driver, all that makes a raster of a
 * multidimensional array), NETCDF_DIM_<name> (the netCDF driver; its data type is in NETCDF_DIM_<name>_DEF of the
 * dataset), and GRIB_VALID_TIME or GRIB_SHORT_NAME of bands that are alike otherwise. Attributes of the variable <name>
 * are the dataset's <name>#units and so on. Every band must have one, a number or a time, and the bands must be the
 * full product of the dimensions, in order. Else it is doubtful, and the bands are counted: 1, 2, 3 along a dimension
 * `band`. */
class ZSSourceAxes
{
  public:
    /* Finds the dimensions of `bands` bands; `source` may be null. `names` are the names of all dimensions, Y and X
     * last, or none; names of another count are ignored, and compared with the spec later. */
    void Find(GDALDataset *source, int bands, const std::vector<std::string> &names);
    /* The spec borrows from this. */
    void Apply(struct zs_raster_spec &spec) const;
    bool HasName(const std::string &name) const;
    /* Other names, for the spec too; there may be more of them, Y and X. */
    void Rename(const std::vector<std::string> &names);

    /* Removes what the dimensions hold: from the metadata of the dataset and of each band, and from descriptions that
     * this driver made of positions. A description that all bands have then becomes the array's, in `metadata`. */
    void Spend(CPLStringList &metadata, std::vector<struct zs_band_properties> &bands) const;

  private:
    struct Axis
    {
        std::string source;              /* the source's name for it */
        std::string name;                /* that of the new dimension */
        std::vector<std::string> values; /* a text per band, then per element */
        bool has_values = true;          /* else they are indices alone */
        CPLStringList attributes;
        enum zs_data_type type = ZS_INT64;
        std::shared_ptr<void> elements;

        bool IsCounted() const;
    };
    std::vector<Axis> m_axes;
    std::vector<struct zs_extra_axis> m_specs;
    std::vector<std::string> m_spent; /* names of items of bands */

    bool ReadArray(GDALDataset &source);
    bool ReadPositions(GDALDataset &source);
    bool ReadNetcdf(GDALDataset &source);
    bool ReadGrib(GDALDataset &source);
    bool Take(GDALDataset &source, const std::string &name, const std::string &item);
    bool Reduce(const std::vector<size_t> &order);
    bool Arrange(GDALDataset &source);
    bool MakeDimensions(GDALDataset &source, const std::vector<std::string> &names);
    void Count(int bands, const std::vector<std::string> &names);
    std::string WithoutPosition(const char *description, size_t band, size_t bands, const char *label) const;
};
