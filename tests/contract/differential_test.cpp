// SPDX-License-Identifier: MIT
// The same random calls to two stores, whose answers have to be equal: Redis, where scripts have
// the rules of a lock, and the memory store, where lease_table has them. After each call every name
// is inspected in both.
//
// No answer depends on how fast the machine is: the game advances time in steps of ten seconds, and
// whatever ends does so five seconds beside a step.
//
// DLOCK_DIFFERENTIAL="SEED [GAMES]" plays other games; a failure prints its seed and its calls.
// Not played: the line, which a table store does not have, and what only Redisson or another
// program does; ./dev scripts plays these.
#include "store/undo.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "contract/answer_text.hpp"
#include "contract/lock_store_contract.hpp"
#include "contract/twin_stores.hpp"

namespace dlock::contract {

namespace {

constexpr std::array<const char*, 3> k_names{"a", "b", "c"};
constexpr Duration k_step = 10s;
constexpr Duration k_longest_lease = 35s;
constexpr int k_calls = 60;  // of a game

// A run that claims, and what it got.
struct Run {
  Claim claim;                 // the keys of its ancestors are names
  std::array<Holds, 2> holds;  // as each store granted them, tokens and all
  const Holds& held() const { return holds[0]; }
};

class Game {
 public:
  Game(std::array<Twin, 2>& twins, unsigned seed) : twins_(twins), random_(seed), seed_(seed) {
    for (Twin& twin : twins_)
      twin.restart();
    set_time(0s);
  }

  void play() {
    for (int i = 0; i < k_calls; ++i) {
      step();
      for (const char* name : k_names)
        look(name);
    }
  }

  std::size_t grants = 0;
  std::size_t refusals = 0;
  std::size_t losses = 0;

 private:
  using Call = std::function<std::string(std::size_t)>;  // of the store of this number

  void step() {
    switch (random_() % 16) {
      case 0:
      case 1:
        return advance();
      case 2:
      case 3:
      case 4:
        return renew();
      case 5:
        return check();
      case 6:
      case 7:
      case 8:
        return release();
      case 9:
        return random_() % 2 == 0 ? undo() : claim_again();
      case 10:
        return revoke();
      case 11:
        return random_() % 3 == 0 ? list() : forget();
      default:
        return claim();
    }
  }

  template <class T>
  const T& any_of(const std::vector<T>& all) {
    return all[random_() % all.size()];
  }

  // One of the newest, mostly: the others have ended long ago.
  Run* any_run(bool granted) {
    constexpr std::size_t k_newest = 4;
    std::vector<Run*> some;
    for (Run& run : runs_) {
      if (!granted || !run.held().empty()) some.push_back(&run);
    }
    if (some.size() > k_newest && random_() % 4 != 0)
      some.erase(some.begin(), some.end() - k_newest);
    return some.empty() ? nullptr : any_of(some);
  }

  // --- calls ------------------------------------------------------------------------------------

  void claim() {
    runs_.push_back({.claim = some_claim(), .holds = {}});
    acquire(runs_.back());
  }

  void claim_again() {
    if (Run* run = any_run(false)) acquire(*run);
  }

  void acquire(Run& run) {
    const std::string answer = ask("acquire " + words_of(run.claim), [&](std::size_t i) {
      auto reply = twins_[i].store->acquire(twins_[i].own(run.claim), Queueing::no, soon());
      if (reply && std::holds_alternative<Grant>(*reply))
        run.holds[i] = std::get<Grant>(*reply).holds;
      return texts_[i].of(reply, run.claim.names);
    });
    if (answer.starts_with("granted")) ++grants;
    if (answer.starts_with("refused")) ++refusals;
  }

  void renew() {
    const Run* run = any_run(true);
    if (run != nullptr && !others_answer_for(*run)) renew(*run);
  }

  bool renew(const Run& run) {
    const std::string answer = ask("renew" + words_of(run.held()), [&](std::size_t i) {
      return texts_[i].of(twins_[i].store->renew(run.holds[i], soon()), names_of(run.held()));
    });
    if (answer.starts_with("lost")) ++losses;
    return answer == "renewed";
  }

  void check() {
    const Run* run = any_run(true);
    if (run == nullptr || others_answer_for(*run)) return;
    ask("check" + words_of(run->held()), [&](std::size_t i) {
      return texts_[i].of(twins_[i].store->check(run->holds[i], soon()), names_of(run->held()));
    });
  }

