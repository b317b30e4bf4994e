// SPDX-License-Identifier: MIT
// MyPeerLock: a peer lock, which is a lock of the server that dlock takes in addition to its own
// row, because other programs use that lock. It has a connection of its own. It is a GET_LOCK
// ("?with=get_lock"), or rows that a transaction locks and that stay locked because the transaction
// is not ended ("?with=row:TABLE.COLUMN"). The server's time limits for idle connections and
// transactions are lifted. Neither kind keeps out other programs behind a proxy that shares
// connections, or on other nodes of a Galera cluster.
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
  // Returns the peer lock that the URL names; null: the URL names no peer lock. Does not connect.
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
