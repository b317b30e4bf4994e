// SPDX-License-Identifier: MIT
#include "store/etcd/etcd_store.hpp"

#include "base/text.hpp"
#include "sys/limits.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <utility>

namespace dlock {

using lease_table::StoredLock;
using lease_table::StoreTime;

namespace {

bool is_same(const std::vector<EtcdRange>& a, const std::vector<EtcdRange>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& one, const auto& other) {
    return one.first == other.first && one.end == other.end;
  });
}

// Returns the part of a glob before its first special character.
std::string literal_part(std::string_view glob) {
  return std::string(glob.substr(0, glob.find_first_of("*?[\\")));
}

}  // namespace

Result<EtcdAddress> EtcdStore::address_of(const StoreOptions& options) {
  auto address = parse_etcd_url(options.url);
  if (!address) return address.error();
  if (address->password.empty()) address->password = options.password;
  for (Endpoint& server : address->servers)
    if (server.tls) server.tls = std::make_shared<const TlsSettings>(options.tls);
  return address;
}

std::unique_ptr<EtcdStore> EtcdStore::open(const EtcdAddress& address,
                                           const StoreOptions& options) {
  return std::unique_ptr<EtcdStore>(new EtcdStore(address, options));
}

EtcdStore::EtcdStore(const EtcdAddress& address, const StoreOptions& options)
    : where_(address.text), client_(address, options.interrupt), watch_(client_.watch()) {}

Result<std::string> EtcdStore::key_of(const LockName& name) const {
  // A name that begins like the keys "dlock-done/…" is refused: these keys, which remember
  // successes, would look like holders of such a lock.
  const std::string notes = note_of_lock("");
  if (!(name.text() + '/').starts_with(notes)) return name.text();
  return Error{Errc::bad_usage,
               "cannot keep lock " + in_quotes(name.text()) + " in " + where() +
                   ": names there are not, and do not begin with, " + notes};
}

Result<AcquireReply> EtcdStore::acquire(const Claim& claim, Queueing queueing, Time limit) {
  auto reply = TableStore::acquire(claim, queueing, limit);
  if (reply || reply.error().code != Errc::denied) return reply;
  const std::string& lock = claim.names.front().text();
  return Error{Errc::denied,
               reply.error().text + "; a claim reads and writes " + lock + "/*, " +
                   note_of_lock(lock) + " and " + std::string(k_etcd_epoch)};
}

bool EtcdStore::is_ours(const std::string& id) const {
  return std::find(ids_.begin(), ids_.end(), id) != ids_.end();
}

// Returns the index of our key in the row, if we wait.
std::optional<std::size_t> EtcdStore::our_place(const EtcdRow& row) const {
  for (const auto& [id, index] : row.waiters)
    if (is_ours(id)) return index;
  return std::nullopt;
}

// Reads the keys of all names, and the epoch if `with_epoch`, all at one revision.
Result<EtcdStore::Rows> EtcdStore::load(const std::vector<LockName>& names,
                                        bool with_epoch,
                                        Time limit) {
  const bool watched = names == watched_;
  std::vector<std::optional<EtcdLine>> lines;
  if (watched) lines = std::exchange(lines_, {});
  lines.resize(names.size());
  EtcdTxn txn;
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (EtcdGet& get : etcd_line_gets(names[i].text(), lines[i]))
      txn.then.emplace_back(std::move(get));
    txn.then.emplace_back(EtcdGet{.range = {note_of_lock(names[i].text())}});
  }
  if (with_epoch) txn.then.emplace_back(EtcdGet{.range = {std::string(k_etcd_epoch)}});
  auto answers = client_.run({std::move(txn)}, limit);
  if (!answers) return answers.error();
  EtcdAnswer& answer = answers->front();
  Rows rows{.rows = {}, .revision = answer.revision, .moment = local_moment(client_.sent_at())};
  rows.moment.numbers_writes = true;
  if (const auto& keys = answer.parts.back().keys; with_epoch && !keys.empty())
    rows.epoch = contender::Epoch::read(keys.front().value, keys.front().modified);
  auto part = std::make_move_iterator(answer.parts.begin());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto note = part + (lines[i] ? 2 : 1);
    // A store that was restored from an older copy counts revisions anew.
    const bool is_older = lines[i] && rows.revision < lines[i]->revision;
    auto keys = is_older ? std::nullopt : etcd_line_keys(lines[i], {part, note});
    if (!keys) return load(names, with_epoch, limit);
    part = note + 1;
    EtcdRow& row =
        rows.rows.emplace_back(row_of(names[i].text(), *keys, note.base()->keys, rows.moment.now));
    turns_.note(row.lock, row.state, rows.moment.now, [&](const auto& id) { return is_ours(id); });
    if (watched) lines_.push_back(etcd_line(row, std::move(*keys), rows.revision, our_place(row)));
  }
  if (watched) {
    wanted_ = ranges_of(rows);
    seen_ = rows.revision;
  }
  return rows;
}

