// SPDX-License-Identifier: MIT
// What can go wrong only in the SQLite store: its file, the log beside it, and another writer.
#include "store/sqlite/sqlite_database.hpp"
#include "sys/wake_up.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "contract/in_line.hpp"
#include "contract/local_place.hpp"
#include "contract/lock_store_contract.hpp"
#include "support/temp_dir.hpp"

namespace dlock::contract {

namespace {

struct File {
  test::TempDir directory;
  std::string path() const { return directory.path() + "/locks.db"; }
  Backing backing() const {
    return {.name = "sqlite", .open = [this](const Interrupt* interrupt) {
              auto store = open_at("sqlite://" + path(), interrupt);
              REQUIRE_MESSAGE(store.has_value(), (store ? "" : store.error().text));
              return std::move(*store);
            }};
  }
  Client client(const Interrupt* interrupt = nullptr) const { return Client(backing(), interrupt); }
  std::unique_ptr<SqliteDatabase> database() const {
    auto db = SqliteDatabase::open(path(), nullptr);
    REQUIRE(db.has_value());
    return std::move(*db);
  }
  void change(const std::string& sql) const {
    const auto db = database();
    REQUIRE(db->begin_write(soon()).has_value());
    REQUIRE(db->run(sql).has_value());
    REQUIRE(db->commit().has_value());
  }
  // Bells of waiters (sqlite/bell.hpp).
  std::vector<std::string> bells() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
      if (entry.path().string().starts_with(path() + "-bell-")) found.push_back(entry.path());
    return found;
  }
  void remove() const {
    for (const char* const suffix : {"", "-wal", "-shm"})
      std::filesystem::remove(path() + suffix);
  }
};

// Returns how long after a release a waiter with a bell hears that it is the second in line.
Duration bell_rings_after() {
  const File file;
  Client holder = file.client();
  const LockName name = fresh_name();
  const Hold hold = holder.take(name).hold;
  InLine first(file.backing(), name);
  first.client.watch(first.claim, true);
  first.refused();
  InLine second(file.backing(), name);
  InLine third(file.backing(), name);
  REQUIRE(file.bells().size() == 2);
  // Who may not write the file of another user rings by removing it.
  for (const std::string& bell : file.bells())
    std::filesystem::remove(bell);
  CHECK(hears_nothing(second));
  CHECK(hears_nothing(third));
  CHECK(file.bells().size() == 2);
  CHECK(holder.release(hold) == ReleaseVerdict::released);
  CHECK(hears(first, HandOff::turn));
  CHECK(hears_nothing(third));
  CHECK(first.client.release(first.enter().hold) == ReleaseVerdict::released);
  const Time released_at = BootClock::now();
  CHECK(hears(third, HandOff::next));
  const Duration took = BootClock::now() - released_at;
  CHECK(hears_its_turn(second));
  CHECK(second.client.release(second.enter().hold) == ReleaseVerdict::released);
  CHECK(hears_its_turn(third));
  CHECK(file.bells().size() == 1);
  third.enter();
  CHECK(file.bells().empty());
  return took;
}

}  // namespace

TEST_CASE("O07: sqlite: where the file was removed the hold is lost, and another may take it") {
  const File file;
  Client holder = file.client();
  const LockName name = fresh_name();
  const Hold hold = holder.take(name).hold;
  file.remove();
  Client other = file.client();
  const Hold theirs = other.take(name).hold;
  CHECK(holder.renew(hold).verdict == RenewVerdict::lost);
  CHECK(holder.check(hold).verdict == RenewVerdict::lost);
  CHECK(holder.release(hold) == ReleaseVerdict::not_held);
  CHECK(other.renew(theirs).verdict == RenewVerdict::renewed);
}

TEST_CASE("sqlite: a waiter whose file was removed is woken, and by the next file as well") {
  const File file;
  Client holder = file.client();
  const LockName name = fresh_name();
  holder.take(name);
  InLine waiter(file.backing(), name);
  file.remove();
  CHECK(hears(waiter, HandOff::changed));
  Client other = file.client();
  const Hold theirs = other.take(name).hold;
  waiter.refused();
  CHECK(other.release(theirs) == ReleaseVerdict::released);
  CHECK(eventually([&] { return waiter.client.await_hand_off(soon()) != HandOff::timed_out; }));
  enters_eventually(waiter);
}

