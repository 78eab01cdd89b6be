/* gdal/raster/items.h: items of metadata, "NAME=VALUE", and their domains, in lists of GDAL's.
 *
 * A name ends at the first '=', and names are compared byte for byte, as those of attributes are: "eo:cloud_cover" is a
 * name, and "Title" another than "title". GDAL's functions on lists (CSLMerge(), SetNameValue() ...) split at ':' too
 * and ignore case: for options, not for these. */
#pragma once

#include <string>

#include "gdal/compat.h"

extern "C"
{
#include "geo/bands.h"
}

/* The name of an item; all of a text that has no '='. */
std::string zsItemName(const char *item);

/* The value of the item of that name, null where there is none. */
const char *zsItemValue(CSLConstList items, const char *name);
/* Like zsItemValue(), as GDAL's users expect: without an exact match, a name that differs in case alone. */
const char *zsItemValueInAnyCase(CSLConstList items, const char *name);

/* Sets the item of that name, or with null removes it. */
void zsSetItem(CPLStringList &items, const char *name, const char *value);

/* Removes the items of a scale (scale_factor, add_offset, after `prefix`) that GDAL took from them, or has applied to
 * the pixels (gdal_translate -unscale of netCDF): readers would apply it again. Items of values in units of an applied
 * scale (valid_min, _FillValue ...) go with them. */
void zsDropScaleItems(CPLStringList &items, const std::string &prefix, bool isScaled);

/* The items of `base`, those of `over` instead of those with the same name. */
CPLStringList zsMergeItems(CSLConstList base, CSLConstList over);

/* The items of a list that are not, as they are, in the other. */
CPLStringList zsItemsNotIn(CSLConstList items, CSLConstList other);

/* ---- Domains ---- */

/* Whether a metadata domain is the one without a name. */
inline bool zsIsDefaultDomain(const char *domain)
{
    return domain == nullptr || domain[0] == '\0';
}

/* Whether a store keeps this domain. It does not keep a domain that is stored in another way, that describes a file
 * rather than its pixels, or that names other datasets. */
bool zsIsStoredDomain(const char *domain);
/* Whether a copy loses something by leaving out a domain that the store does not keep. */
bool zsIsLostDomain(const char *domain);

/* The domains of a data set or band that a store keeps; release with zs_domains_clear(). */
struct zs_domains zsDomainsOf(GDALMajorObject &object);

/* The metadata that a dataset or a band shows: those of the store, and over them those of a side-car file, which alone
 * are in the object itself, so that GDAL does not save the others beside the store. */
class ZSShownMetadata
{
    GDALMultiDomainMetadata m_lists;

  public:
    /* Shows a list of the store; `beside` are the object's items of that domain. */
    void Show(const char *domain, CSLConstList stored, CSLConstList beside);
    /* Shows the domains that a store keeps. */
    void Show(const struct zs_domains &domains, GDALMajorObject &beside);
    /* The names of all domains, the object's, which become the caller's, and those that are shown. */
    char **Names(char **beside);

    ZSMetadata Get(const char *domain = "")
    {
        return m_lists.GetMetadata(domain != nullptr ? domain : "");
    }
    const char *Item(const char *name, const char *domain = "")
    {
        return zsItemValueInAnyCase(Get(domain), name);
    }
    void Set(ZSMetadataArg metadata, const char *domain)
    {
        m_lists.SetMetadata(metadata, domain != nullptr ? domain : "");
    }
    void SetItem(const char *name, const char *value, const char *domain)
    {
        CPLStringList list(CSLDuplicate(const_cast<char **>(Get(domain))));
        zsSetItem(list, name, value);
        Set(list.List(), domain);
    }
};
