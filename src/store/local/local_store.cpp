// SPDX-License-Identifier: MIT
#include "store/local/local_store.hpp"

#include "base/errno_text.hpp"
#include "base/text.hpp"
#include "store/local/local_file.hpp"
#include "store/record_json.hpp"
#include "sys/process_watch.hpp"

#include <poll.h>
#include <sys/inotify.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <set>
#include <utility>

namespace dlock {

using lease_table::States;
using lease_table::StoredLock;

namespace {

constexpr std::string_view k_scheme = "local://";
constexpr std::string_view k_lock_suffix = ".lock";
constexpr std::string_view k_state_suffix = ".json";

std::string lock_file_name(const std::string& name) {
  return local::file_stem(name) + std::string(k_lock_suffix);
}

std::string state_file_name(const std::string& name) {
  return local::file_stem(name) + std::string(k_state_suffix);
}

States pointers_to(std::vector<StoredLock>& all) {
  States states;
  for (StoredLock& state : all)
    states.push_back(&state);
  return states;
}

Result<local::LockDirectory> directory_of(std::string_view url) {
  // Without the URL itself: somebody may have put a password into it.
  const auto bad = [](std::string_view reason) {
    return Error{Errc::bad_usage, std::string(reason) + "; write local:///run/lock/dlock"};
  };
  if (!url.starts_with(k_scheme)) return bad("it does not begin with local://");
  url.remove_prefix(k_scheme.size());
  const std::size_t question = std::min(url.find('?'), url.size());
  const bool unshared = url.substr(question) == "?shared=no";
  if (question < url.size() && !unshared) return bad("only ?shared=no may follow the directory");
  const std::string path = percent_decode(url.substr(0, question));
  if (path.empty() || path.front() != '/') return bad("the directory is not an absolute path");
  if (path.find('\0') != std::string::npos) return bad("there is a NUL in the path");
  std::string normal = std::filesystem::path(path).lexically_normal().string();
  while (normal.size() > 1 && normal.back() == '/')
    normal.pop_back();
  if (normal.starts_with("//")) normal.erase(0, 1);
  if (normal == "/") return bad("the root directory is no place for locks");
  return local::LockDirectory{.path = std::move(normal), .unshared = unshared};
}

// Sleeps until one of the descriptors is readable, `until`, or a signal.
void sleep_until(std::array<pollfd, 2>& waits, Time until) {
  const Time now = BootClock::now();
  if (now >= until) return;
  // In slices: poll(2) stands still while the machine sleeps, BootClock does not.
  const Duration sleep = std::min<Duration>(until - now, std::chrono::minutes(1));
  const auto seconds = std::chrono::floor<std::chrono::seconds>(sleep);
  const timespec time{.tv_sec = seconds.count(), .tv_nsec = (sleep - seconds).count()};
  ::ppoll(waits.data(), waits.size(), &time, nullptr);
}

}  // namespace

LocalStore::LocalStore(local::LockDirectory directory,
                       std::string boot_id,
                       const Interrupt* interrupt)
    : directory_(std::move(directory)), boot_id_(std::move(boot_id)), interrupt_(interrupt) {}

Result<std::unique_ptr<LockStore>> LocalStore::open(std::string_view url,
                                                    const Interrupt* interrupt) {
  auto directory = directory_of(url);
  if (!directory) return directory.error();
  std::string boot = boot_id();
  if (boot.empty()) {
    return Error{Errc::system,
                 "cannot keep local locks: /proc/sys/kernel/random/boot_id is not readable"};
  }
  if (auto opened = local::open_directory(*directory, /*made_if_missing=*/true); !opened) {
    return opened.error();
  }
  return std::unique_ptr<LockStore>(
      new LocalStore(std::move(*directory), std::move(boot), interrupt));
}

std::string LocalStore::where() const {
  return std::string(k_scheme) + percent_encode(directory_.path, "-._~/");
}

Result<StoredLock> LocalStore::load(int directory, const std::string& name) const {
  const local::FileAt file{directory, directory_.path, state_file_name(name)};
  auto text = local::read_file(file);
  if (!text) return text.error();
  if (!text->has_value()) return StoredLock();
  const std::string path = printable(file.path + '/' + file.name);
  auto lease = parse_state_file(**text);
  if (!lease) {
    return Error{Errc::refused,
                 "cannot read lock " + in_quotes(name) + ": " + path +
                     " is damaged: remove it if no job runs under this lock"};
  }
  if (lease->name != name) {
    return Error{Errc::refused,
                 "cannot read lock " + in_quotes(name) + ": " + path + " belongs to lock " +
                     in_quotes(lease->name)};
  }
  if (lease->boot_id != boot_id_) lease_table::make_free(lease->state);
  return std::move(lease->state);
}

Result<std::vector<StoredLock>> LocalStore::load_all(int directory,
                                                     const std::vector<LockName>& names) const {
  std::vector<StoredLock> states;
  for (const LockName& name : names) {
    auto state = load(directory, name.text());
    if (!state) return state.error();
    states.push_back(std::move(*state));
  }
  return states;
}

struct LocalStore::Locked {
  local::FileAt file;
  local::FileLock lock;
};

Result<std::vector<LocalStore::Locked>> LocalStore::lock_all(int directory,
                                                             const std::vector<LockName>& names,
                                                             Time limit) const {
  // In one order for everybody, or two could wait for each other.
  std::set<std::string> files;
  for (const LockName& name : names)
    files.insert(lock_file_name(name.text()));
  std::vector<Locked> all;
  for (const std::string& file : files) {
    const local::FileAt at{directory, directory_.path, file};
    auto lock = local::lock_file(at, limit, interrupt_);
    if (!lock) return lock.error();
    all.push_back({at, std::move(*lock)});
  }
  return all;
}

Result<void> LocalStore::write(int directory, const std::string& name, const StoredLock& state) {
  const local::FileAt file{directory, directory_.path, state_file_name(name)};
  auto old = local::replace_file(file, state_file_json({name, boot_id_, state}));
  if (!old) return old.error();
  replaced_.push_back(std::move(*old));
  return {};
}

Result<void> LocalStore::write_all(int directory,
                                   const std::vector<LockName>& names,
                                   const std::vector<StoredLock>& before,
                                   const std::vector<StoredLock>& after) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto written = write(directory, names[i].text(), after[i]);
    if (written) continue;
    while (i-- > 0)  // all or none, if the disk lets us
      (void)write(directory, names[i].text(), before[i]).has_value();
    return written;
  }
  return {};
}

