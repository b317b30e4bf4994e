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
  // For a certificate with other names: what makes them the host, in the imperative. Empty: to
  // write one of them in place of the host.
  std::string_view rename = {};
};

class Transport {
 public:
  // Tries each address of the host in turn; what is left of the time is shared evenly, so that a
  // dead first address does not take it all. `interrupt` may be null and must outlive us.
  // Errc::no_such_host, not_listening: asked in time and known for sure. With TLS it returns after
  // the handshake, in the time of its address, and has the errors of TlsSession besides.
  static Result<Transport> connect(const Endpoint& endpoint,
                                   Time limit,
                                   const Interrupt* interrupt);

  // Connects only for a look at TLS and the server's certificate. The endpoint is one with TLS; the
  // errors are those above.
  static Result<TlsFacts> look_at_tls(const Endpoint& endpoint,
                                      Time limit,
                                      const Interrupt* interrupt);

  // Over a stream that is connected. `interrupt` as above.
  Transport(std::unique_ptr<Stream> stream, const Interrupt* interrupt)
      : stream_(std::move(stream)), interrupt_(interrupt) {}

  // All of `bytes`.
  Result<void> send(std::string_view bytes, Time limit);

  // At least one byte. The end of the stream is Errc::unavailable "closed the connection"; a stream
  // that is none, Errc::protocol: more than k_answer_bytes since the newest send() or limit. With a
  // limit that has passed it only takes what is there. Errc::timed_out comes sooner when there is
  // something to read, or an end, at one of `beside`, and at half of the limit where the server has
  // not said anything yet and its host has other addresses: the next connect() begins with those.
  using Others = std::array<Transport*, 2>;  // null: none
  Result<std::size_t> receive(char* buffer,
                              std::size_t size,
                              Time limit,
                              const Others& beside = {});

  // Until something can be received, or the end of the stream.
  Result<void> await_bytes(Time limit);

  // From now on with the endpoint's TLS, for a protocol that begins without. The peer expects the
  // handshake, and nothing that came before it is left unread. The errors are those of TlsSession.
  Result<void> start_tls(const Endpoint& endpoint, Time limit);

  // The peer has neither closed nor sent anything: a kept connection may carry a new question.
  bool idle() { return stream_->idle(); }

 private:
  std::unique_ptr<Stream> stream_;
  const Interrupt* interrupt_ = nullptr;
  Intake intake_;
  std::optional<SocketAddress> unheard_;  // one of several of its host, which has not spoken yet
};

}  // namespace dlock
