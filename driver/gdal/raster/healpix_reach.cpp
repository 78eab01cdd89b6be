#include "healpix_reach.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <cpl_error.h>
#include <gdal_alg.h>

#include "dataset.h"

extern "C"
{
#include "raster/healpix.h"
}

/* The sphere is asked, not the plane or the source's: nothing on it is torn apart, at no pole and no meridian. So a
 * part of the source, and a square of cells, each lie in a cap about the place of its middle. */

static double distanceOf(const double *a, const double *b)
{
    return std::sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]));
}

/* The place on the sphere of a point of the plane. False where it is on no face, nor beside one by rounding. */
static bool findPlace(double x, double y, double side, double *place)
{
    constexpr double BESIDE = 1e-6; // faces
    const std::pair<double, double> beside[] = {
        {0, 0}, {BESIDE, BESIDE}, {BESIDE, -BESIDE}, {-BESIDE, BESIDE}, {-BESIDE, -BESIDE}};
    for (const auto &by : beside)
    {
        const auto squareOf = [](double at) { return std::clamp(std::floor(at), 0., ZS_HEALPIX_SIDE - 1.); };
        const double column = squareOf(x / side + by.first), row = squareOf(y / side + by.second);
        const double east = x / side - column, south = y / side - row;
        const int face = zs_healpix_face_at(ZS_HEALPIX_SPHERE, static_cast<int>(column), static_cast<int>(row));
        const double outside = std::max(std::fabs(east - 0.5), std::fabs(south - 0.5)) - 0.5;
        if (face < 0 || !(outside <= 2 * BESIDE))
            continue;
        zs_healpix_place(face, std::clamp(east, 0., 1.), std::clamp(1 - south, 0., 1.), place);
        return true;
    }
    return false;
}

/* The places on the sphere of the points of a grid in the source, which lie inwards of its edge. False when one has
 * none. *apart, or null: how far, in pixels, the way back to the source leads beside a point at most. */
bool ZSHealpixReach::FindPlaces(GDALDataset &source, void *transformer, const std::vector<double> &columns,
                                const std::vector<double> &rows, double inwards, std::vector<double> &places,
                                double *apart) const
{
    std::vector<double> xs, ys;
    for (const double row : rows)
    {
        for (const double column : columns)
        {
            xs.push_back(std::clamp(column, inwards, source.GetRasterXSize() - inwards));
            ys.push_back(std::clamp(row, inwards, source.GetRasterYSize() - inwards));
        }
    }
    const std::vector<double> columnsOf = xs, rowsOf = ys;
    std::vector<double> zs(xs.size());
    std::vector<int> areThere(xs.size());
    // PROJ says of each point beyond a pole that it has no place
    const CPLErrorStateBackuper backup;
    const CPLErrorHandlerPusher quiet(CPLQuietErrorHandler);
    static_cast<void>(GDALGenImgProjTransform(transformer, FALSE, static_cast<int>(xs.size()), xs.data(), ys.data(),
                                              zs.data(), areThere.data()));
    places.resize(3 * xs.size());
    bool ok = true;
    for (size_t i = 0; i < xs.size() && ok; i++)
        ok = areThere[i] != FALSE && findPlace(xs[i], ys[i], m_side, &places[3 * i]);
    if (!ok || apart == nullptr)
        return ok;
    std::fill(zs.begin(), zs.end(), 0);
    static_cast<void>(GDALGenImgProjTransform(transformer, TRUE, static_cast<int>(xs.size()), xs.data(), ys.data(),
                                              zs.data(), areThere.data()));
    *apart = 0;
    for (size_t i = 0; i < xs.size(); i++)
    {
        if (areThere[i] != FALSE)
            *apart = std::max({*apart, std::fabs(xs[i] - columnsOf[i]), std::fabs(ys[i] - rowsOf[i])});
    }
    return std::isfinite(*apart);
}

