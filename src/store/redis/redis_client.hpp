// SPDX-License-Identifier: MIT
// RedisClient: sends questions to one Redis server and receives the answers, one at a time. It
// connects when necessary, to the server that its Route names. On a new connection the commands
// AUTH and SELECT and the first question are sent in one write.
//
// A second RedisClient may be subscribed to channels. On one of them, k_changes, the server reports
// changes of the keys that the first client has read (track()).
//
// It promises that a call ends at its limit, which includes name lookup and connecting. After any
// error on the way (also a limit or an interrupt) it drops the connection, so a late answer is
// never taken for the answer to the next question. It does not repeat a question: the caller must
// find out whether a failed call was carried out. There are two exceptions. An idle connection that
// the server has closed is replaced before the question is sent. And a question that was refused
// because another server has the key (MOVED) is sent to that server, with a new sent_at.
//
// An error reply becomes Errc::denied (password, ACL), unavailable (not now), bad_usage (keys in
// different slots of a cluster) or refused (all others). Every error text names the server, and no
// text has a password.
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

struct ScriptText {
  std::string_view sha1;
  std::string_view text;
};
// A Lua script. Its variant for clusters takes one key more (EmbedLua.cmake).
struct Script {
  ScriptText server;
  ScriptText cluster;
};

struct Answer {
  Reply reply;   // never an error reply itself, but an array may contain one
  Time sent_at;  // a time before the first byte of the question was written
  // Set by run(): how many replicas had the script's writes when WAIT answered; nullopt: no WAIT.
  std::optional<int> copies = {};
};

class RedisClient {
 public:
  // `interrupt` ends calls; it may be null, and must live longer than this client.
  RedisClient(const RedisAddress& address, const Interrupt* interrupt);
  // `first` is the server that error texts name as long as the route has not been asked.
  RedisClient(std::shared_ptr<Route> route, RedisAddress first, const Interrupt* interrupt);

  // Returns a new client with the same route, which is not connected yet.
  RedisClient another() const;

  // Connects to a server for this key, if necessary. AUTH and SELECT are sent with the next
  // question.
  Result<void> reach(std::string_view key, Time limit);

  Result<Answer> call(const Words& words, Time limit);

  // Runs the script at the server of the first key, by its SHA1. If the server does not know the
  // script, sends the script's text instead, with a new sent_at. If `replicas` is not 0, the
  // command WAIT for that many replicas follows in the same write (Answer::copies).
  Result<Answer> run(
      const Script& script, const Words& keys, const Words& args, Time limit, int replicas = 0);

  // Sends WAIT again and returns how many replicas have the writes. Errc::unavailable: the
  // connection of the newest run() is gone, and on another connection WAIT says nothing about those
  // writes.
  Result<int> count_copies(int replicas, Time limit);

  // Subscribes to `channels` at the server of `key`. After this call no message is missed, and the
  // connection can be used for messages only. If `tracks`, also subscribes to k_changes and returns
  // the server's number of the connection, which takes one more round trip (CLIENT ID); otherwise
  // returns 0.
  Result<long long> subscribe(std::string_view key, const Words& channels, bool tracks, Time limit);
  bool subscribed() const { return subscribed_; }

  // Waits for the first message, and returns all messages that have arrived by then. Returns none
  // if `until` has passed, or if something has arrived at one of the clients `beside`. After an
  // error there is no subscription any more, except after Errc::cancelled.
  using Others = std::array<RedisClient*, 2>;  // a null pointer is ignored
  Result<std::vector<Reply>> await_messages(Time until, const Others& beside = {});

  // Turns on key tracking: when another client changes a key that was read on this connection, the
  // connection `listener` gets one message on k_changes for that read. After a reconnect the
  // tracking is turned on again. If this client is not connected, it connects to the server of
  // `key`; that must be the server of the listener.
  // https://redis.io/docs/latest/develop/reference/client-side-caching/
  Result<void> track(std::string_view key, long long listener, Time limit);
  static constexpr std::string_view k_changes = "__redis__:invalidate";

  // Returns how many replicas must have a grant or a renewal by default: 1 if the server has a
  // replica, connected or not, otherwise 0. While no replica is connected, the server is asked each
  // time (ROLE, in a cluster CLUSTER NODES): a replica may have come, and a frozen master that has
  // lost its replicas must not grant alone. Errc::unavailable: the connection of the newest answer
  // is gone.
  Result<int> replicas(Time limit);
  // Returns the result that replicas() would probably have, without a question to the server; 0 if
  // nothing is known.
  int likely_replicas() const { return replicas_online_ > 0 ? 1 : route_->replicas(); }

  bool connected() const { return transport_.has_value(); }
  // Returns whether this client is connected and nothing has arrived since the last answer: no
  // byte, and no end of the connection.
  bool idle() { return transport_ && reader_.empty() && transport_->idle(); }
  void disconnect();
  const std::string& where() const { return address_.text; }
  // Facts about the server of the newest connection, from INFO; asked only if
  // RedisAddress::asks_uptime is set. run_id() is the id of the server's process, empty if unknown.
  // uptime() is how long the server has been running at least, 0 if unknown.
  const std::string& run_id() const { return run_id_; }
  Duration uptime() const { return started_ ? BootClock::now() - *started_ : Duration::zero(); }
  // Returns a new client for another server, with the same interrupt.
  RedisClient client_of(const RedisAddress& server) const;
  const RedisAddress& address() const { return address_; }  // address of the newest connection

 private:
  // How often one question follows a reply of MOVED, at most.
  static constexpr int k_most_moves = 5;
  Result<Answer> run_text(
      const ScriptText& script, const Words& keys, const Words& args, Time limit, int replicas);
  // Asks the server of `key`; if `key` is empty, any server. The reply may be an error. `replicas`
  // is as in run().
  Result<Answer> ask(const Words& words, std::string_view key, Time limit, int replicas = 0);
  // Asks the connected server, even if it is not the server of `key`.
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
  RedisAddress address_;  // address of the present connection, or of the newest one
  const Interrupt* interrupt_;
  std::optional<Transport> transport_;
  // Text about the servers that could not be reached before this one (FailedServers::before()).
  std::string passed_over_;
  ReplyReader reader_;
  bool greeted_ = false;  // the commands of greetings() were sent on this connection and answered
  bool subscribed_ = false;
  int replicas_online_ = 0;        // number of connected replicas, by the newest answer to ROLE
  bool role_is_fresh_ = false;     // ROLE was sent together with the newest question
  std::string run_id_;             // id of the server's process; empty: unknown
  std::optional<Time> started_;    // the server started before this time
  long long listener_ = 0;         // the listener of track(); 0: no key is tracked
  bool greeting_refused_ = false;  // the newest AUTH or SELECT was refused
  bool has_answered_ = false;      // a server has answered this client before
  HangUps hang_ups_;               // connections that were closed before the first answer
};

}  // namespace dlock
