# Warnings, feature macros and sanitizers for all of our code.
add_library(assay_flags INTERFACE)
target_compile_options(assay_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes
  -Wmissing-prototypes -Wvla -fno-math-errno -fno-trapping-math
  -include ${PROJECT_SOURCE_DIR}/src/base/banned.h)
# A compiler that we have not tried may warn about more: that stops CI, but not
# someone who wants to use the program.
if(ASSAY_WERROR)
  target_compile_options(assay_flags INTERFACE -Werror)
endif()
# We name integer constants with unnamed enums; clang 19 warns if one meets a
# double.
if(CMAKE_C_COMPILER_ID MATCHES Clang)
  target_compile_options(assay_flags INTERFACE -Wno-enum-float-conversion)
endif()
target_compile_definitions(assay_flags INTERFACE _GNU_SOURCE
  ASSAY_VERSION="${PROJECT_VERSION}")
target_include_directories(assay_flags INTERFACE
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)

# The same results on every machine: no fused multiply-add unless code asks for it.
target_compile_options(assay_flags INTERFACE -ffp-contract=off)

# Kernels run on several threads if the compiler has OpenMP, but not under
# ThreadSanitizer: OpenMP's library is not instrumented.
if(NOT ASSAY_SANITIZE MATCHES thread)
  find_package(OpenMP QUIET COMPONENTS C)
endif()
if(NOT OpenMP_C_FOUND)
  # Variables that only pragmas read are unused then.
  target_compile_options(assay_flags INTERFACE -Wno-unknown-pragmas
    -Wno-unused-parameter -Wno-unused-variable -Wno-unused-but-set-variable)
endif()

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
