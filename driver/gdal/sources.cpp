/* What a source of a copy is read from: files and stores that the copy must not overwrite. */
#include "files.h"

#include <algorithm>
#include <set>
#include <sys/stat.h>
#include <utility>
#include <vector>

#include "connection.h"
#include "guard.h"
#include "handles.h"

/* Virtual rasters above each other, and names in all: more than any made by hand; they end the walk through a source
 * that refers to itself. */
constexpr int MAX_DEPTH = 16;
constexpr size_t MAX_NAMES = 100000;

using Identity = std::pair<dev_t, ino_t>;

static bool isLocal(const std::string &path)
{
    return !STARTS_WITH(path.c_str(), "/vsi");
}

/* A path in one spelling: without doubled slashes, ".", and a slash at its end. */
static std::string normalized(const std::string &path)
{
    std::string out;
    for (size_t i = 0; i < path.size(); i++)
    {
        if (path[i] == '/' && !out.empty() && out.back() == '/' && !(out == "/" && i == 1 && !isLocal(path)))
            continue;
        if (path.compare(i, 2, "./") == 0 && (out.empty() || out.back() == '/'))
        {
            i++;
            continue;
        }
        out += path[i];
    }
    while (out.size() > 1 && out.back() == '/')
        out.pop_back();
    return out;
}

static std::string parentOf(const std::string &path)
{
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? (path == "." ? "" : ".")
           : slash == 0               ? (path == "/" ? "" : "/")
                                      : path.substr(0, slash);
}

/* The files that a path and what is above it are: the path itself comes first, unless it is not there. */
static std::vector<Identity> chainOf(const std::string &path, bool &exists)
{
    std::vector<Identity> chain;
    struct stat st;
    exists = false;
    std::unique_ptr<char, decltype(&free)> real(nullptr, free);
    for (std::string at = path; !at.empty() && real == nullptr; at = parentOf(at))
    {
        real.reset(realpath(at.c_str(), nullptr));
        exists = exists || (real != nullptr && at == path);
    }
    for (std::string at = real != nullptr ? real.get() : ""; !at.empty(); at = parentOf(at))
    {
        if (stat(at.c_str(), &st) == 0)
            chain.emplace_back(st.st_dev, st.st_ino);
    }
    return chain;
}

/* Without asking a network. */
static bool mayBePath(const std::string &text)
{
    struct stat st;
    return !isLocal(text) || stat(text.c_str(), &st) == 0;
}

namespace
{
class Target
{
    std::string m_path;
    bool m_exists = false;
    std::vector<Identity> m_chain;

  public:
    explicit Target(const std::string &path) : m_path(normalized(path))
    {
        if (isLocal(m_path))
            m_chain = chainOf(m_path, m_exists);
    }
    /* Whether anything could be lost: something is there, or it lies in a store. Over a network, comparing names costs
     * less than asking. */
    bool IsOfInterest() const
    {
        if (m_exists || !isLocal(m_path))
            return true;
        for (std::string at = parentOf(m_path); at.size() > 1; at = parentOf(at))
        {
            if (zsExists(at + "/zarr.json"))
                return true;
        }
        return zsExists("./zarr.json");
    }
    bool Meets(const std::string &name) const
    {
        if (isLocal(name) != isLocal(m_path))
            return false;
        if (!isLocal(name))
        {
            const std::string other = normalized(name);
            return other == m_path || STARTS_WITH(other.c_str(), (m_path + "/").c_str()) ||
                   (STARTS_WITH(m_path.c_str(), (other + "/").c_str()) && zsExists(other + "/zarr.json"));
        }
        bool exists = false;
        const auto chain = chainOf(name, exists);
        if (!exists)
            return false;
        if (m_exists && std::find(chain.begin(), chain.end(), m_chain.front()) != chain.end())
            return true;
        return std::find(m_chain.begin(), m_chain.end(), chain.front()) != m_chain.end() &&
               zsExists(name + "/zarr.json");
    }
};

/* Names that a dataset reads from, as far as it lists them. */
class Names
{
    std::set<std::string> m_seen;
    std::vector<std::string> m_virtual; /* rasters to be opened and asked */

    void AddText(const std::string &name)
    {
        if (name.empty() || m_seen.size() >= MAX_NAMES || !m_seen.insert(name).second)
            return;
        if (EQUAL(CPLGetExtension(name.c_str()), "vrt") || STARTS_WITH_CI(name.c_str(), "vrt://"))
            m_virtual.push_back(name);
        ZSConnection connection;
        std::string reason;
        if (zsParseConnection(name.c_str(), connection, reason) && connection.store != name)
            AddText(connection.store);
        // FORMAT:"path":part and FORMAT:path, as most formats name their parts; archives around a path.
        const size_t quote = name.find('"'), end = quote == std::string::npos ? quote : name.find('"', quote + 1);
        if (end != std::string::npos)
            AddText(name.substr(quote + 1, end - quote - 1));
        for (size_t colon = name.find(':'); colon != std::string::npos; colon = name.find(':', colon + 1))
        {
            const std::string before = name.substr(0, colon), after = name.substr(colon + 1);
            if (mayBePath(before))
                AddText(before);
            if (mayBePath(after))
                AddText(after);
        }
        for (const char *archive : {"/vsizip/", "/vsitar/", "/vsigzip/", "/vsi7z/", "/vsirar/"})
        {
            if (STARTS_WITH(name.c_str(), archive))
                AddUpwards(name.substr(strlen(archive)));
        }
    }
    /* The archive is somewhere on the path of what lies in it. */
    void AddUpwards(const std::string &path)
    {
        VSIStatBufL st;
        for (std::string at = path; at.size() > 1; at = parentOf(at))
        {
            if (VSIStatL(at.c_str(), &st) == 0 && !VSI_ISDIR(st.st_mode))
                AddText(at);
        }
    }
    /* The sources that a virtual raster's XML names. */
    void AddXML(const CPLXMLNode *node, const std::string &directory)
    {
        for (; node != nullptr; node = node->psNext)
        {
            if (node->eType == CXT_Element &&
                (EQUAL(node->pszValue, "SourceFilename") || EQUAL(node->pszValue, "SourceDataset"))) {
                const char *name = CPLGetXMLValue(node, nullptr, "");
                AddText(name); // relative ones of rasters without a file as well
                if (CPLTestBool(CPLGetXMLValue(node, "relativeToVRT", "0")))
                    AddText(CPLProjectRelativeFilename(directory.c_str(), name));
            }
            AddXML(node->psChild, directory);
        }
    }
    void AddOne(GDALDataset &ds)
    {
        AddText(ds.GetDescription());
        const CPLStringList files(ds.GetFileList());
        for (int i = 0; i < files.size(); i++)
            AddText(files[i]);
        const auto xml = ds.GetMetadata("xml:VRT");
        if (xml == nullptr || xml[0] == nullptr)
            return;
        CPLXMLNode *tree = CPLParseXMLString(xml[0]);
        AddXML(tree, CPLGetPath(ds.GetDescription()));
        CPLDestroyXMLNode(tree);
    }

