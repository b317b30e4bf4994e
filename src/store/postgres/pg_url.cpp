// SPDX-License-Identifier: MIT
#include "store/postgres/pg_url.hpp"

#include "base/text.hpp"
#include "store/url/host_port.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace dlock {
namespace {

constexpr std::string_view k_scheme = "postgresql://";
constexpr std::string_view k_short_scheme = "postgres://";
constexpr std::string_view k_default_directory = "/var/run/postgresql";  // of Debian's libpq
constexpr std::string_view k_default_table = "dlock";
constexpr std::uint16_t k_default_port = 5432;
constexpr std::size_t k_most_servers = 16;
// A path to the socket: sockaddr_un holds 107 bytes, and "/.s.PGSQL.65535" follows.
constexpr std::size_t k_longest_directory = 92;
// PostgreSQL cuts names at 63; five are left for the names of what belongs to the table.
constexpr std::size_t k_longest_table = 58;
constexpr std::size_t k_longest_column = 63;

constexpr std::array<std::pair<std::string_view, PgTls>, 5> k_modes{{
    {"disable", PgTls::disable},
    {"prefer", PgTls::prefer},
    {"require", PgTls::require},
    {"verify-ca", PgTls::verify_ca},
    {"verify-full", PgTls::verify_full},
}};

// The options as they were said, decoded.
struct Options {
  std::optional<std::string> host, port, table, with, sslmode;
};

Error bad(std::string what) {
  return {Errc::bad_usage, std::move(what)};
}

bool is_plain(std::string_view text) {
  const auto is_control = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= ' ' || byte == 0x7f;
  };
  return std::none_of(text.begin(), text.end(), is_control);
}

bool is_word(std::string_view text, std::size_t longest) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !text.empty() && text.size() <= longest && (text[0] < '0' || text[0] > '9') &&
         std::all_of(text.begin(), text.end(), fits);
}

Result<void> set_option(std::string_view piece, Options& options) {
  const auto equals = piece.find('=');
  const std::string_view name = piece.substr(0, equals);
  // What looks like no name may be a part of a password.
  constexpr std::size_t k_longest_name = 40;
  if (equals == std::string_view::npos || !is_word(name, k_longest_name))
    return bad("an option is written NAME=VALUE, with '&' before the next");
  const std::array<std::pair<std::string_view, std::optional<std::string>*>, 5> known{
      {{"host", &options.host},
       {"port", &options.port},
       {"table", &options.table},
       {"with", &options.with},
       {"sslmode", &options.sslmode}}};
  for (const auto& [its_name, value] : known) {
    if (name != its_name) continue;
    if (value->has_value()) return bad("it says " + std::string(name) + " twice");
    *value = percent_decode(piece.substr(equals + 1));
    return {};
  }
  if (name == "password")
    return bad("a password stands before the host, or in DLOCK_PASSWORD, not in an option");
  return bad("there is no option " + std::string(name) +
             "; there are host, port, sslmode, table and with");
}

Result<Options> parse_options(std::string_view query) {
  Options options;
  for (const std::string_view piece : split(query, '&')) {
    if (auto set = set_option(piece, options); !set) return set.error();
  }
  return options;
}

Result<void> parse_user(std::string_view text, PgAddress& address) {
  if (text.find_first_of("/?#") != std::string_view::npos)
    return bad("'/', '?' and '#' in a user or password are written %2F, %3F and %23");
  const auto colon = text.find(':');
  address.user = percent_decode(text.substr(0, colon));
  std::string password =
      colon == std::string_view::npos ? "" : percent_decode(text.substr(colon + 1));
  if (address.user.find('\0') != std::string::npos || password.find('\0') != std::string::npos)
    return bad("a user or password has no NUL bytes");
  address.password = Secret(std::move(password));
  return {};
}

Result<std::uint16_t> parse_port(std::string_view text) {
  const auto number = parse_digits(text, 65535);
  if (!number || *number == 0) return bad("the port must be a number from 1 to 65535");
  return static_cast<std::uint16_t>(*number);
}

Result<PgServer> parse_server(std::string_view text, std::uint16_t port) {
  if (!text.starts_with('/')) {
    auto at = parse_host_port(text, port);
    if (!at) return at.error();
    return PgServer{std::move(at->host), at->port};
  }
  if (text.find('\0') != std::string_view::npos) return bad("a path has no NUL bytes");
  if (text.size() > k_longest_directory)
    return bad("the path of a socket's directory has at most 92 bytes");
  return PgServer{std::string(text), port};
}

