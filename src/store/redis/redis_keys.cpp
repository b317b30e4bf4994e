// SPDX-License-Identifier: MIT
#include "store/redis/redis_keys.hpp"

#include "store/redis/slot.hpp"

#include <algorithm>
#include <array>

namespace dlock {

bool in_one_slot(const Keys& keys) {
  const std::array others{
      &keys.token, &keys.holds, &keys.revoked, &keys.line, &keys.waiters, &keys.done};
  return std::all_of(others.begin(), others.end(), [&](const std::string* other) {
    return slot_of(*other) == slot_of(keys.lock);
  });
}

bool is_metadata_key(std::string_view key) {
  using namespace redis_name;
  if (key.find('{') == std::string_view::npos) return false;
  for (const Start start : {k_holds,
                            k_revoked,
                            k_line,
                            k_waiters,
                            k_done,
                            k_last,
                            k_released,
                            k_never,
                            k_token,
                            k_latch}) {
    if (key.starts_with(start)) return true;
  }
  const std::size_t lease = key.rfind(k_lease);
  return lease != std::string_view::npos && !key.ends_with(':') &&
         key.find_first_not_of("0123456789", lease + k_lease.size()) == std::string_view::npos;
}

bool is_only_a_tag(std::string_view key) {
  return key.size() >= 2 && key.front() == '{' && key.back() == '}' &&
         key.find('{', 1) == std::string_view::npos;
}

}  // namespace dlock