  public:
    explicit Names(GDALDataset &ds)
    {
        const ZSQuiet quiet;
        AddOne(ds);
        for (int depth = 0; depth < MAX_DEPTH && !m_virtual.empty(); depth++)
        {
            const auto names = std::move(m_virtual);
            m_virtual.clear();
            for (const auto &name : names)
            {
                const std::unique_ptr<GDALDataset> nested(GDALDataset::Open(name.c_str(), GDAL_OF_RASTER));
                if (nested != nullptr)
                    AddOne(*nested);
            }
        }
    }
    const std::set<std::string> &All() const
    {
        return m_seen;
    }
};
} // namespace

bool zsIsSource(GDALDataset &source, const std::string &path, std::string &which)
{
    const Target target(path);
    if (!target.IsOfInterest())
        return false;
    const Names names(source);
    for (const auto &name : names.All())
    {
        if (target.Meets(name))
        {
            which = name;
            return true;
        }
    }
    return false;
}

/* The element of a band or an array, whose path is seen from the group that holds the nodes; null: there is none. */
static const CPLXMLNode *findElement(const CPLXMLNode *node, const std::string &path)
{
    const CPLXMLNode *found = nullptr;
    for (; node != nullptr && found == nullptr; node = node->psNext)
    {
        if (node->eType != CXT_Element)
            continue;
        const bool isGroup = EQUAL(node->pszValue, "Group"), isBand = EQUAL(node->pszValue, "VRTRasterBand");
        const std::string name = CPLGetXMLValue(node, isBand ? "band" : "name", ""), above = name + "/";
        if ((isBand || EQUAL(node->pszValue, "Array")) && name == path)
            found = node;
        else if (EQUAL(node->pszValue, "VRTDataset") || (isGroup && name == "/"))
            found = findElement(node->psChild, path);
        else if (isGroup && path.compare(0, above.size(), above) == 0)
            found = findElement(node->psChild, path.substr(above.size()));
    }
    return found;
}

/* The name of a source that is relative to the folder of a virtual dataset; from GDAL 3.8 on also one within a name of
 * a subdataset. */
static std::string fromFolder(const std::string &folder, const std::string &name)
{
    const auto project = [&folder](const char *path) { return CPLProjectRelativeFilename(folder.c_str(), path); };
#if ZS_GDAL_AT_LEAST(8)
    const ZSOwned<GDALSubdatasetInfo> info(GDALGetSubdatasetInfo(name.c_str()), GDALDestroySubdatasetInfo);
    if (info != nullptr)
    {
        const ZSOwned<char> path(GDALSubdatasetInfoGetPathComponent(info.get()), [](char *p) { CPLFree(p); });
        const std::string full = project(path.get());
        const ZSOwned<char> changed(GDALSubdatasetInfoModifyPathComponent(info.get(), full.c_str()),
                                    [](char *p) { CPLFree(p); });
        return changed.get();
    }
#endif
    return project(name.c_str());
}

bool zsFirstSource(GDALDataset &ds, const std::string &path, std::string &file, std::string &part)
{
    const auto xml = ds.GetMetadata("xml:VRT");
    if (xml == nullptr || xml[0] == nullptr)
        return false;
    const ZSOwned<CPLXMLNode> tree(CPLParseXMLString(xml[0]), CPLDestroyXMLNode);
    const CPLXMLNode *element = findElement(tree.get(), path);
    const CPLXMLNode *source = element != nullptr ? element->psChild : nullptr;
    while (source != nullptr && CPLGetXMLValue(source, "SourceFilename", nullptr) == nullptr)
        source = source->psNext;
    if (source == nullptr)
        return false;
    file = CPLGetXMLValue(source, "SourceFilename", "");
    if (CPLTestBool(CPLGetXMLValue(source, "SourceFilename.relativeToVRT", "0")))
        file = fromFolder(CPLGetPath(ds.GetDescription()), file);
    part = CPLGetXMLValue(source, "SourceArray", CPLGetXMLValue(source, "SourceBand", "1"));
    return true;
}

bool zsIsOpenHere(const std::string &store)
{
    const auto names = zsOpenStores();
    const Target target(store);
    return std::any_of(names.begin(), names.end(), [&](const std::string &name) { return target.Meets(name); });
}
