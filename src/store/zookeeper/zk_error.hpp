// SPDX-License-Identifier: MIT
// What ZooKeeper's error numbers mean to dlock. A verdict is a quorum's answer to a write; every
// other number is an error. A failed request did nothing, except after timed_out and unavailable,
// which leave its outcome open.
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
  undone,  // a multi() whose other part failed: nothing of the multi was carried out
  // The codes up to here are verdicts.
  expired,  // the session has ended, and its nodes are gone or go
  failed,   // see ZkMeaning::errc
};

struct ZkMeaning {
  ZkCode code = ZkCode::ok;
  Errc errc = Errc::refused;  // only for `failed`
  std::string_view text;      // only for `failed`; empty: the number says all that is known
};

ZkMeaning zk_meaning(std::int32_t error);

constexpr bool is_verdict(ZkCode code) {
  return code != ZkCode::expired && code != ZkCode::failed;
}

}  // namespace dlock
