// SPDX-License-Identifier: MIT
#include "store/zookeeper/zk_table.hpp"

#include "store/zookeeper/zk_path.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace dlock {

namespace {

constexpr std::string_view k_notes = "dlock-done";
constexpr Duration k_to_quit = std::chrono::milliseconds(100);
constexpr std::string_view k_own_folder = "zookeeper";  // of ZooKeeper itself, below "/"

// Each folder on the way to `path` and `path` itself; those that are there stay as they are.
void add_folders(const std::string& path, std::vector<ZkRequest>& requests) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    requests.push_back({.op = ZkOp::create, .path = path.substr(0, end)});
    if (end == std::string::npos) return;
  }
}

}  // namespace

// All are verdicts; none: the session is over.
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

Error ZkTable::changes_too_fast() const {
  return {Errc::timed_out, "locks at " + address_.text + " change faster than they can be read"};
}

void ZkTable::begin(const Claim& claim) {
  owner_ = claim.owner;
  ttl_ = claim.ttl;
  // Below other runs there may be nothing that needs a session of its own.
  if (claim.ancestors.empty()) owners_.of_claim(owner_, ttl_);
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

// The session of the newest claim, which has to be renewed anyway; else the one that only looks.
ZkSession& ZkTable::reader() {
  ZkOwners::Own* const own = owners_.find(owner_);
  return own != nullptr ? own->session : looker_;
}

Result<std::vector<ZkAnswer>> ZkTable::ask(const Requests& requests, Time limit) {
  for (;;) {
    auto answers = zk_answers_of(looker_, requests, limit);
    if (!answers || !answers->empty()) return answers;
    end(looker_);
  }
}

void ZkTable::end(const ZkSession& session) {
  if (&session == &looker_)
    looker_ = ZkSession(address_, ZkSession::k_any_timeout, interrupt_);
  else
    owners_.end(session.identity().number);
}

Result<ZkTable::Rows> ZkTable::load(const std::vector<LockName>& names,
                                    const Extent& extent,
                                    Time limit) {
  return load_by(reader(), names, extent, limit);
}

Result<ZkTable::Rows> ZkTable::look(const std::vector<LockName>& names,
                                    const Extent& extent,
                                    Time limit) {
  return load_by(looker_, names, extent, limit);
}

Result<ZkTable::Rows> ZkTable::load_by(ZkSession& session,
                                       const std::vector<LockName>& names,
                                       const Extent& extent,
                                       Time limit) {
  ZkSession* from = &session;
  for (;;) {
    auto rows = try_load(*from, names, extent, limit);
    if (!rows) return rows.error();
    if (*rows) return std::move(**rows);
    if (BootClock::now() >= limit) return changes_too_fast();
    if (!from->is_over()) continue;
    end(*from);
    from = &looker_;
  }
}

// Nothing: the session is over, or nodes went while they were read. Only a list whose nodes are all
// there can be trusted: Curator makes the node of a reader before it removes that of its writer.
Result<std::optional<ZkTable::Rows>> ZkTable::try_load(ZkSession& session,
                                                       const std::vector<LockName>& names,
                                                       const Extent& extent,
                                                       Time limit) {
  Rows rows;
  Requests questions;
  for (const LockName& name : names) {
    ZkRow& row = rows.rows.emplace_back();
    row.lock = name.text();
    row.folder = folder_of(name.text());
    row.note_path = note_folder() + '/' + zk_node_of(name.text());
    questions.push_back({.op = ZkOp::get_children, .path = row.folder});
    questions.push_back({.op = ZkOp::get_data, .path = row.note_path});
  }
  auto listed = zk_answers_of(session, questions, limit);
  if (!listed) return listed.error();
  if (listed->empty()) return std::optional<Rows>();
  rows.sent_at = session.sent_at();

  Requests reads;
  for (std::size_t i = 0; i < names.size(); ++i) {
    ZkRow& row = rows.rows[i];
    const ZkAnswer& folder = (*listed)[2 * i];
    ZkAnswer& note = (*listed)[2 * i + 1];
    row.has_folder = folder.code == ZkCode::ok;
    if (note.code == ZkCode::ok) row.note = {std::move(note.data), note.stat.version};
    list_nodes(row, folder.children, extent);
    if (!row.nodes.empty() && row.nodes.back().place.number >= k_zk_last_number)
      return Error{Errc::refused,
                   "the folder " + row.folder + " at " + address_.text +
                       " is used up: its nodes have the last numbers that there are; remove it"};
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

// What is in the folder, and which of it has to be read.
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

// --- writing ------------------------------------------------------------------------------------

// New nodes are of the claim's session; else one that has to be renewed spares one request.
ZkSession& ZkTable::writer(const ZkChange& change) {
  if (!change.made.empty()) return owners_.of_claim(owner_, ttl_).session;
  if (change.renewed.empty()) return reader();
  const auto& [number, made_for] = *change.renewed.begin();
  return session_of(number, made_for);
}

ZkSession& ZkTable::session_of(std::int64_t number, Duration made_for) {
  return owners_.by_number(number, made_for > Duration::zero() ? made_for : ttl_);
}

ZkTable::Requests ZkTable::folders_for(const Rows& rows, const ZkChange& change) const {
  Requests requests;
  const auto add = [&](const std::string& path, ZkNode kind) {
    if (makes_parents_ && !address_.chroot.empty()) add_folders(address_.chroot, requests);
    requests.push_back({.op = ZkOp::create, .path = path, .node = kind});
  };
  // kazoo makes a folder once, and fails if it goes.
  const bool stays = address_.layout == ZkLayout::kazoo;
  const ZkNode kind = stays ? ZkNode::persistent : ZkNode::container;
  for (const ZkChange::Made& made : change.made)
    if (const ZkRow& row = rows.rows[made.row]; !row.has_folder) add(row.folder, kind);
  if (change.makes_note) add(note_folder(), ZkNode::persistent);
  return requests;
}

// False: something has come in between, and nothing was written that stays.
Result<bool> ZkTable::write(const Rows& rows, const ZkChange& change, Time limit) {
  ZkSession& session = writer(change);
  Requests requests = folders_for(rows, change);
  const std::size_t folders = requests.size();
  requests.push_back({.op = ZkOp::multi, .parts = change.parts});
  for (const ZkChange::Made& made : change.made)
    requests.push_back({.op = ZkOp::get_children, .path = rows.rows[made.row].folder});

  const bool renews = !change.made.empty() || !change.renewed.empty();
  const bool is_fresh = session.connected() && session.attached_at() >= rows.sent_at;
  auto done =
      renews && !is_fresh ? session.reattach(requests, limit) : session.run(requests, limit);
  if (!done) return done.error();
  if (done->expired) {
    end(session);
    return false;
  }
  const std::vector<ZkAnswer>& answers = done->answers;
  const ZkAnswer& multi = answers[folders];
  if (multi.code != ZkCode::ok) {
    if (auto error = session.error_in(answers)) return *error;
    makes_parents_ = std::any_of(answers.begin(),
                                 answers.begin() + static_cast<std::ptrdiff_t>(folders),
                                 [](const ZkAnswer& one) { return one.code == ZkCode::no_node; });
    // What was read says the same: no lock has a folder.
    return multi.code == ZkCode::no_node && !renews && change.removed.empty() &&
           std::none_of(
               rows.rows.begin(), rows.rows.end(), [](const auto& row) { return row.has_folder; });
  }
  written_ = std::max(written_, multi.parts.front().zxid);
  const std::vector<ZkAnswer> children(answers.begin() + static_cast<std::ptrdiff_t>(folders) + 1,
                                       answers.end());
  if (is_early(rows, change, multi, children)) return undo(session, change, multi, limit);
  auto renewed = renew_others(rows, change, session.identity().number, limit);
  if (!renewed || !*renewed) return renewed;
  for (const ZkChange::Made& made : change.made) {
    const std::string& path = multi.parts[made.part].path;
    owners_.note_node(session.identity().number, path);
    values_[path] = change.parts[made.part].data;
  }
  for (const ZkRequest& part : change.parts)
    if (part.op == ZkOp::set_data && values_.contains(part.path)) values_[part.path] = part.data;
  for (const std::string& path : change.removed) {
    values_.erase(path);
    owners_.forget_node(path, limit);
  }
  return true;
}

Result<bool> ZkTable::undo(ZkSession& session,
                           const ZkChange& change,
                           const ZkAnswer& multi,
                           Time limit) {
  ZkRequest all{.op = ZkOp::multi};
  for (const ZkChange::Made& made : change.made)
    all.parts.push_back({.op = ZkOp::remove, .path = multi.parts[made.part].path});
  const auto undone = zk_answers_of(session, {std::move(all)}, limit);
  if (!undone) return undone.error();
  return false;
}

// Whether a new holder stands behind what its claim has not seen.
bool ZkTable::is_early(const Rows& rows,
                       const ZkChange& change,
                       const ZkAnswer& multi,
                       const std::vector<ZkAnswer>& children) const {
  for (std::size_t i = 0; i < change.made.size(); ++i) {
    const ZkChange::Made& made = change.made[i];
    if (!made.holds) continue;
    if (children[i].code != ZkCode::ok) return true;
    if (is_behind_others(rows.rows[made.row],
                         address_.layout,
                         multi.parts[made.part].path,
                         children[i].children))
      return true;
  }
  return false;
}

// Sessions besides the one that wrote: each by itself, with a multi about one of its nodes.
Result<bool> ZkTable::renew_others(const Rows& rows,
                                   const ZkChange& change,
                                   std::int64_t done,
                                   Time limit) {
  for (const auto& [number, made_for] : change.renewed) {
    if (number == done) continue;
    ZkRequest multi{.op = ZkOp::multi};
    for (const ZkRow& row : rows.rows)
      for (const ZkContender& node : row.nodes)
        if (node.stat.owner == number)
          multi.parts.push_back({.op = ZkOp::check, .path = node.path});
    ZkSession& session = session_of(number, made_for);
    const auto answers = session.reattach({std::move(multi)}, limit);
    if (!answers) return answers.error();
    if (answers->expired) {
      end(session);
      return false;
    }
    if (auto error = session.error_in(answers->answers)) return *error;
    if (answers->answers.front().code != ZkCode::ok) return false;
  }
  return true;
}

}  // namespace dlock
