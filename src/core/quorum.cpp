// SPDX-License-Identifier: MIT
#include "core/quorum.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <utility>

namespace dlock::quorum {

namespace {

bool same_holds(const Holds& one, const Holds& other) {
  return std::equal(
      one.begin(), one.end(), other.begin(), other.end(), [](const Hold& a, const Hold& b) {
        return a.name == b.name && a.owner == b.owner && a.serial == b.serial;
      });
}

}  // namespace

std::optional<Time> newest_of_majority(std::vector<Time> times, std::size_t needed) {
  if (times.size() < needed) return std::nullopt;
  std::sort(times.begin(), times.end(), std::greater<>());
  return times[needed - 1];
}

void append(Asks& all, Asks more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

bool same_owners(const Holds& one, const Holds& other) {
  return std::equal(
      one.begin(), one.end(), other.begin(), other.end(), [](const Hold& a, const Hold& b) {
        return a.owner == b.owner;
      });
}

bool same_tokens(const Holds& one, const Holds& other) {
  return std::equal(
      one.begin(), one.end(), other.begin(), other.end(), [](const Hold& a, const Hold& b) {
        return a.token == b.token;
      });
}

bool joins(const Holds& holds) {
  return std::any_of(holds.begin(), holds.end(), [](const Hold& hold) { return hold.nested; });
}

Answer answer_with(Ask::What what, const Error& error) {
  switch (what) {
    case Ask::What::acquire:
      return Result<AcquireReply>(error);
    case Ask::What::raise:
      return Result<void>(error);
    case Ask::What::renew:
    case Ask::What::check:
      return Result<RenewReply>(error);
    case Ask::What::release:
      return Result<ReleaseVerdict>(error);
  }
  DLOCK_ASSERT(false);
}

namespace {

// The text of an error without the server's name, and all servers that gave this text. Texts that
// differ only in digits count as equal.
struct Saying {
  std::vector<std::string> servers;  // empty: the text does not begin with a server's name
  std::string words;
};

Saying saying_of(const std::string& text) {
  const std::size_t blank = text.find(' ');
  const bool has_server = blank != std::string::npos && text.find("://") < blank;
  if (!has_server) return {{}, text};
  return {{text.substr(0, blank)}, text.substr(blank)};
}

bool says_the_same(const Saying& one, const Saying& other) {
  if (one.servers.empty() || other.servers.empty()) return false;
  const auto without_digits = [](std::string text) {
    std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
    return text;
  };
  return without_digits(one.words) == without_digits(other.words);
}

std::string texts_of(const std::vector<Error>& errors) {
  std::vector<Saying> all;
  for (const Error& error : errors) {
    Saying now = saying_of(error.text);
    const auto before = std::find_if(
        all.begin(), all.end(), [&](const Saying& one) { return says_the_same(one, now); });
    if (before == all.end()) {
      all.push_back(std::move(now));
    } else {
      before->servers.push_back(now.servers.front());
    }
  }
  std::string text;
  for (const Saying& one : all)
    text += (text.empty() ? "" : "; ") + listed(one.servers) + one.words;
  return text;
}

}  // namespace

Error failed_servers(const std::vector<Error>& errors,
                     std::size_t servers,
                     std::size_t spare,
                     const std::string& what) {
  Error all{Errc::unavailable, {}};
  for (const Error& error : errors) {
    const auto same = static_cast<std::size_t>(std::count_if(
        errors.begin(), errors.end(), [&](const Error& one) { return one.code == error.code; }));
    if (same > spare && 2 * same > errors.size()) all.code = error.code;
  }
  // If so many servers did not get the claim, no majority can have granted it.
  for (const Reach reach : {Reach::connection, Reach::nothing}) {
    const auto at_most = std::count_if(
        errors.begin(), errors.end(), [&](const Error& one) { return reach_of(one) >= reach; });
    if (static_cast<std::size_t>(at_most) > spare) all.reach = reach;
  }
  all.text = std::to_string(errors.size()) + " of " + std::to_string(servers) + " servers " + what +
             ": " + texts_of(errors);
  return all;
}

const Error* error_of(const Answer& answer) {
  return std::visit([](const auto& result) { return result ? nullptr : &result.error(); }, answer);
}

std::size_t Members::leader() const {
  const auto answers = [](const Member& member) { return member.trouble.empty(); };
  const auto found = std::find_if(all_.begin(), all_.end(), answers);
  return found == all_.end() ? 0 : static_cast<std::size_t>(found - all_.begin());
}

void Members::keep(Claim round, Holds holds) {
  kept_ = std::move(round);
  kept_holds_ = std::move(holds);
  for (Member& member : all_) {
    member.holds.clear();
    member.confirmed.reset();
    member.raised = false;
  }
}

void Members::forget_kept() {
  kept_.reset();
  kept_holds_.clear();
  for (Member& member : all_) {
    member.holds.clear();
    member.confirmed.reset();
  }
}

std::optional<Time> Members::sent_at() const {
  std::vector<Time> times;
  for (const Member& member : all_)
    if (member.confirmed) times.push_back(*member.confirmed);
  return newest_of_majority(std::move(times), needed());
}

void Members::owe(std::size_t server, Holds holds, const ReleaseOptions& options) {
  std::vector<Owed>& owed = all_[server].owed;
  const auto is_it = [&](const Owed& one) { return same_holds(one.holds, holds); };
  if (std::none_of(owed.begin(), owed.end(), is_it))
    owed.push_back({.holds = std::move(holds), .options = options});
}

Asks Members::asks_owed(std::size_t server, Time limit) {
  Asks asks;
  for (Owed& one : all_[server].owed) {
    if (std::exchange(one.asked, true)) continue;
    asks.push_back({.server = server,
                    .what = Ask::What::release,
                    .holds = one.holds,
                    .release_options = one.options,
                    .limit = limit});
  }
  return asks;
}

bool Members::keeps(const Holds& holds) const {
  return kept_ && same_holds(holds, kept_holds_);
}

Asks Members::heard(const Ask& ask, const Answer& answer) {
  Member& member = all_[ask.server];
  const Error* const error = error_of(answer);
  if (ask.what == Ask::What::release) heard_release(member, ask, error == nullptr);
  if (error != nullptr) {
    // Errc::lost: the server has no record of the hold, so it cannot vote for the hold. But the
    // server has answered, so `trouble` is empty.
    member.trouble = error->code == Errc::lost ? std::string() : error->text;
    return {};
  }
  member.trouble.clear();
  switch (ask.what) {
    case Ask::What::acquire: {
      const auto* const grant = std::get_if<Grant>(&*std::get<Result<AcquireReply>>(answer));
      return grant != nullptr ? heard_grant(ask, *grant) : Asks();
    }
    case Ask::What::raise:
      if (keeps(ask.holds)) member.raised = true;
      return {};
    case Ask::What::renew:
    case Ask::What::check:
      heard_renewal(member, ask, *std::get<Result<RenewReply>>(answer));
      return {};
    case Ask::What::release:
      return {};
  }
  return {};
}

void Members::heard_release(Member& member, const Ask& ask, bool done) {
  const auto is_it = [&](const Owed& one) { return same_holds(one.holds, ask.holds); };
  if (!done) {
    for (Owed& one : member.owed)
      if (is_it(one)) one.asked = false;
    return;
  }
  std::erase_if(member.owed, is_it);
  if (!same_holds(member.holds, ask.holds)) return;
  member.holds.clear();
  member.confirmed.reset();
}

Asks Members::heard_grant(const Ask& ask, const Grant& grant) {
  if (!keeps(grant.holds)) return {};
  Member& member = all_[ask.server];
  member.holds = grant.holds;
  member.confirmed = std::max(member.confirmed.value_or(grant.sent_at), grant.sent_at);
  member.raised = member.raised || same_tokens(grant.holds, kept_holds_);
  if (member.raised) return {};
  return {
      {.server = ask.server, .what = Ask::What::raise, .holds = kept_holds_, .limit = ask.limit}};
}

void Members::heard_renewal(Member& member, const Ask& ask, const RenewReply& reply) const {
  if (!keeps(ask.holds)) return;
  if (reply.verdict == RenewVerdict::renewed) {
    member.holds = ask.holds;
    member.confirmed = std::max(member.confirmed.value_or(reply.sent_at), reply.sent_at);
  } else if (reply.verdict == RenewVerdict::lost) {
    member.holds.clear();
    member.confirmed.reset();
    member.raised = false;
  }
}

}  // namespace dlock::quorum
