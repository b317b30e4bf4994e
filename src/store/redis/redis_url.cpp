// SPDX-License-Identifier: MIT
#include "store/redis/redis_url.hpp"

#include "base/text.hpp"
#include "store/url/host_port.hpp"

#include <cstdint>
#include <limits>
#include <utility>

namespace dlock {
namespace {

constexpr std::string_view k_tcp = "redis://";
constexpr std::string_view k_tls = "rediss://";
constexpr std::string_view k_unix = "redis+unix://";
constexpr std::size_t k_longest_path = 107;  // what sockaddr_un holds, less the NUL
constexpr std::uint16_t k_port = 6379;

Error bad(std::string what) {
  return {Errc::bad_usage, std::move(what)};
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
  const auto db = parse_digits(text, std::numeric_limits<int>::max());
  if (!db) return bad("the database must be a number from 0 to 2147483647");
  address.db = *db;
  return {};
}

Result<void> parse_host(std::string_view text, RedisAddress& address) {
  auto at = parse_host_port(text, k_port);
  if (!at) return at.error();
  address.endpoint.host = std::move(at->host);
  address.endpoint.port = at->port;
  return {};
}

// TLS settings were already taken out of the URL (StoreOptions::tls).
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
  address.text = std::string(scheme) + text_of({address.endpoint.host, address.endpoint.port}) +
                 "/" + std::to_string(address.db);
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