TEST_CASE("sqlite: a waiter behind others has a bell, which rings when it is among the first two") {
  // Without the bell it takes half a second, each time; with it, only on a machine that stands
  // still.
  CHECK(eventually([] { return bell_rings_after() < 300ms; }));
}

TEST_CASE("sqlite: a claim that watches and never joins the line leaves no bell") {
  const File file;
  const LockName name = fresh_name();
  file.client().take(name);
  {
    Client waiter = file.client();
    waiter.watch(claim_of(name), false);
    CHECK(file.bells().size() == 1);
  }
  CHECK(file.bells().empty());
}

TEST_CASE("sqlite: a waiter with a bell hears also of a release for which nobody rings") {
  const File file;
  Client holder = file.client();
  const LockName name = fresh_name();
  holder.take(name);
  InLine waiter(file.backing(), name);
  CHECK(hears_nothing(waiter));
  // An older dlock sets only the time of the file.
  file.change("DELETE FROM dlock");
  REQUIRE(::utimensat(AT_FDCWD, file.path().c_str(), nullptr, 0) == 0);
  CHECK(waiter.client.await_hand_off(BootClock::now() + 2s) != HandOff::timed_out);
  waiter.enter();
}

TEST_CASE("sqlite: the bell of a waiter that was killed goes with its place") {
  const File file;
  Client holder = file.client();
  const LockName name = fresh_name();
  const Hold hold = holder.take(name).hold;
  const InLine waiter(file.backing(), name);
  CHECK(file.bells().size() == 1);
  file.change("UPDATE dlock_line SET alive_until = 1");
  CHECK(holder.release(hold) == ReleaseVerdict::released);
  CHECK(file.bells().empty());
}

TEST_CASE("sqlite: a damaged row is an error, never a free lock") {
  const File file;
  Client client = file.client();
  const LockName name = name_of("a");
  client.take(name);
  for (const char* state : {"''", "'{}'", "'[]'", "x'00'", "'{\"name\":\"b\"}'"}) {
    CAPTURE(state);
    file.change(std::string("UPDATE dlock SET state = ") + state);
    const auto reply = client.try_acquire(claim_of(name));
    REQUIRE_FALSE(reply.has_value());
    CHECK(reply.error().code == Errc::refused);
    CHECK(client.list("*") == std::vector<std::string>{"a"});
  }
  file.change("DELETE FROM dlock");
  client.take(name);
}

TEST_CASE("sqlite: the leases and waiters of another boot are over; the token grows on") {
  const File file;
  Client client = file.client();
  const LockName name = fresh_name();
  const Hold hold = client.take(name).hold;
  InLine waiter(file.backing(), name);
  file.change("UPDATE dlock SET state = json_set(state, '$.boot_id', 'another')");
  file.change("UPDATE dlock_line SET alive_until = alive_until + 5000000000");
  CHECK(is_free(client, name));
  CHECK(client.inspect(name).waiting == 0);
  CHECK(client.renew(hold).verdict == RenewVerdict::lost);
  CHECK(client.take(name).hold.token > hold.token);
  CHECK(client.inspect(name).waiting == 0);
}

TEST_CASE("sqlite: the columns beside the state say who holds the lock, and until when") {
  const File file;
  Client client = file.client();
  const Hold hold = client.take(name_of("a"), 1h).hold;
  std::string seen;
  const auto look = [&] {
    REQUIRE(file.database()
                ->run("SELECT name || '|' || locked_by || '|' || token || '|' || version || '|' || "
                      "(lock_until > datetime('now', '+50 minutes')) || "
                      "(lock_until < datetime('now', '+70 minutes')) || "
                      "(locked_at > datetime('now', '-10 minutes')) FROM dlock",
                      {},
                      [&](const SqliteRow& row) { seen = row.text(0); })
                .has_value());
    return seen;
  };
  CHECK(look() == "a|alice@db1 pid 4711|" + std::to_string(hold.token) + "|1|111");
  CHECK(client.renew(hold).verdict == RenewVerdict::renewed);
  CHECK(look().ends_with("|2|111"));
  CHECK(client.release(hold) == ReleaseVerdict::released);
  CHECK(look() == "a||" + std::to_string(hold.token) + "|3|011");
}

