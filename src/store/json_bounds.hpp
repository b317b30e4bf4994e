// SPDX-License-Identifier: MIT
// Whether a text of JSON may be read: a tree of it takes up to forty times its bytes, and that of
// arrays in each other as much stack as they are deep. Pure.
#pragma once

#include "sys/limits.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace dlock {

// At most so many bytes, k_elements values and k_depth arrays and objects in each other. It need
// not be JSON.
inline bool is_within_bounds(std::string_view json, std::size_t bytes = limits::k_answer_bytes) {
  if (json.size() > bytes) return false;
  std::size_t elements = 0;
  std::size_t depth = 0;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') {
      for (++i; i < json.size() && json[i] != '"'; ++i)
        if (json[i] == '\\') ++i;
    } else if (c == '[' || c == '{') {
      ++elements;
      if (++depth > limits::k_depth) return false;
    } else if (c == ']' || c == '}') {
      depth -= std::min<std::size_t>(depth, 1);
    } else if (c == ',') {
      ++elements;
    }
    if (elements > limits::k_elements) return false;
  }
  return true;
}

}  // namespace dlock
