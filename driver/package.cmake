# What `cmake --install` copies, and the Debian packages that `cpack -G DEB` makes of it in the build directory: one of each component.
# Component plugin: the plugin, the programs, their documents. Component development: the C API of the core.

include(GNUInstallDirs)
set(package gdal-plugin-shardedzarr)
set(development libshardedzarr-dev)
set(docs ${CMAKE_INSTALL_DATADIR}/doc/${package})
set(development_docs ${CMAKE_INSTALL_DATADIR}/doc/${development})

install(TARGETS gdal_ShardedZarr LIBRARY DESTINATION ${SHARDEDZARR_PLUGIN_DIR} COMPONENT plugin)
install(TARGETS shardedzarr-validate COMPONENT plugin)
install(PROGRAMS data/mosaic.py TYPE BIN RENAME shardedzarr-mosaic COMPONENT plugin)
install(FILES README.md DESTINATION ${docs} COMPONENT plugin)
install(DIRECTORY driver/doc DESTINATION ${docs}/driver COMPONENT plugin FILES_MATCHING PATTERN "*.md" PATTERN "*.png") # links lead there
install(FILES LICENSE DESTINATION ${docs} RENAME copyright COMPONENT plugin) # as Debian calls it
install(FILES LICENSE DESTINATION ${development_docs} RENAME copyright COMPONENT development)

# SOURCE's text, as NAME.gz (Debian's habit for changelogs and manual pages) into DESTINATION, for a component.
function(install_gzipped source name destination component)
  set(packed ${PROJECT_BINARY_DIR}/package/${name}.gz)
  execute_process(COMMAND gzip -9nc ${source} OUTPUT_FILE ${packed} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} COMMAND_ERROR_IS_FATAL ANY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  install(FILES ${packed} DESTINATION ${destination} COMPONENT ${component})
endfunction()
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/package)
install_gzipped(driver/CHANGELOG.md changelog ${docs} plugin)
install_gzipped(driver/validate/shardedzarr-validate.1 shardedzarr-validate.1 ${CMAKE_INSTALL_MANDIR}/man1 plugin)
install_gzipped(driver/doc/shardedzarr-mosaic.1 shardedzarr-mosaic.1 ${CMAKE_INSTALL_MANDIR}/man1 plugin)

# The library is a static one: its calls may still change from version to version. Whoever links it links what it uses too.

install(TARGETS shardedzarr_core ARCHIVE COMPONENT development)
install(FILES include/shardedzarr.h TYPE INCLUDE COMPONENT development)
set(requires gdal zlib libdeflate libcjson)
set(libraries)
set(development_depends libgdal-dev zlib1g-dev libdeflate-dev libcjson-dev)
if(TARGET PkgConfig::ZSTD)
  list(APPEND requires libzstd)
  list(APPEND development_depends libzstd-dev)
endif()
if(SHARDEDZARR_BLOSC AND BLOSC_LIBRARY AND BLOSC_INCLUDE_DIR)
  string(APPEND libraries " -lblosc")
  list(APPEND development_depends libblosc-dev)
endif()
if(SHARDEDZARR_BZ2 AND BZIP2_FOUND)
  string(APPEND libraries " -lbz2")
  list(APPEND development_depends libbz2-dev)
endif()
if(SHARDEDZARR_ZFP AND ZFP_LIBRARY AND ZFP_INCLUDE_DIR)
  string(APPEND libraries " -lzfp")
  list(APPEND development_depends libzfp-dev)
endif()
list(JOIN requires " " requires)
file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /) # so that the file holds wherever it is installed
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/package/shardedzarr.pc CONTENT "prefix=\${pcfiledir}/@up@
Name: ShardedZarr
Description: Reading and writing sharded Zarr v3 arrays, the core of GDAL's driver
Version: @PROJECT_VERSION@
Requires: @requires@
Cflags: -I\${prefix}/@CMAKE_INSTALL_INCLUDEDIR@
Libs: -L\${prefix}/@CMAKE_INSTALL_LIBDIR@ -lshardedzarr@libraries@ -pthread -lm
" @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/shardedzarr.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# The Debian packages. dpkg-shlibdeps, of dpkg-dev, finds what the plugin depends on: a libgdal of this minor version, which it belongs to.

find_program(DPKG_SHLIBDEPS dpkg-shlibdeps)
if(NOT DPKG_SHLIBDEPS)
  message(STATUS "No dpkg-shlibdeps: cpack makes Debian packages once dpkg-dev is installed and cmake has run again")
  return()
endif()
set(revision 1)
set(SHARDEDZARR_HOMEPAGE "" CACHE STRING "Address of the project's page, for the Homepage of the packages")
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # SOURCE_DATE_EPOCH, where it is set

# Who makes a package is its maintainer, and says his name as for all of Debian's tools (dch), by DEBFULLNAME and DEBEMAIL; else as they guess it.
set(maintainer $ENV{DEBFULLNAME})
set(email $ENV{DEBEMAIL})
if(NOT maintainer)
  execute_process(COMMAND id -un OUTPUT_VARIABLE maintainer OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
if(NOT email)
  cmake_host_system_information(RESULT host QUERY FQDN)
  set(email ${maintainer}@${host})
endif()
set(maintainer "${maintainer} <${email}>")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/package/changelog.Debian CONTENT
"@package@ (@PROJECT_VERSION@-@revision@) unstable; urgency=medium

  * Made by cpack of version @PROJECT_VERSION@. What is new in it: changelog.gz.

 -- @maintainer@  @date@
" @ONLY)
install_gzipped(${PROJECT_BINARY_DIR}/package/changelog.Debian changelog.Debian ${docs} plugin)
install_gzipped(${PROJECT_BINARY_DIR}/package/changelog.Debian changelog.Debian ${development_docs} development)

set(CPACK_PACKAGE_NAME ${package})
set(CPACK_PACKAGE_CONTACT ${maintainer})
set(CPACK_DEBIAN_PLUGIN_DESCRIPTION "GDAL driver for sharded Zarr v3 rasters\n\
Zarr v3 stores whose chunks are kept many to a file are read and written by\n\
everything that uses GDAL: its programs, QGIS, Python. They may lie on disk,\n\
behind HTTP or in object stores, with georeferencing and overviews.\n\
.\n\
The program shardedzarr-validate checks such stores, and shardedzarr-mosaic\n\
makes one of many rasters, by many workers.")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "sharded Zarr v3 arrays from C (development files)\n\
The header shardedzarr.h and a static library, which read and write windows of\n\
sharded Zarr v3 arrays from C: the core of GDAL's driver for them.")
set(CPACK_COMPONENTS_ALL plugin development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_SET_DESTDIR ON) # the plugin's place is absolute
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${revision})
set(CPACK_DEBIAN_PACKAGE_HOMEPAGE ${SHARDEDZARR_HOMEPAGE})
set(CPACK_DEBIAN_PLUGIN_PACKAGE_NAME ${package})
set(CPACK_DEBIAN_PLUGIN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PLUGIN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PLUGIN_PACKAGE_DEPENDS python3:any) # of shardedzarr-mosaic, which says what else it needs
set(CPACK_DEBIAN_PLUGIN_PACKAGE_SUGGESTS "python3-gdal, python3-distributed")
set(CPACK_DEBIAN_PLUGIN_PACKAGE_ENHANCES "gdal-bin, python3-gdal, qgis")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME ${development})
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
list(JOIN development_depends ", " CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS)
include(CPack)
