# SPDX-License-Identifier: MIT
# DLOCK_LIBRARIES: a line for each library that this dlock is built with, "NAME VERSION". The version
# is that of the Debian package, because an advisory names it; elsewhere that of pkg-config or CMake.
set(libraries
  "c-ares|libc-ares-dev|${CARES_VERSION}"
  "CLI11|libcli11-dev|${CLI11_VERSION}"
  "fmt|libfmt-dev|${fmt_VERSION}"
  "glibc|libc6-dev|"
  "hiredis|libhiredis-dev|${HIREDIS_VERSION}"
  "nlohmann-json|nlohmann-json3-dev|${nlohmann_json_VERSION}"
  "spdlog|libspdlog-dev|${spdlog_VERSION}"
  "toml11|libtoml11-dev|${toml11_VERSION}")
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  string(REGEX MATCH "^[0-9]+" major ${CMAKE_CXX_COMPILER_VERSION})
  list(APPEND libraries "libgcc|libgcc-${major}-dev|${CMAKE_CXX_COMPILER_VERSION}"
    "libstdc++|libstdc++-${major}-dev|${CMAKE_CXX_COMPILER_VERSION}")
endif()
if(DLOCK_TLS)
  list(APPEND libraries "OpenSSL|libssl-dev|${OPENSSL_VERSION}")
endif()
if(DLOCK_SQLITE)
  list(APPEND libraries "SQLite|libsqlite3-dev|${SQLITE_VERSION}")
endif()
if(DLOCK_POSTGRES)
  list(APPEND libraries "libpq|libpq-dev|${LIBPQ_VERSION}")
endif()
if(DLOCK_MYSQL)
  list(APPEND libraries "libmariadb|libmariadb-dev|${MARIADB_VERSION}" "zlib|zlib1g-dev|")
endif()
if(DLOCK_ETCD)
  list(APPEND libraries "http_parser|libhttp-parser-dev|")
endif()
list(SORT libraries CASE INSENSITIVE)

find_program(DPKG_QUERY dpkg-query)
set(DLOCK_LIBRARIES "")
foreach(library ${libraries})
  string(REPLACE "|" ";" parts "${library};")
  list(GET parts 0 name)
  list(GET parts 1 package)
  list(GET parts 2 version)
  set(packaged "")
  if(DPKG_QUERY)
    # A line for each architecture of the package.
    execute_process(COMMAND ${DPKG_QUERY} -W -f "\${Version}\n" ${package}
                    OUTPUT_VARIABLE packaged ERROR_QUIET)
    string(REGEX MATCH "^[^\n]+" packaged "${packaged}")
  endif()
  if(packaged)
    set(version ${packaged})
  elseif(NOT version)
    set(version "(version unknown)")
  endif()
  string(APPEND DLOCK_LIBRARIES "${name} ${version}\\n")
endforeach()
