// SPDX-License-Identifier: MIT
#include "sys/child.hpp"

#include "base/errno_text.hpp"
#include "sys/after_fork.hpp"
#include "sys/pidfd.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

namespace dlock {

namespace {

// Returns the addresses in `environment` to which the child must write its own pid. systemd gives
// sockets and a watchdog to one process, which it names by its pid (sd_listen_fds(3),
// sd_watchdog_enabled(3)). What dlock gets is meant for the command, whose pid is known only after
// the fork.
std::array<char*, 2> places_for_pid(std::vector<std::string>& environment) {
  constexpr std::array<std::string_view, 2> k_names{"LISTEN_PID=", "WATCHDOG_PID="};
  std::array<char*, 2> places{};
  const auto own = [](std::string_view entry, std::string_view name) {
    return entry.starts_with(name) && entry.substr(name.size()) == std::to_string(::getpid());
  };
  // Newer systemd also names the process by the inode of its pidfd. The inode for the command is
  // not known before the fork, so the variable is removed.
  if (std::any_of(environment.begin(), environment.end(), [&](const std::string& entry) {
        return own(entry, k_names.front());
      })) {
    std::erase_if(environment,
                  [](const std::string& entry) { return entry.starts_with("LISTEN_PIDFDID="); });
  }
  for (std::string& entry : environment) {
    for (std::size_t i = 0; i < k_names.size(); ++i) {
      const std::size_t size = k_names.at(i).size();
      if (!own(entry, k_names.at(i))) continue;
      entry.resize(size + k_pid_room);
      places.at(i) = entry.data() + size;
    }
  }
  return places;
}

constexpr int k_most_looks = 10;  // the most looks at /proc in one group_alive()
constexpr Duration k_between_waits = std::chrono::seconds(1);

}  // namespace

Result<Child> Child::prepare(bool contain, bool has_others) {
  Child child;
  child.contain_ = contain;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return Error{Errc::system, "cannot make a pipe: " + errno_text(errno)};
  }
  child.error_in_.reset(ends[0]);
  child.error_out_.reset(ends[1]);
  siginfo_t older{};
  bool any = false;
  do {  // reaps the dead children: only living ones count
    older.si_pid = 0;
    any = ::waitid(P_ALL, 0, &older, WEXITED | WNOHANG) == 0;
  } while (older.si_pid != 0);
  if (!any && errno != ECHILD)  // waitid(2) is refused: then the command's end would not be seen
    return Error{Errc::system, "cannot wait for processes: " + errno_text(errno)};
  // Pid 1 of a container gets the orphans of every process that enters the container, so it may
  // have children that are not the command's.
  child.strangers_ = has_others || any || ::getpid() == 1;
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 && contain)
    return Error{Errc::system, "cannot adopt what the command leaves: " + errno_text(errno)};
  return child;
}

Result<void> Child::start_guard() {
  // The cgroup is made here and not in prepare(): a run that ends before it has a guard must leave
  // no cgroup behind.
  if (!containment_.has_cgroup()) containment_ = Containment::make(contain_);
  return guard_.start(containment_.kill_switch());
}

void Child::drop_guard() {
  guard_.reap();
  guard_ = Guard();
  containment_.remove();
  containment_ = Containment::make(false);
}

