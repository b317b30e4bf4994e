// SPDX-License-Identifier: MIT
// Text from outside (names, hosts, reasons, server errors), prepared for a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlock {

// Returns foreign text as one line that cannot move the cursor or set a title: control characters
// (C0, DEL, C1), bidirectional controls, line separators and bytes that are not UTF-8 become
// visible escapes (\n, \x1b, \u202e).
std::string printable(std::string_view text);

// Returns printable(text) in double quotes, with " and \ escaped: for names in sentences.
std::string in_quotes(std::string_view text);

// Returns JSON text for a terminal: in its strings, characters that printable() escapes but JSON
// allows (DEL, C1, bidirectional controls, line separators) become \u escapes. The JSON values stay
// the same.
std::string printable_json(std::string_view json);

// Returns "a", "a and b" or "a, b and c".
std::string listed(const std::vector<std::string>& words);

// Returns whether the text is strict UTF-8 (RFC 3629) without NUL, as a text in a database must be.
bool is_utf8(std::string_view text);

// Returns at most `bytes` bytes of the text, cut between characters, with "…" for the missing part.
std::string shortened(std::string_view text, std::size_t bytes);

// Returns how many columns of a terminal `text` takes at most: a wide character (CJK, emoji) takes
// two. `text` must have gone through printable().
std::size_t columns_of(std::string_view text);

// Returns at most `columns` columns of `text`, with `ellipsis` for the missing part.
std::string fit(std::string_view text, std::size_t columns, std::string_view ellipsis);

// Returns the text with "..." for each "…", for a terminal without UTF-8.
std::string with_ascii_dots(std::string_view text);

// percent_encode() encodes every byte except letters, digits and those in `keep`. percent_decode()
// decodes the escapes again; it leaves a malformed escape as it is.
std::string percent_encode(std::string_view text, std::string_view keep = "-._~");
std::string percent_decode(std::string_view text);

// Returns the pieces of the text between separators, without empty pieces.
std::vector<std::string_view> split(std::string_view text, char separator);
// Returns whether `piece` is one of the pieces that split() returns.
bool has_piece(std::string_view text, char separator, std::string_view piece);

// Returns the FNV-1a hash of the text, as 16 hexadecimal digits. It tells texts apart and hides
// nothing; two texts with one hash are unlikely, but possible.
std::string hash_of(std::string_view text);

}  // namespace dlock
