#include "shape_option.h"

#include <algorithm>

#include "handles.h"

extern "C"
{
#include "base/checked.h"
}

bool zsParseNumbers(const char *text, std::vector<uint64_t> &out)
{
    const int flags = CSLT_STRIPLEADSPACES | CSLT_STRIPENDSPACES | CSLT_ALLOWEMPTYTOKENS;
    const CPLStringList parts(CSLTokenizeString2(text, ",x", flags));
    for (int i = 0; i < parts.size(); i++)
    {
        const char *part = parts[i];
        if (*part == '\0' || strlen(part) > 10 || strspn(part, "0123456789") != strlen(part) || atoll(part) == 0)
            return false;
        out.push_back(static_cast<uint64_t>(atoll(part)));
    }
    return !out.empty();
}

static const char *afterSpaces(const char *p)
{
    return p + strspn(p, " ");
}

/* A length, or in a list a length and a count in brackets; `p` is left behind it and the spaces after it. */
static bool parseRun(const char *&p, bool isInList, ZSRun &run)
{
    std::vector<uint64_t> numbers;
    const bool hasCount = isInList && *p == '[';
    p += hasCount ? 1 : 0;
    const char *end = p + strcspn(p, hasCount ? "]" : isInList ? ",x]" : ",x");
    if (!zsParseNumbers(std::string(p, end).c_str(), numbers) || numbers.size() != (hasCount ? 2 : 1) ||
        (hasCount && *end != ']'))
        return false;
    run = {numbers[0], hasCount ? numbers[1] : 1};
    p = afterSpaces(end + (hasCount ? 1 : 0));
    return true;
}

static bool parseLengths(const char *&p, ZSLengths &lengths)
{
    lengths.is_list = *p == '[';
    do
    {
        ZSRun run;
        p = afterSpaces(lengths.is_list ? p + 1 : p); // the bracket, or what separates
        if (!parseRun(p, lengths.is_list, run))
            return false;
        lengths.runs.push_back(run);
    } while (lengths.is_list && (*p == ',' || *p == 'x'));
    if (lengths.is_list && *p != ']')
        return false;
    p = afterSpaces(lengths.is_list ? p + 1 : p);
    return true;
}

bool ZSShapeOption::Parse(const char *text)
{
    for (const char *p = text;; p++)
    {
        ZSLengths lengths;
        p = afterSpaces(p);
        if (!parseLengths(p, lengths))
            break;
        m_lengths.push_back(lengths);
        if (*p == '\0')
            return true;
        if (*p != ',' && *p != 'x')
            break;
    }
    return zsRefuseOption(m_name, "positive integers separated by commas, or in their place lists of them in brackets",
                          text);
}

static std::string number(uint64_t n)
{
    return std::to_string(n);
}

bool ZSShapeOption::Divide(const ZSLengths &lengths, const ZSDimension &dimension, ZSDivision &division) const
{
    const uint64_t unit = dimension.unit, end = zs_ceil_div_u64(dimension.size, unit) * unit;
    const std::string what = std::string(" ") + dimension.what;
    uint64_t longest = 0;
    bool areSame = true;
    uint64_t sum = 0;
    for (const auto &[n, count] : lengths.runs)
    {
        const uint64_t less = n / unit * unit;
        if (n != less)
        {
            const std::string near = (less > 0 ? number(less) + " or " : "") + number(less + unit);
            const std::string multiple = "a multiple of the chunk's " + number(unit) + what;
            return zsRefuseOption(m_name, multiple + " (" + near + " would do)", number(n).c_str());
        }
        uint64_t elements;
        if (!zs_mul_u64(n, count, &elements) || !zs_add_u64(sum, elements, &sum))
            sum = UINT64_MAX; // and stays more than any raster has
        longest = std::max(longest, n);
        areSame = areSame && n == lengths.runs[0].length;
    }
    if (lengths.is_list && sum != end)
    {
        const std::string whole = end > dimension.size ? " in whole chunks of " + number(unit) : "";
        const std::string total = number(end) + ", the raster's " + number(dimension.size) + what + whole;
        return zsRefuseOption(m_name, "lengths that add up to " + total, number(sum).c_str());
    }
    division.all = longest;
    if (areSame)
        return true;
    struct zs_edges *edges = nullptr;
    struct zs_error err;
    enum zs_status status = ZS_OK;
    for (size_t i = 0; i < lengths.runs.size() && status == ZS_OK; i++)
        status = zs_edges_add(&edges, lengths.runs[i].length, lengths.runs[i].count, &err);
    division.edges.reset(edges);
    if (status != ZS_OK)
        zsReport(err);
    return status == ZS_OK;
}

