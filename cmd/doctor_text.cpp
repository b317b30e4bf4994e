// SPDX-License-Identifier: MIT
#include "cmd/doctor_text.hpp"

#include <algorithm>

namespace dlock {

namespace {

constexpr std::size_t k_id_columns = 10;
// The last line of the report gives at most this many reasons why checks could not be made; the
// lines above it give all.
constexpr std::size_t k_most_reasons = 2;

std::string heading(char letter, std::string ids, const std::string& server) {
  ids.resize(std::max(ids.size(), k_id_columns), ' ');
  return std::string{letter, ' '} + ids + " " + server + "  ";
}

std::string lines_of(const Finding& finding, char letter) {
  std::string text = heading(letter, finding.id, finding.server) + finding.seen;
  if (!finding.text.empty()) text += (finding.seen.empty() ? "" : ": ") + finding.text;
  text += "\n";
  return finding.remedy.empty() ? text : text + "    " + finding.remedy + "\n";
}

// Lists the checks that could not be made: one line for each server and reason, with all checks
// that it concerns.
std::string unseen_lines(const std::vector<Finding>& findings) {
  struct Group {
    std::string ids;
    const Finding* first;
  };
  std::vector<Group> groups;
  for (const Finding& one : findings) {
    if (one.level != Level::not_seen) continue;
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
      return group.first->seen == one.seen && group.first->server == one.server;
    });
    if (same == groups.end()) {
      groups.push_back({one.id, &one});
    } else {
      same->ids += ", " + one.id;
    }
  }
  std::string text;
  for (const Group& group : groups)
    text += heading('?', group.ids, group.first->server) + "not seen: " + group.first->seen + "\n";
  return text;
}

std::string count_of(int count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string reasons(const std::vector<Finding>& findings) {
  std::vector<std::string> all;
  for (const Finding& one : findings) {
    if (one.level == Level::not_seen && std::find(all.begin(), all.end(), one.seen) == all.end())
      all.push_back(one.seen);
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(all.size(), k_most_reasons); ++i)
    text += (i == 0 ? "" : "; ") + all[i];
  return text + (all.size() > k_most_reasons ? "; …" : "");
}

std::string identity_line(const Identity& identity) {
  const std::string digest = digest_of(identity);
  if (digest.empty()) return "identity: not seen: " + identity.unseen + "\n";
  return "identity: " + digest + ": must be the same on every host that shares these locks\n";
}

std::string last_line(const Examination& examination) {
  const Tally tally = tally_of(examination);
  std::string text;
  if (tally.errors > 0) text += count_of(tally.errors, "error") + ", ";
  if (tally.warnings > 0) text += count_of(tally.warnings, "warning") + ", ";
  text += std::to_string(tally.good) + " good";
  if (tally.not_seen > 0) {
    text +=
        ", " + std::to_string(tally.not_seen) + " not seen (" + reasons(examination.findings) + ")";
  }
  return text + "\n";
}

}  // namespace

Tally tally_of(const Examination& examination) {
  const auto count = [&](Level level) {
    return static_cast<int>(std::count_if(examination.findings.begin(),
                                          examination.findings.end(),
                                          [&](const Finding& one) { return one.level == level; }));
  };
  return {.errors = count(Level::error),
          .warnings = count(Level::warning),
          .good = count(Level::info) + count(Level::good),
          .not_seen = count(Level::not_seen)};
}

std::string examination_text(const Examination& examination, bool verbose) {
  std::string text;
  for (const auto& [level, letter] : {std::pair{Level::error, 'E'},
                                      std::pair{Level::warning, 'W'},
                                      std::pair{Level::info, 'i'},
                                      std::pair{Level::good, '+'}}) {
    if (level == Level::good && !verbose) continue;
    for (const Finding& one : examination.findings) {
      if (one.level == level) text += lines_of(one, letter);
    }
  }
  return text + unseen_lines(examination.findings) + identity_line(examination.identity) +
         last_line(examination);
}

}  // namespace dlock
