/* Georeferencing and metadata that GDAL asks of a dataset: of a side-car file first, then of the store. */
#include "dataset.h"
#include "gdal/connection.h"
#include "gdal/files.h"

static const char IMAGE_STRUCTURE[] = "IMAGE_STRUCTURE";

/* ---- Georeferencing ---- */

const OGRSpatialReference *ShardedZarrDataset::GetSpatialRef() const
{
    const struct zs_georef &stored = georef->Get();
    const OGRSpatialReference *beside = GDALPamDataset::GetSpatialRef();
    return beside != nullptr ? beside : OGRSpatialReference::FromHandle(stored.srs);
}

CPLErr ShardedZarrDataset::SetSpatialRef(const OGRSpatialReference *srs)
{
    if (!IsUpdate())
        return GDALPamDataset::SetSpatialRef(srs);
    if (GDALPamDataset::GetSpatialRef() != nullptr)
        GDALPamDataset::SetSpatialRef(nullptr);
    return georef->SetSrs(srs, pixels.IsBlank());
}

CPLErr ShardedZarrDataset::GetGeoTransform(ZS_GET_GEOTRANSFORM_ARG transform) ZS_GEOTRANSFORM_CONST
{
    if (GDALPamDataset::GetGeoTransform(transform) == CE_None)
        return CE_None;
    const struct zs_georef &stored = georef->Get();
    // Regular times of rows and ranges of columns give a transform, too, but no georeferencing: control points do.
    if (!stored.has_transform || (!georef->IsPending() && HasGCPs()))
        return GDALPamDataset::GetGeoTransform(transform);
    for (int i = 0; i < 6; i++)
        transform[i] = stored.transform[i];
    return CE_None;
}

CPLErr ShardedZarrDataset::SetGeoTransform(ZS_SET_GEOTRANSFORM_ARG transform)
{
    if (!IsUpdate())
        return GDALPamDataset::SetGeoTransform(transform);
    if (m_hasSideCar)
        DeleteGeoTransform();
    double numbers[6];
    for (int i = 0; i < 6; i++)
        numbers[i] = transform[i];
    return georef->SetTransform(numbers);
}

bool ShardedZarrDataset::HasGCPs() const
{
    return !m_role.IsOverview() && !m_role.isMask && !georef->GCPs().empty();
}

int ShardedZarrDataset::GetGCPCount()
{
    const int beside = GDALPamDataset::GetGCPCount();
    return beside > 0 || !HasGCPs() ? beside : static_cast<int>(georef->GCPs().size());
}

const OGRSpatialReference *ShardedZarrDataset::GetGCPSpatialRef() const
{
    const bool isBeside = const_cast<ShardedZarrDataset *>(this)->GDALPamDataset::GetGCPCount() > 0;
    return isBeside || !HasGCPs() ? GDALPamDataset::GetGCPSpatialRef() : &georef->GCPSrs();
}

const GDAL_GCP *ShardedZarrDataset::GetGCPs()
{
    return GDALPamDataset::GetGCPCount() > 0 || !HasGCPs() ? GDALPamDataset::GetGCPs() : georef->GCPs().data();
}

/* ---- Metadata ---- */

static bool isStructure(const char *domain)
{
    return domain != nullptr && EQUAL(domain, IMAGE_STRUCTURE);
}

void ShardedZarrDataset::ReadDomain(const char *domain)
{
    if (zsIsDefaultDomain(domain))
        items->Read();
    else if (EQUAL(domain, "GEOLOCATION"))
        georef->AddGeolocation(*this);
    else
        items->ReadDomains(domain);
}

char **ShardedZarrDataset::GetMetadataDomainList()
{
    items->Read();
    items->ReadDomains(nullptr);
    georef->AddGeolocation(*this);
    CPLStringList list(GDALPamDataset::GetMetadataDomainList());
    if (list.FindString(IMAGE_STRUCTURE) < 0)
        list.AddString(IMAGE_STRUCTURE);
    return list.StealList();
}

ZSMetadata ShardedZarrDataset::GetMetadata(const char *domain)
{
    if (isStructure(domain))
        return items->Structure().List();
    ReadDomain(domain);
    if (zsIsDefaultDomain(domain))
        items->ReadAll();
    return GDALPamDataset::GetMetadata(domain);
}

const char *ShardedZarrDataset::GetMetadataItem(const char *name, const char *domain)
{
    if (isStructure(domain))
        return items->Structure().FetchNameValue(name);
    ReadDomain(domain);
    if (zsIsDefaultDomain(domain) && name != nullptr && STARTS_WITH_CI(name, "NETCDF_DIM_"))
        items->ReadAll();
    if (name == nullptr || (!zsIsDefaultDomain(domain) && !zsIsStoredDomain(domain)))
        return GDALPamDataset::GetMetadataItem(name, domain);
    return zsItemValueInAnyCase(GDALMajorObject::GetMetadata(domain), name);
}

bool ShardedZarrDataset::SetRegistration(const char *value)
{
    const char *now = zsItemValueInAnyCase(GDALMajorObject::GetMetadata(), GDALMD_AREA_OR_POINT);
    const bool isPoint = EQUAL(value, GDALMD_AOP_POINT);
    if (!isPoint && !EQUAL(value, GDALMD_AOP_AREA))
    {
        if (now != nullptr && strcmp(now, value) == 0)
            return true; // it is what is there
        CPLError(CE_Failure, CPLE_IllegalArg, "%s: AREA_OR_POINT: expected Area or Point, found \"%.100s\"",
                 zsShown(m_view.store->name).c_str(), value);
        return false;
    }
    georef->SetPixelIsPoint(isPoint);
    return true;
}

