// SPDX-License-Identifier: MIT
#include "store/sql_store.hpp"

#include "base/text.hpp"
#include "store/record_json.hpp"

#include <algorithm>
#include <utility>

namespace dlock {

using lease_table::StoredLock;

namespace {

std::vector<std::string> ordered(const std::vector<LockName>& names) {
  std::vector<std::string> texts;
  texts.reserve(names.size());
  for (const LockName& name : names)
    texts.push_back(name.text());
  std::sort(texts.begin(), texts.end());
  return texts;
}

lease_table::Moment moment_of(std::int64_t now_us, Time sent_at) {
  return {.sent_at = sent_at,
          .now = lease_table::StoreTime(std::chrono::microseconds(now_us)),
          .wall_us = now_us};
}

}  // namespace

Result<std::string> SqlStore::key_of(const LockName& name) const {
  if (is_utf8(name.text())) return name.text();
  return Error{
      Errc::bad_usage,
      "cannot keep lock " + in_quotes(name.text()) + " in " + where() + ": names there are UTF-8"};
}

Result<std::vector<StoredLock>> SqlStore::locks_of(const std::vector<LockName>& names,
                                                   const Rows& rows) const {
  std::vector<StoredLock> locks;
  for (const LockName& name : names) {
    const auto row = std::find_if(rows.rows.begin(), rows.rows.end(), [&](const Row& one) {
      return one.name == name.text();
    });
    StoredLock& lock = locks.emplace_back();
    if (row == rows.rows.end()) continue;
    if (row->state && !row->state->empty()) {
      auto parsed = parse_state_file(*row->state);
      if (!parsed || parsed->name != name.text()) {
        return Error{Errc::refused,
                     "cannot read lock " + in_quotes(name.text()) + ": its row in " + where() +
                         " is damaged: delete the row if no job runs under this lock"};
      }
      lock = std::move(parsed->state);
    }
    lock.line = row->line;
  }
  return locks;
}

Result<TableStore::Step> SqlStore::step(const std::vector<LockName>& names,
                                        Time limit,
                                        const Change& change) {
  const auto rows = load(ordered(names), /*to_write=*/true, limit);
  if (!rows) return rows.error();
  const auto before = locks_of(names, *rows);
  if (!before) {
    (void)write({}, {}, limit).has_value();
    return before.error();
  }
  std::vector<StoredLock> after = *before;
  const Moment moment = moment_of(rows->now_us, rows->sent_at);
  Step step = change(lease_table::pointers_to(after), moment);
  std::vector<Write> writes;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Write one{.name = names[i].text(), .lock = step.writes};
    one.line = sql::change_of((*before)[i].line, after[i].line);
    if (one.lock) {
      one.columns = sql::columns_of(after[i], moment);
      one.token = after[i].token;
      one.state = state_file_json({one.name, "", after[i]});
    }
    const bool any = one.lock || !one.line.written.empty() || !one.line.gone.empty();
    if (any) writes.push_back(std::move(one));
  }
  if (auto written = write(writes, step.wakes, limit); !written) return written.error();
  return step;
}

Result<void> SqlStore::transact(const std::vector<LockName>& names,
                                Time limit,
                                const Change& change) {
  for (;;) {
    const auto done = step(names, limit, change);
    if (done) return {};
    const Cause why = cause();
    if (why == Cause::other || BootClock::now() >= limit) return done.error();
    if (why == Cause::repeat) continue;
    if (auto made = make_tables(limit); !made && cause() != Cause::repeat) return made;
  }
}

Result<void> SqlStore::read(const std::vector<LockName>& names, Time limit, const Look& look) {
  auto rows = load(ordered(names), /*to_write=*/false, limit);
  if (!rows && cause() == Cause::no_table) rows = load_clock(limit);
  if (!rows) return rows.error();
  auto locks = locks_of(names, *rows);
  if (!locks) return locks.error();
  look(lease_table::pointers_to(*locks), moment_of(rows->now_us, rows->sent_at));
  return {};
}

Result<std::vector<std::string>> SqlStore::list(std::string_view glob, Time limit) {
  std::vector<std::string> names;
  const auto rows = load_all(limit);
  if (!rows && cause() == Cause::no_table) return names;
  if (!rows) return rows.error();
  const Moment moment = moment_of(rows->now_us, rows->sent_at);
  for (const Row& row : rows->rows) {
    const auto lock = parse_state_file(row.state.value_or(""));
    // A damaged row may be that of a lock: inspect says what is wrong with it.
    const bool is_free =
        row.state.value_or("").empty() || (lock && !lease_table::is_live(lock->state, moment.now));
    if (!is_free && lease_table::glob_matches(glob, row.name)) names.push_back(row.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace dlock
