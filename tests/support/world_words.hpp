// SPDX-License-Identifier: MIT
// The words of a World's transcript: one for everything a session asks for, is answered and says;
// and what every played store does alike. Tests compare the words, so they are short and never
// change with the texts for users.
#pragma once

#include "core/run_words.hpp"

#include <string>

namespace dlock::test {

const char* word_for(action::Ask::What what);    // "acquire", "await", …
std::string ask_text(const action::Ask& ask);    // as in a transcript: "stand", "watch front", …
const std::string& word_for(Notice::Kind kind);  // "lapsing", …
std::string signal_word(int number);             // "TERM"
std::string outcome_text(const Outcome& outcome);

// What an answer adds to the line of its ask: " ?", " granted", …; nothing if all went as usual.
std::string mark_of(const StoreAnswer& answer);

// The answer to `what` that did not work out.
StoreAnswer failed(action::Ask::What what, Error error);

// As what a run is told. It must be of a kind that a run asks for.
Event run_event(StoreAnswer answer);

// "19.39s", exact to the millisecond.
std::string seconds_text(Duration d);

}  // namespace dlock::test
