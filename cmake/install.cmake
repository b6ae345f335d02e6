# make install: the program, the library, its headers and its pkg-config file.
configure_file(cmake/assay.pc.in ${CMAKE_BINARY_DIR}/assay.pc @ONLY)

install(TARGETS assay assay_shared)
install(FILES include/assay.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/assay DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${CMAKE_BINARY_DIR}/assay.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
