// SPDX-License-Identifier: MIT
// The name of our effective user, for display: in the records of holders and in revocations.
#pragma once

#include <string>

namespace dlock {

// From /etc/passwd alone; the number if the file does not have the user.
std::string user_name();

}  // namespace dlock
