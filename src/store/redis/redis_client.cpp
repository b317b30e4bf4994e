// SPDX-License-Identifier: MIT
#include "store/redis/redis_client.hpp"

#include "base/text.hpp"
#include "store/redis/cluster_route.hpp"
#include "store/redis/command_bytes.hpp"
#include "store/redis/error_reply.hpp"
#include "store/redis/redis_answers.hpp"
#include "store/redis/redis_keys.hpp"
#include "store/redis/slot.hpp"
#include "store/server_search.hpp"
#include "sys/poll_limit.hpp"

#include <array>
#include <utility>

namespace dlock {
namespace {

// The compiler touches each page of a buffer on the stack. A reply to a run has 100 bytes.
constexpr std::size_t k_buffer_bytes = std::size_t{4} << 10;

}  // namespace

RedisClient::RedisClient(const RedisAddress& address, const Interrupt* interrupt)
    : RedisClient(std::make_shared<FixedRoute>(address), address, interrupt) {}

RedisClient::RedisClient(std::shared_ptr<Route> route,
                         RedisAddress first,
                         const Interrupt* interrupt)
    : route_(std::move(route)), address_(std::move(first)), interrupt_(interrupt) {}

RedisClient RedisClient::another() const {
  RedisClient client(route_, address_, interrupt_);
  client.has_answered_ = has_answered_;
  return client;
}

RedisClient RedisClient::client_of(const RedisAddress& server) const {
  return {std::make_shared<FixedRoute>(server), server, interrupt_};
}

void RedisClient::disconnect() {
  transport_.reset();
  reader_ = ReplyReader();
  subscribed_ = false;
  replicas_online_ = 0;
}

Result<Answer> RedisClient::call(const Words& words, Time limit) {
  return checked(ask(words, {}, limit));
}

Result<Answer> RedisClient::checked(Result<Answer> answer) {
  if (answer && answer->reply.is_error()) return refusal(answer->reply.string());
  return answer;
}

Result<Answer> RedisClient::run(
    const Script& script, const Words& keys, const Words& args, Time limit, int replicas) {
  if (!route_->is_cluster()) return run_text(script.server, keys, args, limit, replicas);
  // In a cluster each script takes one more key, which never exists; parts/cluster.lua says why.
  const std::string never =
      std::string(redis_name::k_never) + "{" + std::string(hashed_part(keys.front())) + "}";
  Words more = keys;
  more.emplace_back(never);
  return run_text(script.cluster, more, args, limit, replicas);
}

Result<Answer> RedisClient::run_text(
    const ScriptText& script, const Words& keys, const Words& args, Time limit, int replicas) {
  const std::string count = std::to_string(keys.size());
  // A refused AUTH or SELECT does not keep the server from running the script in the same write, as
  // another user or in database 0. The script that undoes this is sent in the same way, behind
  // another refused AUTH or SELECT. Then nothing reads its answer, and a reply of NOSCRIPT would
  // not be seen; so the script is sent by its text.
  const std::string_view key = keys.empty() ? std::string_view() : keys.front();
  const auto with_text = [&] {
    return checked(ask(eval_words(script.text, count, keys, args), key, limit, replicas));
  };
  if (greeting_refused_) return with_text();
  auto answer = ask(evalsha_words(script.sha1, count, keys, args), key, limit, replicas);
  if (answer && answer->reply.is_error() && answer->reply.string().starts_with("NOSCRIPT")) {
    return with_text();
  }
  return checked(std::move(answer));
}

Result<Answer> RedisClient::ask(const Words& words,
                                std::string_view key,
                                Time limit,
                                int replicas) {
  for (int moves = 0;; ++moves) {
    auto answer = ask_here(words, key, limit, replicas);
    if (!answer || !answer->reply.is_error() || moves == k_most_moves) return answer;
    if (!route_->redirected(address_, answer->reply.string())) return answer;
    disconnect();
  }
}

Result<Answer> RedisClient::ask_here(const Words& words,
                                     std::string_view key,
                                     Time limit,
                                     int replicas) {
  DLOCK_ASSERT(!subscribed_);
  const Time started = BootClock::now();
  if (auto reached = reach(key, limit); !reached) return reached.error();
  const bool fresh = !greeted_;
  role_is_fresh_ = false;
  std::string bytes = fresh ? greetings() : std::string();
  append_command(bytes, words);
  if (replicas > 0) append_wait(bytes, replicas);

  const Time sent_at = BootClock::now();
  if (const auto sent = transport_->send(bytes, limit); !sent) {
    return unsent(sent.error(), started, limit);
  }
  if (fresh && route_->guesses()) limit = share_of(limit, 4);
  if (fresh) {
    if (auto greeted = read_greetings(started, limit); !greeted) return greeted.error();
    greeted_ = true;
  }
  auto reply = read_reply(started, limit);
  if (!reply) return reply.error();
  Answer answer{std::move(*reply), sent_at};
  if (replicas == 0) return answer;
  const auto copies = read_copies(started, limit);
  // If the script has failed as well, its error says more than the error of WAIT.
  if (!copies && !answer.reply.is_error()) return copies.error();
  answer.copies = copies ? *copies : 0;
  return answer;
}

Result<int> RedisClient::replicas(Time limit) {
  if (replicas_online_ > 0 || !asks_role()) return likely_replicas();
  if (!role_is_fresh_) {
    const auto role = ask_more({"ROLE"}, limit);
    if (!role) return role.error();
    if (auto taken = take_role(*role); !taken) return taken.error();
  }
  if (replicas_online_ > 0 || !route_->is_cluster()) return likely_replicas();
  const auto nodes = ask_more({"CLUSTER", "NODES"}, limit);
  if (!nodes) return nodes.error();
  return has_replica_here(nodes->string()) ? 1 : 0;
}

// Sends the bytes on the connection on which the newest answer came. Returns Errc::unavailable, and
// sends nothing, if that connection is gone.
Result<void> RedisClient::send_more(const std::string& bytes, Time started, Time limit) {
  if (!idle()) {
    disconnect();
    return Error{Errc::unavailable, "lost the connection to " + where()};
  }
  const auto sent = transport_->send(bytes, limit);
  return sent ? sent : unsent(sent.error(), started, limit);
}

// Asks one more question on the connection on which the newest answer came. An error reply becomes
// an Error.
Result<Reply> RedisClient::ask_more(const Words& words, Time limit) {
  const Time started = BootClock::now();
  std::string bytes;
  append_command(bytes, words);
  if (const auto sent = send_more(bytes, started, limit); !sent) return sent.error();
  auto reply = read_reply(started, limit);
  if (reply && reply->is_error()) return refusal(reply->string());
  return reply;
}

Result<int> RedisClient::count_copies(int replicas, Time limit) {
  const Time started = BootClock::now();
  std::string bytes;
  append_wait(bytes, replicas);
  if (const auto sent = send_more(bytes, started, limit); !sent) return sent.error();
  return read_copies(started, limit);
}

// Reads the answer to WAIT, the number of replicas. If the answer is late, returns 0; the
// connection has been dropped by then.
Result<int> RedisClient::read_copies(Time started, Time limit) {
  const auto reply = read_reply(started, limit);
  if (!reply && reply.error().code == Errc::timed_out) return 0;
  if (!reply) return reply.error();
  if (!reply->is_error()) return static_cast<int>(reply->integer());
  Error error = refusal(reply->string());
  error.text += "; --replicas needs WAIT, --replicas 0 does not";
  return error;
}

Result<void> RedisClient::reach(std::string_view key, Time limit) {
  // A connection that the server has closed is replaced, and so is a connection on which bytes have
  // come that answer no question.
  if (transport_ && !idle()) disconnect();
  return transport_ ? Result<void>() : connect(key, limit);
}

Result<void> RedisClient::connect(std::string_view key, Time limit) {
  FailedServers failed;
  const std::size_t others = route_->others();
  for (std::size_t left = others;; --left) {
    auto address = route_->address_of(key, limit);
    if (!address) return address.error();
    // listener_ is the number of a connection to another server, so it means nothing at this one.
    if (address->text != address_.text) listener_ = 0;
    address_ = std::move(*address);
    // Each node but the last gets half of the time that is left. A cluster may have dozens of
    // nodes, and equal shares would be too short for any of them.
    auto connected =
        Transport::connect(address_.endpoint, share_of(limit, left == 0 ? 1 : 2), interrupt_);
    if (connected) {
      transport_ = std::move(*connected);
      passed_over_ = failed.before();
      greeted_ = false;
      return {};
    }
    const Error& why = connected.error();
    if (why.code != Errc::cancelled) route_->failed(address_, why, {});
    if (others == 0 || ends_search(why.code)) return unreachable(why);
    failed.add(name_of(address_.endpoint), why);
    if (left == 0) return failed.all("any node of the cluster");
  }
}

Error RedisClient::unreachable(const Error& error) const {
  const Error why = while_files_are_replaced(error, has_answered_);
  return error.code == Errc::bad_config ? why : cannot_reach(where(), why);
}

std::string RedisClient::greetings() const {
  std::string bytes;
  if (wants_auth()) {
    const std::string password = address_.password.reveal();
    Words words{"AUTH"};
    if (!address_.user.empty()) words.emplace_back(address_.user);
    words.emplace_back(password);
    append_command(bytes, words);
  }
  if (wants_select()) append_command(bytes, {"SELECT", std::to_string(address_.db)});
  if (asks_role()) append_command(bytes, {"ROLE"});
  if (address_.asks_uptime) append_command(bytes, {"INFO", "server"});
  if (listener_ != 0) {
    append_command(bytes, tracking_words(std::to_string(listener_)));
  }
  return bytes;
}

// Reads the answers to the commands of greetings(). If one of them was refused, drops the
// connection.
Result<void> RedisClient::read_greetings(Time started, Time limit) {
  if (wants_auth()) {
    const auto reply = read_reply(started, limit);
    if (!reply) return reply.error();
    greeting_refused_ = reply->is_error();
    if (greeting_refused_) return refused_auth(reply->string());
  }
  if (wants_select()) {
    const auto reply = read_reply(started, limit);
    if (!reply) return reply.error();
    greeting_refused_ = reply->is_error();
    if (greeting_refused_) {
      Error error = refusal(reply->string());
      error.text = "cannot select database " + std::to_string(address_.db) + ": " + error.text;
      disconnect();
      return error;
    }
  }
  if (asks_role()) {
    const auto role = read_good(started, limit);
    if (!role) return role.error();
    role_is_fresh_ = true;
    if (auto taken = take_role(*role); !taken) return taken;
  }
  if (address_.asks_uptime) {
    const auto info = read_good(started, limit);
    if (!info) return info.error();
    started_ = BootClock::now() - uptime_in(info->string());
    run_id_ = run_id_in(info->string());
  }
  if (listener_ != 0) {
    const auto reply = read_reply(started, limit);
    if (!reply) return reply.error();
    // The server knows no connection with this number: the subscriber's connection is gone.
    // RedisStore will subscribe again and turn the tracking on.
    if (reply->is_error()) listener_ = 0;
  }
  return {};
}

// Reads the answer to one command of greetings(). If the answer is an error, drops the connection.
Result<Reply> RedisClient::read_good(Time started, Time limit) {
  auto reply = read_reply(started, limit);
  if (!reply || !reply->is_error()) return reply;
  Error error = refusal(reply->string());
  disconnect();
  return error;
}

Result<void> RedisClient::take_role(const Reply& role) {
  const bool master = role[0].string() == "master";
  replicas_online_ = master ? static_cast<int>(role[2].size()) : 0;
  if (master || !address_.must_be_master) return {};
  const Error error{Errc::unavailable,
                    "the sentinels name " + where() +
                        " as the master, but it is a replica (a failover is under way, or they are "
                        "out of date)"};
  disconnect();
  return error;
}

Result<Reply> RedisClient::read_reply(Time started, Time limit) {
  for (;;) {
    auto reply = reader_.next();
    if (!reply) return unanswered(reply.error(), started, limit);
    if (reply->has_value()) {
      has_answered_ = true;
      return std::move(**reply);
    }
    std::array<char, k_buffer_bytes> buffer;
    const auto n = transport_->receive(buffer.data(), buffer.size(), limit);
    if (!n) return unanswered(n.error(), started, limit);
    if (!has_answered_ && reader_.empty()) {
      const std::string other = other_server(std::string_view(buffer.data(), *n), "redis");
      if (!other.empty()) return unanswered({Errc::protocol, other}, started, limit);
    }
    const auto fed = reader_.feed({buffer.data(), *n});
    if (!fed) return unanswered(fed.error(), started, limit);
  }
}

// Drops the connection and returns the error for a request that may have been sent but was not
// answered.
Error RedisClient::unanswered(const Error& reason, Time started, Time limit) {
  const bool silent = reader_.empty();
  disconnect();
  const std::string other = silent ? what_listens(reason, limit) : "";
  const Error error = other.empty() ? reason : Error{Errc::protocol, other};
  const Errc code = error.code;
  if (code != Errc::cancelled) route_->failed(address_, error, {});
  if (code == Errc::denied) return cannot_reach(where(), error);
  return lost_connection(where(), error, started, limit);
}

// Returns which kind of server seems to listen at the address, for an error text; empty: nothing is
// known. A server that speaks another protocol, or that expects TLS, closes the connection after
// our first bytes.
std::string RedisClient::what_listens(const Error& error, Time limit) {
  if (has_answered_ || error.code != Errc::unavailable) return {};
  return hang_ups_.one_more(address_.endpoint, "redis", limit, interrupt_);
}

// Returns the error for a request that could not be sent. A server with too many clients sends an
// error text and closes the connection without reading, so this function first tries to read such a
// text.
Error RedisClient::unsent(const Error& error, Time started, Time limit) {
  if (error.code == Errc::unavailable) {
    const auto reply = read_reply(started, started);
    // Errc::denied here means that the server has sent a TLS alert, which refuses us.
    if (!reply && reply.error().code == Errc::denied) return reply.error();
    if (reply && reply->is_error()) {
      Error said = refusal(reply->string());
      disconnect();
      return said;
    }
  }
  return unanswered(error, started, limit);
}

Error RedisClient::refusal(std::string_view text) {
  const ErrorReply meaning = classify_error(text);
  // A reply of MOVED comes here after k_most_moves redirections: again and again, another node was
  // asked because the owner could not be reached, and named the owner again. So the text says which
  // servers could not be reached.
  const bool leads_back = route_->is_cluster() && text.starts_with("MOVED");
  std::string said = meaning.instead.empty()
                         ? server_says(where(), words_of(text), leads_back ? "" : meaning.hint)
                         : where() + " " + std::string(meaning.instead);
  if (leads_back && !passed_over_.empty()) said.insert(0, "cannot reach " + passed_over_);
  // The cluster is changing. Errc::unavailable makes the caller try again, and the route then names
  // another node.
  const bool elsewhere = meaning.code == Errc::refused && meaning.drop && route_->is_cluster();
  Error error{elsewhere ? Errc::unavailable : meaning.code, std::move(said)};
  route_->failed(address_, error, text);
  if (meaning.drop) disconnect();
  return error;
}

// Returns the error for a refused AUTH. A server that does not know AUTH repeats the password in
// its reply, so the reply's text is cut before it.
Error RedisClient::refused_auth(std::string_view text) {
  const auto echo = text.find(", with args");
  Error error = refusal(without_word(text.substr(0, echo), address_.password.reveal()));
  if (error.code == Errc::refused) error.code = Errc::denied;
  disconnect();
  return error;
}

}  // namespace dlock
