// SPDX-License-Identifier: MIT
#include "contract/answer_text.hpp"

#include "base/duration.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <variant>

namespace dlock::contract {

namespace {

// Returns the remaining time in whole steps, rounded down because leases end beside a step: "24s"
// for 25 s.
std::string steps_left(Duration left) {
  return format_duration(left / k_step * k_step);
}

// Returns the age in whole steps: calls are made at steps, apart from the time that the machine
// takes.
std::string steps_since(Duration ago) {
  return steps_left(ago + k_step / 2);
}

std::string text_of(const LastSuccess& success) {
  return "success " + steps_since(success.ago) + " ago, left " + steps_left(success.left);
}

// Returns the number of waiters. Only acquire and inspect count them in every store.
std::string waiting(const Holding& holding) {
  return holding.waiting == 0 ? "" : ", " + std::to_string(holding.waiting) + " waiting";
}

std::string joined(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  std::string all;
  for (const std::string& text : texts)
    all += (all.empty() ? "" : ", ") + text;
  return all;
}

}  // namespace

std::string words_of(const Claim& claim) {
  std::string text = claim.owner + " " + claim.serial + " " + std::string(mode_word(claim.mode));
  if (claim.slots != 0) text += " " + std::to_string(claim.slots);
  for (const LockName& name : claim.names)
    text += " " + name.text();
  if (claim.one_from) text += " one from " + std::to_string(*claim.one_from);
  text += " ttl " + std::to_string(to_ms(claim.ttl));
  if (claim.once_per != Duration::zero()) text += " once " + std::to_string(to_ms(claim.once_per));
  if (claim.who.supersede != Supersede::nothing)
    text += " supersedes " + std::string(supersede_word(claim.who.supersede));
  if (claim.max_waiters) text += " most " + std::to_string(*claim.max_waiters);
  for (const AncestorHold& above : claim.ancestors)
    text += " below " + above.key + "/" + hold_id(above.owner, above.serial);
  for (const std::string& id : claim.relies_on)
    text += " relies on " + id;
  return text;
}

std::string words_of(const Holds& holds) {
  std::string text;
  for (const Hold& hold : holds)
    text += " " + hold.name.text() + "/" + hold_id(hold.owner, hold.serial);
  return text;
}

std::string AnswerText::error(const Error& error) {
  return "error " + std::to_string(static_cast<int>(error.code)) + ": " + error.text;
}

std::string AnswerText::token(FencingToken token, const LockName& name) {
  if (token == 0) return "0";
  auto& tokens = tokens_[name.text()];
  const auto known = tokens.find(token);
  if (known != tokens.end()) return std::to_string(known->second);
  if (!tokens.empty() && token < tokens.rbegin()->first) return "older";
  const std::size_t rank = tokens.size() + 1;
  tokens.emplace(token, rank);
  return std::to_string(rank);
}

std::string AnswerText::granted(const Grant& grant) {
  std::string text = "granted";
  for (const Hold& hold : grant.holds) {
    text += " [" + hold.name.text() + " of " + hold.owner + " " + hold.serial + " " +
            std::string(mode_word(hold.mode)) + " token " + token(hold.token, hold.name);
    if (hold.slot) text += " slot " + std::to_string(*hold.slot);
    if (hold.nested) text += " nested";
    text += " ttl " + std::to_string(to_ms(hold.ttl)) + "]";
  }
  return text;
}

std::string AnswerText::refused(const Refusal& refusal, const Names& names) {
  if (refusal.superseded_by) return "superseded by " + who_text(*refusal.superseded_by);
  std::string text = "refused at " + std::to_string(refusal.which);
  if (refusal.by_ancestor) text += " by an ancestor";
  if (refusal.turn_left) text += " with a turn";
  return text + ", place " + std::to_string(refusal.place) + ": " +
         held(refusal.holding, names.at(refusal.which)) + waiting(refusal.holding);
}

std::string AnswerText::of(const AcquireReply& reply, const Names& names) {
  if (const auto* grant = std::get_if<Grant>(&reply)) return granted(*grant);
  if (const auto* refusal = std::get_if<Refusal>(&reply)) return refused(*refusal, names);
  return "done " + steps_since(std::get<Done>(reply).ago) + " ago";
}

std::string AnswerText::of(const RenewReply& reply, const Names& names) {
  switch (reply.verdict) {
    case RenewVerdict::renewed:
      return "renewed";
    case RenewVerdict::held:
      return "held";
    case RenewVerdict::revoked:
      return "revoked at " + std::to_string(reply.which) + " by " + reply.revoked_by;
    case RenewVerdict::lost:
      return "lost at " + std::to_string(reply.which) +
             (reply.released ? " after its release: " : ": ") +
             held(reply.holding, names.at(reply.which));
  }
  return "?";
}

std::string AnswerText::of(ReleaseVerdict verdict) {
  constexpr std::array<const char*, 3> k_words{"released", "still held", "not held"};
  return k_words.at(static_cast<std::size_t>(verdict));
}

std::string AnswerText::of(const RevokeReply& reply, const Names& names) {
  constexpr std::array<const char*, 6> k_words{
      "revoked", "deleted", "nothing", "not dlock", "other holder", "frozen"};
  return k_words.at(static_cast<std::size_t>(reply.verdict)) + std::string(", before: ") +
         held(reply.before, names.front());
}

// Returns an owner without the number of a writer's holds, which depends on the store: Redis counts
// its read holds separately.
std::string AnswerText::owner(const Holding::Owner& one, Mode mode) {
  std::string text = one.id;
  if (mode != Mode::exclusive) text += " x" + one.count;
  if (const auto left = one.lease_left.within()) text += " left " + steps_left(*left);
  return text;
}

std::string AnswerText::record(const HoldRecord& hold,
                               const Holding& holding,
                               const LockName& name) {
  std::string text = hold.id + " " + std::string(mode_word(hold.mode)) + " token " +
                     token(hold.token, name) + " since " + steps_since(age_of(hold, holding)) +
                     " ttl " + std::to_string(to_ms(hold.ttl)) + " " + who_text(hold.who);
  if (hold.slot) text += " slot " + std::to_string(*hold.slot);
  return text + (hold.kept ? " kept" : "");
}

std::string AnswerText::held(const Holding& holding, const LockName& name) {
  if (holding.frozen) {
    Holding thawed = holding;
    thawed.frozen.reset();
    return held(thawed, name) + "; " + of(holding.frozen);
  }
  if (holding.kind == Holding::Kind::none) return "free";
  if (holding.kind == Holding::Kind::foreign) return "foreign";
  std::vector<std::string> owners;
  for (const Holding::Owner& one : holding.owners)
    owners.push_back(owner(one, holding.mode));
  std::vector<std::string> records;
  for (const HoldRecord& hold : holding.holds)
    records.push_back(record(hold, holding, name));
  std::string text = std::string(mode_word(holding.mode)) + " " + std::to_string(holding.slots) +
                     ", " + std::to_string(holding.owner_count) + " (" + joined(owners) + ") {" +
                     joined(records) + "}";
  const auto left = holding.lease_left.within();
  text += left ? " left " + steps_left(*left) : " for ever";
  if (!holding.revoked_by.empty()) text += " revoked by " + holding.revoked_by;
  return text;
}

std::string AnswerText::waiter(const Waiter& one, const Holding& holding) {
  const std::chrono::milliseconds ago(holding.now_ms - one.since_ms);
  return " [" + who_text(one.who) + " " + std::string(mode_word(one.mode)) + " " +
         std::to_string(one.slots) + " for " + steps_since(ago) + "]";
}

std::string AnswerText::of(const Holding& holding, const Names& names) {
  std::string text = held(holding, names.front()) + waiting(holding);
  for (const Waiter& one : holding.line)
    text += waiter(one, holding);
  if (holding.success) text += "; " + text_of(*holding.success);
  return text + (holding.last ? last(*holding.last, holding, names.front()) : "");
}

std::string AnswerText::last(const LastRun& one, const Holding& holding, const LockName& name) {
  using std::chrono::milliseconds;
  std::string text = "; last " + who_text(one.who) + " token " + token(one.token, name) + " for " +
                     steps_since(milliseconds(one.ended_ms - one.since_ms)) + " ended " +
                     steps_since(milliseconds(holding.now_ms - one.ended_ms)) + " ago " +
                     one.outcome;
  if (one.exit_status) text += " " + std::to_string(*one.exit_status);
  return text + (one.later_is_silent ? ", a later one is silent" : "");
}

std::string AnswerText::of(const std::optional<LastSuccess>& success) {
  return success ? text_of(*success) : "nothing";
}

std::string AnswerText::of(const std::optional<Freeze>& freeze) {
  if (!freeze) return "nothing";
  return "frozen by " + who_text(freeze->who) + " left " + steps_left(freeze->left);
}

std::string AnswerText::of(const std::vector<std::string>& listed) {
  return joined(listed);
}

}  // namespace dlock::contract
