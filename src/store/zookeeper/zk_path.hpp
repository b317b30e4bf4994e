// SPDX-License-Identifier: MIT
// Names of locks as names of nodes. ZooKeeper refuses some names ("." and "..", names with a '/')
// and some characters: controls, U+E000 to U+F8FF, U+FFF0 and above (as it counts in UTF-16, all
// beyond U+FFFF). The bytes of these, '%' and bytes that are not UTF-8 are percent-encoded; every
// other name is its node's name, so other programs find it. Different names have different nodes.
#pragma once

#include <string>
#include <string_view>

namespace dlock {

// `name` is not empty.
std::string zk_node_of(std::string_view name);

// The name of the lock whose node is `node`. Another program's node may contain a raw '%': it is
// decoded all the same.
std::string zk_name_of(std::string_view node);

// Whether ZooKeeper takes this path: "/a/b", neither "/" nor with a '/' at its end.
bool is_zk_path(std::string_view path);

}  // namespace dlock
