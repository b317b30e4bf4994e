// SPDX-License-Identifier: MIT
// What an error answer of Redis means to dlock. The first word says it ("READONLY …"); a script
// that failed inside wraps that word, and each version wraps it differently.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace dlock {

struct ErrorReply {
  // denied, unavailable or refused; bad_usage: the names are in several slots of a cluster;
  // bad_config: this server cannot exclude at all
  Errc code = Errc::refused;
  bool drop = false;              // the next try should look anew who serves this name
  std::string_view hint = {};     // advice after the server's words
  std::string_view instead = {};  // replaces the server's words, after its name
};

ErrorReply classify_error(std::string_view text);

// A server's words for display: without the place in a script and its version's wrapping.
std::string_view words_of(std::string_view text);

// The text with "***" in place of a secret that a server repeats.
std::string without_word(std::string_view text, std::string_view secret);

}  // namespace dlock
