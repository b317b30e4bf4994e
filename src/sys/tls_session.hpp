// SPDX-License-Identifier: MIT
// TlsSession: the client's side of one TLS connection, as a function of bytes. The peer's bytes go
// in; plain bytes, and bytes to send to the peer, come out. It has no socket and never waits.
//
// It promises that no plain byte is encrypted before the handshake is complete. The handshake is
// complete only if the chain and the name of the server's certificate were verified (except with
// TlsSettings::insecure or any_name). It speaks TLS 1.2 and 1.3. It reads no openssl.cnf and no
// crypto policy of the system.
//
// An error ends the session. Its text is the reason ("its certificate expired on …").
// Errc::protocol: we cannot trust or understand the server. Errc::denied: the server wants another
// client certificate. Errc::unavailable: the connection has ended.
#pragma once

#include "base/result.hpp"
#include "sys/tls_facts.hpp"
#include "sys/tls_settings.hpp"

#include <memory>
#include <string>
#include <string_view>

struct ssl_st;  // NOLINT(readability-identifier-naming): OpenSSL's name

namespace dlock {

class TlsSession {
 public:
  // Reads the files of the settings. `host`: the name or address used to find the server. `rename`:
  // advice for a wrong name in the certificate (Endpoint::rename). Errc::bad_config: a file cannot
  // be used, or this dlock was built without TLS.
  static Result<TlsSession> open(const TlsSettings& settings,
                                 const std::string& host,
                                 std::string_view rename = {});

  // Takes encrypted bytes from the peer, in pieces of any size. Plain bytes that came before an
  // error are kept.
  Result<void> feed(std::string_view sealed);
  bool heard() const { return heard_; }  // the peer has sent something

  bool established() const;
  TlsFacts facts() const;  // only if established()
  // Encrypts all of `plain` and appends it to unsent(). Only if established().
  Result<void> seal(std::string_view plain);

  // Bytes to send to the peer; the caller removes what it has sent.
  std::string& unsent() { return unsent_; }
  // Plain bytes from the peer; the caller removes what it has used.
  std::string& plain() { return plain_; }
  const std::string& plain() const { return plain_; }

 private:
  struct Verdict;  // what was found out during the handshake
  struct Free {
    void operator()(ssl_st* ssl) const;
    void operator()(Verdict* verdict) const;
  };
  TlsSession();

  Error failure(int result) const;
  Error server_alert(int alert) const;
  void collect();
  static int note_chain(int good, void* context);
  static int note_request(ssl_st* ssl, void* verdict);

  std::unique_ptr<Verdict, Free> verdict_;
  std::unique_ptr<ssl_st, Free> ssl_;
  std::string unsent_;
  std::string plain_;
  bool heard_ = false;
};

// Returns "OpenSSL 3.0.19 …"; empty if built without TLS.
std::string tls_library();

}  // namespace dlock
