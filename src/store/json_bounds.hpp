// SPDX-License-Identifier: MIT
// Checks whether a JSON text is small and flat enough to be parsed. The parsed tree takes up to
// forty times the size of the text, and each level of nested arrays takes stack. Pure.
#pragma once

#include "sys/limits.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace dlock {

// Returns whether the text has at most `bytes` bytes, limits::k_elements values and limits::k_depth
// levels of nesting. The text need not be JSON.
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
