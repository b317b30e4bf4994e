// SPDX-License-Identifier: MIT
#include "base/host_name.hpp"

#include <unistd.h>

#include <array>

namespace dlock {

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "?";
}

}  // namespace dlock
