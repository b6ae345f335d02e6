# The libraries Assay stands on; a missing one is named with its Debian package.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

function(assay_require target module package)
  pkg_check_modules(${target} QUIET IMPORTED_TARGET ${module})
  if(NOT ${target}_FOUND)
    message(FATAL_ERROR
      "${module} is missing. On Debian: apt-get install ${package}")
  endif()
endfunction()

assay_require(SQLITE sqlite3 libsqlite3-dev)
assay_require(ZLIB zlib zlib1g-dev)
