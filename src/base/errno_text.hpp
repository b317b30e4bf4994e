// SPDX-License-Identifier: MIT
// Returns texts of errors for the middle of a sentence. Every errno is printed by errno_text().
#pragma once

#include <string>

namespace dlock {

// Returns a text like "connection refused".
std::string errno_text(int error);

// Returns a library's text with its first letter in lower case, if that begins a word.
std::string in_mid_sentence(std::string text);

}  // namespace dlock
