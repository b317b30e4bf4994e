// SPDX-License-Identifier: MIT
// ZkSession: one session of ZooKeeper, which owns nodes that end with it, and the requests made in
// it. It connects when necessary: first to the server that served it last, then to the other
// servers in the order of the URL.
//
// It promises: a call ends at its limit, including name lookup and connecting. Connect, login and
// requests travel in one write; but a server that has not served us before must first accept the
// session, unless it is the last one to try. After any failure of a call (also by a limit or an
// interrupt) the connection is dropped, so a late answer is never taken for the answer to the next
// request. The session continues, and the next call attaches to it again. Requests that were sent
// to one server are not sent to another. There are no pings.
//
// Only reattach() renews the session at once. A request over an open connection to a follower does
// not, even if it is answered: the leader learns of that request only with the follower's next
// report, half a tick or more later (LearnerHandler).
//
// Errors: those of Transport if there is no connection; unavailable, timed_out, cancelled: the
// requests may have been carried out; denied (login, SASL); protocol; bad_usage: the server allows
// no session as long as ours. Every text names the servers, and none has a password. Used by one
// thread at a time.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "store/zookeeper/zk_records.hpp"
#include "store/zookeeper/zk_url.hpp"
#include "sys/interrupt.hpp"
#include "sys/transport.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dlock {

struct ZkAnswers {
  // True: the leader says that the session is over, and its nodes are gone or are being removed. No
  // request was carried out, unless the session ended in the middle of the run. A session that is
  // over stays over.
  bool expired = false;
  std::vector<ZkAnswer> answers;  // one for each request; empty if the session has expired
};

class ZkSession {
 public:
  // `timeout`: the session ends this long after its newest renewal, or a little later;
  // k_any_timeout: the server's default. `identity`: an existing session. A timeout longer than the
  // one with which it was made cannot be relied on, because the next leader knows only that one.
  // `interrupt` may be null and must outlive us.
  static constexpr Duration k_any_timeout{0};
  ZkSession(ZkAddress address,
            Duration timeout,
            const Interrupt* interrupt,
            ZkIdentity identity = {});

  // Sends all requests before it waits for the first answer; the server carries out each by itself,
  // even if others fail. Uses the open connection; if no connection is open, does what reattach()
  // does.
  Result<ZkAnswers> run(const std::vector<ZkRequest>& requests, Time limit);

  // Runs the requests on a new connection, which renews or creates the session. Watches are lost. A
  // renewal counts only if a write sent with it was confirmed, because a leader that has lost its
  // followers renews as well. Then the session ends at sent_at() + timeout or later.
  Result<ZkAnswers> reattach(const std::vector<ZkRequest>& requests, Time limit);

  // Returns a time just before the first byte of the newest run() or reattach() was sent. On a new
  // connection that byte belongs to the request that creates the session or attaches to it.
  Time sent_at() const { return sent_at_; }

  // Returns a time just before the first byte was sent on the newest connection.
  Time attached_at() const { return attached_at_; }

  // Ends the session and its nodes if connected, without waiting for an answer. Otherwise the
  // session ends by its timeout.
  void quit(Time limit);

  // Waits for an event. Returns true if an event has arrived, so that the nodes should be read
  // again; false if `until` has passed. Errc::unavailable: the connection and its watches are gone,
  // or there was no connection. After Errc::cancelled the connection is kept.
  Result<bool> await_event(Time until);
  // Removes and returns the events received so far, including during run(), oldest first.
  std::vector<ZkEvent> take_events();

  // Returns our identity. The number is 0 as long as no server is known to have created the
  // session.
  const ZkIdentity& identity() const { return identity_; }
  // Returns the timeout that the server granted: as requested, or the server's shortest; zero
  // before the first answer.
  Duration timeout() const { return granted_; }
  bool connected() const { return transport_.has_value(); }
  bool is_over() const { return ended_; }  // the session has expired or was closed
  void disconnect();                       // closes the connection; the session continues
  const ZkAddress& address() const { return address_; }
  const std::string& where() const { return address_.text; }

  // Returns the error of the first answer that is no verdict; nullopt: all are verdicts.
  std::optional<Error> error_in(const std::vector<ZkAnswer>& answers) const;

 private:
  using Requests = std::vector<ZkRequest>;
  Result<ZkAnswers> attach(const Requests& requests, Time limit);
  Result<void> reach(const Endpoint& server, Time limit);
  Result<bool> greet(const std::string& more, Time limit);
  Result<void> take_session(const ZkConnected& connected, Time limit);
  Result<void> read_login(Time limit);
  Result<ZkAnswers> ask(const Requests& requests,
                        const std::string& unsent,
                        Time started,
                        Time limit);
  Result<std::string> next_frame(Time limit);
  Result<std::string> next_answer(Time limit);
  Result<void> take_event(const std::string& frame);
  Result<void> receive_bytes(Time limit);
  bool alive();
  std::string frames_of(const Requests& requests);
  void close_at_once(Time limit);
  ZkAnswers end();
  Error cut_off(const Error& reason) const;
  Error unreachable(const Error& reason, const std::string& failed) const;
  Error lost(const Error& reason, Time started, Time limit);
  Error refusal(std::int32_t error) const;

  ZkAddress address_;
  Duration wanted_;
  const Interrupt* interrupt_;
  ZkIdentity identity_;
  Duration granted_{};
  std::optional<Transport> transport_;
  ZkFrames frames_;
  std::vector<ZkEvent> events_;
  Time sent_at_{};
  Time attached_at_{};
  std::int64_t last_zxid_ = 0;  // newest write that we have seen; a server must have seen it, too
  std::int32_t last_xid_ = 0;   // number of the newest request on this connection
  std::size_t first_ = 0;       // index of the server to try first
  bool first_has_served_ = false;
  bool has_answered_ = false;  // at least one server has answered
  bool ended_ = false;
};

}  // namespace dlock
