/* Creation options of rasters whose pixels become HEALPix cells: one dimension in the place of two. */
#include <algorithm>

#include "gdal/creation_options.h"

/* The side of a square of cells; 0 where it is none. */
static uint64_t sideOf(uint64_t rows, uint64_t columns)
{
    return rows == columns && (rows & (rows - 1)) == 0 ? rows : 0;
}

bool ZSCreationOptions::FoldSquares(struct zs_raster_spec &spec)
{
    const int y = spec.axis_count, x = y + 1;
    const bool isList = spec.edges[y] != nullptr || spec.edges[x] != nullptr;
    if (isList || sideOf(spec.chunk[y], spec.chunk[x]) == 0)
        return zsRefuseOption("CHUNK_SHAPE", "for HEALPix cells a power of two, the side of a square",
                              isList ? "a list" : std::to_string(spec.chunk[x]).c_str());
    if (!shard.IsGiven()) // the default may be twice as wide as high
        spec.shard[y] = spec.shard[x] = std::min(spec.shard[y], spec.shard[x]);
    if (sideOf(spec.shard[y], spec.shard[x]) == 0)
        return zsRefuseOption("SHARD_SHAPE", "for HEALPix cells a power of two, the side of a square",
                              std::to_string(spec.shard[x]).c_str());
    const uint64_t side = static_cast<uint64_t>(1) << healpix_order;
    spec.chunk[y] = std::min(spec.chunk[y], side) * std::min(spec.chunk[x], side);
    spec.shard[y] = std::min(spec.shard[y], side) * std::min(spec.shard[x], side);
    spec.chunk[x] = spec.shard[x] = 0;
    return true;
}

bool ZSCreationOptions::NameDimensions(struct zs_raster_spec &spec)
{
    const struct zs_axes axes = zs_raster_axes(&spec);
    const auto dims = static_cast<size_t>(zs_raster_ndim(&spec));
    if (!dim_names.empty() && dim_names.size() != dims)
    {
        const std::string names = dims == 1   ? "one name"
                                  : dims == 2 ? "two names"
                                  : dims == 3 ? "three names"
                                              : std::to_string(dims) + " names";
        return zsRefuseOption("DIM_NAMES", names, std::to_string(dim_names.size()).c_str());
    }
    const bool isCells = spec.healpix != nullptr;
    spec.dim_x = !dim_names.empty() ? dim_names.back().c_str() : isCells ? "cells" : "x";
    spec.dim_y = isCells ? nullptr : dim_names.empty() ? "y" : dim_names[dim_names.size() - 2].c_str();
    for (size_t d = 0; d < dims; d++)
    {
        const int dim = static_cast<int>(d);
        const char *name = dim == axes.x ? spec.dim_x : dim == axes.y ? spec.dim_y : spec.axes[d].name;
        if (array_name == name)
            return zsRefuseOption("ARRAY_NAME", "a name other than that of a dimension, for which there are DIM_NAMES",
                                  name);
    }
    if (isCells && (array_name == ZS_CELL_COORDINATE ||
                    std::find(dim_names.begin(), dim_names.end(), ZS_CELL_COORDINATE) != dim_names.end()))
        return zsRefuseOption("ARRAY_NAME", "a name other than that of the coordinate", ZS_CELL_COORDINATE);
    return true;
}
