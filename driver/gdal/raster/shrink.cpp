#include "copied_levels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "gdal/types.h"

extern "C"
{
#include "base/parallel.h"
}

__extension__ typedef __int128 Wide;

namespace
{
/* One direction, in units in which the pixels of both rasters have whole lengths: of 5 that become 3, those of the
 * larger raster are 3 long, and those of the level 5. */
struct Axis
{
    int64_t fromLength, toLength;
    int most; /* pixels of the larger raster */

    Axis(int from, int to) : fromLength(to / std::gcd(from, to)), toLength(from / std::gcd(from, to)), most(from)
    {
    }
    int First(int at) const
    {
        return static_cast<int>(at * toLength / fromLength);
    }
    int End(int at) const
    {
        return static_cast<int>(std::min<int64_t>(((at + 1) * toLength + fromLength - 1) / fromLength, most));
    }
    /* How much of a pixel of the larger raster lies in one of the level. */
    uint64_t Overlap(int from, int at) const
    {
        return static_cast<uint64_t>(std::min((from + 1) * fromLength, (at + 1) * toLength) -
                                     std::max(from * fromLength, at * toLength));
    }
    int Nearest(int at) const
    {
        const double ratio = static_cast<double>(toLength) / static_cast<double>(fromLength);
        return std::min(static_cast<int>(0.5 + at * ratio), most - 1);
    }
    bool IsHalf() const
    {
        return fromLength == 1 && toLength == 2;
    }
};

/* Pixels that are made, and what of. */
struct Work
{
    const ZSShrinking &s;
    const Axis x, y;
    const ZSPixelWindow pixels, of;
    const unsigned char *from, *valid;
    unsigned char *to;
    ptrdiff_t fromLine, toLine;

    template <class T> const T *From(int row) const
    {
        return reinterpret_cast<const T *>(from + fromLine * (row - of.y));
    }
    template <class T> T *To(int row) const
    {
        return reinterpret_cast<T *>(to + toLine * (row - pixels.y));
    }
};

/* Which numbers are no pixels. */
template <class T> struct Nodata
{
    const bool isThere;
    bool isNaN = false;
    T value;

    explicit Nodata(const ZSShrinking &s) : isThere(s.hasNodata)
    {
        memcpy(&value, s.nodata, sizeof value);
        if constexpr (std::is_floating_point_v<T>)
            isNaN = std::isnan(value);
    }
    bool Is(T number) const
    {
        return isThere && (isNaN ? number != number : number == value);
    }
    /* What a mean of pixels becomes, which is none of these. */
    T Avoid(T mean) const
    {
        using Limits = std::numeric_limits<T>;
        if (!isThere || mean != value)
            return mean;
        if constexpr (std::is_floating_point_v<T>)
            return std::nextafter(mean, Limits::infinity());
        else
            return static_cast<T>(mean < Limits::max() ? mean + 1 : mean - 1);
    }
    /* Whether any of some numbers is one. */
    bool IsAmong(const T *numbers, int count) const
    {
        // As wide as they are, so that compilers compare many at once.
        using Flag = std::conditional_t<sizeof(T) == 1, uint8_t, std::conditional_t<sizeof(T) == 2, uint16_t,
                                        std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;
        Flag found = 0;
        if (isNaN)
        {
            for (int i = 0; i < count; i++)
                found = static_cast<Flag>(found | (numbers[i] != numbers[i] ? 1 : 0));
            return found != 0;
        }
        for (int i = 0; i < count; i++)
            found = static_cast<Flag>(found | (numbers[i] == value ? 1 : 0));
        return found != 0;
    }
};
} // namespace

/* ---- Means of 2 x 2 pixels, as nearly all levels are ---- */

template <class T>
using SumOfFour =
    std::conditional_t<std::is_floating_point_v<T>, double,
                       std::conditional_t<sizeof(T) <= 2, int, std::conditional_t<sizeof(T) == 4, int64_t, Wide>>>;

