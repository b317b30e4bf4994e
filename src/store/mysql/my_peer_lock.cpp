// SPDX-License-Identifier: MIT
#include "store/mysql/my_peer_lock.hpp"

#include "base/text.hpp"
#include "store/mysql/my_engine.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace dlock {

namespace {

constexpr std::size_t k_longest_word = 64;  // characters that GET_LOCK takes

// Prepares a connection that may be idle for long, and waits only for a table that is being
// altered.
std::string prepared_for(Time limit) {
  const auto left = std::chrono::ceil<std::chrono::seconds>(limit - BootClock::now());
  return "set session wait_timeout = 31536000, lock_wait_timeout = " +
         std::to_string(std::max<long long>(1, left.count())) +
         " /*M! , idle_transaction_timeout = 0, idle_write_transaction_timeout = 0, "
         "idle_readonly_transaction_timeout = 0 */";
}

std::size_t characters_of(std::string_view utf8) {
  return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
  }));
}

}  // namespace

MyPeerLock::MyPeerLock(MyAddress address, const Interrupt* interrupt)
    : with_(*address.with), session_(std::move(address), interrupt) {}

std::unique_ptr<PeerLock> MyPeerLock::open(const MyAddress& address, const StoreOptions& options) {
  if (!address.with) return nullptr;
  return std::unique_ptr<PeerLock>(new MyPeerLock(address, options.interrupt));
}

Result<void> MyPeerLock::fits(const LockName& name) const {
  if (is_row() || characters_of(name.text()) <= k_longest_word) return {};
  return Error{Errc::bad_usage,
               "cannot have lock " + in_quotes(name.text()) +
                   " with GET_LOCK: names there have at "
                   "most 64 characters"};
}

Result<PeerLock::Taken> MyPeerLock::take(const std::vector<LockName>& names, Time limit) {
  return is_row() ? take_rows(names, limit) : take_words(names, limit);
}

// Skips locked rows: NOWAIT would be an error, which costs the connection, and would meet the locks
// of other rows if the column has no index.
Result<PeerLock::Taken> MyPeerLock::take_rows(const std::vector<LockName>& names, Time limit) {
  std::vector<std::string> all{
      prepared_for(limit), ask_engine(with_.table), "start transaction read write"};
  const std::size_t first = all.size();
  for (const LockName& name : names) {
    const std::string row = "select 1 from " + with_.table + " where " + with_.column + " = " +
                            MySession::quoted(name.text());
    all.push_back(row + " for update skip locked");
    all.push_back(row);
  }
  const auto answers = session_.run(all, limit);
  if (!answers) {
    const bool undefined =
        session_.fault() == MyFault::no_table || session_.fault() == MyFault::no_column;
    if (undefined) return Error{Errc::bad_config, answers.error().text};
    return answers.error();
  }
  if (const auto fault = engine_fault((*answers)[1])) {
    give_up(limit);
    return Error{Errc::bad_config, "cannot lock rows at " + session_.where() + ": " + *fault};
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t taken = (*answers)[first + 2 * i].rows.size();
    const std::size_t wanted = (*answers)[first + 2 * i + 1].rows.size();
    if (wanted > 0 && taken == wanted) continue;
    give_up(limit);
    if (wanted == 0) return no_row(with_, session_.where(), names[i].text());
    return Taken(Blocked{.which = i});
  }
  return Taken();
}

Result<PeerLock::Taken> MyPeerLock::take_words(const std::vector<LockName>& names, Time limit) {
  std::vector<std::string> all{prepared_for(limit)};
  for (const LockName& name : names) {
    all.push_back("select get_lock(word, 0), is_used_lock(word) from (select " +
                  MySession::quoted(name.text()) + " as word) as one");
  }
  const auto answers = session_.run(all, limit);
  if (!answers) {
    session_.disconnect();  // with the words that it has by now
    return answers.error();
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto& word = (*answers)[1 + i].rows;
    const bool strange = word.size() != 1 || word.front().size() != 2;
    if (!strange && word.front()[0] == "1") continue;
    give_up(limit);
    if (strange)
      return Error{Errc::protocol, session_.where() + " gave an answer of an unknown kind"};
    const auto& row = word.front();
    if (!row[0]) return Error{Errc::refused, session_.where() + " does not carry out GET_LOCK"};
    return Taken(Blocked{.which = i, .by = row[1].value_or("")});
  }
  return Taken();
}

Result<void> MyPeerLock::check(Time limit) {
  auto alive = session_.ask_alive(limit);
  if (alive || session_.connected()) return alive;
  return Error{Errc::lost, alive.error().text};
}

void MyPeerLock::give_up(Time limit) {
  if (session_.owes_sign()) return session_.disconnect();
  if (!session_.connected()) return;
  if (!session_.run({is_row() ? "rollback" : "do release_all_locks()"}, limit))
    session_.disconnect();
}

}  // namespace dlock
