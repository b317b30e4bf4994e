// SPDX-License-Identifier: MIT
// The abilities of the terminal and the locale.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dlock {

// Stderr is a terminal that understands escape sequences: TERM is set, and not to "dumb".
bool understands_escapes();

// LC_ALL, LC_CTYPE or LANG, the first that is set, names UTF-8.
bool locale_has_utf8();

// Breaks each line into rows of at most `columns`, at its spaces; the rows after the first are
// indented by four more than the line. A longer word stays whole.
std::string wrapped(std::string_view lines, std::size_t columns);

}  // namespace dlock