std::int64_t EtcdStore::epoch_for_grant(const Rows& rows,
                                        const std::vector<StoredLock>& locks) const {
  if (!may_raise_) return rows.epoch.value;
  return rows.epoch.for_grant(rows.revision, rows.moment.wall_us, contender::largest_token(locks));
}

// Carries out a change. If it `hurries`, it revokes leases that have lost their keys without a wait
// for the answer. Returns false if nothing was written, because the locks have changed since they
// were read.
Result<bool> EtcdStore::write(const EtcdChange& change, bool hurries, Time limit) {
  std::vector<EtcdRequest> all = change.leases;
  all.emplace_back(change.txn);
  const auto answers = client_.run(all, limit);
  if (!answers) return answers.error();
  for (std::size_t i = 0; i < change.leases.size(); ++i)
    if (std::holds_alternative<EtcdKeepAlive>(change.leases[i]) &&
        (*answers)[i].ttl == Duration::zero())
      return false;
  if (!answers->back().succeeded) return false;
  written_ = answers->back().revision;
  // Leases that have no key any more are revoked, so that etcd need not keep them until they end.
  std::vector<EtcdRequest> gone;
  for (const EtcdLease lease : change.left)
    gone.emplace_back(EtcdRevoke{lease});
  if (hurries && !gone.empty()) client_.tell(gone, limit);
  if (!hurries && !gone.empty()) (void)client_.run(gone, limit).has_value();
  return true;
}

// Remembers what a grant has written, for a release that follows it. Not of a claim that has
// waited: in a crowd, the sooner a run is over, the more claims come at the same time, and those
// conflict (measured: 16 workers then get half as many runs).
void EtcdStore::remember(const std::vector<LockName>& names,
                         const Rows& rows,
                         const EtcdChange& change) {
  Remembered all{.names = names};
  for (const EtcdRow& row : rows.rows) {
    EtcdRow& own = all.rows.emplace_back(EtcdRow{.lock = row.lock, .note = row.note});
    for (const EtcdOperation& one : change.txn.then) {
      const auto* const put = std::get_if<EtcdPut>(&one);
      if (put == nullptr) continue;
      if (put->key == note_of_lock(row.lock)) return;
      if (lock_of_key(put->key) != row.lock) continue;
      own.keys.push_back({put->key, put->value, written_, written_, put->lease});
    }
    if (own.keys.size() != 1) return;
  }
  remembered_ = std::move(all);
}

EtcdStore::Rows EtcdStore::rows_of(const Remembered& remembered) {
  Rows rows{.rows = {}, .moment = local_moment(BootClock::now())};
  rows.moment.numbers_writes = true;
  for (const EtcdRow& row : remembered.rows) {
    const auto note = row.note ? std::vector{*row.note} : std::vector<EtcdKey>();
    rows.rows.push_back(row_of(row.lock, row.keys, note, rows.moment.now));
  }
  return rows;
}

