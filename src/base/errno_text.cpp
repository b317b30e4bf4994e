// SPDX-License-Identifier: MIT
#include "base/errno_text.hpp"

#include <system_error>

namespace dlock {

std::string errno_text(int error) {
  std::string text = std::generic_category().message(error);
  const bool word = text.size() > 1 && text[1] >= 'a' && text[1] <= 'z';  // not "RPC struct is bad"
  if (word && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] + 32);
  return text;
}

}  // namespace dlock
