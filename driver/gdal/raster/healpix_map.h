/* gdal/raster/healpix_map.h: HEALPix cells as a map: georeferencing that PROJ gives, faces as subdatasets, masks. */
#ifndef ZS_GDAL_HEALPIX_H
#define ZS_GDAL_HEALPIX_H

#include "gdal/connection.h"
#include "view.h"

/* What a connection asks for of the sphere, ":face=3", which is then taken out of it; ZS_HEALPIX_SPHERE where it asks
 * for no face. False, with the reason in err, where there is no such face. An array with a dimension of that name is
 * asked for that. */
bool zsTakeFace(const ZSArray &array, ZSConnection &connection, int &shown, struct zs_error *err);

/* The twelve faces of what `name` names, behind what is listed already. */
void zsListFaces(CPLStringList &list, const std::string &name, const std::string &title);
/* The same of an array that a connection chose a part of. */
void zsListFaces(CPLStringList &list, const ZSConnection &connection, const std::string &path);

/* Pixels along the sides of a raster; false, with the reason in err, where GDAL has no so large ones. */
bool zsHealpixSize(const ZSArray &array, int shown, int &width, int &height, struct zs_error *err);
/* The side of a block: that of the square which a chunk is, within reason. */
int zsHealpixBlock(const ZSArray &array);

/* Where faces lie, into `georef`. */
void zsHealpixGeoref(const struct zs_healpix &healpix, int shown, struct zs_georef &georef);

#endif
