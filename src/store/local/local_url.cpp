// SPDX-License-Identifier: MIT
#include "store/local/local_url.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace dlock::local {

Result<Place> parse_url(std::string_view url,
                        std::string_view scheme,
                        std::string_view noun,
                        std::string_view example) {
  const auto bad = [&](const std::string& reason) {
    return Error{Errc::bad_usage, reason + "; write " + std::string(example)};
  };
  const std::string what(noun);
  if (!url.starts_with(scheme)) return bad("it does not begin with " + std::string(scheme));
  url.remove_prefix(scheme.size());
  const std::size_t question = std::min(url.find('?'), url.size());
  const bool unshared = url.substr(question) == "?shared=no";
  if (question < url.size() && !unshared) return bad("only ?shared=no may follow the " + what);
  const std::string path = percent_decode(url.substr(0, question));
  if (path.empty() || path.front() != '/') return bad("the " + what + " is not an absolute path");
  if (path.find('\0') != std::string::npos) return bad("there is a NUL in the path");
  std::string normal = std::filesystem::path(path).lexically_normal().string();
  while (normal.size() > 1 && normal.back() == '/')
    normal.pop_back();
  if (normal.starts_with("//")) normal.erase(0, 1);
  if (normal == "/") return bad("the root directory is no place for locks");
  return Place{.path = std::move(normal), .unshared = unshared};
}

std::string url_of(std::string_view scheme, std::string_view path) {
  return std::string(scheme) + percent_encode(path, "-._~/");
}

}  // namespace dlock::local
