// SPDX-License-Identifier: MIT
// LocalStore: locks of one machine in a directory, without a server: "local:///var/lib/dlock". With
// "?shared=no" the user declares that no other machine uses the directory. A name has two files:
// <name>.lock, whose flock(2) each operation holds for some microseconds, and <name>.json, which
// contains the leases and is replaced by rename(2). A lease ends at its time on CLOCK_BOOTTIME or
// with a reboot, but not with its process, as in every store; the last token and the last success
// outlive both.
//
// For several names, an operation locks all their files in the order of the file names, then reads,
// then writes; so no other process can take a name in between. After a crash between two writes
// some names may stay taken, or unreleased, until their lease ends; but no lock has two holders.
//
// A file that cannot be parsed is an error, never a free lock. Inspecting and listing need no right
// to write. Removing <name>.json frees the lock at once, like DEL in Redis. A file system that
// another kernel may share is refused (file_system.hpp). Not supported: two kernels on one disk,
// and processes in another time namespace. There is no line, so waiters have no order, and a steady
// flow of readers may keep a writer waiting for ever.
#pragma once

#include "base/result.hpp"
#include "store/local/local_file.hpp"
#include "store/local/local_url.hpp"
#include "store/local/machine.hpp"
#include "store/store_options.hpp"
#include "store/table/table_store.hpp"
#include "sys/file_events.hpp"
#include "sys/interrupt.hpp"
#include "sys/unique_fd.hpp"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

class LocalStore final : public TableStore {
 public:
  static Result<local::Place> place_of(const StoreOptions& options);
  // Opens the store; makes the directory if only its last component is missing. A call of the store
  // that waits for a file lock returns Errc::cancelled when options.interrupt ends it.
  static Result<std::unique_ptr<LockStore>> open(const local::Place& place,
                                                 const StoreOptions& options);

  StoreTraits traits() const override { return {.line = false, .may_hang = true}; }
  std::string where() const override;
  Result<std::vector<std::string>> list(std::string_view glob, Time limit) override;

 private:
  using State = lease_table::StoredLock;
  struct Locked;  // a locked file

  LocalStore(local::Place directory, local::Machine machine, const Interrupt* interrupt);

  Result<void> transact(const std::vector<LockName>& names,
                        const Occasion& occasion,
                        Time limit,
                        const Change& change) override;
  Result<void> read(const std::vector<LockName>& names, Time limit, const Look& look) override;
  Result<void> watch_rows(const std::vector<LockName>& names,
                          const std::vector<std::string>& ids,
                          Time limit) override;
  Result<bool> await_change(Time until) override;

  Result<State> load(int directory, const std::string& name) const;
  Result<std::vector<State>> load_all(int directory, const std::vector<LockName>& names) const;
  Result<std::vector<Locked>> lock_all(int directory,
                                       const std::vector<LockName>& names,
                                       Time limit) const;
  Result<void> write(int directory, const std::string& name, const State& state);
  Result<void> write_all(int directory,
                         const std::vector<LockName>& names,
                         const std::vector<State>& before,
                         const std::vector<State>& after);
  Result<std::optional<std::string>> listed_name(int directory, const std::string& stem) const;

  local::Place directory_;
  local::Machine machine_;
  const Interrupt* interrupt_;
  // Files replaced by the newest change; the next change closes them.
  std::vector<UniqueFd> replaced_;
  FileEvents events_;  // events of the directory
  std::set<std::string, std::less<>> watched_files_;
};

}  // namespace dlock
