// SPDX-License-Identifier: MIT
#include "store/open_store.hpp"

#include "store/local/local_store.hpp"
#include "store/redis/redis_store.hpp"

#include <array>
#include <string_view>
#include <utility>

namespace dlock {

namespace {

using Opener = Result<std::unique_ptr<LockStore>> (*)(const StoreOptions&);

Result<std::unique_ptr<LockStore>> open_local(const StoreOptions& options) {
  return LocalStore::open(options.url, options.interrupt);
}

struct Store {
  std::string_view scheme;
  std::string_view form;  // of a URL, behind the scheme
  Opener open;
};

constexpr std::array<Store, 8> k_stores{{
    {"redis", "://host:6379", &RedisStore::open},
    {"rediss", "://host:6379", &RedisStore::open},
    {"redis+sentinel", "://h1,h2,h3/NAME", &RedisStore::open},
    {"rediss+sentinel", "://h1,h2,h3/NAME", &RedisStore::open},
    {"redis+cluster", "://h1,h2,h3", &RedisStore::open},
    {"rediss+cluster", "://h1,h2,h3", &RedisStore::open},
    {"redis+unix", ":///path", &RedisStore::open},
    {"local", ":///dir", &open_local},
}};

Error bad(std::string reason) {
  return {Errc::bad_usage, std::move(reason)};
}

}  // namespace

const std::string& store_forms() {
  static const std::string forms = [] {
    std::string text;
    for (std::size_t i = 0; i < k_stores.size(); ++i) {
      const std::string_view gap = i == 0 ? "" : i + 1 < k_stores.size() ? ", " : " or ";
      text += std::string(gap) + std::string(k_stores[i].scheme) + std::string(k_stores[i].form);
    }
    return text;
  }();
  return forms;
}

Result<std::unique_ptr<LockStore>> open_store(const StoreOptions& options) {
  const std::string_view url = options.url;
  const std::size_t colon = url.find("://");
  if (colon == std::string_view::npos) return bad("it has no scheme; write " + store_forms());
  const std::string_view scheme = url.substr(0, colon);
  for (const Store& store : k_stores) {
    if (scheme == store.scheme) return store.open(options);
  }
  return bad("there is no store with this scheme; write " + store_forms());
}

}  // namespace dlock
