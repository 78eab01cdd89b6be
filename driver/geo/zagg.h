/* geo/zagg.h: rectilinear products of zagg (FORMATS 7.1): `crs`, `resolution` and `bounds` of the group that holds the
 * arrays. Internal to the core. */
#ifndef ZS_GEO_ZAGG_H
#define ZS_GEO_ZAGG_H

#include "geo/conventions.h"

extern const struct zs_convention zs_zagg;

/* Whether attributes of a group are those of a product: a grid, and a CRS. */
bool zs_zagg_is_product(const zs_json *attributes);

#endif
