#include "scratch.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "dataset.h"

extern "C"
{
#include "base/descriptors.h"
#include "store/staging.h"
}

/* Pixels of a band that are read at once: whole rows of the source's blocks, one at least. */
constexpr size_t FILL_BYTES = 64 << 20;
static const char WHAT[] = "scratch file of a copy"; // which has no path

/* A file without a name; should this process end before that is gone, the next writer removes it. */
static int openIn(const char *folder)
{
    struct zs_error err;
    char *path = nullptr;
    int file = -1;
    if (zs_temporary_create(folder, &file, &path, &err) != ZS_OK)
        return -1;
    unlink(path);
    free(path);
    return file;
}

bool ZSScratch::Open(const std::string &folder)
{
    struct stat st;
    if (stat(folder.c_str(), &st) == 0 && S_ISDIR(st.st_mode))
        m_file = openIn(folder.c_str());
    if (m_file < 0)
        m_file = openIn(CPLGetConfigOption("CPL_TMPDIR", "/tmp"));
    return m_file >= 0;
}

ZSScratch::~ZSScratch()
{
    if (m_file >= 0)
        close(m_file);
}

bool ZSScratch::Take(int first, int band)
{
    m_band = first;
    const int width = m_source.GetRasterXSize(), height = m_source.GetRasterYSize();
    const auto line = static_cast<size_t>(GDALGetDataTypeSizeBytes(m_type)) * static_cast<size_t>(width);
    int blockWidth, blockHeight;
    GDALRasterBand *source = m_source.GetRasterBand(band + 1);
    source->GetBlockSize(&blockWidth, &blockHeight);
    const auto block = static_cast<size_t>(std::min(blockHeight, height));
    const size_t rows = std::max<size_t>(1, FILL_BYTES / line / block) * block;
    std::vector<unsigned char> pixels(line * std::min(rows, static_cast<size_t>(height)));
    const uint64_t at = uint64_t{line} * static_cast<size_t>(height) * static_cast<size_t>(band - first);
    for (int y = 0; y < height; y += static_cast<int>(rows))
    {
        const int count = static_cast<int>(std::min(rows, static_cast<size_t>(height - y)));
        struct zs_error err;
        if (source->RasterIO(GF_Read, 0, y, width, count, pixels.data(), width, count, m_type, 0, 0, nullptr) !=
            CE_None)
            return false;
        if (zs_file_write_at(m_file, WHAT, at + line * static_cast<size_t>(y), pixels.data(),
                             line * static_cast<size_t>(count), &err) != ZS_OK)
        {
            zsReport(err);
            return false;
        }
    }
    return true;
}

bool ZSScratch::Read(int band, int bands, int x, int y, int columns, int rows, unsigned char *pixels) const
{
    const auto item = static_cast<size_t>(GDALGetDataTypeSizeBytes(m_type));
    const auto width = static_cast<size_t>(m_source.GetRasterXSize()),
               height = static_cast<size_t>(m_source.GetRasterYSize());
    const bool isWhole = static_cast<size_t>(columns) == width;
    const size_t run = item * static_cast<size_t>(columns) * static_cast<size_t>(isWhole ? rows : 1);
    for (int b = 0; b < bands; b++)
    {
        for (int row = 0; row < rows; row += isWhole ? rows : 1, pixels += run)
        {
            const size_t line = static_cast<size_t>(band - m_band + b) * height + static_cast<size_t>(y + row);
            struct zs_error err;
            if (zs_file_read_at(m_file, WHAT, item * (line * width + static_cast<size_t>(x)), run, pixels, &err) !=
                ZS_OK)
            {
                zsReport(err);
                return false;
            }
        }
    }
    return true;
}
