// SPDX-License-Identifier: MIT
// Calls and answers as text. AnswerText: the answers of a store as text, so that the answers of two
// stores to the same calls can be compared. It leaves out what differs between stores that both
// keep their promises: the values of tokens (their order stays), milliseconds, and the words and
// counts of one store.
#pragma once

#include "core/lock_store.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dlock::contract {

// Time passes in such steps. Whatever ends does so a second or more beside a step: a lease, a note,
// a place in line (10 s) and a turn (1 s). What is left of it is told in whole steps.
constexpr Duration k_step = std::chrono::seconds(4);

// What a call is about, for the transcript.
std::string words_of(const Claim& claim);
std::string words_of(const Holds& holds);

class AnswerText {
 public:
  using Names = std::vector<LockName>;  // of the call that was answered
  std::string of(const AcquireReply& reply, const Names& names);
  std::string of(const RenewReply& reply, const Names& names);
  std::string of(const RevokeReply& reply, const Names& names);
  std::string of(const Holding& holding, const Names& names);  // of inspect
  static std::string of(ReleaseVerdict verdict);
  static std::string of(const std::optional<LastSuccess>& success);
  static std::string of(const std::vector<std::string>& listed);

  template <class T, class... Names>
  std::string of(const Result<T>& result, const Names&... names) {
    return result ? of(*result, names...) : error(result.error());
  }
  static std::string of(const Result<void>& result) {
    return result ? "ok" : error(result.error());
  }

 private:
  static std::string error(const Error& error);
  std::string granted(const Grant& grant);
  std::string refused(const Refusal& refusal, const Names& names);
  std::string held(const Holding& holding, const LockName& name);
  static std::string owner(const Holding::Owner& one, Mode mode);
  static std::string waiter(const Waiter& one, const Holding& holding);
  std::string record(const HoldRecord& hold, const Holding& holding, const LockName& name);
  // The first token of a name is 1, the next larger one 2, …; 0 is none; "older": one that was
  // given after a larger one.
  std::string token(FencingToken token, const LockName& name);

  std::map<std::string, std::map<FencingToken, std::size_t>> tokens_;  // of each name
};

}  // namespace dlock::contract
