// SPDX-License-Identifier: MIT
#include "cmd/config_file.hpp"

#include "cmd/url_password.hpp"
#include "sys/trusted_file.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace dlock {

namespace {

bool has_password(const ConfigEntries& entries) {
  return std::any_of(entries.begin(), entries.end(), [](const auto& entry) {
    return entry.key == "password" || (entry.key == "url" && !passwords_in(entry.value).empty());
  });
}

Result<ConfigFile> parse(const std::string& path, const TrustedFile& file) {
  auto entries = parse_toml(path, file.text);
  if (!entries) return entries.error();
  const bool exposed = file.is_exposed && has_password(*entries);
  return ConfigFile{.entries = std::move(*entries), .password_is_exposed = exposed};
}

}  // namespace

Result<ConfigFile> read_named_config(const std::string& path) {
  const auto file = read_named_file(path);
  return file ? parse(path, *file) : file.error();
}

Result<ConfigFile> read_usual_config(const std::string& path) {
  const auto file = read_usual_file(path);
  if (!file) return file.error();
  return *file ? parse(path, **file) : ConfigFile{};
}

Secret password_of_config(const std::string& path, std::string_view value) {
  return {std::string(value), [path]() -> std::optional<std::string> {
            const auto text = read_again(path);
            if (!text) return std::nullopt;
            const auto entries = parse_toml(path, *text);
            for (std::size_t i = 0; entries && i < entries->size(); ++i)
              if ((*entries)[i].key == "password") return (*entries)[i].value;
            return std::nullopt;
          }};
}

}  // namespace dlock
