// SPDX-License-Identifier: MIT
// Secret: a string that cannot be printed by accident. Only reveal() gives it away, and only the
// line that sends AUTH calls it.
#pragma once

#include <string>
#include <utility>

namespace dlock {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  bool empty() const { return text_.empty(); }
  const std::string& reveal() const { return text_; }

 private:
  std::string text_;
};

}  // namespace dlock
