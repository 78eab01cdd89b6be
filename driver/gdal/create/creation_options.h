/* gdal/create/creation_options.h: the table of options (options.cpp): what each is called, where it may be given, what
 * it may hold, its default, its help, and what it sets. The lists that GDAL shows, and all parsing, come from it. And
 * the creation options, turned into the shapes of a new store. */
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gdal/compat.h"

extern "C"
{
#include "array/array.h"
#include "raster/create.h"
#include "zarr/document.h"
}

/* Where an option may be given; bits. */
enum ZSOptionUse : unsigned
{
    ZS_OPENING = 1,
    ZS_RASTER = 2,  /* creating a raster */
    ZS_ARRAY = 4,   /* creating an array of the multidimensional API */
    ZS_DATASET = 8, /* creating a dataset of it, for all of its arrays; those of arrays may be given there too */
};

/* The XML for GDAL's metadata items of options, this driver's own first, then what other drivers call them. */
std::string zsOptionList(ZSOptionUse use);

/* Whether an option of this driver's own may be given there. */
bool zsIsOption(const char *name, ZSOptionUse use);

/* The codecs that this build can write, with commas between, as GDAL's own Zarr driver lists them. */
std::string zsCompressors();

/* Whether consolidated metadata are used, by this driver's open option or that of GDAL's own. */
bool zsUsesConsolidated(CSLConstList openOptions);

/* Replaces the creation options of GDAL's own Zarr driver, and COG's, by this driver's. False (CPLError emitted) for
 * what has no meaning here: another format, what contradicts an option of this driver. */
bool zsTakeAliases(CPLStringList &options);

/* Emits the CPLError of an option whose value is not allowed; false. */
bool zsRefuseOption(const char *name, const std::string &expected, const char *found);

/* Whether an array may have that name: one that neither the specification nor files written beside it use. */
bool zsIsArrayName(const std::string &name);

/* Appends positive integers that commas, or x, separate. False when there is something else, or nothing. */
bool zsParseNumbers(const char *text, std::vector<uint64_t> &out);

/* A dimension of a new array, in elements. */
struct ZSDimension
{
    uint64_t size;
    const char *what; /* "rows" */
};

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
    bool fsync = false; /* whether files are flushed to the disk before they are published */
    enum zs_georef_style style = {};
    struct zs_encoding encoding = {}; /* blosc_shuffle is null where the data type decides: see EncodingOf() */
    bool has_level = false;
    int chunk_order = 0;
    int threads = 0;
    std::vector<uint64_t> chunk, shard; /* CHUNK_SHAPE and SHARD_SHAPE; empty: default, AUTO */
    /* Block size and layout in the profile of another format; 0 and false when not given. */
    uint64_t profile_width = 0, profile_height = 0;
    bool profile_is_tiled = false, profile_is_striped = false;
    std::vector<std::string> dim_names;
    std::string name_of_x = "x", name_of_y = "y"; /* where dim_names has none: a copy's are those of its source */
    int healpix_order = -1;      /* of the HEALPix cells that the pixels become; -1: of none */
    bool overviews_auto = false;
    std::vector<int> overviews;
    std::string resampling; /* "" : by what the pixels mean */

    static constexpr uint64_t USUAL_BLOCK = 512; /* columns and rows of a chunk by default */

    /* Reads GDAL's list. False (CPLError emitted) when a value is not allowed. */
    bool Parse(CSLConstList options);

    /* Sets the shapes of chunks and shards (null: no shards) of an array of `item` bytes an element: those that the
     * options give, of which one number is for the last two dimensions, or the only one, else `usual` chunks and about
     * 64 MiB of them. Shards have one chunk of each dimension that SHARD_SHAPE leaves out. False (CPLError emitted)
     * where they do not divide, or are too large; the message proposes some that do. */
    bool LayOut(const std::vector<ZSDimension> &dimensions, size_t item, const std::vector<uint64_t> &usual,
                uint64_t *chunkShape, uint64_t *shardShape) const;

    /* How chunks of elements of that type are encoded. */
    struct zs_encoding EncodingOf(const struct zs_dtype &dtype) const;
    /* Whether pixels may choose another filter of blosc than that. */
    bool LeavesFilter() const
    {
        return encoding.blosc_shuffle == nullptr && encoding.compression == ZS_COMPRESS_BLOSC;
    }

    /* Whether BITROUND suits the spec's data type and nodata value. */
    bool CheckRounding(const struct zs_raster_spec &spec) const;

    /* Sets chunk, shard, codec and dimension names of the spec (whose size, bands and dtype are set). False (CPLError
     * emitted) when shapes do not divide; the message proposes some that do. The spec borrows from this. */
    bool Apply(struct zs_raster_spec &spec);

    /* Factors of the overviews that a raster of this spec shall have. */
    std::vector<int> OverviewFactors(const struct zs_raster_spec &spec) const;

  private:
    std::vector<uint64_t> UsualChunk(const struct zs_raster_spec &spec, uint64_t width, uint64_t height) const;
    /* Squares of pixels, into which the spec is divided, as runs of cells. */
    bool FoldSquares(struct zs_raster_spec &spec) const;
    bool NameDimensions(struct zs_raster_spec &spec);
};

/* Whether a dimension of the new array, or a coordinate of cells, has a name. */
bool zsIsDimension(const struct zs_raster_spec &spec, const std::string &name);

/* Resampling of the raster's overviews: `asked`, or where that is "" one that suits its pixels. */
std::string zsOverviewResampling(const std::string &asked, GDALDataset &raster);
