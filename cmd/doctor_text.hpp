// SPDX-License-Identifier: MIT
// The report of dlock doctor: first the findings, the worst first, each with its remedy, and last a
// line that counts them. The report is made without asking the store, so that unit tests can make
// it.
#pragma once

#include "store/open_store.hpp"

#include <string>

namespace dlock {

// How many checks had which result, for the last line and the exit status.
struct Tally {
  int errors = 0;
  int warnings = 0;
  int good = 0;  // passed, perhaps with a remark
  int not_seen = 0;
};
Tally tally_of(const Examination& examination);

// Returns the report. With `verbose` it also lists the checks that passed.
std::string examination_text(const Examination& examination, bool verbose);

}  // namespace dlock
