// SPDX-License-Identifier: MIT
#include "store/mysql/my_url.hpp"

#include "base/text.hpp"
#include "base/user_name.hpp"
#include "store/url/host_port.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace dlock {
namespace {

constexpr std::uint16_t k_port = 3306;
constexpr std::size_t k_longest_path = 107;  // what sockaddr_un holds, less the NUL
constexpr std::size_t k_longest_name = 64;   // of a database or a table
constexpr std::string_view k_default_table = "dlock";
constexpr std::string_view k_beside_letters = "-._~";
constexpr std::string_view k_beside_path = "-._~/";

Error bad(std::string what) {
  return {Errc::bad_usage, std::move(what)};
}

bool is_plain(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= ' ' || byte == 0x7f;
  });
}

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool has_nul(const std::string& text) {
  return text.find('\0') != std::string::npos;
}

Result<void> parse_user(std::string_view text, MyAddress& address) {
  if (text.find_first_of("/?#") != std::string_view::npos) {
    return bad("'/', '?' and '#' in a user or password are written %2F, %3F and %23");
  }
  const auto colon = text.find(':');
  address.user = percent_decode(text.substr(0, colon));
  const std::string password =
      colon == std::string_view::npos ? "" : percent_decode(text.substr(colon + 1));
  if (has_nul(address.user) || has_nul(password)) {
    return bad("a user or password has no NUL bytes");
  }
  address.password = Secret(password);
  return {};
}

Result<void> parse_host(std::string_view text, Endpoint& endpoint) {
  endpoint.port = k_port;
  if (text.empty()) return {};
  auto at = parse_host_port(text, k_port);
  if (!at) return at.error();
  endpoint.host = std::move(at->host);
  endpoint.port = at->port;
  return {};
}

Result<void> parse_database(std::string_view text, MyAddress& address) {
  address.database = percent_decode(text);
  if (address.database.empty()) return bad("the database is missing: …/DATABASE");
  if (text.find('/') != std::string_view::npos) return bad("a '/' in a database is written %2F");
  if (has_nul(address.database) || address.database.size() > k_longest_name) {
    return bad("the name of a database has at most 64 bytes, none of them NUL");
  }
  return {};
}

struct MyOptions {
  std::optional<std::string> socket;
  std::string table = std::string(k_default_table);
  std::optional<WithOption> with;
  std::optional<std::string> ssl_mode;
};

bool is_identifier(std::string_view name) {
  const auto of_name = [](char c) { return is_alphanumeric(c) || c == '_'; };
  return !name.empty() && name.size() <= k_longest_name &&
         std::all_of(name.begin(), name.end(), of_name);
}

Result<void> parse_table(const std::string& name, MyOptions& options) {
  if (!is_identifier(name)) return bad("table= is a name of at most 64 letters, digits and '_'");
  options.table = name;
  return {};
}

Result<void> set_with(const std::string& value, MyOptions& options) {
  auto with =
      parse_with(value,
                 {.all = "get_lock or row:TABLE.COLUMN, of names with letters, digits and '_'",
                  .get_lock = true,
                  .is_table = &is_identifier,
                  .is_column = &is_identifier});
  if (!with) return with.error();
  options.with = std::move(*with);
  return {};
}

Result<void> parse_socket(const std::string& path, MyOptions& options) {
  if (path.empty() || path[0] != '/' || path == "/" || has_nul(path)) {
    return bad("socket= is a path that begins with '/'");
  }
  if (path.size() > k_longest_path) return bad("the path of a socket has at most 107 bytes");
  options.socket = path;
  return {};
}

Result<void> parse_option(std::string_view word, MyOptions& options) {
  const auto equals = word.find('=');
  if (equals == std::string_view::npos) return bad("an option is written NAME=VALUE");
  const std::string_view name = word.substr(0, equals);
  const std::string value = percent_decode(word.substr(equals + 1));
  if (name == "table") return parse_table(value, options);
  if (name == "with") return set_with(value, options);
  if (name == "socket") return parse_socket(value, options);
  if (name == "ssl-mode") {
    options.ssl_mode = value;
    return {};
  }
  return bad("no option is called " + in_quotes(shortened(name, 40)) +
             "; there are socket, table, with and ssl-mode");
}

