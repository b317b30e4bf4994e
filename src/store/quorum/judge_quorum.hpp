// SPDX-License-Identifier: MIT
// What dlock doctor says of the servers of a quorum together. Pure.
#pragma once

#include "store/finding.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace dlock {

// `text`: why there is no connection to one of them.
Finding judge_silent_member(const std::string& text);

// `servers`: what was seen of those `reached` of `all` that could be examined.
std::vector<Finding> judge_quorum(const std::vector<ExaminedServer>& servers,
                                  std::size_t reached,
                                  std::size_t all,
                                  Duration delay);

}  // namespace dlock
