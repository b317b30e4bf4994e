// SPDX-License-Identifier: MIT
// Which files can control dlock: real files, FIFOs and descriptors.
#include "sys/trusted_file.hpp"

#include "sys/unique_fd.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>
#include <thread>

#include "support/has.hpp"
#include "support/temp_dir.hpp"

namespace dlock {

using test::has;
using test::TempDir;

namespace {

std::string make_file(const TempDir& dir, const std::string& name, mode_t mode) {
  const std::string path = dir.path() + "/" + name;
  std::ofstream(path) << "text\nmore\n";
  ::chmod(path.c_str(), mode);
  return path;
}

std::string make_fifo(const TempDir& dir) {
  const std::string path = dir.path() + "/fifo";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  return path;
}

Errc refused(const Result<TrustedFile>& file) {
  REQUIRE_FALSE(file.has_value());
  return file.error().code;
}

}  // namespace

TEST_CASE("files: only one that is certainly not there counts as none") {
  const TempDir dir;
  const std::string file = make_file(dir, "file", 0600);
  CHECK(read_usual_file(file).value()->text == "text\nmore\n");
  CHECK_FALSE(read_usual_file(dir.path() + "/missing").value());
  CHECK_FALSE(read_usual_file(dir.path() + "/missing/file").value());
  CHECK_FALSE(read_usual_file(file + "/file").value());
  // A name that is too long is an error, also for root.
  CHECK_FALSE(read_usual_file(dir.path() + "/" + std::string(300, 'x')).has_value());
  const std::string loop = dir.path() + "/loop";
  REQUIRE(::symlink(loop.c_str(), loop.c_str()) == 0);
  const auto looped = read_usual_file(loop + "/file");
  REQUIRE_FALSE(looped.has_value());
  CHECK(looped.error().code == Errc::bad_config);
  CHECK(has(looped.error().text, "loop/file: cannot open: too many levels of symbolic links"));
}

TEST_CASE("files: one in a folder that is closed to us may be there") {
  if (::geteuid() == 0) return;  // root may look everywhere; cli/config_files has another user
  const TempDir dir;
  make_file(dir, "file", 0600);
  ::chmod(dir.path().c_str(), 0);
  const auto closed = read_usual_file(dir.path() + "/file");
  ::chmod(dir.path().c_str(), 0700);
  REQUIRE_FALSE(closed.has_value());
  CHECK(closed.error().code == Errc::denied);
}

TEST_CASE("files: a FIFO in a usual place is refused, without a wait for its writer") {
  const TempDir dir;
  const auto file = read_usual_file(make_fifo(dir));
  REQUIRE_FALSE(file.has_value());
  CHECK(has(file.error().text, "is not a regular file"));
  CHECK_FALSE(read_usual_file(dir.path()).has_value());
  CHECK_FALSE(read_usual_file("/dev/null").has_value());
}

TEST_CASE("files: a FIFO that was named is read when its writer has come") {
  const TempDir dir;
  const std::string path = make_fifo(dir);
  std::thread writer([&] { std::ofstream(path) << "late\n"; });
  const auto file = read_named_file(path);
  writer.join();
  REQUIRE(file.has_value());
  CHECK(file->text == "late\n");
  ::chmod(path.c_str(), 0622);
  CHECK(refused(read_named_file(path)) == Errc::bad_config);
}

TEST_CASE("files: what others could have written is refused, however it is named") {
  const TempDir dir;
  for (const mode_t mode : {0620U, 0602U, 0666U}) {
    const std::string file = make_file(dir, "file", mode);
    CHECK_FALSE(read_usual_file(file).has_value());
    CHECK(refused(read_named_file(file)) == Errc::bad_config);
    const UniqueFd open(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    CHECK(refused(read_named_file("/dev/fd/" + std::to_string(open.get()))) == Errc::bad_config);
  }
  if (::geteuid() != 0) return;
  const std::string file = make_file(dir, "file", 0600);
  REQUIRE(::chown(file.c_str(), 12345, 12345) == 0);
  CHECK_FALSE(read_usual_file(file).has_value());
  CHECK(has(read_named_file(file).error().text, "user 12345, neither root nor you"));
}

TEST_CASE("files: what others can read is told, unless root has arranged it") {
  const TempDir dir;
  for (const mode_t mode : {0600U, 0400U})
    CHECK_FALSE(read_named_file(make_file(dir, "file", mode)).value().is_exposed);
  for (const mode_t mode : {0644U, 0640U, 0604U, 0444U}) {
    const std::string file = make_file(dir, "file", mode);
    const bool is_roots = ::geteuid() == 0;  // and so is its folder
    CHECK(read_named_file(file).value().is_exposed == !is_roots);
    CHECK(read_usual_file(file).value()->is_exposed == !is_roots);
    ::chmod(dir.path().c_str(), 01777);
    CHECK(read_named_file(file).value().is_exposed);
    ::chmod(dir.path().c_str(), 0700);
    ::unlink(file.c_str());
  }
}

TEST_CASE("files: a password is the first line of a file or of what the caller opened") {
  const TempDir dir;
  CHECK(read_password_file(make_file(dir, "file", 0600)).value().password.reveal() == "text");
  const UniqueFd open(::open((dir.path() + "/file").c_str(), O_RDONLY | O_CLOEXEC));
  const std::string given = "/dev/fd/" + std::to_string(open.get());
  for (int turn = 0; turn < 2; ++turn)
    CHECK(read_password_file(given).value().password.reveal() == "text");
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const UniqueFd here(ends[0]);
  UniqueFd there(ends[1]);
  REQUIRE(::write(there.get(), "sesame\n", 7) == 7);
  there.reset();
  CHECK(read_password_file("/dev/fd/" + std::to_string(here.get())).value().password.reveal() ==
        "sesame");
  std::ofstream(dir.path() + "/file") << "\n";
  CHECK_FALSE(read_password_file(dir.path() + "/file").has_value());
}

}  // namespace dlock
