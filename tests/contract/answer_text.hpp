// SPDX-License-Identifier: MIT
// AnswerText: the answers of a store as text, so that the answers of two stores to the same calls
// can be compared. The text leaves out what may differ between correct stores: the values of tokens
// (their order stays), milliseconds, and the words and counts that are specific to a store.
#pragma once

#include "core/lock_store.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dlock::contract {

// The game advances time in steps of this length. Everything that ends (a lease, a record, a place
// in line after 10 s, a turn after 1 s) ends a second or more before or after a step. Remaining
// times are printed in whole steps.
constexpr Duration k_step = std::chrono::seconds(4);

// Returns the claim in words, for the transcript.
std::string words_of(const Claim& claim);
std::string words_of(const Holds& holds);

class AnswerText {
 public:
  using Names = std::vector<LockName>;  // names of the call that was answered
  std::string of(const AcquireReply& reply, const Names& names);
  std::string of(const RenewReply& reply, const Names& names);
  std::string of(const RevokeReply& reply, const Names& names);
  std::string of(const Holding& holding, const Names& names);  // the answer to inspect
  static std::string of(ReleaseVerdict verdict);
  static std::string of(const std::optional<LastSuccess>& success);
  static std::string of(const std::optional<Freeze>& freeze);
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
  std::string last(const LastRun& one, const Holding& holding, const LockName& name);
  static std::string owner(const Holding::Owner& one, Mode mode);
  static std::string waiter(const Waiter& one, const Holding& holding);
  std::string record(const HoldRecord& hold, const Holding& holding, const LockName& name);
  // Returns the rank of a token: the first token of a name is 1, the next larger one 2, and so on;
  // 0: no token; "older": a token smaller than an earlier one.
  std::string token(FencingToken token, const LockName& name);

  std::map<std::string, std::map<FencingToken, std::size_t>> tokens_;  // ranks, by name
};

}  // namespace dlock::contract
