// SPDX-License-Identifier: MIT
#include "cmd/toml.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <sstream>
#include <toml.hpp>

namespace dlock {

namespace {

// Turns ["redis://a", "redis://b"] into "redis://a redis://b".
Result<ConfigEntry> as_urls(const std::string& key, const toml::value& value) {
  std::string all;
  for (const toml::value& one : value.as_array()) {
    if (!one.is_string()) return Error{Errc::bad_config, "is a list of something else than texts"};
    all += (all.empty() ? "" : " ") + toml::get<std::string>(one);
  }
  return ConfigEntry{key, all, TomlType::text};
}

Result<ConfigEntry> as_entry(const std::string& key, const toml::value& value) {
  if (key == "url" && value.is_array()) return as_urls(key, value);
  if (value.is_string()) return ConfigEntry{key, toml::get<std::string>(value), TomlType::text};
  if (value.is_boolean())
    return ConfigEntry{key, value.as_boolean() ? "true" : "false", TomlType::boolean};
  if (value.is_integer())
    return ConfigEntry{key, std::to_string(value.as_integer()), TomlType::integer};
  if (value.is_floating())
    return ConfigEntry{key, std::to_string(value.as_floating()), TomlType::fraction};
  if (value.is_table())
    return Error{Errc::bad_config,
                 "is a section: write the settings without one, at the beginning of the file"};
  return Error{Errc::bad_config, "is neither a text, a number, true nor false"};
}

// How toml11 refuses a text that is not TOML, and the line that it refuses.
#if TOML11_VERSION_MAJOR < 4
using NotToml = toml::exception;
std::size_t line_of(const NotToml& error) {
  return error.location().line();
}
#else
using NotToml = toml::syntax_error;
std::size_t line_of(const NotToml& error) {
  const auto& all = error.errors();
  if (all.empty() || all.front().locations().empty()) return 1;
  return all.front().locations().front().first.first_line_number();
}
#endif

// Returns the reason in an error text of toml11. The reason is in the first line, after toml11's
// own name; the other lines draw where in the file the error is.
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

// Returns whether line number `line` of `text`, which is not TOML, has a value without quotes, as
// in `ttl = 30s`.
bool lacks_quotes(std::string_view text, std::size_t line) {
  for (; line > 1; --line)
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  text = text.substr(0, text.find('\n'));
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || text.find_first_not_of(" \t") == equals) return false;
  const std::size_t value = text.find_first_not_of(" \t\r", equals + 1);
  return value != std::string_view::npos &&
         std::string_view("\"'[{#").find(text[value]) == std::string_view::npos;
}

}  // namespace

Result<ConfigEntries> parse_toml(const std::string& path, const std::string& text) {
  try {
    std::istringstream in(text);
    ConfigEntries entries;
    const toml::value all = toml::parse(in, path);
    for (const auto& [key, value] : all.as_table()) {
      auto entry = as_entry(key, value);
      if (!entry) {
        return Error{
            Errc::bad_config,
            printable(path) + ": " + in_quotes(shortened(key, 80)) + " " + entry.error().text};
      }
      entries.push_back(std::move(*entry));
    }
    // The library does not keep the order.
    std::sort(entries.begin(), entries.end(), [](const ConfigEntry& one, const ConfigEntry& other) {
      return one.key < other.key;
    });
    return entries;
  } catch (const NotToml& error) {
    const std::size_t line = line_of(error);
    const std::string place = printable(path) + ": line " + std::to_string(line);
    if (lacks_quotes(text, line))
      return Error{Errc::bad_config, place + ": text values need quotes, as in ttl = \"30s\""};
    return Error{Errc::bad_config, place + " is not TOML: " + reason_of(error.what())};
  } catch (const std::exception& error) {
    return Error{Errc::bad_config, printable(path) + ": " + reason_of(error.what())};
  }
}

}  // namespace dlock
