// SPDX-License-Identifier: MIT
#include "cmd/did_you_mean.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace dlock {

namespace {

constexpr std::size_t k_longest = 40;

std::string normal(std::string_view word) {
  std::string out;
  for (const char c : word)
    out += c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// Returns how many letters of `from` must be added, removed, replaced or swapped with their
// neighbour to get `to`.
std::size_t distance(const std::string& from, const std::string& to) {
  std::vector<std::size_t> older(to.size() + 1);
  std::vector<std::size_t> old(to.size() + 1);
  std::iota(old.begin(), old.end(), 0U);
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::vector<std::size_t> row{i};
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = old[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row.push_back(std::min({replaced, old[j] + 1, row[j - 1] + 1}));
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
        row[j] = std::min(row[j], older[j - 2] + 1);
    }
    older = std::move(old);
    old = std::move(row);
  }
  return old.back();
}

}  // namespace

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& known) {
  if (word.size() > k_longest) return "";
  const std::string wanted = normal(word);
  std::string_view best;
  std::size_t least = wanted.size() < 5 ? 2 : 3;  // a short word is similar to too many others
  for (const std::string_view one : known) {
    const std::size_t apart = distance(wanted, normal(one));
    if (apart >= least) continue;
    least = apart;
    best = one;
  }
  return best.empty() ? "" : "; did you mean " + std::string(best) + "?";
}

}  // namespace dlock
