// SPDX-License-Identifier: MIT
// PgPeerLock: rows or advisory locks of a transaction that stays open on a connection of its own:
// "?with=row:TABLE.COLUMN", "?with=advisory", "?with=advisory:NUMBER". A pooler that hands out
// connections per transaction can stand between: the lock is within one transaction.
//
// The server's time limits for idle transactions do not end it. While a row is locked, VACUUM
// cannot remove rows that were deleted after the transaction began.
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
  // Returns the peer lock that the URL names; null: it names none. Does not connect.
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
