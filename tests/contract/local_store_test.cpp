// SPDX-License-Identifier: MIT
// What can go wrong only in the local store: files, directories and their rights.
#include "base/file_stem.hpp"
#include "store/local/local_file.hpp"
#include "sys/wake_up.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <variant>

#include "contract/local_place.hpp"

namespace dlock::contract {

namespace {

std::string content_of(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  return content.str();
}

void write_to(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::trunc) << text;
}

std::size_t replaced_and_open() {
  std::size_t count = 0;
  for (const auto& fd : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    count += std::filesystem::read_symlink(fd, gone).native().ends_with("a.json (deleted)");
  }
  return count;
}

}  // namespace

TEST_CASE("local: a process that was forked during a call does not keep its file lock") {
  const Place place;
  const auto directory = local::open_directory({.path = place.directory.path()}, false);
  REQUIRE(directory.has_value());
  const local::FileAt file{directory->get(), place.directory.path(), "a.lock"};
  pid_t pid = -1;
  {
    const auto lock = local::lock_file(file, soon(), nullptr);
    REQUIRE(lock.has_value());
    pid = ::fork();
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::poll(nullptr, 0, 60'000);
      ::_exit(0);
    }
  }
  REQUIRE(pid > 0);
  CHECK(local::lock_file(file, BootClock::now() + 2s, nullptr).has_value());
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

TEST_CASE("local: a damaged file is an error, never a free lock") {
  const Place place;
  Client client = place.client();
  const LockName name = name_of("a");
  client.take(name);
  for (const char* text : {"", "{", "{}", "[]", "{\"owner\":7}"}) {
    CAPTURE(text);
    write_to(place.file("a.json"), text);
    const auto reply = client.store().acquire(claim_of(name), Queueing::no, soon());
    REQUIRE_FALSE(reply.has_value());
    CHECK(reply.error().code == Errc::refused);
    CHECK(reply.error().text.find("is damaged: remove it") != std::string::npos);
    CHECK_FALSE(client.store().inspect(name, soon()).has_value());
    CHECK(client.list("*") == std::vector<std::string>{"a"});
  }
}

TEST_CASE("local: after a reboot every lease is over and tokens go on") {
  const Place place;
  Client client = place.client();
  const LockName name = name_of("a");
  const Taken grant = client.take(name);
  std::string text = content_of(place.file("a.json"));
  const auto at = text.find("\"boot_id\":\"") + 11;
  text.replace(at, 8, "00000000");
  const auto token = text.find(std::to_string(grant.hold.token));
  REQUIRE(token != std::string::npos);
  text.replace(
      token, std::to_string(grant.hold.token).size(), "4000000000000000");  // clock went back
  write_to(place.file("a.json"), text);
  CHECK(client.inspect(name).kind == Holding::Kind::none);
  CHECK(client.list("*").empty());
  CHECK(client.renew(grant.hold).verdict == RenewVerdict::lost);
  CHECK(client.take(name).hold.token == 4000000000000001);
}

TEST_CASE("local: after a reboot nothing is kept any more, and a success is still known") {
  const Place place;
  Client client = place.client();
  const LockName name = name_of("a");
  const Hold hold = client.take(name).hold;
  CHECK(client.release(hold, {.keep = 60s, .tell_for = 1h}) == ReleaseVerdict::released);
  client.must_be_busy(claim_of(name));
  std::string text = content_of(place.file("a.json"));
  text.replace(text.find("\"boot_id\":\"") + 11, 8, "00000000");
  write_to(place.file("a.json"), text);
  CHECK(client.inspect(name).kind == Holding::Kind::none);
  Claim claim = claim_of(name);
  claim.once_per = 1h;
  client.must_be_done(claim);
  client.take(name);
  client.must_be_done(claim);
}

TEST_CASE("local: a lock that an older dlock holds is held") {
  const Place place;
  Client client = place.client();
  const Hold other = client.take(name_of("b")).hold;
  std::string boot_id = content_of(place.file("b.json"));
  boot_id = boot_id.substr(boot_id.find("\"boot_id\":\"") + 11, 36);
  const auto end = (BootClock::now() + 60s).time_since_epoch().count();
  write_to(place.file("a.json"),
           R"({"name":"a","boot_id":")" + boot_id + R"(","owner":"o","expires_ns":)" +
               std::to_string(end) + R"(,"token":7,"holds":{"s":{"token":7,"host":"db9"}}})");
  Hold old = other;
  old.name = name_of("a");
  old.owner = "o";
  old.serial = "s";
  CHECK(client.must_be_busy(claim_of(old.name)).holding.holds.at(0).who.host == "db9");
  CHECK(client.renew(old).verdict == RenewVerdict::renewed);
  CHECK(client.release(old) == ReleaseVerdict::released);
  client.take(old.name);
}

TEST_CASE("local: of several names none is taken if one cannot be written") {
  const Place place;
  Client client = place.client();
  const std::vector<LockName> names{name_of("a"), name_of("b")};
  REQUIRE(::mkdir(place.file("b.json.new").c_str(), 0700) == 0);
  CHECK_FALSE(client.store().acquire(claim_of(names), Queueing::no, soon()).has_value());
  CHECK(client.inspect(names[0]).kind == Holding::Kind::none);
  REQUIRE(::rmdir(place.file("b.json.new").c_str()) == 0);
  const Holds holds = client.take(claim_of(names)).holds;
  REQUIRE(::mkdir(place.file("b.json.new").c_str(), 0700) == 0);
  CHECK_FALSE(client.store().release(holds, {}, soon()).has_value());
  CHECK(client.check(holds).verdict == RenewVerdict::held);
  REQUIRE(::rmdir(place.file("b.json.new").c_str()) == 0);
  CHECK(client.release(holds) == ReleaseVerdict::released);
}

TEST_CASE("local: a crash between two writes leaves one name taken until its lease ends") {
  const Place place;
  Client client = place.client();
  const std::vector<LockName> names{name_of("a"), name_of("b")};
  const Claim claim = claim_of(names, 500ms);
  const Taken taken = client.take(claim);
  REQUIRE(::unlink(place.file("b.json").c_str()) == 0);  // as if it had not been written yet
  const RenewReply reply = client.renew(taken.holds);
  CHECK(reply.verdict == RenewVerdict::lost);
  const Hold other = client.take(names[1]).hold;
  CHECK(client.release(other) == ReleaseVerdict::released);
  client.take_eventually(claim_of(names));
  CHECK(BootClock::now() >= taken.sent_at + 500ms);
}

TEST_CASE("local: a claim of several names waits for the file lock of each") {
  const Place place;
  Client client = place.client();
  const std::vector<LockName> names{name_of("b"), name_of("a")};
  for (const LockName& name : names) {
    const Hold hold = client.take(name).hold;
    CHECK(client.release(hold) == ReleaseVerdict::released);
    const UniqueFd other(::open(place.file(name.text() + ".lock").c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(::flock(other.get(), LOCK_EX) == 0);
    const auto reply =
        client.store().acquire(claim_of(names), Queueing::no, BootClock::now() + 100ms);
    REQUIRE_FALSE(reply.has_value());
    CHECK(reply.error().code == Errc::timed_out);
  }
  const Taken taken = client.take(claim_of(names));
  CHECK(client.release(taken.holds) == ReleaseVerdict::released);
}

TEST_CASE("local: files are locked in one order, whatever the order of the claim") {
  const Place place;
  Client client = place.client();
  for (const char* name : {"a", "b"})
    client.release(client.take(name_of(name)).hold);
  const UniqueFd first(::open(place.file("a.lock").c_str(), O_RDWR | O_CLOEXEC));
  const UniqueFd second(::open(place.file("b.lock").c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(::flock(first.get(), LOCK_EX) == 0);
  std::atomic<bool> over{false};
  std::thread claiming([&] {
    const auto claim = claim_of({name_of("b"), name_of("a")});
    (void)client.store().acquire(claim, Queueing::no, BootClock::now() + 300ms).has_value();
    over = true;
  });
  bool always_free = true;  // it waits for the first, and does not keep the second meanwhile
  while (!over) {
    always_free = always_free && ::flock(second.get(), LOCK_EX | LOCK_NB) == 0;
    ::flock(second.get(), LOCK_UN);
    ::poll(nullptr, 0, 1);
  }
  claiming.join();
  CHECK(always_free);
}

TEST_CASE("O04: local: removing the lock file while the lock is held admits no other holder") {
  const Place place;
  Client client = place.client();
  const LockName name = name_of("a");
  const Taken grant = client.take(name);
  REQUIRE(::unlink(place.file("a.lock").c_str()) == 0);
  client.must_be_busy(claim_of(name));
  CHECK(client.renew(grant.hold).verdict == RenewVerdict::renewed);
  CHECK(client.release(grant.hold) == ReleaseVerdict::released);
}

TEST_CASE("O04: local: a replaced directory has none of the old leases") {
  const test::TempDir parent;
  const std::string path = parent.path() + "/locks";
  const Backing backing{.name = "local", .open = [&](const Interrupt*) {
                          return std::move(*open_at("local://" + path));
                        }};
  Client client(backing);
  const Taken grant = client.take(name_of("a"));
  REQUIRE(::rename(path.c_str(), (path + ".old").c_str()) == 0);
  const auto nowhere = client.store().renew(grant.holds, soon());
  REQUIRE_FALSE(nowhere.has_value());
  CHECK(nowhere.error().code == Errc::unavailable);
  REQUIRE(::mkdir(path.c_str(), 0700) == 0);
  CHECK(client.renew(grant.hold).verdict == RenewVerdict::lost);
}

TEST_CASE("local: a call that waits for a file lock ends at its limit") {
  const Place place;
  Client client = place.client();
  const LockName name = name_of("a");
  client.take(name);
  const UniqueFd other(::open(place.file("a.lock").c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(::flock(other.get(), LOCK_EX) == 0);
  const auto reply = client.store().acquire(claim_of(name), Queueing::no, BootClock::now() + 100ms);
  REQUIRE_FALSE(reply.has_value());
  CHECK(reply.error().code == Errc::timed_out);
  CHECK(client.inspect(name).kind == Holding::Kind::lock);  // needs no file lock
}

TEST_CASE("local: an interrupt ends the wait for a file lock") {
  const Place place;
  const WakeUp interrupt;
  Client client = place.client(&interrupt);
  const LockName name = name_of("a");
  client.take(name);
  const UniqueFd other(::open(place.file("a.lock").c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(::flock(other.get(), LOCK_EX) == 0);
  interrupt.raise();
  const auto reply = client.store().acquire(claim_of(name), Queueing::no, soon());
  REQUIRE_FALSE(reply.has_value());
  CHECK(reply.error().code == Errc::cancelled);
}

TEST_CASE("local: links, pipes and directories in the place of files are not followed or opened") {
  const Place place;
  Client client = place.client();
  REQUIRE(::symlink("/etc/passwd", place.file("a.json").c_str()) == 0);
  CHECK_FALSE(client.store().acquire(claim_of(name_of("a")), Queueing::no, soon()).has_value());
  REQUIRE(::symlink("/tmp/dlock-no-such-file", place.file("b.lock").c_str()) == 0);
  CHECK_FALSE(client.store().acquire(claim_of(name_of("b")), Queueing::no, soon()).has_value());
  CHECK(::access("/tmp/dlock-no-such-file", F_OK) != 0);
  REQUIRE(::mkfifo(place.file("c.json").c_str(), 0600) == 0);
  CHECK_FALSE(client.store().acquire(claim_of(name_of("c")), Queueing::no, soon()).has_value());
}

TEST_CASE("local: files that a killed process left behind do no harm") {
  const Place place;
  Client client = place.client();
  write_to(place.file("a.json.new"), "half a f");
  const Taken grant = client.take(name_of("a"));
  CHECK(client.release(grant.hold) == ReleaseVerdict::released);
}

TEST_CASE("local: a change does not wait until the file that it replaced is freed") {
  const Place place;
  Client client = place.client();
  const Hold hold = client.take(name_of("a")).hold;
  CHECK(client.renew(hold).verdict == RenewVerdict::renewed);
  CHECK(client.renew(hold).verdict == RenewVerdict::renewed);
  CHECK(replaced_and_open() == 1);
}

TEST_CASE("local: refused attempts and reads write nothing") {
  const Place place;
  Client client = place.client();
  const LockName name = name_of("a");
  client.take(name);
  struct stat before {};
  REQUIRE(::stat(place.file("a.json").c_str(), &before) == 0);
  client.must_be_busy(claim_of(name));
  client.inspect(name);
  client.list("*");
  struct stat after {};
  REQUIRE(::stat(place.file("a.json").c_str(), &after) == 0);
  CHECK(after.st_ino == before.st_ino);
}

TEST_CASE("local: file names are safe, short and different") {
  CHECK(local::file_stem("order-42") == "order-42");
  CHECK(local::file_stem("..") == "%2e%2e");
  CHECK(local::file_stem("../../x") == "%2e%2e%2f%2e%2e%2fx");
  CHECK(local::file_stem("a.lock") == "a%2elock");
  const std::string one = local::file_stem(std::string(512, '/'));
  const std::string two = local::file_stem(std::string(511, '/'));
  CHECK(one.size() <= 200);
  CHECK(one != two);
  CHECK(name_from_stem("%2e%2e") == "..");
  CHECK_FALSE(name_from_stem(one).has_value());
}

TEST_CASE("local: a file that holds another name is refused") {
  const Place place;
  Client client = place.client();
  client.take(name_of("a"));
  REQUIRE(::rename(place.file("a.json").c_str(), place.file("b.json").c_str()) == 0);
  const auto reply = client.store().acquire(claim_of(name_of("b")), Queueing::no, soon());
  REQUIRE_FALSE(reply.has_value());
  CHECK(reply.error().code == Errc::refused);
}

}  // namespace dlock::contract
