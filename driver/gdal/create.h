/* gdal/create.h: making stores. */
#ifndef ZS_GDAL_CREATE_H
#define ZS_GDAL_CREATE_H

#include "compat.h"

/* Gives the driver its creation options and functions. */
void zsAddCreation(GDALDriver &driver);

#endif
