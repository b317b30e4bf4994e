// SPDX-License-Identifier: MIT
// What dlock doctor finds out about the servers of a quorum as a whole. Pure.
#pragma once

#include "store/doctor/finding.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace dlock {

// Returns the finding for a server without a connection. `text`: why there is no connection.
Finding judge_silent_member(const std::string& text);

// Returns the findings about the quorum. `servers`: the facts of the servers that could be
// examined; `reached` of `all` servers answered.
std::vector<Finding> judge_quorum(const std::vector<ExaminedServer>& servers,
                                  std::size_t reached,
                                  std::size_t all,
                                  Duration delay);

}  // namespace dlock
