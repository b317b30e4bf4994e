// SPDX-License-Identifier: MIT
// dlock force-release: revokes a lock, and waits until its holder has released it or its lease has
// ended. With --now, deletes the lock.
#include "app/driver.hpp"
#include "base/duration.hpp"
#include "base/host_name.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "base/user_name.hpp"
#include "cmd/claim.hpp"
#include "cmd/commands.hpp"
#include "cmd/voice.hpp"
#include "core/watch_loop.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace dlock {

using namespace std::chrono_literals;

namespace {

Result<RevokeOrder> make_order(const CommandLine& line) {
  RevokeOrder order{
      .by = user_name() + "@" + host_name(), .now = line.now, .if_owner = line.if_owner};
  if (line.if_owner && line.if_owner->empty()) {
    return Error{Errc::bad_usage, "--if-owner: the owner is empty"};
  }
  if (line.if_token) {
    FencingToken token = 0;
    const char* const end = line.if_token->data() + line.if_token->size();
    const auto [at, status] = std::from_chars(line.if_token->data(), end, token);
    if (status != std::errc() || at != end || token == 0) {
      return Error{
          Errc::bad_usage,
          "--if-token: " + in_quotes(shortened(*line.if_token, 40)) + " is not a fencing token"};
    }
    order.if_token = token;
  }
  return order;
}

// Returns whether the user agrees. Errc::bad_usage: there is no terminal to ask.
Result<bool> confirmed(const CommandLine& line, const std::string& question) {
  if (line.yes) return true;
  if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDERR_FILENO) != 1) {
    return Error{Errc::bad_usage,
                 "force-release needs a confirmation; without a terminal, give --yes"};
  }
  std::fprintf(stderr, "dlock: %s [y/N] ", question.c_str());
  const int answer = std::getchar();
  return answer == 'y' || answer == 'Y';
}

// Returns one of the owners by its record, and counts the others: "root@web1 pid 812 and 2 others".
// If no owner has a record in `before`: "its holder".
std::string holders_text(const std::vector<Holding::Owner>& owners, const Holding& before) {
  for (const HoldRecord& hold : before.holds) {
    const auto holds_it = [&](const Holding::Owner& one) { return is_hold_of(hold.id, one.id); };
    if (hold.kept || std::none_of(owners.begin(), owners.end(), holds_it)) continue;
    const std::size_t others = owners.size() - 1;
    if (others == 0) return who_text(hold.who);
    return who_text(hold.who) + " and " + std::to_string(others) +
           (others == 1 ? " other" : " others");
  }
  return "its holder";
}

// Returns why --if-owner or --if-token did not match: "; owner u:1, not u:2", "; tokens 5 and 6,
// not 7".
std::string mismatch_text(const RevokeOrder& order, const Holding& holding) {
  const auto is_not = [](const char* what, std::vector<std::string> have, const std::string& want) {
    std::sort(have.begin(), have.end());
    have.erase(std::unique(have.begin(), have.end()), have.end());
    if (have.empty()) return std::string();
    for (std::string& one : have)
      one = printable(one);
    return std::string("; ") + what + (have.size() > 1 ? "s " : " ") + listed(have) + ", not " +
           want;
  };
  std::vector<std::string> owners;
  std::vector<std::string> tokens;
  for (const Holding::Owner& one : holding.owners)
    owners.push_back(one.id);
  for (const HoldRecord& hold : holding.holds)
    tokens.push_back(std::to_string(hold.token));
  std::string text;
  if (order.if_owner) text += is_not("owner", owners, printable(*order.if_owner));
  if (order.if_token) text += is_not("token", tokens, std::to_string(*order.if_token));
  return text;
}

// Reports which holders force-release waits for; passes every other notice on to `voice`.
class RevokeVoice final : public Listener {
 public:
  RevokeVoice(Voice& voice, std::string holders) : voice_(voice), holders_(std::move(holders)) {}
  void on_notice(const Notice& notice) override {
    if (notice.kind != Notice::Kind::waiting) return voice_.on_notice(notice);
    log(LogLevel::warn,
        "waiting for " + holders_ + " to stop: at most " +
            format_duration(std::chrono::ceil<std::chrono::seconds>(notice.left)));
  }

 private:
  Voice& voice_;
  std::string holders_;
};

// Returns the state from before the revocation, but without the lease, which has ended by now.
Holding without_lease(Holding before) {
  before.lease_left = {};
  return before;
}

ExitStatus status_of_wait(const Result<WatchOutcome>& ended,
                          const std::string& shown,
                          const Holding& before,
                          const Settings& settings) {
  if (!ended) return report(ended.error(), settings);
  switch (ended->kind) {
    case WatchOutcome::Kind::free:
      log(LogLevel::warn,
          "released " + shown + " after " + format_duration(ended->waited) + "; the lock was " +
              holder_text(without_lease(before)));
      return ExitStatus::ok;
    case WatchOutcome::Kind::busy:
      log(LogLevel::error, shown + " is still " + holder_text(before));
      return ExitStatus::busy;
    case WatchOutcome::Kind::failed:
      break;
  }
  return report(ended->error, settings);
}

