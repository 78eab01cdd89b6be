/* HEALPix cells as pixels: where they stand, how they are numbered, which runs a window is. */
#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "raster/healpix.h"

TEST(test_each_face_has_its_square_and_face_6_two)
{
    int seen[ZS_HEALPIX_FACES] = {0}, empty = 0;
    for (int row = 0; row < ZS_HEALPIX_SIDE; row++)
        for (int column = 0; column < ZS_HEALPIX_SIDE; column++) {
            const int face = zs_healpix_face_at(ZS_HEALPIX_SPHERE, column, row);
            if (face < 0)
                empty++;
            else
                seen[face]++;
        }
    CHECK_EQ_I64(empty, 12);
    for (int face = 0; face < ZS_HEALPIX_FACES; face++) {
        int column = -1, row = -1;
        CHECK_EQ_I64(seen[face], face == ZS_HEALPIX_SPLIT_FACE ? 2 : 1);
        zs_healpix_square_of(face, &column, &row);
        CHECK_EQ_I64(zs_healpix_face_at(ZS_HEALPIX_SPHERE, column, row), face);
        CHECK_EQ_I64(zs_healpix_face_at(face, 0, 0), face);
    }
}

TEST(test_cell_numbers_and_positions_are_inverse)
{
    uint32_t x, y;
    for (uint64_t cell = 0; cell < 4096; cell++) {
        zs_healpix_separate(cell, &x, &y);
        CHECK_EQ_U64(zs_healpix_interleave(x, y), cell);
    }
    CHECK_EQ_U64(zs_healpix_interleave(3, 0), 5);
    CHECK_EQ_U64(zs_healpix_interleave(0, 3), 10);
    zs_healpix_separate(((uint64_t)1 << 58) - 1, &x, &y);
    CHECK_EQ_U64(x, (1u << 29) - 1);
    CHECK_EQ_U64(y, (1u << 29) - 1);
}

TEST(test_rings_number_each_cell_once)
{
    for (int order = 0; order <= 5; order++) {
        const uint32_t side = 1u << order;
        const uint64_t all = (uint64_t)12 * side * side;
        unsigned char *seen = calloc((size_t)all, 1);
        for (int face = 0; face < ZS_HEALPIX_FACES; face++)
            for (uint32_t y = 0; y < side; y++)
                for (uint32_t x = 0; x < side; x++) {
                    const uint64_t number = zs_healpix_ring(order, face, x, y);
                    if (CHECK(number < all))
                        CHECK(seen[number]++ == 0);
                }
        free(seen);
    }
    CHECK_EQ_U64(zs_healpix_ring(3, 0, 7, 7), 0);     /* at the north pole */
    CHECK_EQ_U64(zs_healpix_ring(3, 11, 0, 0), 767);  /* at the south pole */
    CHECK_EQ_U64(zs_healpix_ring(29, 0, (1u << 29) - 1, (1u << 29) - 1), 0);
    CHECK_EQ_U64(zs_healpix_ring(29, 11, 0, 0), ((uint64_t)12 << 58) - 1);
}

TEST(test_words_of_zagg_are_cells_of_one_order)
{
    uint64_t cell = 0;
    /* of zagg's fixture `minimal`: shard 11213 of order 4, its first cell of order 6 */
    CHECK(zs_healpix_unpack_morton(1233986297899515910u, 6, &cell));
    CHECK_EQ_U64(cell, (0u << 12 | 0u << 10 | 1u << 8 | 0u << 6 | 2u << 4));
    CHECK(!zs_healpix_unpack_morton(1233986297899515910u, 5, &cell));
    CHECK(!zs_healpix_unpack_morton(6, 6, &cell));                     /* no base */
    CHECK(!zs_healpix_unpack_morton((uint64_t)13 << 60 | 6, 6, &cell)); /* none such */
    /* as mortie 1.0 has them */
    CHECK(zs_healpix_unpack_morton(13335370581266300891u, 27, &cell));
    CHECK_EQ_U64(cell, 190350766822803967u);
    CHECK(zs_healpix_unpack_morton(11652879601979039585u, 28, &cell));
    CHECK_EQ_U64(cell, 656247381085762037u);
    CHECK(!zs_healpix_unpack_morton(11652879601979039585u, 29, &cell));
    CHECK(zs_healpix_unpack_morton(6710678487887431845u, 29, &cell));
    CHECK_EQ_U64(cell, 1389439245820146215u);
    CHECK(!zs_healpix_unpack_morton(6710678487887431845u, 28, &cell));
    CHECK(!zs_healpix_unpack_morton((uint64_t)1 << 60 | 48, 29, &cell)); /* a point */
}

