// SPDX-License-Identifier: MIT
#include "store/etcd/etcd_login.hpp"

#include "store/etcd/etcd_answers.hpp"

namespace dlock {

Result<void> EtcdLogin::reach(EtcdWire& wire, Time limit) {
  const Time started = BootClock::now();
  if (auto reached = wire.reach(limit); !reached || !needed()) return reached;
  const EtcdWords words = login_words(user_, password_.reveal());
  if (auto sent = wire.send({words}, "", limit); !sent) return sent;
  const auto answer = wire.receive(started, limit);
  if (!answer) return answer.error();
  auto read = read_login(*answer);
  if (const auto* const refusal = std::get_if<EtcdRefusal>(&read)) return wire.refusal(*refusal);
  token_ = std::get<std::string>(std::move(read));
  return wire.reach(limit);  // the server may have closed the connection after its answer
}

}  // namespace dlock
