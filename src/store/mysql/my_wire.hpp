// SPDX-License-Identifier: MIT
// MyWire: one connection to a server, which libmariadb uses in place of its own sockets, resolver
// and TLS. The library speaks the protocol, and all its bytes go through a Transport. So each call
// of the library ends at its limit or by an Interrupt, host names are resolved as in all other
// stores, and certificates are verified as there, before the server learns who we are.
//
// In MySQL's protocol, TLS begins after the server's greeting, which is plaintext. The client sends
// the first 32 bytes of its login as plaintext, and then the whole login over TLS, as the next
// packet. MyWire does this when the library writes for the first time; the library does not notice.
//
// After an error the connection cannot be used. The error's text is only the reason: "connection
// refused".
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
  // `interrupt` may be null, and must live longer than the wire. `trusts_key`: the password may be
  // encrypted with any RSA key that the server shows.
  MyWire(Endpoint endpoint, bool trusts_key, const Interrupt* interrupt)
      : endpoint_(std::move(endpoint)), trusts_key_(trusts_key), interrupt_(interrupt) {}
  MyWire(const MyWire&) = delete;
  MyWire& operator=(const MyWire&) = delete;
  ~MyWire() = default;

  // Prepares libmariadb; must be called before the library is used. Returns false if that fails.
  static bool start_library();
  // Sets the wire that the library's next connection on this thread will use; null: no wire.
  static void use(MyWire* wire);

  // Sets the limit of later calls and clears error().
  void begin(Time limit);
  // Returns the wire's first error since begin(). An error of the library itself is not included.
  const std::optional<Error>& error() const { return error_; }
  void fail(Error error);

  // Returns whether nobody else can read the connection, because it uses TLS or a unix socket.
  bool is_private() const { return endpoint_.tls != nullptr || !endpoint_.socket_path.empty(); }
  bool trusts_key() const { return trusts_key_; }
  // Returns whether we are connected and the server has sent nothing unread, not even the end.
  bool idle() { return transport_ && transport_->idle(); }
  // Waits until bytes have come or the server has closed the connection. An error of this function
  // does not end the connection.
  Result<void> await_bytes(Time limit);

  // libmariadb calls these in place of its own functions. They return false or 0 after an error.
  bool open();
  void close() { transport_.reset(); }
  std::size_t read(char* buffer, std::size_t size);
  bool write(std::string_view bytes);
  bool awaits_tls() const { return awaits_tls_; }  // TLS is wanted and has not begun yet
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
