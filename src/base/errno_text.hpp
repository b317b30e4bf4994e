// SPDX-License-Identifier: MIT
// The one way to print an errno, for the middle of a sentence.
#pragma once

#include <string>

namespace dlock {

// "connection refused": the system's text, without its capital letter.
std::string errno_text(int error);

}  // namespace dlock
