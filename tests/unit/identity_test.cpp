// SPDX-License-Identifier: MIT
// The word by which two hosts see whether they share a store.
#include "store/doctor/identity.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "support/temp_dir.hpp"

namespace dlock {

TEST_CASE("identity: the word is the same for the same parts, in whatever order they came") {
  const Identity one{.parts = {{"server", "a"}, {"server", "b"}, {"prefix", ""}}, .unseen = ""};
  const Identity other{.parts = {{"prefix", ""}, {"server", "b"}, {"server", "a"}}, .unseen = ""};
  CHECK(digest_of(one) == digest_of(other));
  CHECK(digest_of(one).size() == 12);
  Identity changed = one;
  changed.parts.back().value = "x";
  CHECK(digest_of(changed) != digest_of(one));
  changed = one;
  changed.parts.pop_back();
  CHECK(digest_of(changed) != digest_of(one));
  const Identity moved{.parts = {{"server", "ab"}, {"server", ""}, {"prefix", ""}}, .unseen = ""};
  CHECK(digest_of(moved) != digest_of(one));
}

TEST_CASE("identity: without a part there is no word") {
  Identity identity{.unseen = ""};
  identity.add("database", "0", "");
  CHECK_FALSE(digest_of(identity).empty());
  identity.add("server", "", "INFO is refused");
  CHECK(digest_of(identity).empty());
  CHECK(identity.unseen == "INFO is refused");
  CHECK(digest_of(Identity{}).empty());
}

TEST_CASE("identity: a file is itself by every path, and no other file") {
  const test::TempDir dir;
  const std::string file = dir.path() + "/file";
  std::ofstream(file) << "x";
  std::ofstream(dir.path() + "/other") << "x";
  REQUIRE(::symlink(dir.path().c_str(), (dir.path() + "/link").c_str()) == 0);
  CHECK(digest_of(identity_of_file(file)) ==
        digest_of(identity_of_file(dir.path() + "/link/file")));
  CHECK(digest_of(identity_of_file(file)) != digest_of(identity_of_file(dir.path() + "/other")));
  CHECK(digest_of(identity_of_file(dir.path() + "/missing")).empty());
}

}  // namespace dlock