TEST(test_words_of_cells_of_any_order)
{
    uint64_t cell = 0;
    int order = 0;
    /* of healpix-geo's documentation */
    CHECK(zs_healpix_unpack_zuniq(4683743612465315840u, &order, &cell));
    CHECK_EQ_U64(cell, 32);
    CHECK_EQ_U64(order, 1);
    CHECK(zs_healpix_unpack_zuniq(206039682952200192u, &order, &cell));
    CHECK_EQ_U64(cell, 91);
    CHECK_EQ_U64(order, 4);
    CHECK(zs_healpix_unpack_zuniq(((uint64_t)12 << 59) - 1, &order, &cell));
    CHECK_EQ_U64(cell, ((uint64_t)12 << 58) - 1);
    CHECK_EQ_U64(order, 29);
    CHECK(zs_healpix_unpack_zuniq((uint64_t)1 << 58, &order, &cell));
    CHECK_EQ_U64(cell, 0);
    CHECK_EQ_U64(order, 0);
    CHECK(!zs_healpix_unpack_zuniq(0, &order, &cell));
    CHECK(!zs_healpix_unpack_zuniq(2, &order, &cell));                   /* an odd number of zeros */
    CHECK(!zs_healpix_unpack_zuniq((uint64_t)1 << 60, &order, &cell));   /* coarser than a face */
    CHECK(!zs_healpix_unpack_zuniq((uint64_t)25 << 58, &order, &cell));  /* a face that there is not */
}

/* Every pixel of a window is in one part, and of those of a face in one run; where squares of 1 cell are asked for,
 * runs hold nothing else. */
static void check_window(int order, int shown, uint64_t x, uint64_t y, uint64_t width, uint64_t height, int floor)
{
    struct zs_healpix_cut cut = {order, shown, rand() % (order + 1), x, y, x + width, y + height, x, y};
    struct zs_healpix_part p;
    struct zs_error err;
    const uint64_t side = (uint64_t)1 << order;
    uint64_t pixels = 0;
    while (zs_healpix_next_part(&cut, &p)) {
        const int face = zs_healpix_face_at(shown, (int)((x + p.column) / side), (int)((y + p.row) / side));
        pixels += (uint64_t)p.width * p.height;
        CHECK_EQ_I64(p.face, face);
        CHECK_EQ_U64(p.ix, (x + p.column) % side);
        CHECK_EQ_U64(p.iy, side - 1 - (y + p.row + p.height - 1) % side);
        if (p.face < 0)
            continue;
        struct zs_runs runs = {0};
        uint64_t cells = 0;
        CHECK(zs_healpix_nested_runs(order, &p, floor, &runs, &err) == ZS_OK);
        for (size_t r = 0; r < runs.count; r++) {
            CHECK(r == 0 || runs.list[r].first > runs.list[r - 1].first + runs.list[r - 1].count);
            cells += runs.list[r].count;
        }
        CHECK(floor > 0 ? cells >= (uint64_t)p.width * p.height : cells == (uint64_t)p.width * p.height);
        for (uint32_t dy = 0; dy < p.height; dy++)
            for (uint32_t dx = 0; dx < p.width; dx++) {
                const uint64_t cell = (uint64_t)p.face * side * side + zs_healpix_interleave(p.ix + dx, p.iy + dy);
                bool is_there = false;
                for (size_t r = 0; r < runs.count && !is_there; r++)
                    is_there = cell - runs.list[r].first < runs.list[r].count;
                CHECK(is_there);
            }
        zs_runs_clear(&runs);
    }
    CHECK_EQ_U64(pixels, width * height);
}

TEST(test_windows_are_runs_of_their_cells)
{
    srand(1);
    for (int i = 0; i < 300; i++) {
        const int order = rand() % 5, shown = rand() % 2 - 1;
        int columns, rows;
        zs_healpix_size(shown, &columns, &rows);
        const int width = columns << order, height = rows << order;
        const int x = rand() % width, y = rand() % height;
        check_window(order, shown, (uint64_t)x, (uint64_t)y, (uint64_t)(rand() % (width - x) + 1),
                     (uint64_t)(rand() % (height - y) + 1), rand() % 4);
    }
}

TEST(test_a_whole_face_is_one_run)
{
    struct zs_healpix_cut cut = {29, 5, 29, 0, 0, 1u << 29, 1u << 29, 0, 0};
    struct zs_healpix_part part;
    struct zs_runs runs = {0};
    struct zs_error err;
    CHECK(zs_healpix_next_part(&cut, &part));
    CHECK(zs_healpix_nested_runs(29, &part, 0, &runs, &err) == ZS_OK);
    CHECK_EQ_U64(runs.count, 1);
    CHECK_EQ_U64(runs.list[0].first, (uint64_t)5 << 58);
    CHECK_EQ_U64(runs.list[0].count, (uint64_t)1 << 58);
    CHECK(!zs_healpix_next_part(&cut, &part));
    zs_runs_clear(&runs);
}
