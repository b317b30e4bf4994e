// SPDX-License-Identifier: MIT
#include "store/redis/redis_url.hpp"

#include "base/text.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>
#include <limits>
#include <optional>

namespace dlock {
namespace {

constexpr std::string_view k_tcp = "redis://";
constexpr std::string_view k_tls = "rediss://";
constexpr std::string_view k_unix = "redis+unix://";
constexpr std::size_t k_longest_path = 107;  // what sockaddr_un holds, less the NUL
constexpr std::size_t k_longest_host = 255;

Error bad(std::string what) {
  return {Errc::bad_usage, std::move(what)};
}

// Digits only: no sign, no space, no 0x.
std::optional<int> number(std::string_view text, int most) {
  int value = 0;
  if (text.empty() || text[0] < '0' || text[0] > '9') return {};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > most) return {};
  return value;
}

bool is_plain(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte == 0x7f) return false;
  }
  return true;
}

void parse_user(std::string_view text, RedisAddress& address) {
  const auto colon = text.find(':');
  address.user = percent_decode(text.substr(0, colon));
  if (colon != std::string_view::npos) {
    address.password = Secret(percent_decode(text.substr(colon + 1)));
  }
}

Result<void> parse_db(std::string_view text, RedisAddress& address) {
  const auto db = number(text, std::numeric_limits<int>::max());
  if (!db) return bad("the database must be a number from 0 to 2147483647");
  address.db = *db;
  return {};
}

bool is_host_name(std::string_view host) {
  for (const char c : host) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (!letter && c != '-' && c != '.' && c != '_') return false;
  }
  return !host.empty() && host.size() <= k_longest_host;
}

// Host names and hexadecimal digits are the same in both cases; one form makes texts comparable.
std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return result;
}

// "host", "host:port", "[v6]", "[v6]:port".
Result<void> parse_host(std::string_view text, RedisAddress& address) {
  const bool v6 = !text.empty() && text[0] == '[';
  const auto closing = text.find(']');
  if (v6 && closing == std::string_view::npos) return bad("a [ without ]");
  const auto end = v6 ? closing + 1 : text.find(':');
  const std::string_view host = v6 ? text.substr(1, closing - 1) : text.substr(0, end);
  std::string_view rest = end < text.size() ? text.substr(end) : std::string_view();

  address.endpoint.host = lower(host);
  address.endpoint.port = 6379;
  in6_addr unused{};
  if (host.empty()) return bad("the host is missing");
  if (v6 && ::inet_pton(AF_INET6, address.endpoint.host.c_str(), &unused) != 1) {
    return bad("the text in [ ] is not an IPv6 address");
  }
  if (!v6 && rest.find(':', 1) != std::string_view::npos) {
    return bad("too many colons; an IPv6 address needs [ ] around it");
  }
  if (!v6 && !is_host_name(address.endpoint.host)) {
    return bad("a host consists of letters, digits, '-', '.' and '_'");
  }
  if (rest.empty()) return {};
  const auto port = rest[0] == ':' ? number(rest.substr(1), 65535) : std::nullopt;
  if (!port || *port == 0) return bad("the port must be a number from 1 to 65535");
  address.endpoint.port = static_cast<std::uint16_t>(*port);
  return {};
}

// Of the settings that a URL may carry there is none left here (StoreOptions::tls).
Error no_query(std::string_view scheme) {
  if (scheme == k_tls)
    return bad("only ?cacert=, cacertdir=, cert=, key= and sni= may follow the database");
  return bad("a " + std::string(scheme) + " URL has no '?' and no '#' part");
}

// `scheme`: k_tcp or k_tls.
Result<RedisAddress> parse_tcp(std::string_view scheme, std::string_view rest) {
  RedisAddress address;
  if (scheme == k_tls) address.endpoint.tls = std::make_shared<const TlsSettings>();
  // The last @, so that a password with a raw @ works, as people write it.
  if (const auto at = rest.rfind('@'); at != std::string_view::npos) {
    const auto user = rest.substr(0, at);
    if (user.find_first_of("/?#") != std::string_view::npos) {
      return bad("'/', '?' and '#' in a user or password are written %2F, %3F and %23");
    }
    parse_user(user, address);
    rest.remove_prefix(at + 1);
  }
  if (rest.find_first_of("?#") != std::string_view::npos) {
    return no_query(scheme);
  }
  const auto slash = rest.find('/');
  if (auto parsed = parse_host(rest.substr(0, slash), address); !parsed) return parsed.error();
  const auto path = slash < rest.size() ? rest.substr(slash + 1) : std::string_view();
  if (!path.empty()) {
    if (auto parsed = parse_db(path, address); !parsed) return parsed.error();
  }
  const auto& host = address.endpoint.host;
  const bool v6 = host.find(':') != std::string::npos;
  address.text = std::string(scheme) + (v6 ? "[" + host + "]" : host) + ":" +
                 std::to_string(address.endpoint.port) + "/" + std::to_string(address.db);
  return address;
}

Result<RedisAddress> parse_unix(std::string_view rest) {
  RedisAddress address;
  const auto slash = rest.find('/');
  const auto user = rest.substr(0, slash);
  if (slash == std::string_view::npos) return bad("the path of the socket is missing");
  if (!user.empty() && user.back() != '@') {
    return bad("only [user[:password]@] may precede the path, which begins with '/'");
  }
  if (!user.empty()) parse_user(user.substr(0, user.size() - 1), address);
  rest.remove_prefix(slash);
  if (rest.find('#') != std::string_view::npos) return bad("a '#' in a path is written %23");
  const auto question = rest.find('?');
  std::string& path = address.endpoint.socket_path;
  path = percent_decode(rest.substr(0, question));
  if (path == "/") return bad("the path of the socket is missing");
  if (path.find('\0') != std::string::npos) return bad("a path has no NUL bytes");
  if (path.size() > k_longest_path) return bad("the path of a socket has at most 107 bytes");
  if (question != std::string_view::npos) {
    const auto query = rest.substr(question + 1);
    if (!query.starts_with("db=")) return bad("only ?db=N may follow the path");
    if (auto parsed = parse_db(query.substr(3), address); !parsed) return parsed.error();
  }
  address.text =
      std::string(k_unix) + percent_encode(path, "-._~/") + "?db=" + std::to_string(address.db);
  return address;
}

}  // namespace

Result<RedisAddress> parse_redis_url(std::string_view url) {
  if (!is_plain(url)) return bad("spaces and control characters are written %20 and the like");
  if (url.starts_with(k_tcp)) return parse_tcp(k_tcp, url.substr(k_tcp.size()));
  if (url.starts_with(k_tls)) return parse_tcp(k_tls, url.substr(k_tls.size()));
  if (url.starts_with(k_unix)) return parse_unix(url.substr(k_unix.size()));
  return bad("it begins with none of redis://, rediss:// and redis+unix://");
}

}  // namespace dlock
