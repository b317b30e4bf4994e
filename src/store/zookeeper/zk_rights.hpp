// SPDX-License-Identifier: MIT
// Says which users have rights to a node of ZooKeeper, by its ACL. Pure.
#pragma once

#include "store/zookeeper/zk_records.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dlock {

// Returns the ACL's entries that give users other than `user` more than the right to read, as zkCli
// writes them; empty: no such entry. A digest entry with the name `user` counts as ours whatever
// its password: with another password we could write nothing there anyway.
std::string zk_others(const std::vector<ZkRight>& acl, std::string_view user);

}  // namespace dlock
