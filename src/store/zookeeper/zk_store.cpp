// SPDX-License-Identifier: MIT
#include "store/zookeeper/zk_store.hpp"

#include "base/duration.hpp"
#include "base/text.hpp"
#include "store/zookeeper/zk_path.hpp"

#include <algorithm>
#include <utility>

namespace dlock {

using lease_table::StoredLock;

namespace {

Error too_long(const LockName& name, Duration most) {
  return {Errc::bad_usage,
          "the lease of " + in_quotes(name.text()) + " cannot become longer than " +
              format_duration(most) + ", for which its session of ZooKeeper was made; use --ttl " +
              format_duration(most)};
}

Error open_to_others(const ZkRow& row, const std::string& where) {
  return {Errc::denied,
          "cannot keep lock " + in_quotes(row.lock) + " in " + where +
              ": with acl=private no other user may have rights to the node " + row.others +
              ": another user made it first; delete it, or use another name"};
}

// Removes from `after` the holds of a claim that has only some of its names, and returns whether
// there were such holds. They can be left from an earlier multi that got no answer, or that also
// created a node which had to be removed again.
bool drop_part(const Claim& claim, std::vector<StoredLock>& after) {
  std::vector<std::pair<StoredLock*, OwnerId>> held;
  for (StoredLock& state : after)
    for (const auto& [owner, lease] : state.leases)
      if (lease.holds.contains(claim.serial)) held.emplace_back(&state, owner);
  if (held.empty() || held.size() == after.size()) return false;
  for (const auto& [state, owner] : held) {
    lease_table::Lease& lease = state->leases.at(owner);
    lease.holds.erase(claim.serial);
    if (lease.holds.empty()) state->leases.erase(owner);
  }
  return true;
}

}  // namespace

Result<ZkAddress> ZkStore::address_of(const StoreOptions& options) {
  auto address = parse_zk_url(options.url, options.tls);
  if (!address) return address.error();
  if (address->password.empty()) address->password = options.password;
  return address;
}

std::unique_ptr<ZkStore> ZkStore::open(const ZkAddress& address, const StoreOptions& options) {
  return std::unique_ptr<ZkStore>(new ZkStore(address, options.interrupt));
}

// Returns what this store does not support. A lock cannot be kept (--min-hold), because its node
// ends with the session. A lease cannot become longer: its session could get a longer timeout, but
// the next leader would know only the timeout with which the session was made. A waiter cannot be
// superseded, because it would have to read all nodes behind its own.
StoreTraits ZkStore::traits() const {
  return {
      .keep = false, .longer = false, .cheap_end = false, .supersede = false, .one_clock = false};
}

Result<std::string> ZkStore::key_of(const LockName& name) const {
  if (!table_.is_taken(name)) return name.text();
  return Error{Errc::bad_usage,
               "cannot keep lock " + in_quotes(name.text()) + " in " + where() +
                   ": the folder of this name has another use there"};
}

// Notes the turns and the watched nodes that the rows show, and returns the rows. To be called
// whenever rows were read.
Result<ZkTable::Rows> ZkStore::seen(Result<ZkTable::Rows> rows,
                                    const std::vector<LockName>& names) {
  if (!rows) return rows;
  for (ZkRow& row : rows->rows)
    if (may_be_passed_over(row))
      turns_.note(row.lock, row.state, rows->now, [&](const auto& id) { return is_ours(id); });
  if (names == watched_) note_look(*rows);
  return rows;
}

ZkStore::Moment ZkStore::moment_of(const ZkTable::Rows& rows) {
  Moment moment = local_moment(rows.sent_at);
  moment.now = rows.now;
  moment.numbers_writes = true;
  return moment;
}

Result<void> ZkStore::read(const std::vector<LockName>& names, Time limit, const Look& look) {
  auto rows = seen(table_.look(names, extent_of(names), limit), names);
  if (!rows) return rows.error();
  std::vector<StoredLock> states = contender::states_of(rows->rows);
  look(lease_table::pointers_to(states), moment_of(*rows));
  return {};
}

Result<AcquireReply> ZkStore::acquire(const Claim& claim, Queueing queueing, Time limit) {
  if (auto begun = table_.begin(claim, limit); !begun) return begun.error();
  auto reply = TableStore::acquire(claim, queueing, limit);
  if (reply) table_.end_idle(limit);
  return reply;
}

Result<void> ZkStore::leave(const Claim& claim, Queueing /*queueing*/, Time limit) {
  auto left = table_.settle(claim.owner, limit);
  if (left) left = TableStore::leave(claim, Queueing::listening, limit);
  table_.quit_looker();
  return left;
}

Result<ReleaseVerdict> ZkStore::release(const Holds& holds,
                                        const ReleaseOptions& options,
                                        Time limit) {
  auto verdict = TableStore::release(holds, options, limit);
  table_.quit_looker();  // the process may end without ending this session
  return verdict;
}

// Returns which nodes a call must read: for the newest claim and its holds, no node behind the
// claim's own node; otherwise all nodes.
ZkTable::Extent ZkStore::extent_for(const Occasion& occasion) const {
  const auto is_of_claim = [&](const Hold& hold) { return hold.owner == table_.owner(); };
  const bool concerns_us =
      occasion.claim != nullptr ||
      (occasion.holds != nullptr &&
       std::all_of(occasion.holds->begin(), occasion.holds->end(), is_of_claim));
  return concerns_us ? ZkTable::k_what_is_before_us : ZkTable::k_everything;
}

// Returns the rows of the newest grant for a release that follows it. Only the version of our node
// matters to such a release, and its multi compares that. So it need not read the locks again.
std::optional<ZkTable::Rows> ZkStore::recalled(const std::vector<LockName>& names,
                                               const Occasion& occasion) {
  auto rows = table_.recall();
  if (!rows || !occasion.frees) return std::nullopt;
  const bool same =
      std::equal(names.begin(),
                 names.end(),
                 rows->rows.begin(),
                 rows->rows.end(),
                 [](const LockName& name, const ZkRow& row) { return name.text() == row.lock; });
  if (!same) return std::nullopt;
  rows->sent_at = BootClock::now();
  rows->now = lease_table::store_time(rows->sent_at);
  for (ZkRow& row : rows->rows)
    read_zk_row(row, rows->now);
  return rows;
}

Result<void> ZkStore::transact(const std::vector<LockName>& names,
                               const Occasion& occasion,
                               Time limit,
                               const Change& change) {
  const Claim* const claim = occasion.claim;
  const bool proves_note = claim != nullptr && claim->once_per > Duration::zero();
  auto granted = recalled(names, occasion);
  for (int changes = 0;;) {
    const bool relies = granted.has_value();
    auto rows = relies ? Result<ZkTable::Rows>(*std::exchange(granted, std::nullopt))
                       : seen(table_.load(names, extent_for(occasion), limit, changes), names);
    if (!rows) return rows.error();
    for (const ZkRow& row : rows->rows)
      if (claim != nullptr && !row.others.empty()) return open_to_others(row, where());
    const Moment moment = moment_of(*rows);
    std::vector<StoredLock> after = contender::states_of(rows->rows);
    const bool drops = claim != nullptr && !claim->one_from && drop_part(*claim, after);
    const std::int64_t epoch =
        table_.epoch_for_grant(*rows, moment.wall_us, contender::largest_token(after));
    Step step = change(lease_table::pointers_to(after), moment);
    step.writes = step.writes || drops;
    if (claim != nullptr && occasion.queueing == Queueing::no)
      for (StoredLock& state : after)
        lease_table::drop_place(state.line, waiter_id(*claim));
    ZkChange all;
    for (std::size_t i = 0; i < names.size(); ++i)
      add_zk_change(
          rows->rows[i],
          i,
          after[i],
          {moment, table_.address().layout, step.writes_lock(i), proves_note, step.renews, epoch},
          all);
    if (all.grants && rows->epoch) add_zk_epoch(table_.note_folder(), *rows->epoch, epoch, all);
    const bool only_frees = all.removed.size() == names.size() && all.parts.size() == names.size();
    if (relies && !only_frees) continue;
    if (all.longest) return too_long(names.front(), *all.longest);
    if (all.parts.empty()) add_zk_proof(rows->rows, all);
    const auto written = table_.write(*rows, all, limit);
    if (!watched_.empty()) table_.disconnect();  // the next write connects anew anyway
    const bool raises =
        all.grants && rows->epoch && epoch != rows->epoch->value && rows->epoch->value > 0;
    if (!written && written.error().code == Errc::denied && raises) {
      table_.stop_raising();
      continue;
    }
    if (!written) return contender::outpaced(where(), changes, written.error());
    if (!all.made.empty()) armed_for_.reset();  // a new waiter watches the nodes before it
    if (*written) {
      token_ = static_cast<FencingToken>(epoch + table_.written());
      return {};
    }
    if (relies) continue;
    ++changes;
    if (BootClock::now() >= limit) return contender::outpaced(where(), changes);
  }
}

Result<RevokeReply> ZkStore::revoke(const LockName& name, const RevokeOrder& order, Time limit) {
  auto reply = TableStore::revoke(name, order, limit);
  if (!reply || reply->verdict != RevokeVerdict::not_dlock) return reply;
  const auto rows = table_.look({name}, ZkTable::k_everything, limit);
  if (!rows) return rows.error();
  const ZkRow& row = rows->rows.front();
  std::vector<ZkRequest> wishes;
  for (const std::size_t index : row.foreign)
    wishes.push_back(
        {.op = ZkOp::set_data, .path = row.nodes[index].path, .data = std::string(k_zk_revoke)});
  if (!wishes.empty() && table_.address().layout == ZkLayout::curator)
    (void)table_.ask(wishes, limit).has_value();
  return reply;
}

Result<std::vector<std::string>> ZkStore::list(std::string_view glob, Time limit) {
  constexpr std::size_t k_most = 10'000;
  const std::string& chroot = table_.address().chroot;
  const auto names =
      table_.ask({{.op = ZkOp::get_children, .path = chroot.empty() ? "/" : chroot}}, limit);
  if (!names) return names.error();
  std::vector<ZkRequest> questions;
  std::vector<std::string> locks;
  for (const std::string& node : names->front().children) {
    const std::string name = zk_name_of(node);
    const auto lock = LockName::parse(name);
    if (!lock || !key_of(*lock) || !lease_table::glob_matches(glob, name)) continue;
    locks.push_back(name);
    questions.push_back({.op = ZkOp::get_children, .path = chroot});
    questions.back().path.append("/").append(node);
  }
  if (locks.size() > k_most)
    return Error{Errc::bad_usage,
                 where() + " has " + std::to_string(locks.size()) + " names: more than " +
                     std::to_string(k_most) + " are not looked at; use a narrower pattern"};
  if (questions.empty()) return locks;
  const auto is_lock = [&](const ZkAnswer& folder) {
    return std::any_of(
        folder.children.begin(), folder.children.end(), [&](const std::string& child) {
          return zk_place_of(table_.address().layout, child).has_value();
        });
  };
  std::vector<std::string> found;
  const auto folders = table_.ask(questions, limit);
  if (!folders && folders.error().code != Errc::denied) return folders.error();
  for (std::size_t i = 0; i < locks.size(); ++i) {
    // If one of the folders may not be read, each folder is asked for by itself. A folder that may
    // not be read counts as a lock.
    const auto one = folders ? Result<std::vector<ZkAnswer>>(std::vector{(*folders)[i]})
                             : table_.ask({questions[i]}, limit);
    if (!one && one.error().code != Errc::denied) return one.error();
    if (!one || is_lock(one->front())) found.push_back(locks[i]);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace dlock
