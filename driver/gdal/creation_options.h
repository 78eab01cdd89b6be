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

/* The finest order whose 5 x 5 faces are a raster of GDAL. */
constexpr int ZS_MOST_HEALPIX_ORDER = 28;

/* Parsed creation options. Unset before Parse(), which sets every member by the table of options, at least to its
 * default. */
struct ZSCreationOptions
{
    std::string array_name; /* "" when not given */
    bool single_array = false;
    bool pixel_interleaved = false;
    bool append = false;
    bool overwrite = false;
    bool statistics = false;
    bool consolidates = false; /* the root of a new store has the metadata of all nodes */
    bool fsync = false; /* whether files are flushed to the disk before they take their place */
    enum zs_georef_style style = {};
    struct zs_encoding encoding = {}; /* without what depends on the data type: see EncodingOf() */
    bool has_level = false;
    std::string blosc_cname, blosc_shuffle; /* the latter "" before EncodingOf(): by data type */
    bool guesses_shuffle = false;           /* blosc_shuffle is of the data type, no option */
    int chunk_order = 0;
    enum zs_update update = {}; /* of shards that the session writes to again after publishing */
    int threads = 0;
    ZSShapeOption chunk{"CHUNK_SHAPE"}, shard{"SHARD_SHAPE"}; /* not given: default, AUTO */
    /* Block size and layout in the profile of another format; 0 and false when not given. */
    uint64_t profile_width = 0, profile_height = 0;
    bool profile_is_tiled = false, profile_is_striped = false;
    std::vector<std::string> dim_names;
    int healpix_order = -1;      /* of the HEALPix cells that the pixels become; -1: of none */
    std::string warp_resampling; /* of a source on another grid */
    /* SCALE_OFFSET: stored as integers, of a type that is given or not */
    bool scale_offset = false, has_packed_type = false;
    enum zs_data_type packed_type = {};
    bool has_scale = false, has_offset = false; /* those that the options name */
    double scale = 1, offset = 0;
    bool overviews_auto = false;
    std::vector<int> overviews;
    std::string resampling; /* "" : by what the pixels mean */

    static constexpr uint64_t USUAL_BLOCK = 512; /* columns and rows of a chunk by default */
    static constexpr uint64_t MIN_BLOCK = 16;    /* blocks of fewer are strips, of which no chunks are made */

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
     * for others: with `_<array>` at the end. True: dim_names has the names of all dimensions; false: names that were
     * given stay. */
    bool RenameDimensions(struct zs_raster_spec &spec, const bool *taken);

    /* Factors of the overviews that a raster of this spec shall have. */
    std::vector<int> OverviewFactors(const struct zs_raster_spec &spec) const;

  private:
    std::vector<ZSDivision> chunks, shards; /* for the spec's dimensions; they own the edges that the spec points to */

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

/* Resampling of the raster's overviews: `asked`, or where that is "" one that suits its pixels. */
std::string zsOverviewResampling(const std::string &asked, GDALDataset &raster);

#endif
