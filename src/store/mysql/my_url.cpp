// SPDX-License-Identifier: MIT
#include "store/mysql/my_url.hpp"

#include "base/text.hpp"
#include "base/user_name.hpp"
#include "store/url/store_url.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace dlock {
namespace {

constexpr UrlScheme k_schemes[] = {{"mysql://", true}, {"mariadb://", true}};
constexpr std::string_view k_options[] = {"socket", "table", "with", "ssl-mode"};
constexpr std::uint16_t k_port = 3306;
constexpr std::size_t k_longest_name = 64;  // longest name of a database or a table
constexpr std::string_view k_default_table = "dlock";
constexpr std::string_view k_beside_letters = "-._~";
constexpr std::string_view k_beside_path = "-._~/";

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool has_nul(const std::string& text) {
  return text.find('\0') != std::string::npos;
}

Result<void> parse_database(std::string_view path, MyAddress& address) {
  const std::string_view name = path.substr(std::min<std::size_t>(1, path.size()));
  address.database = percent_decode(name);
  if (address.database.empty()) return bad_url("the database is missing: …/DATABASE");
  if (name.find('/') != std::string_view::npos)
    return bad_url("a '/' in a database is written %2F");
  if (has_nul(address.database) || address.database.size() > k_longest_name) {
    return bad_url("the name of a database has at most 64 bytes, none of them NUL");
  }
  return {};
}

bool is_identifier(std::string_view name) {
  const auto of_name = [](char c) { return is_alphanumeric(c) || c == '_'; };
  return !name.empty() && name.size() <= k_longest_name &&
         std::all_of(name.begin(), name.end(), of_name);
}

Result<void> set_table(const StoreUrl& parts, MyAddress& address) {
  address.table = parts.option("table").value_or(std::string(k_default_table));
  if (is_identifier(address.table)) return {};
  return bad_url("table= is a name of at most 64 letters, digits and '_'");
}

Result<void> set_with(const StoreUrl& parts, MyAddress& address) {
  const auto value = parts.option("with");
  if (!value) return {};
  auto with =
      parse_with(*value,
                 {.all = "get_lock or row:TABLE.COLUMN, of names with letters, digits and '_'",
                  .get_lock = true,
                  .is_table = &is_identifier,
                  .is_column = &is_identifier});
  if (!with) return with.error();
  address.with = std::move(*with);
  return {};
}

Result<void> set_server(const StoreUrl& parts, Endpoint& endpoint) {
  endpoint.port = k_port;
  const auto socket = parts.option("socket");
  if (socket.has_value() != parts.hosts.empty())
    return bad_url("either a host or ?socket=/PATH says where the server is");
  if (socket) {
    endpoint.socket_path = *socket;
    return check_socket_path(*socket);
  }
  auto at = parse_host_port(parts.hosts, k_port);
  if (!at) return at.error();
  endpoint.host = std::move(at->host);
  endpoint.port = at->port;
  return {};
}

// Returns the TLS settings that `ssl_mode` asks for; null: no TLS.
Result<std::shared_ptr<const TlsSettings>> tls_of(const std::optional<std::string>& ssl_mode,
                                                  const Endpoint& endpoint,
                                                  TlsSettings tls) {
  const bool is_socket = !endpoint.socket_path.empty();
  const bool none = !ssl_mode && (is_socket || is_this_machine(endpoint.host)) && !tls.said();
  const std::string mode = none ? "disabled" : ssl_mode.value_or("verify_identity");
  if (is_socket && (ssl_mode.value_or("disabled") != "disabled" || tls.said())) {
    return bad_url("a unix socket has no TLS");
  }
  if (mode == "disabled") {
    if (tls.said())
      return bad_url("ssl-mode=disabled and another setting of TLS contradict each other");
    return std::shared_ptr<const TlsSettings>();
  }
  if (mode == "required") {
    tls.insecure = true;
  } else if (mode == "verify_ca") {
    tls.any_name = true;
  } else if (mode != "verify_identity") {
    return bad_url("ssl-mode= is disabled, required, verify_ca or verify_identity");
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

}  // namespace

Result<MyAddress> parse_my_url(std::string_view url, const TlsSettings& tls) {
  auto parts = split_store_url(url, {.schemes = k_schemes, .options = k_options});
  if (!parts) return parts.error();
  MyAddress address;
  address.user = parts->user.empty() ? user_name() : std::move(parts->user);
  address.password = std::move(parts->password);
  if (auto set = parse_database(parts->path, address); !set) return set.error();
  if (auto set = set_server(*parts, address.endpoint); !set) return set.error();
  if (auto set = set_table(*parts, address); !set) return set.error();
  if (auto set = set_with(*parts, address); !set) return set.error();
  const auto ssl_mode = parts->option("ssl-mode");
  const auto with_tls = tls_of(ssl_mode, address.endpoint, tls);
  if (!with_tls) return with_tls.error();
  address.endpoint.tls = *with_tls;
  address.trusts_key = ssl_mode == "disabled";
  address.text = text_of(address);
  return address;
}

}  // namespace dlock
