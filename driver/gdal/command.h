/* gdal/command.h: what the driver adds to the program `gdal`. */
#ifndef ZS_GDAL_COMMAND_H
#define ZS_GDAL_COMMAND_H

#include "compat.h"

/* Adds `gdal driver shardedzarr validate` where GDAL has commands of drivers (3.11); before, does nothing. */
void zsAddCommands(GDALDriver &driver);

#endif
