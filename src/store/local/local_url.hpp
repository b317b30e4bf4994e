// SPDX-License-Identifier: MIT
// Reads the URL of a store that keeps locks in files: local:///dir, sqlite:///file.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace dlock::local {

struct Place {
  std::string path;       // absolute, without "." and ".."
  bool unshared = false;  // ?shared=no: the user says that no other machine uses this file system
};

// Reads the path in a URL. `scheme` ends with "://". Error texts contain `noun` ("directory") and
// `example` (a URL). Errors are Errc::bad_usage and do not quote the URL, which may contain a
// password.
Result<Place> parse_url(std::string_view url,
                        std::string_view scheme,
                        std::string_view noun,
                        std::string_view example);

// Returns the URL of a path, without the option ?shared=no.
std::string url_of(std::string_view scheme, std::string_view path);

}  // namespace dlock::local
