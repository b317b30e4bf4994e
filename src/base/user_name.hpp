// SPDX-License-Identifier: MIT
// The name of our effective user, for people: in the records of holders and in revocations.
#pragma once

#include <string>

namespace dlock {

// From /etc/passwd alone; the number where the name is not in it.
std::string user_name();

}  // namespace dlock
