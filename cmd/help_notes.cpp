// SPDX-License-Identifier: MIT
#include "cmd/help_notes.hpp"

#include "base/text.hpp"

#include <array>

namespace dlock {

namespace {

struct Meaning {
  std::string_view command, setting, help;
};
constexpr std::array k_meanings{
    Meaning{"renew", "ttl", "the lease from now on (default: that of acquire, DLOCK_TTL_MS)"},
    Meaning{"doctor", "ttl", "the lease of the runs to judge for (default 30s)"},
    Meaning{"inspect", "quiet", "print nothing: exit with 0 if NAME is held, with 1 if free"},
    Meaning{"doctor", "quiet", "print nothing: the exit status is the answer"},
};

struct StatusHelp {
  std::string_view commands;  // separated by blanks; empty: all
  int status;
  std::string_view text;
};
constexpr std::string_view k_with_store =
    "run acquire renew release wait inspect list forget freeze unfreeze force-release doctor";
constexpr std::array k_statuses{
    StatusHelp{"acquire", 0, "the lock was taken"},
    StatusHelp{"renew", 0, "the lease was renewed"},
    StatusHelp{"release force-release", 0, "the lock was released"},
    StatusHelp{"wait", 0, "the lock is free"},
    StatusHelp{"inspect", 0, "the answer was printed; with -q: NAME is held"},
    StatusHelp{"list config", 0, "the answer was printed"},
    StatusHelp{"forget", 0, "the success was forgotten"},
    StatusHelp{"freeze unfreeze", 0, "each NAME is frozen, or was unfrozen"},
    StatusHelp{"doctor", 0, "no error was found"},
    StatusHelp{"release", 1, "there was nothing to release"},
    StatusHelp{"inspect", 1, "with -q: NAME is free"},
    StatusHelp{"forget", 1, "there was nothing to forget"},
    StatusHelp{"unfreeze", 1, "a NAME was not frozen"},
    StatusHelp{"force-release", 1, "there was nothing to release, or you said no"},
    StatusHelp{"doctor", 1, "an error was found; with --strict, or a warning"},
    StatusHelp{"", 64, "wrong usage"},
    StatusHelp{k_with_store, 69, "the store cannot be reached, or refuses"},
    StatusHelp{"run acquire wait", 75, "the lock is busy (-E changes the number)"},
    StatusHelp{"release", 75, "another owner holds the lock, or a run does"},
    StatusHelp{"force-release", 75, "another holder has the lock, or it did not stop"},
    StatusHelp{k_with_store, 77, "the store refuses the user, the password or a right"},
    StatusHelp{"", 78, "wrong configuration"},
    StatusHelp{"run", 79, "the lock was lost, and CMD was stopped"},
    StatusHelp{"renew", 79, "the lock is lost or revoked"},
    StatusHelp{"run", 124, "--max-hold or --no-renew stopped CMD"},
    StatusHelp{"", 125, "dlock itself failed"},
    StatusHelp{"run", 126, "CMD cannot be executed"},
    StatusHelp{"run", 127, "CMD was not found"},
};

}  // namespace

std::string_view meaning_in(std::string_view command, std::string_view setting) {
  for (const Meaning& one : k_meanings) {
    if (one.command == command && one.setting == setting) return one.help;
  }
  return {};
}

std::string exit_statuses(std::string_view command) {
  const std::string_view of = command.empty() ? "run" : command;
  std::string text = command.empty() ? "exit status of run" : "exit status";
  text += of == "run" ? ": that of CMD, or\n" : ":\n";
  for (const StatusHelp& one : k_statuses) {
    if (!one.commands.empty() && !has_piece(one.commands, ' ', of)) continue;
    std::string left = "  " + std::to_string(one.status);
    left.resize(6, ' ');
    text += left + std::string(one.text) + "\n";
  }
  return text;
}

}  // namespace dlock
