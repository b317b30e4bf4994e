// SPDX-License-Identifier: MIT
// Abilities of the terminal and the locale.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dlock {

// Returns whether stderr is a terminal that understands escape sequences: TERM is set, and not
// "dumb".
bool understands_escapes();

// Returns whether the locale uses UTF-8, by the first of LC_ALL, LC_CTYPE and LANG that is set.
bool locale_has_utf8();

// Breaks each line at spaces into rows of at most `columns`; all rows but the first are indented
// four columns more than the line. A word that is too long is not broken.
std::string wrapped(std::string_view lines, std::size_t columns);

}  // namespace dlock
