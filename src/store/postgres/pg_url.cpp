// SPDX-License-Identifier: MIT
#include "store/postgres/pg_url.hpp"

#include "base/text.hpp"
#include "store/url/store_url.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace dlock {
namespace {

constexpr std::string_view k_scheme = "postgresql://";
constexpr UrlScheme k_schemes[] = {{k_scheme, true}, {"postgres://", true}};
constexpr std::string_view k_options[] = {"host", "port", "sslmode", "table", "with"};
// The directory of the socket that Debian's libpq uses by default.
constexpr std::string_view k_default_directory = "/var/run/postgresql";
constexpr std::string_view k_default_table = "dlock";
constexpr std::uint16_t k_default_port = 5432;
// The longest path of a socket's directory. sockaddr_un has room for 107 bytes, and the name of the
// socket follows, at most "/.s.PGSQL.65535".
constexpr std::size_t k_longest_directory = 92;
// PostgreSQL cuts names after 63 bytes. "_line" is added to this one.
constexpr std::size_t k_longest_table = 58;
constexpr std::size_t k_longest_column = 63;

constexpr std::array<std::pair<std::string_view, PgTls>, 5> k_modes{{
    {"disable", PgTls::disable},
    {"prefer", PgTls::prefer},
    {"require", PgTls::require},
    {"verify-ca", PgTls::verify_ca},
    {"verify-full", PgTls::verify_full},
}};

bool is_word(std::string_view text, std::size_t longest) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !text.empty() && text.size() <= longest && (text[0] < '0' || text[0] > '9') &&
         std::all_of(text.begin(), text.end(), fits);
}

Result<std::uint16_t> parse_port(std::string_view text) {
  const auto number = parse_digits(text, 65535);
  if (!number || *number == 0) return bad_url("the port must be a number from 1 to 65535");
  return static_cast<std::uint16_t>(*number);
}

Result<PgServer> parse_server(std::string_view text, std::uint16_t port) {
  if (!text.starts_with('/')) {
    auto at = parse_host_port(text, port);
    if (!at) return at.error();
    return PgServer{std::move(at->host), at->port};
  }
  if (text.find('\0') != std::string_view::npos) return bad_url("a path has no NUL bytes");
  if (text.size() > k_longest_directory)
    return bad_url("the path of a socket's directory has at most 92 bytes");
  return PgServer{std::string(text), port};
}

// Reads one server from the part of a URL where the hosts are. It may also be written as
// %2Frun%2Fpostgresql:5433, which is how libpq and canonical() write the directory of a socket.
Result<PgServer> parse_written(std::string_view text, std::uint16_t port) {
  const std::string decoded = percent_decode(text);
  const auto colon = text.find(':');
  if (!decoded.starts_with('/') || colon == std::string_view::npos)
    return parse_server(decoded, port);
  const auto number = parse_port(text.substr(colon + 1));
  if (!number) return number.error();
  return parse_server(percent_decode(text.substr(0, colon)), *number);
}

Result<void> parse_servers(const StoreUrl& parts, PgAddress& address) {
  const auto host = parts.option("host");
  if (host && !parts.hosts.empty()) return bad_url("it says the host twice");
  std::uint16_t port = k_default_port;
  if (const auto said = parts.option("port")) {
    const auto number = parse_port(*said);
    if (!number) return number.error();
    port = *number;
  }
  auto all = split(host ? std::string_view(*host) : parts.hosts, ',');
  if (all.empty()) all.push_back(k_default_directory);
  if (all.size() > k_most_hosts)
    return bad_url("a URL has at most " + std::to_string(k_most_hosts) + " hosts");
  for (const std::string_view one : all) {
    auto server = host ? parse_server(one, port) : parse_written(one, port);
    if (!server) return server.error();
    address.servers.push_back(std::move(*server));
  }
  return {};
}

Result<void> parse_database(std::string_view path, PgAddress& address) {
  if (path.empty()) return {};
  if (path.find('/', 1) != std::string_view::npos)
    return bad_url("a '/' in the name of the database is written %2F");
  address.database = percent_decode(path.substr(1));
  if (address.database.find('\0') != std::string::npos)
    return bad_url("the name of a database has no NUL bytes");
  return {};
}

// Returns whether the text has the form TABLE or SCHEMA.TABLE.
bool is_table(std::string_view text) {
  const auto dot = text.find('.');
  const bool has_schema = dot != std::string_view::npos;
  return is_word(has_schema ? text.substr(dot + 1) : text, k_longest_table) &&
         (!has_schema || is_word(text.substr(0, dot), k_longest_table));
}
bool is_column(std::string_view text) {
  return is_word(text, k_longest_column);
}

Result<void> set_with(const StoreUrl& parts, PgAddress& address) {
  const auto value = parts.option("with");
  if (!value) return {};
  auto with = parse_with(*value,
                         {.all = "row:TABLE.COLUMN, advisory or advisory:NUMBER, of names "
                                 "with letters a-z, digits and '_'",
                          .advisory = true,
                          .is_table = &is_table,
                          .is_column = &is_column});
  if (!with) return with.error();
  address.with = std::move(*with);
  return {};
}

Result<void> parse_table(const StoreUrl& parts, PgAddress& address) {
  address.table = parts.option("table").value_or(std::string(k_default_table));
  if (is_table(address.table)) return {};
  return bad_url(
      "a table consists of at most 58 letters a-z, digits and '_', a schema and '.' before");
}

Result<void> parse_tls(const StoreUrl& parts, PgAddress& address) {
  const auto said = parts.option("sslmode");
  if (!said) return {};
  for (const auto& [name, mode] : k_modes)
    if (*said == name) address.tls = mode;
  if (!address.tls)
    return bad_url("sslmode is one of disable, prefer, require, verify-ca and verify-full");
  return {};
}

std::string canonical(const PgAddress& address) {
  std::string hosts;
  std::string options;
  const auto add = [&](const std::string& option) {
    options += (options.empty() ? "?" : "&") + option;
  };
  for (const PgServer& one : address.servers) {
    const std::string host = one.is_socket()
                                 ? percent_encode(one.host) + ":" + std::to_string(one.port)
                                 : text_of({one.host, one.port});
    hosts += (hosts.empty() ? "" : ",") + host;
  }
  if (const PgServer& only = address.servers.front();
      address.servers.size() == 1 && only.is_socket()) {
    hosts.clear();
    add("host=" + percent_encode(only.host, "-._~/"));
    if (only.port != k_default_port) add("port=" + std::to_string(only.port));
  }
  if (address.table != k_default_table) add("table=" + address.table);
  if (address.with) add("with=" + address.with->text());
  return std::string(k_scheme) + hosts + "/" + percent_encode(address.database) + options;
}

}  // namespace

Result<PgAddress> parse_pg_url(std::string_view url) {
  auto parts = split_store_url(url, {.schemes = k_schemes, .options = k_options});
  if (!parts) return parts.error();
  PgAddress address;
  address.user = std::move(parts->user);
  address.password = std::move(parts->password);
  for (auto* const set : {&parse_servers, &parse_table, &set_with, &parse_tls})
    if (auto done = set(*parts, address); !done) return done.error();
  if (auto done = parse_database(parts->path, address); !done) return done.error();
  address.text = canonical(address);
  return address;
}

}  // namespace dlock
