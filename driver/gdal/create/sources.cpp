/* The first source of a band or an array of a virtual dataset. */
#include "files.h"

#include "gdal/guard.h"

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