CPLErr ShardedZarrDataset::SetMetadata(ZSMetadataArg metadata, const char *domain)
{
    items->ReadDomains(zsIsDefaultDomain(domain) ? nullptr : domain);
    items->ForgetStructure();
    if (!IsUpdate() || !(zsIsDefaultDomain(domain) || zsIsStoredDomain(domain)))
        return GDALPamDataset::SetMetadata(metadata, domain);
    items->Read();
    CPLStringList list(CSLDuplicate(const_cast<char **>(metadata)));
    const char *registration = zsItemValueInAnyCase(list.List(), GDALMD_AREA_OR_POINT);
    if (zsIsDefaultDomain(domain) && registration != nullptr && !SetRegistration(registration))
        return CE_Failure;
    items->SetChanged(domain);
    if (!zsIsDefaultDomain(domain))
        return GDALMajorObject::SetMetadata(metadata, domain);
    // A list without AREA_OR_POINT keeps it, as in GTiff.
    if (registration == nullptr && georef->Get().pixel_is_point)
        zsSetItem(list, GDALMD_AREA_OR_POINT, GDALMD_AOP_POINT);
    return GDALMajorObject::SetMetadata(list.List());
}

CPLErr ShardedZarrDataset::SetMetadataItem(const char *name, const char *value, const char *domain)
{
    items->ReadDomains(zsIsDefaultDomain(domain) ? nullptr : domain);
    items->Read();
    if (zsIsItemMistaken(*this, name, domain))
        return SetMetadata(zsItemsWith(*this, name, value, domain).List(), domain);
    items->ForgetStructure();
    if (!IsUpdate() || !(zsIsDefaultDomain(domain) || zsIsStoredDomain(domain)))
        return GDALPamDataset::SetMetadataItem(name, value, domain);
    if (zsIsDefaultDomain(domain) && EQUAL(name, GDALMD_AREA_OR_POINT))
    {
        if (!SetRegistration(value != nullptr ? value : GDALMD_AOP_AREA))
            return CE_Failure;
    }
    items->SetChanged(domain);
    return GDALMajorObject::SetMetadataItem(name, value, domain);
}

char **ShardedZarrDataset::GetFileList()
{
    if (m_view.store->store->is_snapshot)
        return nullptr; // GDAL deletes and moves listed files where a driver has no callback, and a ref is the history
    const std::string root = m_view.store->store->root;
    CPLStringList files;
    files.AddString(m_view.store->Entry().c_str());
    std::vector<const struct zs_node *> nodes;
    if (m_view.IsGroup())
        nodes.push_back(m_view.group);
    for (const auto &source : m_view.sources)
        nodes.push_back(source.array->node);
    for (const auto *node : nodes)
    {
        if (strcmp(node->key, "zarr.json") != 0 && !zs_hierarchy_is_consolidated(m_view.store->hierarchy))
            files.AddString((root + "/" + node->key).c_str());
    }
    if (m_view.store->store->is_remote)
        return files.StealList();
    // GDAL adds the store once more, under the name by which it was opened, and a side-car file.
    const CPLStringList others(GDALPamDataset::GetFileList());
    for (int i = 0; i < others.size(); i++)
    {
        if (zsEndsWith(others[i], ".aux.xml"))
            files.AddString(others[i]);
    }
    const std::string external = zsExternalOverviews(overviews.Beside());
    if (!overviews.Beside().empty() && zsExists(external))
        files.AddString(external.c_str());
    return files.StealList();
}

/* ---- The side-car file ---- */

CPLErr ShardedZarrDataset::XMLInit(ZSPamTree tree, const char *path)
{
    const CPLErr result = GDALPamDataset::XMLInit(tree, path);
    m_hasSideCar = true;
    zsItemsFromXML(tree, *this);
    return result;
}

/* Writes no side-car file beside a store that was replaced: it would describe the wrong one. */
CPLErr ShardedZarrDataset::TrySaveXML()
{
    struct zs_error err;
    struct zs_object *root = nullptr;
    enum zs_status status = ZS_OK;
    if ((nPamFlags & GPF_DIRTY) != 0 && !m_view.store->store->is_remote)
        status = zs_object_open(m_view.store->store, "zarr.json", &root, &err);
    zs_object_close(root);
    if (status == ZS_OK || status == ZS_NOT_FOUND)
        return GDALPamDataset::TrySaveXML();
    nPamFlags &= ~GPF_DIRTY;
    CPLError(IsUpdate() ? CE_Failure : CE_Warning, CPLE_AppDefined, "%s: statistics and what else goes beside the "
             "store are not kept: %s", zsShown(GetDescription()).c_str(), err.message);
    return IsUpdate() ? CE_Failure : CE_None;
}

/* Never null: GDAL would remove the side-car file, which may be of other arrays, too. */
CPLXMLNode *ShardedZarrDataset::SerializeToXML(const char *path)
{
    CPLXMLNode *tree = items->WithoutStored(
        [&]
        {
            CPLXMLNode *made = GDALPamDataset::SerializeToXML(path);
            zsItemsToXML(*this, made);
            return made;
        });
    return tree != nullptr ? tree : CPLCreateXMLNode(nullptr, CXT_Element, "PAMDataset");
}
