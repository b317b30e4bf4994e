// SPDX-License-Identifier: MIT
// The text format of Prometheus (version 0.0.4), as far as dlock writes it.
#pragma once

#include <string>

namespace dlock {

// Returns the HELP and TYPE lines of a metric. `type` is "gauge" or "counter".
std::string metric_heading(const std::string& name,
                           const std::string& type,
                           const std::string& help);

// Returns `lock="…"`, the label that every series of a lock has. The name cannot leave it. A name
// that is not UTF-8 is percent-encoded, and has the label encoding="percent".
std::string lock_label(const std::string& name);

// Returns milliseconds as seconds: "12.345".
std::string metric_seconds(long long ms);

}  // namespace dlock
