// SPDX-License-Identifier: MIT
#include "store/etcd/etcd_watch.hpp"

#include "sys/limits.hpp"
#include "sys/poll_limit.hpp"

namespace dlock {

void EtcdWatch::close() {
  wire_.disconnect();
  events_.clear();
  refusal_.reset();
  open_ = false;
}

Result<void> EtcdWatch::open(const std::vector<EtcdRange>& ranges,
                             EtcdRevision from,
                             Time limit,
                             EtcdEvents which) {
  close();
  const EtcdWords words = watch_words(ranges, from, which);
  auto begun = begin(words, ranges.size(), limit);
  if (begun && refusal_ && refusal_->login && login_->has_user()) {
    close();
    login_->forget();
    begun = begin(words, ranges.size(), limit);
  }
  if (begun && refusal_) begun = ended();
  open_ = begun.has_value();
  if (!open_) close();
  return begun;
}

// Waits until every range is watched, or the server has refused to watch one.
Result<void> EtcdWatch::begin(const EtcdWords& words, std::size_t ranges, Time limit) {
  const Time started = BootClock::now();
  if (auto reached = login_->reach(wire_, limit); !reached) return reached;
  if (auto sent = wire_.send({words}, login_->token(), limit); !sent) return sent;
  for (std::size_t created = 0; created < ranges && !refusal_;) {
    const auto more = read(limit);
    if (!more) return more.error();
    if (!*more) {
      const std::string silent = wire_.where();
      wire_.leave();
      return over_limit("no answer from " + silent, started, limit);
    }
    created += static_cast<std::size_t>(std::exchange(created_, 0));
  }
  return {};
}

Result<std::optional<EtcdEvent>> EtcdWatch::await_event(Time until) {
  using Event = std::optional<EtcdEvent>;
  for (;;) {
    if (!events_.empty()) {
      Event event = std::move(events_.front());
      events_.pop_front();
      return event;
    }
    if (!open_) return Error{Errc::unavailable, "there is no watch of " + wire_.where()};
    if (refusal_) return ended();
    const auto more = read(until);
    if (!more && more.error().code != Errc::cancelled) close();
    if (!more) return more.error();
    if (!*more) return Event();
  }
}

// Reads more of the stream. Returns false if the limit has passed.
Result<bool> EtcdWatch::read(Time limit) {
  auto more = wire_.receive_lines(limit);
  if (!more || !*more) return more;
  for (const std::string& line : wire_.take_lines())
    take(read_news(line));
  if (const auto end = wire_.take_end()) take(read_end_of_news(*end));
  return true;
}

void EtcdWatch::take(std::variant<EtcdNews, EtcdRefusal> said) {
  if (refusal_) return;
  if (auto* const refusal = std::get_if<EtcdRefusal>(&said)) {
    refusal_ = std::move(*refusal);
    return;
  }
  auto& news = std::get<EtcdNews>(said);
  created_ += news.created;
  for (EtcdEvent& event : news.events)
    if (events_.size() < limits::k_unasked) events_.push_back(std::move(event));
}

Error EtcdWatch::ended() {
  Error error = wire_.refusal(*refusal_);
  close();
  return error;
}

}  // namespace dlock
