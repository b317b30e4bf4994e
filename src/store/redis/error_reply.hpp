// SPDX-License-Identifier: MIT
// Finds out what an error reply of Redis means to dlock. The reply's first word says that, as in
// "READONLY …". If a command failed inside a script, each version of Redis wraps the reply in other
// text.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace dlock {

struct ErrorReply {
  // Denied, unavailable or refused. Also bad_usage: the names are in different slots of a cluster;
  // and bad_config: this server cannot exclude other clients.
  Errc code = Errc::refused;
  // The connection must be dropped: the next try asks the Route anew which server has the key.
  bool drop = false;
  std::string_view hint = {};     // advice for the user, after the server's text
  std::string_view instead = {};  // replaces the server's text in the message
};

ErrorReply classify_error(std::string_view text);

// Returns the server's text for display, without the position in the script and without what a
// version of Redis wraps around errors in scripts.
std::string_view words_of(std::string_view text);

// Returns the text with "***" wherever the server repeats the secret.
std::string without_word(std::string_view text, std::string_view secret);

}  // namespace dlock
