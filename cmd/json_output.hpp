// SPDX-License-Identifier: MIT
// All JSON that dlock writes, except its log: the output of --json, and a run's --result-file.
// dlock-json(7) describes it. inspect and list share one schema; acquire, doctor, config and the
// result file have one each. Each schema has version 1.
#pragma once

#include "cmd/settings.hpp"
#include "core/lock_store.hpp"
#include "core/run_words.hpp"
#include "store/open_store.hpp"

#include <string>
#include <vector>

namespace dlock {

// A name, its key in the store, and its lock's state.
struct NamedHolding {
  std::string name;
  std::string key;
  Holding holding;
};

std::string holdings_json(const std::vector<NamedHolding>& holdings);

// Returns the outcome of a run as one line. `error`: why the command was not started; empty if it
// was started. `exit_status`: the exit status of dlock.
std::string result_json(const std::vector<LockName>& names,
                        const Outcome& outcome,
                        const std::string& error,
                        int exit_status);

// Returns the holds that acquire took as one line. `expires`: the end of the lease on this host's
// wall clock. `entries`: the value for DLOCK_HOLDS.
std::string acquired_json(const Holds& holds,
                          std::chrono::milliseconds expires,
                          const std::string& entries);

// Returns the output of dlock config.
std::string settings_json(const std::vector<InForce>& settings);

// Returns the findings of doctor. `ok`: doctor's exit status is 0.
std::string examination_json(const Examination& examination, bool ok);

}  // namespace dlock
