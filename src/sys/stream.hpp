// SPDX-License-Identifier: MIT
// Stream: the plain bytes of one connection, sent and received without waiting. Transport waits and
// has the limits. What travels on the socket may differ: a TLS record may carry no plain byte at
// all (a session ticket, a key update). So ask the stream, not the socket, whether anything has
// come.
//
// After an error the stream is unusable. The end of the stream is the error Errc::unavailable
// "closed the connection".
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

  // Sends a first part of `bytes` and returns its length; 0: poll until the socket is writable.
  virtual Result<std::size_t> send(std::string_view bytes) = 0;

  // Returns how many plain bytes were received; 0: poll until the socket is readable. size > 0.
  virtual Result<std::size_t> receive(char* buffer, std::size_t size) = 0;

  // How many bytes the socket has received so far, plain or not.
  virtual std::size_t taken() const = 0;

  // Whether plain bytes were already read from the socket: poll(2) does not know of them.
  virtual bool pending() const = 0;

  // Whether neither a plain byte nor the end of the stream has come. May read bytes that carry
  // neither.
  virtual bool idle() = 0;
};

// A socket without encryption.
class SocketStream final : public Stream {
 public:
  explicit SocketStream(UniqueFd fd) : fd_(std::move(fd)) {}

  int fd() const override { return fd_.get(); }
  Result<std::size_t> send(std::string_view bytes) override;
  Result<std::size_t> receive(char* buffer, std::size_t size) override;
  std::size_t taken() const override { return taken_; }
  bool pending() const override { return false; }
  bool idle() override;
  UniqueFd take() { return std::move(fd_); }  // ends this stream and keeps the connection

 private:
  UniqueFd fd_;
  std::size_t taken_ = 0;
};

// Returns the error that an errno of a socket means.
Error socket_error(int error);

}  // namespace dlock
