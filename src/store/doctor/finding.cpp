// SPDX-License-Identifier: MIT
#include "store/doctor/finding.hpp"

#include "base/duration.hpp"

#include <array>
#include <cstdio>

namespace dlock {

std::string fine_duration(Duration d) {
  using namespace std::chrono_literals;
  if (d >= 1s) return format_duration(d);
  const double ms = std::chrono::duration<double, std::milli>(d).count();
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), ms < 10 ? "%.2fms" : "%.0fms", ms);
  return text.data();
}

void Findings::add(const char* id, Finding finding) {
  finding.id = id;
  finding.server = server_;
  all_.push_back(std::move(finding));
}

Finding judge_connect(const std::string& text) {
  return broken(text,
                "no run can start, and no holder can renew",
                "mend what the reason names: the URL, the password, the network or the server");
}

Finding judge_answers(Duration p50, Duration p99, Duration ttl, const std::string& more) {
  const std::string seen =
      "an answer takes " + fine_duration(p50) + " (p50), " + fine_duration(p99) + " (p99)" + more;
  const std::string remedy = "use a server that is nearer or less busy, or a longer --ttl";
  if (p99 > ttl / 10)
    return broken(seen, "renewals will time out: each may take a tenth of the lease", remedy);
  if (p99 > ttl / 50) return warning(seen, "close to what a renewal may take", remedy);
  return info(seen);
}

}  // namespace dlock
