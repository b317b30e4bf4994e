// SPDX-License-Identifier: MIT
#include "contract/twin_stores.hpp"

#include "store/open_store.hpp"
#include "store/redis/redis_client.hpp"
#include "store/redis/redis_url.hpp"

#include <utility>

#include "support/memory_store.hpp"
#include "support/redis_process.hpp"

namespace dlock::contract {

namespace {

// ARGV: a number of ms. Everything in the server becomes so much older: expiries and stored times.
constexpr const char* k_make_older = R"(
local by = tonumber(ARGV[1])
local function older(ms) return string.format('%.0f', ms - by) end
for _, key in ipairs(redis.call('KEYS', '*')) do
  if key:find('^dlock:holds:') then
    local all = redis.call('HGETALL', key)
    for i = 1, #all, 2 do
      local record = all[i + 1]:gsub('("since_ms":)(%d+)', function(word, ms)
        return word .. older(ms)
      end)
      redis.call('HSET', key, all[i], record)
    end
  elseif key:find('^dlock:done:') then
    redis.call('SET', key, older(redis.call('GET', key)), 'KEEPTTL')
  end
  local left = redis.call('PTTL', key)
  if left >= 0 then redis.call('PEXPIRE', key, older(left)) end
end
)";

class RedisTwin {
 public:
  RedisTwin() : server_(started()), control_(*parse_redis_url(server_->url()), nullptr) {}

  std::unique_ptr<LockStore> store() const {
    StoreOptions options;
    options.url = server_->url();
    options.prefix = "dlock:";
    auto opened = open_store(options);
    REQUIRE_MESSAGE(opened.has_value(), (opened ? "" : opened.error().text));
    return std::move(*opened);
  }

  void restart() {
    call({"FLUSHALL"});
    start_ = BootClock::now();
  }

  // As much as has passed by itself is not added.
  void set_time(Duration time) {
    const Duration by = time - (BootClock::now() - start_);
    start_ -= by;
    call({"EVAL", k_make_older, "0", std::to_string(to_ms(by))});
  }

 private:
  static std::unique_ptr<test::RedisProcess> started() {
    auto server = test::RedisProcess::start();
    REQUIRE_MESSAGE(server.has_value(), (server ? "" : server.error().text));
    return std::move(*server);
  }

  void call(const std::vector<std::string>& words) {
    const auto answer = control_.call(Words(words.begin(), words.end()), soon());
    REQUIRE_MESSAGE(answer.has_value(), (answer ? "" : answer.error().text));
  }

  std::unique_ptr<test::RedisProcess> server_;
  RedisClient control_;
  Time start_;
};

Twin redis_twin() {
  auto redis = std::make_shared<RedisTwin>();
  return {.name = "redis",
          .store = redis->store(),
          .restart = [redis] { redis->restart(); },
          .set_time = [redis](Duration time) { redis->set_time(time); }};
}

Twin memory_twin() {
  static constexpr Duration k_start = 100000h;  // no time at the beginning of a clock
  auto server = std::make_shared<MemoryServer>();
  const auto restart = [server] {
    server->locks.clear();
    server->time = k_start;
  };
  return {.name = "memory",
          .store = std::make_unique<MemoryStore>(server),
          .restart = restart,
          .set_time = [server](Duration time) { server->time = k_start + time; }};
}

}  // namespace

Claim Twin::own(Claim claim) const {
  for (AncestorHold& hold : claim.ancestors)
    hold.key = *store->key_of(name_of(hold.key));
  return claim;
}

std::array<Twin, 2> twin_stores() {
  return {redis_twin(), memory_twin()};
}

}  // namespace dlock::contract