Result<void> EtcdStore::transact(const std::vector<LockName>& names,
                                 const Occasion& occasion,
                                 Time limit,
                                 const Change& change) {
  auto remembered = std::exchange(remembered_, std::nullopt);
  if (!occasion.frees || (remembered && remembered->names != names)) remembered.reset();
  for (int changes = 0;;) {
    const bool relies = remembered.has_value();
    auto rows = relies ? Result<Rows>(rows_of(*std::exchange(remembered, std::nullopt)))
                       : load(names, /*with_epoch=*/occasion.claim != nullptr, limit);
    if (!rows) return contender::outpaced(where(), changes, rows.error());
    std::vector<StoredLock> after = contender::states_of(rows->rows);
    const std::int64_t epoch = epoch_for_grant(*rows, after);
    const Step step = change(lease_table::pointers_to(after), rows->moment);
    EtcdChange all;
    for (std::size_t i = 0; i < names.size(); ++i)
      add_change(rows->rows[i],
                 after[i],
                 {.moment = rows->moment,
                  .revision = rows->revision,
                  .writes = step.writes_lock(i),
                  .proves = step.writes && step.only,
                  .renewed = step.renews,
                  .proves_note = relies,
                  .epoch = epoch},
                 all);
    const bool only_frees = all.leases.empty() && all.txn.then.size() == names.size();
    if (relies && !only_frees) continue;
    if (all.grants) add_etcd_epoch(rows->epoch, epoch, all);
    if (all.leases.empty() && all.txn.then.empty()) return {};
    // A get is added, because a member answers a transaction without operations by itself, without
    // a majority of the members.
    all.txn.then.emplace_back(EtcdGet{.range = {note_of_lock(rows->rows.front().lock)}});
    const auto written = write(all, relies, limit);
    const bool raises = all.grants && epoch != rows->epoch.value && rows->epoch.value > 0;
    if (!written && written.error().code == Errc::denied && raises) {
      may_raise_ = false;  // this user may not write the epoch: the old one is used
      continue;
    }
    if (!written) return contender::outpaced(where(), changes, written.error());
    if (*written) {
      token_ = static_cast<FencingToken>(epoch + written_);
      if (all.grants && occasion.queueing == Queueing::no) remember(names, *rows, all);
      return {};
    }
    if (relies) continue;
    ++changes;
    if (BootClock::now() >= limit) return contender::outpaced(where(), changes);
  }
}

// Asks how long the leases have left, and writes their ends into the rows, for display and for
// waiters.
Result<void> EtcdStore::see_ends(Rows& rows, Time limit) {
  std::vector<EtcdRequest> questions;
  std::vector<std::optional<StoreTime>*> foreign;
  std::vector<lease_table::Lease*> ours;
  for (EtcdRow& row : rows.rows) {
    for (const auto& [owner, index] : row.holders) {
      if (row.keys[index].lease == 0) continue;
      questions.emplace_back(EtcdTimeToLive{row.keys[index].lease});
      ours.push_back(&row.state.leases.at(owner));
      foreign.push_back(nullptr);
    }
    if (!row.foreign || row.keys[*row.foreign].lease == 0) continue;
    questions.emplace_back(EtcdTimeToLive{row.keys[*row.foreign].lease});
    ours.push_back(nullptr);
    foreign.push_back(&row.state.foreign->until);
  }
  if (questions.empty()) return {};
  const auto answers = client_.run(questions, limit);
  if (!answers) return answers.error();
  for (std::size_t i = 0; i < questions.size(); ++i) {
    // Even if a lease has ended by now, it counts for a moment, because it still existed when its
    // key was read.
    const StoreTime end =
        rows.moment.now + std::max<Duration>((*answers)[i].ttl, std::chrono::milliseconds(1));
    if (ours[i] == nullptr) {
      *foreign[i] = end;
      continue;
    }
    ours[i]->expires = end;
    ours[i]->at_most = false;
  }
  return {};
}

