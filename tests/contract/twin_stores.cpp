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

// Makes everything in the server older by ARGV[1] ms: expiries and stored times.
constexpr const char* k_make_older = R"(
local by = tonumber(ARGV[1])
local function older(time, unit) return string.format('%.0f', time - by * (unit or 1)) end
for _, key in ipairs(redis.call('KEYS', '*')) do
  if key:find('^dlock:holds:') then
    local all = redis.call('HGETALL', key)
    for i = 1, #all, 2 do
      local record = all[i + 1]:gsub('("since_ms":)(%d+)', function(word, ms)
        return word .. older(ms)
      end)
      if all[i] == 'frozen' then  -- begins with the end of the freeze
        record = record:gsub('^%d+', function(ms) return older(ms) end)
      end
      redis.call('HSET', key, all[i], record)
    end
  elseif key:find('^dlock:last:') then
    local text = redis.call('GET', key):gsub('("since_ms":)(%d+)', function(word, ms)
      return word .. older(ms)
    end)
    redis.call('SET', key, text, 'KEEPTTL')
  elseif key:find('^dlock:done:') then
    redis.call('SET', key, older(redis.call('GET', key)), 'KEEPTTL')
  elseif key:find('^dlock:line:') or key:find('^dlock:waiters:') then
    local unit = key:find('^dlock:line:') and 1000 or 1  -- arrivals are in µs
    local all = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
    for i = 1, #all, 2 do redis.call('ZADD', key, older(all[i + 1], unit), all[i]) end
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

  // The time that has passed by itself is not added again.
  void set_time(Duration time) {
    const std::chrono::milliseconds by(to_ms(time - (BootClock::now() - start_)));
    start_ -= by;
    call({"EVAL", k_make_older, "0", std::to_string(by.count())});
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
  static constexpr Duration k_start = 100000h;  // far from the beginning of the clock
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

Comparison::Comparison(std::array<Twin, 2>& twins, unsigned seed) : twins_(twins), seed_(seed) {
  for (Twin& twin : twins_)
    twin.restart();
  set_time();
}

std::string Comparison::ask(const std::string& words, const Call& call) {
  const std::array<std::string, 2> answers = answers_to(call);
  transcript_ << words << "\n    " << answers[0] << '\n';
  compare(answers);
  return answers[0];
}

void Comparison::look(const LockName& name) {
  const auto inspected = [&](std::size_t i) {
    return texts[i].of(twins_[i].store->inspect(name, soon()), std::vector{name});
  };
  const std::array<std::string, 2> answers = answers_to(inspected);
  if (answers[0] != answers[1]) transcript_ << "inspect " << name.text() << "\n";
  compare(answers);
}

void Comparison::advance(Duration by) {
  time_ += by;
  transcript_ << "  at " << to_ms(time_) / 1000 << " s\n";
  set_time();
}

void Comparison::set_time() {
  synced_ = BootClock::now();
  for (Twin& twin : twins_)
    twin.set_time(time_);
}

std::array<std::string, 2> Comparison::answers_to(const Call& call) {
  constexpr Duration k_standstill = 900ms;  // less than a turn
  if (BootClock::now() - synced_ > 100ms) set_time();
  std::array<std::string, 2> answers{call(0), call(1)};
  if (BootClock::now() - synced_ > k_standstill) throw Standstill();
  return answers;
}

void Comparison::compare(const std::array<std::string, 2>& answers) {
  if (answers[0] == answers[1]) return;
  FAIL("two stores differ in seed ",
       seed_,
       ", the last answer was\n  ",
       twins_[0].name,
       ": ",
       answers[0],
       "\n  ",
       twins_[1].name,
       ": ",
       answers[1],
       "\nafter\n",
       transcript_.str());
}

}  // namespace dlock::contract
