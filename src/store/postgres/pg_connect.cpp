// SPDX-License-Identifier: MIT
#include "store/postgres/pg_connect.hpp"

#include "store/postgres/pg_call.hpp"
#include "sys/poll_limit.hpp"
#include "sys/tls_cpu.hpp"

#include <libpq-fe.h>
#include <poll.h>
#include <sys/socket.h>

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

// Calls PQconnectPoll until the connection is made. Returns false if libpq reports an error. Sets
// `reach` to Reach::connection once a server has taken the connection.
Result<bool> shake_hands(const PgConnection& connection, PgCall& call, Reach& reach) {
  if (::PQstatus(connection.get()) == CONNECTION_BAD) return false;
  PostgresPollingStatusType wanted = PGRES_POLLING_WRITING;
  while (wanted == PGRES_POLLING_READING || wanted == PGRES_POLLING_WRITING) {
    const short events = wanted == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    if (auto ready = call.wait(::PQsocket(connection.get()), events); !ready) return ready.error();
    wanted = ::PQconnectPoll(connection.get());
    const ConnStatusType status = ::PQstatus(connection.get());
    if (status != CONNECTION_BAD && status != CONNECTION_STARTED && status != CONNECTION_NEEDED)
      reach = Reach::connection;
  }
  if (call.ended()) return *call.ended();
  return wanted == PGRES_POLLING_OK;
}

}  // namespace

void ClosePg::operator()(pg_conn* connection) const {
  // Without shutdown(2), PQfinish would try to send bytes that are still unsent; they may be the
  // end of a transaction that dlock has given up. Closing the socket is not enough, because a
  // process that was forked meanwhile may have it, too.
  if (const int fd = ::PQsocket(connection); fd >= 0) ::shutdown(fd, SHUT_RDWR);
  ::PQfinish(connection);
}

PgConnected connect_pg(const std::vector<PgParameter>& parameters,
                       Intake& intake,
                       Time limit,
                       const Interrupt* interrupt) {
  const Time started = BootClock::now();
  set_up_cpu_for_tls();  // needed without TLS, too: logins use OpenSSL
  PgConnection connection = start(parameters);
  intake = {};
  PgCall call(intake, limit, interrupt, limits::k_login_bytes);
  if (!connection) return {{}, {.code = Errc::system, .reason = "out of memory"}};
  // Makes libpq report the SQLSTATE of an error during the connection, too.
  ::PQsetErrorVerbosity(connection.get(), PQERRORS_VERBOSE);
  ::PQsetNoticeReceiver(
      connection.get(), [](void*, const PGresult*) {}, nullptr);
  Reach reach = Reach::nothing;
  const auto done = shake_hands(connection, call, reach);
  if (!done) {
    const bool silent = done.error().code == Errc::timed_out;
    const Error error = silent ? over_limit("no answer", started, limit) : done.error();
    return {{}, {.code = error.code, .reason = error.text, .reach = reach}};
  }
  if (!*done) {
    PgNoConnection why = read_connect_error(::PQerrorMessage(connection.get()));
    why.reach = reach;
    return {{}, std::move(why)};
  }
  if (::PQsetnonblocking(connection.get(), 1) != 0 || ::PQenterPipelineMode(connection.get()) != 1)
    return {{}, {.code = Errc::system, .reason = reason_of(::PQerrorMessage(connection.get()))}};
  return {std::move(connection), {}};
}

}  // namespace dlock
