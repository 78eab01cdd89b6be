/* gdal/raster/choices.h: parts of the dimensions that become bands, as names of datasets ask for them:
 *   :0:6                        indices into the first of them
 *   :step=6:time=2026-05-01T00  in any order, by the dimension's name: a value of its coordinate variable (of a
 *                               dimension without one an index), `first`, `last`, or both ends of a range, a..b: whole
 *                               numbers are indices, all else are times (see geo/choice.h)
 * A dimension without a name of its own is called dim<number>. */
#ifndef ZS_GDAL_CHOICES_H
#define ZS_GDAL_CHOICES_H

#include "gdal/connection.h"
#include "view.h"

/* What dimension `dim` of an array is called in names of datasets and in metadata. */
std::string zsDimensionName(const struct zs_node *node, int dim);

/* What a connection asks for of the dimensions but X and Y, in their order; empty when that is all of them. Reads
 * coordinates only of dimensions that are asked for by value. False, with the reason in err, when there is nothing
 * such. */
bool zsChoose(const ZSStore &store, const struct zs_node *node, const struct zs_axes &axes,
              const ZSConnection &connection, std::vector<struct zs_choice> &choices, struct zs_error *err);

/* The same choices as text, for what is kept of a part and not of the whole: ":3", ":*:0..24". */
std::string zsChoicesText(const std::vector<struct zs_choice> &choices);

/* ":name=", behind which a value or a range follows. */
std::string zsNamedChoice(const struct zs_node *node, int dim);

#endif
