#include "mdim_options.h"

#include <algorithm>

#include "gdal/guard.h"
#include "gdal/types.h"

/* Most elements of a chunk by default: 512 x 512, or as many of fewer dimensions. */
constexpr uint64_t USUAL_ELEMENTS = ZSCreationOptions::USUAL_BLOCK * ZSCreationOptions::USUAL_BLOCK;
/* Chunks of fewer are made longer: each costs a place in an index, and a frame. */
constexpr uint64_t FEW_ELEMENTS = 1 << 14;
/* Coordinates are one chunk, or a few; that of a short one has room for more of them to come. */
constexpr uint64_t MIN_COORDINATES = 1 << 10, MAX_COORDINATES = 1 << 20;

void zsWarnOfRasterOptions(CSLConstList options)
{
    for (CSLConstList o = options; o != nullptr && *o != nullptr; o++)
    {
        const std::string name(*o, strcspn(*o, "="));
        if (!zsIsOption(name.c_str(), ZS_DATASET))
            CPLError(CE_Warning, CPLE_AppDefined,
                     "%s: is an option of rasters, and changes nothing in a copy of arrays", name.c_str());
    }
}

/* ---- Of one array ---- */

static bool checkNames(CSLConstList options)
{
    for (CSLConstList o = options; o != nullptr && *o != nullptr; o++)
    {
        char *name = nullptr;
        const char *value = CPLParseNameValue(*o, &name);
        const std::string key = name != nullptr ? name : *o;
        CPLFree(name);
        if (value != nullptr && zsIsOption(key.c_str(), ZS_ARRAY))
            continue;
        return zsRefuseOption("creation option of an array", "one of " + zsOptionNames(ZS_ARRAY), key.c_str());
    }
    return true;
}

/* Whether an option for all arrays is meant for this one. */
bool ZSMdimArrayOptions::Suits(const char *name, const char *value, const struct zs_array_spec &spec) const
{
    const bool isShape = EQUAL(name, "CHUNK_SHAPE") || EQUAL(name, "SHARD_SHAPE");
    if (EQUAL(name, "BITROUND"))
        return !m_isCoordinate && spec.ndim > 1 && GDALDataTypeIsFloating(zsGDALType(spec.dtype.type, spec.dtype.size));
    if (!isShape || EQUAL(value, "AUTO"))
        return zsIsOption(name, ZS_ARRAY);
    ZSShapeOption shape(name);
    return !m_isCoordinate && spec.ndim > 1 && shape.Parse(value) && shape.Count() <= static_cast<size_t>(spec.ndim);
}

bool ZSMdimArrayOptions::ApplyChunks(struct zs_array_spec &spec)
{
    const size_t dims = m_dimensions.size();
    const uint64_t usual = dims == 1 ? USUAL_ELEMENTS : ZSCreationOptions::USUAL_BLOCK;
    uint64_t elements = 1;
    for (size_t d = 0; d < dims; d++)
    {
        m_chunks[d].all = d + 2 >= dims ? std::min(usual, m_dimensions[d].size) : 1;
        elements *= m_chunks[d].all;
    }
    for (size_t d = dims; d-- > 0 && elements < FEW_ELEMENTS;)
    {
        const uint64_t n = m_chunks[d].all, more = std::min(m_dimensions[d].size / n, FEW_ELEMENTS / elements);
        m_chunks[d].all = n * std::max<uint64_t>(more, 1);
        elements = elements / n * m_chunks[d].all;
    }
    if (m_isCoordinate)
        m_chunks[0].all = std::max(MIN_COORDINATES, std::min(m_dimensions[0].size, MAX_COORDINATES));
    if (m_options.chunk.IsGiven() && !m_options.chunk.Apply(m_dimensions, m_chunks))
        return false;
    bool hasEdges;
    if (!zsTakeChunks(m_chunks, spec.dtype.size, m_options.shard, m_dimensions, spec.chunk_shape, spec.edges, hasEdges))
        return false;
    spec.is_sharded = dims > 0 && !hasEdges && (!m_isCoordinate || m_options.shard.IsGiven());
    return true;
}

/* As many chunks as make about ZS_SHARD_BYTES, and no more than there are: of the last two dimensions, near to a
 * square; then of those before. */
static std::vector<uint64_t> usualShard(const std::vector<ZSDimension> &dimensions, uint64_t most)
{
    const size_t dims = dimensions.size();
    std::vector<uint64_t> chunks(dims, 1);
    uint64_t all = 1;
    const auto grow = [&](size_t d) {
        const uint64_t needed = (dimensions[d].size + dimensions[d].unit - 1) / dimensions[d].unit;
        const uint64_t more = std::min(2 * chunks[d], needed);
        if (more <= chunks[d] || all / chunks[d] * more > most)
            return false;
        all = all / chunks[d] * more;
        chunks[d] = more;
        return true;
    };
    const size_t x = dims - 1, y = dims > 1 ? dims - 2 : x;
    for (bool more = true; more;)
    {
        const size_t first = chunks[x] <= chunks[y] ? x : y;
        more = grow(first) || grow(first == x ? y : x);
    }
    for (size_t d = y; d-- > 0;)
    {
        while (grow(d))
            continue;
    }
    return chunks;
}

bool ZSMdimArrayOptions::ApplyShards(struct zs_array_spec &spec)
{
    const size_t dims = m_dimensions.size();
    uint64_t bytes = spec.dtype.size;
    for (size_t d = 0; d < dims; d++)
        bytes *= spec.chunk_shape[d];
    const auto usual = usualShard(m_dimensions, std::max<uint64_t>(1, ZS_SHARD_BYTES / bytes));
    for (size_t d = 0; d < dims; d++)
        m_shards[d].all = spec.chunk_shape[d] * usual[d];
    return (!m_options.shard.IsGiven() || m_options.shard.Apply(m_dimensions, m_shards)) &&
           zsTakeShards(m_shards, spec.chunk_shape, spec.shard_shape, spec.edges);
}

bool ZSMdimArrayOptions::Apply(CSLConstList own, CSLConstList all, struct zs_array_spec &spec)
{
    CPLStringList list(CSLDuplicate(own));
    if (!zsTakeAliases(list, static_cast<size_t>(spec.ndim)) || !checkNames(list.List()))
        return false;
    for (CSLConstList o = all; o != nullptr && *o != nullptr; o++)
    {
        char *name = nullptr;
        const char *value = CPLParseNameValue(*o, &name);
        if (name != nullptr && value != nullptr && list.FetchNameValue(name) == nullptr && Suits(name, value, spec))
            list.SetNameValue(name, value);
        CPLFree(name);
    }
    m_hasCompression = list.FetchNameValue("COMPRESS") != nullptr;
    if (!m_options.Parse(list.List()))
        return false;
    struct zs_raster_spec rounded = {};
    rounded.dtype = spec.dtype;
    if (!m_options.CheckRounding(rounded))
        return false;
    for (int d = 0; d < spec.ndim; d++)
        m_names.push_back(std::string("elements of ") +
                          (spec.dimension_names[d] != nullptr ? spec.dimension_names[d] : "a dimension"));
    for (int d = 0; d < spec.ndim; d++)
        m_dimensions.push_back(
            {std::max<uint64_t>(1, spec.shape[d]), 1, m_names[static_cast<size_t>(d)].c_str()});
    m_chunks = std::vector<ZSDivision>(m_dimensions.size());
    m_shards = std::vector<ZSDivision>(m_dimensions.size());
    if (!ApplyChunks(spec) || (spec.is_sharded && !ApplyShards(spec)))
        return false;
    spec.encoding = m_options.EncodingOf(spec.dtype);
    return true;
}
