// SPDX-License-Identifier: MIT
// What dlock doctor prints for people: the findings, worst first, each with its remedy, and a line
// that counts them. Pure, and made for tests/unit.
#pragma once

#include "store/open_store.hpp"

#include <string>

namespace dlock {

// How many checks found what: of the last line, and for the exit status.
struct Tally {
  int errors = 0;
  int warnings = 0;
  int good = 0;  // with a word to say or without
  int not_seen = 0;
};
Tally tally_of(const Examination& examination);

// `verbose`: also what is good.
std::string examination_text(const Examination& examination, bool verbose);

}  // namespace dlock
