// SPDX-License-Identifier: MIT
#include "store/etcd/etcd_client.hpp"

#include <numeric>
#include <utility>

namespace dlock {
namespace {

bool asks_for_login(const EtcdRead& read) {
  const auto* const refusal = std::get_if<EtcdRefusal>(&read);
  return refusal != nullptr && refusal->login;
}

}  // namespace

EtcdClient::EtcdClient(const EtcdAddress& address, const Interrupt* interrupt)
    : wire_(address, interrupt),
      login_(std::make_shared<EtcdLogin>(address.user, address.password)),
      interrupt_(interrupt) {}

EtcdClient::Answers EtcdClient::run(const std::vector<EtcdRequest>& requests, Time limit) {
  failure_ = {};
  if (auto reached = login_->reach(wire_, limit); !reached) return reached.error();
  std::vector<std::size_t> which(requests.size());
  std::iota(which.begin(), which.end(), std::size_t{0});
  Reads reads(requests.size());
  sent_at_ = BootClock::now();
  if (auto asked = ask(requests, which, reads, limit); !asked) return asked.error();
  std::erase_if(which, [&](std::size_t i) { return !asks_for_login(reads[i]); });
  if (!which.empty() && login_->has_user()) {
    login_->forget();
    if (auto reached = login_->reach(wire_, limit); !reached) return reached.error();
    // sent_at_ keeps the time of the first write: requests that were not refused were carried out
    // then.
    if (auto asked = ask(requests, which, reads, limit); !asked) return asked.error();
  }
  return answers_of(std::move(reads));
}

void EtcdClient::tell(const std::vector<EtcdRequest>& requests, Time limit) {
  if (!login_->reach(wire_, limit)) return;
  std::vector<EtcdWords> words;
  words.reserve(requests.size() + 1);
  for (const EtcdRequest& one : requests)
    words.push_back(words_of(one));
  words.push_back(long_words());
  if (wire_.send(words, login_->token(), limit)) wire_.skip(words.size());
}

Result<void> EtcdClient::ask(const std::vector<EtcdRequest>& requests,
                             const std::vector<std::size_t>& which,
                             Reads& reads,
                             Time limit) {
  const Time started = BootClock::now();
  std::vector<EtcdWords> words;
  words.reserve(which.size());
  for (const std::size_t i : which)
    words.push_back(words_of(requests[i]));
  if (auto sent = wire_.send(words, login_->token(), limit); !sent) return sent;
  for (const std::size_t i : which) {
    const auto answer = wire_.receive(started, limit);
    if (!answer) return answer.error();
    reads[i] = read_answer(requests[i], *answer);
  }
  return {};
}

EtcdClient::Answers EtcdClient::answers_of(Reads reads) {
  std::vector<EtcdAnswer> answers;
  for (EtcdRead& read : reads) {
    if (const auto* const refusal = std::get_if<EtcdRefusal>(&read)) {
      failure_ = {.refused = true,
                  .request = answers.size(),
                  .grpc = refusal->grpc,
                  .repeat = refusal->repeat};
      return wire_.refusal(*refusal);
    }
    answers.push_back(std::get<EtcdAnswer>(std::move(read)));
  }
  return answers;
}

}  // namespace dlock
