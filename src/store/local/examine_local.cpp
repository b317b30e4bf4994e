// SPDX-License-Identifier: MIT
#include "store/local/examine_local.hpp"

#include "base/errno_text.hpp"
#include "base/text.hpp"
#include "store/doctor/trial.hpp"
#include "store/local/file_system.hpp"
#include "store/local/local_file.hpp"
#include "store/local/local_store.hpp"
#include "store/local/sharing.hpp"
#include "store/local/trusted_place.hpp"

#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

namespace dlock {

namespace {

std::vector<std::string> files_in(const std::string& directory) {
  const std::string in_it = directory + '/';
  std::vector<std::string> files;
  for (const std::string suffix : {".lock", ".json"})
    if (const auto stems = local::entries(directory, suffix))
      for (const std::string& stem : *stems)
        files.push_back(std::string(in_it).append(stem).append(suffix));
  return files;
}

Finding judge_directory(const local::Step& step) {
  const struct stat& status = step.status;
  const std::string seen = printable(step.path) + " has " + local::rights_of(status);
  if (const auto fault = local::fault_of(step, true))
    return broken(seen, "it " + *fault + ": no lock is kept there (77)", local::place_for_locks());
  if (local::is_shared(status)) {
    return good(seen + "; the members of group " + std::to_string(status.st_gid) +
                " share the locks");
  }
  if ((status.st_mode & S_IWGRP) != 0) {
    return warning(seen,
                   "without the setgid bit a lock is for the group of its first user",
                   "chmod g+s " + printable(step.path));
  }
  return info(seen, "that user and root can take locks there");
}

Finding judge_parent(const local::Step& step) {
  return broken(printable(step.path) + " has " + local::rights_of(step.status),
                "it " + local::fault_of(step, false).value_or("") +
                    ", and another directory could be put in the place of the locks (77)",
                local::place_for_locks());
}

// Removes the files of the lock that `dlock doctor` has tried; a release leaves these files for the
// next holder. Also removes the directory if opening the store has made it.
void tidy_up(const std::string& path, const LockName& name, bool was_there) {
  for (const char* const suffix : {".lock", ".json"}) {
    ::unlink((path + '/' + local::file_stem(name.text()) + suffix).c_str());
  }
  if (!was_there) ::rmdir(path.c_str());
}

}  // namespace

std::vector<Finding> judge_place(const std::string& path, bool is_file) {
  const local::Way way = local::way_to(path);
  const bool is_there = way.to_directory != is_file;
  const std::size_t end = is_there ? way.end : way.steps.size();
  std::vector<Finding> all;
  if (is_there) all.push_back(judge_directory(way.steps[end]));
  for (std::size_t i = 0; i < way.steps.size(); ++i)
    if (i != end && local::fault_of(way.steps[i], false)) all.push_back(judge_parent(way.steps[i]));
  const bool sound = all.size() == (is_there ? 1U : 0U);
  if (sound) all.push_back(good("what is above the directory belongs to root or to this user"));
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].id = i == 0 && is_there ? "directory" : "parents";
  return all;
}

Finding judge_file_system(const std::string& path) {
  struct statfs status {};
  if (::statfs(path.c_str(), &status) != 0) return not_seen("statfs: " + errno_text(errno));
  const auto kind = local::shared_file_system(static_cast<std::uint32_t>(status.f_type));
  if (kind.empty()) return good("no file system that two machines share");
  return warning(std::string(kind) + ", and the URL says ?shared=no",
                 "if another machine uses it too, both can hold one lock",
                 "keep the locks on a disk or tmpfs of this machine");
}

Finding judge_files(const std::string& directory, const std::vector<std::string>& files) {
  struct stat status {};
  const bool open = ::stat(directory.c_str(), &status) != 0 || (status.st_mode & S_IXOTH) != 0;
  std::optional<Finding> readable;
  for (const std::string& file : files) {
    if (::lstat(file.c_str(), &status) != 0) continue;
    const std::string seen = printable(file) + " has " + local::rights_of(status);
    if (const auto fault = local::fault_of_file(status, directory))
      return broken(seen, "it " + *fault + ": it is not used (77)", "remove it if no job uses it");
    if (readable || !open || (status.st_mode & S_IROTH) == 0) continue;
    readable =
        warning(seen,
                "every user can read it, and who can read a file of a lock can block the lock",
                "chmod o-rwx on the files there");
  }
  return readable.value_or(good("no other user can read or write the files of a lock"));
}

Result<Examination> examine_local(const local::Place& place,
                                  const StoreOptions& options,
                                  const ExamineTerms& terms) {
  const std::string& path = place.path;
  const bool was_there = ::access(path.c_str(), F_OK) == 0 || errno != ENOENT;
  Examination all{.url = local::url_of("local://", path)};
  const auto add = [&](std::string id, Finding finding) {
    finding.id = std::move(id);
    finding.server = all.url;
    all.findings.push_back(std::move(finding));
  };
  const auto add_place = [&] {
    for (const Finding& one : judge_place(path, /*is_file=*/false))
      add(one.id, one);
  };
  if (!local::check_place(path, /*is_file=*/false)) {
    add_place();
    all.identity = {.unseen = "no lock is kept there"};
    return all;
  }
  auto store = LocalStore::open(place, options);
  auto rival = LocalStore::open(place, options);
  if (!store || !rival) return store ? rival.error() : store.error();
  add_place();
  add("file", judge_files(path, files_in(path)));
  add("filesystem", judge_file_system(path));
  const LockName name = trial_name(terms.name);
  const Undisturbed signals(terms.calls);
  add("trial", judge_trial(try_lock(**store, **rival, name, signals, terms.until)));
  all.identity = was_there ? identity_of_file(path)
                           : Identity{.unseen = "the directory is made by the first run"};
  tidy_up(path, name, was_there);
  return all;
}

}  // namespace dlock