bool ZSShapeOption::Apply(const std::vector<ZSDimension> &dimensions, std::vector<ZSDivision> &divisions) const
{
    const size_t dims = dimensions.size(), given = m_lengths.size();
    if (given > dims)
        return zsRefuseOption(m_name, "at most " + number(dims) + " numbers or lists", number(given).c_str());
    const size_t first = dims - (given == 1 ? std::min<size_t>(2, dims) : given);
    for (size_t d = first; d < dims; d++)
    {
        if (!Divide(given == 1 ? m_lengths[0] : m_lengths[d - first], dimensions[d], divisions[d]))
            return false;
    }
    return true;
}

/* ---- What chunks and shards may be ---- */

/* Most decoded bytes of a chunk: all libraries take it, and readers must hold some of them. */
constexpr uint64_t MAX_CHUNK_BYTES = 1 << 30;
/* An index of more entries is 16 MB, which each reader of the shard fetches. */
constexpr uint64_t MAX_CHUNKS_PER_SHARD = 1 << 20;

bool zsTakeChunks(const std::vector<ZSDivision> &chunks, size_t item, const ZSShapeOption &shard,
                  std::vector<ZSDimension> &dimensions, uint64_t *shape, const struct zs_edges **edges, bool &hasEdges)
{
    uint64_t bytes = item;
    hasEdges = false;
    for (size_t d = 0; d < chunks.size(); d++)
    {
        const uint64_t n = chunks[d].all;
        if (n > MAX_CHUNK_BYTES || bytes * n > MAX_CHUNK_BYTES)
            return zsRefuseOption("CHUNK_SHAPE", "a chunk of at most 1 GiB", "more");
        bytes *= n;
        shape[d] = dimensions[d].unit = n;
        edges[d] = chunks[d].edges.get();
        hasEdges = hasEdges || edges[d] != nullptr;
    }
    return !hasEdges || !shard.IsGiven() ||
           zsRefuseOption("SHARD_SHAPE", "AUTO, for chunks whose lengths differ are in no shards", "a shape");
}

void zsUsualShards(const std::vector<ZSDimension> &dimensions, size_t item, std::vector<ZSDivision> &shards)
{
    const size_t dims = dimensions.size();
    std::vector<uint64_t> chunks(dims, 1);
    uint64_t bytes = item, all = 1;
    for (const auto &dimension : dimensions)
        bytes *= dimension.unit;
    const uint64_t most = std::max<uint64_t>(1, ZS_SHARD_BYTES / bytes);
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
    for (size_t d = 0; d < dims; d++)
        shards[d].all = dimensions[d].unit * chunks[d];
}

bool zsTakeShards(const std::vector<ZSDivision> &shards, const uint64_t *chunk, uint64_t *shape,
                  const struct zs_edges **edges)
{
    uint64_t count = 1;
    for (size_t d = 0; d < shards.size(); d++)
    {
        count *= std::min(shards[d].all / chunk[d], MAX_CHUNKS_PER_SHARD + 1);
        if (count > MAX_CHUNKS_PER_SHARD)
        {
            const std::string most = std::to_string(MAX_CHUNKS_PER_SHARD);
            return zsRefuseOption("SHARD_SHAPE", "at most " + most + " chunks in a shard", "more");
        }
        shape[d] = shards[d].all;
        edges[d] = shards[d].edges.get();
    }
    return true;
}
