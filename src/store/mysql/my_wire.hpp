// SPDX-License-Identifier: MIT
// MyWire: one connection to a server, in place of libmariadb's own sockets, resolver and TLS. The
// library keeps to the protocol; each byte goes through a Transport, so every call of the library
// ends at a limit and by an Interrupt, our resolver resolves host names, and certificates are
// judged as in all other stores: before the server learns who we are.
//
// In MySQL's protocol TLS begins after the server's plain greeting: the client sends the first 32
// bytes of its login alone, and then the whole login by TLS, as the next packet. MyWire does that
// within the library's first write; the library has no part in it.
//
// An error ends the connection. Its text is only the reason ("connection refused").
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "sys/interrupt.hpp"
#include "sys/transport.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace dlock {

class MyWire {
 public:
  // `interrupt` may be null and must outlive us.
  // `trusts_key`: a password may be sealed with whatever key the server shows.
  MyWire(Endpoint endpoint, bool trusts_key, const Interrupt* interrupt)
      : endpoint_(std::move(endpoint)), trusts_key_(trusts_key), interrupt_(interrupt) {}
  MyWire(const MyWire&) = delete;
  MyWire& operator=(const MyWire&) = delete;
  ~MyWire() = default;

  // Called once in a process, before libmariadb is used. False: the library cannot be used.
  static bool start_library();
  // Sets the wire for the library's next connection on this thread; null: no wire.
  static void use(MyWire* wire);

  // Sets the limit of the calls that follow; forgets the newest error.
  void begin(Time limit);
  // The first error since begin(); the library's own errors are not here.
  const std::optional<Error>& error() const { return error_; }
  void fail(Error error);

  // Whether only the two ends of the connection can read it: it has TLS or is a unix socket.
  bool is_private() const { return endpoint_.tls != nullptr || !endpoint_.socket_path.empty(); }
  bool trusts_key() const { return trusts_key_; }
  // Connected, and nothing unread has come, not even an end.
  bool idle() { return transport_ && transport_->idle(); }
  // Waits until something has come. Its error does not end the connection.
  Result<void> await_bytes(Time limit);

  // For the library. False, 0: an error.
  bool open();
  void close() { transport_.reset(); }
  std::size_t read(char* buffer, std::size_t size);
  bool write(std::string_view bytes);
  bool awaits_tls() const { return awaits_tls_; }  // of the endpoint, not yet begun
  bool start_tls(std::string_view request);

 private:
  Endpoint endpoint_;
  bool trusts_key_;
  const Interrupt* interrupt_;
  Time limit_{};
  std::optional<Error> error_;
  std::optional<Transport> transport_;
  bool awaits_tls_ = false;
  std::string heard_;  // the first words of this connection's server
};

}  // namespace dlock
