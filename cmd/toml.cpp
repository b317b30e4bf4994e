// SPDX-License-Identifier: MIT
#include "cmd/toml.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <sstream>
#include <toml.hpp>

namespace dlock {

namespace {

Result<std::string> as_text(const toml::value& value) {
  if (value.is_string()) return std::string(value.as_string().str);
  if (value.is_boolean()) return std::string(value.as_boolean() ? "true" : "false");
  if (value.is_integer()) return std::to_string(value.as_integer());
  if (value.is_floating()) return std::to_string(value.as_floating());
  return Error{Errc::bad_config, "is neither a text nor a number nor true or false"};
}

// toml11 puts the reason into the first line, behind its own name, and a drawing below it.
std::string reason_of(std::string_view what) {
  const std::size_t end = std::min(what.find('\n'), what.size());
  std::string_view reason = what.substr(0, end);
  if (const std::size_t own = reason.rfind("] "); own != std::string_view::npos)
    reason.remove_prefix(own + 2);
  if (const std::size_t own = reason.find("toml::"); own == 0) {
    reason.remove_prefix(std::min(reason.find(' ') + 1, reason.size()));
  }
  return printable(shortened(reason, 160));
}

}  // namespace

Result<ConfigEntries> parse_toml(const std::string& path, const std::string& text) {
  try {
    std::istringstream in(text);
    ConfigEntries entries;
    const toml::value all = toml::parse(in, path);
    for (const auto& [key, value] : all.as_table()) {
      auto entry = as_text(value);
      if (!entry) {
        return Error{
            Errc::bad_config,
            printable(path) + ": " + in_quotes(shortened(key, 80)) + " " + entry.error().text};
      }
      entries.emplace_back(key, std::move(*entry));
    }
    std::sort(entries.begin(), entries.end());  // the library keeps no order
    return entries;
  } catch (const toml::exception& error) {
    return Error{Errc::bad_config,
                 printable(path) + ": line " + std::to_string(error.location().line()) +
                     " is not TOML: " + reason_of(error.what())};
  } catch (const std::exception& error) {
    return Error{Errc::bad_config, printable(path) + ": " + reason_of(error.what())};
  }
}

}  // namespace dlock
