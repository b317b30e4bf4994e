// SPDX-License-Identifier: MIT
// StoreUrl: splits the URL of a store into its parts:
//   SCHEME[user[:password]@]hosts[/path][?name=value[&name=value]…]
// It refuses what no store accepts: blanks and control characters, '#', a '/' or '?' in a user or
// password that is not encoded, NUL bytes, and options that are unknown or given twice. What hosts,
// path and options mean is up to each store. Errors are Errc::bad_usage and quote no part of the
// URL except the name of an option, because in a malformed URL the password may be anywhere. Pure.
#pragma once

#include "base/result.hpp"
#include "base/secret.hpp"
#include "store/url/host_port.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlock {

struct UrlScheme {
  std::string_view text;  // the scheme with "://"
  bool has_tls = false;   // its URLs may have TLS settings; the caller has removed them
};

// What the URLs of one kind of store look like.
struct UrlForm {
  std::span<const UrlScheme> schemes;
  std::span<const std::string_view> options = {};
  // The URL has no host: the path follows the user directly. Then the user ends at the last '@'
  // before the first '/'. With a host, the user ends at the last '@' of the URL.
  bool is_socket = false;
};

struct StoreUrl {
  UrlScheme scheme;
  bool has_user = false;  // there is an '@', even if the user before it is empty
  std::string user;
  Secret password;
  std::string_view hosts;  // as written in the URL, not decoded
  std::string_view path;   // begins with '/'; not decoded; empty: the URL has no path
  std::vector<std::pair<std::string, std::string>> options;  // names and values, decoded

  std::optional<std::string> option(std::string_view name) const;
};

// Splits the URL into its parts. The views in the result point into `url`, which must live as long.
Result<StoreUrl> split_store_url(std::string_view url, const UrlForm& form);

// The largest number of hosts in a URL. It is limited because a thread for each host may be
// started.
inline constexpr std::size_t k_most_hosts = 16;

// Parses a list "host[:port][,host[:port]]…" of 1 to k_most_hosts hosts. `noun` is the word for
// hosts in errors.
Result<std::vector<HostPort>> parse_hosts(std::string_view hosts,
                                          std::uint16_t default_port,
                                          std::string_view noun = "hosts");
// Returns the list of hosts as text, each with its port.
std::string text_of(const std::vector<HostPort>& hosts);

// Returns an error if a decoded path does not begin with '/' or is too long for sockaddr_un.
Result<void> check_socket_path(std::string_view path);

}  // namespace dlock
