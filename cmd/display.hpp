// SPDX-License-Identifier: MIT
// What the terminal and the locale at stderr can show.
#pragma once

#include <string_view>

namespace dlock {

// Stderr is a terminal that understands escape sequences: TERM is set, and not to "dumb".
bool understands_escapes();

// LC_ALL, LC_CTYPE or LANG, the first that is set, names UTF-8.
bool locale_has_utf8();

}  // namespace dlock
