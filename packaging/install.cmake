# SPDX-License-Identifier: MIT
# What is installed, and where. tests/packaging.bats installs it and looks.

# Folders of an installation are not writable for a group, whatever the umask.
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

install(TARGETS dlock RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# A page's name ends with its section. -n: no time of a file is in the bytes.
file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/man/*.[1-9])
foreach(page ${pages})
  cmake_path(GET page FILENAME name)
  string(REGEX MATCH "[1-9]$" section ${name})
  set(zipped ${PROJECT_BINARY_DIR}/man/${name}.gz)
  add_custom_command(OUTPUT ${zipped} DEPENDS ${page} VERBATIM
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/man
    COMMAND gzip -9nc ${page} > ${zipped})
  list(APPEND zipped_pages ${zipped})
  install(FILES ${zipped} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
add_custom_target(pages ALL DEPENDS ${zipped_pages})

install(FILES ${PROJECT_SOURCE_DIR}/completions/dlock.bash
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME dlock)
# The .deb has it in vendor-completions (packaging/release): Debian's zsh looks there, and below
# /usr/local only into this folder.
install(FILES ${PROJECT_SOURCE_DIR}/completions/_dlock
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${PROJECT_SOURCE_DIR}/completions/dlock.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
              ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_BINARY_DIR}/THIRD-PARTY.txt
              ${CMAKE_CURRENT_LIST_DIR}/copyright ${CMAKE_CURRENT_LIST_DIR}/NOTICE
              ${CMAKE_CURRENT_LIST_DIR}/LGPL-2.1.txt
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${CMAKE_CURRENT_LIST_DIR}/schemas DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${CMAKE_CURRENT_LIST_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
        PATTERN "*.sh" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                                   WORLD_READ WORLD_EXECUTE)
