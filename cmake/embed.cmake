# Embeds the report's page in the program: writes OUTPUT, a C file with the files
# of the lists STYLE, BODY and SCRIPT, each list joined into one part
# (src/views/html_page_internal.h).
#
#   cmake "-DSTYLE=a.css;b.css" -DBODY=a.html "-DSCRIPT=a.js;b.js"
#     -DOUTPUT=page.c -P embed.cmake
set(lines_of_16 "................................")
set(source "/* Made by cmake/embed.cmake. */\n#include \"views/html_page_internal.h\"\n")
foreach(part STYLE BODY SCRIPT)
  string(TOLOWER ${part} name)
  set(hex "")
  foreach(file ${${part}})
    file(READ ${file} text)
    # These would end the element that contains the part.
    if(text MATCHES "</(style|script)|<!--")
      message(FATAL_ERROR "${file} holds ${CMAKE_MATCH_0}")
    endif()
    file(READ ${file} more HEX)
    string(APPEND hex ${more})
  endforeach()
  string(REGEX REPLACE "${lines_of_16}" "\\0\n" hex ${hex})
  string(REGEX REPLACE "[0-9a-f][0-9a-f]" "0x\\0," hex ${hex})
  string(APPEND source
    "static const unsigned char ${name}[] = {\n${hex}0};\n"
    "const struct html_part html_${name} = {(const char *)${name},\n"
    "                                       sizeof ${name} - 1};\n")
endforeach()
file(WRITE ${OUTPUT} "${source}")