  void release() {
    const Run* run = any_run(true);
    if (run == nullptr || !readers_go_on(run->held())) return;
    const ReleaseOptions options{.keep = any_of<Duration>({0s, 0s, 15s, 35s}),
                                 .tell_for = any_of<Duration>({0s, 25s, 55s})};
    const std::string words = "release" + words_of(run->held()) + " keep " +
                              std::to_string(to_ms(options.keep)) + " tell " +
                              std::to_string(to_ms(options.tell_for));
    ask(words, [&](std::size_t i) {
      return texts_[i].of(twins_[i].store->release(run->holds[i], options, soon()));
    });
  }

  void undo() {
    const Run* run = any_run(false);
    if (run == nullptr || !readers_go_on(run->held())) return;
    ask("undo " + words_of(run->claim), [&](std::size_t i) {
      const Claim claim = twins_[i].own(run->claim);
      return texts_[i].of(dlock::undo(*twins_[i].store, claim, Queueing::no, soon()));
    });
  }

  // Of everybody, or of the owner or the token of a hold.
  void revoke() {
    const Run* run = random_() % 3 == 0 ? nullptr : any_run(true);
    const std::size_t which = run == nullptr ? 0 : random_() % run->held().size();
    const LockName name = run == nullptr ? some_name() : run->held()[which].name;
    const bool now = random_() % 3 == 0;
    const bool by_token = random_() % 2 == 0;
    std::string words = "revoke " + name.text() + (now ? " now" : "");
    if (run != nullptr) {
      words += std::string(by_token ? " the token" : " the owner") + " of" +
               words_of({run->held()[which]});
    }
    ask(words, [&](std::size_t i) {
      RevokeOrder revocation = order(now);
      const Hold* hold = run == nullptr ? nullptr : &run->holds[i][which];
      if (hold != nullptr && by_token) revocation.if_token = hold->token;
      if (hold != nullptr && !by_token) revocation.if_owner = hold->owner;
      return texts_[i].of(twins_[i].store->revoke(name, revocation, soon()), std::vector{name});
    });
  }

  void forget() {
    const LockName name = some_name();
    ask("forget " + name.text(),
        [&](std::size_t i) { return texts_[i].of(twins_[i].store->forget(name, soon())); });
  }

  void list() {
    const std::string glob = any_of<std::string>({"*", "[ab]", "c"});
    ask("list " + glob,
        [&](std::size_t i) { return texts_[i].of(twins_[i].store->list(glob, soon())); });
  }

  void advance() {
    time_ += k_step * any_of<int>({1, 1, 1, 2, 4});
    transcript_ << "  at " << to_ms(time_) / 1000 << " s\n";
    set_time(time_);
  }

  void set_time(Duration time) {
    synced_ = BootClock::now();
    for (Twin& twin : twins_)
      twin.set_time(time);
  }

  // --- what to claim ----------------------------------------------------------------------------

  LockName some_name() { return name_of(k_names.at(random_() % k_names.size())); }

  std::vector<LockName> some_names() {
    std::vector<std::string> names(k_names.begin(), k_names.end());
    std::shuffle(names.begin(), names.end(), random_);
    const std::size_t count = any_of<std::size_t>({1, 1, 1, 1, 2, 3});
    std::vector<LockName> some;
    for (std::size_t i = 0; i < count; ++i)
      some.push_back(name_of(names[i]));
    return some;
  }

  Claim some_claim() {
    const std::string number = std::to_string(runs_.size() + 1);
    const bool by_acquire = random_() % 3 == 0;
    Claim claim{
        .names = some_names(),
        .owner = "o" + number + ":1",
        .serial = by_acquire ? "a" + std::string(16 - number.size(), '0') + number : "s" + number,
        .ttl = any_of<Duration>({5s, 15s, 25s, k_longest_lease}),
        .renewed = false,  // else a check of Redis sets a lease that was cut short
        .who = some_holder(),
        .ancestors = {},
        .mode = any_of<Mode>({Mode::plain, Mode::exclusive, Mode::shared, Mode::slots}),
        .once_per = any_of<Duration>({0s, 0s, 15s, 45s})};
    if (claim.mode == Mode::slots) claim.slots = any_of<std::uint32_t>({2, 2, 2, 3});
    if (random_() % 2 == 0) {
      if (const Run* above = any_run(true)) go_below(*above, claim);
    }
    return claim;
  }

