# SPDX-License-Identifier: MIT
# The libraries that this dlock is built with: their versions and their licences. Made of it are
# DLOCK_LIBRARIES, a line each, "NAME VERSION", for `dlock -v --version`; and in the build folder
# libraries.txt, "NAME|PACKAGE|VERSION|SPDX" for the list of parts of a release, and THIRD-PARTY.txt
# with the notices and texts. The version is that of the Debian package, because an advisory names
# it; elsewhere that of pkg-config or CMake.
set(libraries
  "c-ares|libc-ares-dev|${CARES_VERSION}|MIT"
  "CLI11|libcli11-dev|${CLI11_VERSION}|BSD-3-Clause"
  "fmt|libfmt-dev|${fmt_VERSION}|MIT"
  "glibc|libc6-dev||LGPL-2.1-or-later"
  "hiredis|libhiredis-dev|${HIREDIS_VERSION}|BSD-3-Clause"
  "nlohmann-json|nlohmann-json3-dev|${nlohmann_json_VERSION}|MIT"
  "spdlog|libspdlog-dev|${spdlog_VERSION}|MIT"
  "toml11|libtoml11-dev|${toml11_VERSION}|MIT")
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  string(REGEX MATCH "^[0-9]+" major ${CMAKE_CXX_COMPILER_VERSION})
  set(runtime "GPL-3.0-or-later WITH GCC-exception-3.1")
  # The cross-compiler brings its own.
  set(cross "")
  if(CMAKE_CROSSCOMPILING)
    set(cross "-${DLOCK_DEBIAN_ARCH}-cross")
  endif()
  list(APPEND libraries
    "libgcc|libgcc-${major}-dev${cross}|${CMAKE_CXX_COMPILER_VERSION}|${runtime}"
    "libstdc++|libstdc++-${major}-dev${cross}|${CMAKE_CXX_COMPILER_VERSION}|${runtime}")
endif()
if(DLOCK_TLS)
  list(APPEND libraries "OpenSSL|libssl-dev|${OPENSSL_VERSION}|Apache-2.0")
endif()
if(DLOCK_SQLITE)
  list(APPEND libraries "SQLite|libsqlite3-dev|${SQLITE_VERSION}|blessing")
endif()
if(DLOCK_POSTGRES)
  list(APPEND libraries "libpq|libpq-dev|${LIBPQ_VERSION}|PostgreSQL")
endif()
if(DLOCK_MYSQL)
  list(APPEND libraries "libmariadb|libmariadb-dev|${MARIADB_VERSION}|LGPL-2.1-or-later" "zlib|zlib1g-dev||Zlib")
endif()
if(DLOCK_ETCD)
  list(APPEND libraries "http_parser|libhttp-parser-dev||MIT")
endif()
list(SORT libraries CASE INSENSITIVE)

# A root for another architecture has a list of its packages (packaging/arm64.cmake).
set(packages_of_root "")
if(CMAKE_SYSROOT)
  file(READ ${CMAKE_SYSROOT}/packages.txt packages_of_root)
endif()
find_program(DPKG_QUERY dpkg-query NO_CMAKE_FIND_ROOT_PATH)
function(dlock_version_of package found)
  set(version "")
  set(line "\n${package} ")
  string(FIND "\n${packages_of_root}" "${line}" at)
  if(NOT at EQUAL -1)
    string(LENGTH "${line}" length)
    math(EXPR at "${at}+${length}-1")
    string(SUBSTRING "${packages_of_root}" ${at} -1 version)
  elseif(DPKG_QUERY)
    # A line for each architecture of the package.
    execute_process(COMMAND ${DPKG_QUERY} -W -f "\${Version}\n" ${package}
                    OUTPUT_VARIABLE version ERROR_QUIET)
  endif()
  string(REGEX MATCH "^[^\n]+" version "${version}")
  set(${found} "${version}" PARENT_SCOPE)
endfunction()

set(DLOCK_LIBRARIES "")
set(list_of_parts "")
set(texts "The libraries that this dlock is built with, what their authors ask to be told, and their licences.\n")
set(line "\n==============================================================================\n")
set(text_before "")
foreach(library ${libraries})
  string(REPLACE "|" ";" parts "${library}")
  list(GET parts 0 name)
  list(GET parts 1 package)
  list(GET parts 2 version)
  list(GET parts 3 licence)
  dlock_version_of(${package} packaged)
  if(packaged)
    set(version ${packaged})
  elseif(NOT version)
    set(version "(version unknown)")
  endif()
  string(APPEND DLOCK_LIBRARIES "${name} ${version}\\n")
  string(APPEND list_of_parts "${name}|${package}|${version}|${licence}\n")
  string(APPEND texts "${line}${name} ${version}: ${licence}${line}")
  find_file(text copyright NO_CACHE NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH
            PATHS ${CMAKE_SYSROOT}/usr/share/doc/${package} /usr/share/doc/${package})
  if(NOT text)
    string(APPEND texts "This package's text was not there when dlock was built.\n")
  else()
    file(READ ${text} content)
    if(content STREQUAL text_before)
      set(content "The text is that of the library before this one.\n")
    else()
      set(text_before "${content}")
    endif()
    string(APPEND texts "${content}")
  endif()
  unset(text)
endforeach()
# The texts above name it by its place on a Debian system. LGPL-2.1.txt is beside this file.
if(DLOCK_TLS AND EXISTS /usr/share/common-licenses/Apache-2.0)
  file(READ /usr/share/common-licenses/Apache-2.0 content)
  string(APPEND texts "${line}Apache-2.0 (/usr/share/common-licenses/Apache-2.0)${line}${content}")
endif()
file(WRITE ${PROJECT_BINARY_DIR}/libraries.txt "${list_of_parts}")
file(WRITE ${PROJECT_BINARY_DIR}/THIRD-PARTY.txt "${texts}")
