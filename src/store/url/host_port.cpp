// SPDX-License-Identifier: MIT
#include "store/url/host_port.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

namespace dlock {
namespace {

constexpr std::size_t k_longest_host = 255;

bool is_host_name(std::string_view host) {
  for (const char c : host) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (!letter && c != '-' && c != '.' && c != '_') return false;
  }
  return !host.empty() && host.size() <= k_longest_host;
}

// Returns the text in lower case. Case does not matter in host names and hexadecimal digits, and a
// canonical text is needed for comparisons.
std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return result;
}

// Returns whether the kernel accepts this as the name of a network interface.
bool is_interface(std::string_view name) {
  constexpr std::size_t k_longest = 15;
  return !name.empty() && name.size() <= k_longest &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' ||
                  c == '_';
         });
}

// Parses an IPv6 address with or without an interface: "fe80::1%25eth0", the form of RFC 6874, or
// "fe80::1%eth0", as people write it. nullopt: it is no such address.
std::optional<std::string> parse_v6(std::string_view text) {
  const auto percent = text.find('%');
  std::string host = lower(text.substr(0, percent));
  in6_addr unused{};
  if (::inet_pton(AF_INET6, host.c_str(), &unused) != 1) return {};
  if (percent == std::string_view::npos) return host;
  std::string_view zone = text.substr(percent + 1);
  if (zone.starts_with("25")) zone.remove_prefix(2);
  if (!is_interface(zone)) return {};
  return host + "%" + std::string(zone);
}

}  // namespace

Error bad_url(std::string what) {
  return {Errc::bad_usage, std::move(what)};
}

std::optional<int> parse_digits(std::string_view text, int most) {
  int value = 0;
  if (text.empty() || text[0] < '0' || text[0] > '9') return {};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > most) return {};
  return value;
}

Result<HostPort> parse_host_port(std::string_view text, std::uint16_t default_port) {
  const bool v6 = !text.empty() && text[0] == '[';
  const auto closing = text.find(']');
  if (v6 && closing == std::string_view::npos) return bad_url("a [ without ]");
  const auto end = v6 ? closing + 1 : text.find(':');
  const std::string_view host = v6 ? text.substr(1, closing - 1) : text.substr(0, end);
  std::string_view rest = end < text.size() ? text.substr(end) : std::string_view();

  if (!v6 && rest.find(':', 1) != std::string_view::npos) {
    return bad_url("too many colons; an IPv6 address needs [ ] around it");
  }
  if (host.empty()) return bad_url("the host is missing");
  const auto parsed = v6 ? parse_v6(host) : lower(host);
  if (!parsed) return bad_url("the text in [ ] is not an IPv6 address");
  HostPort at{.host = *parsed, .port = default_port};
  if (!v6 && !is_host_name(at.host)) {
    return bad_url("a host consists of letters, digits, '-', '.' and '_'");
  }
  if (rest.empty()) return at;
  const auto port = rest[0] == ':' ? parse_digits(rest.substr(1), 65535) : std::nullopt;
  if (!port || *port == 0) return bad_url("the port must be a number from 1 to 65535");
  at.port = static_cast<std::uint16_t>(*port);
  return at;
}

std::optional<std::string> parse_announced_host(std::string_view host) {
  const bool in_brackets = host.starts_with('[') && host.ends_with(']');
  if (in_brackets) host = host.substr(1, host.size() - 2);
  if (auto v6 = parse_v6(host)) return v6;
  std::string name = lower(host);
  if (in_brackets || !is_host_name(name)) return {};
  return name;
}

bool is_this_machine(std::string_view host) {
  return host == "localhost" || host == "::1" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == host.npos);
}

std::string text_of(const HostPort& at) {
  const bool v6 = at.host.find(':') != std::string::npos;
  std::string host = at.host;
  if (const auto percent = host.find('%'); percent != std::string::npos)
    host.insert(percent + 1, "25");
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(at.port);
}

}  // namespace dlock
