// SPDX-License-Identifier: MIT
// The name of our effective user, only for display: in the records of holders and in revocations.
#pragma once

#include <string>

namespace dlock {

// Returns the name from /etc/passwd; the number if the user is not in it.
std::string user_name();

}  // namespace dlock
