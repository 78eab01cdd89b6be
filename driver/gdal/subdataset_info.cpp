#include "driver.h"

#if ZS_GDAL_AT_LEAST(8)
#include "connection.h"

namespace
{
struct Info final : public GDALSubdatasetInfo
{
    Info(const char *name, const ZSConnection &connection) : GDALSubdatasetInfo(name)
    {
        m_driverPrefixComponent = m_fileName.substr(0, m_fileName.find(':'));
        m_pathComponent = connection.storeText;
        m_isQuoted = m_pathComponent[0] == '"';
        m_subdatasetComponent = connection.arrayText;
    }

  private:
    void parseFileName() override
    {
    }
};
} // namespace

GDALSubdatasetInfo *zsSubdatasetInfo(const char *name)
{
    ZSConnection connection;
    std::string reason;
    if (!STARTS_WITH_CI(name, "SHARDEDZARR:") || !zsParseConnection(name, connection, reason) || !connection.has_array)
        return nullptr;
    return new Info(name, connection);
}
#endif
