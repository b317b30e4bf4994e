// SPDX-License-Identifier: MIT
#include "base/text.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "contract/lock_store_contract.hpp"

namespace dlock::contract {

namespace {

std::vector<std::string> awkward_names() {
  return {"{a}b",
          "a{b",
          "a}b",
          "a{}b",
          " ",
          "two words",
          "größe-ω-日本",
          "*?[x]",
          "[",
          "\\",
          "../../x",
          "..",
          ".",
          "/etc/passwd",
          "a/b",
          "a%2fb",
          "a%2Fb",
          "a.lock",
          "a.json",
          "a",
          "A",
          "-",
          "\x01\x1b[2J",
          "\xff\xfe",
          "\xc3",
          "\xef\xbf\xbd",
          "\"quoted\"",
          "tab\there",
          std::string(512, 'x'),
          std::string(511, 'x') + "y",
          std::string(512, '/'),
          std::string(511, '/') + "."};
}

// Returns short words over an alphabet in which a careless encoding would make two words equal.
std::vector<std::string> random_names(unsigned seed, int count) {
  std::mt19937 random(seed);
  constexpr std::string_view k_letters = "aA%2f/.{}~:_-\xc3\xa4";
  std::set<std::string> names;
  while (static_cast<int>(names.size()) < count) {
    std::string name;
    for (auto left = 1 + random() % 6; left > 0; --left) {
      name += k_letters[random() % k_letters.size()];
    }
    if (random() % 8 == 0) name.insert(0, 300 + random() % 3, '/');
    names.insert("r" + name);
  }
  return {names.begin(), names.end()};
}

// Returns whether the store refuses the name because it cannot keep it (databases: names that are
// not UTF-8). The claim is then not sent.
bool is_refused(Client& client, const std::string& text) {
  const auto key = client.store().key_of(name_of(text));
  if (!key) CHECK(key.error().code == Errc::bad_usage);
  return !key;
}

}  // namespace

TEST_CASE("K14: every name can be acquired, inspected, listed and released") {
  each_store([](const Backing& backing) {
    Client client(backing);
    for (const std::string& text : awkward_names()) {
      CAPTURE(printable(text));
      if (is_refused(client, text)) continue;
      const LockName name = name_of(text);
      const Taken grant = client.take(name);
      client.must_be_busy(claim_of(name));
      CHECK(client.inspect(name).kind == Holding::Kind::lock);
      const auto names = client.list("*");
      CHECK(std::find(names.begin(), names.end(), text) != names.end());
      CHECK(client.store().key_of(name).has_value());
      CHECK(client.release(grant.hold) == ReleaseVerdict::released);
    }
  });
}

TEST_CASE("K14: two different names never exclude each other") {
  each_store([](const Backing& backing) {
    Client client(backing);
    std::vector<std::string> texts = awkward_names();
    for (std::string& name : random_names(20260101, 200))
      texts.push_back(std::move(name));
    std::vector<Hold> holds;
    for (const std::string& text : texts) {
      CAPTURE(printable(text));
      if (is_refused(client, text)) continue;
      holds.push_back(client.take(name_of(text), 10min).hold);  // all are held at once
    }
    for (const Hold& hold : holds)
      CHECK(client.release(hold) == ReleaseVerdict::released);
  });
}

TEST_CASE("the list has the held locks that match the pattern, in order") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const std::string base = fresh_name("list").text() + ":";
    const Hold gone = client.take(name_of(base + "gone")).hold;
    for (const char* end : {"b", "a1", "a2", "a/3", "[x]"})
      client.take(name_of(base + end));
    CHECK(client.release(gone) == ReleaseVerdict::released);
    using Names = std::vector<std::string>;
    CHECK(client.list(base + "*") ==
          Names{base + "[x]", base + "a/3", base + "a1", base + "a2", base + "b"});
    CHECK(client.list(base + "a?") == Names{base + "a1", base + "a2"});
    CHECK(client.list(base + "a*") == Names{base + "a/3", base + "a1", base + "a2"});
    CHECK(client.list(base + "[ab]") == Names{base + "b"});
    CHECK(client.list(base + "\\[x]") == Names{base + "[x]"});
    CHECK(client.list(base + "b") == Names{base + "b"});
    CHECK(client.list(base).empty());
  });
}

TEST_CASE("the list has each lock once, in whatever mode, and no metadata key") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const std::string base = fresh_name("list").text() + ":";
    std::vector<std::string> held;
    for (const char* end : {"a", "{b}c", "d{}", "e}"}) {
      for (const Mode mode : {Mode::plain, Mode::exclusive, Mode::shared, Mode::slots}) {
        if (mode == Mode::slots && !has_slots(backing)) continue;
        held.push_back(base + end + std::to_string(static_cast<int>(mode)));
        Claim claim = claim_as(mode, name_of(held.back()));
        if (mode == Mode::slots) claim.slots = 2;
        const Hold hold = client.take(claim).hold;
        client.take(below(hold, claim));
      }
      const Hold done = client.take(name_of(base + end + "done")).hold;
      CHECK(client.release(done, {.tell_for = 1h}) == ReleaseVerdict::released);
      if (!client.store().traits().keep) continue;
      held.push_back(base + end + "kept");
      const Hold kept = client.take(name_of(held.back())).hold;
      CHECK(client.release(kept, {.keep = 60s}) == ReleaseVerdict::released);
    }
    std::sort(held.begin(), held.end());
    const auto listed = client.list(base + "*");
    for (std::size_t i = 0; i < std::min(listed.size(), held.size()); ++i)
      CHECK(listed[i] == held[i]);
    CHECK(listed.size() == held.size());
    const auto all = client.list("*");
    CHECK(std::count_if(all.begin(), all.end(), [&](const std::string& name) {
            return name.find(base) != std::string::npos;
          }) == static_cast<long>(held.size()));
  });
}

TEST_CASE("a store gives its address in one line and without a password") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const std::string where = client.store().where();
    CHECK_FALSE(where.empty());
    CHECK(where == printable(where));
    Client another(backing);
    CHECK(another.store().where() == where);
  });
}

}  // namespace dlock::contract
