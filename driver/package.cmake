# What `cmake --install` copies, and the Debian package that `cpack -G DEB` makes of it in the build directory.
# Component plugin: the plugin, the program, their documents; the package has these alone. Component development: the C API of the core.

include(GNUInstallDirs)
set(package gdal-plugin-shardedzarr)
set(docs ${CMAKE_INSTALL_DATADIR}/doc/${package})

install(TARGETS gdal_ShardedZarr LIBRARY DESTINATION ${SHARDEDZARR_PLUGIN_DIR} COMPONENT plugin)
install(TARGETS shardedzarr-validate COMPONENT plugin)
install(FILES README.md DESTINATION ${docs} COMPONENT plugin)
install(DIRECTORY driver/doc DESTINATION ${docs}/driver COMPONENT plugin FILES_MATCHING PATTERN "*.md" PATTERN "*.png") # links lead there
install(FILES LICENSE DESTINATION ${docs} RENAME copyright COMPONENT plugin) # as Debian calls it

# SOURCE's text, as NAME.gz (Debian's habit for changelogs and manual pages) into DESTINATION.
function(install_gzipped source name destination)
  set(packed ${PROJECT_BINARY_DIR}/package/${name}.gz)
  execute_process(COMMAND gzip -9nc ${source} OUTPUT_FILE ${packed} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} COMMAND_ERROR_IS_FATAL ANY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  install(FILES ${packed} DESTINATION ${destination} COMPONENT plugin)
endfunction()
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/package)
install_gzipped(driver/CHANGELOG.md changelog ${docs})
install_gzipped(driver/validate/shardedzarr-validate.1 shardedzarr-validate.1 ${CMAKE_INSTALL_MANDIR}/man1)

# The library is a static one: its calls may still change from version to version. Whoever links it links what it uses too.

install(TARGETS shardedzarr_core ARCHIVE COMPONENT development)
install(FILES include/shardedzarr.h TYPE INCLUDE COMPONENT development)
set(requires gdal libdeflate libcjson)
set(libraries)
if(TARGET PkgConfig::ZSTD)
  list(APPEND requires libzstd)
endif()
if(SHARDEDZARR_BLOSC AND BLOSC_LIBRARY AND BLOSC_INCLUDE_DIR)
  string(APPEND libraries " -lblosc")
endif()
if(SHARDEDZARR_BZ2 AND BZIP2_FOUND)
  string(APPEND libraries " -lbz2")
endif()
if(SHARDEDZARR_ZFP AND ZFP_LIBRARY AND ZFP_INCLUDE_DIR)
  string(APPEND libraries " -lzfp")
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

# The Debian package. dpkg-shlibdeps, of dpkg-dev, finds what it depends on: a libgdal of this minor version, which a plugin belongs to.

find_program(DPKG_SHLIBDEPS dpkg-shlibdeps)
if(NOT DPKG_SHLIBDEPS)
  return()
endif()
set(revision 1)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # SOURCE_DATE_EPOCH, where it is set
set(maintainer "ShardedZarr contributors <shardedzarr@example.org>")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/package/changelog.Debian CONTENT
"@package@ (@PROJECT_VERSION@-@revision@) unstable; urgency=medium

  * Made by cpack of version @PROJECT_VERSION@. What is new in it: changelog.gz.

 -- @maintainer@  @date@
" @ONLY)
install_gzipped(${PROJECT_BINARY_DIR}/package/changelog.Debian changelog.Debian ${docs})

set(CPACK_PACKAGE_NAME ${package})
set(CPACK_PACKAGE_CONTACT ${maintainer})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "GDAL driver for sharded Zarr v3 rasters")
set(CPACK_PACKAGE_DESCRIPTION "Zarr v3 stores whose chunks are kept many to a file are read and written by\n\
everything that uses GDAL: its programs, QGIS, Python. They may lie on disk,\n\
behind HTTP or in object stores, with georeferencing and overviews.\n\
.\n\
The program shardedzarr-validate checks such stores.")
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};${PROJECT_NAME};plugin;/")
set(CPACK_SET_DESTDIR ON) # the plugin's place is absolute
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${revision})
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_ENHANCES "gdal-bin, python3-gdal, qgis")
include(CPack)
