// SPDX-License-Identifier: MIT
// The lines of a run in the text format, except those of a wait.
#pragma once

#include "core/notice.hpp"

#include <string>

namespace dlock {

// `name` is quoted already. Empty: the text format has no line for this notice.
std::string notice_text(const Notice& notice, const std::string& name);

}  // namespace dlock
