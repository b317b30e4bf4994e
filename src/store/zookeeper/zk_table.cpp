// SPDX-License-Identifier: MIT
#include "store/zookeeper/zk_table.hpp"

#include "store/zookeeper/zk_path.hpp"
#include "store/zookeeper/zk_rights.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace dlock {

namespace {

constexpr std::string_view k_notes = "dlock-done";
// How many sessions may end in one call. Without this limit, a server that ends each session at
// once would be asked until the time limit, thousands of times.
constexpr int k_most_ended = 3;
constexpr Duration k_to_quit = std::chrono::milliseconds(100);
constexpr std::string_view k_own_folder = "zookeeper";  // ZooKeeper's own folder, below "/"

}  // namespace

// Runs the requests. Returns an empty list if the session is over; otherwise a verdict for each
// request. If any answer is no verdict, returns its error.
Result<std::vector<ZkAnswer>> zk_answers_of(ZkSession& session,
                                            const std::vector<ZkRequest>& requests,
                                            Time limit) {
  auto done = session.run(requests, limit);
  if (!done) return done.error();
  if (done->expired) return std::vector<ZkAnswer>();
  if (auto error = session.error_in(done->answers)) return *error;
  return std::move(done->answers);
}

ZkTable::ZkTable(ZkAddress address, const Interrupt* interrupt)
    : address_(std::move(address)),
      interrupt_(interrupt),
      owners_(address_, interrupt),
      looker_(address_, ZkSession::k_any_timeout, interrupt) {}

ZkTable::~ZkTable() {
  quit_looker();
}

void ZkTable::quit_looker() {
  looker_.quit(BootClock::now() + k_to_quit);
}

bool ZkTable::is_taken(const LockName& name) const {
  return name.text() == k_notes || (address_.chroot.empty() && name.text() == k_own_folder);
}

std::string ZkTable::folder_of(std::string_view lock) const {
  return address_.chroot + '/' + zk_node_of(lock);
}

std::string ZkTable::note_folder() const {
  return address_.chroot + '/' + std::string(k_notes);
}

Result<void> ZkTable::begin(const Claim& claim, Time limit) {
  owner_ = claim.owner;
  ttl_ = claim.ttl;
  wants_one_ = claim.one_from.has_value();
  if (auto settled = settle(owner_, limit); !settled) return settled;
  // A nested run may join the hold of an ancestor, and then needs no session.
  if (claim.ancestors.empty()) owners_.of_claim(owner_, ttl_);
  return {};
}

// Once a session is closed, the leader refuses what another server still has to send for it.
Result<void> ZkTable::settle(const OwnerId& owner, Time limit) {
  ZkOwners::Own* const own = owners_.find(owner);
  if (own == nullptr || !own->unsettled) return {};
  const auto closed = own->session.reattach({{.op = ZkOp::close_session}}, limit);
  if (!closed) return closed.error();
  if (auto error = own->session.error_in(closed->answers)) return *error;
  end(own->session);
  return {};
}

Time ZkTable::keep_at() const {
  const ZkOwners::Own* const own = owners_.find(owner_);
  if (own == nullptr || own->nodes.empty()) return Time::max();
  return own->session.attached_at() + own->session.timeout() / 3;
}

Result<void> ZkTable::keep(Time limit) {
  ZkSession& session = owners_.find(owner_)->session;
  const auto done = session.reattach({{.op = ZkOp::exists, .path = "/"}}, limit);
  if (!done) return done.error();
  if (done->expired)
    end(session);
  else
    session.disconnect();
  return {};
}

void ZkTable::end_idle(Time limit) {
  owners_.quit_idle(owner_, limit);
}

// --- reading ------------------------------------------------------------------------------------

// Returns the session for reading: that of the newest claim, which must be renewed anyway, or else
// the looker, the session that only reads.
ZkSession& ZkTable::reader() {
  ZkOwners::Own* const own = owners_.find(owner_);
  return own != nullptr ? own->session : looker_;
}

Result<std::vector<ZkAnswer>> ZkTable::ask(const Requests& requests, Time limit) {
  for (int ended = 0; ended <= k_most_ended; ++ended) {
    auto answers = zk_answers_of(looker_, requests, limit);
    if (!answers || !answers->empty()) return answers;
    end(looker_);
  }
  return ends_sessions();
}

Error ZkTable::ends_sessions() const {
  return {Errc::unavailable, address_.text + " ends each session at once"};
}

void ZkTable::end(const ZkSession& session) {
  if (&session == &looker_)
    looker_ = ZkSession(address_, ZkSession::k_any_timeout, interrupt_);
  else
    owners_.end(session.identity().number);
}

Result<ZkTable::Rows> ZkTable::load(const std::vector<LockName>& names,
                                    const Extent& extent,
                                    Time limit,
                                    int& changes) {
  return load_by(reader(), names, extent, limit, changes);
}

Result<ZkTable::Rows> ZkTable::look(const std::vector<LockName>& names,
                                    const Extent& extent,
                                    Time limit) {
  int changes = 0;
  return load_by(looker_, names, extent, limit, changes);
}

Result<ZkTable::Rows> ZkTable::load_by(ZkSession& session,
                                       const std::vector<LockName>& names,
                                       const Extent& extent,
                                       Time limit,
                                       int& changes) {
  ZkSession* from = &session;
  for (int ended = 0;;) {
    auto rows = try_load(*from, names, extent, limit);
    if (!rows) return contender::outpaced(address_.text, changes, rows.error());
    if (*rows) return std::move(**rows);
    if (from->is_over()) {
      if (++ended > k_most_ended) return ends_sessions();
      end(*from);
      from = &looker_;
      continue;
    }
    ++changes;
    if (BootClock::now() >= limit) return contender::outpaced(address_.text, changes);
  }
}