Result<void> Child::start(ChildSpec spec, const Signals& signals) {
  if (!guard_.started()) {
    auto guarded = start_guard();
    if (!guarded) return guarded;
  }
  const auto words = pointers(spec.words);
  const auto pid_places = places_for_pid(spec.environment);
  const auto environment = pointers(spec.environment);
  const bool needs_mark = strangers_ && contain_ && !containment_.has_cgroup();
  limit_ = needs_mark ? unlike_limit().value_or(0) : 0;
  const AfterFork order{.words = words.data(),
                        .environment = environment.data(),
                        .signals = &signals,
                        .parent = ::getpid(),
                        .terminal = spec.terminal,
                        .cgroup_entry = containment_.entry(),
                        .limit = limit_,
                        .guard_line = guard_.line(),
                        .kill_at = spec.kill_at,
                        .error_pipe = error_out_.get(),
                        .pid_places = pid_places};
  mark_ = std::move(spec.mark);
  const pid_t pid = bare_fork();
  if (pid == 0) become_child(order);
  if (pid < 0) {
    return Error{Errc::system, "cannot start a process: " + errno_text(errno)};
  }
  ::setpgid(pid, pid);  // the child does it too: the group exists before either goes on
  pid_ = pid;
  guard_.note_order({.group = pid, .kill_at = spec.kill_at});
  error_out_.reset();
  children_.open();  // costs no time: the command starts meanwhile
  return {};
}

// Returns our living children besides the command and the guard, after reaping the dead ones;
// nullopt: there is no list of children. An orphan is in the list before its parent shows as dead,
// so a list without a dead process is complete.
std::optional<std::vector<pid_t>> Child::adopted() const {
  for (;;) {
    auto all = children_.look();
    if (!all) return {};
    bool reaped = false;
    std::erase_if(*all, [&](pid_t pid) {
      if (pid == pid_ || pid == guard_.pid()) return true;
      const bool dead = ::waitpid(pid, nullptr, WNOHANG) != 0;
      reaped = reaped || dead;
      return dead;
    });
    if (!reaped) return all;
  }
}

// Returns whether the process descends from the command. If dlock may have other children, a
// descendant of dlock counts only if the process or an ancestor is the command, is in the command's
// cgroup, or has the limit or the mark of the command.
bool Child::is_of_command(const ProcessEntry& entry) const {
  const std::vector<pid_t> line = lineage(entry, ::getpid());
  if (!strangers_) return !line.empty();
  return std::any_of(line.begin(), line.end(), [&](pid_t pid) {
    return pid == pid_ || containment_.has(pid) || (limit_ != 0 && has_limit(pid, limit_)) ||
           (!mark_.empty() && environment_has(pid, mark_).value_or(false));
  });
}

bool Child::belongs(const ProcessEntry& entry) const {
  if (entry.pid == guard_.pid()) return false;
  if (entry.group == pid_) return true;
  if (contain_) return is_of_command(entry);
  return !mark_.empty() && entry.session == ::getsid(0) &&
         environment_has(entry.pid, mark_).value_or(false);
}

std::optional<std::vector<pid_t>> Child::members() const {
  const auto all = living_processes();
  if (!all) return {};
  std::vector<pid_t> pids;
  for (const ProcessEntry& entry : *all) {
    if (belongs(entry)) pids.push_back(entry.pid);
  }
  return pids;
}

std::size_t Child::strays() const {
  if (const auto others = adopted(); others && others->empty()) return 0;
  const auto all = living_processes().value_or(std::vector<ProcessEntry>{});
  const std::string own_name = living_process(::getpid()).value_or(ProcessEntry{}).name;
  // A nested dlock and its guard are no strays; the command that the nested dlock runs may be one.
  const auto is_nested = [&](const ProcessEntry& entry) {
    const auto is_parent = [&](const ProcessEntry& other) {
      return other.parent == entry.pid && other.name != k_guard_name;
    };
    return entry.name == k_guard_name ||
           (entry.name == own_name && std::any_of(all.begin(), all.end(), is_parent));
  };
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](const auto& entry) {
    return entry.pid != guard_.pid() && is_of_command(entry) && !belongs(entry) &&
           !is_nested(entry);
  }));
}

