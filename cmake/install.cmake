# make install: the program with its manual and completion, the libraries,
# their headers and their pkg-config files.
#
# `cmake --install build --prefix X` chooses the prefix only at installation, so
# the pkg-config files derive it from where they are.
file(RELATIVE_PATH ASSAY_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" ASSAY_PC_PREFIX ${ASSAY_PC_PREFIX})
foreach(name assay assay-models)
  configure_file(cmake/${name}.pc.in ${CMAKE_BINARY_DIR}/${name}.pc @ONLY)
endforeach()

install(TARGETS assay assay_shared assay_models_shared)
install(FILES include/assay.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/assay DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${CMAKE_BINARY_DIR}/assay.pc ${CMAKE_BINARY_DIR}/assay-models.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The program writes its own manual and completion.
add_custom_command(
  OUTPUT ${CMAKE_BINARY_DIR}/assay.1 ${CMAKE_BINARY_DIR}/assay.bash
    ${CMAKE_BINARY_DIR}/assay.fish ${CMAKE_BINARY_DIR}/assay.zsh
  COMMAND assay man >${CMAKE_BINARY_DIR}/assay.1
  COMMAND assay completion bash >${CMAKE_BINARY_DIR}/assay.bash
  COMMAND assay completion fish >${CMAKE_BINARY_DIR}/assay.fish
  COMMAND assay completion zsh >${CMAKE_BINARY_DIR}/assay.zsh
  DEPENDS assay
  COMMENT "Writing the manual page and the completion")
add_custom_target(assay_manual ALL
  DEPENDS ${CMAKE_BINARY_DIR}/assay.1 ${CMAKE_BINARY_DIR}/assay.bash)
install(FILES ${CMAKE_BINARY_DIR}/assay.1
  DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${CMAKE_BINARY_DIR}/assay.bash RENAME assay
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${CMAKE_BINARY_DIR}/assay.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES ${CMAKE_BINARY_DIR}/assay.zsh RENAME _assay
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
