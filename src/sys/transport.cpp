// SPDX-License-Identifier: MIT
#include "sys/transport.hpp"

#include "base/errno_text.hpp"
#include "sys/poll_limit.hpp"
#include "sys/resolver.hpp"
#include "sys/tls_stream.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <optional>
#include <vector>

namespace dlock {
namespace {

using namespace std::chrono_literals;

Result<UniqueFd> open_socket(int family) {
  UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return socket_error(errno);
  return fd;
}

// Work that is done once while a connection is being made. An error of the work ends the attempt to
// connect.
using Meanwhile = std::function<Result<void>()>;

Result<UniqueFd> connect_tcp(const SocketAddress& address,
                             const Interrupt* interrupt,
                             Time limit,
                             const Meanwhile& meanwhile) {
  const Time started = BootClock::now();
  auto fd = open_socket(address.family());
  if (!fd) return fd;
  const int on = 1;
  // A request must not wait until the previous one is acknowledged. A failure here is harmless.
  ::setsockopt(fd->get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(fd->get(), address.get(), address.length) == 0) return fd;
  if (errno != EINPROGRESS && errno != EINTR) return socket_error(errno);
  if (auto done = meanwhile(); !done) return done.error();
  const Wake wake = Intake().wait_for(fd->get(), POLLOUT, interrupt, limit);
  if (wake != Wake::ready) return not_ready(wake, started, limit);
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(fd->get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) return socket_error(error);
  return fd;
}

Result<UniqueFd> connect_unix(const std::string& path, const Interrupt* interrupt, Time limit) {
  const Time started = BootClock::now();
  sockaddr_un address{};
  if (path.size() >= sizeof address.sun_path) {
    return Error{Errc::bad_config, "the path of a socket has at most 107 bytes"};
  }
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  auto fd = open_socket(AF_UNIX);
  if (!fd) return fd;
  for (;;) {
    if (::connect(fd->get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      return fd;
    }
    if (errno == EINTR) continue;
    if (errno == EACCES || errno == EPERM) return Error{Errc::denied, errno_text(errno)};
    if (errno != EAGAIN) return socket_error(errno);
    // The server's queue is full. poll(2) cannot wait for room in the queue of a unix socket.
    const Wake wake = Intake().wait_for(-1, 0, interrupt, std::min(limit, BootClock::now() + 5ms));
    if (wake == Wake::limit && BootClock::now() < limit) continue;
    return not_ready(wake, started, limit);
  }
}

// Returns the weight of an error; the heaviest one is reported. What a server said weighs most,
// then a refused connection. A time-out counts only if all addresses timed out.
int weight(Errc code) {
  if (code == Errc::denied || code == Errc::protocol) return 3;
  if (code == Errc::not_listening) return 2;
  return code == Errc::timed_out ? 0 : 1;
}

// Combines the errors of all addresses into one.
Error combined(const std::vector<SocketAddress>& addresses, const std::vector<Error>& errors) {
  bool alike = true;
  Error all{Errc::timed_out, "", Reach::nothing};
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (errors[i].text != errors[0].text) alike = false;
    if (weight(errors[i].code) >= weight(all.code)) all.code = errors[i].code;
    all.reach = std::min(all.reach, errors[i].reach);
    all.text += (i > 0 ? "; " : "") + numeric_text(addresses[i]) + ": " + errors[i].text;
  }
  if (alike) all.text = errors[0].text;
  return all;
}

// Connects to one address, including TLS.
using Attempt =
    std::function<Result<std::unique_ptr<Stream>>(const SocketAddress& address, Time limit)>;

struct Reached {
  std::unique_ptr<Stream> stream;
  std::optional<SocketAddress> one_of_several;  // set if the host has several addresses
};

Result<Reached> connect_host(const Endpoint& to,
                             const Interrupt* interrupt,
                             Time limit,
                             const Attempt& attempt) {
  const auto addresses = resolve(to.host, to.port, limit, interrupt);
  if (!addresses) return reached(Reach::nothing, addresses.error());
  const bool several = addresses->size() > 1;
  std::vector<Error> errors;
  for (std::size_t i = 0; i < addresses->size(); ++i) {
    const SocketAddress& address = (*addresses)[i];
    const Time now = BootClock::now();
    const auto left = static_cast<Duration::rep>(addresses->size() - i);
    auto stream = attempt(address, now + (limit - now) / left);
    if (stream) return Reached{std::move(*stream), several ? std::optional(address) : std::nullopt};
    const Errc code = stream.error().code;
    if (code == Errc::cancelled || code == Errc::system || code == Errc::bad_config)
      return stream.error();
    if (several && code == Errc::timed_out) note_silence(address, true);
    errors.push_back(stream.error());
  }
  return combined(*addresses, errors);
}

Result<void> shake_hands(TlsStream& stream, const Interrupt* interrupt, Time limit) {
  const Time started = BootClock::now();
  Intake intake;
  for (;;) {
    const auto complete = stream.shake_hands();
    if (!complete) return complete.error();
    if (*complete) return {};
    const short events = stream.has_unsent() ? POLLOUT : POLLIN;
    const Wake wake = intake.wait_for(stream.fd(), events, interrupt, limit);
    if (wake == Wake::ready) continue;
    Error error = not_ready(wake, started, limit);
    if (wake != Wake::limit) return error;
    error = over_limit("no answer to the TLS handshake", started, limit);
    if (!stream.heard()) {
      error.text += "; a server without TLS keeps silent like this: is it redis:// ?";
    }
    return error;
  }
}

Result<Reached> connect_plain(const Endpoint& to, const Interrupt* interrupt, Time limit) {
  const auto nothing = [] { return Result<void>(); };
  const auto attempt = [&](const SocketAddress& at, Time by) -> Result<std::unique_ptr<Stream>> {
    auto fd = connect_tcp(at, interrupt, by, nothing);
    if (!fd) return reached(Reach::nothing, fd.error());
    return {std::make_unique<SocketStream>(std::move(*fd))};
  };
  return connect_host(to, interrupt, limit, attempt);
}

// Connects with TLS; the stream that is returned is a TlsStream.
Result<Reached> connect_tls(const Endpoint& to, const Interrupt* interrupt, Time limit) {
  std::optional<Result<TlsSession>> session;  // for the next address to try
  const auto open_session = [&]() -> Result<void> {
    if (!session) session = TlsSession::open(*to.tls, to.host, to.rename);
    return *session ? Result<void>() : session->error();
  };
  const auto attempt = [&](const SocketAddress& at, Time by) -> Result<std::unique_ptr<Stream>> {
    auto fd = connect_tcp(at, interrupt, by, open_session);
    if (!fd) return reached(Reach::nothing, fd.error());
    if (auto opened = open_session(); !opened) return opened.error();
    auto stream = std::make_unique<TlsStream>(std::move(*fd), std::move(**session));
    session.reset();
    if (auto done = shake_hands(*stream, interrupt, by); !done)
      return reached(Reach::connection, done.error());
    return {std::move(stream)};
  };
  auto connected = connect_host(to, interrupt, limit, attempt);
  if (connected) return connected;
  // If a file of the TLS settings cannot be used, that error is reported, not the server that
  // cannot be reached.
  if (auto opened = open_session(); !opened) return opened.error();
  return connected;
}

}  // namespace

Result<Transport> Transport::connect(const Endpoint& endpoint,
                                     Time limit,
                                     const Interrupt* interrupt) {
  if (!endpoint.socket_path.empty()) {
    auto fd = connect_unix(endpoint.socket_path, interrupt, limit);
    if (!fd) return reached(Reach::nothing, fd.error());
    return Transport(std::make_unique<SocketStream>(std::move(*fd)), interrupt);
  }
  auto connected = endpoint.tls != nullptr ? connect_tls(endpoint, interrupt, limit)
                                           : connect_plain(endpoint, interrupt, limit);
  if (!connected)
    return reached(std::max(connected.error().reach, Reach::connection), connected.error());
  Transport transport(std::move(connected->stream), interrupt);
  transport.unheard_ = connected->one_of_several;
  return transport;
}

Result<TlsFacts> Transport::look_at_tls(const Endpoint& endpoint,
                                        Time limit,
                                        const Interrupt* interrupt) {
  DLOCK_ASSERT(endpoint.tls != nullptr);
  const auto reached = connect_tls(endpoint, interrupt, limit);
  if (!reached) return reached.error();
  return static_cast<const TlsStream&>(*reached->stream).facts();
}

Result<void> Transport::start_tls(const Endpoint& endpoint, Time limit) {
  DLOCK_ASSERT(endpoint.tls != nullptr);
  auto* const plain = dynamic_cast<SocketStream*>(stream_.get());
  DLOCK_ASSERT(plain != nullptr);
  auto session = TlsSession::open(*endpoint.tls, endpoint.host, endpoint.rename);
  if (!session) return session.error();
  auto stream = std::make_unique<TlsStream>(plain->take(), std::move(*session));
  if (auto done = shake_hands(*stream, interrupt_, limit); !done) return done;
  stream_ = std::move(stream);
  return {};
}

Result<void> Transport::send(std::string_view bytes, Time limit) {
  const Time started = BootClock::now();
  intake_.begin(limit);
  while (!bytes.empty()) {
    const auto n = stream_->send(bytes);
    if (!n) return n.error();
    bytes.remove_prefix(*n);
    if (*n > 0) continue;
    const Wake wake = intake_.wait_for(stream_->fd(), POLLOUT, interrupt_, limit);
    if (wake != Wake::ready) return not_ready(wake, started, limit);
  }
  intake_.asked();
  return {};
}

Result<void> Transport::await_bytes(Time limit) {
  const Time started = BootClock::now();
  intake_.begin(limit);
  if (stream_->pending()) return {};
  const Wake wake = intake_.wait_for(stream_->fd(), POLLIN, interrupt_, limit);
  if (wake == Wake::ready) return {};
  return not_ready(wake, started, limit);
}

Result<std::size_t> Transport::receive(char* buffer,
                                       std::size_t size,
                                       Time limit,
                                       const Others& beside) {
  DLOCK_ASSERT(size > 0);
  const Time started = BootClock::now();
  intake_.begin(limit);
  Intake::Beside others{};
  for (std::size_t i = 0; i < beside.size(); ++i)
    if (beside[i] != nullptr) others[i] = beside[i]->stream_.get();
  const bool may_be_dead = unheard_ && limit > started;
  if (may_be_dead) limit = started + (limit - started) / 2;
  for (;;) {
    // Polls before it reads, because the answer is nearly always still on its way.
    if (!stream_->pending()) {
      const Wake wake = intake_.wait_for(stream_->fd(), POLLIN, interrupt_, limit, others);
      if (wake == Wake::limit && may_be_dead) note_silence(*unheard_, true);
      if (wake != Wake::ready) return not_ready(wake, started, limit);
    }
    const std::size_t before = stream_->taken();
    auto n = stream_->receive(buffer, size);
    intake_.took(stream_->taken() - before);
    if (intake_.is_flood()) return Intake::flood();
    if (n && *n == 0) continue;
    if (unheard_) note_silence(*unheard_, !n);
    if (n) unheard_.reset();
    return n;
  }
}

}  // namespace dlock
