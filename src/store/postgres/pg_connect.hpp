// SPDX-License-Identifier: MIT
// One connection of libpq: made without blocking, within a limit on the BootClock, and ended by the
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

// Ends the connection at once, without waiting; unsent bytes are dropped.
struct ClosePg {
  void operator()(pg_conn* connection) const;
};
using PgConnection = std::unique_ptr<pg_conn, ClosePg>;

// Why a connection could not be made: an Error, and further facts.
struct PgConnected {
  PgConnection connection;  // null: see `why`
  PgNoConnection why = {};
};

// Connects to one address, until statements may be sent: non-blocking and in pipeline mode. Notices
// of the server are dropped. `intake` then belongs to the connection. `interrupt` may be null.
PgConnected connect_pg(const std::vector<PgParameter>& parameters,
                       Intake& intake,
                       Time limit,
                       const Interrupt* interrupt);

}  // namespace dlock