Result<void> LocalStore::transact(const std::vector<LockName>& names,
                                  Time limit,
                                  const Change& change) {
  // To close a replaced file frees it, which may wait for the disk: not with the locks held, nor
  // before a grant is answered. By the next change it has long been written, and that wait is over.
  const std::vector<UniqueFd> past = std::exchange(replaced_, {});
  const Time sent_at = BootClock::now();
  for (;;) {
    const auto directory = local::open_directory(directory_, /*made_if_missing=*/false);
    if (!directory) return directory.error();
    const auto held = lock_all(directory->get(), names, limit);
    if (!held) return held.error();
    const auto before = load_all(directory->get(), names);
    if (!before) return before.error();
    std::vector<StoredLock> after = *before;
    // A refused attempt writes nothing: it would wake the other waiters, and they this one.
    if (!change(pointers_to(after), local_moment(sent_at)).writes) return {};
    // A removed lock file admits others to the data at the same time: read it again.
    const bool alone = std::all_of(held->begin(), held->end(), [](const Locked& locked) {
      return locked.lock.is_current(locked.file);
    });
    if (alone) return write_all(directory->get(), names, *before, after);
    if (BootClock::now() >= limit) {
      return Error{Errc::timed_out,
                   "cannot change lock " + in_quotes(names.front().text()) +
                       ": the file keeps being replaced"};
    }
  }
}

