#include "side_car.h"

#include <memory>

#include "compat.h"

static bool isElement(const CPLXMLNode *node, const char *name)
{
    return node->eType == CXT_Element && EQUAL(node->pszValue, name);
}

/* Whether a dataset of that name ("", "group", "group/array", "array:time=1") has bands of the array. */
static bool hasArray(const std::string &name, const std::string &path)
{
    const std::string whole = name.substr(0, name.find(':'));
    return whole.empty() || whole == path || path.compare(0, whole.size() + 1, whole + "/") == 0;
}

static bool isStatistic(const CPLXMLNode *node)
{
    return isElement(node, "Histograms") ||
           (isElement(node, "MDI") && STARTS_WITH_CI(CPLGetXMLValue(node, "key", ""), "STATISTICS_"));
}

/* Returns whether there were any. */
static bool dropStatistics(CPLXMLNode *tree, const std::string &path)
{
    bool isChanged = false;
    for (CPLXMLNode *node = tree->psChild, *next; node != nullptr; node = next)
    {
        next = node->psNext;
        if (isElement(node, "Subdataset") && !hasArray(CPLGetXMLValue(node, "name", ""), path))
            continue;
        if (!isStatistic(node))
            isChanged = dropStatistics(node, path) || isChanged;
        else if (CPLRemoveXMLChild(tree, node))
        {
            CPLDestroyXMLNode(node);
            isChanged = true;
        }
    }
    return isChanged;
}

void zsDropSideCarStatistics(const std::string &document, const std::string &path)
{
    VSIStatBufL st;
    const std::string file = document + ".aux.xml";
    if (VSIStatExL(file.c_str(), &st, VSI_STAT_EXISTS_FLAG) != 0)
        return;
    const std::unique_ptr<CPLXMLNode, decltype(&CPLDestroyXMLNode)> tree(CPLParseXMLFile(file.c_str()),
                                                                          CPLDestroyXMLNode);
    if (tree != nullptr && dropStatistics(tree.get(), path))
        CPLSerializeXMLTreeToFile(tree.get(), file.c_str());
}