// In the place of a host: also %2Frun%2Fpostgresql:5433, as libpq reads and canonical() writes it.
Result<PgServer> parse_written(std::string_view text, std::uint16_t port) {
  const std::string decoded = percent_decode(text);
  const auto colon = text.find(':');
  if (!decoded.starts_with('/') || colon == std::string_view::npos)
    return parse_server(decoded, port);
  const auto number = parse_port(text.substr(colon + 1));
  if (!number) return number.error();
  return parse_server(percent_decode(text.substr(0, colon)), *number);
}

Result<void> parse_servers(std::string_view hosts, const Options& said, PgAddress& address) {
  if (said.host && !hosts.empty()) return bad("it says the host twice");
  std::uint16_t port = k_default_port;
  if (said.port) {
    const auto number = parse_port(*said.port);
    if (!number) return number.error();
    port = *number;
  }
  auto all = split(said.host ? std::string_view(*said.host) : hosts, ',');
  if (all.empty()) all.push_back(k_default_directory);
  if (all.size() > k_most_servers)
    return bad("a URL has at most " + std::to_string(k_most_servers) + " hosts");
  for (const std::string_view one : all) {
    auto server = said.host ? parse_server(one, port) : parse_written(one, port);
    if (!server) return server.error();
    address.servers.push_back(std::move(*server));
  }
  return {};
}

// Perhaps with its schema before.
bool is_table(std::string_view text) {
  const auto dot = text.find('.');
  const bool has_schema = dot != std::string_view::npos;
  return is_word(has_schema ? text.substr(dot + 1) : text, k_longest_table) &&
         (!has_schema || is_word(text.substr(0, dot), k_longest_table));
}
bool is_column(std::string_view text) {
  return is_word(text, k_longest_column);
}

Result<void> set_with(const Options& said, PgAddress& address) {
  if (!said.with) return {};
  auto with = parse_with(*said.with,
                         {.all = "row:TABLE.COLUMN, advisory or advisory:NUMBER, of names "
                                 "with letters a-z, digits and '_'",
                          .advisory = true,
                          .is_table = &is_table,
                          .is_column = &is_column});
  if (!with) return with.error();
  address.with = std::move(*with);
  return {};
}

Result<void> parse_table(const Options& said, PgAddress& address) {
  address.table = said.table.value_or(std::string(k_default_table));
  if (is_table(address.table)) return {};
  return bad("a table consists of at most 58 letters a-z, digits and '_', a schema and '.' before");
}

Result<void> parse_tls(const Options& said, PgAddress& address) {
  if (!said.sslmode) return {};
  for (const auto& [name, mode] : k_modes)
    if (*said.sslmode == name) address.tls = mode;
  if (!address.tls)
    return bad("sslmode is one of disable, prefer, require, verify-ca and verify-full");
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

Result<PgAddress> parse(std::string_view rest) {
  PgAddress address;
  // The last @, so that a password with a raw @ works, as people write it.
  if (const auto at = rest.rfind('@'); at != std::string_view::npos) {
    if (auto user = parse_user(rest.substr(0, at), address); !user) return user.error();
    rest.remove_prefix(at + 1);
  }
  if (rest.find('#') != std::string_view::npos) return bad("a '#' is written %23");
  const auto question = rest.find('?');
  const auto options =
      parse_options(question < rest.size() ? rest.substr(question + 1) : std::string_view());
  if (!options) return options.error();
  rest = rest.substr(0, question);
  const auto slash = rest.find('/');
  if (slash < rest.size()) {
    const auto name = rest.substr(slash + 1);
    if (name.find('/') != std::string_view::npos)
      return bad("a '/' in the name of the database is written %2F");
    address.database = percent_decode(name);
    if (address.database.find('\0') != std::string::npos)
      return bad("the name of a database has no NUL bytes");
  }
  if (auto done = parse_servers(rest.substr(0, slash), *options, address); !done)
    return done.error();
  if (auto done = parse_table(*options, address); !done) return done.error();
  if (auto done = set_with(*options, address); !done) return done.error();
  if (auto done = parse_tls(*options, address); !done) return done.error();
  address.text = canonical(address);
  return address;
}

}  // namespace

Result<PgAddress> parse_pg_url(std::string_view url) {
  if (!is_plain(url)) return bad("spaces and control characters are written %20 and the like");
  for (const std::string_view scheme : {k_scheme, k_short_scheme})
    if (url.starts_with(scheme)) return parse(url.substr(scheme.size()));
  return bad("it begins with neither postgresql:// nor postgres://");
}

}  // namespace dlock
