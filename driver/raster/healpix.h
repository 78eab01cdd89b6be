/* raster/healpix.h: HEALPix cells as pixels: where a cell stands in the plane. Pure: nothing is read here.
 *
 * In +proj=healpix +rot_xy=45 each of the twelve faces is a square whose sides run along the axes. They lie among 5 x 5
 * squares; face 6, which lies across 180 degrees, stands at both ends, each half being reached from its side; the other
 * squares are empty. A pixel is a cell: in a face `ix` runs east, `iy` north, from its corner in the southwest (which
 * is the south corner on the sphere), and the nested number has the bits of ix in even positions and those of iy in odd
 * ones. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What a raster shows of the sphere: one face by its number 0 to 11, or */
#define ZS_HEALPIX_SPHERE (-1) /* 5 x 5 squares */

#define ZS_HEALPIX_FACES 12
/* The side of the plane in squares, and the face that has all of it to its own where the plane is turned around. */
#define ZS_HEALPIX_SIDE 5
#define ZS_HEALPIX_MIDDLE_FACE 4
#define ZS_HEALPIX_SPLIT_FACE 6

/* The side of a raster in squares. */
int zs_healpix_side(int shown);
/* The square of the whole plane that a face has: of face 6 that in the southeast. */
void zs_healpix_square_of(int face, int *column, int *row);

/* Between indices within a face of up to 2^29 cells a side and nested numbers within it. */
uint64_t zs_healpix_interleave(uint32_t ix, uint32_t iy);
void zs_healpix_separate(uint64_t cell, uint32_t *ix, uint32_t *iy);

/* The number of a cell in the order of rings, which begin at the north pole. */
uint64_t zs_healpix_ring(int order, int face, uint32_t ix, uint32_t iy);

/* What a word of zagg is: base + 1 in four bits, two bits for each of up to 27 orders, and the order (28 and 29 are
 * packed with the last digits). False where it is no cell of the order; *cell is its nested number. */
bool zs_healpix_unpack_morton(uint64_t word, int order, uint64_t *cell);
/* The order and nested number of a cell as `zuniq` has it: the number, a 1, and two 0 for each order up to 29 that it
 * has not (CF pull request 605; healpix-geo). False for what is none. */
bool zs_healpix_unpack_zuniq(uint64_t word, int *order, uint64_t *cell);

/* A box of cells of one face, or of an empty square (face -1), and where it stands in a window: its pixel in the
 * north-west. */
struct zs_healpix_part {
    int face;
    uint32_t ix, iy, width, height;
    uint64_t column, row;
    /* Which of the cells count: of face 6, which stands at both ends of the plane, those on one side of 180 degrees
     * may, which runs from the south corner to the north one. Cells on it count as those of the east half. */
    enum zs_healpix_half { ZS_HEALPIX_WHOLE, ZS_HEALPIX_EAST_HALF, ZS_HEALPIX_WEST_HALF } half;
};

/* Cuts a window, which lies within the raster, along squares of 2^level pixels a side, none larger than a face. Returns
 * its parts one after the other, false behind the last. */
struct zs_healpix_cut {
    int order, shown, level;
    uint64_t x, y, right, bottom; /* the window */
    uint64_t next_x, next_y;      /* the first pixel of the next part: (x, y) at first */
};
bool zs_healpix_next_part(struct zs_healpix_cut *cut, struct zs_healpix_part *part);
