# SPDX-License-Identifier: MIT
# embed_lua(target file...): makes dlock::lua::k_x in scripts.gen.hpp from each scripts/x.lua. A
# line "-- include: parts/y.lua" is replaced by that file, which is looked up in the folder of the
# script. A script has its text as it is sent and the SHA1 of that text, twice: for a single server,
# and for a cluster, with parts/cluster.lua in place of parts/server.lua.

function(_embed_lua_read result file server_part)
  get_filename_component(folder "${file}" DIRECTORY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  file(READ "${file}" text)
  set(depth 0)
  while("\n${text}" MATCHES "\n(-- include: ([^\n]+)\n)")
    set(line "${CMAKE_MATCH_1}")
    string(REPLACE "parts/server.lua" "${server_part}" included "${folder}/${CMAKE_MATCH_2}")
    math(EXPR depth "${depth} + 1")
    if(depth GREATER 40)
      message(FATAL_ERROR "${file}: includes without end")
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${included}")
    file(READ "${included}" inner)
    string(REPLACE "${line}" "${inner}" text "${text}")
  endwhile()
  if(text MATCHES "\\)lua\"")
    message(FATAL_ERROR "${file}: )lua\" would end the C++ literal")
  endif()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

function(embed_lua target)
  set(entries "")
  foreach(file IN LISTS ARGN)
    get_filename_component(name "${file}" NAME_WE)
    get_filename_component(path "${file}" ABSOLUTE)
    foreach(place IN ITEMS server cluster)
      _embed_lua_read(text_${place} "${path}" "parts/${place}.lua")
      string(SHA1 sha1_${place} "${text_${place}}")
    endforeach()
    string(APPEND entries "inline constexpr Script k_${name}{{\"${sha1_server}\", R\"lua(${text_server})lua\"},\n"
      "{\"${sha1_cluster}\", R\"lua(${text_cluster})lua\"}};\n")
  endforeach()
  file(CONFIGURE OUTPUT scripts.gen.hpp CONTENT [[
#pragma once
#include "store/redis/redis_client.hpp"
namespace dlock::lua {
@entries@
}  // namespace dlock::lua
]] @ONLY)
  target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_BINARY_DIR}")
endfunction()