Result<void> EtcdStore::read(const std::vector<LockName>& names, Time limit, const Look& look) {
  auto rows = load(names, /*with_epoch=*/false, limit);
  if (!rows) return rows.error();
  if (auto seen = see_ends(*rows, limit); !seen) return seen;
  std::vector<StoredLock> states = contender::states_of(rows->rows);
  look(lease_table::pointers_to(states), rows->moment);
  return {};
}

// Returns the keys to watch. If our claim has the third or a later place in line, they are those of
// the two waiters before it; otherwise they are all keys of the lock.
std::vector<EtcdRange> EtcdStore::ranges_of(const Rows& rows) const {
  std::vector<EtcdRange> ranges;
  for (const EtcdRow& row : rows.rows) {
    const auto ours = our_place(row);
    const auto place = std::find_if(row.state.line.begin(),
                                    row.state.line.end(),
                                    [&](const auto& one) { return is_ours(one.id); }) -
                       row.state.line.begin();
    if (!ours || place < 2) {
      ranges.push_back(keys_of_lock(row.lock));
      continue;
    }
    for (std::size_t i = *ours - 2; i < *ours; ++i)
      ranges.push_back({row.keys[i].key});
  }
  return ranges;
}

Result<void> EtcdStore::watch_rows(const std::vector<LockName>& names,
                                   const std::vector<std::string>& ids,
                                   Time limit) {
  watched_ = names;
  ids_ = ids;
  lines_.clear();
  if (const auto rows = load(names, /*with_epoch=*/false, limit); !rows) return rows.error();
  open_ = wanted_;
  return watch_.open(open_, seen_ + 1, limit);
}

Result<bool> EtcdStore::await_change(Time until) {
  if (!watch_.is_open() || !is_same(open_, wanted_)) {
    open_ = wanted_;
    const auto opened =
        watch_.open(open_, seen_ + 1, std::max(until, BootClock::now() + std::chrono::seconds(1)));
    if (!opened) return opened.error();
  }
  const auto event = watch_.await_event(until);
  if (!event) return event.error();
  if (!*event) return false;
  // A key before ours has changed, so few keys are left there. All others may be gone: the next
  // read asks for all keys before ours.
  for (std::optional<EtcdLine>& line : lines_)
    if (line) line->front = std::max(line->front, line->ours);
  // Further events that have arrived are dropped: the caller reads the lock now, and sees what they
  // did.
  for (const Time now = BootClock::now();;) {
    const auto more = watch_.await_event(now);
    if (!more || !*more) return true;
  }
}

Result<std::vector<std::string>> EtcdStore::list(std::string_view glob, Time limit) {
  std::set<std::string> found;
  const std::string from = literal_part(glob);
  EtcdRange range =
      from.empty() ? EtcdRange{std::string(1, '\0'), std::string(1, '\0')} : keys_below(from);
  constexpr std::int64_t k_at_once = 1000;
  for (;;) {
    const auto answers =
        client_.run({EtcdGet{.range = range, .keys_only = true, .most = k_at_once}}, limit);
    if (!answers && answers.error().code == Errc::denied)
      return Error{Errc::denied,
                   answers.error().text +
                       "; it reads all keys that begin as the pattern does: dlock "
                       "list 'PREFIX*'"};
    if (!answers) return answers.error();
    const EtcdAnswer& answer = answers->front();
    for (const EtcdKey& key : answer.keys) {
      const auto lock = lock_of_key(key.key);
      if (!lock || key.lease == 0) continue;
      if (lock->starts_with(note_of_lock(""))) continue;
      if (lease_table::glob_matches(glob, *lock)) found.insert(*lock);
    }
    const auto given = static_cast<std::int64_t>(answer.keys.size());
    if (given == 0 || answer.count <= given) break;
    if (found.size() > limits::k_names)
      return Error{Errc::refused,
                   client_.where() + " has more than " + std::to_string(limits::k_names) +
                       " locks that match; give a narrower pattern"};
    range.first = answer.keys.back().key + '\0';
  }
  return std::vector<std::string>(found.begin(), found.end());
}

}  // namespace dlock
