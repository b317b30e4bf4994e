// SPDX-License-Identifier: MIT
// The newest run that reported its end when it released the name.
#include "contract/lock_store_contract.hpp"

namespace dlock::contract {

namespace {

RunEnd ended(int status, Duration keep = 1h) {
  return {.outcome = "child", .exit_status = status, .waited = 3s, .keep = keep};
}

std::optional<LastRun> last_of(Client& client, const LockName& name) {
  return client.inspect(name).last;
}

}  // namespace

TEST_CASE("last run: a release notes who ran, from when to when, and how it ended") {
  each_store([](const Backing& backing) {
    Client client(backing);
    Client other(backing);
    const LockName name = fresh_name();
    const Hold hold = client.take(name).hold;
    CHECK_FALSE(last_of(other, name).has_value());
    CHECK(client.release(hold, {.end = ended(7)}) == ReleaseVerdict::released);
    const auto last = last_of(other, name);
    REQUIRE(last.has_value());
    CHECK(last->who.host == "db1");
    CHECK(last->who.user == "alice");
    CHECK(last->who.command == "./job.sh --all");
    CHECK(last->who.reason == "CI 7");
    CHECK(last->token == hold.token);
    CHECK(last->since_ms == hold.since_ms);
    CHECK(last->ended_ms >= hold.since_ms - 2);
    CHECK(last->ended_ms < hold.since_ms + 20000);
    CHECK(last->outcome == "child");
    CHECK(last->exit_status == 7);
    CHECK_FALSE(last->signal.has_value());
    CHECK(last->waited == 3s);
    CHECK_FALSE(last->later_is_silent);
    CHECK(is_free(other, name));
  });
}

TEST_CASE("last run: it is shown while the next run holds the name, and then replaced") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    client.release(client.take(name).hold, {.end = ended(1)});
    RunEnd end{.outcome = "lost", .signal = 9, .keep = 1h};
    const Hold hold = client.take(name).hold;
    CHECK(last_of(client, name).value().exit_status == 1);
    CHECK_FALSE(last_of(client, name).value().later_is_silent);
    client.release(hold, {.end = end});
    const LastRun last = last_of(client, name).value();
    CHECK(last.token == hold.token);
    CHECK(last.outcome == "lost");
    CHECK(last.signal == 9);
    CHECK_FALSE(last.exit_status.has_value());
    CHECK_FALSE(last.waited.has_value());
  });
}

TEST_CASE("last run: a release without an end leaves it, and one of a nested hold too") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Hold outer = client.take(name).hold;
    const Hold inner = client.take(claim_below(outer)).hold;
    CHECK(client.release(inner, {.end = ended(1)}) == ReleaseVerdict::still_held);
    CHECK_FALSE(last_of(client, name).has_value());
    client.release(outer, {.end = ended(2)});
    CHECK(client.release(outer, {.end = ended(3)}) == ReleaseVerdict::not_held);
    CHECK(last_of(client, name).value().exit_status == 2);
  });
}

TEST_CASE("last run: it is forgotten after its time") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    client.release(client.take(name).hold, {.end = ended(0, 1s)});
    CHECK(eventually([&] { return !last_of(client, name).has_value(); }));
  });
}

TEST_CASE("last run: a later run that died without a release is told from one that ended") {
  each_store([](const Backing& backing) {
    // There a token is the number of a write, and that of a dead run is not known any more.
    if (backing.name == "etcd" || backing.name == "zookeeper") return;
    Client client(backing);
    const LockName name = fresh_name();
    client.release(client.take(name).hold, {.end = ended(0)});
    client.take(name, 1s);
    CHECK_FALSE(last_of(client, name).value().later_is_silent);
    CHECK(eventually([&] { return is_free(client, name); }));
    const LastRun last = last_of(client, name).value();
    CHECK(last.later_is_silent);
    CHECK(last.exit_status == 0);
    client.release(client.take(name).hold, {.end = ended(5)});
    CHECK_FALSE(last_of(client, name).value().later_is_silent);
  });
}

TEST_CASE("last run: readers end in any order, and none of them is silent") {
  each_store([](const Backing& backing) {
    Client client(backing);
    Client other(backing);
    const LockName name = fresh_name();
    const Hold first = client.take(reader(name)).hold;
    const Hold second = other.take(reader(name)).hold;
    other.release(second, {.end = ended(2)});
    CHECK(last_of(client, name).value().exit_status == 2);
    client.release(first, {.end = ended(1)});
    const LastRun last = last_of(client, name).value();
    CHECK(last.exit_status == 1);
    CHECK_FALSE(last.later_is_silent);
  });
}

TEST_CASE("last run: with --min-hold, and of several names each") {
  each_store_with(&StoreTraits::keep, [](const Backing& backing) {
    Client client(backing);
    const LockName kept = fresh_name();
    client.release(client.take(kept).hold, {.keep = 1h, .end = ended(4)});
    const LastRun last = last_of(client, kept).value();
    CHECK(last.exit_status == 4);
    CHECK_FALSE(last.later_is_silent);
    const LockName a = fresh_name("{last}a");
    const LockName b = fresh_name("{last}b");
    client.release(client.take(claim_of({a, b})).holds, {.end = ended(6)});
    CHECK(last_of(client, a).value().exit_status == 6);
    CHECK(last_of(client, b).value().exit_status == 6);
  });
}

}  // namespace dlock::contract
