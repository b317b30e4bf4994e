// SPDX-License-Identifier: MIT
#include "base/errno_text.hpp"

#include <system_error>
#include <utility>

namespace dlock {

std::string errno_text(int error) {
  return in_mid_sentence(std::generic_category().message(error));
}

std::string in_mid_sentence(std::string text) {
  // Whether the text begins with a word. "RPC struct is bad" begins with an abbreviation, which
  // keeps its capitals.
  const bool word = text.size() > 1 && text[1] >= 'a' && text[1] <= 'z';
  if (word && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

}  // namespace dlock
