// SPDX-License-Identifier: MIT
#include "store/mysql/my_peer_lock.hpp"

#include "base/text.hpp"
#include "store/mysql/my_engine.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace dlock {

namespace {

constexpr std::size_t k_longest_word = 64;  // the longest name that GET_LOCK accepts, in characters

// Returns a statement that lets the connection be idle for a year, because the peer lock ends with
// the connection. It also limits how long take() waits for a table that is just being altered.
sql::Statement prepared_for(Time limit) {
  const auto left = std::chrono::ceil<std::chrono::seconds>(limit - BootClock::now());
  return {"set session wait_timeout = 31536000, lock_wait_timeout = " +
          std::to_string(std::max<long long>(1, left.count())) +
          " /*M! , idle_transaction_timeout = 0, idle_write_transaction_timeout = 0, "
          "idle_readonly_transaction_timeout = 0 */"};
}

std::size_t characters_of(std::string_view utf8) {
  return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
  }));
}

}  // namespace

MyPeerLock::MyPeerLock(const MyAddress& address, const Interrupt* interrupt)
    : SessionPeerLock(*address.with, address, interrupt) {}

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

// Takes the row locks. The statements say SKIP LOCKED and not NOWAIT, which fails if a row is
// locked. After an error the later statements would not be executed, and the session would roll
// back. And if the column has no index, NOWAIT would fail because of rows with other names, too.
Result<PeerLock::Taken> MyPeerLock::take_rows(const std::vector<LockName>& names, Time limit) {
  std::vector<sql::Statement> all{
      prepared_for(limit), ask_engine(with().table), {"start transaction read write"}};
  const std::size_t first = all.size();
  for (const LockName& name : names) {
    const std::string row = "select 1 from " + with().table + " where " + with().column + " = $1";
    all.push_back({row + " for update skip locked", {name.text()}});
    all.push_back({row, {name.text()}});
  }
  const auto answers = session().run(all, limit);
  if (!answers) return refused(answers.error(), session().cause());
  if (const auto fault = engine_fault((*answers)[1])) {
    give_up(limit);
    return Error{Errc::bad_config, "cannot lock rows at " + session().where() + ": " + *fault};
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t taken = (*answers)[first + 2 * i].rows.size();
    const std::size_t wanted = (*answers)[first + 2 * i + 1].rows.size();
    if (wanted > 0 && taken == wanted) continue;
    give_up(limit);
    if (wanted == 0) return no_row(with(), session().where(), names[i].text());
    return Taken(Blocked{.which = i});
  }
  return Taken();
}

Result<PeerLock::Taken> MyPeerLock::take_words(const std::vector<LockName>& names, Time limit) {
  std::vector<sql::Statement> all{prepared_for(limit)};
  for (const LockName& name : names) {
    all.push_back({"select get_lock(word, 0), is_used_lock(word) from (select $1 as word) as one",
                   {name.text()}});
  }
  const auto answers = session().run(all, limit);
  if (!answers) {
    session().disconnect();  // this releases the locks that GET_LOCK has taken so far
    return answers.error();
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto& word = (*answers)[1 + i].rows;
    const bool strange = word.size() != 1 || word.front().size() != 2;
    if (!strange && word.front()[0] == "1") continue;
    give_up(limit);
    if (strange)
      return Error{Errc::protocol, session().where() + " gave an answer of an unknown kind"};
    const auto& row = word.front();
    if (!row[0]) return Error{Errc::refused, session().where() + " does not carry out GET_LOCK"};
    return Taken(Blocked{.which = i, .by = row[1].value_or("")});
  }
  return Taken();
}

sql::Statement MyPeerLock::end() const {
  return {is_row() ? "rollback" : "do release_all_locks()"};
}

}  // namespace dlock
