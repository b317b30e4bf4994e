// SPDX-License-Identifier: MIT
// One connection of libpq: made and waited for without blocking, each wait bounded by a limit on
// the BootClock and ended by the Interrupt.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "store/postgres/pg_error.hpp"
#include "store/postgres/pg_parameters.hpp"
#include "sys/interrupt.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

struct pg_conn;  // NOLINT(readability-identifier-naming): libpq's name

namespace dlock {

// Ends the connection at once, without waiting; what is not sent yet is not sent any more.
struct ClosePg {
  void operator()(pg_conn* connection) const;
};
using PgConnection = std::unique_ptr<pg_conn, ClosePg>;

// Why a connection could not be made: an Error, and what is known beyond it.
struct PgConnected {
  PgConnection connection;  // null: see `why`
  PgNoConnection why = {};
};

// To one address, until statements may be sent: non-blocking and in pipeline mode. Notices of the
// server are dropped. `interrupt` may be null.
PgConnected connect_pg(const std::vector<PgParameter>& parameters,
                       Time limit,
                       const Interrupt* interrupt);

// Until the socket of the connection is ready for `events` of poll(2), which wins over limit and
// interrupt. Errors: timed_out ("no answer within …"), cancelled, system.
Result<void> wait_for_pg(const PgConnection& connection,
                         short events,
                         Time limit,
                         const Interrupt* interrupt);

}  // namespace dlock
