// SPDX-License-Identifier: MIT
// PgPeerLock: a peer lock (peer_lock.hpp) on a connection of its own. It consists of row locks
// ("?with=row:TABLE.COLUMN") or of advisory locks ("?with=advisory", "?with=advisory:NUMBER"). They
// belong to one transaction, which stays open as long as the lock is held. So a pooler that gives
// out connections for one transaction at a time can stand between dlock and the server.
//
// The server's time limits for idle transactions are lifted. While a row is locked, VACUUM cannot
// remove rows that were deleted after the transaction began.
#pragma once

#include "store/postgres/pg_session.hpp"
#include "store/sql/session_peer_lock.hpp"
#include "store/store_options.hpp"

#include <memory>
#include <string>
#include <vector>

namespace dlock {

class PgPeerLock final : public SessionPeerLock<PgSession> {
 public:
  // Returns the peer lock that the URL names; null: the URL names no peer lock. Does not connect.
  static std::unique_ptr<PeerLock> open(const PgAddress& address, const StoreOptions& options);

  std::string kind() const override;
  Result<void> fits(const LockName& /*name*/) const override { return {}; }
  bool is_one_for_all_names() const override { return with().key.has_value(); }
  Result<Taken> take(const std::vector<LockName>& names, Time limit) override;

 private:
  PgPeerLock(const PgAddress& address, const StoreOptions& options);

  sql::Statement end() const override { return {"rollback"}; }
  sql::Statement take_one(const LockName& name) const;
  sql::Statement count_of(const LockName& name) const;
  sql::Statement holder_of(const LockName& name) const;
};

}  // namespace dlock
