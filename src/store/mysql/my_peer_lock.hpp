// SPDX-License-Identifier: MIT
// MyPeerLock: GET_LOCK, or rows held by a transaction that stays open, on a connection of its own:
// "?with=get_lock", "?with=row:TABLE.COLUMN". The server's limits for idle connections and
// transactions do not apply to it. Behind a proxy that shares connections, and on Galera, other
// programs do not see either lock.
#pragma once

#include "store/mysql/my_session.hpp"
#include "store/sql/session_peer_lock.hpp"
#include "store/store_options.hpp"

#include <memory>
#include <string>
#include <vector>

namespace dlock {

class MyPeerLock final : public SessionPeerLock<MySession> {
 public:
  // The URL's peer lock; null: it names no peer lock. Connects to nothing.
  static std::unique_ptr<PeerLock> open(const MyAddress& address, const StoreOptions& options);

  std::string kind() const override { return is_row() ? "row lock" : "GET_LOCK"; }
  Result<void> fits(const LockName& name) const override;
  bool is_one_for_all_names() const override { return false; }
  Result<Taken> take(const std::vector<LockName>& names, Time limit) override;

 private:
  MyPeerLock(const MyAddress& address, const Interrupt* interrupt);

  sql::Statement end() const override;
  Result<Taken> take_rows(const std::vector<LockName>& names, Time limit);
  Result<Taken> take_words(const std::vector<LockName>& names, Time limit);
};

}  // namespace dlock
