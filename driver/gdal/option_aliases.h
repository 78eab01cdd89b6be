/* gdal/option_aliases.h: options as GDAL's own Zarr driver calls them, so that a command for that one opens or makes a
 * store here too. */
#ifndef ZS_GDAL_OPTION_ALIASES_H
#define ZS_GDAL_OPTION_ALIASES_H

#include <string>

#include "compat.h"

/* Their declarations, as XML, to stand behind those of this driver's own. `face`: of rasters, of arrays of the
 * multidimensional API, or of its datasets. */
enum class ZSFace
{
    RASTER,
    ARRAY,
    DATASET
};
std::string zsAliasOptionList(ZSFace face);

/* Open options of the other, as XML: likewise. */
extern const char ZS_OPEN_ALIASES[];
/* Whether consolidated metadata are used, by either's open option. */
bool zsUsesConsolidated(CSLConstList openOptions);

/* Says in this driver's words what a list of options says in those of the other. False (CPLError emitted) for what has
 * no meaning here: another format, a shape of shards without all its dimensions, what contradicts an option of this
 * driver. `dims`: of the array, whose shapes have as many numbers; 0 where it is not known. */
bool zsTakeAliases(CPLStringList &options, size_t dims = 0);

#endif
