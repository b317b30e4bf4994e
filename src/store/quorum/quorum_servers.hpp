// SPDX-License-Identifier: MIT
// QuorumServers: calls to all servers of a quorum at the same time, in one thread. Each server's
// fiber carries out the calls to that server, and runs only during wait(). A call returns a letter:
// a function that wait() runs afterwards, to deliver the call's answer.
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

  // Opens the stores and sorts them by name, so that all clients have the same order.
  // Errc::bad_config: a server is named twice. `interrupt` (may be null) ends waiting calls.
  static Result<std::unique_ptr<QuorumServers>> open(
      const std::vector<MemberFiber::Opener>& servers, const Interrupt* interrupt);

  std::size_t size() const { return members_.size(); }
  std::vector<std::string> names() const;
  // Returns the store of a server, for calls that need no connection.
  const LockStore& store(std::size_t server) const { return members_[server]->store(); }

  // Waits, and runs the letters that are there or arrive before `until`. Returns false if
  // interrupted; the letters were run all the same.
  bool wait(Time until, bool may_be_interrupted = true);
  using Letter = std::function<void()>;
  void tell(Letter letter) { letters_.push_back(std::move(letter)); }

  // Lets the server's fiber run the job; wait() runs the letter that the job returns. Returns
  // false, and drops the job, if the job may be cut and the server's queue is so long that the
  // server must be frozen.
  using Job = std::function<Letter(LockStore&)>;
  bool post(std::size_t server, Job job, bool may_be_cut);
  // Returns whether all posted jobs are done, at every server.
  bool have_answered() const;
  // Runs the letters that have arrived since the previous call.
  void catch_up() { wait(BootClock::now(), /*may_be_interrupted=*/false); }
  // Ends the calls to servers that have been silent for so long that they must be frozen. To be
  // called before all servers are asked, so that the new calls need not wait for the old ones.
  void cut_frozen();

  // Asks one server. Errc::cancelled: an interrupt has ended the call. `to_the_end`: waits past
  // `limit` until the call itself has ended.
  template <class T>
  Result<T> ask_one(std::size_t server, const Call<T>& call, Time limit, bool to_the_end = false);

  // Asks each server. Once `needed` servers have answered without an error, the other servers get
  // as much time again, at least k_least_patience.
  template <class T>
  Answers<T> ask_each(const Call<T>& call, std::size_t needed, Time limit);

 private:
  explicit QuorumServers(const Interrupt* interrupt) : interrupt_(interrupt) {}
  static constexpr Duration k_least_patience = std::chrono::milliseconds(250);
  // A server that was asked and has been silent for this long counts as frozen.
  static constexpr Duration k_frozen = std::chrono::milliseconds(100);
  // The longest wait for the end of a call that was cut. Such a call normally ends at once.
  static constexpr Duration k_cut_takes = std::chrono::seconds(1);

  const Interrupt* interrupt_;
  std::deque<Letter> letters_;
  // Declared last, so destroyed first: the fibers add letters until they end.
  std::vector<std::unique_ptr<MemberFiber>> members_;
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