ChildChange Child::next_change() {
  if (!started() || ended_) {
    adopted();
    return {};
  }
  siginfo_t info{};
  constexpr int k_look = WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT;
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, k_look) != 0 || info.si_pid == 0) {
    adopted();
    return {};
  }
  if (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED) {
    ended_ = true;
    return {.kind = ChildChange::Kind::ended,
            .by_signal = info.si_code != CLD_EXITED,
            .value = info.si_status};
  }
  // Consume the stop or continue, or the next waitid() would report it again.
  siginfo_t taken{};
  ::waitid(P_PID, static_cast<id_t>(pid_), &taken, WSTOPPED | WCONTINUED | WNOHANG);
  return {.kind = info.si_code == CLD_CONTINUED ? ChildChange::Kind::continued
                                                : ChildChange::Kind::stopped,
          .value = info.si_status};
}

int Child::exec_error() const {
  int error = 0;
  const ssize_t n = ::read(error_in_.get(), &error, sizeof error);
  return n == static_cast<ssize_t>(sizeof error) ? error : 0;
}

// Returns whether a process of the command lives. For the case that /proc does not show our
// processes. waitid(2) without WEXITED ignores dead children, so it fails if no child lives. If
// dlock may have other children, it looks only at the group. The guard is a child too and has to be
// ended for each look, so there is at most one look a second.
bool Child::child_lives() {
  const Time now = BootClock::now();
  if (!guard_.dismissed() && now < next_wait_) return true;
  next_wait_ = now + k_between_waits;
  guard_.end();
  siginfo_t info{};
  const idtype_t whom = strangers_ ? P_PGID : P_ALL;
  const auto group = static_cast<id_t>(pid_);
  const bool lives = ::waitid(whom, group, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0;
  if (lives) guard_.resume();
  return lives;
}

// Looks at /proc again if the list of our children has changed during the look. The look may have
// missed a process that was born while its parent died, and that process is now our child.
bool Child::group_alive() {
  for (int looks = 0; looks < k_most_looks; ++looks) {
    const auto before = adopted();
    if (before && before->empty()) return false;
    const auto left = members();
    // Without /proc only our children can be seen. Without --contain the group counts as gone once
    // KILL was sent to all of it: a child that still lives may be a daemon, which does not belong
    // to the command.
    if (!left) return (contain_ || !kill_sent_) && child_lives();
    if (!left->empty()) return true;
    if (adopted() == before) return false;
  }
  return true;
}

void Child::signal_group(int number, bool wake) {
  if (!started()) return;
  // The group and its guard are killed by one kill(2). If dlock is frozen before the call, the
  // guard lives and can kill the group. After the call no process of the group lives.
  if (number == SIGKILL) containment_.kill_all();
  ::kill(-pid_, number);
  if (wake) ::kill(-pid_, SIGCONT);
  if (number == SIGKILL) {
    kill_sent_ = true;
    guard_.dismiss();  // the KILL reached the guard too; it must not be replaced
  }
  if (!ended_ && !contain_) return;
  for (const pid_t pid : members().value_or(std::vector<pid_t>{})) {
    signal_member(pid, number);
    if (wake) signal_member(pid, SIGCONT);
  }
}

// Signals a process of the command outside its group. The pid may have been reused: so this opens a
// pidfd, and only then checks that the process still belongs to the command.
void Child::signal_member(pid_t pid, int number) const {
  const UniqueFd held(::pidfd_open(pid, 0));
  int error = held ? 0 : errno;
  const auto entry = living_process(pid);
  if (!entry || entry->group == pid_ || !belongs(*entry)) return;
  if (held && ::pidfd_send_signal(held.get(), number, nullptr, 0) != 0) error = errno;
  // Without pidfd (an old kernel, or a system call filter) kill(2) is used.
  if (error == ENOSYS || error == EPERM) ::kill(pid, number);
}

void Child::end_group() {
  // The group's id is valid until reap(): this also reaches members that /proc did not show.
  if (started()) ::kill(-pid_, SIGKILL);
  guard_.dismiss();
}

void Child::reap() {
  guard_.reap();
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  pid_ = 0;
  containment_.remove();
}

}  // namespace dlock
