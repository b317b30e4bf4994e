// SPDX-License-Identifier: MIT
// Converts the names of locks to names of nodes. ZooKeeper refuses some names ("." and "..", names
// with a '/') and some characters: control characters, U+E000 to U+F8FF, and U+FFF0 and above (also
// all characters beyond U+FFFF, because ZooKeeper looks at UTF-16 units). In a node's name these
// characters, '%' and bytes that are not UTF-8 are percent-encoded. Any other name is unchanged, so
// that other programs find its node. Different locks have different nodes.
#pragma once

#include <string>
#include <string_view>

namespace dlock {

// Returns the name of the lock's node. `name` is not empty.
std::string zk_node_of(std::string_view name);

// Returns the name of the lock with this node. In the name of another program's node a '%' may mean
// itself; it is decoded all the same.
std::string zk_name_of(std::string_view node);

// Returns whether ZooKeeper accepts this path: like "/a/b", but not "/", and without a '/' at its
// end.
bool is_zk_path(std::string_view path);

}  // namespace dlock
