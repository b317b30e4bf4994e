// SPDX-License-Identifier: MIT
#include "core/run_words.hpp"

namespace dlock {

const char* outcome_word(const Outcome& outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::child:
      return outcome.child.kind == ChildStatus::Kind::not_started ? "failed" : "child";
    case Outcome::Kind::taken:
      return "taken";
    case Outcome::Kind::busy:
      return "busy";
    case Outcome::Kind::done:
      return "done";
    case Outcome::Kind::failed:
      return "failed";
    case Outcome::Kind::lost:
      return "lost";
    case Outcome::Kind::time_up:
      return "time_up";
    case Outcome::Kind::signalled:
      return "signalled";
  }
  return "failed";
}

}  // namespace dlock