/* Of integers rounded, halves away from 0. */
template <class T, class Sum> static T meanOf(Sum sum, Sum count)
{
    if constexpr (std::is_floating_point_v<T>)
        return static_cast<T>(sum / count);
    else if constexpr (std::is_floating_point_v<Sum>)
        return static_cast<T>(std::round(sum / count));
    else
        return static_cast<T>((sum < 0 ? sum - count / 2 : sum + count / 2) / count);
}

template <class T> static void halve(const T *a, const T *b, T *to, int count)
{
    using Sum = SumOfFour<T>;
    for (int i = 0; i < count; i++)
        to[i] = meanOf<T>(static_cast<Sum>(a[2 * i]) + a[2 * i + 1] + b[2 * i] + b[2 * i + 1], Sum{4});
}

template <class T> static void halveValid(const T *a, const T *b, T *to, int count, const Nodata<T> &nodata)
{
    for (int i = 0; i < count; i++)
    {
        SumOfFour<T> sum = 0, valid = 0;
        for (const T number : {a[2 * i], a[2 * i + 1], b[2 * i], b[2 * i + 1]})
        {
            const bool is = !nodata.Is(number);
            sum += is ? number : 0;
            valid += is ? 1 : 0;
        }
        to[i] = valid > 0 ? nodata.Avoid(meanOf<T>(sum, valid)) : nodata.value;
    }
}

template <class T> static void halveRow(const Work &w, int row)
{
    /* Pixels that are made together: those that are made of nodata are found by a look at all. */
    constexpr int SEGMENT = 128;
    const Nodata<T> nodata(w.s);
    const T *a = w.From<T>(2 * row), *b = w.From<T>(2 * row + 1);
    T *to = w.To<T>(row);
    for (int x = 0, count; x < w.pixels.width; x += count, a += 2 * count, b += 2 * count, to += count)
    {
        count = std::min(SEGMENT, w.pixels.width - x);
        halve(a, b, to, count);
        if (nodata.isThere &&
            (nodata.IsAmong(a, 2 * count) || nodata.IsAmong(b, 2 * count) || nodata.IsAmong(to, count)))
            halveValid(a, b, to, count, nodata);
    }
}

/* ---- Means of any pixels, which count in as much as they overlap the one of the level ---- */

/* Sums of numbers by their weights, exact of 64 bits: there the sides, and so all weights together, are below 2^62. */
template <class T> using WeightedSum = std::conditional_t<std::is_integral_v<T> && sizeof(T) == 8, Wide, double>;

template <class T> static void averageRow(const Work &w, int row)
{
    const Nodata<T> nodata(w.s);
    T *to = w.To<T>(row);
    for (int column = w.pixels.x; column < w.pixels.x + w.pixels.width; column++)
    {
        WeightedSum<T> sum = 0, weights = 0;
        const int first = w.x.First(column), end = w.x.End(column);
        for (int y = w.y.First(row); y < w.y.End(row); y++)
        {
            const uint64_t weight = w.y.Overlap(y, row);
            const T *from = w.From<T>(y) - w.of.x;
            const unsigned char *valid =
                w.valid != nullptr ? w.valid + static_cast<ptrdiff_t>(w.of.width) * (y - w.of.y) - w.of.x : nullptr;
            for (int x = first; x < end; x++)
            {
                if (valid != nullptr ? valid[x] == 0 : nodata.Is(from[x]))
                    continue;
                const auto share = static_cast<WeightedSum<T>>(weight * w.x.Overlap(x, column));
                sum += static_cast<WeightedSum<T>>(from[x]) * share;
                weights += share;
            }
        }
        *to++ = weights > 0 ? nodata.Avoid(meanOf<T>(sum, weights)) : nodata.value;
    }
}

template <class T> static void takeNearest(const Work &w, int row)
{
    const T *from = w.From<T>(w.y.Nearest(row)) - w.of.x;
    T *to = w.To<T>(row);
    for (int column = w.pixels.x; column < w.pixels.x + w.pixels.width; column++)
        *to++ = from[w.x.Nearest(column)];
}

template <class T> static void makeMeans(const Work &w, int row)
{
    if (w.x.IsHalf() && w.y.IsHalf() && w.valid == nullptr)
        halveRow<T>(w, row);
    else
        averageRow<T>(w, row);
}

