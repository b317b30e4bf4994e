// SPDX-License-Identifier: MIT
#include "store/postgres/pg_connect.hpp"

#include "base/errno_text.hpp"
#include "sys/poll_limit.hpp"
#include "sys/tls_cpu.hpp"

#include <libpq-fe.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

namespace dlock {
namespace {

PgConnection start(const std::vector<PgParameter>& parameters) {
  std::vector<const char*> names;
  std::vector<const char*> values;
  for (const PgParameter& one : parameters) {
    names.push_back(one.name);
    values.push_back(one.value.c_str());
  }
  names.push_back(nullptr);
  values.push_back(nullptr);
  return PgConnection(::PQconnectStartParams(names.data(), values.data(), 0));
}

// Calls PQconnectPoll as it wants to be called.
Result<bool> shake_hands(const PgConnection& connection, Time limit, const Interrupt* interrupt) {
  if (::PQstatus(connection.get()) == CONNECTION_BAD) return false;
  PostgresPollingStatusType wanted = PGRES_POLLING_WRITING;
  while (wanted == PGRES_POLLING_READING || wanted == PGRES_POLLING_WRITING) {
    const short events = wanted == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    if (auto ready = wait_for_pg(connection, events, limit, interrupt); !ready)
      return ready.error();
    wanted = ::PQconnectPoll(connection.get());
  }
  return wanted == PGRES_POLLING_OK;
}

}  // namespace

void ClosePg::operator()(pg_conn* connection) const {
  // Otherwise PQfinish would still try to send what it has, perhaps the end of a transaction that
  // its user has given up. A process that was forked meanwhile may have the socket as well.
  if (const int fd = ::PQsocket(connection); fd >= 0) ::shutdown(fd, SHUT_RDWR);
  ::PQfinish(connection);
}

Result<void> wait_for_pg(const PgConnection& connection,
                         short events,
                         Time limit,
                         const Interrupt* interrupt) {
  const Time started = BootClock::now();
  for (;;) {
    const Time now = BootClock::now();
    const bool last = now >= limit;  // a look after the limit: an answer wins over it
    std::array<pollfd, 2> fds{{{::PQsocket(connection.get()), events, 0}, polled(interrupt)}};
    const int n = ::poll(fds.data(), fds.size(), poll_ms(limit, now));
    if (n < 0 && errno != EINTR)
      return Error{Errc::system, "cannot wait for a socket: " + errno_text(errno)};
    if (n > 0 && fds[0].revents != 0) return {};
    if (n > 0 && ends_call(interrupt, fds[1])) return Error{Errc::cancelled, "interrupted"};
    if (last) return over_limit("no answer", started, limit);
  }
}

PgConnected connect_pg(const std::vector<PgParameter>& parameters,
                       Time limit,
                       const Interrupt* interrupt) {
  const Time started = BootClock::now();
  set_up_cpu_for_tls();  // logins need the library as well
  PgConnection connection = start(parameters);
  if (!connection) return {{}, {.code = Errc::system, .reason = "out of memory"}};
  // So that an error of the server has its SQLSTATE, which libpq tells of statements only.
  ::PQsetErrorVerbosity(connection.get(), PQERRORS_VERBOSE);
  ::PQsetNoticeReceiver(
      connection.get(), [](void*, const PGresult*) {}, nullptr);
  const auto done = shake_hands(connection, limit, interrupt);
  if (!done) {
    const bool silent = done.error().code == Errc::timed_out;
    const Error error = silent ? over_limit("no answer", started, limit) : done.error();
    return {{}, {.code = error.code, .reason = error.text}};
  }
  if (!*done) return {{}, read_connect_error(::PQerrorMessage(connection.get()))};
  if (::PQsetnonblocking(connection.get(), 1) != 0 || ::PQenterPipelineMode(connection.get()) != 1)
    return {{}, {.code = Errc::system, .reason = reason_of(::PQerrorMessage(connection.get()))}};
  return {std::move(connection), {}};
}

}  // namespace dlock