Result<void> LocalStore::read(const std::vector<LockName>& names,
                              Time /*limit*/,
                              const Look& look) {
  // Without the lock: rename(2) shows the file before or after a change, never in between.
  const Time sent_at = BootClock::now();
  const auto directory = local::open_directory(directory_, /*made_if_missing=*/false);
  if (!directory) return directory.error();
  auto states = load_all(directory->get(), names);
  if (!states) return states.error();
  look(pointers_to(*states), local_moment(sent_at));
  return {};
}

Result<std::optional<std::string>> LocalStore::listed_name(int directory,
                                                           const std::string& stem) const {
  const local::FileAt file{directory, directory_.path, stem + std::string(k_state_suffix)};
  const auto text = local::read_file(file);
  if (!text) return text.error();
  if (!text->has_value()) return std::optional<std::string>();  // removed since
  const auto lease = parse_state_file(**text);
  // A damaged file may be that of a lock: inspect says what is wrong with it.
  if (!lease) return local::name_from_stem(stem);
  if (lease->boot_id != boot_id_ ||
      !lease_table::is_live(lease->state, lease_table::store_time(BootClock::now()))) {
    return std::optional<std::string>();
  }
  return std::optional(lease->name);
}

Result<std::vector<std::string>> LocalStore::list(std::string_view glob, Time limit) {
  const auto directory = local::open_directory(directory_, /*made_if_missing=*/false);
  if (!directory) return directory.error();
  const auto stems = local::entries(directory_.path, k_state_suffix);
  if (!stems) return stems.error();
  std::vector<std::string> names;
  for (const std::string& stem : *stems) {
    if (BootClock::now() >= limit) {
      return Error{Errc::timed_out, "cannot list " + where() + ": too many files for the limit"};
    }
    auto name = listed_name(directory->get(), stem);
    if (!name) return name.error();
    if (name->has_value() && lease_table::glob_matches(glob, **name)) {
      names.push_back(std::move(**name));
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<void> LocalStore::watch_names(const std::vector<LockName>& names, Time /*limit*/) {
  UniqueFd events(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  constexpr auto k_what = IN_MOVED_TO | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
  if (!events || ::inotify_add_watch(events.get(), directory_.path.c_str(), k_what) < 0) {
    return Error{Errc::refused, "cannot watch " + where() + ": " + errno_text(errno)};
  }
  events_ = std::move(events);
  watched_files_.clear();
  for (const LockName& name : names)
    watched_files_.insert(state_file_name(name.text()));
  return {};
}

// Reads what inotify has; true if some of it concerns a watched lock.
bool LocalStore::took_events() const {
  alignas(inotify_event) std::array<char, 4096> buffer{};
  bool concerns_us = false;
  for (;;) {
    const ssize_t n = ::read(events_.get(), buffer.data(), buffer.size());
    if (n <= 0) return concerns_us;
    std::size_t at = 0;
    while (at < static_cast<std::size_t>(n)) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const bool named = event.len > 0;  // else: about the directory, or an overflow
      const char* file = buffer.data() + at + sizeof event;
      concerns_us |= !named || watched_files_.contains(std::string_view(file));
      at += sizeof event + event.len;
    }
  }
}

Result<bool> LocalStore::await_change(Time until) {
  for (;;) {
    if (events_ && took_events()) return true;
    if (BootClock::now() >= until) return false;
    std::array<pollfd, 2> waits{pollfd{.fd = events_.get(), .events = POLLIN, .revents = 0},
                                polled(interrupt_)};
    sleep_until(waits, until);
    if (ends_call(interrupt_, waits[1])) {
      return Error{Errc::cancelled, "cannot wait longer: interrupted"};
    }
  }
}

}  // namespace dlock
