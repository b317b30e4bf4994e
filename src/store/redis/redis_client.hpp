// SPDX-License-Identifier: MIT
// RedisClient: questions to one Redis server and their answers, one at a time. It connects when
// necessary, to the server that its Route names; AUTH, SELECT and the first question then travel in
// one write.
//
// A second RedisClient may be its subscriber: subscribed to channels, among them the one on which
// the server reports changes of keys that the first client has read (track()).
//
// It promises: a call ends at its limit, name lookup and connect included. After any error on the
// way (also a limit or an interrupt) the connection is dropped, so a late answer never meets the
// next question. It does not resend: the caller has to find out whether a failed call took place.
// Only an idle connection that the server closed is replaced before the write, and a question that
// was refused because the key is elsewhere (MOVED) goes there, with a new sent_at.
//
// Error answers become Errc::denied (password, ACL), unavailable (not now), bad_usage (keys in
// several slots of a cluster) or refused (the rest).
// Every text names the server and never a password.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "store/other_server.hpp"
#include "store/redis/command_bytes.hpp"
#include "store/redis/redis_url.hpp"
#include "store/redis/reply_reader.hpp"
#include "store/redis/route.hpp"
#include "sys/interrupt.hpp"
#include "sys/transport.hpp"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

// A Lua script, and its variant for clusters, which has one key more; see EmbedLua.cmake.
struct ScriptText {
  std::string_view sha1;
  std::string_view text;
};
struct Script {
  ScriptText server;
  ScriptText cluster;
};

struct Answer {
  Reply reply;   // never an error itself; an array may contain some
  Time sent_at;  // read before the first byte of the write that carried the question
  // Set by run(): how many replicas had the script's writes by then; nothing: they were not
  // counted.
  std::optional<int> copies = {};
};

class RedisClient {
 public:
  // `interrupt` may be null and must outlive us.
  RedisClient(const RedisAddress& address, const Interrupt* interrupt);
  // `first` is the server that texts name until the route is asked.
  RedisClient(std::shared_ptr<Route> route, RedisAddress first, const Interrupt* interrupt);

  // A client with the same route, not connected yet.
  RedisClient another() const;

  // Connects, if necessary, to a server for this key. The greetings go with the next question.
  Result<void> reach(std::string_view key, Time limit);

  Result<Answer> call(const Words& words, Time limit);

  // Runs the script at the server of the first key: by its SHA1; if the server does not know it,
  // once more with its text and a new sent_at. If `replicas` is not 0, WAIT for that many follows
  // in the same write; see Answer::copies.
  Result<Answer> run(
      const Script& script, const Words& keys, const Words& args, Time limit, int replicas = 0);

  // Sends WAIT again. Errc::unavailable if the connection of the newest run() is gone: on another
  // connection WAIT says nothing about it.
  Result<int> count_copies(int replicas, Time limit);

  // At the server of `key`. From its return on no message is missed. The connection is then for
  // messages only. If it `tracks`, k_changes is another channel, and the server's number for the
  // connection is given (CLIENT ID, another round trip), else 0.
  Result<long long> subscribe(std::string_view key, const Words& channels, bool tracks, Time limit);
  bool subscribed() const { return subscribed_; }

  // The messages published so far; waits for the first. Nothing: `until` has passed, or one of
  // `beside` is no longer idle(). After an error the subscription is gone, except after
  // Errc::cancelled.
  using Others = std::array<RedisClient*, 2>;  // null: none
  Result<std::vector<Reply>> await_messages(Time until, const Others& beside = {});

  // Key tracking: from now on connection `listener` gets a message on k_changes when another client
  // changes a key that was read here; one message for each read. A reconnect tracks again. If there
  // is no connection, it connects to the server of `key`, where the listener has to be, too.
  // https://redis.io/docs/latest/develop/reference/client-side-caching/
  Result<void> track(std::string_view key, long long listener, Time limit);
  static constexpr std::string_view k_changes = "__redis__:invalidate";

