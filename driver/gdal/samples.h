/* gdal/samples.h: chooses the filter of blosc by samples of a copy's source. */
#ifndef ZS_GDAL_SAMPLES_H
#define ZS_GDAL_SAMPLES_H

#include <cstdint>
#include <functional>
#include <vector>

extern "C"
{
#include "zarr/document.h"
}

/* Which elements of a source are read: windows of one size, evenly spread, each at the corner of one of its blocks.
 * Shapes in elements, slowest dimension first. */
struct ZSSampling
{
    std::vector<uint64_t> shape, block; /* of the source; a block's length is 1 where it is not known */
    std::vector<uint64_t> window;

    /* Sets the window: the last elements of a chunk in C order, about as many as a block of blosc has. */
    void SetWindow(const uint64_t *chunk, size_t item);

    /* Windows that are read: a small share of the source's blocks, one at least. */
    uint64_t Count() const;
    /* Start of the i-th of them in dimension d. */
    uint64_t Start(uint64_t i, size_t d) const;
};

/* Reads one window into dense elements in native byte order; false where it cannot. */
using ZSReadSample = std::function<bool(const uint64_t *start, void *elements)>;

/* The filter that makes samples of a source smallest (codec/filter.h), told in the debug log: one of the names that
 * encoding.blosc_shuffle has. Null where none can be read, or each has one value. Emits no error: the copy itself
 * reports what cannot be read.
 *   spec  of the new array: what is stored of elements, and chunk_shape, by which blosc's blocks are as in its chunks
 *   name  of the new array, for the log */
const char *zsFilterOfSamples(const struct zs_array_spec &spec, const char *name, const ZSSampling &sampling,
                              const ZSReadSample &read);

#endif
