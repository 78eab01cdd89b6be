/* Metadata of the arrays of a group that is one dataset: what all of them say alike is the dataset's, with what the
 * group says; the rest is said by the bands. Each item is changed where it is. */
#include "dataset.h"

extern "C"
{
#include "raster/update.h"
}

/* Sorts what the arrays say. */
void ShardedZarrDataset::SortItems()
{
    if (!m_ownItems.empty())
        return;
    std::vector<CPLStringList> all;
    for (size_t i = 0; i < m_view.sources.size(); i++)
        all.emplace_back(CSLDuplicate(m_view.Meaning(i).metadata));
    for (int k = 0; k < all[0].size(); k++)
    {
        bool isCommon = true;
        for (const auto &list : all)
            isCommon = isCommon && zsHasItem(list.List(), all[0][k]);
        if (isCommon)
            m_commonItems.AddString(all[0][k]);
    }
    for (const auto &list : all)
        m_ownItems.push_back(zsItemsNotIn(list.List(), m_commonItems.List()));
}

const CPLStringList &ShardedZarrDataset::OwnItems(size_t source)
{
    SortItems();
    return m_ownItems[source];
}

/* What is there of the items is theirs; what is new or another is the group's. */
enum zs_status ShardedZarrDataset::WriteItems(struct zs_error *err)
{
    SortItems();
    const CPLStringList md = ItemsToWrite();
    char **items = nullptr;
    ZS_TRY(zs_group_metadata_read(m_view.group, &items, err));
    const CPLStringList before(CSLDuplicate(items));
    zs_metadata_free(items);
    CPLStringList ofGroup = zsItemsNotIn(md.List(), m_commonItems.List());
    for (int i = 0; i < before.size(); i++)
    {
        // What an array's item went before was not seen, and stays.
        const std::string name = zsItemName(before[i]);
        if (zsItemValue(m_commonItems.List(), name.c_str()) != nullptr &&
            zsItemValue(ofGroup.List(), name.c_str()) == nullptr)
            ofGroup.AddString(before[i]);
    }
    ZS_TRY(zs_update_metadata(m_view.store->hierarchy, m_view.group, ofGroup.List(), err));
    const CPLStringList gone = zsItemsNotIn(m_commonItems.List(), md.List());
    if (gone.empty())
        return ZS_OK;
    m_commonItems = zsItemsNotIn(m_commonItems.List(), gone.List());
    for (size_t i = 0; i < m_view.sources.size(); i++)
    {
        const CPLStringList kept = zsMergeItems(m_commonItems.List(), m_ownItems[i].List());
        ZS_TRY(zs_update_metadata(m_view.store->hierarchy, m_view.Array(i).node, kept.List(), err));
    }
    return ZS_OK;
}

/* Items that no band of the array has any more go; what is new or another is written as the band's. */
enum zs_status ShardedZarrDataset::WriteOwnItems(size_t source, struct zs_error *err)
{
    const int before = m_view.Before(source), count = m_view.Count(source);
    const CPLStringList &own = OwnItems(source);
    CPLStringList kept;
    for (int i = 0; i < own.size(); i++)
    {
        bool isThere = false;
        for (int b = 1; b <= count && !isThere; b++)
        {
            ShardedZarrRasterBand &band = Band(before + b);
            isThere = !band.m_metadataAdded || zsHasItem(band.GDALMajorObject::GetMetadata(), own[i]);
        }
        if (isThere)
            kept.AddString(own[i]);
    }
    if (kept.size() == own.size())
        return ZS_OK;
    m_ownItems[source] = kept;
    const CPLStringList all = zsMergeItems(m_commonItems.List(), kept.List());
    return zs_update_metadata(m_view.store->hierarchy, m_view.Array(source).node, all.List(), err);
}
