# Warnings, feature macros and sanitizers for everything that is ours.
add_library(assay_flags INTERFACE)
target_compile_options(assay_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes
  -Wmissing-prototypes -Wvla -fno-math-errno
  -include ${PROJECT_SOURCE_DIR}/src/base/banned.h)
# A compiler that nobody here has tried may warn of more: that stops CI, and not
# someone who wants to use the program.
if(ASSAY_WERROR)
  target_compile_options(assay_flags INTERFACE -Werror)
endif()
# An unnamed enum is how an integer constant gets its name here; clang 19 warns
# where one meets a double.
if(CMAKE_C_COMPILER_ID MATCHES Clang)
  target_compile_options(assay_flags INTERFACE -Wno-enum-float-conversion)
endif()
target_compile_definitions(assay_flags INTERFACE _GNU_SOURCE
  ASSAY_VERSION="${PROJECT_VERSION}")
target_include_directories(assay_flags INTERFACE
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)

# Results are the same on every machine: no multiply-add unless it is asked for.
target_compile_options(assay_flags INTERFACE -ffp-contract=off)

# Kernels run on several threads where the compiler has OpenMP. Not under
# ThreadSanitizer: the library behind it is not instrumented.
if(NOT ASSAY_SANITIZE MATCHES thread)
  find_package(OpenMP QUIET COMPONENTS C)
endif()
if(NOT OpenMP_C_FOUND)
  # What only a pragma reads is unused then.
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