ZSHealpixReach::ZSHealpixReach(GDALDataset &source, void *transformer, int order) : m_side(1 << order)
{
    static constexpr int MANY = 16; // parts of a side
    // A part is curved between the points that are asked, and resampling reads pixels beside it. At a pole the latitude
    // of a place has an error of the square root of that of a number.
    constexpr double WIDER = 1.5, PIXELS = 3, LEAST = 1e-7;
    // A hair inwards: a source up to a pole ends beyond it by rounding, where there is no place. Geolocation arrays may
    // have places from the middle of the first pixel to that of the last only.
    constexpr double HAIR = 1e-6, HALF = 0.5;
    double transform[6];
    if (transformer == nullptr)
        return;
    const bool isGrid = zsReadTransform(source, transform);
    const auto partsOf = [](int size) { return size < MANY ? size : MANY; };
    const auto pointsOf = [&](int size)
    {
        std::vector<double> points;
        for (int i = 0; i <= 2 * partsOf(size); i++)
            points.push_back(static_cast<double>(size) * i / (2 * partsOf(size)));
        return points;
    };
    const int width = source.GetRasterXSize(), height = source.GetRasterYSize();
    const auto columns = pointsOf(width), rows = pointsOf(height);
    std::vector<double> places;
    double apart = 0;
    if (!FindPlaces(source, transformer, columns, rows, isGrid ? HAIR : HALF, places, isGrid ? nullptr : &apart))
        return;
    // Ground control points have a polynomial of their own for the way back, which is what a warp asks.
    const double beside = PIXELS + WIDER * apart;
    m_isKnown = true;
    const auto placeAt = [&](size_t column, size_t row) { return &places[3 * (row * columns.size() + column)]; };
    const double pixels = std::min(static_cast<double>(width) / partsOf(width),
                                   static_cast<double>(height) / partsOf(height)); // of a part, along its shorter side
    for (size_t row = 1; row < rows.size(); row += 2)
    {
        for (size_t column = 1; column < columns.size(); column += 2)
        {
            Cap cap = {};
            std::copy_n(placeAt(column, row), 3, cap.middle);
            for (size_t i = 0; i < 9; i++)
                cap.radius = std::max(cap.radius, distanceOf(cap.middle, placeAt(column - 1 + i % 3, row - 1 + i / 3)));
            cap.radius = cap.radius * (WIDER + beside / pixels) + LEAST;
            m_caps.push_back(cap);
        }
    }
}

bool ZSHealpixReach::MayReach(const Square &square) const
{
    constexpr int MANY = 4;
    constexpr double WIDER = 1.25;
    if (square.face < 0 || !m_isKnown)
        return square.face >= 0;
    const double side = m_side, share = square.side / side;
    const double west = square.x % m_side / side, south = 1 - square.y % m_side / side - share;
    Cap cap = {};
    zs_healpix_place(square.face, west + share / 2, south + share / 2, cap.middle);
    for (int i = 0; i <= MANY; i++)
    {
        for (int j = 0; j <= MANY; j++)
        {
            double place[3];
            zs_healpix_place(square.face, west + share * i / MANY, south + share * j / MANY, place);
            cap.radius = std::max(cap.radius, distanceOf(cap.middle, place));
        }
    }
    return std::any_of(m_caps.begin(), m_caps.end(), [&](const Cap &other)
                       { return distanceOf(cap.middle, other.middle) <= WIDER * cap.radius + other.radius; });
}

bool ZSHealpixReach::Descend(const Square &square, int least, bool isAll, const Take &take) const
{
    if (square.face < 0 || !(isAll || MayReach(square)))
        return take(square, false);
    if (square.side <= least)
        return take(square, true);
    const int half = square.side / 2;
    bool ok = true;
    for (int quarter = 0; quarter < 4 && ok; quarter++) // in the order of the cells, from the south
        ok = Descend({square.face, square.x + quarter % 2 * half, square.y + (1 - quarter / 2) * half, half}, least,
                     isAll, take);
    return ok;
}

bool ZSHealpixReach::GoThrough(int least, bool isAll, const Take &take) const
{
    bool ok = true;
    for (int row = 0; row < ZS_HEALPIX_SIDE; row++)
        for (int column = 0; column < ZS_HEALPIX_SIDE && ok; column++)
            ok = Descend({zs_healpix_face_at(ZS_HEALPIX_SPHERE, column, row), column * m_side, row * m_side, m_side},
                         least, isAll, take);
    return ok;
}
