// SPDX-License-Identifier: MIT
// TlsStream: a Stream over TLS; moves bytes between a socket and a TlsSession.
#pragma once

#include "sys/stream.hpp"
#include "sys/tls_session.hpp"

#include <optional>

namespace dlock {

class TlsStream final : public Stream {
 public:
  TlsStream(UniqueFd fd, TlsSession session)
      : socket_(std::move(fd)), session_(std::move(session)) {}

  // Does one step of the handshake. False: not complete yet; poll until the socket is writable if
  // has_unsent(), otherwise until it is readable.
  Result<bool> shake_hands();
  bool has_unsent() { return !session_.unsent().empty(); }
  bool heard() const { return session_.heard(); }  // whether the server has sent anything
  TlsFacts facts() const { return session_.facts(); }

  int fd() const override { return socket_.fd(); }
  // Returns 0 until all records of the bytes have been sent: call it again with the same bytes.
  Result<std::size_t> send(std::string_view bytes) override;
  Result<std::size_t> receive(char* buffer, std::size_t size) override;
  std::size_t taken() const override { return socket_.taken(); }
  bool pending() const override { return !session_.plain().empty() || end_.has_value(); }
  bool idle() override;

 private:
  Result<void> flush();  // sends as much as the socket takes now
  bool fill();           // reads from the socket; false: nothing has come

  SocketStream socket_;
  TlsSession session_;
  std::size_t sealed_ = 0;    // how many plain bytes session_.unsent() has, encrypted
  std::optional<Error> end_;  // the error that receive() returns after all plain bytes
};

}  // namespace dlock