  // How many replicas must have a grant or a renewal by default: 1 if the server has a replica,
  // connected or not. While no replica is connected, the server is asked each time (ROLE, in a
  // cluster CLUSTER NODES): a replica may have come, and a frozen owner has lost its replicas and
  // must not grant alone. Errc::unavailable if the connection of the newest answer is gone.
  Result<int> replicas(Time limit);
  // As replicas(), but without a question: 0 if unknown.
  int likely_replicas() const { return replicas_online_ > 0 ? 1 : route_->replicas(); }

  bool connected() const { return transport_.has_value(); }
  // Connected, and nothing has come since the last answer, not even an end.
  bool idle() { return transport_ && reader_.empty() && transport_->idle(); }
  void disconnect();
  const std::string& where() const { return address_.text; }
  // How long the server of the newest connection has been running at least, if its address
  // asks_uptime, else 0. The server counts whole seconds (INFO server).
  const std::string& run_id() const { return run_id_; }  // the process's id; empty: unknown
  Duration uptime() const { return started_ ? BootClock::now() - *started_ : Duration::zero(); }
  // A client of another server, with the same interrupt.
  RedisClient client_of(const RedisAddress& server) const;
  const RedisAddress& address() const { return address_; }  // of the newest connection

 private:
  static constexpr int k_most_moves = 5;  // for one question
  Result<Answer> run_text(
      const ScriptText& script, const Words& keys, const Words& args, Time limit, int replicas);
  // Asks the server of `key`; empty: any server. The reply may be an error. `replicas` as in run().
  Result<Answer> ask(const Words& words, std::string_view key, Time limit, int replicas = 0);
  // Asks the connected server, which may be the wrong one.
  Result<Answer> ask_here(const Words& words, std::string_view key, Time limit, int replicas);
  Result<std::optional<long long>> subscribe_here(std::string_view key,
                                                  const Words& channels,
                                                  bool tracks,
                                                  Time limit);
  Result<bool> subscribe_to(std::string_view verb, const Words& channels, Time limit);
  Result<Answer> checked(Result<Answer> answer);  // an error reply becomes an Error
  Result<void> connect(std::string_view key, Time limit);
  std::string greetings() const;
  Result<void> read_greetings(Time started, Time limit);
  Result<Reply> read_good(Time started, Time limit);
  Result<void> take_role(const Reply& role);
  Result<void> send_more(const std::string& bytes, Time started, Time limit);
  Result<Reply> ask_more(const Words& words, Time limit);
  Result<void> take_messages(std::vector<Reply>& messages, Time started, Time limit);
  Result<Reply> read_reply(Time started, Time limit);
  Result<int> read_copies(Time started, Time limit);
  Error unreachable(const Error& error) const;
  Error unanswered(const Error& reason, Time started, Time limit);
  std::string what_listens(const Error& error, Time limit);
  Error unsent(const Error& error, Time started, Time limit);
  Error refusal(std::string_view text);
  Error refused_auth(std::string_view text);
  bool wants_auth() const { return !address_.user.empty() || !address_.password.empty(); }
  bool wants_select() const { return address_.db != 0; }
  bool asks_role() const { return address_.must_be_master || address_.counts_replicas; }

  std::shared_ptr<Route> route_;
  RedisAddress address_;  // of this connection, or the newest one
  const Interrupt* interrupt_;
  std::optional<Transport> transport_;
  std::string passed_over_;  // FailedServers::before() this connection
  ReplyReader reader_;
  bool greeted_ = false;  // the connection has had its greetings
  bool subscribed_ = false;
  int replicas_online_ = 0;        // of the server that was asked for its role
  bool role_is_fresh_ = false;     // the role was asked together with the newest question
  std::string run_id_;             // as below
  std::optional<Time> started_;    // when the server started, at the latest
  long long listener_ = 0;         // 0: no key is tracked
  bool greeting_refused_ = false;  // the last AUTH or SELECT was refused
  bool has_answered_ = false;      // at least once
  HangUps hang_ups_;               // before that
};

}  // namespace dlock
