#include "copy.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "dataset.h"

extern "C"
{
#include "base/parallel.h"
}

/* Two strips of pixels are held at once; bands are read together only as long as a strip of them stays below this. */
constexpr uint64_t STRIP_BYTES = 128 << 20;

namespace
{
/* Rows of some bands, read from the source and not yet written. */
struct Strip
{
    std::unique_ptr<unsigned char[]> pixels; /* not a vector, which would fill them with zeros first */
    size_t size = 0;
    struct zs_array *array = nullptr;
    struct zs_window window = {};
    size_t item_size = 0;
};
} // namespace

static enum zs_status writeStrip(void *ctx, size_t, struct zs_error *err)
{
    const auto &s = *static_cast<Strip *>(ctx);
    return zs_array_write_windows(s.array, &s.window, 1, s.item_size, nullptr, nullptr, err);
}

static bool isPixelInterleaved(GDALDataset &source)
{
    const char *interleave = source.GetMetadataItem("INTERLEAVE", "IMAGE_STRUCTURE");
    return interleave != nullptr && EQUAL(interleave, "PIXEL");
}

bool zsCopyPixels(GDALDataset &source, const struct zs_raster &raster, const struct zs_raster_spec &spec, GDALDataType type,
                  GDALProgressFunc progress, void *progressData)
{
    const int width = source.GetRasterXSize(), height = source.GetRasterYSize(), bands = source.GetRasterCount();
    const auto item = static_cast<size_t>(GDALGetDataTypeSizeBytes(type));
    const uint64_t bandStrip = item * static_cast<uint64_t>(width) * std::min<uint64_t>(spec.chunk[1], spec.height);
    // Bands whose pixels lie together in the source are read together, else it would be read once per band; and a chunk of several
    // bands needs them all.
    const auto together = std::max<uint64_t>(1, std::min<uint64_t>(STRIP_BYTES / std::max<uint64_t>(1, bandStrip), static_cast<uint64_t>(bands)));
    uint64_t group = isPixelInterleaved(source) ? together : 1;
    if (spec.has_band_dimension)
        group = std::min<uint64_t>((group + spec.chunk[0] - 1) / spec.chunk[0] * spec.chunk[0], static_cast<uint64_t>(bands));

    Strip strips[2];
    struct zs_async *writing = nullptr;
    struct zs_error err;
    bool ok = true;
    int next = 0;
    const auto finish = [&]
    {
        if (zs_async_wait(writing, &err) != ZS_OK)
        {
            zsReport(err);
            ok = false;
        }
        writing = nullptr;
    };
    const double total = static_cast<double>(bands) * height;
    double done = 0;
    for (int b = 0; b < bands && ok; b += static_cast<int>(group))
    {
        const int count = std::min(static_cast<int>(group), bands - b);
        for (int y = 0; y < height && ok; y += static_cast<int>(spec.chunk[1]))
        {
            const int rows = static_cast<int>(std::min<uint64_t>(spec.chunk[1], static_cast<uint64_t>(height - y)));
            Strip &s = strips[next];
            next = 1 - next;
            const GSpacing line = static_cast<GSpacing>(item) * width, plane = line * rows;
            const size_t size = static_cast<size_t>(plane) * static_cast<size_t>(count);
            if (size > s.size)
                s.pixels.reset(new unsigned char[s.size = size]);
            std::vector<int> map;
            for (int i = 0; i < count; i++)
                map.push_back(b + i + 1);
            if (source.RasterIO(GF_Read, 0, y, width, rows, s.pixels.get(), width, rows, type, count, map.data(),
                                static_cast<GSpacing>(item), line, plane, nullptr) != CE_None)
            {
                ok = false;
                break;
            }
            finish();
            if (!ok)
                break;
            s.item_size = item;
            s.window = {};
            s.window.data = s.pixels.get();
            int d = 0;
            if (spec.has_band_dimension)
            {
                s.window.start[d] = static_cast<uint64_t>(b);
                s.window.count[d] = static_cast<uint64_t>(count);
                s.window.stride[d++] = static_cast<ptrdiff_t>(plane);
            }
            s.window.start[d] = static_cast<uint64_t>(y);
            s.window.count[d] = static_cast<uint64_t>(rows);
            s.window.stride[d++] = static_cast<ptrdiff_t>(line);
            s.window.count[d] = static_cast<uint64_t>(width);
            s.window.stride[d] = static_cast<ptrdiff_t>(item);
            if (spec.has_band_dimension || spec.array_count == 1)
            {
                s.array = zs_raster_array(&raster, 0);
                writing = zs_async_start(writeStrip, &s);
                ok = writing != nullptr;
            }
            else
            {
                // One array per band: one after the other, since they share the strip.
                for (int i = 0; i < count && ok; i++)
                {
                    s.array = zs_raster_array(&raster, static_cast<size_t>(b + i));
                    s.window.data = s.pixels.get() + static_cast<size_t>(plane) * static_cast<size_t>(i);
                    if (writeStrip(&s, 0, &err) != ZS_OK)
                    {
                        zsReport(err);
                        ok = false;
                    }
                }
            }
            done += static_cast<double>(rows) * count;
            if (ok && !progress(done / total, nullptr, progressData))
            {
                CPLError(CE_Failure, CPLE_UserInterrupt, "User terminated CreateCopy()");
                ok = false;
            }
        }
    }
    finish();
    return ok;
}
