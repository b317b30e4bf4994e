// SPDX-License-Identifier: MIT
// Transport: one connected stream over a socket (TCP or unix). Every call has a limit on the
// BootClock and ends early with Errc::cancelled if its Interrupt says so. What is there already is
// taken even then, in bounds (Intake): an answer is worth more than a quick end. The bytes are
// moved by a Stream.
//
// Errors carry only the reason ("connection refused", "no answer within 300ms"); the caller says
// what could not be reached. After an error the connection is of no use: drop it. The limit is read
// again after every wake-up, but a sleeping machine does not wake up for it.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "sys/intake.hpp"
#include "sys/interrupt.hpp"
#include "sys/socket_address.hpp"
#include "sys/stream.hpp"
#include "sys/tls_facts.hpp"
#include "sys/tls_settings.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace dlock {

struct Endpoint {
  std::string host;                        // a name or a numeric address, IPv6 without brackets
  std::uint16_t port = 0;                  // of the host
  std::string socket_path;                 // if set: a unix socket, host and port mean nothing
  std::shared_ptr<const TlsSettings> tls;  // of the host; null: plain
  // Advice to the user for a certificate that does not have the host among its names. The advice is
  // an order: it says how to make one of the certificate's names the host. Empty: the advice is to
  // connect by one of those names.
  std::string_view rename = {};
};

class Transport {
 public:
  // Tries each address of the host in turn; the time left is shared evenly, so that a dead first
  // address does not take it all. `interrupt` may be null and must outlive us. Errc::no_such_host,
  // not_listening: every address was asked in time, and refused. With TLS it returns after the
  // handshake, in the time of its address, and has the errors of TlsSession besides.
  static Result<Transport> connect(const Endpoint& endpoint,
                                   Time limit,
                                   const Interrupt* interrupt);

  // Connects only to look at TLS and the server's certificate. The endpoint uses TLS; errors as
  // above.
  static Result<TlsFacts> look_at_tls(const Endpoint& endpoint,
                                      Time limit,
                                      const Interrupt* interrupt);

  // Uses a connected stream. `interrupt` as above.
  Transport(std::unique_ptr<Stream> stream, const Interrupt* interrupt)
      : stream_(std::move(stream)), interrupt_(interrupt) {}

  // Sends all of `bytes`.
  Result<void> send(std::string_view bytes, Time limit);

  // Receives at least one byte. Errc::unavailable "closed the connection": the end of the stream.
  // Errc::protocol: more than k_answer_bytes since the newest send() or limit. After the limit it
  // only takes what is there. Errc::timed_out comes early if one of `beside` has something to read
  // or has ended, and at half of the limit if the server has been silent so far and its host has
  // other addresses: the next connect() begins with those.
  using Others = std::array<Transport*, 2>;  // null: none
  Result<std::size_t> receive(char* buffer,
                              std::size_t size,
                              Time limit,
                              const Others& beside = {});

  // Waits until something can be received, or the end of the stream.
  Result<void> await_bytes(Time limit);

  // Uses the endpoint's TLS from now on, for a protocol that begins without it. The peer expects
  // the handshake, and all it sent before was read. The errors are those of TlsSession.
  Result<void> start_tls(const Endpoint& endpoint, Time limit);

  // The peer has neither closed nor sent anything: a kept connection may carry a new question.
  bool idle() { return stream_->idle(); }

 private:
  std::unique_ptr<Stream> stream_;
  const Interrupt* interrupt_ = nullptr;
  Intake intake_;
  std::optional<SocketAddress> unheard_;  // one of several addresses of its host, silent so far
};

}  // namespace dlock
