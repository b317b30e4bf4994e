// SPDX-License-Identifier: MIT
// Texts of errors, in lower case for the middle of a sentence. dlock prints each errno by
// errno_text().
#pragma once

#include <string>

namespace dlock {

// Returns a text like "connection refused".
std::string errno_text(int error);

// Returns the text with its first letter in lower case, unless the text begins with an
// abbreviation.
std::string in_mid_sentence(std::string text);

}  // namespace dlock
