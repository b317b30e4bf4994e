// SPDX-License-Identifier: MIT
// dlock force-release: revokes a lock and waits until its holder has given it up or its lease has
// ended; or, with --now, deletes it.
#include "base/duration.hpp"
#include "base/host_name.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "cmd/claim.hpp"
#include "cmd/commands.hpp"
#include "cmd/voice.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace dlock {

using namespace std::chrono_literals;

namespace {

// After the end of the lease the lock must be free: how long to look for that.
constexpr Duration k_expiry_slack = 2s;
constexpr Duration k_longest_sleep = 1s;
constexpr Duration k_tell_after = 500ms;

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

// Errc::bad_usage where there is nobody to ask.
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

// Those of `before` whom the order was about.
std::vector<Holding::Owner> ordered(const Holding& before, const RevokeOrder& order) {
  std::vector<Holding::Owner> owners = before.owners;
  std::erase_if(owners, [&](const Holding::Owner& owner) {
    if (order.if_owner && owner.id != *order.if_owner) return true;
    return order.if_token &&
           std::none_of(before.holds.begin(), before.holds.end(), [&](const HoldRecord& hold) {
             return hold.token == *order.if_token && is_hold_of(hold.id, owner.id);
           });
  });
  return owners;
}

// `some`: of those that were revoked these are only some.
bool any_holds(const std::vector<Holding::Owner>& owners, bool some, const Holding& now) {
  if (now.kind != Holding::Kind::lock) return false;
  if (some && (!now.revoked_by.empty() || !now.lists_all_owners())) return true;
  return std::any_of(owners.begin(), owners.end(), [&](const Holding::Owner& one) {
    return std::any_of(now.owners.begin(), now.owners.end(), [&](const Holding::Owner& other) {
      return one.id == other.id;
    });
  });
}

// How long until the last of their leases has ended.
Duration longest_lease(const std::vector<Holding::Owner>& owners, const Holding& before) {
  Duration longest = before.lease_left.value_or(0ms);
  for (const Holding::Owner& owner : owners)
    longest = std::max(longest, owner.lease_left.value_or(0ms));
  return longest;
}

// "root@web1 pid 812 and 2 others", of whom dlock knows who they are.
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

// Why --if-owner or --if-token did not fit: ", owner u:1, not u:2", ", tokens 5 and 6, not 7".
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

// True: those that were revoked are gone.
Result<bool> wait_until_gone(LockStore& store,
                             const LockName& name,
                             const Holding& before,
                             const RevokeOrder& order,
                             const Settings& settings) {
  const auto owners = ordered(before, order);
  const bool some = !order.if_owner && !order.if_token && !before.lists_all_owners();
  const Time started = BootClock::now();
  Time end = started + longest_lease(owners, before) + k_expiry_slack;
  const Claim bystander{.names = {name}, .owner = make_owner_id(::getpid()), .serial = "0"};
  const bool watching =
      store.watch(bystander, /*front=*/true, started + settings.connect_timeout).has_value();
  bool told = false;
  for (;;) {
    const Time now = BootClock::now();
    auto holding = store.inspect(name, now + settings.connect_timeout);
    if (!holding && now >= end) return holding.error();
    if (holding && !any_holds(owners, some, *holding)) return true;
    if (holding && some)
      end = std::max(end, now + longest_lease(holding->owners, *holding) + k_expiry_slack);
    if (now >= end) return false;
    if (!told && now - started >= k_tell_after) {
      log(LogLevel::warn,
          "waiting for " + holders_text(owners, before) + " to stop: at most " +
              format_duration(std::chrono::ceil<std::chrono::seconds>(end - now)));
      told = true;
    }
    Time until = std::min(end, now + (watching ? k_longest_sleep : k_longest_sleep / 4));
    if (!told) until = std::min(until, started + k_tell_after);
    auto woken = store.await_hand_off(until);
    if (!woken || !watching) ::usleep(static_cast<useconds_t>((k_longest_sleep / 4) / 1us));
  }
}

ExitStatus revoked(LockStore& store,
                   const LockName& name,
                   const Holding& before,
                   const RevokeOrder& order,
                   const Settings& settings) {
  log(LogLevel::info, "revoked " + in_quotes(name.text()) + "; waiting for its holder to stop");
  const Time started = BootClock::now();
  auto gone = wait_until_gone(store, name, before, order, settings);
  if (!gone) return report(gone.error(), settings);
  if (!*gone) {
    log(LogLevel::error, in_quotes(name.text()) + " is still " + holder_text(before));
    return ExitStatus::busy;
  }
  log(LogLevel::warn,
      "released " + in_quotes(name.text()) + " after " +
          format_duration(BootClock::now() - started) + "; the lock was " + holder_text(before));
  return ExitStatus::ok;
}

}  // namespace

ExitStatus force_release_command(const CommandLine& line, const Settings& settings) {
  auto name = LockName::parse(line.names.front());
  if (!name) return report(name.error(), settings);
  auto order = make_order(line);
  if (!order) return report(order.error(), settings);
  auto opened = open_store(settings);
  if (!opened) return report(opened.error(), settings);
  LockStore& store = **opened;
  if (order->if_token && !store.traits().tokens) {
    return report(lacks(store, "fencing tokens (--if-token)"), settings);
  }

  const std::string shown = in_quotes(name->text());
  auto holding = store.inspect(*name, BootClock::now() + settings.connect_timeout);
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
  auto reply = store.revoke(*name, *order, BootClock::now() + settings.connect_timeout);
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
    case RevokeVerdict::deleted:
      // What is only kept has nobody who runs under it.
      log(LogLevel::warn,
          "deleted " + shown + "; the lock was " + holder_text(reply->before) +
              (line.now ? "; the command may still run when the next holder starts" : ""));
      return ExitStatus::ok;
    case RevokeVerdict::revoked:
      return revoked(store, *name, reply->before, *order, settings);
  }
  return ExitStatus::failed;
}

}  // namespace dlock
