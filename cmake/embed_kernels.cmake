# Embeds the CUDA kernels in the program: writes OUTPUT, a C file with the text of
# each of FILES after that of PRELUDE (src/backend/cuda/cuda_internal.h). Each of
# TYPED_FILES becomes three, NAME_f32, NAME_f16 and NAME_bf16, where STORED is the
# type and STORED_NAME(x) is x_f32 and so on.
#
#   cmake "-DFILES=a.cu;b.cu" "-DTYPED_FILES=c.cu" -DPRELUDE=prelude.cuh
#     -DOUTPUT=sources.c -P embed_kernels.cmake
set(lines_of_16 "................................")
file(READ ${PRELUDE} prelude HEX)
set(arrays "")
set(table "")

function(embed name text)
  string(REGEX REPLACE "${lines_of_16}" "\\0\n" hex "${prelude}${text}")
  string(REGEX REPLACE "[0-9a-f][0-9a-f]" "0x\\0," hex "${hex}")
  set(arrays "${arrays}static const char ${name}_text[] = {\n${hex}0};\n"
    PARENT_SCOPE)
  set(table "${table}    {\"${name}\", ${name}_text},\n" PARENT_SCOPE)
endfunction()

foreach(file ${FILES})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} hex HEX)
  embed(${name} "${hex}")
endforeach()
foreach(file ${TYPED_FILES})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} hex HEX)
  foreach(stored "f32 float" "f16 half" "bf16 bfloat")
    string(REPLACE " " ";" stored ${stored})
    list(GET stored 0 suffix)
    list(GET stored 1 type)
    string(HEX "#define STORED ${type}\n#define STORED_NAME(x) x##_${suffix}\n"
      definitions)
    embed(${name}_${suffix} "${definitions}${hex}")
  endforeach()
endforeach()
file(WRITE ${OUTPUT}
  "/* Made by cmake/embed_kernels.cmake. */\n"
  "#include \"backend/cuda/cuda_internal.h\"\n\n${arrays}\n"
  "const struct cuda_source cuda_sources[] = {\n${table}};\n"
  "const size_t cuda_n_sources = sizeof cuda_sources / sizeof *cuda_sources;\n")
