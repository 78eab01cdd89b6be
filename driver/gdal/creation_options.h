/* gdal/creation_options.h: the creation options: declared, parsed, and turned into the shapes of a new store. */
#ifndef ZS_GDAL_CREATION_OPTIONS_H
#define ZS_GDAL_CREATION_OPTIONS_H

#include <string>
#include <vector>

#include "compat.h"
#include "shape_option.h"

extern "C"
{
#include "raster/create.h"
}

/* The XML for GDAL_DMD_CREATIONOPTIONLIST. */
std::string zsCreationOptionList();

/* The codecs among them that this build can write, with commas between. */
std::string zsCompressors();

/* Near this many decoded bytes per shard: few enough objects, and still few enough bytes to rewrite when one
 * changes. */
constexpr uint64_t ZS_SHARD_BYTES = 64 << 20;

/* The finest order whose 5 x 5 faces are a raster of GDAL. */
constexpr int ZS_MOST_HEALPIX_ORDER = 28;

class ZSSourceAxes;

/* Reads the option UPDATE. False (CPLError emitted) when the value is not allowed. */
bool zsParseUpdate(CSLConstList options, enum zs_update &update);

/* NUM_THREADS; false, with the error emitted, where its value is not allowed. GDAL_NUM_THREADS is for all of GDAL: what
 * it says is clamped, as others do. */
bool zsParseThreads(CSLConstList options, int &threads);
const char *zsUpdateName(enum zs_update update);

/* Whether an array may have that name: a key of its own that is neither of the specification nor of what is written
 * beside it. */
bool zsIsArrayName(const std::string &name);

struct ZSCreationOptions
{
    std::string array_name; /* "" when not given */
    bool single_array = true;
    bool pixel_interleaved = false;
    bool append = false;
    bool overwrite = false;
    bool statistics = false;
    bool consolidates = true; /* the root of a new store has the metadata of all nodes */
    bool fsync = true; /* whether what is written is put on the disk before it takes its place */
    enum zs_georef_style style = ZS_GEOREF_ALL;
    struct zs_encoding encoding = {};
    int chunk_order = 0;
    enum zs_update update = ZS_UPDATE_REWRITE; /* of what the same session publishes and then writes to again */
    int threads = 0;
    ZSShapeOption chunk{"CHUNK_SHAPE"}, shard{"SHARD_SHAPE"}; /* not given: default, AUTO */
    static constexpr uint64_t USUAL_BLOCK = 512;
    uint64_t block_width = USUAL_BLOCK, block_height = USUAL_BLOCK; /* of a chunk by default */
    bool block_is_tile = false; /* TILED says so; else one as wide as the raster is a strip */
    std::vector<std::string> dim_names;
    int healpix_order = -1;     /* of the HEALPix cells that the pixels become; -1: of none */
    std::string warp_resampling; /* of a source on another grid; "" : the nearest */
    /* SCALE_OFFSET: stored as integers, of a type that is given or not */
    bool scale_offset = false, has_packed_type = false;
    enum zs_data_type packed_type = ZS_UINT16;
    bool has_scale = false, has_offset = false; /* those that the options name */
    double scale = 1, offset = 0;
    std::string blosc_shuffle;           /* "" : by data type */
    bool overviews_auto = true;
    std::vector<int> overviews;
    std::string resampling; /* "" : by what the pixels mean */

    /* Reads GDAL's list. False (CPLError emitted) when a value is not allowed. */
    bool Parse(CSLConstList options);

    /* How chunks of elements of that type are encoded. Borrows from this. */
    struct zs_encoding EncodingOf(const struct zs_dtype &dtype);

    /* Whether BITROUND suits the spec's data type and nodata value. */
    bool CheckRounding(const struct zs_raster_spec &spec) const;

    /* Sets chunk, shard, codec and dimension names of the spec (whose size, bands and dtype are set). False (CPLError
     * emitted) when shapes do not divide; the message says what would do. The spec borrows from this. Where the lengths
     * in CHUNK_SHAPE differ there are no shards. */
    bool Apply(struct zs_raster_spec &spec);

    /* Other names for those of the spec's dimensions (in the array's order) that the store a raster is appended to has
     * for others: with `_<array>` at the end. Names that were given stay. */
    void RenameDimensions(struct zs_raster_spec &spec, ZSSourceAxes &axes, const bool *taken);

    /* Factors of the overviews that a raster of this spec shall have. */
    std::vector<int> OverviewFactors(const struct zs_raster_spec &spec) const;

  private:
    std::vector<ZSDivision> chunks, shards; /* of the spec's dimensions; what its edges are borrowed from */

    bool ParseStored(CSLConstList options);
    bool ParseHealpix(CSLConstList options);
    /* Squares of pixels, into which the spec is divided, as runs of cells. */
    bool FoldSquares(struct zs_raster_spec &spec);
    bool NameDimensions(struct zs_raster_spec &spec);
    bool FitBands(const struct zs_raster_spec &spec, const std::vector<ZSDimension> &dimensions);
    /* Sets chunk, is_sharded, and edges where chunks differ, of the spec, and the units of the dimensions. */
    bool ApplyChunks(struct zs_raster_spec &spec, std::vector<ZSDimension> &dimensions);
    /* Sets shard and edges. */
    bool ApplyShards(struct zs_raster_spec &spec, const std::vector<ZSDimension> &dimensions);
};

/* What overviews of the raster are made with: what was asked for, or where that is "" what suits the meaning of its
 * pixels. */
std::string zsOverviewResampling(const std::string &asked, GDALDataset &raster);

#endif
