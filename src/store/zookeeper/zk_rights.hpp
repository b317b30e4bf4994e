// SPDX-License-Identifier: MIT
// Which users have rights to a node of ZooKeeper, by its ACL. Pure.
#pragma once

#include "store/zookeeper/zk_records.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dlock {

// The entries that give a user other than `user` more than the right to read, as zkCli writes them;
// empty: there are none. One digest entry with this user's name is taken for ours: with another
// password than ours we could write nothing there.
std::string zk_others(const std::vector<ZkRight>& acl, std::string_view user);

}  // namespace dlock
