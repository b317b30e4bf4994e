// SPDX-License-Identifier: MIT
#include "store/local/local_store.hpp"

#include "base/file_stem.hpp"
#include "base/text.hpp"
#include "store/local/local_file.hpp"
#include "store/local/local_url.hpp"
#include "store/state_json.hpp"

#include <sys/inotify.h>

#include <algorithm>
#include <set>
#include <utility>

namespace dlock {

using lease_table::pointers_to;
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

}  // namespace

LocalStore::LocalStore(local::Place directory, local::Machine machine, const Interrupt* interrupt)
    : directory_(std::move(directory)), machine_(std::move(machine)), interrupt_(interrupt) {}

Result<local::Place> LocalStore::place_of(const StoreOptions& options) {
  return local::parse_url(options.url, k_scheme, "directory", "local:///var/lib/dlock");
}

Result<std::unique_ptr<LockStore>> LocalStore::open(const local::Place& place,
                                                    const StoreOptions& options) {
  auto machine = local::Machine::here();
  if (!machine) return machine.error();
  if (auto opened = local::open_directory(place, /*made_if_missing=*/true); !opened) {
    return opened.error();
  }
  return std::unique_ptr<LockStore>(new LocalStore(place, std::move(*machine), options.interrupt));
}

std::string LocalStore::where() const {
  return local::url_of(k_scheme, directory_.path);
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
  if (local::is_of_another_boot(*lease, machine_.stamp())) lease_table::make_free(lease->state);
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
  // Locks the files in the order of their names. Otherwise two processes could wait for each other.
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
  const auto json = state_to_write({name, machine_.stamp(), state});
  if (!json) return json.error();
  auto old = local::replace_file(file, *json);
  if (!old) return old.error();
  replaced_.push_back(std::move(*old));
  return {};
}

Result<void> LocalStore::write_all(int directory,
                                   const std::vector<LockName>& names,
                                   const std::vector<StoredLock>& before,
                                   const std::vector<StoredLock>& after,
                                   const Step& step) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!step.writes_lock(i)) continue;
    auto written = write(directory, names[i].text(), after[i]);
    if (written) continue;
    while (i-- > 0)  // restores the files already written, as far as the disk permits
      if (step.writes_lock(i)) (void)write(directory, names[i].text(), before[i]).has_value();
    return written;
  }
  return {};
}

Result<void> LocalStore::transact(const std::vector<LockName>& names,
                                  const Occasion& /*occasion*/,
                                  Time limit,
                                  const Change& change) {
  // The files that the previous change replaced are closed at the end of this function, after the
  // file locks are released. Closing a replaced file frees its blocks, which may wait for the disk.
  // So a change does not close the files that it has replaced itself: its answer would be late.
  const std::vector<UniqueFd> past = std::exchange(replaced_, {});
  const Time sent_at = BootClock::now();
  for (;;) {
    const auto directory = local::open_directory(directory_, /*made_if_missing=*/false);
    if (!directory) return reached(Reach::nothing, directory.error());
    const auto held = lock_all(directory->get(), names, limit);
    if (!held) return reached(Reach::nothing, held.error());
    const auto before = load_all(directory->get(), names);
    if (!before) return before.error();
    std::vector<StoredLock> after = *before;
    // A claim that is refused writes nothing. Otherwise waiters would wake each other again and
    // again.
    const Step step = change(pointers_to(after), machine_.moment(sent_at));
    if (!step.writes) return {};
    // If a lock file was removed, another process may have created it anew and locked that file at
    // the same time. Then this change starts anew.
    const bool alone = std::all_of(held->begin(), held->end(), [](const Locked& locked) {
      return locked.lock.is_current(locked.file);
    });
    if (alone) return write_all(directory->get(), names, *before, after, step);
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
  // Locks no file: because a file is replaced by rename(2), a reader sees the file before or after
  // a change, never in between.
  const Time sent_at = BootClock::now();
  const auto directory = local::open_directory(directory_, /*made_if_missing=*/false);
  if (!directory) return directory.error();
  auto states = load_all(directory->get(), names);
  if (!states) return states.error();
  look(pointers_to(*states), machine_.moment(sent_at));
  return {};
}

Result<std::optional<std::string>> LocalStore::listed_name(int directory,
                                                           const std::string& stem) const {
  const local::FileAt file{directory, directory_.path, stem + std::string(k_state_suffix)};
  const auto text = local::read_file(file);
  if (!text) return text.error();
  if (!text->has_value()) return std::optional<std::string>();  // the file was removed meanwhile
  const auto lease = parse_state_file(**text);
  // The file is damaged, so the lock may be held: it is listed, and inspect says what is wrong with
  // the file.
  if (!lease) return name_from_stem(stem);
  if (local::is_of_another_boot(*lease, machine_.stamp()) ||
      !lease_table::is_live(lease->state, machine_.now())) {
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

Result<void> LocalStore::watch_rows(const std::vector<LockName>& names,
                                    const std::vector<std::string>& /*ids*/,
                                    Time /*limit*/) {
  constexpr auto k_what = IN_MOVED_TO | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
  auto events = FileEvents::of(directory_.path, k_what);
  if (!events) return events.error();
  events_ = std::move(*events);
  watched_files_.clear();
  for (const LockName& name : names)
    watched_files_.insert(state_file_name(name.text()));
  return {};
}

Result<bool> LocalStore::await_change(Time until) {
  const auto concerns = [&](std::string_view file) {
    return file.empty() || watched_files_.contains(file);
  };
  return events_.wait(concerns, until, interrupt_);
}

}  // namespace dlock
