// SPDX-License-Identifier: MIT
// Who has rights to a node of ZooKeeper, by its ACL. Pure.
#pragma once

#include "store/zookeeper/zk_records.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dlock {

// The entries that give another one than `user` more than to read, as zkCli writes them; empty:
// none. One entry may be of any user of this name: what it gives to others is not given to us, so
// we could write nothing there.
std::string zk_others(const std::vector<ZkRight>& acl, std::string_view user);

}  // namespace dlock
