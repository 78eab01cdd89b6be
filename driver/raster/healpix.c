#include "raster/healpix.h"

#include "base/checked.h"
#include "geo/healpix.h"

/* ---- Squares ---- */

/* From the north-west, row by row. */
static const signed char plane[ZS_HEALPIX_SIDE][ZS_HEALPIX_SIDE] = {
    {6, 2, -1, -1, -1}, {10, 7, 3, -1, -1}, {-1, 11, 4, 0, -1}, {-1, -1, 8, 5, 1}, {-1, -1, -1, 9, 6},
};

int zs_healpix_side(int shown)
{
    return shown == ZS_HEALPIX_SPHERE ? ZS_HEALPIX_SIDE : 1;
}

/* The face in a square, counted from the north-west; -1 where there is none. */
static int face_at(int shown, int column, int row)
{
    return shown == ZS_HEALPIX_SPHERE ? plane[row][column] : shown;
}

void zs_healpix_square_of(int face, int *column, int *row)
{
    for (int r = 0; r < ZS_HEALPIX_SIDE; r++)
        for (int c = 0; c < ZS_HEALPIX_SIDE; c++)
            if (plane[r][c] == face) {
                *column = c;
                *row = r;
            }
}

bool zs_healpix_next_part(struct zs_healpix_cut *cut, struct zs_healpix_part *part)
{
    const uint64_t side = (uint64_t)1 << cut->order, step = (uint64_t)1 << cut->level;
    const uint64_t left = cut->next_x, top = cut->next_y;
    if (left >= cut->right || top >= cut->bottom)
        return false;
    const uint64_t end = zs_min_u64((left / step + 1) * step, cut->right);
    const uint64_t below = zs_min_u64((top / step + 1) * step, cut->bottom);
    *part = (struct zs_healpix_part){
        .face = face_at(cut->shown, (int)(left / side), (int)(top / side)),
        .ix = (uint32_t)(left % side),
        .iy = (uint32_t)(side - 1 - (below - 1) % side), /* the last row is the southernmost */
        .width = (uint32_t)(end - left),
        .height = (uint32_t)(below - top),
        .column = left - cut->x,
        .row = top - cut->y,
    };
    cut->next_x = end < cut->right ? end : cut->x;
    cut->next_y = end < cut->right ? top : below;
    return true;
}

/* ---- Numbers ---- */

/* The bits of a number in the even positions. */
static uint64_t spread(uint32_t v)
{
    uint64_t x = v;
    x = (x | x << 16) & 0x0000ffff0000ffffu;
    x = (x | x << 8) & 0x00ff00ff00ff00ffu;
    x = (x | x << 4) & 0x0f0f0f0f0f0f0f0fu;
    x = (x | x << 2) & 0x3333333333333333u;
    return (x | x << 1) & 0x5555555555555555u;
}

static uint32_t gather(uint64_t x)
{
    x &= 0x5555555555555555u;
    x = (x | x >> 1) & 0x3333333333333333u;
    x = (x | x >> 2) & 0x0f0f0f0f0f0f0f0fu;
    x = (x | x >> 4) & 0x00ff00ff00ff00ffu;
    x = (x | x >> 8) & 0x0000ffff0000ffffu;
    return (uint32_t)(x | x >> 16);
}

uint64_t zs_healpix_interleave(uint32_t ix, uint32_t iy)
{
    return spread(ix) | spread(iy) << 1;
}

void zs_healpix_separate(uint64_t cell, uint32_t *ix, uint32_t *iy)
{
    *ix = gather(cell);
    *iy = gather(cell >> 1);
}

uint64_t zs_healpix_ring(int order, int face, uint32_t ix, uint32_t iy)
{
    const int64_t n = (int64_t)1 << order, x = ix, y = iy;
    /* Rings from the north pole to the north corner of a face of each row, and eighths of a turn to its middle. */
    const int64_t ring = (face / 4 + 2) * n - x - y - 1;
    const int64_t middle = face / 4 == 1 ? 2 * (face % 4) : 2 * (face % 4) + 1;
    int64_t quarter = n, before, shift = 0; /* cells of the ring in a quarter of a turn; cells of rings before it */
    if (ring < n) {
        quarter = ring;
        before = 2 * ring * (ring - 1);
    } else if (ring > 3 * n) {
        quarter = 4 * n - ring;
        before = 12 * n * n - 2 * quarter * (quarter + 1);
    } else {
        before = 2 * n * (n - 1) + (ring - n) * 4 * n;
        shift = (ring - n) & 1; /* every other ring of the belt begins half a cell later */
    }
    int64_t position = (middle * quarter + x - y + 1 + shift) / 2 - 1;
    if (position < 0)
        position += 4 * quarter;
    if (position >= 4 * quarter)
        position -= 4 * quarter;
    return (uint64_t)(before + position);
}

bool zs_healpix_unpack_morton(uint64_t word, int order, uint64_t *cell)
{
    const uint64_t base = word >> 60, path = word >> 6 & (((uint64_t)1 << 54) - 1);
    const unsigned suffix = (unsigned)(word & 63);
    if (base < 1 || base > ZS_HEALPIX_FACES)
        return false;
    if (suffix <= 27) { /* the order itself */
        *cell = (base - 1) << (2 * suffix) | path >> (2 * (27 - suffix));
        return suffix == (unsigned)order;
    }
    if (suffix >= 48) /* a point, which has no cell */
        return false;
    /* The last steps of the path: each of order 28 is followed by its four of order 29. */
    const unsigned step = (suffix - 28) / 5, below = (suffix - 28) % 5;
    *cell = ((base - 1) << 54 | path) << 2 | step;
    if (below > 0)
        *cell = *cell << 2 | (below - 1);
    return order == (below > 0 ? 29 : 28);
}

bool zs_healpix_unpack_zuniq(uint64_t word, int *order, uint64_t *cell)
{
    if (word == 0)
        return false;
    for (*order = ZS_HEALPIX_MAX_ORDER; (word & 3) == 0; word >>= 2)
        --*order;
    *cell = word >> 1;
    return (word & 1) != 0 && *order >= 0 && *cell < zs_healpix_cells_of(*order);
}
