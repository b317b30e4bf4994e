// SPDX-License-Identifier: MIT
#include "store/zookeeper/zk_error.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace dlock {
namespace {

// The error numbers of ZooKeeper 3.8 (KeeperException.Code).
constexpr std::array<std::pair<std::int32_t, ZkMeaning>, 22> k_meanings{{
    {0, {.code = ZkCode::ok}},
    {-2, {.code = ZkCode::undone}},
    {-101, {.code = ZkCode::no_node}},
    {-103, {.code = ZkCode::bad_version}},
    {-110, {.code = ZkCode::node_exists}},
    {-111, {.code = ZkCode::not_empty}},
    {-112, {.code = ZkCode::expired}},
    {-4, {ZkCode::failed, Errc::unavailable, "it lost its leader"}},
    {-6, {ZkCode::failed, Errc::refused, "it does not know the request; dlock needs 3.5 or later"}},
    {-7, {ZkCode::failed, Errc::timed_out, "it had no answer in time"}},
    {-8, {ZkCode::failed, Errc::refused, "it does not take the path"}},
    {-102, {ZkCode::failed, Errc::denied, "the user has no right to the node (NoAuth)"}},
    {-108, {ZkCode::failed, Errc::refused, "the folder of the lock is an ephemeral node"}},
    {-114, {ZkCode::failed, Errc::denied, "it does not take the user's ACL (InvalidACL)"}},
    {-115, {ZkCode::failed, Errc::denied, "it does not take the user and password (AuthFailed)"}},
    {-118, {ZkCode::failed, Errc::unavailable, "the session went to another server"}},
    {-119, {ZkCode::failed, Errc::unavailable, "it may only be read just now"}},
    {-120, {ZkCode::failed, Errc::refused, "it has local sessions, which keep no locks"}},
    {-122, {ZkCode::failed, Errc::timed_out, "it had no answer in time"}},
    {-124, {ZkCode::failed, Errc::denied, "it wants a login by SASL, which dlock does not have"}},
    {-125, {ZkCode::failed, Errc::refused, "a quota is used up"}},
    {-127, {ZkCode::failed, Errc::unavailable, "it has too much to do"}},
}};

}  // namespace

ZkMeaning zk_meaning(std::int32_t error) {
  const auto* const known = std::find_if(
      k_meanings.begin(), k_meanings.end(), [error](auto& one) { return one.first == error; });
  if (known != k_meanings.end()) return known->second;
  return {.code = ZkCode::failed};
}

}  // namespace dlock
