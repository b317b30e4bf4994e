// SPDX-License-Identifier: MIT
// QuorumServers: calls to all servers of a quorum at the same time, by one thread. The fiber of
// each server carries out its calls, and goes on only during wait(); wait() also runs the letters
// that the calls return.
#pragma once

#include "store/quorum/member_fiber.hpp"
#include "store/server_search.hpp"
#include "sys/interrupt.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dlock {

class QuorumServers {
 public:
  template <class T>
  using Call = std::function<Result<T>(LockStore&)>;
  template <class T>
  using Answers = std::vector<std::optional<Result<T>>>;

  // Sorted by name, which is the same order for all clients. Errc::bad_config if a server is named
  // twice. `interrupt`, which may be null, ends waiting calls.
  static Result<std::unique_ptr<QuorumServers>> open(
      const std::vector<MemberFiber::Opener>& servers, const Interrupt* interrupt);

  std::size_t size() const { return members_.size(); }
  std::vector<std::string> names() const;
  // For calls that need no connection.
  const LockStore& store(std::size_t server) const { return members_[server]->store(); }

  // Runs the letters that are there or arrive before `until`. False: interrupted, after the
  // letters.
  bool wait(Time until, bool may_be_interrupted = true);
  using Letter = std::function<void()>;
  void tell(Letter letter) { letters_.push_back(std::move(letter)); }

  // The server's fiber runs the job, and wait() runs the letter that it returns. False: the
  // server's queue is so long that the server must be frozen.
  using Job = std::function<Letter(LockStore&)>;
  bool post(std::size_t server, Job job, bool may_be_cut);
  // Whether all posted jobs are done, at every server.
  bool have_answered() const;
  // Called between two calls: runs the letters that arrived since the last one.
  void catch_up() { wait(BootClock::now(), /*may_be_interrupted=*/false); }
  // Called before all are asked: cuts calls that run for so long that their server must be frozen.
  void cut_frozen();

  // Errc::cancelled: interrupted; the call has ended. `to_the_end`: the call is not cut; it ends at
  // its limit, with an answer or an error.
  template <class T>
  Result<T> ask_one(std::size_t server, const Call<T>& call, Time limit, bool to_the_end = false);

  // Asks each server; once `needed` servers have answered, the others have as long again.
  template <class T>
  Answers<T> ask_each(const Call<T>& call, std::size_t needed, Time limit);

 private:
  explicit QuorumServers(const Interrupt* interrupt) : interrupt_(interrupt) {}
  static constexpr Duration k_least_patience = std::chrono::milliseconds(250);
  // A server that was asked and has been silent for this time is taken for frozen.
  static constexpr Duration k_frozen = std::chrono::milliseconds(100);
  // A call that was cut ends at once.
  static constexpr Duration k_cut_takes = std::chrono::seconds(1);

  const Interrupt* interrupt_;
  std::deque<Letter> letters_;
  std::vector<std::unique_ptr<MemberFiber>> members_;  // last: they write letters
};

template <class T>
Result<T> QuorumServers::ask_one(std::size_t server,
                                 const Call<T>& call,
                                 Time limit,
                                 bool to_the_end) {
  const auto answer = std::make_shared<std::optional<Result<T>>>();
  catch_up();
  members_[server]->cut(k_frozen);
  const bool posted = post(
      server,
      [call, answer](LockStore& store) {
        return [answer, result = call(store)] { *answer = result; };
      },
      true);
  while (posted && !*answer && (to_the_end || BootClock::now() < limit)) {
    if (wait(limit) || *answer) continue;
    members_[server]->cut();
    const Time last = BootClock::now() + k_cut_takes;
    while (!*answer && BootClock::now() < last)
      wait(last, false);
    return stopped_waiting(store(server).where());
  }
  if (*answer) return **answer;
  return Error{Errc::timed_out, "no answer from " + store(server).where() + " in time"};
}

template <class T>
QuorumServers::Answers<T> QuorumServers::ask_each(const Call<T>& call,
                                                  std::size_t needed,
                                                  Time limit) {
  const auto answers = std::make_shared<Answers<T>>(size());
  const Time started = BootClock::now();
  catch_up();
  cut_frozen();
  for (std::size_t i = 0; i < size(); ++i) {
    post(
        i,
        [call, answers, i](LockStore& store) {
          return [answers, i, result = call(store)] { (*answers)[i] = result; };
        },
        true);
  }
  const auto count = [&](bool good) {
    return static_cast<std::size_t>(std::count_if(
        answers->begin(), answers->end(), [&](const auto& one) { return one && (!good || *one); }));
  };
  Time until = limit;
  while (count(false) < size() && BootClock::now() < until && wait(until)) {
    if (until != limit || count(true) < needed) continue;
    const Time now = BootClock::now();
    until = std::min(limit, now + std::max(now - started, k_least_patience));
  }
  return *answers;
}

}  // namespace dlock
