// SPDX-License-Identifier: MIT
// What dlock doctor says about the servers of a quorum as a whole. Pure.
#pragma once

#include "store/doctor/finding.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace dlock {

// `text`: why there is no connection to a server.
Finding judge_silent_member(const std::string& text);

// `servers`: the facts of those servers that could be examined; `reached` of `all` answered.
std::vector<Finding> judge_quorum(const std::vector<ExaminedServer>& servers,
                                  std::size_t reached,
                                  std::size_t all,
                                  Duration delay);

}  // namespace dlock
