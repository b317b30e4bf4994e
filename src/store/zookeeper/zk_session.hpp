// SPDX-License-Identifier: MIT
// ZkSession: one session of ZooKeeper, which owns ephemeral nodes, and requests in it. It connects
// when it has to: to the server that served it last, then to the others in the order of the URL.
//
// It promises: a call ends at its limit, name lookup and connect included. Connect, login and
// requests travel in one write; only while there is another server to try, one that has not served
// us before is first asked to take the session. After any failure on the way (also by a limit or an
// interrupt) the connection is dropped, so a late answer never meets the next question; the session
// stays, and the next call takes it up again. It does not resend: another server gets a request
// only if none was sent before. There are no pings.
//
// Only reattach() renews the session: a request over an open connection to a follower, answered or
// not, keeps the leader's clock running (LearnerHandler; so does a ping for half a tick or more).
//
// Errors: as of Transport where there is no connection; unavailable, timed_out, cancelled: it may
// have happened; denied (login, SASL), protocol; bad_usage: the server allows no session as long as
// ours. Every text names the servers and never a password. One thread at a time.
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
  // The session is over, and its nodes are gone or go: the word of the leader. Nothing of the run
  // was carried out, unless the session ended in the middle of it. It stays so.
  bool expired = false;
  std::vector<ZkAnswer> answers;  // one for each request, unless it has expired
};

class ZkSession {
 public:
  // `timeout`: the session ends so long after its newest renewal, or a little later; k_any_timeout:
  // as the server likes it. `identity`: of a session that lives already; a longer timeout than it
  // was made with is forgotten by the next leader, and must not be relied on. `interrupt` may be
  // null and must outlive us.
  static constexpr Duration k_any_timeout{0};
  ZkSession(ZkAddress address,
            Duration timeout,
            const Interrupt* interrupt,
            ZkIdentity identity = {});

  // Requests, all of them sent before the first answer is awaited; each is carried out by itself,
  // whatever becomes of the others. On the open connection, or like reattach().
  Result<ZkAnswers> run(const std::vector<ZkRequest>& requests, Time limit);

  // The same on a new connection: the session is renewed, or made. Watches are gone. A renewal
  // counts once a write that came with it was confirmed: a leader that lost its followers renews
  // too. Then the session ends at sent_at() + timeout or later.
  Result<ZkAnswers> reattach(const std::vector<ZkRequest>& requests, Time limit);

  // Read before the first byte of the newest run() or reattach(), connect included.
  Time sent_at() const { return sent_at_; }

  // The same of the newest connect.
  Time attached_at() const { return attached_at_; }

  // Ends the session and its nodes without waiting for an answer, if it is connected. A session
  // that has not heard it ends by itself.
  void quit(Time limit);

  // An event is there; false: `until` has passed, and none is. Errc::unavailable: the connection
  // with its watches is gone, or there was none. It stays after Errc::cancelled. An event says that
  // it is time to look, no more.
  Result<bool> await_event(Time until);
  // All that have come since the last call, oldest first; run() takes them in, too.
  std::vector<ZkEvent> take_events();

  // number 0: no server has made one yet, that we know of.
  const ZkIdentity& identity() const { return identity_; }
  // As the server has it: the one asked for, or its shortest; zero before the first answer.
  Duration timeout() const { return granted_; }
  bool connected() const { return transport_.has_value(); }
  bool is_over() const { return ended_; }  // it has expired, or was closed
  void disconnect();                       // the session goes on
  const ZkAddress& address() const { return address_; }
  const std::string& where() const { return address_.text; }

  // Of the first answer that is no verdict.
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
  Error unreachable(const Error& reason, const std::string& others) const;
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
  std::int64_t last_zxid_ = 0;  // a server that has not seen it would show us the past
  std::int32_t last_xid_ = 0;   // of this connection
  std::size_t first_ = 0;       // the server to be tried first
  bool first_has_served_ = false;
  bool has_answered_ = false;  // any server
  bool ended_ = false;
};

}  // namespace dlock
