/* gdal/options.h: the table of options: what each is called, where it may be given, what it may hold, its default, its
 * help, and what it sets. The lists that GDAL shows, and all parsing, come from it. */
#pragma once

#include <string>

#include "compat.h"

extern "C"
{
#include "array/array.h"
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

/* Whether an option of this driver's own may be given there, and the names of those that may, with commas between. */
bool zsIsOption(const char *name, ZSOptionUse use);
std::string zsOptionNames(ZSOptionUse use);

/* The codecs that this build can write, with commas between, as GDAL's own Zarr driver lists them. */
std::string zsCompressors();

/* The value of the option UPDATE for it. */
const char *zsUpdateName(enum zs_update update);

/* Whether consolidated metadata are used, by this driver's open option or that of GDAL's own. */
bool zsUsesConsolidated(CSLConstList openOptions);

/* Replaces the creation options of GDAL's own Zarr driver, and COG's, by this driver's. False (CPLError emitted) for
 * what has no meaning here: another format, a shape of shards without all its dimensions, what contradicts an option of
 * this driver. `dims`: of the array, whose shapes have as many numbers; 0 where it is not known. */
bool zsTakeAliases(CPLStringList &options, size_t dims = 0);

/* Emits the CPLError of an option whose value is not allowed; false. */
bool zsRefuseOption(const char *name, const std::string &expected, const char *found);

/* Whether an array may have that name: one that neither the specification nor files written beside it use. */
bool zsIsArrayName(const std::string &name);
