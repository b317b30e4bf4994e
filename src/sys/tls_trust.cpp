// SPDX-License-Identifier: MIT
#include "sys/tls_trust.hpp"

#include "base/errno_text.hpp"
#include "base/text.hpp"

#include <dirent.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>

namespace dlock {
namespace {

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};
using Dir = std::unique_ptr<DIR, CloseDir>;

// Whether the name is that of a link to a CA as openssl-rehash(1) makes it: "5ed36f99.0".
bool is_hashed_name(std::string_view name) {
  constexpr std::size_t k_digits = 8;
  return name.size() > k_digits + 1 && name[k_digits] == '.' &&
         name.substr(0, k_digits).find_first_not_of("0123456789abcdef") == std::string_view::npos &&
         name.substr(k_digits + 1).find_first_not_of("0123456789") == std::string_view::npos;
}

bool has_hashed_name(DIR* dir) {
  while (const dirent* const entry = ::readdir(dir)) {
    if (is_hashed_name(entry->d_name)) return true;
  }
  return false;
}

bool is_hashed(const char* path) {
  const Dir dir(::opendir(path));
  return dir != nullptr && has_hashed_name(dir.get());
}

Result<void> check_hashed(const std::string& path) {
  const std::string cannot = "cannot use --cacertdir " + printable(path) + ": ";
  const Dir dir(::opendir(path.c_str()));
  if (dir == nullptr) return Error{Errc::bad_config, cannot + errno_text(errno)};
  if (has_hashed_name(dir.get())) return {};
  return Error{Errc::bad_config,
               cannot + "no file in it has a hashed name such as 5ed36f99.0; run openssl rehash " +
                   printable(path)};
}

bool can_read(const char* path) {
  return ::access(path, R_OK) == 0;
}

std::string if_there(const std::string& path) {
  return can_read(path.c_str()) ? path : "";
}

// Returns the error for CAs that the user chose with a variable and that cannot be read. No other
// CAs replace them.
Error missing(const char* variable, const std::string& path) {
  errno = 0;
  static_cast<void>(can_read(path.c_str()));
  return {Errc::bad_config,
          std::string("cannot use ") + variable + " " + printable(path) + ": " + errno_text(errno)};
}

// Returns the system's bundle of CAs; empty: there is no bundle.
std::string system_bundle() {
  for (const char* const file : {"/etc/ssl/certs/ca-certificates.crt",
                                 "/etc/pki/tls/certs/ca-bundle.crt",
                                 "/etc/ssl/ca-bundle.pem",
                                 "/etc/ssl/cert.pem"}) {
    if (can_read(file)) return file;
  }
  return {};
}

Error no_cas() {
  return {Errc::bad_config, "this machine has no CA certificates; name the CA with --cacert FILE"};
}

}  // namespace

Result<TrustedCas> find_trusted_cas(const TlsSettings& settings) {
  if (!settings.cacertdir.empty()) {
    if (auto hashed = check_hashed(settings.cacertdir); !hashed) return hashed.error();
  }
  TrustedCas said{settings.cacert, settings.cacertdir};
  if (!said.file.empty() || !said.dir.empty()) return said;
  said = {if_there(settings.default_file), if_there(settings.default_dir)};
  if (!said.file.empty() || !said.dir.empty()) return said;
  if (!settings.default_file.empty()) return missing("SSL_CERT_FILE", settings.default_file);
  if (!settings.default_dir.empty()) return missing("SSL_CERT_DIR", settings.default_dir);
  for (const char* const dir :
       {"/etc/ssl/certs", "/etc/pki/ca-trust/extracted/pem/directory-hash", "/etc/pki/tls/certs"}) {
    if (is_hashed(dir)) return TrustedCas{"", dir};
  }
  if (std::string file = system_bundle(); !file.empty()) return TrustedCas{std::move(file), ""};
  return no_cas();
}

Result<std::string> find_ca_file(const TlsSettings& settings) {
  if (!settings.cacert.empty()) return settings.cacert;
  if (!settings.cacertdir.empty())
    return Error{Errc::bad_config,
                 "this store cannot use --cacertdir; name the CA with --cacert FILE"};
  if (const std::string& file = settings.default_file; !file.empty()) {
    if (can_read(file.c_str())) return file;
    return missing("SSL_CERT_FILE", file);
  }
  if (!settings.default_dir.empty())
    return Error{Errc::bad_config,
                 "this store cannot use SSL_CERT_DIR; name the CA with --cacert FILE"};
  std::string file = system_bundle();
  if (file.empty()) return no_cas();
  return file;
}

}  // namespace dlock
