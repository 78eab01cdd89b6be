#include "items.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "gdal/handles.h"

std::string zsItemName(const char *item)
{
    return std::string(item, strcspn(item, "="));
}

static bool isNamed(const char *item, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(item, name, length) == 0 && item[length] == '=';
}

/* Where the item of that name is, -1 where there is none. */
static int find(CSLConstList items, const char *name)
{
    for (int i = 0; items != nullptr && items[i] != nullptr; i++)
    {
        if (isNamed(items[i], name))
            return i;
    }
    return -1;
}

const char *zsItemValue(CSLConstList items, const char *name)
{
    const int i = find(items, name);
    return i >= 0 ? items[i] + strlen(name) + 1 : nullptr;
}

const char *zsItemValueInAnyCase(CSLConstList items, const char *name)
{
    const size_t length = strlen(name);
    const char *value = zsItemValue(items, name);
    for (int i = 0; value == nullptr && items != nullptr && items[i] != nullptr; i++)
    {
        if (EQUALN(items[i], name, length) && items[i][length] == '=')
            value = items[i] + length + 1;
    }
    return value;
}

void zsSetItem(CPLStringList &items, const char *name, const char *value)
{
    const std::string wanted = std::string(name) + "=" + (value != nullptr ? value : "");
    CPLStringList changed;
    bool isSet = value == nullptr;
    for (int i = 0; i < items.size(); i++)
    {
        if (!isNamed(items[i], name))
            changed.AddString(items[i]);
        else if (!isSet)
            changed.AddString(wanted.c_str());
        isSet = isSet || isNamed(items[i], name);
    }
    if (!isSet)
        changed.AddString(wanted.c_str());
    items = std::move(changed);
}

/* Items of values in units of a scale that is beside them. */
static const char *const STORED_VALUES[] = {"valid_range", "valid_min",  "valid_max",
                                            "actual_range", "_FillValue", "missing_value"};

bool zsIsItemOfStored(const char *item)
{
    return std::any_of(std::begin(STORED_VALUES), std::end(STORED_VALUES),
                       [item](const char *name) { return isNamed(item, name); });
}

void zsDropScaleItems(CPLStringList &items, const std::string &prefix, bool isScaled)
{
    bool isThere = false;
    for (const char *name : {"scale_factor", "add_offset"})
    {
        isThere = isThere || zsItemValue(items.List(), (prefix + name).c_str()) != nullptr;
        zsSetItem(items, (prefix + name).c_str(), nullptr);
    }
    for (const char *name : STORED_VALUES)
    {
        if (isThere && !isScaled)
            zsSetItem(items, (prefix + name).c_str(), nullptr);
    }
}

CPLStringList zsMergeItems(CSLConstList base, CSLConstList over)
{
    std::unordered_map<std::string, const char *> pending;
    CPLStringList merged;
    for (int i = 0; over != nullptr && over[i] != nullptr; i++)
        pending[zsItemName(over[i])] = over[i];
    for (int i = 0; base != nullptr && base[i] != nullptr; i++)
    {
        const auto replaced = pending.find(zsItemName(base[i]));
        if (replaced == pending.end())
            merged.AddString(base[i]);
        else if (replaced->second != nullptr)
            merged.AddString(std::exchange(replaced->second, nullptr));
    }
    for (int i = 0; over != nullptr && over[i] != nullptr; i++)
    {
        if (pending[zsItemName(over[i])] == over[i])
            merged.AddString(over[i]);
    }
    return merged;
}

bool zsHasItem(CSLConstList items, const char *item)
{
    for (int i = 0; items != nullptr && items[i] != nullptr; i++)
    {
        if (strcmp(items[i], item) == 0)
            return true;
    }
    return false;
}

CPLStringList zsItemsNotIn(CSLConstList items, CSLConstList other)
{
    std::unordered_set<std::string> there;
    CPLStringList found;
    for (int i = 0; other != nullptr && other[i] != nullptr; i++)
        there.insert(other[i]);
    for (int i = 0; items != nullptr && items[i] != nullptr; i++)
    {
        if (there.count(items[i]) == 0)
            found.AddString(items[i]);
    }
    return found;
}

