// SPDX-License-Identifier: MIT
#include "sys/stream.hpp"

#include "base/errno_text.hpp"

#include <sys/socket.h>

#include <cerrno>

namespace dlock {

Error socket_error(int error) {
  if (error == EPIPE) return {Errc::unavailable, "closed the connection"};
  // ENOENT: no socket has this path.
  if (error == ECONNREFUSED || error == ENOENT) return {Errc::not_listening, errno_text(error)};
  const bool ours = error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
  return {ours ? Errc::system : Errc::unavailable, errno_text(error)};
}

Result<std::size_t> SocketStream::send(std::string_view bytes) {
  const ssize_t n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (n >= 0) return static_cast<std::size_t>(n);
  if (errno == EINTR || errno == EAGAIN) return std::size_t{0};
  return socket_error(errno);
}

Result<std::size_t> SocketStream::receive(char* buffer, std::size_t size) {
  const ssize_t n = ::recv(fd_.get(), buffer, size, MSG_DONTWAIT);
  if (n > 0) taken_ += static_cast<std::size_t>(n);
  if (n > 0) return static_cast<std::size_t>(n);
  if (n == 0) return Error{Errc::unavailable, "closed the connection"};
  if (errno == EINTR || errno == EAGAIN) return std::size_t{0};
  return socket_error(errno);
}

bool SocketStream::idle() {
  char byte = 0;
  const ssize_t n = ::recv(fd_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n < 0 && (errno == EAGAIN || errno == EINTR);
}

}  // namespace dlock
