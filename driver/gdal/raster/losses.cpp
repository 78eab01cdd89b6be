#include "losses.h"

#include <string>

#include "gdal/connection.h"
#include "copy.h"
#include "dataset.h"
#include "domains.h"

namespace
{
/* A list in words, each once. */
class Losses
{
    CPLStringList m_list;

  public:
    void Add(const std::string &what)
    {
        if (m_list.FindString(what.c_str()) < 0)
            m_list.AddString(what.c_str());
    }
    std::string Text() const
    {
        std::string text;
        for (int i = 0; i < m_list.size(); i++)
            text += std::string(i > 0 ? "; " : "") + m_list[i];
        return text;
    }
};
} // namespace

static void addDomains(GDALMajorObject &object, Losses &losses)
{
    const CPLStringList domains(object.GetMetadataDomainList());
    for (int i = 0; i < domains.size(); i++)
    {
        if (zsIsLostDomain(domains[i]) && CSLCount(object.GetMetadata(domains[i])) > 0)
            losses.Add(std::string("metadata domain ") + domains[i]);
    }
}

/* A band's nodata value as text, which tells 64-bit integers and NaN apart; "" where there is none. */
static std::string nodataText(GDALRasterBand &band)
{
    int has = FALSE;
    std::string text;
    if (band.GetRasterDataType() == GDT_Int64)
        text = std::to_string(band.GetNoDataValueAsInt64(&has));
    else if (band.GetRasterDataType() == GDT_UInt64)
        text = std::to_string(band.GetNoDataValueAsUInt64(&has));
    else
        text = CPLSPrintf("%.17g", band.GetNoDataValue(&has));
    return has ? text : "";
}

static bool hasMask(GDALRasterBand &band)
{
    return (band.GetMaskFlags() & (GMF_ALL_VALID | GMF_NODATA | GMF_ALPHA)) == 0;
}

static void addBand(GDALRasterBand &band, GDALRasterBand &first, bool hasOneMask, Losses &losses)
{
    if (!hasOneMask && hasMask(band))
        losses.Add("masks that are not one for all bands");
    addDomains(band, losses);
    const GDALRasterAttributeTable *table = band.GetDefaultRAT();
    const auto own = dynamic_cast<ShardedZarrRasterBand *>(&band);
    if (table != nullptr && table->GetRowCount() > 0 && !(own != nullptr && own->IsTableInCategories()))
        losses.Add("raster attribute table");
    if (band.GetRasterDataType() != first.GetRasterDataType())
        losses.Add("data types that differ between bands (all become one that holds them)");
    if (nodataText(band) != nodataText(first))
        losses.Add("nodata values that differ between bands (that of band 1 is written)");
}

bool zsCheckLosses(const char *name, GDALDataset &source, bool strict)
{
    Losses losses;
    if (source.GetGCPCount() > 0)
        losses.Add("ground control points");
    addDomains(source, losses);
    const auto own = dynamic_cast<ShardedZarrDataset *>(&source);
    if (own != nullptr && own->HasIrregularAxes())
        losses.Add("coordinates of X or Y that are not regular (gdalmdimtranslate keeps them)");
    const bool hasOneMask = zsHasOneMask(source);
    for (int b = 1; b <= source.GetRasterCount(); b++)
        addBand(*source.GetRasterBand(b), *source.GetRasterBand(1), hasOneMask, losses);
    const std::string text = losses.Text();
    if (text.empty())
        return true;
    if (strict)
        CPLError(CE_Failure, CPLE_NotSupported, "%s: not copied, because strict, and this would be lost: %s",
                 zsShown(name).c_str(), text.c_str());
    else
        CPLError(CE_Warning, CPLE_NotSupported, "%s: lost in the copy: %s", zsShown(name).c_str(), text.c_str());
    return !strict;
}
