// SPDX-License-Identifier: MIT
// Names of locks as names of nodes. ZooKeeper refuses some names ("." and "..", what has a '/') and
// some characters: controls, U+E000 to U+F8FF, U+FFF0 and above (as it counts in UTF-16, all beyond
// U+FFFF). Their bytes, those of '%' and what is no UTF-8 are percent-encoded; every other name is
// its node's name, so that other programs find it. Different names have different nodes.
#pragma once

#include <string>
#include <string_view>

namespace dlock {

// `name` is not empty.
std::string zk_node_of(std::string_view name);

// The name behind a node's name. Of another program's node, which may have a '%' of its own, it is
// what a reader would take it for.
std::string zk_name_of(std::string_view node);

// A path that ZooKeeper takes: "/a/b", neither "/" nor with a '/' at its end.
bool is_zk_path(std::string_view path);

}  // namespace dlock