// Warns of each revoked hold that an `acquire` took: no process of dlock runs that would see the
// revocation and release the hold.
void say_who_is_deaf(const std::string& shown,
                     const Holding& before,
                     const std::vector<Holding::Owner>& revoked) {
  for (const HoldRecord& hold : before.holds) {
    const auto at = hold.id.rfind('#');
    if (at == std::string::npos || !is_of_acquire(hold.id.substr(at + 1))) continue;
    const auto holds_it = [&](const Holding::Owner& one) { return is_hold_of(hold.id, one.id); };
    if (std::none_of(revoked.begin(), revoked.end(), holds_it)) continue;
    std::string text = shown;
    text +=
        " was taken by dlock acquire: no process releases it for this, so it ends with its "
        "lease; at once by dlock release --owner ";
    text += printable(hold.id.substr(0, at)) + ' ';
    text += shown;
    text += " or with --now, but then its steps may still run when the next holder starts";
    log(LogLevel::warn, text);
  }
}

// Waits until the revoked holders of `name` have released it or their leases have ended, reports
// that, and ends the process. `before`: the lock's state before the revocation. _exit() does not
// wait for the store thread, which may hang in a call to the store.
[[noreturn]] void wait_for_holders(StoreWorker& worker,
                                   const LockName& name,
                                   const Holding& before,
                                   const RevokedHolders& revoked,
                                   const Settings& settings) {
  const std::string shown = in_quotes(name.text());
  log(LogLevel::info, "revoked " + shown + "; waiting for its holder to stop");
  say_who_is_deaf(shown, before, revoked.owners);
  Voice voice({name}, settings.mode);
  RevokeVoice listener(voice, holders_text(revoked.owners, before));
  const WatchTerms terms = revoked_terms(revoked, settings.connect_timeout);
  const auto ended =
      Driver<WatchLoop>(WatchLoop(terms, random_seed(), BootClock::now()), worker, listener).run();
  voice.end_of_wait();
  ::_exit(static_cast<int>(status_of_wait(ended, shown, before, settings)));
}

}  // namespace

ExitStatus force_release_command(const CommandLine& line, const Settings& settings) {
  auto name = LockName::parse(line.names.front());
  if (!name) return report(name.error(), settings);
  auto order = make_order(line);
  if (!order) return report(order.error(), settings);
  InterruptSlot interrupt;
  auto store = open_store(settings, &interrupt);
  if (!store) return report(store.error(), settings);
  if (order->if_token && !(*store)->traits().tokens) {
    return report(lacks(**store, "fencing tokens (--if-token)"), settings);
  }

  const std::string shown = in_quotes(name->text());
  auto holding = (*store)->inspect(*name, BootClock::now() + settings.connect_timeout);
  if (!holding)
    return report({holding.error().code, "cannot inspect " + shown + ": " + holding.error().text},
                  settings);
  if (holding->kind != Holding::Kind::none) {
    const std::string what = line.now ? "delete the lock " : "revoke ";
    const std::string danger =
        line.now ? "? Another holder may then start while this command still runs" : "?";
    auto go = confirmed(line, what + shown + ", " + holder_text(*holding) + danger);
    if (!go) return report(go.error(), settings);
    if (!*go) return ExitStatus::no;
  }
  auto reply = (*store)->revoke(*name, *order, BootClock::now() + settings.connect_timeout);
  if (!reply)
    return report({reply.error().code, "cannot revoke " + shown + ": " + reply.error().text},
                  settings);
  switch (reply->verdict) {
    case RevokeVerdict::nothing:
      log(LogLevel::warn, shown + " is free: nothing to release");
      return ExitStatus::no;
    case RevokeVerdict::other_holder:
      log(LogLevel::error,
          "not released: " + shown + " is " + holder_text(reply->before) +
              mismatch_text(*order, reply->before));
      return ExitStatus::busy;
    case RevokeVerdict::not_dlock:
      log(LogLevel::error,
          "not released: " + shown + " is " + holder_text(reply->before) +
              "; this holder is not dlock and ignores revocation; --now deletes the lock");
      return ExitStatus::busy;
    case RevokeVerdict::frozen:
      log(LogLevel::error,
          "not released: " + shown + " is " + holder_text(reply->before) +
              "; dlock unfreeze ends that");
      return ExitStatus::busy;
    case RevokeVerdict::deleted:
      // Without --now only a kept hold is deleted (--min-hold); no command runs under it.
      log(LogLevel::warn,
          "deleted " + shown + "; the lock was " + holder_text(reply->before) +
              (reply->before.frozen ? "; it stays frozen"
               : line.now           ? "; the command may still run when the next holder starts"
                                    : ""));
      return ExitStatus::ok;
    case RevokeVerdict::revoked:
      break;
  }
  StoreWorker worker(std::move(*store), bystander(*name), interrupt);
  wait_for_holders(worker, *name, reply->before, revoked_holders(reply->before, *order), settings);
}

}  // namespace dlock
