/* geo/healpix.h: what a store declares of an array whose elements are HEALPix cells (Gorski et al. 2005; FORMATS 7.2,
 * 10.3): by the dggs convention, else by CF's grid mapping, which 1.13 and the stores of easy.gems spell
 * differently. */
#pragma once

#include <ogr_srs_api.h>

#include "geo/axes.h"

/* A face of order 29 has 2^58 cells; numbers of a finer order do not fit 64 bits with their face. */
#define ZS_HEALPIX_MAX_ORDER 29

enum zs_healpix_words {
    ZS_HEALPIX_NUMBERS, /* numbers of cells, in the order that the store declares */
    ZS_HEALPIX_MORTON,  /* zagg's packed words (FORMATS 7.3) */
    ZS_HEALPIX_RANGES,  /* rows of the first number and the last, or that behind it */
    ZS_HEALPIX_COMPACTED /* cells of the order and of coarser ones, each for those in it, as zuniq words */
};

struct zs_healpix {
    int order; /* 2^order cells along the side of a face */
    int dim;   /* of the array, along which the cells lie */
    bool is_ring; /* numbered by rings of latitude, not nested */
    /* Which cells there are; NULL: all, an element's index is the cell's number. */
    const struct zs_node *coordinate;
    enum zs_healpix_words words; /* what that holds */
    /* The ellipsoid of the authalic latitudes, in metres; inverse_flattening 0: a sphere of that radius. */
    double semi_major, inverse_flattening;
    bool is_wgs84;
};

/* Number of cells of an order. */
static inline uint64_t zs_healpix_cells_of(int order)
{
    return (uint64_t)12 << (2 * order);
}

/* Whether conventions declare elements of the array as cells. False for what does not hold together: an order that
 * there is not, a dimension of another length without a coordinate, a way to number cells that is not known. */
bool zs_healpix_find(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_healpix *found);

/* Whether cells of both lie on one grid: those of the same number are the same cell. */
bool zs_healpix_is_same(const struct zs_healpix *a, const struct zs_healpix *b);

/* The plane in which faces are squares, north up: +proj=healpix +rot_xy=45, around a meridian in degrees. Released with
 * OSRRelease(); NULL where PROJ does not take it. */
OGRSpatialReferenceH zs_healpix_crs(const struct zs_healpix *healpix, double central_meridian);

/* ---- For the conventions ---- */

/* The default sphere, where no size is declared: that of the dggs convention. */
void zs_healpix_set_default_sphere(struct zs_healpix *healpix);
/* False for what is no ellipsoid. */
bool zs_healpix_set_ellipsoid(struct zs_healpix *healpix, const char *name, double semi_major,
                              double inverse_flattening);
/* Takes the ellipsoid that members have, in the words of CF or dggs; without any the one that was set stays. False for
 * what is no ellipsoid. */
bool zs_healpix_take_ellipsoid(struct zs_healpix *healpix, const zs_json *members, const char *name);
