#include "shape_option.h"

#include <algorithm>
#include <functional>

#include "dataset.h"

extern "C"
{
#include "base/checked.h"
}

bool zsRefuseOption(const char *name, const std::string &expected, const char *found)
{
    CPLError(CE_Failure, CPLE_IllegalArg, "%s: expected %s, found %s", name, expected.c_str(), found);
    return false;
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

bool ZSShapeOption::Parse(const char *text)
{
    for (const char *p = text;; p++)
    {
        ZSLengths lengths;
        p += strspn(p, " ");
        lengths.is_list = *p == '[';
        p += lengths.is_list ? 1 : 0;
        const char *end = p + strcspn(p, lengths.is_list ? "]" : ",x");
        if (!zsParseNumbers(std::string(p, end).c_str(), lengths.each) || (lengths.is_list && *end != ']'))
            break;
        m_lengths.push_back(lengths);
        p = end + (lengths.is_list ? 1 : 0);
        p += strspn(p, " ");
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
    uint64_t sum = 0; // of texts: it does not come near 2^64
    for (const uint64_t n : lengths.each)
    {
        const uint64_t less = n / unit * unit;
        if (n != less)
        {
            const std::string near = (less > 0 ? number(less) + " or " : "") + number(less + unit);
            const std::string multiple = "a multiple of the chunk's " + number(unit) + what;
            return zsRefuseOption(m_name, multiple + " (" + near + " would do)", number(n).c_str());
        }
        sum += n;
    }
    if (lengths.is_list && sum != end)
    {
        const std::string whole = end > dimension.size ? " in whole chunks of " + number(unit) : "";
        const std::string total = number(end) + ", the raster's " + number(dimension.size) + what + whole;
        return zsRefuseOption(m_name, "lengths that add up to " + total, number(sum).c_str());
    }
    const auto begin = lengths.each.begin(), behind = lengths.each.end();
    division.all = *std::max_element(begin, behind);
    if (std::adjacent_find(begin, behind, std::not_equal_to<uint64_t>()) == behind)
        return true; // all are of one length
    struct zs_edges *edges = nullptr;
    struct zs_error err;
    enum zs_status status = ZS_OK;
    for (size_t i = 0; i < lengths.each.size() && status == ZS_OK; i++)
        status = zs_edges_add(&edges, lengths.each[i], 1, &err);
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
    const size_t first = given == 1 ? dims - 2 : dims - given;
    for (size_t d = first; d < dims; d++)
    {
        if (!Divide(given == 1 ? m_lengths[0] : m_lengths[d - first], dimensions[d], divisions[d]))
            return false;
    }
    return true;
}
