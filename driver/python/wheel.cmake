# What a Python wheel holds: a plugin for each GDAL of SHARDEDZARR_GDALS, and the validator, linked with no GDAL. The
# core includes GDAL's C headers alone, whose functions and structures are the same in all of them: it is compiled once.

if(NOT CMAKE_SYSTEM_NAME STREQUAL Linux)
  message(FATAL_ERROR "The wheel is for Linux with glibc. Elsewhere build the driver with your GDAL's headers")
endif()
set(SHARDEDZARR_GDALS "" CACHE STRING "Folders of GDAL's headers, one for each plugin. Default: this machine's")
if(NOT SHARDEDZARR_GDALS)
  get_target_property(SHARDEDZARR_GDALS GDAL::GDAL INTERFACE_INCLUDE_DIRECTORIES)
endif()
get_target_property(headers GDAL::GDAL INTERFACE_INCLUDE_DIRECTORIES)
target_include_directories(shardedzarr_validate SYSTEM PUBLIC ${headers})

# An empty library in place of libgdal. A program that is linked with a GDAL finds it empty, and the symbols in itself;
# for others shardedzarr/__init__.py puts in its place the path of the libgdal that a module shall use. Hence the long
# name: the path must not be longer. It comes last: what libgdal has of zstd and the like is not for us.
set(any_gdal libgdal-of-this-process)
foreach(i RANGE 10)
  string(APPEND any_gdal -in-place-of-a-path)
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/empty.c CONTENT "")
add_library(any_gdal SHARED ${PROJECT_BINARY_DIR}/empty.c)
set_target_properties(any_gdal PROPERTIES PREFIX "" OUTPUT_NAME ${any_gdal})
install(TARGETS any_gdal DESTINATION shardedzarr/plugins COMPONENT wheel)
get_target_property(libraries shardedzarr_core INTERFACE_LINK_LIBRARIES)
list(REMOVE_ITEM libraries GDAL::GDAL)
set_target_properties(shardedzarr_core PROPERTIES INTERFACE_LINK_LIBRARIES
                      "${libraries};-Wl,--no-as-needed;any_gdal;-Wl,--as-needed")
add_custom_target(wheel)

# A module, as shardedzarr/plugins/FOLDER/FILE.so.
function(add_to_wheel target file folder)
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME ${file} INSTALL_RPATH "$ORIGIN/.."
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/wheel/${folder})
  install(TARGETS ${target} DESTINATION shardedzarr/plugins/${folder} COMPONENT wheel)
  add_dependencies(wheel ${target})
endfunction()

foreach(headers ${SHARDEDZARR_GDALS})
  file(STRINGS ${headers}/gdal_version.h minor REGEX "define GDAL_VERSION_MINOR")
  string(REGEX REPLACE "[^0-9]" "" minor "${minor}")
  set(kinds 3.${minor})
  if(minor EQUAL 8 OR minor EQUAL 9) # wheels for manylinux2014 have std::string as it was before C++11: the last are of 3.9
    list(APPEND kinds 3.${minor}-manylinux2014)
  endif()
  foreach(kind ${kinds})
    add_gdal_objects(objects_${kind})
    target_include_directories(objects_${kind} BEFORE PRIVATE ${headers})
    if(kind MATCHES manylinux2014)
      target_compile_definitions(objects_${kind} PRIVATE _GLIBCXX_USE_CXX11_ABI=0)
    endif()
    add_plugin(plugin_${kind} objects_${kind})
    add_to_wheel(plugin_${kind} gdal_ShardedZarr ${kind})
  endforeach()
endforeach()
add_library(validate_module MODULE driver/validate/main.c)
target_link_libraries(validate_module PRIVATE shardedzarr_validate shardedzarr_flags)
target_compile_definitions(validate_module PRIVATE ZS_VERSION="${PROJECT_VERSION}")
target_compile_options(validate_module PRIVATE -fvisibility=default) # of main()
add_to_wheel(validate_module validate any)
install(FILES LICENSE DESTINATION shardedzarr COMPONENT wheel)
