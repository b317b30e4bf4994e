// SPDX-License-Identifier: MIT
#include "base/file_stem.hpp"

#include "base/assert.hpp"
#include "base/text.hpp"

#include <cstddef>

namespace dlock {

namespace {

// With a beginning such as "dlock_" and an ending such as ".json" a name of this length is below
// NAME_MAX, 255.
constexpr std::size_t k_longest_stem = 200;
constexpr std::size_t k_kept_of_long = 160;
constexpr char k_cut_mark = '~';  // does not occur in an encoded name

}  // namespace

std::string file_stem(std::string_view name, std::string_view keep) {
  DLOCK_ASSERT(keep.find(k_cut_mark) == std::string_view::npos);
  std::string stem = percent_encode(name, keep);
  if (stem.size() <= k_longest_stem) return stem;
  // Two names may have one hash: a reader of the file must compare the name that the file contains.
  return stem.substr(0, k_kept_of_long) + k_cut_mark + hash_of(name);
}

std::optional<std::string> name_from_stem(std::string_view stem) {
  if (stem.find(k_cut_mark) != std::string_view::npos) return std::nullopt;
  return percent_decode(stem);
}

}  // namespace dlock
