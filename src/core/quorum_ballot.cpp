// SPDX-License-Identifier: MIT
#include "core/quorum_ballot.hpp"

#include <algorithm>
#include <utility>

namespace dlock::quorum {

Ballot::Ballot(const Members& members) : members_(members), seats_(members.size()) {
  for (std::size_t i = 0; i < seats_.size(); ++i)
    seats_[i].doubtful = !members[i].trouble.empty();
}

std::size_t Ballot::count(Voted vote) const {
  return static_cast<std::size_t>(
      std::count_if(seats_.begin(), seats_.end(), [&](const Seat& s) { return s.vote == vote; }));
}

void Ballot::asked(std::size_t server) {
  seats_[server].vote = Voted::asked;
  seats_[server].possible = true;
}

void Ballot::take(std::size_t server, const Result<AcquireReply>& answer) {
  Seat& seat = seats_[server];
  if (!answer) return fail(server, answer.error());
  const auto* const grant = std::get_if<Grant>(&*answer);
  seat.vote = grant != nullptr ? Voted::granted : Voted::refused;
  seat.possible = grant != nullptr;
  if (grant != nullptr) seat.grant = *grant;
  if (const auto* const refusal = std::get_if<Refusal>(&*answer)) seat.refusal = *refusal;
  if (const auto* const done = std::get_if<Done>(&*answer)) done_ = *done;
}

void Ballot::fail(std::size_t server, Error error) {
  Seat& seat = seats_[server];
  seat.vote = Voted::failed;
  seat.error = std::move(error);
  if (reach_of(seat.error) != Reach::request) seat.possible = false;
  seat.silent = seat.error.code == Errc::timed_out || seat.error.code == Errc::cancelled;
}

std::size_t Ballot::alike(const Holds& holds) const {
  return static_cast<std::size_t>(
      std::count_if(seats_.begin(), seats_.end(), [&](const Seat& seat) {
        return seat.vote == Voted::granted && same_owners(seat.grant.holds, holds);
      }));
}

Ballot::Count Ballot::commonest(std::size_t name) const {
  Count most;
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    if (!agrees(i)) continue;
    Count one{.token = seats_[i].grant.holds[name].token};
    for (std::size_t j = 0; j < seats_.size(); ++j)
      one.votes += agrees(j) && seats_[j].grant.holds[name].token == one.token ? 1U : 0U;
    if (one.votes > most.votes) most = one;
  }
  return most;
}

std::size_t Ballot::votes() const {
  std::size_t most = 0;
  for (const Seat& seat : seats_)
    if (seat.vote == Voted::granted) most = std::max(most, alike(seat.grant.holds));
  return most;
}

bool Ballot::agrees(std::size_t server) const {
  const Seat& seat = seats_[server];
  return seat.vote == Voted::granted && alike(seat.grant.holds) == votes();
}

std::size_t Ballot::failures() const {
  return count(Voted::failed) + count(Voted::granted) - votes();
}

std::optional<std::size_t> Ballot::leader(bool impatient) const {
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    const Seat& seat = seats_[i];
    if (seat.vote == Voted::granted || seat.vote == Voted::refused) return i;
    if (seat.vote == Voted::asked && !seat.doubtful && !impatient) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Error> Ballot::mistake() const {
  std::size_t lost = 0;
  for (const Seat& seat : seats_) {
    if (seat.vote != Voted::failed) continue;
    if (seat.error.code == Errc::bad_usage) return seat.error;
    if (seat.error.code == Errc::lost && ++lost > members_.spare()) return seat.error;
  }
  for (std::size_t i = 0; i < seats_.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (seats_[i].vote == Voted::granted && !seats_[i].grant.process.empty() &&
          seats_[i].grant.process == seats_[j].grant.process)
        return Error{
            Errc::bad_config,
            members_[j].name + " and " + members_[i].name + " are one server, which has one vote"};
  return std::nullopt;
}

bool Ballot::knows_tokens() const {
  const Holds chosen = choose();
  for (std::size_t name = 0; name < chosen.size(); ++name)
    if (chosen[name].nested && commonest(name).votes < members_.needed()) return false;
  return true;
}

Holds Ballot::choose() const {
  Holds chosen;
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    if (!agrees(i)) continue;
    const Holds& holds = seats_[i].grant.holds;
    if (chosen.empty()) chosen = holds;
    for (std::size_t name = 0; name < holds.size(); ++name)
      chosen[name].token = std::max(chosen[name].token, holds[name].token);
  }
  DLOCK_ASSERT(!chosen.empty());
  for (std::size_t name = 0; name < chosen.size(); ++name) {
    const Count most = commonest(name);
    if (chosen[name].nested || most.votes >= members_.needed()) chosen[name].token = most.token;
  }
  return chosen;
}

std::vector<Vote> Ballot::words() const {
  std::vector<Vote> words;
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    const Seat& seat = seats_[i];
    if (seat.vote == Voted::unasked) continue;
    Vote vote{.server = members_[i].name, .trouble = {}, .holding = {}};
    if (seat.vote == Voted::failed) vote.trouble = seat.error.text;
    if (seat.vote == Voted::asked) vote.trouble = "no answer yet";
    if (seat.vote == Voted::refused) vote.holding = seat.refusal.holding;
    words.push_back(std::move(vote));
  }
  return words;
}

Error Ballot::too_few(const std::string& what) const {
  std::vector<Error> errors;
  for (const Seat& seat : seats_)
    if (seat.vote == Voted::failed) errors.push_back(seat.error);
  return failed_servers(errors, seats_.size(), members_.spare(), what);
}

}  // namespace dlock::quorum
