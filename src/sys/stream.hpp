// SPDX-License-Identifier: MIT
// Stream: the plain bytes of one connection, moved without waiting. Transport waits, and has the
// limits. What travels on the socket may be something else: a sealed record can carry no plain byte
// at all (a session ticket, a key update). So "has anything come?" is a question to the stream, not
// to the socket.
//
// After an error the stream is of no use. The end of the stream is Errc::unavailable "closed the
// connection".
#pragma once

#include "base/result.hpp"
#include "sys/unique_fd.hpp"

#include <cstddef>
#include <string_view>
#include <utility>

namespace dlock {

class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  virtual int fd() const = 0;  // to be polled

  // Returns how many of the bytes were taken, from the first on; 0: poll until the socket is
  // writable.
  virtual Result<std::size_t> send(std::string_view bytes) = 0;

  // Returns how many plain bytes came; 0: poll until the socket is readable. size > 0.
  virtual Result<std::size_t> receive(char* buffer, std::size_t size) = 0;

  // How many bytes the socket has received so far, plain or not.
  virtual std::size_t taken() const = 0;

  // Plain bytes were read from the socket already, and poll() knows nothing of them.
  virtual bool pending() const = 0;

  // Neither a plain byte nor the end has come. May read bytes from the socket that carry neither.
  virtual bool idle() = 0;
};

// A socket whose bytes are the plain ones.
class SocketStream final : public Stream {
 public:
  explicit SocketStream(UniqueFd fd) : fd_(std::move(fd)) {}

  int fd() const override { return fd_.get(); }
  Result<std::size_t> send(std::string_view bytes) override;
  Result<std::size_t> receive(char* buffer, std::size_t size) override;
  std::size_t taken() const override { return taken_; }
  bool pending() const override { return false; }
  bool idle() override;
  UniqueFd take() { return std::move(fd_); }  // the end of this stream, not of the connection

 private:
  UniqueFd fd_;
  std::size_t taken_ = 0;
};

// What an errno of a socket means.
Error socket_error(int error);

}  // namespace dlock
