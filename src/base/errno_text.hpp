// SPDX-License-Identifier: MIT
// The one way to print an errno: for the middle of a sentence, where all our errors stand.
#pragma once

#include <string>

namespace dlock {

// "connection refused".
std::string errno_text(int error);

// A library's text without the capital letter of its first word.
std::string in_mid_sentence(std::string text);

}  // namespace dlock
