# SPDX-License-Identifier: MIT
# embed_lua(target file...): each scripts/x.lua becomes dlock::lua::k_x{sha1, text} in
# scripts.gen.hpp. A line "-- include: parts/y.lua" is replaced by that file first, which is found from
# the folder of the script; the SHA1 is that of the text as it is sent.

function(_embed_lua_read result file)
  get_filename_component(folder "${file}" DIRECTORY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  file(READ "${file}" text)
  set(depth 0)
  while("\n${text}" MATCHES "\n(-- include: ([^\n]+)\n)")
    set(line "${CMAKE_MATCH_1}")
    set(included "${folder}/${CMAKE_MATCH_2}")
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
    _embed_lua_read(text "${path}")
    string(SHA1 sha1 "${text}")
    string(APPEND entries "inline constexpr Script k_${name}{\"${sha1}\", R\"lua(${text})lua\"};\n")
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
