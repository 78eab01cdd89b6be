/* Numbers of HEALPix cells of orders that no array of a test has. The rest: gdrivers/test_healpix.py. */
#include "check.h"
#include "raster/healpix.h"

TEST(test_rings_reach_from_pole_to_pole)
{
    CHECK_EQ_U64(zs_healpix_ring(3, 0, 7, 7), 0);
    CHECK_EQ_U64(zs_healpix_ring(3, 11, 0, 0), 767);
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
