// SPDX-License-Identifier: MIT
// Patience with a store that cannot be reached or does not answer: whether another try may help,
// how long a try may take, and when to give up. Every command that calls a store follows these
// rules. Pure: each call passes an event and its time.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"

#include <optional>
#include <string>

namespace dlock {

// Returns whether another try can help after this error. As long as the store has never answered,
// an error that a wrong setting causes is final: a host that does not exist, another kind of
// server. `once`: the user wants a single try.
bool worth_another_try(Errc code, bool had_contact, bool once);

// What a run does if the store is away: it has never answered the run, and has got no claim.
enum class OnUnavailable {
  fail,  // nothing is run: an error
  skip,  // nothing is run: an end like that of a busy lock
  run,   // the command runs without the lock
};

// Returns whether this error of the last try means that the store is away: no server took the
// connection. A wrong setting, a refusal and a failure of this machine do not mean that; nor does a
// server that ends the connection or is silent, as one of another kind or without TLS would be.
bool is_away(const Error& error);

// A time during which the store does not answer.
struct Outage {
  Time since;
  Time give_up;
  std::string text;  // the newest error; empty: no error yet, only an unanswered request
};

struct PatienceTerms {
  Duration longest_try{};       // the limit of one try, connecting included
  Duration first_contact{};     // the store must answer for the first time within this
  Duration outage{};            // how long a later outage may last
  std::optional<Time> until{};  // no new try after this time
  bool once = false;            // the user wants a single try
  bool had_contact = false;     // the store has already answered
};

class Patience {
 public:
  Patience(const PatienceTerms& terms, Time now) : terms_(terms), started_at_(now) {}

  // Notes that a try begins, and returns its limit. A try that begins shortly before
  // PatienceTerms::until still has up to a second, unless the store has failed and never answered.
  Time ask(Time now);
  void answered();  // the store has answered
  // Notes that the try failed. Returns the time of the next try, after `pause`; nullopt: give up.
  std::optional<Time> failed(const Error& error, Duration pause, Time now);

  void move_end(Time until) { terms_.until = until; }
  bool had_contact() const { return terms_.had_contact; }
  // Returns the present outage; nullopt: the newest request was answered.
  std::optional<Outage> outage() const;

 private:
  Time give_up_at(Time since) const;

  PatienceTerms terms_;
  Time started_at_;
  std::optional<Outage> outage_;  // since the first error after the last answer
  std::optional<Time> asked_at_;  // start of the try that has not ended yet
};

}  // namespace dlock
