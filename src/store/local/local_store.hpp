// SPDX-License-Identifier: MIT
// LocalStore: keeps locks for the processes of one machine in a directory, without a server:
// "local:///var/lib/dlock". With "?shared=no" the user says that no other machine uses the
// directory. A name has two files: <name>.lock, whose flock(2) each operation takes for some
// microseconds, and <name>.json, which contains the leases and is replaced by rename(2). A lease
// ends at its time on CLOCK_BOOTTIME or with a reboot, but not with its process, as in every store.
// The last token and the last success outlive leases and reboots.
//
// For several names, an operation locks all their files in the order of the files' names, then
// reads, then writes. So no other process can take a name in between. After a crash between two
// writes, some names may stay held, or unreleased, until their lease ends; but no lock has two
// holders.
//
// A file that cannot be parsed is an error, never a free lock. To inspect and to list needs no
// right to write. Removing <name>.json frees the lock at once, as DEL does in Redis. A file system
// that another kernel may share is refused (file_system.hpp). Two kernels on one disk are not
// supported, nor are processes in another time namespace. There is no line, so waiters have no
// order, and readers that keep coming may keep a writer waiting for ever.
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
  // Opens the store. Makes the directory if only its last component does not exist. A call that
  // waits for a file lock returns Errc::cancelled if options.interrupt ends it.
  static Result<std::unique_ptr<LockStore>> open(const local::Place& place,
                                                 const StoreOptions& options);

  StoreTraits traits() const override {
    return {.line = false, .supersede = false, .may_hang = true};
  }
  std::string where() const override;
  Result<std::vector<std::string>> list(std::string_view glob, Time limit) override;

 private:
  using State = lease_table::StoredLock;
  struct Locked;  // a file whose flock(2) this process has

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
                         const std::vector<State>& after,
                         const Step& step);
  Result<std::optional<std::string>> listed_name(int directory, const std::string& stem) const;

  local::Place directory_;
  local::Machine machine_;
  const Interrupt* interrupt_;
  // Old files that the newest change has replaced. The next change closes them.
  std::vector<UniqueFd> replaced_;
  FileEvents events_;  // changes of the files in the directory
  std::set<std::string, std::less<>> watched_files_;
};

}  // namespace dlock
