# The libraries Assay stands on, as pkg-config knows them.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

function(assay_require target module)
  pkg_check_modules(${target} QUIET IMPORTED_TARGET ${module})
  if(NOT ${target}_FOUND)
    message(FATAL_ERROR "pkg-config does not find ${module}. "
      "`scripts/setup.sh build` installs or names the Debian package.")
  endif()
endfunction()

assay_require(CAIRO cairo)
assay_require(JPEG libjpeg)
assay_require(PNG libpng)
assay_require(SQLITE sqlite3)
assay_require(ZLIB zlib)
