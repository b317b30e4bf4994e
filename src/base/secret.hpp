// SPDX-License-Identifier: MIT
// Secret: a string that cannot be printed by accident. Only reveal() returns it, and only the line
// that sends AUTH calls reveal(). A secret in a file may change there while a lock is held: each
// reveal() reads the file again, so every login has the newest secret, on every store.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace dlock {

class Secret {
 public:
  // Reads the secret from outside; nothing: it cannot be read at the moment.
  using Read = std::function<std::optional<std::string>()>;

  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  Secret(std::string text, Read newest) : text_(std::move(text)), newest_(std::move(newest)) {}

  bool empty() const { return text_.empty(); }
  // The newest secret that could be read. One thread at a time; each copy may have its own.
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
