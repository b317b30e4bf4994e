// SPDX-License-Identifier: MIT
// One connection of libpq: made without blocking, by a limit on the BootClock, and ended by the
// Interrupt.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "store/postgres/pg_error.hpp"
#include "store/postgres/pg_parameters.hpp"
#include "sys/intake.hpp"
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
// server are dropped. `intake` is then that of the connection. `interrupt` may be null.
PgConnected connect_pg(const std::vector<PgParameter>& parameters,
                       Intake& intake,
                       Time limit,
                       const Interrupt* interrupt);

}  // namespace dlock
