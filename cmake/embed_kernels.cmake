# Embeds the CUDA kernels in the program: writes OUTPUT, a C file with the text of
# each of FILES after that of PRELUDE (src/backend/cuda/cuda_internal.h).
#
#   cmake "-DFILES=a.cu;b.cu" -DPRELUDE=prelude.cuh -DOUTPUT=sources.c
#     -P embed_kernels.cmake
set(lines_of_16 "................................")
file(READ ${PRELUDE} prelude HEX)
set(arrays "")
set(table "")
foreach(file ${FILES})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "${lines_of_16}" "\\0\n" hex "${prelude}${hex}")
  string(REGEX REPLACE "[0-9a-f][0-9a-f]" "0x\\0," hex "${hex}")
  string(APPEND arrays "static const char ${name}_text[] = {\n${hex}0};\n")
  string(APPEND table "    {\"${name}\", ${name}_text},\n")
endforeach()
file(WRITE ${OUTPUT}
  "/* Made by cmake/embed_kernels.cmake. */\n"
  "#include \"backend/cuda/cuda_internal.h\"\n\n${arrays}\n"
  "const struct cuda_source cuda_sources[] = {\n${table}};\n"
  "const size_t cuda_n_sources = sizeof cuda_sources / sizeof *cuda_sources;\n")
