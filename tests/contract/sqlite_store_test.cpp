// SPDX-License-Identifier: MIT
// What can go wrong only in the SQLite store: its file, the log beside it, and another writer.
#include "sys/wake_up.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "contract/in_line.hpp"
#include "contract/sqlite_file.hpp"

namespace dlock::contract {

TEST_CASE("O07: sqlite: where the file was removed the hold is lost, and another may take it") {
  const SqliteFile file;
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
  const SqliteFile file;
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

TEST_CASE("sqlite: a damaged row is an error, never a free lock") {
  const SqliteFile file;
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
  const SqliteFile file;
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
  const SqliteFile file;
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
  const SqliteFile file;
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
  const SqliteFile file;
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
  const SqliteFile file;
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
  const SqliteFile file;
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
  const SqliteFile file;
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
  const SqliteFile file;
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
