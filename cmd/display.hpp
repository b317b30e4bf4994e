// SPDX-License-Identifier: MIT
// What a terminal and the locale can show.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dlock {

// Stderr is a terminal that understands escape sequences: TERM is set, and not to "dumb".
bool understands_escapes();

// LC_ALL, LC_CTYPE or LANG, the first that is set, names UTF-8.
bool locale_has_utf8();

// Each line in rows of at most `columns`, broken at its spaces; what follows a break is indented by
// four more than the line. A word that is longer stays whole.
std::string wrapped(std::string_view lines, std::size_t columns);

}  // namespace dlock