// Reads the rows once. Returns nullopt if the session is over or nodes were removed while they were
// read. A list of nodes is trusted only if all nodes in it still exist. Otherwise a lock could seem
// free: when a writer becomes a reader, Curator creates the reader's node before it removes the
// writer's.
Result<std::optional<ZkTable::Rows>> ZkTable::try_load(ZkSession& session,
                                                       const std::vector<LockName>& names,
                                                       const Extent& extent,
                                                       Time limit) {
  Rows rows{.epoch = contender::Epoch{}};
  Requests questions;
  for (const LockName& name : names) {
    ZkRow& row = rows.rows.emplace_back();
    row.lock = name.text();
    row.folder = folder_of(name.text());
    row.note_path = note_folder() + '/' + zk_node_of(name.text());
    questions.push_back({.op = ZkOp::get_children, .path = row.folder});
    questions.push_back({.op = ZkOp::get_data, .path = row.note_path});
  }
  const std::size_t at_epoch = questions.size();
  questions.push_back({.op = ZkOp::get_data, .path = note_folder()});
  for (std::size_t i = 0; address_.is_private && i < at_epoch; ++i)
    questions.push_back({.op = ZkOp::get_acl, .path = questions[i].path});
  auto run = session.run(questions, limit);
  if (!run) return run.error();
  if (run->expired) return std::optional<Rows>();
  std::vector<ZkAnswer>* const listed = &run->answers;
  ZkAnswer& epoch = (*listed)[at_epoch];
  rows.sent_at = session.sent_at();
  rows.zxid = epoch.zxid;
  if (epoch.code == ZkCode::ok) {
    rows.epoch = contender::Epoch::read(epoch.data, epoch.stat.version);
  } else if (zk_meaning(epoch.error).errc == Errc::denied) {
    rows.epoch.reset();  // an older dlock made the folder unreadable for us
    epoch.code = ZkCode::no_node;
  }
  if (auto error = session.error_in(*listed)) return *error;

  Requests reads;
  for (std::size_t i = 0; i < names.size(); ++i) {
    ZkRow& row = rows.rows[i];
    const ZkAnswer& folder = (*listed)[2 * i];
    ZkAnswer& note = (*listed)[2 * i + 1];
    row.has_folder = folder.code == ZkCode::ok;
    if (note.code == ZkCode::ok) row.note = {std::move(note.data), note.stat.version};
    for (std::size_t k = at_epoch + 1 + 2 * i; address_.is_private && k < at_epoch + 3 + 2 * i; ++k)
      note_others(row, questions[k].path, (*listed)[k]);
    list_nodes(row, folder.children, extent);
    for (const ZkContender& node : row.nodes)
      if (!node.unread) reads.push_back({.op = ZkOp::get_data, .path = node.path});
  }
  auto seen = reads.empty() ? std::vector<ZkAnswer>() : zk_answers_of(session, reads, limit);
  if (!seen) return seen.error();
  if (seen->size() != reads.size()) return std::optional<Rows>();
  rows.now = lease_table::store_time(BootClock::now());
  std::size_t next = 0;
  for (ZkRow& row : rows.rows) {
    for (ZkContender& node : row.nodes) {
      if (node.unread) continue;
      ZkAnswer& answer = (*seen)[next++];
      if (answer.code != ZkCode::ok) return std::optional<Rows>();
      node.data = std::move(answer.data);
      node.stat = answer.stat;
      take_node(node);
    }
    std::erase_if(row.nodes, [&](const auto& one) { return owners_.is_over(one.stat.owner); });
    read_zk_row(row, rows.now);
  }
  return std::optional(std::move(rows));
}

void ZkTable::note_others(ZkRow& row, const std::string& path, const ZkAnswer& answer) const {
  const std::string others = zk_others(answer.acl, address_.user);
  if (!others.empty() && row.others.empty()) row.others = path + " (" + others + ")";
}

// Adds the nodes of the lock's folder to the row, and marks those that need not be read.
void ZkTable::list_nodes(ZkRow& row,
                         const std::vector<std::string>& children,
                         const Extent& extent) const {
  for (const std::string& child : children)
    if (const auto place = zk_place_of(address_.layout, child))
      row.nodes.push_back({.path = row.folder + '/' + child, .place = *place});
  std::sort(row.nodes.begin(), row.nodes.end(), [](const auto& a, const auto& b) {
    return a.place.number < b.place.number;
  });
  const auto ours = std::find_if(row.nodes.begin(), row.nodes.end(), [&](const auto& node) {
    return owners_.owns(owner_, node.path);
  });
  if (!extent.only_before_us || ours == row.nodes.end()) return;
  for (auto behind = ours + 1; behind != row.nodes.end(); ++behind)
    behind->unread = true;
  const auto known = values_.find(ours->path);
  if (ours - row.nodes.begin() <= extent.most || known == values_.end()) return;
  for (ZkContender& node : row.nodes)
    node.unread = true;
  ours->data = known->second;
}

void ZkTable::take_node(ZkContender& node) {
  owners_.note_node(node.stat.owner, node.path);
  const auto known = values_.find(node.path);
  node.revoked = node.data == k_zk_revoke && known != values_.end();
  if (node.revoked)
    node.data = known->second;
  else if (owners_.has(node.stat.owner))
    values_[node.path] = node.data;
}

}  // namespace dlock