TEST_CASE("sqlite: a call that waits for another writer ends at its limit, or by the interrupt") {
  const File file;
  const WakeUp interrupt;
  Client client = file.client(&interrupt);
  const LockName name = fresh_name();
  const Hold hold = client.take(name).hold;
  const auto writer = file.database();
  REQUIRE(writer->begin_write(soon()).has_value());
  const auto late = client.store().renew({hold}, BootClock::now() + 50ms);
  REQUIRE_FALSE(late.has_value());
  CHECK(late.error().code == Errc::timed_out);
  interrupt.raise();
  const auto ended = client.store().renew({hold}, soon());
  REQUIRE_FALSE(ended.has_value());
  CHECK(ended.error().code == Errc::cancelled);
  interrupt.clear();
  CHECK(client.inspect(name).owners.size() == 1);  // to look needs no lock
  writer->roll_back();
  CHECK(client.renew(hold).verdict == RenewVerdict::renewed);
}

TEST_CASE("sqlite: the log is carried over before it is long") {
  const File file;
  Client client = file.client();
  const LockName name = fresh_name();
  for (int i = 0; i < 600; ++i) {
    const Hold hold = client.take(name).hold;
    CHECK(client.release(hold) == ReleaseVerdict::released);
  }
  CHECK(std::filesystem::file_size(file.path() + "-wal") < 6'000'000);
  CHECK(std::filesystem::file_size(file.path()) > 4096);
}

TEST_CASE("sqlite: the files give others no right, whatever the umask") {
  const ::mode_t before = ::umask(0);
  const File file;
  Client client = file.client();
  client.take(fresh_name());
  ::umask(before);
  for (const char* const suffix : {"", "-wal", "-shm"}) {
    struct stat status {};
    REQUIRE(::stat((file.path() + suffix).c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0660);
  }
}

TEST_CASE("sqlite: in a directory of a group the files are for the group, whatever the umask") {
  const File file;
  REQUIRE(::chmod(file.directory.path().c_str(), 02770) == 0);
  const ::mode_t before = ::umask(077);
  Client client = file.client();
  const LockName name = fresh_name();
  client.take(name);
  const InLine waiter(file.backing(), name);
  ::umask(before);
  std::vector<std::string> all = file.bells();
  REQUIRE(all.size() == 1);
  for (const char* const suffix : {"", "-wal", "-shm"})
    all.push_back(file.path() + suffix);
  for (const std::string& path : all) {
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0660);
  }
}

TEST_CASE("sqlite: a call after one that was interrupted says what its own trouble is") {
  const File file;
  const WakeUp interrupt;
  Client client = file.client(&interrupt);
  const LockName name = fresh_name();
  const Hold hold = client.take(name).hold;
  file.change("DROP TABLE dlock");
  const auto interrupted = [&] {
    const auto writer = file.database();
    REQUIRE(writer->begin_write(soon()).has_value());
    interrupt.raise();
    const auto ended = client.store().renew({hold}, soon());
    interrupt.clear();
    writer->roll_back();
    return !ended && ended.error().text.ends_with(": interrupted");
  };
  CHECK(interrupted());
  const auto renewal = client.store().renew({hold}, soon());
  REQUIRE_FALSE(renewal.has_value());
  CHECK(renewal.error().code == Errc::refused);
  CHECK(renewal.error().text.ends_with(": no such table: dlock"));
  CHECK(interrupted());
  const auto look = client.store().inspect(name, soon());
  REQUIRE_FALSE(look.has_value());
  CHECK(look.error().text.ends_with(": no such table: dlock"));
}

TEST_CASE("sqlite: a file that is no database, or has other tables of these names, is refused") {
  const File file;
  std::ofstream(file.path()) << std::string(5000, 'x');
  Client client = file.client();
  auto reply = client.try_acquire(claim_of(fresh_name()));
  REQUIRE_FALSE(reply.has_value());
  CHECK(reply.error().code == Errc::refused);
  file.remove();
  file.change("CREATE TABLE dlock (id)");
  reply = file.client().try_acquire(claim_of(fresh_name()));
  REQUIRE_FALSE(reply.has_value());
  CHECK(reply.error().code == Errc::refused);
}

}  // namespace dlock::contract
