// SPDX-License-Identifier: MIT
// What ZooKeeper's error numbers mean for us. A verdict is a quorum's answer to a write; each other
// number is an error. The request did nothing, except after timed_out and unavailable, which leave
// its outcome open.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string_view>

namespace dlock {

enum class ZkCode {
  ok,
  no_node,
  node_exists,
  bad_version,
  not_empty,
  undone,  // a part of a multi() in which another part failed: nothing of it was carried out
  // Up to here they are verdicts.
  expired,  // the session has ended, and its nodes are gone or go
  failed,   // see ZkMeaning::errc
};

struct ZkMeaning {
  ZkCode code = ZkCode::ok;
  Errc errc = Errc::refused;  // of `failed`
  std::string_view text;      // of `failed`; empty: the number says all that is known
};

ZkMeaning zk_meaning(std::int32_t error);

constexpr bool is_verdict(ZkCode code) {
  return code != ZkCode::expired && code != ZkCode::failed;
}

}  // namespace dlock
