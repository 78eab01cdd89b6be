/* CF's flags (geo/flags.h) as GDAL's attribute table. */
#include <climits>
#include <memory>

#include "dataset.h"

extern "C"
{
#include "geo/flags.h"
}

/* Whole numbers as the table's, which have 32 bits, or as reals. */
static bool fits(const struct zs_flags &flags, int64_t zs_flag::*number)
{
    for (size_t i = 0; i < flags.count; i++)
    {
        if (flags.list[i].*number < INT_MIN || flags.list[i].*number > INT_MAX)
            return false;
    }
    return true;
}

static void addNumbers(GDALRasterAttributeTable &table, const char *name, GDALRATFieldUsage usage,
                       const struct zs_flags &flags, int64_t zs_flag::*number)
{
    const bool isInteger = fits(flags, number);
    const int column = table.GetColumnCount();
    table.CreateColumn(name, isInteger ? GFT_Integer : GFT_Real, usage);
    for (size_t i = 0; i < flags.count; i++)
    {
        if (isInteger)
            table.SetValue(static_cast<int>(i), column, static_cast<int>(flags.list[i].*number));
        else
            table.SetValue(static_cast<int>(i), column, static_cast<double>(flags.list[i].*number));
    }
}

static void addNames(GDALRasterAttributeTable &table, const struct zs_flags &flags)
{
    const int column = table.GetColumnCount();
    table.CreateColumn("Class_name", GFT_String, GFU_Name);
    for (size_t i = 0; i < flags.count; i++)
        table.SetValue(static_cast<int>(i), column, flags.list[i].name);
}

static void addColours(GDALRasterAttributeTable &table, const struct zs_flags &flags)
{
    const int red = table.GetColumnCount();
    table.CreateColumn("Red", GFT_Integer, GFU_Red);
    table.CreateColumn("Green", GFT_Integer, GFU_Green);
    table.CreateColumn("Blue", GFT_Integer, GFU_Blue);
    for (size_t i = 0; i < flags.count; i++)
    {
        table.SetValue(static_cast<int>(i), red, flags.list[i].r);
        table.SetValue(static_cast<int>(i), red + 1, flags.list[i].g);
        table.SetValue(static_cast<int>(i), red + 2, flags.list[i].b);
    }
}

GDALRasterAttributeTable *ShardedZarrRasterBand::GetDefaultRAT()
{
    GDALRasterAttributeTable *set = GDALPamRasterBand::GetDefaultRAT(); // in a side-car file
    if (set != nullptr || m_flagsRead)
        return set != nullptr ? set : m_flagTable.get();
    struct zs_error err;
    struct zs_flags flags = {};
    m_flagsRead = true;
    if (Dataset().m_role.isMask)
        return nullptr;
    if (zs_flags_read(View().Array(Source()).node->attributes, &flags, &err) != ZS_OK)
    {
        zsReport(err);
        return nullptr;
    }
    if (flags.count > 0)
    {
        auto table = std::make_unique<GDALDefaultRasterAttributeTable>();
        table->SetTableType(GRTT_THEMATIC);
        table->SetRowCount(static_cast<int>(flags.count));
        addNumbers(*table, "Value", GFU_MinMax, flags, &zs_flag::value);
        if (flags.has_masks)
            addNumbers(*table, "Mask", GFU_Generic, flags, &zs_flag::mask);
        addNames(*table, flags);
        if (flags.has_colours)
            addColours(*table, flags);
        m_flagTable = std::move(table);
        m_hasMaskedFlags = flags.has_masks;
    }
    zs_flags_clear(&flags);
    return m_flagTable.get();
}

bool ShardedZarrRasterBand::IsTableInCategories()
{
    return GetDefaultRAT() == m_flagTable.get() && !m_hasMaskedFlags && GetCategoryNames() != nullptr;
}
