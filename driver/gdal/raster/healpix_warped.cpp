#include "healpix_target.h"

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

/* ---- Which squares a source reaches ---- */

/* The sphere is asked, not the plane or the source's: nothing on it is torn apart, at no pole and no meridian. So a
 * part of the source, and a square of cells, each lie in a cap about the vector of its middle. */

static double distanceOf(const double *a, const double *b)
{
    return std::sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]));
}

/* The vector on the unit sphere of a point of the plane. False where it is on no face, nor beside one by rounding. */
static bool findVector(double x, double y, double side, double *vector)
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
        zs_healpix_vector(face, std::clamp(east, 0., 1.), std::clamp(1 - south, 0., 1.), vector);
        return true;
    }
    return false;
}

/* The vectors on the unit sphere of the points of a grid in the source, which lie inwards of its edge. False when one
 * has none. *apart, or null: how far, in pixels, the way back to the source leads beside a point at most. */
bool ZSHealpixReach::FindVectors(GDALDataset &source, void *transformer, const std::vector<double> &columns,
                                 const std::vector<double> &rows, double inwards, std::vector<double> &vectors,
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
    // PROJ emits an error for each point beyond a pole
    const ZSQuiet quiet;
    static_cast<void>(GDALGenImgProjTransform(transformer, FALSE, static_cast<int>(xs.size()), xs.data(), ys.data(),
                                              zs.data(), areThere.data()));
    vectors.resize(3 * xs.size());
    bool ok = true;
    for (size_t i = 0; i < xs.size() && ok; i++)
        ok = areThere[i] != FALSE && findVector(xs[i], ys[i], m_side, &vectors[3 * i]);
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
    // of a point has an error of the square root of that of a number.
    constexpr double WIDER = 1.5, PIXELS = 3, LEAST = 1e-7;
    // A hair inwards: a source up to a pole ends beyond it by rounding, where nothing lies. Geolocation arrays may give
    // positions from the middle of the first pixel to that of the last only.
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
    std::vector<double> vectors;
    double apart = 0;
    if (!FindVectors(source, transformer, columns, rows, isGrid ? HAIR : HALF, vectors, isGrid ? nullptr : &apart))
        return;
    // Ground control points have a polynomial of their own for the way back, which is what a warp asks.
    const double beside = PIXELS + WIDER * apart;
    m_isKnown = true;
    const auto vectorAt = [&](size_t column, size_t row) { return &vectors[3 * (row * columns.size() + column)]; };
    const double pixels = std::min(static_cast<double>(width) / partsOf(width),
                                   static_cast<double>(height) / partsOf(height)); // of a part, along its shorter side
    for (size_t row = 1; row < rows.size(); row += 2)
    {
        for (size_t column = 1; column < columns.size(); column += 2)
        {
            Cap cap = {};
            std::copy_n(vectorAt(column, row), 3, cap.middle);
            for (size_t i = 0; i < 9; i++)
                cap.radius =
                    std::max(cap.radius, distanceOf(cap.middle, vectorAt(column - 1 + i % 3, row - 1 + i / 3)));
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
    zs_healpix_vector(square.face, west + share / 2, south + share / 2, cap.middle);
    for (int i = 0; i <= MANY; i++)
    {
        for (int j = 0; j <= MANY; j++)
        {
            double vector[3];
            zs_healpix_vector(square.face, west + share * i / MANY, south + share * j / MANY, vector);
            cap.radius = std::max(cap.radius, distanceOf(cap.middle, vector));
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

/* ---- What is warped ---- */

static bool isOneOf(const std::string &name, const std::initializer_list<const char *> &names)
{
    return std::any_of(names.begin(), names.end(), [&](const char *n) { return EQUAL(name.c_str(), n); });
}

ZSWarpedCells::ZSWarpedCells(GDALDataset &source, std::unique_ptr<GDALDataset> warped, ZSTransformer transformer,
                             int order, const std::string &resampling, bool isGeographic)
    : m_source(source), m_order(order), m_columns(source.GetRasterXSize()), m_rows(source.GetRasterYSize()),
      m_isOfAreas(isOneOf(resampling, {"AVERAGE", "RMS", "MODE"})), m_isOfSquares(EQUAL(resampling.c_str(), "RMS")),
      m_warped(std::move(warped)), m_transformer(std::move(transformer)), m_reach(source, m_transformer.get(), m_order)
{
    double transform[6];
    if (isGeographic && zsReadTransform(source, transform) && transform[2] == 0)
        m_isAround = std::fabs(std::fabs(transform[1]) * m_columns - 360) < 1e-6;
}

/* Whether some of `size` source pixels may be needed for the range from `least` to `most`. The range is widened by an
 * eighth: lines between transformed points are curved, and resampling reads neighbours. */
static bool mayCount(double least, double most, int size)
{
    const double beside = (most - least) / 8 + 1;
    return !(most + beside < 0 || least - beside > size);
}

/* The positions in the source of some points of a window of the plane. False when one has no position, or the window is
 * small. */
bool ZSWarpedCells::FindPositions(int x, int y, int width, int height, std::vector<double> &xs,
                                  std::vector<double> &ys) const
{
    constexpr int MANY = 21, LEAST = 64; // an eighth of LEAST is more than any resampling looks at
    if (m_transformer == nullptr || width < LEAST || height < LEAST)
        return false;
    xs.resize(MANY * MANY);
    ys.resize(xs.size());
    std::vector<double> zs(xs.size());
    std::vector<int> areThere(xs.size());
    for (int i = 0; i < MANY * MANY; i++)
    {
        xs[static_cast<size_t>(i)] = x + 0.5 + (width - 1.0) * (i % MANY) / (MANY - 1);
        ys[static_cast<size_t>(i)] = y + 0.5 + (height - 1.0) * (i / MANY) / (MANY - 1);
    }
    static_cast<void>(GDALGenImgProjTransform(m_transformer.get(), TRUE, MANY * MANY, xs.data(), ys.data(), zs.data(),
                                              areThere.data()));
    return std::find(areThere.begin(), areThere.end(), FALSE) == areThere.end();
}

/* Whether the source may have pixels in a window of the plane. */
bool ZSWarpedCells::Touches(int x, int y, int width, int height) const
{
    std::vector<double> xs, ys;
    if (!FindPositions(x, y, width, height, xs, ys))
        return true;
    const auto columns = std::minmax_element(xs.begin(), xs.end()), rows = std::minmax_element(ys.begin(), ys.end());
    return mayCount(*columns.first, *columns.second, m_columns) && mayCount(*rows.first, *rows.second, m_rows);
}

/* Whether the meridian where a source of all longitudes begins and ends may be in a window. */
bool ZSWarpedCells::TouchesSeam(const Window &w) const
{
    std::vector<double> xs, ys;
    if (!m_isAround || !FindPositions(w.x, w.y, w.width, w.height, xs, ys))
        return m_isAround;
    const auto columns = std::minmax_element(xs.begin(), xs.end());
    const double beside = (*columns.second - *columns.first) / 8 + 1;
    return *columns.first < beside || *columns.second > m_columns - beside;
}

/* The band that is 0 where pixels are not valid, as gdalwarp takes it: alpha of any type. */
static GDALRasterBand &maskOf(GDALDataset &source, GDALRasterBand &band)
{
    GDALRasterBand &last = *source.GetRasterBand(source.GetRasterCount());
    return last.GetColorInterpretation() == GCI_AlphaBand ? last : *band.GetMaskBand();
}

/* Takes one pixel of the source for a cell, in those bands in which the pixel is valid. */
bool ZSWarpedCells::TakePixel(const Window &w, int column, int row, int sourceX, int sourceY) const
{
    for (size_t b = 0; b < w.bands.size(); b++)
    {
        GDALRasterBand &band = *m_source.GetRasterBand(w.bands[b]);
        GByte *const to = w.pixels + column * w.item + row * w.line + static_cast<GSpacing>(b) * w.plane;
        double valid = 0;
        if (maskOf(m_source, band).RasterIO(GF_Read, sourceX, sourceY, 1, 1, &valid, 1, 1, GDT_Float64, 0, 0,
                                            nullptr) != CE_None)
            return false;
        if (valid == 0)
            continue;
        if (band.RasterIO(GF_Read, sourceX, sourceY, 1, 1, to, 1, 1, w.type, 0, 0, nullptr) != CE_None)
            return false;
        if (!m_isOfSquares || GDALDataTypeIsComplex(w.type))
            continue;
        double value = 0;
        GDALCopyWords64(to, w.type, 0, &value, GDT_Float64, 0, 1);
        value = std::fabs(value);
        GDALCopyWords64(&value, GDT_Float64, 0, to, w.type, 0, 1);
    }
    return true;
}

/* Fills cells that the warp leaves out although they lie in the source. Resampling by area leaves out cells with a
 * corner outside of the plane (at the edges of faces) or beyond the meridian where a source of all longitudes begins
 * and ends. Any resampling leaves out cells on that meridian that rounding puts behind the last column. These cells get
 * the pixel at their middle. */
bool ZSWarpedCells::FillGaps(const Window &w, const std::vector<GByte> &none) const
{
    constexpr double BEYOND = 1e-6; // pixels of the source
    const int side = 1 << m_order;
    const auto size = static_cast<size_t>(GDALGetDataTypeSizeBytes(w.type));
    const auto isEdge = [side](int at) { return at % side == 0 || at % side == side - 1; };
    const bool isAtSeam = TouchesSeam(w);
    if ((!m_isOfAreas && !isAtSeam) || m_transformer == nullptr)
        return true;
    std::vector<double> xs, ys;
    std::vector<std::pair<int, int>> cells;
    for (int row = 0; row < w.height; row++)
    {
        for (int column = 0; column < w.width; column++)
        {
            bool isNone = isAtSeam || (m_isOfAreas && (isEdge(w.x + column) || isEdge(w.y + row)));
            for (size_t b = 0; b < w.bands.size() && isNone; b++)
                isNone = memcmp(w.pixels + column * w.item + row * w.line + static_cast<GSpacing>(b) * w.plane,
                                none.data() + b * static_cast<size_t>(w.item), size) == 0;
            if (!isNone)
                continue;
            cells.emplace_back(column, row);
            xs.push_back(w.x + column + 0.5);
            ys.push_back(w.y + row + 0.5);
        }
    }
    std::vector<double> zs(cells.size());
    std::vector<int> areThere(cells.size());
    if (!cells.empty())
        static_cast<void>(GDALGenImgProjTransform(m_transformer.get(), TRUE, static_cast<int>(cells.size()), xs.data(),
                                                  ys.data(), zs.data(), areThere.data()));
    bool ok = true;
    for (size_t i = 0; i < cells.size() && ok; i++)
    {
        const bool isEdgeOfFace = isEdge(w.x + cells[i].first) || isEdge(w.y + cells[i].second);
        const bool isSeam = xs[i] < BEYOND || xs[i] > m_columns - BEYOND;
        if (areThere[i] == FALSE || xs[i] < -BEYOND || ys[i] < -BEYOND || xs[i] > m_columns + BEYOND ||
            ys[i] > m_rows + BEYOND || !((m_isOfAreas && (isEdgeOfFace || isAtSeam)) || isSeam))
            continue;
        ok = TakePixel(w, cells[i].first, cells[i].second, std::clamp(static_cast<int>(xs[i]), 0, m_columns - 1),
                       std::clamp(static_cast<int>(ys[i]), 0, m_rows - 1));
    }
    return ok;
}

bool ZSWarpedCells::ReadNone(void *pixels, GDALDataType type, std::vector<int> &bands, GSpacing item) const
{
    // The pixel in the north-east is on no face.
    return m_warped->RasterIO(GF_Read, m_warped->GetRasterXSize() - 1, 0, 1, 1, pixels, 1, 1, type,
                              static_cast<int>(bands.size()), bands.data(), item, item, item, nullptr) == CE_None;
}

bool ZSWarpedCells::Read(int x, int y, int width, int height, void *pixels, GDALDataType type, std::vector<int> &bands,
                         GSpacing item, GSpacing line, GSpacing plane) const
{
    constexpr int TILE = 1024;
    const auto count = static_cast<int>(bands.size());
    std::vector<GByte> none(bands.size() * static_cast<size_t>(item));
    if (!ReadNone(none.data(), type, bands, item))
        return false;
    struct zs_healpix_part parts[ZS_HEALPIX_MOST_PARTS];
    const int partCount =
        zs_healpix_cut(m_order, ZS_HEALPIX_SPHERE, static_cast<uint64_t>(x), static_cast<uint64_t>(y),
                       static_cast<uint64_t>(width), static_cast<uint64_t>(height), parts);
    const auto read = [&](bool isFace, int left, int top, int columns, int rows)
    {
        GByte *const to = static_cast<GByte *>(pixels) + left * item + top * line;
        if (isFace && Touches(x + left, y + top, columns, rows))
            return m_warped->RasterIO(GF_Read, x + left, y + top, columns, rows, to, columns, rows, type, count,
                                      bands.data(), item, line, plane, nullptr) == CE_None &&
                   FillGaps({x + left, y + top, columns, rows, to, type, bands, item, line, plane}, none);
        for (int b = 0; b < count; b++)
            for (int row = 0; row < rows; row++)
                GDALCopyWords64(none.data() + b * item, type, 0, to + b * plane + row * line, type,
                                static_cast<int>(item), columns);
        return true;
    };
    bool ok = true;
    for (const auto *part = parts; part < parts + partCount; part++)
    {
        const auto right = static_cast<int>(part->column + part->width),
                   bottom = static_cast<int>(part->row + part->height);
        for (auto top = static_cast<int>(part->row); top < bottom; top += TILE)
            for (auto left = static_cast<int>(part->column); left < right && ok; left += TILE)
                ok = read(part->face >= 0, left, top, std::min(TILE, right - left), std::min(TILE, bottom - top));
    }
    return ok;
}
