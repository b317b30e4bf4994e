// SPDX-License-Identifier: MIT
// The bells of the SQLite store (sqlite/bell.hpp): whom the end of a hold wakes, and who takes
// bells away.
#include "store/sqlite/bell.hpp"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include <string_view>

#include "contract/in_line.hpp"
#include "contract/sqlite_file.hpp"

namespace dlock::contract {

namespace {

// A waiter in line with a bell, and what the bell has rung.
struct Belled : InLine {
  Belled(const SqliteFile& file, const Claim& what)
      : InLine(file.backing(), what), bell(bell_of(file.path(), waiter_id(what))) {
    auto heard = FileEvents::of(bell, IN_ATTRIB);
    REQUIRE(heard.has_value());
    events = std::move(*heard);
  }
  Belled(const SqliteFile& file, const LockName& name) : Belled(file, claim_of(name)) {}
  bool rang() const {
    return events.take([](std::string_view) { return true; });
  }
  std::string bell;
  FileEvents events;
};

// The first waiter's bell has rung. The second one's rings when the first waiter enters.
Holds enters_and_rings(Belled& first, const Belled& second) {
  CHECK(first.rang());
  CHECK_FALSE(second.rang());
  Holds holds = first.enter().holds;
  CHECK(second.rang());
  return holds;
}

}  // namespace

TEST_CASE("sqlite: a release rings for the first waiter alone") {
  const SqliteFile file;
  Client holder = file.client();
  const LockName name = fresh_name();
  const Hold hold = holder.take(name).hold;
  Belled first(file, name);
  Belled second(file, name);
  Belled third(file, name);
  CHECK(holder.release(hold) == ReleaseVerdict::released);
  CHECK(first.rang());
  CHECK_FALSE(second.rang());
  CHECK(hears(second, HandOff::next));  // by the time of the file
  CHECK(hears(first, HandOff::turn));
  const Hold next = first.enter().hold;
  CHECK_FALSE(second.rang());
  CHECK(first.client.release(next) == ReleaseVerdict::released);
  CHECK(second.rang());
  CHECK_FALSE(third.rang());
  CHECK(file.bells().size() == 2);
}

TEST_CASE("sqlite: a waiter whose bell rings, or is removed, tries at once, and has a bell again") {
  const SqliteFile file;
  Client holder = file.client();
  const LockName name = fresh_name();
  holder.take(name);
  Belled waiter(file, name);
  ring(waiter.bell);
  CHECK(hears(waiter, HandOff::turn));  // it has not looked: the lock is held
  waiter.refused();
  // Who may not write the file of another user rings by removing it.
  std::filesystem::remove(waiter.bell);
  CHECK(hears(waiter, HandOff::turn));
  waiter.refused();
  CHECK(hears_nothing(waiter));
  CHECK(has_bell(waiter.bell));
}

TEST_CASE("sqlite: each reader that enters rings for the next one, the last for no writer") {
  const SqliteFile file;
  Client holder = file.client();
  const LockName name = fresh_name();
  const Hold hold = holder.take(name).hold;
  Belled first(file, reader(name));
  Belled second(file, reader(name));
  Belled last(file, writer(name));
  CHECK(holder.release(hold) == ReleaseVerdict::released);
  const Holds one = enters_and_rings(first, second);
  const Hold two = second.enter().hold;
  CHECK(first.client.release(one) == ReleaseVerdict::released);
  CHECK_FALSE(last.rang());
  CHECK(second.client.release(two) == ReleaseVerdict::released);
  CHECK(last.rang());
}

TEST_CASE("sqlite: of two slots that are released at once each wakes a waiter") {
  const SqliteFile file;
  Client holder = file.client();
  const LockName name = fresh_name();
  const Hold one = holder.take(claim_slot(2, name)).hold;
  const Hold two = holder.take(claim_slot(2, name)).hold;
  Belled first(file, claim_slot(2, name));
  Belled second(file, claim_slot(2, name));
  CHECK(holder.release(one) == ReleaseVerdict::released);
  CHECK(holder.release(two) == ReleaseVerdict::released);
  enters_and_rings(first, second);
  second.enter();
}

TEST_CASE("sqlite: a waiter that leaves in its turn rings for the next one") {
  const SqliteFile file;
  Client holder = file.client();
  const LockName name = fresh_name();
  const Hold hold = holder.take(name).hold;
  Belled first(file, name);
  Belled second(file, name);
  CHECK(holder.release(hold) == ReleaseVerdict::released);
  first.client.leave(first.claim);
  CHECK(second.rang());
  second.enter();
}

TEST_CASE("sqlite: a waiter that gets one of several names rings in the lines of the others") {
  const SqliteFile file;
  Client holder = file.client();
  const LockName a = fresh_name();
  const LockName b = fresh_name();
  const Holds holds = holder.take(claim_of(std::vector<LockName>{a, b})).holds;
  Claim either = claim_of(std::vector<LockName>{a, b});
  either.one_from = 0;
  Belled first(file, either);
  Belled second(file, b);
  CHECK(holder.release(holds) == ReleaseVerdict::released);
  enters_and_rings(first, second);
  second.enter();
}

TEST_CASE("sqlite: a lock that is deleted or no longer frozen rings for the first waiter") {
  const SqliteFile file;
  Client holder = file.client();
  const LockName name = fresh_name();
  holder.take(name);
  Belled waiter(file, name);
  const FreezeOrder freeze{.owner = OwnerId("x:1"), .who = some_holder(), .lasts = 30s};
  REQUIRE(holder.store().freeze(name, freeze, soon()).has_value());
  holder.revoke(name, order(true));
  CHECK_FALSE(waiter.rang());
  waiter.refused();
  REQUIRE(holder.store().unfreeze(name, soon()).has_value());
  CHECK(waiter.rang());
  const Hold hold = waiter.enter().hold;
  Belled next(file, name);
  holder.revoke(name, order(true));
  CHECK(next.rang());
}

TEST_CASE("sqlite: a claim that watches and never joins the line leaves no bell") {
  const SqliteFile file;
  const LockName name = fresh_name();
  file.client().take(name);
  {
    Client waiter = file.client();
    waiter.watch(claim_of(name), false);
    CHECK(file.bells().size() == 1);
  }
  CHECK(file.bells().empty());
}

TEST_CASE("sqlite: a waiter with a bell hears also of a release that rings no bell") {
  const SqliteFile file;
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
  const SqliteFile file;
  Client holder = file.client();
  const LockName name = fresh_name();
  const Hold hold = holder.take(name).hold;
  const InLine waiter(file.backing(), name);
  CHECK(file.bells().size() == 1);
  file.change("UPDATE dlock_line SET alive_until = 1");
  CHECK(holder.release(hold) == ReleaseVerdict::released);
  CHECK(file.bells().empty());
}

}  // namespace dlock::contract
