/* gdal/create/filter.h: the default of BLOSC_SHUFFLE: the filter that makes a sample of the pixels smallest
 * (codec/description.c). */
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "creation_options.h"
#include "gdal/compat.h"

extern "C"
{
#include "raster/pixels.h"
}

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

/* Chooses the filter by the first pixels that are written to a raster of Create(). */
class ZSFilterOfFirst
{
    bool m_isOpen = false; /* it is still to be chosen */
    struct zs_array_spec m_array = {};
    struct zs_blosc_settings m_chosen = {};

  public:
    /* Begins, where the options leave the filter of blosc to the driver. */
    void Start(const ZSCreationOptions &options, const struct zs_raster_spec &spec);

    /* The filter that makes a sample of a window smallest, if that is not the one that the options took. Null as well
     * after the first call, and for windows that are too small, or have one value. */
    const struct zs_blosc_settings *Choose(const struct zs_node *node, const struct zs_band_window &window,
                                           GDALDataType type);
};
