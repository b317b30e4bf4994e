// SPDX-License-Identifier: MIT
// MyWire: one connection to a server, in place of libmariadb's own sockets, resolver and TLS. The
// library keeps to the protocol; each byte goes through a Transport, so every call of the library
// ends at a limit and by an Interrupt, host names are resolved by our resolver, and certificates
// are judged as those of all other stores: before the server learns who we are.
//
// In MySQL's protocol TLS begins behind the plain greeting of the server: the client sends the
// first 32 bytes of its login alone, and the whole of it by TLS, as the packet after that. That is
// put into the first write of the library, which has no part in it.
//
// An error ends the connection. Its text is the reason only ("connection refused").
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

  // Once in a process, before anything else of libmariadb. False: it cannot be used.
  static bool start_library();
  // The one that a connection of the library is made with, on this thread; null: none.
  static void use(MyWire* wire);

  // Of the calls that follow; forgets the newest error.
  void begin(Time limit);
  // The first since begin(); an error of the library has none.
  const std::optional<Error>& error() const { return error_; }
  void fail(Error error);

  // Only its two ends can read it: TLS or a unix socket.
  bool is_private() const { return endpoint_.tls != nullptr || !endpoint_.socket_path.empty(); }
  bool trusts_key() const { return trusts_key_; }
  // Connected, and nothing has come that was not read, not even an end.
  bool idle() { return transport_ && transport_->idle(); }
  // Until something has come. An error of it is none of the connection: that stays.
  Result<void> await_bytes(Time limit);

  // For the library. False, 0: an error.
  bool open();
  void close() { transport_.reset(); }
  std::size_t read(char* buffer, std::size_t size);
  bool write(std::string_view bytes);
  bool awaits_tls() const { return awaits_tls_; }  // of the endpoint, not begun yet
  bool start_tls(std::string_view request);

 private:
  Endpoint endpoint_;
  bool trusts_key_;
  const Interrupt* interrupt_;
  Time limit_{};
  std::optional<Error> error_;
  std::optional<Transport> transport_;
  bool awaits_tls_ = false;
  std::string heard_;  // what the server of this connection said first
};

}  // namespace dlock
