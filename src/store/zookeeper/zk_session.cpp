// SPDX-License-Identifier: MIT
#include "store/zookeeper/zk_session.hpp"

#include "base/duration.hpp"
#include "store/other_server.hpp"
#include "store/server_search.hpp"
#include "store/url/host_port.hpp"
#include "sys/poll_limit.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <limits>
#include <utility>

namespace dlock {
namespace {

using std::chrono::milliseconds;

// The compiler touches each page of a buffer on the stack. A reply to a run has 200 bytes.
constexpr std::size_t k_buffer_bytes = std::size_t{4} << 10;

// The timeout of a session that only reads: it ends after this time without a request.
constexpr Duration k_looker = std::chrono::seconds(30);

std::int32_t wire_ms(Duration timeout) {
  const auto ms = std::chrono::ceil<milliseconds>(timeout).count();
  constexpr std::int32_t k_most = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(std::clamp<long long>(ms, 1, k_most));
}

Error no_zookeeper() {
  return {Errc::protocol, "does not speak as ZooKeeper does"};
}

}  // namespace

ZkSession::ZkSession(ZkAddress address,
                     Duration timeout,
                     const Interrupt* interrupt,
                     ZkIdentity identity)
    : address_(std::move(address)),
      wanted_(timeout),
      interrupt_(interrupt),
      identity_(std::move(identity)) {}

void ZkSession::disconnect() {
  transport_.reset();
  frames_ = {};
}

ZkAnswers ZkSession::end() {
  disconnect();
  ended_ = true;
  return {.expired = true};
}

Result<ZkAnswers> ZkSession::reattach(const Requests& requests, Time limit) {
  disconnect();
  return ended_ ? end() : attach(requests, limit);
}

Result<ZkAnswers> ZkSession::run(const Requests& requests, Time limit) {
  if (connected() && !alive()) disconnect();
  if (!connected()) return reattach(requests, limit);
  const Time started = BootClock::now();
  const std::string bytes = frames_of(requests);
  sent_at_ = BootClock::now();
  return ask(requests, bytes, started, limit);
}

std::string ZkSession::frames_of(const Requests& requests) {
  std::string bytes;
  for (const ZkRequest& one : requests) {
    DLOCK_ASSERT(one.op != ZkOp::close_session || &one == &requests.back());
    bytes += zk_request_frame(++last_xid_, one, address_.acl());
  }
  return bytes;
}

Result<ZkAnswers> ZkSession::attach(const Requests& requests, Time limit) {
  const Time started = BootClock::now();
  const std::size_t servers = address_.servers.size();
  const std::size_t begin = first_;
  FailedServers failed;
  for (std::size_t i = 0; i < servers; ++i) {
    const std::size_t at = (begin + i) % servers;
    const Time share = share_of(limit, servers - i);
    // `whole`: the requests go with the first write. Then this server may carry them out, so no
    // other server gets them.
    const bool whole = i + 1 == servers || (i == 0 && first_has_served_);
    const auto reached = reach(address_.servers[at], share);
    const bool asked = reached.has_value();
    const std::string bytes = frames_of(requests);
    const auto taken =
        asked ? greet(whole ? bytes : "", whole ? limit : share) : Result<bool>(reached.error());
    if (asked) first_ = taken ? at : (at + 1) % servers;
    if (asked) first_has_served_ = taken.has_value();
    if (taken) return *taken ? ask(requests, whole ? "" : bytes, started, limit) : end();

    const Error& why = taken.error();
    if (asked && (whole || ends_search(why.code))) return lost(why, started, limit);
    disconnect();
    if (servers == 1 || ends_search(why.code)) return unreachable(why, failed.before());
    failed.add(name_of(address_.servers[at]), why);
  }
  return failed.all(where());
}

Result<void> ZkSession::reach(const Endpoint& server, Time limit) {
  last_xid_ = 0;
  auto transport = Transport::connect(server, limit, interrupt_);
  if (!transport) return cut_off(transport.error());
  transport_ = std::move(*transport);
  return {};
}

// Sends connect and login, then `more`. Returns true if the session is ours, false if it is over.
Result<bool> ZkSession::greet(const std::string& more, Time limit) {
  std::string bytes = zk_connect_frame(
      identity_, wire_ms(wanted_ == k_any_timeout ? k_looker : wanted_), last_zxid_);
  if (!address_.user.empty()) bytes += zk_login_frame(address_.user, address_.password.reveal());
  attached_at_ = sent_at_ = BootClock::now();
  auto sent = transport_->send(bytes + more, limit);
  auto frame = sent ? next_frame(limit) : Result<std::string>(sent.error());
  if (!frame) return cut_off(frame.error());
  const auto connected = zk_connected(*frame);
  if (!connected) return no_zookeeper();
  has_answered_ = true;
  if (connected->timeout_ms == 0) return false;
  if (auto taken = take_session(*connected, limit); !taken) return taken.error();
  if (auto done = read_login(limit); !done) return done.error();
  return true;
}

Result<void> ZkSession::take_session(const ZkConnected& connected, Time limit) {
  const bool made = identity_.number == 0;
  identity_ = connected.identity;
  granted_ = milliseconds(connected.timeout_ms);
  if (wanted_ == k_any_timeout || connected.timeout_ms >= wire_ms(wanted_)) return {};
  const std::string allowed = "allows sessions of at most " + format_duration(granted_);
  // Servers may have different settings. With this server's shorter timeout the lease could end
  // sooner than the newest renewal promised.
  if (!made) return Error{Errc::lost, allowed + ", less than the servers before it"};
  close_at_once(limit);
  return Error{Errc::bad_usage, allowed + ", not " + format_duration(wanted_)};
}

void ZkSession::quit(Time limit) {
  if (!connected()) return;
  (void)transport_->send(frames_of({{.op = ZkOp::close_session}}), limit).has_value();
  end();
}

// Closes the session, and waits for the answer. Otherwise the session and its nodes would stay for
// its whole timeout.
void ZkSession::close_at_once(Time limit) {
  const std::string bytes = frames_of({{.op = ZkOp::close_session}});
  if (!transport_->send(bytes, limit)) return;
  while (const auto frame = next_answer(limit)) {
    const auto header = zk_header(*frame);
    if (!header || header->xid == last_xid_) break;
  }
  end();
}

Result<void> ZkSession::read_login(Time limit) {
  if (address_.user.empty()) return {};
  const auto frame = next_frame(limit);
  if (!frame) return frame.error();
  const auto header = zk_header(*frame);
  if (!header || header->xid != ZkHeader::k_login) return no_zookeeper();
  if (header->error != 0) return refusal(header->error);
  return {};
}

Result<ZkAnswers> ZkSession::ask(const Requests& requests,
                                 const std::string& unsent,
                                 Time started,
                                 Time limit) {
  if (auto sent = transport_->send(unsent, limit); !sent) return lost(sent.error(), started, limit);
  ZkAnswers all;
  std::int32_t xid = last_xid_ - static_cast<std::int32_t>(requests.size());
  for (const ZkRequest& request : requests) {
    ++xid;
    const auto frame = next_answer(limit);
    if (!frame) return lost(frame.error(), started, limit);
    const auto header = zk_header(*frame);
    auto answer = zk_answer(*frame, request);
    if (!header || header->xid != xid || !answer) return lost(no_zookeeper(), started, limit);
    last_zxid_ = std::max(last_zxid_, header->zxid);
    if (answer->code == ZkCode::expired) return end();
    all.answers.push_back(std::move(*answer));
    if (request.op == ZkOp::close_session && all.answers.back().code == ZkCode::ok) end();
  }
  return all;
}

// Returns the next answer. Events that arrive before it are stored.
Result<std::string> ZkSession::next_answer(Time limit) {
  for (;;) {
    auto frame = next_frame(limit);
    if (!frame) return frame;
    const auto header = zk_header(*frame);
    if (!header || header->xid != ZkHeader::k_event) return frame;
    if (auto taken = take_event(*frame); !taken) return taken.error();
  }
}

Result<std::string> ZkSession::next_frame(Time limit) {
  for (;;) {
    auto frame = frames_.next();
    if (!frame) return frame.error();
    if (*frame) return std::move(**frame);
    if (auto received = receive_bytes(limit); !received) return received.error();
  }
}

Result<void> ZkSession::receive_bytes(Time limit) {
  std::array<char, k_buffer_bytes> buffer;
  const auto n = transport_->receive(buffer.data(), buffer.size(), limit);
  if (!n) return n.error();
  const std::string other =
      has_answered_ ? "" : other_server(std::string_view(buffer.data(), *n), "zookeeper");
  if (!other.empty()) return Error{Errc::protocol, other};
  frames_.add({buffer.data(), *n});
  return {};
}

Result<void> ZkSession::take_event(const std::string& frame) {
  auto event = zk_event(frame);
  if (!event) return no_zookeeper();
  if (events_.size() < limits::k_unasked) events_.push_back(std::move(*event));
  return {};
}

// Returns whether the connection is open and has received nothing but events.
bool ZkSession::alive() {
  const Time now = BootClock::now();
  while (!transport_->idle()) {
    if (auto received = receive_bytes(now); !received)
      return received.error().code == Errc::timed_out;
    for (;;) {
      const auto frame = frames_.next();
      if (!frame) return false;
      if (!*frame) break;
      if (!take_event(**frame)) return false;
    }
  }
  return true;
}

Result<bool> ZkSession::await_event(Time until) {
  const Time started = BootClock::now();
  while (events_.empty()) {
    if (!connected()) return lost({Errc::unavailable, "it is closed"}, started, until);
    const auto frame = next_frame(until);
    if (!frame && frame.error().code == Errc::timed_out) return false;
    if (!frame && frame.error().code == Errc::cancelled) return frame.error();
    if (!frame) return lost(frame.error(), started, until);
    if (auto taken = take_event(*frame); !taken) return lost(taken.error(), started, until);
  }
  return true;
}

std::vector<ZkEvent> ZkSession::take_events() {
  return std::exchange(events_, {});
}

// Returns the error for a connection on which the server has sent nothing. The server may have
// closed it before we knew that it was open.
Error ZkSession::cut_off(const Error& reason) const {
  const bool hung_up =
      reason.text == socket_error(EPIPE).text || reason.text == socket_error(ECONNRESET).text;
  if (!hung_up) return reason;
  std::string hint = " before its answer (not serving, or more than maxClientCnxns connections";
  if (!has_answered_) hint += address_.servers.front().tls ? ", or no TLS" : ", or it expects TLS";
  return {reason.code, reason.text + hint + "?)"};
}

Error ZkSession::unreachable(const Error& reason, const std::string& failed) const {
  return cannot_reach(where(), while_files_are_replaced(reason, has_answered_), failed);
}

// Drops the connection and returns the error for a request that may have been sent.
Error ZkSession::lost(const Error& reason, Time started, Time limit) {
  disconnect();
  return lost_connection(where(), reason, started, limit);
}

Error ZkSession::refusal(std::int32_t error) const {
  const ZkMeaning meaning = zk_meaning(error);
  const bool known = !meaning.text.empty();
  return {meaning.errc,
          known ? "says: " + std::string(meaning.text) : "says: error " + std::to_string(error)};
}

std::optional<Error> ZkSession::error_in(const std::vector<ZkAnswer>& answers) const {
  for (const ZkAnswer& one : answers) {
    if (is_verdict(one.code)) continue;
    const Error error = refusal(one.error);
    return Error{error.code, where() + " " + error.text};
  }
  return {};
}

}  // namespace dlock
