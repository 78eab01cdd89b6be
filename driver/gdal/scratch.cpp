#include "scratch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

/* Pixels of a band that are read at once: whole rows of the source's blocks, one at least. */
constexpr size_t FILL_BYTES = 64 << 20;

static bool report(const char *what)
{
    CPLError(CE_Failure, CPLE_FileIO, "cannot %s the scratch file of a copy: %s", what, strerror(errno));
    return false;
}

static bool writeAll(int file, const unsigned char *data, size_t size, off_t at)
{
    while (size > 0)
    {
        const ssize_t n = pwrite(file, data, size, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return report("write");
        data += n;
        at += n;
        size -= static_cast<size_t>(n);
    }
    return true;
}

static bool readAll(int file, unsigned char *data, size_t size, off_t at)
{
    while (size > 0)
    {
        const ssize_t n = pread(file, data, size, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return report("read");
        data += n;
        at += n;
        size -= static_cast<size_t>(n);
    }
    return true;
}

static int openIn(const std::string &folder)
{
    // A name that the next writer removes, should this process end before the next line.
    std::string name = folder + "/.shardedzarr-scratch-XXXXXX.tmp";
    const int file = mkstemps(&name[0], 4);
    if (file >= 0)
    {
        unlink(name.c_str());
        fcntl(file, F_SETFD, FD_CLOEXEC);
    }
    return file;
}

bool ZSScratch::Open(const std::string &folder)
{
    struct stat st;
    if (stat(folder.c_str(), &st) == 0 && S_ISDIR(st.st_mode))
        m_file = openIn(folder);
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
    const auto at = static_cast<off_t>(line) * height * (band - first);
    for (int y = 0; y < height; y += static_cast<int>(rows))
    {
        const int count = static_cast<int>(std::min(rows, static_cast<size_t>(height - y)));
        if (source->RasterIO(GF_Read, 0, y, width, count, pixels.data(), width, count, m_type, 0, 0, nullptr) !=
                CE_None ||
            !writeAll(m_file, pixels.data(), line * static_cast<size_t>(count), at + static_cast<off_t>(line) * y))
            return false;
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
            if (!readAll(m_file, pixels, run, static_cast<off_t>(item * (line * width + static_cast<size_t>(x)))))
                return false;
        }
    }
    return true;
}
