// SPDX-License-Identifier: MIT
#include "store/zookeeper/zk_session.hpp"

#include "store/zookeeper/zk_path.hpp"
#include "sys/wake_up.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "support/has.hpp"
#include "support/zk_sessions.hpp"

namespace dlock {
namespace {

using namespace std::chrono_literals;

using test::ample;
using test::answered;
using test::done;
using test::expired;
using test::failed;
using test::has;
using test::pause;
using test::soon;
using test::there;
using test::zk_session_of;
using test::ZkRequests;
using test::ZookeeperProcess;

// Returns the server for all cases; the first call starts it.
ZookeeperProcess& server() {
  static const auto shared = ZookeeperProcess::create("maxClientCnxns=30");
  CAPTURE((shared ? "" : shared.error().text));
  REQUIRE(shared.has_value());
  return **shared;
}

ZkSession session(Duration timeout = 2s) {
  return zk_session_of(server().url(), timeout);
}

ZkRequest folder(const std::string& path) {
  return {.op = ZkOp::create, .path = path, .node = ZkNode::container};
}
ZkRequest entry(const std::string& path, const std::string& data = "") {
  return {.op = ZkOp::create, .path = path, .data = data, .node = ZkNode::ephemeral_sequential};
}

TEST_CASE("zk: connect, create and look are answered as they were asked, in one run") {
  ZkSession one = session();
  CHECK(one.identity().number == 0);
  CHECK(one.timeout() == 0s);
  const Time before = BootClock::now();
  const auto answers = done(one,
                            {folder("/first"),
                             entry("/first/a-lock-", "who"),
                             {.op = ZkOp::get_children, .path = "/first"},
                             {.op = ZkOp::get_data, .path = "/first/a-lock-0000000000"},
                             {.op = ZkOp::sync, .path = "/first"}});
  CHECK(one.sent_at() > before);
  CHECK(one.sent_at() < BootClock::now());
  REQUIRE(answers.size() == 5);
  CHECK(answers[1].path == "/first/a-lock-0000000000");
  CHECK(answers[1].stat.owner == one.identity().number);
  CHECK(answers[1].stat.czxid == answers[1].zxid);
  CHECK(answers[1].stat.czxid > answers[0].stat.czxid);
  CHECK(answers[2].children == std::vector<std::string>{"a-lock-0000000000"});
  CHECK(answers[2].stat.children == 1);
  CHECK(answers[3].data == "who");
  CHECK(answers[4].path == "/first");
  CHECK(one.timeout() == 2s);
  CHECK(one.connected());

  const auto again = done(one, {folder("/first"), entry("/first/b-lock-")});
  CHECK(again[0].code == ZkCode::node_exists);
  CHECK(again[1].path == "/first/b-lock-0000000001");
  CHECK_FALSE(one.error_in(again).has_value());
}

TEST_CASE("zk: the end of a session is the end of its ephemeral nodes, and it is no session more") {
  ZkSession other = session();
  ZkSession one = session();
  done(one, {folder("/ends"), entry("/ends/x-"), {.op = ZkOp::create, .path = "/ends/stays"}});
  CHECK(there(other, "/ends/x-0000000000"));
  CHECK(done(one, {.op = ZkOp::close_session}).code == ZkCode::ok);
  CHECK_FALSE(one.connected());
  CHECK_FALSE(there(other, "/ends/x-0000000000"));
  CHECK(there(other, "/ends/stays"));
  CHECK(expired(one.run({entry("/ends/y-")}, ample())));
  CHECK(expired(one.reattach({entry("/ends/y-")}, ample())));

  // A release whose answer was lost is repeated by a session of the same identity.
  ZkSession late = zk_session_of(server().url(), 2s, nullptr, one.identity());
  CHECK(expired(late.run({{.op = ZkOp::close_session}}, ample())));
  CHECK(done(other, {.op = ZkOp::get_children, .path = "/ends"}).children.size() == 1);
}

TEST_CASE("zk: versions: a write or delete counts only if nothing was written since") {
  ZkSession one = session();
  const auto answers = done(one,
                            {{.op = ZkOp::create, .path = "/versions", .data = "0"},
                             {.op = ZkOp::set_data, .path = "/versions", .data = "1", .version = 0},
                             {.op = ZkOp::set_data, .path = "/versions", .data = "2", .version = 0},
                             {.op = ZkOp::remove, .path = "/versions", .version = 0},
                             {.op = ZkOp::get_data, .path = "/versions"},
                             {.op = ZkOp::remove, .path = "/versions", .version = 1},
                             {.op = ZkOp::set_data, .path = "/versions", .version = 1},
                             {.op = ZkOp::get_data, .path = "/versions"},
                             {.op = ZkOp::get_children, .path = "/versions"},
                             {.op = ZkOp::remove, .path = "/versions"}});
  CHECK(answers[1].stat.version == 1);
  CHECK(answers[1].stat.mzxid > answers[1].stat.czxid);
  CHECK(answers[2].code == ZkCode::bad_version);
  CHECK(answers[3].code == ZkCode::bad_version);
  CHECK(answers[4].data == "1");
  CHECK(answers[5].code == ZkCode::ok);
  for (std::size_t i = 6; i < answers.size(); ++i)
    CHECK(answers[i].code == ZkCode::no_node);
  done(one, {folder("/full"), entry("/full/x-")});
  CHECK(done(one, {.op = ZkOp::remove, .path = "/full"}).code == ZkCode::not_empty);
}

TEST_CASE("zk: a multi is all or nothing, in one step") {
  ZkSession one = session();
  done(one, {folder("/m1"), folder("/m2")});
  const ZkRequest both{.op = ZkOp::multi, .parts = {entry("/m1/x-"), entry("/m2/x-")}};
  const auto good = done(one, both);
  CHECK(good.code == ZkCode::ok);
  REQUIRE(good.parts.size() == 2);
  CHECK(good.parts[0].path == "/m1/x-0000000000");
  CHECK(good.parts[0].stat.czxid == good.parts[1].stat.czxid);
  CHECK(done(one, {.op = ZkOp::exists, .path = good.parts[1].path}).stat.czxid ==
        good.parts[1].stat.czxid);

  const auto bad = done(one,
                        {.op = ZkOp::multi,
                         .parts = {entry("/m1/y-"),
                                   {.op = ZkOp::check, .path = "/m1/x-0000000000", .version = 5},
                                   {.op = ZkOp::remove, .path = "/m2/x-0000000000"}}});
  CHECK(bad.code == ZkCode::bad_version);
  REQUIRE(bad.parts.size() == 3);
  CHECK(bad.parts[0].code == ZkCode::undone);
  CHECK(bad.parts[2].code == ZkCode::undone);
  CHECK_FALSE(one.error_in({bad}).has_value());
  CHECK(done(one, {.op = ZkOp::get_children, .path = "/m1"}).children.size() == 1);
  CHECK(there(one, "/m2/x-0000000000"));

  const auto more =
      done(one,
           {.op = ZkOp::multi,
            .parts = {{.op = ZkOp::set_data, .path = "/m1/x-0000000000", .data = "h", .version = 0},
                      folder("/m3"),
                      {.op = ZkOp::remove, .path = "/m2/x-0000000000", .version = 0}}});
  CHECK(more.code == ZkCode::ok);
  CHECK(more.parts[0].stat.mzxid == more.parts[1].stat.czxid);
}

TEST_CASE("zk: a session that is quit has no node any more, and a looker takes any time") {
  ZkSession one = session();
  ZkSession other = session(ZkSession::k_any_timeout);
  done(one, {.op = ZkOp::create, .path = "/quit", .node = ZkNode::ephemeral});
  one.quit(ample());
  CHECK(one.is_over());
  bool gone = false;
  for (const Time limit = ample(); !gone && BootClock::now() < limit; pause(10ms))
    gone = !there(other, "/quit");
  CHECK(gone);
  CHECK(other.timeout() == 2s);  // the longest of this server
}

TEST_CASE("zk: re-attaching keeps a session for as long as one likes; else it ends, and says so") {
  ZkSession other = session();
  ZkSession kept = session(600ms);
  ZkSession left = session(600ms);
  CHECK(done(kept, {folder("/keep"), entry("/keep/x-")})[1].path == "/keep/x-0000000000");
  done(left, {entry("/keep/y-")});
  const auto number = kept.identity().number;
  for (int i = 0; i < 6; ++i) {
    pause(250ms);
    const Time before = BootClock::now();
    const auto answers = done(kept.reattach(
        {{.op = ZkOp::set_data, .path = "/keep/x-0000000000", .version = i}}, ample()));
    CHECK(answers[0].code == ZkCode::ok);
    CHECK(kept.sent_at() > before);
  }
  CHECK(kept.identity().number == number);
  CHECK(there(other, "/keep/x-0000000000"));
  CHECK_FALSE(there(other, "/keep/y-0000000001"));
  CHECK(expired(left.run({entry("/keep/z-")}, ample())));
  CHECK_FALSE(left.connected());
  CHECK(expired(left.run({entry("/keep/z-")}, ample())));
  CHECK(done(other, {.op = ZkOp::get_children, .path = "/keep"}).children.size() == 1);
}

TEST_CASE(
    "zk: another process takes a session over by its number, as the password follows from it") {
  ZkSession one = session();
  done(one, {folder("/over"), entry("/over/x-")});
  ZkIdentity guessed = one.identity();
  guessed.password = Secret(std::string(16, 'x'));
  ZkSession stranger = zk_session_of(server().url(), 2s, nullptr, guessed);
  CHECK(expired(stranger.run({{.op = ZkOp::close_session}}, ample())));
  const ZkIdentity known = zk_identity_of(one.identity().number);
  CHECK(known.password.reveal() == one.identity().password.reveal());
  ZkSession heir = zk_session_of(server().url(), 2s, nullptr, known);
  CHECK(there(heir, "/over/x-0000000000"));
  // The newest connection of a session counts: the older one is closed, and reconnects.
  CHECK(one.await_event(ample()).error().code == Errc::unavailable);
  CHECK(there(one, "/over/x-0000000000"));
  CHECK(done(heir, {.op = ZkOp::close_session}).code == ZkCode::ok);
  CHECK(expired(one.run({{.op = ZkOp::exists, .path = "/over"}}, ample())));
}

TEST_CASE("zk: a watched change ends the wait for it") {
  const WakeUp interrupt;
  ZkSession one = zk_session_of(server().url(), 2s, &interrupt);
  ZkSession other = session();
  CHECK(one.await_event(soon()).error().code == Errc::unavailable);
  done(other, {folder("/watch"), {.op = ZkOp::create, .path = "/watch/a"}});
  const ZkRequests look{{.op = ZkOp::exists, .path = "/watch/a", .watch = true},
                        {.op = ZkOp::exists, .path = "/watch/b", .watch = true},
                        {.op = ZkOp::get_children, .path = "/watch", .watch = true}};
  done(one, look);
  const auto none = one.await_event(soon());
  REQUIRE(none.has_value());
  CHECK_FALSE(*none);

  done(other, {.op = ZkOp::remove, .path = "/watch/a"});
  const auto some = one.await_event(ample());
  REQUIRE(some.has_value());
  CHECK(*some);
  // The others come with the next answers.
  done(other, {.op = ZkOp::create, .path = "/watch/b"});
  done(one, {.op = ZkOp::sync, .path = "/"});
  const auto events = one.take_events();
  REQUIRE(events.size() == 3);
  CHECK(events[0].kind == ZkEvent::Kind::deleted);
  CHECK(events[0].path == "/watch/a");
  CHECK(events[1].kind == ZkEvent::Kind::child);
  CHECK(events[2].kind == ZkEvent::Kind::created);
  CHECK(one.take_events().empty());

  interrupt.raise();
  CHECK(one.await_event(ample()).error().code == Errc::cancelled);
  CHECK(one.connected());
  interrupt.clear();
  done(one, {.op = ZkOp::get_data, .path = "/watch/b", .watch = true});
  done(one.reattach({}, ample()));
  done(other, {.op = ZkOp::set_data, .path = "/watch/b", .data = "x"});
  CHECK_FALSE(*one.await_event(soon()));
}

TEST_CASE("zk: with a user only the user changes nodes, and with acl=private only it reads them") {
  const std::string at = "@" + server().host() + "/";
  ZkSession ann = zk_session_of("zookeeper://ann:s3cret" + at);
  ZkSession secret = zk_session_of("zookeeper://ann:s3cret" + at + "?acl=private");
  ZkSession eve = zk_session_of("zookeeper://eve:s3cret" + at);
  ZkSession open = session();
  done(ann, {folder("/anns"), {.op = ZkOp::create, .path = "/anns/x", .data = "1"}});
  done(secret, {{.op = ZkOp::create, .path = "/anns/y", .data = "2"}});
  for (ZkSession* const other : {&eve, &open}) {
    const auto answers = done(*other,
                              {{.op = ZkOp::get_data, .path = "/anns/x"},
                               {.op = ZkOp::set_data, .path = "/anns/x"},
                               {.op = ZkOp::get_data, .path = "/anns/y"},
                               entry("/anns/z-")});
    CHECK(answers[0].data == "1");
    CHECK_FALSE(is_verdict(answers[1].code));
    CHECK_FALSE(is_verdict(answers[2].code));
    CHECK_FALSE(is_verdict(answers[3].code));
    const auto error = other->error_in(answers);
    REQUIRE(error.has_value());
    CHECK(error->code == Errc::denied);
    CHECK(error->text == other->where() + " says: the user has no right to the node (NoAuth)");
  }
  CHECK(done(ann.reattach({{.op = ZkOp::set_data, .path = "/anns/x", .data = "3"},
                           {.op = ZkOp::get_data, .path = "/anns/y"}},
                          ample()))[1]
            .data == "2");
  CHECK_FALSE(has(ann.where(), "s3cret"));
}

TEST_CASE("zk: a server that allows no session of this length is told apart, and nothing stays") {
  ZkSession other = session();
  done(other, {folder("/long")});
  ZkSession one = session(300s);
  const Error error = failed(one, {entry("/long/x-")}, ample());
  CHECK(error.code == Errc::bad_usage);
  CHECK(error.text == one.where() + " allows sessions of at most 2s, not 5m");
  CHECK(done(other, {.op = ZkOp::get_children, .path = "/long"}).children.empty());
  ZkSession brief = session(1ms);
  done(brief.run({}, ample()));
  CHECK(brief.timeout() == 200ms);
}

TEST_CASE("zk: names go to the server as nodes, whatever is in them") {
  ZkSession one = session();
  std::string all;
  for (int byte = 1; byte < 128; ++byte)
    all += static_cast<char>(byte);
  for (const std::string& name : {all,
                                  std::string("."),
                                  std::string(".."),
                                  std::string("%2f"),
                                  std::string("\U0001f512\ue000\ufff0"),
                                  std::string("\xff")}) {
    CAPTURE(name);
    const std::string path = "/" + zk_node_of(name);
    REQUIRE(is_zk_path(path));
    CHECK(done(one, {.op = ZkOp::create, .path = path}).path == path);
    CHECK(done(one, {.op = ZkOp::remove, .path = path}).code == ZkCode::ok);
  }
  for (const char* const path : {"/.", "/\u0080", "/\ue000", "/\uf8ff", "/\ufff0", "/\U0001f512"}) {
    CAPTURE(path);
    CHECK_FALSE(is_zk_path(path));
    const auto answer = done(one, {.op = ZkOp::create, .path = path});
    CHECK(one.error_in({answer})->code == Errc::refused);
  }
}

TEST_CASE("zk: a limit and an interrupt end a run, and the session goes on") {
  const WakeUp interrupt;
  ZkSession one = zk_session_of(server().url(), 2s, &interrupt);
  done(one, {folder("/limit"), entry("/limit/x-")});
  const auto number = one.identity().number;
  {
    const test::Frozen frozen(server());
    const Error late = failed(one, {{.op = ZkOp::exists, .path = "/"}}, soon());
    CHECK(late.code == Errc::timed_out);
    CHECK(has(late.text, "no answer from " + one.where() + " within "));
    CHECK_FALSE(one.connected());
    const Error mute = failed(one, {{.op = ZkOp::exists, .path = "/"}}, soon());
    CHECK(mute.code == Errc::timed_out);

    std::thread raiser([&] {
      pause(50ms);
      interrupt.raise();
    });
    const Error ended = failed(one, {{.op = ZkOp::exists, .path = "/"}}, ample());
    raiser.join();
    CHECK(ended.code == Errc::cancelled);
    CHECK(ended.text == "stopped waiting for " + one.where());
  }
  interrupt.clear();
  // The server may read what was asked while it was frozen after what is asked now.
  answered(one, {.op = ZkOp::exists, .path = "/limit"});
  CHECK(there(one, "/limit/x-0000000000"));
  CHECK(one.identity().number == number);
}

TEST_CASE("zk: more connections than a host may have are cut off, and the text says why") {
  std::vector<ZkSession> all;
  for (int i = 0; i < 40; ++i)
    all.push_back(session());
  std::string text;
  for (ZkSession& one : all) {
    const auto answers = one.run({}, ample());
    if (!answers) CHECK(answers.error().code == Errc::unavailable);
    if (!answers) text = answers.error().text;
  }
  CAPTURE(text);
  CHECK(has(text, all.front().where() + ": "));
  CHECK(has(text, " before its answer (not serving, or more than maxClientCnxns connections"));
}

TEST_CASE("zk: a session outlives a crash of its server") {
  ZkSession one = session();
  answered(one, {.op = ZkOp::exists, .path = "/"});  // those above are going
  const auto made = done(one, {folder("/crash"), entry("/crash/x-")});
  CHECK(made[1].code == ZkCode::ok);
  server().kill();
  CHECK(failed(one, {entry("/crash/y-")}, ample()).code == Errc::not_listening);
  CHECK(failed(one, {entry("/crash/y-")}, ample()).text ==
        "cannot reach " + one.where() + ": connection refused");
  REQUIRE(server().start().has_value());
  const auto answers = done(one, {{.op = ZkOp::set_data, .path = made[1].path, .version = 0}});
  CHECK(answers[0].code == ZkCode::ok);
  CHECK(answers[0].stat.mzxid > made[1].stat.czxid);
}

}  // namespace
}  // namespace dlock
