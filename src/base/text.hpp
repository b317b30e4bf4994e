// SPDX-License-Identifier: MIT
// Text that comes from others (names, hosts, reasons, server errors) on its way to a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlock {

// The one printer for foreign text: control characters (C0, DEL, C1), bidirectional controls, line
// separators and bytes that are not UTF-8 become visible escapes (\n, \x1b, \u202e). The result is
// one line and cannot move a cursor or set a title.
std::string printable(std::string_view text);

// printable(), in double quotes, with " and \ escaped: for names inside sentences.
std::string in_quotes(std::string_view text);

// At most `bytes` bytes, cut at a UTF-8 boundary, "…" in place of what is missing.
std::string shortened(std::string_view text, std::size_t bytes);

// Percent-encoding of every byte but letters, digits and the ones in `keep`; and back. A malformed
// escape decodes to itself.
std::string percent_encode(std::string_view text, std::string_view keep = "-._~");
std::string percent_decode(std::string_view text);

// Pieces between `separator`; empty pieces are dropped.
std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace dlock
