// SPDX-License-Identifier: MIT
#include "store/mysql/my_bell.hpp"

#include "store/sql/channel.hpp"
#include "store/sql/lock_row.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <utility>

namespace dlock {

void MyBell::belongs_to(const std::string& id) {
  std::string name = sql::channel_of(id);
  if (name == ours_) return;
  if (held_by_ != 0) old_ = ours_;
  ours_ = std::move(name);
  held_by_ = 0;
}

std::optional<sql::Statement> MyBell::take(const MySession& session) const {
  const bool has_it = session.connected() && held_by_ == session.connection_id();
  if (!usable_ || ours_.empty() || has_it) return std::nullopt;
  std::string text = "select get_lock('" + ours_ + "', 0), connection_id()";
  if (!old_.empty()) text += ", release_lock('" + old_ + "')";
  return sql::Statement{std::move(text)};
}

// The id that the server gave the connection at the login has 32 bits. A proxy that shares its
// connections gives its own clients other ids than the server gives the proxy.
void MyBell::taken(const sql::Answer& answer, const MySession& session) {
  old_.clear();
  if (answer.rows.size() != 1) return;
  const auto& row = answer.rows.front();
  const auto id = static_cast<std::uint32_t>(sql::number_at(row, 1));
  usable_ = session.is_mariadb() && id == static_cast<std::uint32_t>(session.connection_id());
  held_by_ = usable_ && sql::number_at(row, 0) == 1 ? session.connection_id() : 0;
}

std::optional<sql::Statement> MyBell::release() {
  if (held_by_ == 0) return std::nullopt;
  held_by_ = 0;
  return sql::Statement{"do release_lock('" + ours_ + "')"};
}

bool MyBell::can_wait_for(const std::string& predecessor) const {
  return usable_ && !ours_.empty() && !predecessor.empty() && predecessor != silent_;
}

sql::Statement MyBell::await(const std::string& predecessor, Duration most) {
  const std::string bell = sql::channel_of(predecessor);
  const double left = std::chrono::duration<double>(std::max(most, Duration::zero())).count();
  std::array<char, 32> seconds{};
  std::snprintf(seconds.data(), seconds.size(), "%.3f", left);
  return {"select get_lock('" + bell + "', " + seconds.data() + "), release_lock('" + bell + "')"};
}

void MyBell::waited(const sql::Answer& answer, const std::string& predecessor) {
  const bool got_it = answer.rows.size() == 1 && sql::number_at(answer.rows.front(), 0) == 1;
  if (got_it) silent_ = predecessor;
}

bool MyBell::is_refusal(unsigned int server_errno) {
  constexpr unsigned int not_supported_yet = 1235;
  constexpr unsigned int unknown_error = 1105;
  return server_errno == not_supported_yet || server_errno == unknown_error;
}

}  // namespace dlock