Result<MyOptions> parse_options(std::string_view query) {
  MyOptions options;
  // Rather the end of a password with a raw '?'.
  if (query.find('@') != std::string_view::npos) return bad("an '@' in an option is written %40");
  for (const auto word : split(query, '&')) {
    if (auto parsed = parse_option(word, options); !parsed) return parsed.error();
  }
  return options;
}

// TLS as the mode wants it; null: none.
Result<std::shared_ptr<const TlsSettings>> tls_of(const MyOptions& options,
                                                  const Endpoint& endpoint,
                                                  TlsSettings tls) {
  const bool local = options.socket || is_this_machine(endpoint.host);
  const bool none = !options.ssl_mode && local && !tls.said();
  const std::string mode = none ? "disabled" : options.ssl_mode.value_or("verify_identity");
  if (options.socket && (options.ssl_mode.value_or("disabled") != "disabled" || tls.said())) {
    return bad("a unix socket has no TLS");
  }
  if (mode == "disabled") {
    if (tls.said())
      return bad("ssl-mode=disabled and another setting of TLS contradict each other");
    return std::shared_ptr<const TlsSettings>();
  }
  if (mode == "required") {
    tls.insecure = true;
  } else if (mode == "verify_ca") {
    tls.any_name = true;
  } else if (mode != "verify_identity") {
    return bad("ssl-mode= is disabled, required, verify_ca or verify_identity");
  }
  return std::make_shared<const TlsSettings>(std::move(tls));
}

std::string text_of(const MyAddress& address) {
  const Endpoint& to = address.endpoint;
  std::string text = "mysql://";
  if (to.socket_path.empty()) text += text_of(HostPort{to.host, to.port});
  text += "/" + percent_encode(address.database, k_beside_letters);
  char before = '?';
  const auto add = [&](const std::string& option) {
    text += before + option;
    before = '&';
  };
  if (address.table != k_default_table) add("table=" + address.table);
  if (!to.socket_path.empty()) add("socket=" + percent_encode(to.socket_path, k_beside_path));
  if (address.with) add("with=" + address.with->text());
  return text;
}

// Behind the scheme.
Result<MyAddress> parse_rest(std::string_view rest, const TlsSettings& tls) {
  MyAddress address;
  if (rest.find('#') != std::string_view::npos) return bad("a '#' is written %23");
  const auto question = rest.find('?');
  std::string_view head = rest.substr(0, question);
  // The last @, so that a password with a raw @ works, as people write it.
  if (const auto at = head.rfind('@'); at != std::string_view::npos) {
    if (auto parsed = parse_user(head.substr(0, at), address); !parsed) return parsed.error();
    head.remove_prefix(at + 1);
  }
  if (address.user.empty()) address.user = user_name();
  const auto slash = head.find('/');
  if (auto parsed = parse_host(head.substr(0, slash), address.endpoint); !parsed) {
    return parsed.error();
  }
  if (slash == std::string_view::npos) return bad("the database is missing: …/DATABASE");
  if (auto parsed = parse_database(head.substr(slash + 1), address); !parsed) {
    return parsed.error();
  }
  const auto options =
      parse_options(question < rest.size() ? rest.substr(question + 1) : std::string_view());
  if (!options) return options.error();
  if (options->socket.has_value() != address.endpoint.host.empty()) {
    return bad("either a host or ?socket=/PATH says where the server is");
  }
  const auto with_tls = tls_of(*options, address.endpoint, tls);
  if (!with_tls) return with_tls.error();
  address.endpoint.tls = *with_tls;
  address.endpoint.socket_path = options->socket.value_or("");
  address.trusts_key = options->ssl_mode == "disabled";
  address.table = options->table;
  address.with = options->with;
  address.text = text_of(address);
  return address;
}

}  // namespace

Result<MyAddress> parse_my_url(std::string_view url, const TlsSettings& tls) {
  if (!is_plain(url)) return bad("spaces and control characters are written %20 and the like");
  for (const std::string_view scheme : {"mysql://", "mariadb://"}) {
    if (url.starts_with(scheme)) return parse_rest(url.substr(scheme.size()), tls);
  }
  return bad("it begins with neither mysql:// nor mariadb://");
}

}  // namespace dlock
