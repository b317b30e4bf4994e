// SPDX-License-Identifier: MIT
#include "base/secret.hpp"

#include "cmd/url_password.hpp"

#include <doctest/doctest.h>

#include <concepts>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace dlock {

namespace {
template <class T>
concept Printable = requires(std::ostream& out, const T& value) {
  out << value;
};
}  // namespace

TEST_CASE("only reveal() shows a secret") {
  const Secret secret(std::string("hunter2"));
  CHECK(secret.reveal() == "hunter2");
  CHECK_FALSE(secret.empty());
  CHECK(Secret().empty());
}

TEST_CASE(
    "a secret that is kept elsewhere is the newest one, and the last one while there is none") {
  std::optional<std::string> kept = "first";
  const Secret secret("given", [&] { return kept; });
  const Secret copy = secret;
  CHECK(secret.reveal() == "first");
  kept = "second";
  CHECK(secret.reveal() == "second");
  for (const auto& none : {std::optional<std::string>(), std::optional<std::string>("")}) {
    kept = none;
    CHECK(secret.reveal() == "second");
    CHECK_FALSE(secret.empty());
  }
  CHECK(copy.reveal() == "given");
  kept = "third";
  CHECK(copy.reveal() == "third");
}

TEST_CASE("a secret can be neither printed nor turned into a string by accident") {
  static_assert(!Printable<Secret>);
  static_assert(!std::convertible_to<Secret, std::string>);
  static_assert(!std::convertible_to<std::string, Secret>);
  CHECK(Printable<std::string>);
}

TEST_CASE("a URL in an error text shows nothing that may be a password") {
  for (const auto& [url, shown] : std::vector<std::pair<std::string, std::string>>{
           {"bogus", "bogus"},
           {"localhost:6379", "localhost:6379"},
           {"redis://h:6379/one", "redis://h:6379/one"},
           {"redis://h:port", "redis://h:***"},
           {"redis://[::1]:x", "redis://[::1]:***"},
           {"redis+unix:///run/a:b?db=x", "redis+unix:///run/a:b?***"},
           {"redis://user:hunter2", "redis://user:***"},
           {"redis://:hunter2@h:1:2", "redis://***@h:1:2"},
           {"redis://:hunter2/x@h?x=hunter2", "redis://***@h"},
           {"//:hunter2@h", "***@h"},
           {"redis:/:hunter2@h", "***@h"},
           {"redis://u:12345678", "redis://u:***"},
           {"redis://h?x=1", "redis://h?***"},
           {"redis://h/0?password=hunter2", "redis://h/0?***"}}) {
    CAPTURE(url);
    CHECK(shown_url(url) == shown);
  }
  CHECK(shown_url("redis://" + std::string(1000, 'x')).size() < 130);
  CHECK(shown_url("redis://:one@h1  redis://:two") == "redis://***@h1 redis://:***");
}

TEST_CASE("each password in a list of URLs is found, also behind a URL without one") {
  const std::string urls = "redis://h1 redis://u:one@h2\tredis://:t@wo@h3/0";
  const auto found = passwords_in(urls);
  REQUIRE(found.size() == 2);
  CHECK(found[0] == "one");
  CHECK(found[1] == "t@wo");
  CHECK(found[0].data() > urls.data());
  CHECK(passwords_in("redis://h1 mailto:a@b").empty());
}

TEST_CASE("the public part of a URL has no user, password or token") {
  CHECK(public_part("https://ci.example/job/1") == "https://ci.example/job/1");
  CHECK(public_part("https://bot:t0ken@ci.example/job/1?token=x#y") == "https://ci.example/job/1");
  CHECK(public_part("https://ci.example/a@b") == "https://ci.example/a@b");
}

}  // namespace dlock
