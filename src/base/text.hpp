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

// JSON text for a terminal: in its strings, the characters that printable() escapes and JSON allows
// (DEL, C1, bidirectional controls, line separators) become \u escapes. The value stays the same.
std::string printable_json(std::string_view json);

// "a", "a and b", "a, b and c".
std::string listed(const std::vector<std::string>& words);

// Strict UTF-8 (RFC 3629), and no NUL: what a text of a database can be.
bool is_utf8(std::string_view text);

// At most `bytes` bytes, cut at a UTF-8 boundary, "…" in place of what is missing.
std::string shortened(std::string_view text, std::size_t bytes);

// How many columns of a terminal `text` takes, at most: a wide character (CJK, emoji) takes two.
// `text` went through printable().
std::size_t columns_of(std::string_view text);

// At most `columns` of `text`, `ellipsis` in place of what is missing.
std::string fit(std::string_view text, std::size_t columns, std::string_view ellipsis);

// With "..." for each "…", for a terminal that has no UTF-8.
std::string with_ascii_dots(std::string_view text);

// Percent-encoding of every byte but letters, digits and the ones in `keep`; and back. A malformed
// escape decodes to itself.
std::string percent_encode(std::string_view text, std::string_view keep = "-._~");
std::string percent_decode(std::string_view text);

// Pieces between `separator`; empty pieces are dropped.
std::vector<std::string_view> split(std::string_view text, char separator);
// Is `piece` one of them?
bool has_piece(std::string_view text, char separator, std::string_view piece);

}  // namespace dlock
