/* gdal/raster/view.h: the arrays that a dataset shows: which slices of them are its bands, for HEALPix cells where on
 * the map each cell is, and what a dataset's name selects. */
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gdal/connection.h"
#include "gdal/handles.h"

extern "C"
{
#include "base/status.h"
#include "raster/healpix_read.h"
#include "raster/pixels.h"
}

/* An array of which slices are bands. */
struct ZSBandSource
{
    std::shared_ptr<ZSArray> array;
    std::vector<struct zs_selection> selections; /* of the dimensions but X and Y; empty: all slices are bands */
    int shown = ZS_HEALPIX_SPHERE; /* of HEALPix cells: see raster/healpix.h */
};
using ZSBandSources = std::vector<ZSBandSource>;

/* GDAL makes no dataset of more bands. */
constexpr uint64_t ZS_MOST_BANDS = 65536;

/* Arrays are numbered as in `sources`; a dataset of one array has number 0 alone. Bands count from 1. */
class ZSView
{
    std::vector<struct zs_band_array> m_slices;
    std::vector<struct zs_healpix_map> m_maps; /* of arrays of HEALPix cells */
    std::vector<std::unique_ptr<ZSProperties>> m_properties; /* of the arrays, each read when first asked for */

    bool FindSlices(size_t source, uint64_t before, struct zs_error *err);
    bool CheckSize(size_t source, struct zs_error *err);

  public:
    std::shared_ptr<ZSStore> store;
    ZSBandSources sources; /* in the order of their bands */
    const struct zs_node *group = nullptr; /* whose arrays they are, where that was opened */
    ZSOpenOptions options;
    int width = 0, height = 0;

    /* Finds the slices. False, with the reason in err, where the arrays cannot be one raster. */
    bool Make(struct zs_error *err);

    bool IsGroup() const
    {
        return group != nullptr;
    }
    bool IsHealpix() const
    {
        return Array(0).isHealpix;
    }
    bool IsWholeSphere() const
    {
        return IsHealpix() && sources[0].shown == ZS_HEALPIX_SPHERE;
    }
    /* Whether some slices were selected, rather than all. */
    bool IsSelection() const;
    /* Name of the view in a side-car file: "path", "path:3", "path:face=1". */
    std::string Name() const;

    const ZSArray &Array(size_t source) const
    {
        return *sources[source].array;
    }
    struct zs_array_info Info(size_t source) const
    {
        return zs_array_get_info(Array(source).array);
    }
    const struct zs_slices &Slices(size_t source) const
    {
        return m_slices[source].slices;
    }
    /* The number of bands before those of the array. */
    int Before(size_t source) const
    {
        return static_cast<int>(m_slices[source].first);
    }
    int Count(size_t source) const
    {
        return static_cast<int>(Slices(source).count);
    }
    struct zs_bands Bands() const
    {
        return {m_slices.data(), m_slices.size()};
    }
    /* The array's properties, which its bands have where they have none of their own. */
    const struct zs_band_properties &Properties(size_t source);

    size_t SourceOf(int band) const;
    /* Position of a band in each of its dimensions, counted from the first index selected of it. */
    std::vector<uint64_t> BandPosition(int band) const;
    /* Which of all slices of its array a band is, by which its properties are kept, and how many these are. */
    uint64_t SliceOf(int band) const;
    uint64_t SliceCount(size_t source) const;
    /* The labels of the array's band dimensions, read when first asked for; arrays share them that have the same, and
     * clones. */
    const ZSLabels &Labels(size_t source) const;
    /* Whether the bands of an array are only numbered: they have neither items of their position nor descriptions. */
    bool AreCounted(size_t source) const
    {
        return Slices(source).dim_count == 1 && Labels(source)[0]->is_count;
    }

    void ListArrays(std::vector<const struct zs_node *> &nodes, std::vector<struct zs_axes> &axes) const;
    /* Replaces an array by another of the same size. */
    void ReplaceArray(size_t source, const std::shared_ptr<ZSArray> &array);

    /* Reads where the cells are, and sets what pixels get that are no cell: the nodata value that the properties have,
     * else the fill value, which a mask then leaves out. */
    enum zs_status PrepareCells(size_t source, const struct zs_band_properties &properties, struct zs_error *err);
    const struct zs_healpix_map &Map(size_t source) const
    {
        return m_maps[source];
    }
};

/* ---- HEALPix cells as a map: faces by name, sizes, georeferencing that PROJ gives ---- */

/* Takes the face of the sphere, ":face=3", out of a connection; ZS_HEALPIX_SPHERE where it names none. False, with the
 * reason in err, where there is no such face. In an array with a dimension of that name, this selects from the
 * dimension instead. */
bool zsTakeFace(const ZSArray &array, ZSConnection &connection, int &shown, struct zs_error *err);

/* The side of a block: that of the square which a chunk is, within reason. */
int zsHealpixBlock(const ZSArray &array);

/* Sets the georeferencing of faces in `georef`. */
void zsHealpixGeoref(const struct zs_healpix &healpix, int shown, struct zs_georef &georef);

/* ---- HEALPix cells of all the sphere as what is written: the grid that a raster must have, and the command that makes
 * it (healpix_target.cpp) ---- */

/* All cells of an order in their nested order, on the ellipsoid of `srs`; with nullptr on WGS 84. *isPlane: whether
 * that is the plane of HEALPix as this driver shows it. */
struct zs_healpix zsHealpixTarget(int order, const OGRSpatialReference *srs, bool *isPlane);

/* Whether a transform is that of the cells' plane, to a thousandth of a pixel. */
bool zsIsHealpixTransform(const struct zs_healpix &healpix, const double *transform);

/* Arguments of gdalwarp that make its pixels cells: "-te ... -ts ...". */
std::string zsHealpixArguments(const struct zs_healpix &healpix);

/* The command of gdalwarp that makes a map of an order, for messages. */
std::string zsHealpixAdvice(int order);

/* Whether a source's pixels are the cells of an order, which `healpix` becomes; else false with CPLError emitted. */
bool zsCheckHealpixPlane(GDALDataset &source, int order, struct zs_healpix &healpix);

/* ---- Names (raster_open.cpp) ---- */

/* Name of dimension `dim` of an array in names of datasets and in metadata. */
std::string zsDimensionName(const struct zs_node *node, int dim);
