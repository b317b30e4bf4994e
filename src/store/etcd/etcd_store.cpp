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

// A read is recent for so long: the next try of a claim relies on it, and checks it by the
// conditions of its transaction. An older one would more often be wrong.
constexpr Duration k_recent = std::chrono::milliseconds(100);

// Returns whether the claim's answer is the same whatever keys have come behind its own.
bool ignores_later(const Claim* claim) {
  return claim != nullptr && claim->names.size() == 1 && !claim->max_waiters &&
         claim->who.supersede == Supersede::nothing;
}

// Returns the part of a glob before its first special character.
std::string literal_part(std::string_view glob) {
  return std::string(glob.substr(0, glob.find_first_of("*?[\\")));
}

// Lets the claim's place in line count as just taken, so that nothing is written for it.
void keep_place(EtcdRows& rows, const Claim& claim) {
  for (EtcdRow& row : rows.rows)
    for (lease_table::Place& place : row.state.line)
      if (place.id == waiter_id(claim))
        place.alive_until = rows.moment.now + lease_table::k_line_life;
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

EtcdReading EtcdStore::reading_of(const std::vector<LockName>& names, bool with_epoch) const {
  auto known = names == watched_ ? lines_ : std::vector<std::optional<EtcdLine>>();
  return {names, ids_, std::move(known), with_epoch};
}

// Takes note of rows that were just read, and returns them.
EtcdRows EtcdStore::take(EtcdRows rows) {
  for (EtcdRow& row : rows.rows)
    turns_.note(row.lock, row.state, rows.moment.now, [&](const std::string& id) {
      return std::find(ids_.begin(), ids_.end(), id) != ids_.end();
    });
  if (rows.names == watched_) {
    lines_ = rows.lines;
    wanted_ = etcd_watched(rows.rows, ids_);
    seen_ = rows.revision;
  }
  recent_ = rows;
  return rows;
}

// Reads the keys of all names, and the epoch if `with_epoch`, all at one revision.
Result<EtcdRows> EtcdStore::load(const std::vector<LockName>& names, bool with_epoch, Time limit) {
  const EtcdReading reading = reading_of(names, with_epoch);
  lines_.clear();
  auto answers =
      client_.run({EtcdTxn{.compares = {}, .then = reading.requests(), .otherwise = {}}}, limit);
  if (!answers) return answers.error();
  auto rows = reading.rows_of(std::move(answers->front()), local_moment(client_.sent_at()));
  return rows ? take(std::move(*rows)) : load(names, with_epoch, limit);
}

// Carries out a change. If it `hurries`, it revokes leases that have lost their keys without a wait
// for the answer.
Result<EtcdStore::Written> EtcdStore::write(const EtcdChange& change,
                                            const std::optional<EtcdReading>& reading,
                                            bool hurries,
                                            Time limit) {
  EtcdTxn txn = change.txn;
  if (reading) txn.otherwise = reading->requests();
  const auto writes = static_cast<std::ptrdiff_t>(txn.then.size());
  if (change.joins) txn.then.insert(txn.then.end(), txn.otherwise.begin(), txn.otherwise.end());
  std::vector<EtcdRequest> all = change.leases;
  all.emplace_back(std::move(txn));
  auto answers = client_.run(all, limit);
  if (!answers) return answers.error();
  for (std::size_t i = 0; i < change.leases.size(); ++i)
    if (std::holds_alternative<EtcdKeepAlive>(change.leases[i]) &&
        (*answers)[i].ttl == Duration::zero())
      return Written{};
  EtcdAnswer& answer = answers->back();
  Written written{.done = answer.succeeded, .term = answer.term};
  if (written.done) written_ = answer.revision;
  if (reading && (!answer.succeeded || change.joins)) {
    std::vector<EtcdAnswer>& parts = answer.parts;
    if (answer.succeeded) parts.erase(parts.begin(), parts.begin() + writes);
    auto rows = reading->rows_of(std::move(answer), local_moment(client_.sent_at()));
    lines_.clear();
    if (rows) written.rows = take(std::move(*rows));
  }
  if (!written.done) return written;
  // Leases that have no key any more are revoked, so that etcd need not keep them until they end. A
  // lease that is there from an earlier try, whose answer was lost, begins anew.
  std::vector<EtcdRequest> more;
  for (const EtcdLease lease : change.left)
    more.emplace_back(EtcdRevoke{lease});
  if (change.joins && answers->front().existed) more.emplace_back(EtcdKeepAlive{line_lease_});
  if (hurries && !more.empty()) client_.tell(more, limit);
  if (!hurries && !more.empty()) (void)client_.run(more, limit).has_value();
  return written;
}

bool EtcdStore::has_just_read(const std::vector<LockName>& names) const {
  return recent_ && recent_->names == names &&
         BootClock::now() <= recent_->moment.sent_at + k_recent;
}

// Returns rows on which a change may rely although they may have changed since: those that a
// release finds as its grant has left them, and those that a claim has just read.
std::optional<EtcdRows> EtcdStore::known_rows(const std::vector<LockName>& names,
                                              const Occasion& occasion) {
  const auto remembered = std::exchange(remembered_, std::nullopt);
  const lease_table::Moment now = local_moment(BootClock::now());
  if (occasion.frees && remembered && remembered->names == names)
    return etcd_rows_at(*remembered, now);
  const bool joins = occasion.queueing != Queueing::no && has_just_read(names) && recent_->epoch;
  auto recent = std::exchange(recent_, std::nullopt);
  if (!joins) return std::nullopt;
  recent->moment = now;
  recent->moment.numbers_writes = true;
  return recent;
}

// Returns the epoch of a grant that follows this read. `token`: the largest token in the rows.
std::int64_t EtcdStore::epoch_of_grant(const EtcdRows& rows, FencingToken token) const {
  const contender::Epoch read = rows.epoch.value_or(contender::Epoch());
  return may_raise_ ? read.for_grant(rows.revision, rows.moment.wall_us, token) : read.value;
}

Result<void> EtcdStore::transact(const std::vector<LockName>& names,
                                 const Occasion& occasion,
                                 Time limit,
                                 const Change& change) {
  is_queued_ = is_queued_ || (occasion.queueing != Queueing::no && names == watched_);
  std::optional<EtcdRows> known = known_rows(names, occasion);
  bool relies = known.has_value();
  bool may_move = true;
  for (int changes = 0;;) {
    auto rows = known ? Result<EtcdRows>(*std::exchange(known, std::nullopt))
                      : load(names, /*with_epoch=*/occasion.claim != nullptr, limit);
    if (!rows) return contender::outpaced(where(), changes, rows.error());
    std::vector<StoredLock> after = contender::states_of(rows->rows);
    const contender::Epoch read = rows->epoch.value_or(contender::Epoch());
    const std::int64_t epoch = epoch_of_grant(*rows, contender::largest_token(after));
    const Step step = change(lease_table::pointers_to(after), rows->moment);
    const bool renews = may_move && !step.renews.empty();
    EtcdChange all;
    for (std::size_t i = 0; i < names.size(); ++i)
      add_change(rows->rows[i],
                 after[i],
                 {.moment = rows->moment,
                  .revision = rows->revision,
                  .writes = step.writes_lock(i),
                  .proves = step.writes && step.only,
                  .renewed = step.renews,
                  .moves = renews && rows->term != lease_term_,
                  .proves_note = relies && occasion.frees,
                  .epoch = epoch,
                  .ignores_later = ignores_later(occasion.claim),
                  .line_lease = line_lease_},
                 all);
    const bool only_frees = all.leases.empty() && all.txn.then.size() == names.size();
    const bool relied = std::exchange(relies, false);
    if (relied && !(occasion.frees ? only_frees : all.grants || all.joins)) continue;
    if (all.grants) add_etcd_epoch(read, epoch, all);
    if (all.leases.empty() && all.txn.then.empty()) return {};
    // A member answers a transaction without operations by itself, without a majority.
    if (all.txn.then.empty())
      all.txn.then.emplace_back(EtcdGet{.range = {note_of_lock(rows->rows.front().lock)}});
    // Only waiters conflict often enough.
    const bool reads = occasion.queueing != Queueing::no;
    auto written =
        write(all,
              reads ? std::optional(reading_of(names, /*with_epoch=*/true)) : std::nullopt,
              /*hurries=*/all.grants || all.moves || (relied && occasion.frees),
              limit);
    if (!written) {
      const bool raises = all.grants && epoch != read.value && read.value > 0;
      if (raises && written.error().code == Errc::denied)
        may_raise_ = false;  // this user may not write the epoch: the old one is used
      else if (all.moves && client_.failure().repeat)
        may_move = false;  // a full etcd still takes a keep-alive, but no new lease
      else
        return contender::outpaced(where(), changes, written.error());
      continue;
    }
    known = std::move(written->rows);
    if (written->done) {
      token_ = static_cast<FencingToken>(epoch + written_);
      if (all.grants) remembered_ = etcd_granted(*rows, all, written_);
      if (may_move && (all.grants || all.moves)) lease_term_ = rows->term;
      // There was an election meanwhile. A claim leaves the move to its first renewal.
      if (renews && occasion.holds != nullptr && written->term != lease_term_) continue;
      if (!all.joins || occasion.claim == nullptr) return {};
      line_lease_ = new_etcd_lease();
      // Now it is known what has come before the claim's key.
      if (known) keep_place(*known, *occasion.claim);
    }
    if (relied || written->done) continue;
    ++changes;
    if (BootClock::now() >= limit) return contender::outpaced(where(), changes);
  }
}

// Asks how long the leases have left, and writes their ends into the rows, for display and for
// waiters.
Result<void> EtcdStore::see_ends(EtcdRows& rows, Time limit) {
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
  // If the events of the watch have told all, nothing need be read.
  auto turn = std::exchange(turn_, std::nullopt);
  auto rows = turn && names == watched_ && has_just_read(names)
                  ? take(std::move(*turn))
                  : load(names, /*with_epoch=*/is_queued_ && names == watched_, limit);
  if (!rows) return rows.error();
  if (auto seen = see_ends(*rows, limit); !seen) return seen;
  std::vector<StoredLock> states = contender::states_of(rows->rows);
  look(lease_table::pointers_to(states), rows->moment);
  return {};
}

Result<void> EtcdStore::watch_rows(const std::vector<LockName>& names,
                                   const std::vector<std::string>& ids,
                                   Time limit) {
  if (watched_ != names || ids_ != ids) {
    watch_.close();
    is_queued_ = false;
    lines_.clear();
    line_lease_ = new_etcd_lease();
  }
  watched_ = names;
  ids_ = ids;
  if (auto refused = std::exchange(refused_watch_, std::nullopt)) return std::move(*refused);
  // The watch opens when the caller waits: the try that comes first shows which keys to watch.
  if (has_just_read(names)) {
    take(*std::exchange(recent_, std::nullopt));
    return {};
  }
  const auto rows = load(names, /*with_epoch=*/false, limit);
  return rows ? Result<void>() : rows.error();
}

Result<bool> EtcdStore::await_change(Time until) {
  if (!watch_.is_open() || !covers(open_, wanted_)) {
    open_ = wanted_;
    const auto opened = watch_.open(open_.ranges,
                                    seen_ + 1,
                                    std::max(until, BootClock::now() + std::chrono::seconds(1)),
                                    open_.events);
    if (!opened) {
      const Errc code = opened.error().code;
      if (code == Errc::denied || code == Errc::refused) refused_watch_ = opened.error();
      return opened.error();
    }
  }
  auto event = watch_.await_event(until);
  if (!event) return event.error();
  if (!*event) return false;
  // A key before ours has changed, so few keys are left there. All others may be gone: the next
  // read asks for all keys before ours.
  for (std::optional<EtcdLine>& line : lines_)
    if (line) line->front = std::max(line->front, line->ours);
  // The caller looks at the lock now, so it sees what all events did that have arrived.
  std::vector<EtcdEvent> events;
  for (const Time now = BootClock::now(); event && *event; event = watch_.await_event(now))
    events.push_back(std::move(**event));
  if (watched_.size() == 1 && has_just_read(watched_)) turn_ = etcd_turn(*recent_, events, ids_);
  return true;
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
      if (!lock || key.lease == 0 || lock->starts_with(note_of_lock(""))) continue;
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
