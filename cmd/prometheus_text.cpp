// SPDX-License-Identifier: MIT
#include "cmd/prometheus_text.hpp"

#include "base/text.hpp"

#include <array>
#include <cstdio>

namespace dlock {

std::string metric_heading(const std::string& name,
                           const std::string& type,
                           const std::string& help) {
  return "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
}

// The format allows UTF-8 only, and escapes ", \ and line breaks, which a name cannot contain. The
// second label keeps an encoded name apart from a name that looks like it.
std::string lock_label(const std::string& name) {
  if (!is_utf8(name)) return "lock=\"" + percent_encode(name) + "\",encoding=\"percent\"";
  std::string label = "lock=\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') label += '\\';
    label += c;
  }
  return label + '"';
}

std::string metric_seconds(long long ms) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f", static_cast<double>(ms) / 1000);
  return text.data();
}

}  // namespace dlock
