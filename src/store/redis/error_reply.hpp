// SPDX-License-Identifier: MIT
// What an error reply of Redis means to dlock. Its first word says that ("READONLY …"); if a
// command failed inside a script, each Redis version wraps the text differently.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace dlock {

struct ErrorReply {
  // denied, unavailable or refused; bad_usage: the names are in different slots of a cluster;
  // bad_config: this server cannot exclude other clients.
  Errc code = Errc::refused;
  bool drop = false;              // the next try must find out anew which server has this name
  std::string_view hint = {};     // advice after the server's text
  std::string_view instead = {};  // replaces the server's text after its name
};

ErrorReply classify_error(std::string_view text);

// Returns the server's text for display: without the place in the script and the version's
// wrapping.
std::string_view words_of(std::string_view text);

// Returns the text with "***" wherever the server repeats the secret.
std::string without_word(std::string_view text, std::string_view secret);

}  // namespace dlock
