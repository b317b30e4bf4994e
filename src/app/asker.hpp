// SPDX-License-Identifier: MIT
// Asker: sends questions to a store, one after the other, and repeats each as long as another try
// may help (core/retry_loop.hpp). It is for commands that leave nothing to undo when a signal ends
// them: `dlock release`, and `dlock renew` up to its first renewal. Signals keep their default
// actions.
#pragma once

#include "app/driver.hpp"
#include "core/retry_loop.hpp"
#include "store/store_worker.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <type_traits>

namespace dlock {

class Asker {
 public:
  // `interrupt`: the one with which the store was opened. `calls`: carries out the requests of
  // another machine, such as RenewLoop, that uses worker() afterwards; ask() does not need it.
  Asker(std::unique_ptr<LockStore> store,
        InterruptSlot& interrupt,
        Listener& listener,
        Duration notice_every,
        StoreCalls calls = {});

  // Calls `question(store, limit)`, which returns a Result, until it has an answer, another try
  // cannot help, or `until` has passed. Returns the answer or the newest error.
  template <class Question>
  std::invoke_result_t<Question&, LockStore&, Time> ask(Time until, Question question) {
    std::invoke_result_t<Question&, LockStore&, Time> answer = Error{Errc::system, "not asked"};
    const auto error = repeat(until, [&](LockStore& store, Time limit) -> Result<void> {
      answer = question(store, limit);
      if (!answer) return answer.error();
      return {};
    });
    if (error) return *error;
    return answer;
  }

  StoreWorker& worker() { return worker_; }

 private:
  using Call = std::function<Result<void>(LockStore&, Time)>;
  std::optional<Error> repeat(Time until, Call call);

  Listener& listener_;
  Duration notice_every_;
  bool had_contact_ = false;
  Call call_;  // the present question; StoreWorker calls it with the store
  StoreWorker worker_;
};

}  // namespace dlock
