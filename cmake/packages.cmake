# The libraries that Assay uses, found by pkg-config.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

function(assay_require target module)
  pkg_check_modules(${target} QUIET IMPORTED_TARGET ${module})
  if(NOT ${target}_FOUND)
    message(FATAL_ERROR "pkg-config does not find ${module}. "
      "`scripts/setup.sh build` installs or names the Debian package.")
  endif()
endfunction()

# The name under which programs load a shared library: libhdf5_serial.so.103 on
# Debian 12, .310 on Debian 13.
function(assay_soname out target)
  get_target_property(library PkgConfig::${target} INTERFACE_LINK_LIBRARIES)
  execute_process(COMMAND ${CMAKE_READELF} -d ${library}
    OUTPUT_VARIABLE dynamic ERROR_QUIET)
  if(NOT dynamic MATCHES "soname: \\[([^]]+)\\]")
    message(FATAL_ERROR "${library} is not a shared library.")
  endif()
  set(${out} ${CMAKE_MATCH_1} PARENT_SCOPE)
endfunction()

assay_require(CAIRO cairo)
assay_require(EXPAT expat)
assay_require(HDF5 hdf5)
assay_soname(HDF5_SONAME HDF5)
assay_require(JPEG libjpeg)
assay_require(PNG libpng)
assay_require(PROTOBUF_C libprotobuf-c)
# protoc finds its plug-in for C on its own. protoc-c is the older way, which
# protobuf-c 1.5 warns about.
find_program(PROTOC NAMES protoc protoc-c)
find_program(PROTOC_GEN_C protoc-gen-c)
if(NOT PROTOC OR NOT PROTOC_GEN_C)
  message(FATAL_ERROR "protoc or its plug-in for C is missing. "
    "`scripts/setup.sh build` installs or names the Debian package.")
endif()
assay_require(SQLITE sqlite3)
assay_require(ZLIB zlib)
# There is one file for each of oneDNN 2 and 3 (src/backend/dnnl).
function(assay_dnnl_major out include)
  file(STRINGS ${include}/oneapi/dnnl/dnnl_version.h line
    REGEX "DNNL_VERSION_MAJOR +[0-9]+")
  string(REGEX MATCH "[0-9]+$" major "${line}")
  if(NOT major MATCHES "^[23]$")
    message(FATAL_ERROR "oneDNN ${major} is unknown to Assay; 2.6 to 3.x work.")
  endif()
  set(${out} ${major} PARENT_SCOPE)
endfunction()

# oneDNN and the threads it runs on; neither works with ThreadSanitizer.
if(NOT ASSAY_SANITIZE MATCHES thread)
  find_package(OpenMP QUIET COMPONENTS C)
  find_library(DNNL_LIBRARY dnnl)
  find_path(DNNL_INCLUDE dnnl.h)
  if(OpenMP_C_FOUND AND DNNL_LIBRARY AND DNNL_INCLUDE)
    set(ASSAY_DNNL ON)
    assay_dnnl_major(ASSAY_DNNL_MAJOR ${DNNL_INCLUDE})
    add_library(assay_dnnl INTERFACE)
    target_link_libraries(assay_dnnl INTERFACE ${DNNL_LIBRARY})
    target_include_directories(assay_dnnl SYSTEM INTERFACE ${DNNL_INCLUDE})
  else()
    message(STATUS "Without oneDNN, models run slowly: libdnnl-dev or OpenMP "
      "is missing. `scripts/setup.sh build` installs or names the package.")
  endif()
endif()
assay_require(CURL libcurl)
