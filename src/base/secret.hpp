// SPDX-License-Identifier: MIT
// Secret: a string that cannot be printed by accident. Only reveal() gives it away, and only the
// line that sends AUTH calls it. One that is kept in a file may change there while a lock is held:
// each reveal() reads it anew, so every login has the newest one, on every store.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace dlock {

class Secret {
 public:
  // What is kept outside now; nothing: it cannot be read at the moment.
  using Read = std::function<std::optional<std::string>()>;

  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  Secret(std::string text, Read newest) : text_(std::move(text)), newest_(std::move(newest)) {}

  bool empty() const { return text_.empty(); }
  // The last one that could be read. One thread at a time, as long as it is of no copy.
  std::string reveal() const {
    if (!newest_) return text_;
    if (auto text = newest_(); text && !text->empty()) text_ = std::move(*text);
    return text_;
  }

 private:
  mutable std::string text_;
  Read newest_;
};

}  // namespace dlock
