/* gdal/create/copy.h: what CreateCopy() takes from its source: the pixels (copy.cpp), the dimensions that the bands are
 * flattened from (source_axes.cpp), what of the rest is kept (losses.cpp), and the filter of blosc by a sample of the
 * pixels (filter.cpp). */
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "creation_options.h"
#include "gdal/handles.h"

extern "C"
{
#include "raster/create.h"
#include "raster/pixels.h"
}

class ZSCopiedLevels;

/* ---- Pixels ---- */

/* Copies all bands of a source, read as `type`, into those of a raster: one step is read while the one before is
 * encoded and written. Where blocks of the source are divided among steps, bands go whole into a scratch file in
 * `folder` (on a local disk, else in that of temporary files). It is as large as the bands of a step, and has no name.
 * `levels` (null: none) gets all pixels, too. Progress goes from 0 to 1. False, with a CPLError, on failure or when the
 * user cancels. */
bool zsCopyPixels(GDALDataset &source, GDALDataType type, const struct zs_bands &target,
                  const struct zs_raster_spec &spec, int threads, const std::string &folder, ZSCopiedLevels *levels,
                  GDALProgressFunc progress, void *progressData);

/* Whether all bands of a source have one mask that is neither nodata nor alpha. */
bool zsHasOneMask(GDALDataset &source);

/* ---- Dimensions ---- */

/* An item of a dataset's metadata, by this driver: the dimensions that its bands are flattened from, "{time,level}",
 * slowest first. Where there is only one, its name is not needed. */
constexpr const char *ZS_EXTRA_DIMENSIONS = "EXTRA_DIM";

/* The netCDF driver's number for a data type; 0 where it has none. */
int zsNetcdfType(enum zs_data_type type);

/* Extra dimensions (time, level ...) in the metadata of a source's bands.
 *
 * Understood are DIM_<name>_INDEX, _VALUE and _UNIT (this driver, GDAL's Zarr driver, all that makes a raster of a
 * multidimensional array), and NETCDF_DIM_<name> (the netCDF driver; its data type is in NETCDF_DIM_<name>_DEF of the
 * dataset). Attributes of the variable <name> are the dataset's <name>#units and so on. Every band must have one, a
 * number or a time, and the bands must be the full product of the dimensions, in order. Else it is doubtful, and the
 * bands are counted: 1, 2, 3 along a dimension `band`. */
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
    void Spend(CPLStringList &metadata, std::vector<ZSProperties> &bands) const;

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
    };
    std::vector<Axis> m_axes;
    std::vector<struct zs_extra_axis> m_specs;

    bool Read(GDALDataset &source, bool isNetcdf);
    bool Reduce(const std::vector<size_t> &order);
    bool Arrange(GDALDataset &source);
    bool MakeDimensions(GDALDataset &source, const std::vector<std::string> &names);
    void Count(int bands, const std::vector<std::string> &names);
    std::string WithoutPosition(const char *description, size_t band, size_t bands, const char *label) const;
};

/* ---- What is kept ---- */

/* The first source of a band ("1") or of an array ("group/array") of a virtual dataset: the name of its file, and of
 * its array or band there. False where there is none. */
bool zsFirstSource(GDALDataset &virtualDataset, const std::string &path, std::string &file, std::string &part);

/* Whether the nodata value of the spec is that of a band of this driver whose fill value alone implies it, also below
 * virtual rasters (of several sources, the first is asked): xarray masks what is declared, and a copy declares no more
 * than its source. */
bool zsImpliesNodata(GDALRasterBand &band, const struct zs_raster_spec &spec, int depth = 0);

/* The names of a source's X and Y: of its array's dimensions, or of the variables that netCDF's items speak of
 * ("lon#standard_name=longitude"). False where it has none. */
bool zsPlaneNames(GDALDataset &source, std::string &x, std::string &y);
/* Whether dimensions of a new array can have them. */
bool zsArePlaneNames(const std::string &x, const std::string &y);

/* Names what a copy of the source would lose: in an error, and returns false, where `strict` asks for a copy that is
 * whole; else in a warning. This is the one list of it. `areCells`: it becomes HEALPix cells. */
bool zsCheckLosses(const char *name, GDALDataset &source, bool hasSideCar, bool areCells, bool strict);

/* Gives the bands of a copy the attribute tables of those of its source: they go into its side-car file. */
void zsCopyTables(GDALDataset &source, GDALDataset &copy);

/* ---- The filter of blosc ---- */

/* A window near the middle of an array, at the corner of a block: as long as a chunk in the fastest dimensions, of
 * about as many elements as a block of blosc has. Shapes in elements, slowest dimension first. */
struct ZSSample
{
    std::vector<uint64_t> start, size;

    /* `block`: lengths of the blocks that are read together; 1 where a length is not known. */
    ZSSample(const std::vector<uint64_t> &shape, const std::vector<uint64_t> &block, const uint64_t *chunk,
             size_t item);
};

/* The filter that makes a sample smallest: one of the names that encoding.blosc_shuffle has. Null where it cannot be
 * read, or has one value. Emits no error: the copy itself reports what cannot be read.
 *   spec  of the new array: what is stored of elements, and chunk_shape, by which blosc's blocks are as in its chunks
 *   name  of the new array, for the debug log
 *   read  reads the sample into dense elements in native byte order; false where it cannot */
const char *zsFilterOfSample(const struct zs_array_spec &spec, const char *name, const ZSSample &sample,
                             const std::function<bool(void *elements)> &read);

/* Sets the filter of a copy in the spec, by pixels of the source read as `type`. Does nothing where the options name a
 * filter or another compression. */
void zsChooseFilter(GDALDataset &source, GDALDataType type, const ZSCreationOptions &options,
                    struct zs_raster_spec &spec);
