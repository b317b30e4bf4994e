// SPDX-License-Identifier: MIT
#include "store/sqlite/examine_sqlite.hpp"

#include "base/errno_text.hpp"
#include "base/text.hpp"
#include "store/doctor/trial.hpp"
#include "store/local/examine_local.hpp"
#include "store/local/sharing.hpp"
#include "store/local/trusted_place.hpp"
#include "store/sqlite/database_file.hpp"
#include "store/sqlite/sqlite_database.hpp"
#include "store/sqlite/sqlite_store.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace dlock {

namespace {

Finding judge_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return errno == ENOENT ? info("no file yet: the first run makes it")
                           : not_seen("stat: " + errno_text(errno));
  }
  const std::string seen = printable(path) + " has " + local::rights_of(status);
  std::error_code ignored;
  const std::string real = std::filesystem::canonical(path, ignored).string();
  Finding all =
      judge_files(directory_of(real), {real, real + "-wal", real + "-shm", real + "-journal"});
  if (all.level != Level::good) return all;
  if (::access(path.c_str(), W_OK) == 0) return info(seen);
  return broken(seen,
                "this user cannot take locks there",
                "let its owner run: chmod g+w on the file and on its -wal and -shm");
}

// Checks the whole file for damage, because the next lock may need any page of it.
Finding judge_content(const std::string& path, const ExamineTerms& terms) {
  auto db = SqliteDatabase::open(path, nullptr);
  if (!db) return not_seen(db.error().text);
  std::string said;
  auto begun = (*db)->begin_read(terms.until);
  auto done =
      begun ? (*db)->run(
                  "PRAGMA quick_check(1)", {}, [&](const SqliteRow& row) { said = row.text(0); })
            : begun;
  (*db)->roll_back();
  if (done && said == "ok") return good("the file passes quick_check");
  return broken(done ? said : done.error().text,
                "locks in it cannot be trusted",
                "stop the jobs, then remove the file with its -wal and -shm");
}

void remove_file(const std::string& path) {
  for (const char* const suffix : {"", "-wal", "-shm"})
    ::unlink((path + suffix).c_str());
}

void remove_trial(const std::string& path, const LockName& name, Time until) {
  auto db = SqliteDatabase::open(path, nullptr);
  if (!db || !(*db)->begin_write(until)) return;
  (void)(*db)->run("DELETE FROM dlock WHERE name = ?", {name.text()}).has_value();
  (void)(*db)->commit().has_value();
}

}  // namespace

Result<Examination> examine_sqlite(const local::Place& place,
                                   const StoreOptions& options,
                                   const ExamineTerms& terms) {
  const std::string& path = place.path;
  Examination all{.url = local::url_of("sqlite://", path)};
  const std::string directory = directory_of(path);
  const auto add = [&](std::string id, Finding finding) {
    finding.id = std::move(id);
    finding.server = all.url;
    all.findings.push_back(std::move(finding));
  };
  const auto add_place = [&] {
    for (const Finding& one : judge_place(path, /*is_file=*/true))
      add(one.id, one);
  };
  if (!local::check_place(path, /*is_file=*/true)) {
    add_place();
    all.identity = {.unseen = "no lock is kept there"};
    return all;
  }
  auto store = SqliteStore::open(place, options);
  auto rival = SqliteStore::open(place, options);
  if (!store || !rival) return store ? rival.error() : store.error();
  const bool was_there = ::access(path.c_str(), F_OK) == 0 || errno != ENOENT;
  add_place();
  add("filesystem", judge_file_system(directory));
  add("file", judge_file(path));
  if (was_there) add("content", judge_content(path, terms));
  const LockName name = trial_name(terms.name);
  {
    const Undisturbed signals(terms.calls);
    add("trial", judge_trial(try_lock(**store, **rival, name, signals, terms.until)));
    all.identity = was_there ? identity_of_file(path)
                             : Identity{.unseen = "the file is made by the first run"};
    if (was_there) {
      remove_trial(path, name, signals.until(terms.until));
    } else {
      remove_file(path);
    }
  }
  return all;
}

}  // namespace dlock
