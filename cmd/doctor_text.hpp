// SPDX-License-Identifier: MIT
// The report of dlock doctor: the findings, worst first, each with its remedy, and a line that
// counts them. Pure, and made for tests/unit.
#pragma once

#include "store/open_store.hpp"

#include <string>

namespace dlock {

// Counts of the checks, for the last line and the exit status.
struct Tally {
  int errors = 0;
  int warnings = 0;
  int good = 0;  // passed, with or without a remark
  int not_seen = 0;
};
Tally tally_of(const Examination& examination);

// `verbose`: includes the checks that passed.
std::string examination_text(const Examination& examination, bool verbose);

}  // namespace dlock