bool zsIsItemMistaken(GDALMajorObject &object, const char *name, const char *domain)
{
    const auto items = object.GDALMajorObject::GetMetadata(domain);
    const size_t length = strlen(name);
    for (int i = 0; items != nullptr && items[i] != nullptr; i++)
    {
        if (EQUALN(items[i], name, length) && (items[i][length] == '=' || items[i][length] == ':') &&
            !isNamed(items[i], name))
            return true;
    }
    return false;
}

CPLStringList zsItemsWith(GDALMajorObject &object, const char *name, const char *value, const char *domain)
{
    CPLStringList items(CSLDuplicate(object.GDALMajorObject::GetMetadata(domain)));
    zsSetItem(items, name, value);
    return items;
}

/* ---- Side-car files ---- */

void zsDropStored(CPLXMLNode *tree, CSLConstList items, const struct zs_domains &domains)
{
    std::unordered_set<std::string> stored;
    const auto isStored = [&](const CPLXMLNode *node) {
        return EQUAL(node->pszValue, "MDI") &&
               stored.count(CPLGetXMLValue(node, "key", "") + std::string("=") + CPLGetXMLValue(node, nullptr, "")) > 0;
    };
    for (int i = 0; items != nullptr && items[i] != nullptr; i++)
    {
        char *name = nullptr;
        const char *value = CPLParseNameValue(items[i], &name); // which ends a name at a colon, too
        if (name != nullptr)
            stored.insert(name + std::string("=") + value);
        CPLFree(name);
    }
    for (CPLXMLNode *list = tree != nullptr ? tree->psChild : nullptr, *next; list != nullptr; list = next)
    {
        next = list->psNext;
        const char *domain = CPLGetXMLValue(list, "domain", "");
        bool isGone = list->eType == CXT_Element && EQUAL(list->pszValue, "Metadata");
        if (isGone && domain[0] == '\0')
        {
            for (CPLXMLNode *item = list->psChild, *after; item != nullptr; item = after)
            {
                after = item->psNext;
                if (isStored(item) && CPLRemoveXMLChild(list, item))
                    CPLDestroyXMLNode(item);
            }
            isGone = list->psChild == nullptr;
        }
        else if (isGone)
            isGone = std::any_of(domains.list, domains.list + domains.count,
                                 [domain](const struct zs_domain &d) { return EQUAL(d.name, domain); });
        if (isGone && CPLRemoveXMLChild(tree, list))
            CPLDestroyXMLNode(list);
    }
}

/* ---- Domains ---- */

static bool isOneOf(const char *domain, const std::vector<const char *> &list)
{
    for (const char *name : list)
    {
        if (EQUAL(domain, name))
            return true;
    }
    return false;
}

bool zsIsStoredDomain(const char *domain)
{
    return domain != nullptr && domain[0] != '\0' && !zsIsLostDomain(domain) &&
           !isOneOf(domain, {"IMAGE_STRUCTURE", "SUBDATASETS", "DERIVED_SUBDATASETS", "ICECHUNK", "xml:VRT",
                             "vrt_sources", "new_vrt_sources", "LocationInfo"});
}

bool zsIsLostDomain(const char *domain)
{
    return EQUAL(domain, "GEOLOCATION"); // names another dataset with the coordinates: a copy would only have that name
}

struct zs_domains zsDomainsOf(GDALMajorObject &object)
{
    struct zs_domains found = {};
    const CPLStringList names(object.GetMetadataDomainList());
    for (int i = 0; i < names.size(); i++)
    {
        if (zsIsStoredDomain(names[i]) &&
            !zs_domains_add(&found, zsUtf8(names[i]).c_str(), zsUtf8List(object.GetMetadata(names[i])).List()))
            CPLError(CE_Failure, CPLE_OutOfMemory, "no memory for metadata domain %s", names[i]);
    }
    return found;
}

void zsAddDomains(GDALMajorObject &object, const struct zs_domains &domains)
{
    for (size_t i = 0; i < domains.count; i++)
    {
        const struct zs_domain &d = domains.list[i];
        if (zsIsStoredDomain(d.name) && object.GDALMajorObject::GetMetadata(d.name) == nullptr)
            object.GDALMajorObject::SetMetadata(d.items, d.name);
    }
}
