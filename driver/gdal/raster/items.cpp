#include "items.h"

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
    const int at = find(items.List(), name);
    const std::string item = std::string(name) + "=" + (value != nullptr ? value : "");
    if (at < 0 && value != nullptr)
        items.AddString(item.c_str());
    else if (at >= 0)
    {
        char **list = CSLRemoveStrings(items.StealList(), at, 1, nullptr);
        items.Assign(value != nullptr ? CSLInsertString(list, at, item.c_str()) : list);
    }
}

/* Items of values in units of a scale that is beside them. */
static const char *const STORED_VALUES[] = {"valid_range", "valid_min",  "valid_max",
                                            "actual_range", "_FillValue", "missing_value"};

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
    CPLStringList merged(CSLDuplicate(const_cast<char **>(base)));
    for (int i = 0; over != nullptr && over[i] != nullptr; i++)
    {
        const char *end = over[i] + strcspn(over[i], "=");
        if (*end == '=')
            zsSetItem(merged, zsItemName(over[i]).c_str(), end + 1);
        else
            merged.AddString(over[i]);
    }
    return merged;
}

CPLStringList zsItemsNotIn(CSLConstList items, CSLConstList other)
{
    CPLStringList found;
    for (int i = 0; items != nullptr && items[i] != nullptr; i++)
    {
        if (CSLFindStringCaseSensitive(other, items[i]) < 0)
            found.AddString(items[i]);
    }
    return found;
}

/* ---- Domains ---- */

bool zsIsStoredDomain(const char *domain)
{
    static const char *const others[] = {"IMAGE_STRUCTURE", "SUBDATASETS", "DERIVED_SUBDATASETS", "ICECHUNK",
                                         "xml:VRT", "vrt_sources", "new_vrt_sources", "LocationInfo", nullptr};
    return !zsIsDefaultDomain(domain) && !zsIsLostDomain(domain) && CSLFindString(others, domain) < 0;
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

/* ---- What is shown ---- */

void ZSShownMetadata::Show(const char *domain, CSLConstList stored, CSLConstList beside)
{
    CPLStringList list = zsMergeItems(stored, beside);
    m_lists.SetMetadata(list.List(), domain);
}

void ZSShownMetadata::Show(const struct zs_domains &domains, GDALMajorObject &beside)
{
    for (size_t i = 0; i < domains.count; i++)
    {
        const struct zs_domain &d = domains.list[i];
        const auto over = beside.GDALMajorObject::GetMetadata(d.name);
        if (zsIsStoredDomain(d.name) && Get(d.name) == nullptr && over == nullptr)
            m_lists.SetMetadata(d.items, d.name);
    }
    const CPLStringList others(beside.GDALMajorObject::GetMetadataDomainList());
    for (int i = 0; i < others.size(); i++)
    {
        if (zsIsStoredDomain(others[i]))
            m_lists.SetMetadata(beside.GDALMajorObject::GetMetadata(others[i]), others[i]);
    }
}

char **ZSShownMetadata::Names(char **beside)
{
    CPLStringList names(beside);
    const CSLConstList shown = m_lists.GetDomainList();
    for (int i = 0; shown != nullptr && shown[i] != nullptr; i++)
    {
        if (names.FindString(shown[i]) < 0 && (*shown[i] == '\0' || Get(shown[i]) != nullptr))
            names.AddString(shown[i]);
    }
    return names.StealList();
}
