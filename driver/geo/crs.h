/* geo/crs.h: coordinate reference systems from texts and numbers, through OSR. Internal to the room.
 *
 * Nothing here prints, and GDAL's last error is as it was before: metadata with an unknown CRS are no error. */
#pragma once

#include <cpl_error.h>
#include <ogr_srs_api.h>

#include "zarr/json.h"

/* Keeps GDAL quiet between begin and end, and puts back its last error. */
struct zs_quiet {
    CPLErr type;
    CPLErrorNum number;
    char *message;
};
void zs_quiet_begin(struct zs_quiet *quiet);
void zs_quiet_end(struct zs_quiet *quiet);

/* Each returns a CRS that the caller releases with OSRRelease(), in traditional GIS axis order, or NULL. */
OGRSpatialReferenceH zs_crs_from_code(const char *code);          /* "EPSG:32633", "IAU_2015:30100" */
OGRSpatialReferenceH zs_crs_from_epsg(int64_t code);
OGRSpatialReferenceH zs_crs_from_wkt(const char *wkt);            /* WKT 1 or 2 */
OGRSpatialReferenceH zs_crs_from_proj_string(const char *text);   /* "+proj=utm +zone=33" */

/* A member in whatever form it has: code, WKT, PROJJSON or its text, OGC URL or URN; nothing is fetched. */
OGRSpatialReferenceH zs_crs_from_json(const zs_json *member);

/* NULL, no CRS, is the same as NULL alone. */
bool zs_crs_is_same(OGRSpatialReferenceH a, OGRSpatialReferenceH b);
/* "AUTHORITY:CODE" of the CRS when that alone gives the same CRS back; freed with free(), NULL otherwise. */
char *zs_crs_to_code(OGRSpatialReferenceH srs);
/* WKT of the CRS in the given form ("FORMAT=WKT2_2019"), freed with CPLFree(); NULL where it has none. */
char *zs_crs_to_wkt(OGRSpatialReferenceH srs, const char *format);
