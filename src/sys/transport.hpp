// SPDX-License-Identifier: MIT
// Transport: one connected stream over a socket (TCP or unix). Every call has a limit on the
// BootClock, and ends early with Errc::cancelled if its Interrupt says so. Even at its limit or
// after an interrupt a call takes the bytes that have already arrived, within bounds (Intake): an
// answer is worth more than a quick end. A Stream moves the bytes.
//
// An error's text is only the reason ("connection refused", "no answer within 300ms"); the caller
// adds what could not be reached. After an error the connection is unusable and must be dropped.
// The limit is checked after every wake-up, but the limit does not wake a sleeping machine up.
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
  std::uint16_t port = 0;                  // port of the host
  std::string socket_path;                 // if set, a unix socket; then host and port mean nothing
  std::shared_ptr<const TlsSettings> tls;  // null: no TLS
  // Advice for a certificate that does not name the host: how the host can get one of the names in
  // the certificate. Empty: the advice is to connect by one of these names.
  std::string_view rename = {};
};

class Transport {
 public:
  // Tries the addresses of the host in turn. They share the time left evenly, so that a dead first
  // address does not take it all. With TLS the handshake also has to be complete within the time of
  // its address, and the errors of TlsSession may be returned too. Errc::no_such_host: the host has
  // no address. Errc::not_listening: an address refused, and no other address failed with denied or
  // protocol. `interrupt` may be null; otherwise it must outlive the Transport.
  static Result<Transport> connect(const Endpoint& endpoint,
                                   Time limit,
                                   const Interrupt* interrupt);

  // Connects only to look at TLS and the server's certificate; the endpoint must have TLS. Errors
  // as for connect().
  static Result<TlsFacts> look_at_tls(const Endpoint& endpoint,
                                      Time limit,
                                      const Interrupt* interrupt);

  // Uses a connected stream. `interrupt` as for connect().
  Transport(std::unique_ptr<Stream> stream, const Interrupt* interrupt)
      : stream_(std::move(stream)), interrupt_(interrupt) {}

  // Sends all of `bytes`.
  Result<void> send(std::string_view bytes, Time limit);

  // Receives at least one byte. Errc::unavailable "closed the connection": the end of the stream.
  // Errc::protocol: more than k_answer_bytes since the newest send() or, if that is later,
  // since `limit` changed. After the limit, receives only bytes that have already arrived.
  // Errc::timed_out comes before the limit in two cases: one of `beside` has something to read or
  // has ended; or half of the time has passed, the server has never sent a byte, and its host has
  // other addresses, which the next connect() tries first.
  using Others = std::array<Transport*, 2>;  // null: none
  Result<std::size_t> receive(char* buffer,
                              std::size_t size,
                              Time limit,
                              const Others& beside = {});

  // Waits until something can be received or the stream has ended.
  Result<void> await_bytes(Time limit);

  // Switches to the endpoint's TLS, for a protocol that begins without it. All that the peer has
  // sent must have been read, and the peer must expect the handshake. Errors as for TlsSession.
  Result<void> start_tls(const Endpoint& endpoint, Time limit);

  // Whether the peer has neither closed the connection nor sent anything: then the connection can
  // be used for a new request.
  bool idle() { return stream_->idle(); }

 private:
  std::unique_ptr<Stream> stream_;
  const Interrupt* interrupt_ = nullptr;
  Intake intake_;
  // Set while the server is silent and its host has other addresses.
  std::optional<SocketAddress> unheard_;
};

}  // namespace dlock
