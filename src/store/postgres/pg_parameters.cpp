// SPDX-License-Identifier: MIT
#include "store/postgres/pg_parameters.hpp"

#include "base/user_name.hpp"
#include "store/url/host_port.hpp"
#include "sys/tls_trust.hpp"

#include <utility>

namespace dlock {
namespace {

// A path at which there is no file; libpq then uses no file.
constexpr const char* k_no_file = "/dev/null/none";

const char* word_of(PgTls tls) {
  switch (tls) {
    case PgTls::disable:
      return "disable";
    case PgTls::prefer:
      return "prefer";
    case PgTls::require:
      return "require";
    case PgTls::verify_ca:
      return "verify-ca";
    case PgTls::verify_full:
      return "verify-full";
  }
  return "verify-full";
}

std::string or_none(const std::string& file) {
  return file.empty() ? k_no_file : file;
}

// Returns the path of the file with CAs for libpq. With such a file libpq verifies the
// certificate's chain even for the mode "require".
Result<std::string> ca_file(PgTls tls, const TlsSettings& settings) {
  if (tls >= PgTls::verify_ca) return find_ca_file(settings);
  // libpq has nothing like --cacertdir. This returns an error unless --cacert is given, too.
  if (!settings.cacertdir.empty()) return find_ca_file(settings);
  return tls == PgTls::require && !settings.insecure ? or_none(settings.cacert) : k_no_file;
}

}  // namespace

Result<PgTls> tls_of(const PgAddress& address,
                     const PgServer& server,
                     const TlsSettings& settings) {
  const auto contradicts = [](const std::string& what) {
    return Error{Errc::bad_config, what + " contradicts the sslmode of the URL; leave one out"};
  };
  if (server.is_socket()) {
    if (address.tls.value_or(PgTls::prefer) > PgTls::prefer)
      return Error{Errc::bad_config, "a unix socket has no TLS; leave sslmode out of the URL"};
    return PgTls::disable;
  }
  if (!address.tls) {
    if (settings.insecure) return PgTls::require;
    // libpq's own default ("prefer") would send the password to any server that answers.
    const bool nearby = is_this_machine(server.host) && !settings.said();
    return nearby ? PgTls::prefer : PgTls::verify_full;
  }
  if (settings.insecure && *address.tls != PgTls::require) return contradicts("--insecure");
  if (settings.said() && *address.tls < PgTls::require)
    return contradicts("a certificate or name of a server");
  return *address.tls;
}

Result<std::vector<PgParameter>> pg_parameters(const PgAddress& address,
                                               const PgServer& server,
                                               const std::string& numeric,
                                               const TlsSettings& settings) {
  const auto tls = tls_of(address, server, settings);
  if (!tls) return tls.error();
  const auto cas = ca_file(*tls, settings);
  if (!cas) return cas.error();
  const std::string user = address.user.empty() ? user_name() : address.user;
  // libpq connects to `hostaddr`. Then `host` is only the name for the certificate and in messages.
  const std::string& name = settings.sni.empty() ? server.host : settings.sni;
  std::vector<PgParameter> all{
      {"host", server.is_socket() ? server.host : certificate_name(name)},
      {"port", std::to_string(server.port)},
      {"user", user},
      {"dbname", address.database.empty() ? user : address.database},
      {"passfile", k_no_file},
      {"application_name", "dlock"},
      {"client_encoding", "UTF8"},
      {"gssencmode", "disable"},
      // With several servers, one may be a replica, which cannot grant locks; libpq then refuses
      // it.
      {"target_session_attrs", "read-write"},
      {"sslmode", word_of(*tls)},
      {"sslrootcert", *cas},
      {"sslcert", or_none(settings.cert)},
      {"sslkey", or_none(settings.key)},
      {"sslcrl", k_no_file},
      {"sslsni", "1"},
  };
  if (!numeric.empty()) all.push_back({"hostaddr", numeric});
  if (!address.password.empty()) all.push_back({"password", address.password.reveal()});
  if (!settings.key_password.empty())
    all.push_back({"sslpassword", settings.key_password.reveal()});
  return all;
}

}  // namespace dlock
