# SPDX-License-Identifier: MIT
# What is installed, and where. tests/packaging.bats installs it and looks.

# Folders of an installation are not writable for a group, whatever the umask.
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS ${CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS})

install(TARGETS dlock RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

install(FILES ${PROJECT_SOURCE_DIR}/man/dlock.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${PROJECT_SOURCE_DIR}/man/dlock.toml.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
install(FILES ${PROJECT_SOURCE_DIR}/man/dlock-protocol.7 ${PROJECT_SOURCE_DIR}/man/dlock-faults.7
              ${PROJECT_SOURCE_DIR}/man/dlock-stores.7 ${PROJECT_SOURCE_DIR}/man/dlock-guarantees.7
              ${PROJECT_SOURCE_DIR}/man/dlock-json.7 ${PROJECT_SOURCE_DIR}/man/dlock-doctor.7
        DESTINATION ${CMAKE_INSTALL_MANDIR}/man7)

install(FILES ${PROJECT_SOURCE_DIR}/completions/dlock.bash
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME dlock)
install(FILES ${PROJECT_SOURCE_DIR}/completions/_dlock
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${PROJECT_SOURCE_DIR}/completions/dlock.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
              ${PROJECT_SOURCE_DIR}/LICENSE
              ${CMAKE_CURRENT_LIST_DIR}/NOTICE ${CMAKE_CURRENT_LIST_DIR}/LGPL-2.1.txt
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${CMAKE_CURRENT_LIST_DIR}/schemas DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${CMAKE_CURRENT_LIST_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
        PATTERN "*.sh" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                                   WORLD_READ WORLD_EXECUTE)
