// SPDX-License-Identifier: MIT
#include "store/url/store_url.hpp"

#include "base/text.hpp"
#include "sys/tls_settings.hpp"

#include <algorithm>
#include <utility>

namespace dlock {
namespace {

constexpr std::size_t k_longest_path = 107;  // room for a path in sockaddr_un, without the NUL
constexpr std::size_t k_longest_name = 40;   // longest name of an option

bool is_plain(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= ' ' || byte == 0x7f;
  });
}

// Returns whether the text has the form of an option's name. Only such a text is quoted in errors;
// any other text may be part of a password.
bool is_option_name(std::string_view text) {
  return !text.empty() && text.size() <= k_longest_name &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || c == '_' || c == '-';
         });
}

Error no_scheme(const UrlForm& form) {
  std::vector<std::string> all;
  for (const UrlScheme& one : form.schemes)
    all.emplace_back(one.text);
  if (all.size() == 2) return bad_url("it begins with neither " + all[0] + " nor " + all[1]);
  return bad_url("it begins with none of " + listed(all));
}

Result<void> set_user(std::string_view text, const UrlForm& form, StoreUrl& parts) {
  if (!form.is_socket && text.find_first_of("/?#") != std::string_view::npos)
    return bad_url(
        "'/', '?' and '#' in a user or password are written %2F, %3F and %23, and an '@' "
        "behind the host is written %40");
  const auto colon = std::min(text.find(':'), text.size());
  parts.has_user = true;
  parts.user = percent_decode(text.substr(0, colon));
  std::string password = percent_decode(text.substr(std::min(colon + 1, text.size())));
  if (parts.user.find('\0') != std::string::npos || password.find('\0') != std::string::npos)
    return bad_url("a user or password has no NUL bytes");
  parts.password = Secret(std::move(password));
  return {};
}

// Returns an error if a host has a ':' without a port after it. For a socket, returns an error if
// there is a host, or if the path is empty.
Result<void> check_hosts(const UrlForm& form, const StoreUrl& parts) {
  if (form.is_socket && parts.path.empty()) return bad_url("the path of the socket is missing");
  if (form.is_socket && !parts.hosts.empty())
    return bad_url("only [user[:password]@] may precede the path, which begins with '/'");
  for (const std::string_view one : split(parts.hosts, ',')) {
    if (one.find(':') == std::string_view::npos || one.find('%') != std::string_view::npos)
      continue;
    if (const auto at = parse_host_port(one, 1); !at) return at.error();
  }
  return {};
}

Error no_option(const UrlForm& form, const UrlScheme& scheme, std::string_view name) {
  if (name == "password")
    return bad_url("a password stands before the host, or in DLOCK_PASSWORD, not in an option");
  std::vector<std::string> all(form.options.begin(), form.options.end());
  if (scheme.has_tls) all.insert(all.end(), k_tls_in_urls.begin(), k_tls_in_urls.end());
  return bad_url("there is no option " + std::string(name) + "; there are " + listed(all));
}

Result<void> set_option(std::string_view piece, const UrlForm& form, StoreUrl& parts) {
  const auto equals = std::min(piece.find('='), piece.size());
  const std::string_view name = piece.substr(0, equals);
  if (form.options.empty() && !parts.scheme.has_tls)
    return bad_url("the URL has options, and " + std::string(parts.scheme.text) + " has none");
  if (equals == piece.size() || !is_option_name(name))
    return bad_url("an option is written NAME=VALUE, with '&' before the next");
  if (std::find(form.options.begin(), form.options.end(), name) == form.options.end())
    return no_option(form, parts.scheme, name);
  std::string value = percent_decode(piece.substr(equals + 1));
  if (value.find('\0') != std::string::npos) return bad_url(std::string(name) + " has a NUL byte");
  if (parts.option(name)) return bad_url("it says " + std::string(name) + " twice");
  parts.options.emplace_back(name, std::move(value));
  return {};
}

}  // namespace

std::optional<std::string> StoreUrl::option(std::string_view name) const {
  for (const auto& [its_name, value] : options)
    if (its_name == name) return value;
  return std::nullopt;
}

Result<StoreUrl> split_store_url(std::string_view url, const UrlForm& form) {
  if (!is_plain(url)) return bad_url("spaces and control characters are written %20 and the like");
  const auto scheme = std::find_if(form.schemes.begin(), form.schemes.end(), [&](const auto& one) {
    return url.starts_with(one.text);
  });
  if (scheme == form.schemes.end()) return no_scheme(form);
  StoreUrl parts{.scheme = *scheme};
  std::string_view rest = url.substr(scheme->text.size());
  // The user ends at the last '@', so that a password may contain an '@' that is not encoded.
  const auto at = (form.is_socket ? rest.substr(0, rest.find('/')) : rest).rfind('@');
  if (at != std::string_view::npos) {
    if (auto set = set_user(rest.substr(0, at), form, parts); !set) return set.error();
    rest.remove_prefix(at + 1);
  }
  if (rest.find('#') != std::string_view::npos) return bad_url("a '#' is written %23");
  const auto question = std::min(rest.find('?'), rest.size());
  const auto slash = std::min(rest.find('/'), question);
  parts.hosts = rest.substr(0, slash);
  parts.path = rest.substr(slash, question - slash);
  // Checks the hosts before the options, because errors about options quote their names: if the '@'
  // after the password is missing, what looks like an option may be part of the password.
  if (auto sound = check_hosts(form, parts); !sound) return sound.error();
  const std::string_view query = rest.substr(std::min(question + 1, rest.size()));
  for (const std::string_view piece : split(query, '&'))
    if (auto set = set_option(piece, form, parts); !set) return set.error();
  return parts;
}

Result<std::vector<HostPort>> parse_hosts(std::string_view hosts,
                                          std::uint16_t default_port,
                                          std::string_view noun) {
  std::vector<HostPort> parsed;
  for (const std::string_view one : split(hosts, ',')) {
    auto at = parse_host_port(one, default_port);
    if (!at) return at.error();
    parsed.push_back(std::move(*at));
  }
  if (parsed.empty())
    return bad_url(noun == "hosts" ? "the host is missing"
                                   : "the " + std::string(noun) + " are missing");
  if (parsed.size() > k_most_hosts)
    return bad_url("a URL has at most " + std::to_string(k_most_hosts) + " " + std::string(noun));
  return parsed;
}

std::string text_of(const std::vector<HostPort>& hosts) {
  std::string text;
  for (const HostPort& one : hosts)
    text += (text.empty() ? "" : ",") + text_of(one);
  return text;
}

Result<void> check_socket_path(std::string_view path) {
  if (!path.starts_with('/') || path == "/" || path.find('\0') != std::string_view::npos)
    return bad_url("the path of a socket begins with '/', and has no NUL bytes");
  if (path.size() > k_longest_path) return bad_url("the path of a socket has at most 107 bytes");
  return {};
}

}  // namespace dlock
