#include "items.h"

#include <new>

std::string zsItemName(const char *item)
{
    return std::string(item, strcspn(item, "="));
}

/* Where the item of that name is, -1 where there is none. */
static int find(CSLConstList items, const char *name, bool isInAnyCase = false)
{
    const size_t length = strlen(name);
    for (int i = 0; items != nullptr && items[i] != nullptr; i++)
    {
        const bool isSame = isInAnyCase ? EQUALN(items[i], name, length) : strncmp(items[i], name, length) == 0;
        if (isSame && items[i][length] == '=')
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
    const int exact = find(items, name), i = exact >= 0 ? exact : find(items, name, true);
    return i >= 0 ? items[i] + strlen(name) + 1 : nullptr;
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

void zsTakeDomains(ZSProperties &properties, GDALMajorObject &object)
{
    const CPLStringList names(object.GetMetadataDomainList());
    properties.Unset("metadata_domains");
    for (int i = 0; i < names.size(); i++)
    {
        const CSLConstList items = zsIsStoredDomain(names[i]) ? object.GetMetadata(names[i]) : nullptr;
        if (items == nullptr || *items == nullptr)
            continue;
        if (zs_band_member(&properties, "metadata_domains") == nullptr &&
            zs_json_set(properties.members, "metadata_domains", zs_json_new_object()) == nullptr)
            throw std::bad_alloc();
        zs_json *all = zs_json_get_mutable(properties.members, "metadata_domains");
        if (!zs_add_names(all, zsUtf8(names[i]).c_str(), zsUtf8List(items).List()))
            throw std::bad_alloc();
    }
}

/* ---- What is shown ---- */

void ZSShownMetadata::Show(const char *domain, CSLConstList stored, CSLConstList beside)
{
    CPLStringList list = zsMergeItems(stored, beside);
    SetMetadata(list.List(), domain);
}

void ZSShownMetadata::Show(const struct zs_band_properties &properties, GDALMajorObject &beside)
{
    const zs_json *d = zs_json_first(zs_band_member(&properties, "metadata_domains"));
    for (; d != nullptr; d = zs_json_next(d))
    {
        const char *name = zs_json_name(d);
        char **items = nullptr;
        struct zs_error err;
        if (!zsIsStoredDomain(name) || GetMetadata(name) != nullptr)
            continue;
        if (zs_items_of(d, &items, &err) != ZS_OK)
            zsReport(err);
        const ZSOwned<char *> freed(items, zs_names_free);
        SetMetadata(items, name);
    }
    const CPLStringList others(beside.GDALMajorObject::GetMetadataDomainList());
    for (int i = 0; i < others.size(); i++)
    {
        if (zsIsStoredDomain(others[i]))
            SetMetadata(beside.GDALMajorObject::GetMetadata(others[i]), others[i]);
    }
}

char **ZSShownMetadata::Names(char **beside)
{
    CPLStringList names(beside);
    const CSLConstList shown = m_lists != nullptr ? m_lists->GetDomainList() : nullptr;
    for (int i = 0; shown != nullptr && shown[i] != nullptr; i++)
    {
        if (names.FindString(shown[i]) < 0 && (*shown[i] == '\0' || GetMetadata(shown[i]) != nullptr))
            names.AddString(shown[i]);
    }
    return names.StealList();
}
