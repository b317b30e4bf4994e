// SPDX-License-Identifier: MIT
// A database for locks that is removed with its test.
#pragma once

#include "store/sqlite/sqlite_database.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "contract/local_place.hpp"
#include "contract/lock_store_contract.hpp"
#include "support/temp_dir.hpp"

namespace dlock::contract {

struct SqliteFile {
  test::TempDir directory;
  std::string path() const { return directory.path() + "/locks.db"; }
  Backing backing() const {
    return {.name = "sqlite", .open = [this](const Interrupt* interrupt) {
              auto store = open_at("sqlite://" + path(), interrupt);
              REQUIRE_MESSAGE(store.has_value(), (store ? "" : store.error().text));
              return std::move(*store);
            }};
  }
  Client client(const Interrupt* interrupt = nullptr) const { return Client(backing(), interrupt); }
  std::unique_ptr<SqliteDatabase> database() const {
    auto db = SqliteDatabase::open(path(), nullptr);
    REQUIRE(db.has_value());
    return std::move(*db);
  }
  void change(const std::string& sql) const {
    const auto db = database();
    REQUIRE(db->begin_write(soon()).has_value());
    REQUIRE(db->run(sql).has_value());
    REQUIRE(db->commit().has_value());
  }
  // Bells of waiters (sqlite/bell.hpp).
  std::vector<std::string> bells() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
      if (entry.path().string().starts_with(path() + "-bell-")) found.push_back(entry.path());
    return found;
  }
  void remove() const {
    for (const char* const suffix : {"", "-wal", "-shm"})
      std::filesystem::remove(path() + suffix);
  }
};

}  // namespace dlock::contract
