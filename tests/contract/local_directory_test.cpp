// SPDX-License-Identifier: MIT
// Which URLs and directories the local store takes, and what it says of the others.
#include "store/local/file_system.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "contract/local_place.hpp"

namespace dlock::contract {

namespace {

Errc open_error(const std::string& url) {
  const auto store = open_at(url);
  REQUIRE_FALSE(store.has_value());
  CHECK(store.error().text.starts_with("cannot ") == (store.error().code != Errc::bad_usage));
  return store.error().code;
}

}  // namespace

TEST_CASE("local: URLs that name no directory are refused") {
  for (const char* url : {"",
                          "local:",
                          "local://",
                          "local://host/dir",
                          "local:///",
                          "local:///a%00b",
                          "local:///d?",
                          "local:///d?shared=yes",
                          "local:///d?shared=no&x=1",
                          "local:///d?db=1"}) {
    CAPTURE(url);
    CHECK(open_error(url) == Errc::bad_usage);
  }
}

TEST_CASE("local: the directory is made with mode 0700, its parents are not") {
  const test::TempDir directory;
  auto store = open_at("local://" + directory.path() + "/new//");
  REQUIRE(store.has_value());
  CHECK((*store)->where() == "local://" + directory.path() + "/new");
  struct stat status {};
  REQUIRE(::stat((directory.path() + "/new").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0700);
  CHECK(open_error("local://" + directory.path() + "/no/such") == Errc::unavailable);
}

TEST_CASE("local: in a directory of a group the files are for the group, whatever the umask") {
  const Place place;
  REQUIRE(::chmod(place.directory.path().c_str(), 02770) == 0);
  const ::mode_t before = ::umask(077);
  Client client = place.client();
  client.take(name_of("a"));
  ::umask(before);
  for (const char* const name : {"a.lock", "a.json"}) {
    struct stat status {};
    REQUIRE(::stat(place.file(name).c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0660);
  }
}

TEST_CASE("local: a directory that all may write is refused, also with the sticky bit") {
  const Place place;
  for (const ::mode_t mode : {0777U, 01777U}) {
    REQUIRE(::chmod(place.directory.path().c_str(), mode) == 0);
    CHECK(open_error(place.url()) == Errc::denied);
  }
  REQUIRE(::mkdir(place.file("own").c_str(), 0700) == 0);
  CHECK(open_at(place.url() + "/own").has_value());
  REQUIRE(::chmod(place.directory.path().c_str(), 0777) == 0);
  CHECK(open_error(place.url() + "/own") == Errc::denied);
}

TEST_CASE("O06: local: a file system that two kernels may share is recognized by its number") {
  using local::shared_file_system;
  const std::vector<std::pair<std::uint32_t, std::string>> shared{{0x6969, "NFS"},
                                                                  {0x517b, "SMB"},
                                                                  {0xff534d42, "CIFS"},
                                                                  {0xfe534d42, "SMB2"},
                                                                  {0x01021997, "9p"},
                                                                  {0x65735546, "FUSE"},
                                                                  {0x6a656a63, "virtiofs"},
                                                                  {0x00c36400, "Ceph"},
                                                                  {0x01161970, "GFS2"},
                                                                  {0x7461636f, "OCFS2"},
                                                                  {0x5346414f, "AFS"},
                                                                  {0x6b414653, "AFS"},
                                                                  {0x0bd00bd0, "Lustre"},
                                                                  {0x786f4256, "vboxsf"},
                                                                  {0xbacbacbc, "VMware HGFS"}};
  for (const auto& [magic, name] : shared) {
    CAPTURE(name);
    CHECK(shared_file_system(magic) == name);
  }
  // ext4, xfs, btrfs, zfs, f2fs, tmpfs, ramfs, overlayfs.
  for (const std::uint32_t magic : {0xef53U,
                                    0x58465342U,
                                    0x9123683eU,
                                    0x2fc12fc1U,
                                    0xf2f52010U,
                                    0x01021994U,
                                    0x858458f6U,
                                    0x794c7630U}) {
    CAPTURE(magic);
    CHECK(shared_file_system(magic).empty());
  }
}

TEST_CASE("local: the parameter shared=no is no part of the directory") {
  const Place place;
  const auto store = open_at(place.url() + "?shared=no");
  REQUIRE(store.has_value());
  CHECK((*store)->where() == place.url());
  const auto odd = open_at(place.url() + "/a%3Fb");
  REQUIRE(odd.has_value());
  CHECK((*odd)->where() == place.url() + "/a%3fb");
}

TEST_CASE("local: a user who may not use another user's locks is told how a group shares them") {
  if (::geteuid() != 0) return;  // only root can become another user
  const Place place;
  REQUIRE(::chmod(place.directory.path().c_str(), 0755) == 0);
  REQUIRE(::mkdir(place.file("own").c_str(), 0700) == 0);
  Client root = place.client();
  root.release(root.take(name_of("a")).hold);

  REQUIRE(::seteuid(65534) == 0);
  const auto own = open_at(place.url() + "/own");
  const auto roots = open_at(place.url());
  const auto new_name = (*roots)->acquire(claim_of(name_of("b")), Queueing::no, soon());
  const auto old_name = (*roots)->acquire(claim_of(name_of("a")), Queueing::no, soon());
  REQUIRE(::seteuid(0) == 0);

  const std::string advice =
      "; several users share the locks of a directory of their group, such as /var/lib/dlock "
      "(group dlock); to make one: install -d -m 2770 -g GROUP DIRECTORY";
  REQUIRE_FALSE(own.has_value());
  CHECK(own.error().code == Errc::denied);
  CHECK(own.error().text == "cannot open the lock directory " + place.file("own") +
                                ": permission denied; it has mode 0700 and belongs to user 0" +
                                advice);
  for (const auto& refused : {new_name, old_name}) {
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == Errc::denied);
    CHECK(refused.error().text.ends_with(advice));
  }
}

TEST_CASE("local: a link of another user in the place of the directory is not followed") {
  if (::geteuid() != 0) return;  // only root can make one
  const Place place;
  const test::TempDir elsewhere;
  const std::string link = place.file("link");
  REQUIRE(::symlink(elsewhere.path().c_str(), link.c_str()) == 0);
  CHECK(open_at("local://" + link).has_value());
  REQUIRE(::lchown(link.c_str(), 65534, 65534) == 0);
  CHECK(open_error("local://" + link) == Errc::denied);
}

}  // namespace dlock::contract
