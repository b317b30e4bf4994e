// SPDX-License-Identifier: MIT
// SqliteStore: keeps locks for the processes of one machine in a file, without a server:
// "sqlite:///var/lib/dlock/dlock.db". With "?shared=no" the user says that no other machine uses
// the file system.
//
// Claims are granted in the order of their arrival: the lines are rows of a table. A release wakes
// those who came first, because after its commit it sets the modification time of the file, which
// inotify(7) reports; those behind them have bells (bell.hpp). (inotify reports the write itself,
// too, but before the next reader can see it.) A lease
// ends at its time on CLOCK_BOOTTIME or with a reboot, but not with its process. The last token and
// the last success survive both. This is no SqlStore: there the server's wall clock decides, and
// each row is locked by itself.
//
// Several names are changed in one transaction. A row that cannot be parsed is an error, never a
// free lock. If the file is removed or replaced, its locks are gone, as after DEL in Redis.
// SqliteStore does not promise that two kernels which use one disk exclude each other. SQLite
// itself demands that the file, its -wal and its -shm are removed together, and only while no job
// runs.
#pragma once

#include "base/result.hpp"
#include "store/local/local_url.hpp"
#include "store/local/machine.hpp"
#include "store/sqlite/sqlite_database.hpp"
#include "store/store_options.hpp"
#include "store/table/table_store.hpp"
#include "sys/file_events.hpp"
#include "sys/interrupt.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

class SqliteStore final : public TableStore {
 public:
  SqliteStore(const SqliteStore&) = delete;
  SqliteStore& operator=(const SqliteStore&) = delete;
  ~SqliteStore() override { remove_bell(); }

  static Result<local::Place> place_of(const StoreOptions& options);
  // Opens the store. Creates the file if it does not exist; the file's directory must exist.
  static Result<std::unique_ptr<LockStore>> open(const local::Place& place,
                                                 const StoreOptions& options);

  StoreTraits traits() const override { return {.may_hang = true}; }
  std::string where() const override;
  Result<std::vector<std::string>> list(std::string_view glob, Time limit) override;

 private:
  using State = lease_table::StoredLock;

  SqliteStore(local::Place place, local::Machine machine, const Interrupt* interrupt);

  Result<void> transact(const std::vector<LockName>& names,
                        const Occasion& occasion,
                        Time limit,
                        const Change& change) override;
  Result<void> read(const std::vector<LockName>& names, Time limit, const Look& look) override;
  Result<void> watch_rows(const std::vector<LockName>& names,
                          const std::vector<std::string>& ids,
                          Time limit) override;
  Result<bool> await_change(Time until) override;
  bool has_turn() const override { return rang_; }

  Result<void> connect();
  // The functions below may be called only within a transaction.
  Result<void> prepare_tables();
  Result<std::vector<State>> load_all(const std::vector<LockName>& names);
  Result<State> load(const std::string& name);
  Result<lease_table::Line> load_line(const std::string& name);
  Result<void> write_all(const std::vector<LockName>& names,
                         const std::vector<State>& before,
                         const std::vector<State>& after,
                         const Step& step,
                         const Moment& moment);
  Result<void> write_lock(const std::string& name, const State& state, const Moment& moment);
  Result<void> write_line(const std::string& name, const State& before, const State& after);

  void tell(const Step& step,
            const std::vector<State>& before,
            const std::vector<State>& after) const;
  Result<bool> await_bell(Time until);
  bool notes_change();
  void remove_bell();

  local::Place place_;
  local::Machine machine_;
  const Interrupt* interrupt_;
  std::unique_ptr<SqliteDatabase> db_;
  bool has_tables_ = false;
  // The lock that was read or written last, without its line. As long as its row is this text, it
  // need not be parsed again.
  struct Known {
    std::string name;
    std::string state;
    State lock;
  };
  Known known_;
  FileEvents events_;             // of the bell or, if `bell_` is empty, of the database
  std::vector<std::string> ids_;  // of the watched claim or holds
  std::string bell_;              // path of the waiter's bell
  bool rang_ = false;             // the bell has ended the newest wait
  Duration changed_at_{};         // time of the file's last change, as seen beside the bell
};

}  // namespace dlock
