// SPDX-License-Identifier: MIT
// Makes a connection of libpq without blocking. The call ends at its limit or by the Interrupt.
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

// Closes a connection at once, without waiting. Bytes that are still unsent are dropped.
struct ClosePg {
  void operator()(pg_conn* connection) const;
};
using PgConnection = std::unique_ptr<pg_conn, ClosePg>;

// A connection, or the reason why there is no connection.
struct PgConnected {
  PgConnection connection;  // null: `why` says why
  PgNoConnection why = {};
};

// Connects to one address. The connection is then non-blocking, in pipeline mode, and ready for
// statements; it ignores notices of the server. Received bytes are counted in `intake`. `interrupt`
// may be null.
PgConnected connect_pg(const std::vector<PgParameter>& parameters,
                       Intake& intake,
                       Time limit,
                       const Interrupt* interrupt);

}  // namespace dlock
