# Warnings, feature macros and sanitizers for everything that is ours.
add_library(assay_flags INTERFACE)
target_compile_options(assay_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes
  -Wmissing-prototypes -Wvla -Werror -fno-math-errno
  -include ${PROJECT_SOURCE_DIR}/src/base/banned.h)
target_compile_definitions(assay_flags INTERFACE _GNU_SOURCE
  ASSAY_VERSION="${PROJECT_VERSION}")
target_include_directories(assay_flags INTERFACE
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)

if(ASSAY_SANITIZE)
  add_compile_options(-O2 -fsanitize=${ASSAY_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ASSAY_SANITIZE})
endif()
if(ASSAY_FUZZ)
  add_compile_options(-O2 -fsanitize=fuzzer-no-link,address,undefined
    -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
endif()
