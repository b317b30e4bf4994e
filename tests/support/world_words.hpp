// SPDX-License-Identifier: MIT
// The words of a World's transcript, one for each ask, answer and notice; and what all played
// stores do in the same way. Tests compare these words, so they are short, and they stay the same
// when texts for users change.
#pragma once

#include "core/run_words.hpp"

#include <string>

namespace dlock::test {

const char* word_for(action::Ask::What what);    // "acquire", "await", …
std::string ask_text(const action::Ask& ask);    // as in a transcript: "stand", "watch front", …
const std::string& word_for(Notice::Kind kind);  // "lapsing", …
std::string signal_word(int number);             // "TERM"
std::string outcome_text(const Outcome& outcome);

// Returns what an answer adds to the entry of its ask, as " ?" or " granted"; empty: all went as
// usual.
std::string mark_of(const StoreAnswer& answer);

// Returns the answer to `what` that is this error.
StoreAnswer failed(action::Ask::What what, Error error);

// Returns the answer as an event for a RunSession. It must be the answer to a request that a run
// can make.
Event run_event(StoreAnswer answer);

// Returns a text as "19.39s", exact to the millisecond.
std::string seconds_text(Duration d);

}  // namespace dlock::test
