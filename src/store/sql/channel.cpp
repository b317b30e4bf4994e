// SPDX-License-Identifier: MIT
#include "store/sql/channel.hpp"

#include "base/text.hpp"

namespace dlock::sql {

std::string channel_of(const std::string& id) {
  return "dlock_" + hash_of(id);
}

}  // namespace dlock::sql