  void go_below(const Run& above, Claim& claim) {
    claim.ancestors = above.claim.ancestors;
    claim.relies_on = above.claim.relies_on;
    for (const Hold& hold : above.held()) {
      claim.ancestors.push_back(ancestor_of(hold));
      const bool relies = is_of_acquire(hold.serial) && random_() % 4 != 0;
      if (relies) claim.relies_on.push_back(hold_id(hold.owner, hold.serial));
    }
    if (claim.mode == Mode::shared) claim.ttl = k_longest_lease;
  }

  // --- what is left to the store ----------------------------------------------------------------

  // A reader may go on with its own lease after the release of the write hold above it (Redis), or
  // with the longer of both. They agree if the reader was just renewed. False: it cannot be.
  bool readers_go_on(const Holds& released) {
    for (const Hold& hold : released) {
      const auto reads_below = [&](const Hold& other) {
        return other.name == hold.name && other.owner == hold.owner && other.mode == Mode::shared &&
               look_for(other).record;
      };
      for (const Run& run : runs_) {
        if (hold.mode != Mode::exclusive) continue;
        const bool reads = std::any_of(run.held().begin(), run.held().end(), reads_below);
        if (reads && (others_answer_for(run) || !renew(run))) return false;
      }
    }
    return true;
  }

  // Of a hold that is gone, while its owner has others: these may answer for it.
  bool others_answer_for(const Run& run) {
    return std::any_of(run.held().begin(), run.held().end(), [&](const Hold& hold) {
      const Found found = look_for(hold);
      return found.owner && !found.record;
    });
  }

  struct Found {
    bool owner = false;
    bool record = false;
  };
  Found look_for(const Hold& hold) {
    const auto holding = twins_[0].store->inspect(hold.name, soon());
    Found found;
    for (const Holding::Owner& one : holding->owners)
      found.owner |= one.id == hold.owner;
    for (const HoldRecord& one : holding->holds)
      found.record |= one.id == hold_id(hold.owner, hold.serial);
    return found;
  }

  // --- answers ----------------------------------------------------------------------------------

  std::string ask(const std::string& words, const Call& call) {
    if (BootClock::now() - synced_ > 1s) set_time(time_);  // a slow machine
    transcript_ << words << '\n';
    const std::array<std::string, 2> answers{call(0), call(1)};
    transcript_ << "    " << answers[0] << '\n';
    compare(answers);
    return answers[0];
  }

  void look(const char* name) {
    const auto inspected = [&](std::size_t i) {
      return texts_[i].of(twins_[i].store->inspect(name_of(name), soon()),
                          std::vector{name_of(name)});
    };
    const std::array<std::string, 2> answers{inspected(0), inspected(1)};
    if (answers[0] != answers[1]) transcript_ << "inspect " << name << "\n    " << answers[0];
    compare(answers);
  }

  void compare(const std::array<std::string, 2>& answers) {
    if (answers[0] == answers[1]) return;
    FAIL("two stores differ in seed ",
         seed_,
         ", the last answer was\n  ",
         twins_[0].name,
         ": ",
         answers[0],
         "\n  ",
         twins_[1].name,
         ": ",
         answers[1],
         "\nafter\n",
         transcript_.str());
  }

  std::array<Twin, 2>& twins_;
  std::array<AnswerText, 2> texts_;
  std::mt19937 random_;
  unsigned seed_;
  std::vector<Run> runs_;
  Duration time_{};
  Time synced_;  // when both stores showed time_
  std::ostringstream transcript_;
};

}  // namespace

TEST_CASE("differential: random calls have the same answers in Redis and in a table store") {
  unsigned seed = 1;
  unsigned games = 100;
  if (const char* given = std::getenv("DLOCK_DIFFERENTIAL"))
    std::istringstream(given) >> seed >> games;
  auto twins = twin_stores();
  std::size_t grants = 0;
  std::size_t refusals = 0;
  std::size_t losses = 0;
  for (unsigned i = 0; i < games; ++i) {
    Game game(twins, seed + i);
    game.play();
    grants += game.grants;
    refusals += game.refusals;
    losses += game.losses;
  }
  CHECK(grants > games);
  CHECK(refusals > games);
  CHECK(losses > games / 4);
}

}  // namespace dlock::contract
