// SPDX-License-Identifier: MIT
// --metrics-dir: one file for each lock, which counts the runs of this host by their outcome. It is
// in the text format of Prometheus, for the textfile collector of node_exporter.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "core/names.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

// What a run adds to the metrics of its locks.
struct RunFigures {
  std::string outcome;  // as in the result file
  int exit_status = 0;
  bool ran = false;        // the command was started: the figures below are those of the last run
  bool succeeded = false;  // the command has ended with 0
  std::int64_t ended_ms = 0;  // wall clock
  Duration waited{};
  Duration held{};
};

// Returns the text of the file after this run. `before` is its text until now; a text that is not
// dlock's counts as empty.
std::string run_metrics(std::string_view before, const std::string& name, const RunFigures& run);

// Adds the run to the file of each lock. Runs of other processes wait for each other, for 10 s
// at most, so that no count is lost. Errc::system: a file could not be changed; the
// others were.
Result<void> count_run(const std::string& directory,
                       const std::vector<LockName>& names,
                       const RunFigures& run);

}  // namespace dlock
