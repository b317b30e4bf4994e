// SPDX-License-Identifier: MIT
// MyWire: one connection to a server, in place of libmariadb's own sockets, resolver and TLS. The
// library speaks the protocol, and all bytes go through a Transport. So every call of the library
// ends at a limit or by an Interrupt, our resolver resolves host names, and certificates are
// verified as in all other stores: before the server learns who we are.
//
// In MySQL's protocol TLS begins after the server's plaintext greeting: the client sends the first
// 32 bytes of its login alone, and then the whole login over TLS, as the next packet. MyWire does
// that within the library's first write, unknown to the library.
//
// An error ends the connection. Its text is only the reason, as "connection refused".
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
  // `interrupt` may be null and must outlive us. `trusts_key`: the password may be encrypted with
  // any RSA key that the server shows.
  MyWire(Endpoint endpoint, bool trusts_key, const Interrupt* interrupt)
      : endpoint_(std::move(endpoint)), trusts_key_(trusts_key), interrupt_(interrupt) {}
  MyWire(const MyWire&) = delete;
  MyWire& operator=(const MyWire&) = delete;
  ~MyWire() = default;

  // Starts libmariadb; call it before any use of the library. Returns false if the library cannot
  // be used.
  static bool start_library();
  // Sets the wire for the library's next connection on this thread; null: no wire.
  static void use(MyWire* wire);

  // Sets the limit of later calls and clears error().
  void begin(Time limit);
  // Returns the first error of this wire since begin(); errors of the library are not included.
  const std::optional<Error>& error() const { return error_; }
  void fail(Error error);

  // Returns whether nobody else can read the connection: it uses TLS or a unix socket.
  bool is_private() const { return endpoint_.tls != nullptr || !endpoint_.socket_path.empty(); }
  bool trusts_key() const { return trusts_key_; }
  // Returns whether we are connected and nothing unread has come, not even the end of the stream.
  bool idle() { return transport_ && transport_->idle(); }
  // Waits until bytes or the end of the stream have come. An error here does not end the
  // connection.
  Result<void> await_bytes(Time limit);

  // Called by libmariadb, in place of its own sockets. They return false or 0 after an error.
  bool open();
  void close() { transport_.reset(); }
  std::size_t read(char* buffer, std::size_t size);
  bool write(std::string_view bytes);
  bool awaits_tls() const { return awaits_tls_; }  // the endpoint wants TLS, and it has not begun
  bool start_tls(std::string_view request);

 private:
  Endpoint endpoint_;
  bool trusts_key_;
  const Interrupt* interrupt_;
  Time limit_{};
  std::optional<Error> error_;
  std::optional<Transport> transport_;
  bool awaits_tls_ = false;
  std::string heard_;  // the first bytes from the server on this connection
};

}  // namespace dlock
