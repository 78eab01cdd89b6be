/* gdal/raster/items.h: items of metadata, "NAME=VALUE", and their domains, in lists of GDAL's.
 *
 * A name ends at the first '=', and names are compared byte for byte, as those of attributes are: "eo:cloud_cover" is a
 * name, and "Title" another than "title". GDAL's functions on lists (CSLMerge(), SetNameValue() ...) split at ':' too
 * and ignore case: for options, not for these. */
#pragma once

#include <memory>
#include <string>

#include "gdal/guard.h"
#include "gdal/handles.h"

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

/* Makes the domains of a data set or band that a store keeps those of properties. */
void zsTakeDomains(ZSProperties &properties, GDALMajorObject &object);

/* The metadata that a dataset or a band shows: those of the store, and over them those of a side-car file, which alone
 * are in the object itself, so that GDAL does not save the others beside the store. */
class ZSShownMetadata
{
    std::unique_ptr<GDALMultiDomainMetadata> m_lists; /* from the first on: a store may have 25,000 bands */

  public:
    ZSMetadata GetMetadata(const char *domain = "")
    {
        return m_lists != nullptr ? m_lists->GetMetadata(domain) : nullptr;
    }
    void SetMetadata(ZSMetadata list, const char *domain = "")
    {
        if (m_lists == nullptr)
            m_lists = std::make_unique<GDALMultiDomainMetadata>();
        m_lists->SetMetadata(list, domain);
    }
    /* Shows a list of the store; `beside` are the object's items of that domain. */
    void Show(const char *domain, CSLConstList stored, CSLConstList beside);
    /* Shows the domains that a store keeps. */
    void Show(const struct zs_band_properties &properties, GDALMajorObject &beside);
    /* The names of all domains, the object's, which become the caller's, and those that are shown. */
    char **Names(char **beside);
    const char *Item(const char *name, const char *domain = "")
    {
        return zsItemValueInAnyCase(GetMetadata(domain), name);
    }
};

/* For ReadDomain(): the name of no item, for all items of a domain but those of positions, which take reading
 * coordinates; and of no domain, for those that the store has. */
constexpr char ZS_OWN_ITEMS[] = "";
constexpr char ZS_ANY_STORED_DOMAIN[] = "any that the store has";

/* A dataset or a band that shows metadata of the store; Base is GDAL's class of one that has a side-car file. */
template <class Base> class ZSWithMetadata : public Base
{
    /* Sets what is shown, of which the item `name` (null: all) changes, and where the store does not take it calls
     * beside(). */
    template <class Beside>
    CPLErr Change(const char *name, CPLStringList &list, const char *domain, const Beside &beside)
    {
        bool isStored = false;
        const bool isShown = ReadDomain(domain, ZS_OWN_ITEMS);
        if (WillSetDomain(domain, name, list, isStored) != CE_None)
            return CE_Failure;
        // What is beside the store is in what is shown, which becomes the store's.
        if (isStored && GDALMajorObject::GetMetadata(domain) != nullptr)
            Base::SetMetadata(nullptr, domain);
        if (isShown)
            m_shown.SetMetadata(list.List(), domain);
        return isStored ? CE_None : beside();
    }

  protected:
    unsigned m_read = 0; /* parts that were read, as bits */
    ZSShownMetadata m_shown;

    /* Makes sure that m_shown has an item of a domain, with name NULL all of it. False for domains that are GDAL's. */
    virtual bool ReadDomain(const char *domain, const char *name) = 0;
    /* Before a domain, which was read, becomes this list, which may be changed: isStored where it is written at the
     * next flush. `name` is that of the item that is set, null for the whole list. CE_Failure, with CPLError emitted,
     * where it cannot be. */
    virtual CPLErr WillSetDomain(const char *domain, const char *name, CPLStringList &list, bool &isStored) = 0;

    /* Calls read() once for each part, a bit; again where there was no memory. */
    template <class Read> void Once(unsigned part, const Read &read)
    {
        if ((m_read & part) == 0)
            read();
        m_read |= part;
    }

  public:
    char **GetMetadataDomainList() override
    {
        return zsGuard([&] {
            for (const char *domain : {"", "IMAGE_STRUCTURE", "GEOLOCATION", ZS_ANY_STORED_DOMAIN})
                ReadDomain(domain, nullptr);
            return m_shown.Names(Base::GetMetadataDomainList());
        });
    }
    ZSMetadata GetMetadata(const char *domain = "") override
    {
        return zsGuard(
            [&] { return ReadDomain(domain, nullptr) ? m_shown.GetMetadata(domain) : Base::GetMetadata(domain); });
    }
    const char *GetMetadataItem(const char *name, const char *domain = "") override
    {
        return zsGuard([&] {
            return name != nullptr && ReadDomain(domain, name) ? m_shown.Item(name, domain)
                                                               : Base::GetMetadataItem(name, domain);
        });
    }
    CPLErr SetMetadata(ZSMetadataArg metadata, const char *domain = "") override
    {
        return zsGuard([&] {
            const CPLStringList given(CSLDuplicate(const_cast<char **>(metadata))); // it may be what is shown
            CPLStringList list(given);
            return Change(nullptr, list, domain,
                          [&] { return Base::SetMetadata(const_cast<char **>(given.List()), domain); });
        });
    }
    CPLErr SetMetadataItem(const char *name, const char *given, const char *domain = "") override
    {
        return zsGuard([&] {
            const std::string copy = given != nullptr ? given : ""; // it may be what is shown
            const char *value = given != nullptr ? copy.c_str() : nullptr;
            static_cast<void>(ReadDomain(domain, ZS_OWN_ITEMS));
            CPLStringList list(CSLDuplicate(const_cast<char **>(m_shown.GetMetadata(domain))));
            zsSetItem(list, name, value);
            return Change(name, list, domain, [&] { return Base::SetMetadataItem(name, value, domain); });
        });
    }
};
