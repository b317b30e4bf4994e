// SPDX-License-Identifier: MIT
// dlock acquire: acquires locks, prints the holds on stdout, and leaves the locks held. If the
// holds cannot be printed, releases the locks.
#include "app/acquirer.hpp"
#include "app/hold_variables.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "cmd/claim.hpp"
#include "cmd/commands.hpp"
#include "cmd/json_output.hpp"
#include "cmd/output.hpp"
#include "cmd/own_holds.hpp"
#include "cmd/voice.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdlib>

namespace dlock {

namespace {

// Converts a time of BootClock to this host's wall clock, which scripts and people read.
std::chrono::milliseconds on_the_wall(Time time) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::floor<std::chrono::milliseconds>(now + (time - BootClock::now()));
}

// Puts the text in single quotes if a shell would split or expand it.
std::string shell_word(const std::string& text) {
  constexpr std::string_view k_plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+:,./-";
  if (!text.empty() && text.find_first_not_of(k_plain) == std::string::npos) return text;
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

// Returns the new value of DLOCK_HOLDS: the inherited holds and `holds`. An inherited hold of the
// same name is left out if the new hold is not nested in it: then the store no longer has the
// inherited one.
std::string entries_with(const Holds& holds, const Prepared& ready) {
  std::vector<AncestorHold> entries = inherited_holds();
  const std::vector<AncestorHold> own =
      hold_entries(ready.where, names_of(holds), ready.keys, holds);
  for (std::size_t i = 0; i < holds.size(); ++i) {
    if (holds[i].nested) continue;
    std::erase_if(entries, [&](const AncestorHold& entry) {
      return entry.store == own[i].store && entry.key == own[i].key;
    });
  }
  entries.insert(entries.end(), own.begin(), own.end());
  return format_holds(entries);
}

std::string shell_lines(const Holds& holds,
                        std::chrono::milliseconds expires,
                        const std::string& entries) {
  std::vector<Variable> variables = hold_variables(holds);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(expires);
  variables.push_back({"DLOCK_EXPIRES", std::to_string(seconds.count())});
  variables.push_back({"DLOCK_HOLDS", entries});
  std::string out;
  // An earlier `dlock acquire` in this shell may have set DLOCK_SLOT. If this claim has no slot,
  // that value would look like its slot.
  if (std::getenv("DLOCK_SLOT") != nullptr) out += "unset DLOCK_SLOT\n";
  for (const auto& [name, value] : variables)
    out += "export " + name + "=" + shell_word(value) + "\n";
  return out;
}

// Reports why the lock was not acquired, or dies by the signal that ended the wait. Does nothing if
// the lock was acquired.
void end_of(const Outcome& outcome,
            Voice& voice,
            const Settings& settings,
            const Signals& signals) {
  if (outcome.kind == Outcome::Kind::busy) voice.busy(*outcome.refusal, outcome.seen_ago);
  if (outcome.kind == Outcome::Kind::signalled) signals.die_by(outcome.signal);
  if (outcome.kind != Outcome::Kind::failed) return;
  report({outcome.error.code, "cannot acquire " + voice.names() + ": " + outcome.error.text},
         settings);
}

}  // namespace

ExitStatus acquire_command(const CommandLine& line, const Settings& settings) {
  auto taken = Signals::take_over();
  if (!taken) return report(taken.error(), settings);
  const Signals& signals = *taken;
  auto names = parse_names(line.names);
  if (!names) return report(names.error(), settings);
  // kill_after is zero: there is no child that needs time to end.
  auto lease = LeaseTerms::check(settings.ttl, Duration::zero());
  if (!lease) return report(lease.error(), settings);
  auto ready = prepare(*names, settings);
  if (!ready) return report(ready.error(), settings);
  if (auto fits = check_detached(*ready->store); !fits) return report(fits.error(), settings);

  // The holder's record has the pid of the script that called dlock, because dlock itself ends now.
  Claim claim =
      make_claim(*names, ready->keys, who_we_are(::getppid(), "acquire", settings), settings);
  claim.serial = serial_of(claim.owner);
  const auto fits = check_store(*ready->store, claim, /*min_hold=*/{});
  if (!fits) return report(fits.error(), settings);

  StoreWorker worker(std::move(ready->store), std::move(claim), *ready->interrupt);
  Voice voice(*names, settings.mode, ready->where, nullptr, settings.slots);
  const RunTerms terms{
      .lease = *lease, .acquire = acquire_terms(settings), .notice_every = Voice::rewrite_every()};
  Acquirer acquirer(RunSession(terms, random_seed(), BootClock::now()),
                    worker,
                    signals,
                    voice,
                    [&](const Holds& holds, Time safe_until) {
                      const std::string entries = entries_with(holds, *ready);
                      const auto expires = on_the_wall(safe_until);
                      return write_out_until(line.json ? acquired_json(holds, expires, entries)
                                                       : shell_lines(holds, expires, entries),
                                             BootClock::now() + lease->renew_step(),
                                             signals);
                    });
  const auto ended = acquirer.run();
  voice.end_of_wait();
  if (!ended) ::_exit(static_cast<int>(report(ended.error(), settings)));
  end_of(*ended, voice, settings, signals);
  // _exit() does not wait for the store thread, which may hang in a call to the store.
  ::_exit(status_of(*ended, settings));
}

}  // namespace dlock