/* ---- Types ---- */

using MakeRow = void (*)(const Work &, int);

/* Of elements of so many bytes, whatever they are. */
static MakeRow nearestOf(int size)
{
    switch (size)
    {
    case 1:
        return takeNearest<uint8_t>;
    case 2:
        return takeNearest<uint16_t>;
    case 4:
        return takeNearest<uint32_t>;
    case 8:
        return takeNearest<uint64_t>;
    default:
        return takeNearest<std::array<uint64_t, 2>>;
    }
}

static const struct
{
    GDALDataType type;
    MakeRow make;
} MEANS[] = {
    {GDT_Byte, makeMeans<uint8_t>},    {GDT_UInt16, makeMeans<uint16_t>}, {GDT_Int16, makeMeans<int16_t>},
    {GDT_UInt32, makeMeans<uint32_t>}, {GDT_Int32, makeMeans<int32_t>},   {GDT_UInt64, makeMeans<uint64_t>},
    {GDT_Int64, makeMeans<int64_t>},   {GDT_Float32, makeMeans<float>},   {GDT_Float64, makeMeans<double>},
    {ZS_GDT_INT8, makeMeans<int8_t>}, // before GDAL 3.7 it is Int16, which is found before
};

/* Null for complex numbers. */
static MakeRow meansOf(GDALDataType type)
{
    const auto row = std::find_if(std::begin(MEANS), std::end(MEANS), [&](const auto &r) { return r.type == type; });
    return row != std::end(MEANS) ? row->make : nullptr;
}

bool ZSShrinking::Start(GDALRasterBand &band, const char *resampling)
{
    isNearest = STARTS_WITH_CI(resampling, "NEAR");
    type = band.GetRasterDataType();
    if (isNearest)
        return true;
    if (type == ZS_GDT_FLOAT16)
        type = GDT_Float32;
    enum zs_data_type stored;
    if (meansOf(type) == nullptr || !zsZarrType(type, &stored) || !EQUAL(resampling, "AVERAGE") ||
        band.GetColorTable() != nullptr)
        return false;
    const ZSNodata own(band);
    hasNodata = own.isThere && own.ToElement(stored, static_cast<size_t>(GDALGetDataTypeSizeBytes(type)), nodata);
    return true;
}

ZSPixelWindow ZSShrinking::SourceOf(const ZSPixelWindow &p) const
{
    const Axis x(fromWidth, toWidth), y(fromHeight, toHeight);
    const auto first = [this](const Axis &axis, int at) { return isNearest ? axis.Nearest(at) : axis.First(at); };
    const auto end = [this](const Axis &axis, int at) { return isNearest ? axis.Nearest(at) + 1 : axis.End(at); };
    const int left = first(x, p.x), top = first(y, p.y);
    return {left, top, end(x, p.x + p.width - 1) - left, end(y, p.y + p.height - 1) - top};
}

void ZSShrinking::Make(const ZSPixelWindow &pixels, const unsigned char *from, ptrdiff_t fromLine,
                       const unsigned char *valid, unsigned char *to, ptrdiff_t toLine, int threads) const
{
    struct Rows
    {
        Work work;
        MakeRow make;
        int at_once;
    } rows{{*this, {fromWidth, toWidth}, {fromHeight, toHeight}, pixels, SourceOf(pixels), from, valid, to, fromLine,
            toLine},
           isNearest ? nearestOf(GDALGetDataTypeSizeBytes(type)) : meansOf(type),
           std::max(1, (1 << 18) / std::max(1, pixels.width))};
    const auto make = [](void *ctx, size_t item, struct zs_error *)
    {
        const Rows &r = *static_cast<Rows *>(ctx);
        const int first = static_cast<int>(item) * r.at_once, end = std::min(first + r.at_once, r.work.pixels.height);
        for (int row = first; row < end; row++)
            r.make(r.work, r.work.pixels.y + row);
        return ZS_OK;
    };
    const auto parts = static_cast<size_t>((pixels.height + rows.at_once - 1) / rows.at_once);
    static_cast<void>(zs_parallel_for(threads, parts, make, &rows, nullptr)); // it does not fail
}
