// SPDX-License-Identifier: MIT
// What ZooKeeper's error numbers mean to dlock. A number that a majority of the servers gives for a
// write is a verdict; every other number is an error. A request that failed changed
// nothing; only after timed_out or unavailable it may have been carried out.
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
  undone,  // another part of the multi() failed, so no part was carried out
  // The codes above are verdicts.
  expired,  // the session has ended; its nodes are gone, or are just being removed
  failed,   // an error; ZkMeaning::errc is its kind
};

struct ZkMeaning {
  ZkCode code = ZkCode::ok;
  Errc errc = Errc::refused;  // for `failed`
  std::string_view text;      // for `failed`; empty: only the number is known
};

ZkMeaning zk_meaning(std::int32_t error);

constexpr bool is_verdict(ZkCode code) {
  return code != ZkCode::expired && code != ZkCode::failed;
}

}  // namespace dlock
