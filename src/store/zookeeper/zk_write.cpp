// SPDX-License-Identifier: MIT
// The part of ZkTable that writes.
#include "store/zookeeper/zk_rights.hpp"
#include "store/zookeeper/zk_table.hpp"

#include <algorithm>
#include <utility>

namespace dlock {

namespace {

// Adds requests that create `path` and each folder above it; existing folders are not changed.
void add_folders(const std::string& path, std::vector<ZkRequest>& requests) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    requests.push_back({.op = ZkOp::create, .path = path.substr(0, end)});
    if (end == std::string::npos) return;
  }
}

}  // namespace

std::int64_t ZkTable::epoch_for_grant(const Rows& rows,
                                      std::int64_t wall_us,
                                      FencingToken known) const {
  if (!rows.epoch) return 0;
  return may_raise_ ? rows.epoch->for_grant(rows.zxid, wall_us, known) : rows.epoch->value;
}

// Returns the session that sends the change: the claim's session if it gets new nodes; otherwise a
// session that the change must renew, which saves a request.
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
  const auto add = [&](ZkRequest folder) {
    if (makes_parents_ && !address_.chroot.empty()) add_folders(address_.chroot, requests);
    requests.push_back(std::move(folder));
  };
  // kazoo creates a folder once, and would fail if ZooKeeper removed the empty folder later.
  const bool stays = address_.layout == ZkLayout::kazoo;
  const ZkNode kind = stays ? ZkNode::persistent : ZkNode::container;
  for (const ZkChange::Made& made : change.made)
    if (const ZkRow& row = rows.rows[made.row]; !row.has_folder)
      add({.op = ZkOp::create, .path = row.folder, .node = kind});
  // The data of the folder of notes is the epoch, which all users with locks here need, so all may
  // read it.
  if (change.makes_note) add({.op = ZkOp::create, .path = note_folder(), .for_all = true});
  return requests;
}

Result<bool> ZkTable::write(const Rows& rows, const ZkChange& change, Time limit) {
  if (!wants_one_ || change.made.empty()) return send(rows, change, limit);
  if (auto known = know_session(limit); !known || !*known) return known;
  auto sent = send(rows, change, limit);
  if (ZkOwners::Own* const own = owners_.find(owner_)) own->unsettled = !sent;
  return sent;
}

// Makes the claim's session, if no server is known to have made it: only a session whose number is
// known can be ended if a request gets no answer. Returns false if the session has ended.
Result<bool> ZkTable::know_session(Time limit) {
  ZkSession& session = owners_.of_claim(owner_, ttl_).session;
  if (session.identity().number != 0) return true;
  const auto made = session.reattach({{.op = ZkOp::exists, .path = "/"}}, limit);
  if (!made) return made.error();
  if (made->expired) end(session);
  return !made->expired;
}

Result<bool> ZkTable::send(const Rows& rows, const ZkChange& change, Time limit) {
  ZkSession& session = writer(change);
  Requests requests = folders_for(rows, change);
  const std::size_t folders = requests.size();
  requests.push_back({.op = ZkOp::multi, .parts = change.parts});
  for (const ZkChange::Made& made : change.made)
    requests.push_back({.op = ZkOp::get_children, .path = rows.rows[made.row].folder});
  for (const ZkChange::Made& made : change.made)
    if (address_.is_private)
      requests.push_back({.op = ZkOp::get_acl, .path = rows.rows[made.row].folder});

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
    // no_node confirms what was read if no lock had a folder.
    return multi.code == ZkCode::no_node && !renews && change.removed.empty() &&
           std::none_of(
               rows.rows.begin(), rows.rows.end(), [](const auto& row) { return row.has_folder; });
  }
  written_ = std::max(written_, multi.parts.front().zxid);
  const auto behind = answers.begin() + static_cast<std::ptrdiff_t>(folders) + 1;
  const auto acls = behind + static_cast<std::ptrdiff_t>(change.made.size());
  const std::vector<ZkAnswer> children(behind, acls);
  if (const ZkRow* row = used_up(rows, change, multi))
    return begin_anew(session, change, multi, *row, limit);
  if (std::any_of(acls, answers.end(), [&](const ZkAnswer& one) { return is_open(one); }))
    return undo(session, change, multi, limit);
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
  if (change.grants) note_grant(rows, change, multi);
  for (const std::string& path : change.removed) {
    values_.erase(path);
    owners_.forget_node(path, limit);
  }
  return true;
}

// Notes the locks as a grant has written them, for recall().
void ZkTable::note_grant(const Rows& rows, const ZkChange& change, const ZkAnswer& multi) {
  Rows granted;
  for (const ZkRow& row : rows.rows) {
    ZkRow& own = granted.rows.emplace_back(
        ZkRow{.lock = row.lock, .folder = row.folder, .has_folder = true});
    for (const ZkContender& node : row.nodes) {
      const auto part =
          std::find_if(change.parts.begin(), change.parts.end(), [&](const ZkRequest& one) {
            return one.op == ZkOp::set_data && one.path == node.path;
          });
      if (part == change.parts.end()) continue;
      own.nodes.push_back(node);
      own.nodes.back().data = part->data;
      ++own.nodes.back().stat.version;
    }
  }
  for (const ZkChange::Made& made : change.made)
    granted.rows[made.row].nodes.push_back(
        {.path = multi.parts[made.part].path, .data = change.parts[made.part].data});
  if (std::all_of(granted.rows.begin(), granted.rows.end(), [](const ZkRow& row) {
        return row.nodes.size() == 1;
      }))
    granted_ = std::move(granted);
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

// Returns the row whose folder gave a new node one of the last numbers; nullptr: no row.
const ZkRow* ZkTable::used_up(const Rows& rows,
                              const ZkChange& change,
                              const ZkAnswer& multi) const {
  for (const ZkChange::Made& made : change.made) {
    const auto place = zk_place_of(address_.layout, multi.parts[made.part].path);
    if (!place || place->number >= k_zk_last_number) return &rows.rows[made.row];
  }
  return nullptr;
}

// Removes a folder whose numbers are used up, so that the next folder begins with number 0. A
// server removes only an empty folder, so no other claim loses a node.
Result<bool> ZkTable::begin_anew(ZkSession& session,
                                 const ZkChange& change,
                                 const ZkAnswer& multi,
                                 const ZkRow& row,
                                 Time limit) {
  auto undone = undo(session, change, multi, limit);
  if (!undone) return undone;
  const auto removed = zk_answers_of(session, {{.op = ZkOp::remove, .path = row.folder}}, limit);
  if (!removed) return removed.error();
  if (removed->empty() || removed->front().code != ZkCode::not_empty) return false;
  return Error{Errc::refused,
               "the folder " + row.folder + " at " + address_.text +
                   " is used up: its nodes have the last numbers that there are; it begins anew "
                   "once its holders and waiters are gone"};
}

// Returns whether another user has rights to the lock's folder although acl=private is set: that
// user has made the folder since it was read. The next read will report it.
bool ZkTable::is_open(const ZkAnswer& acl) const {
  return acl.code != ZkCode::ok || !zk_others(acl.acl, address_.user).empty();
}

// Returns whether a node that the claim has not seen comes before a new holder.
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

// Renews each session except `done`, which has sent the change. Each is renewed by a multi that
// checks its nodes. Returns false if a session or one of its nodes is gone.
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
