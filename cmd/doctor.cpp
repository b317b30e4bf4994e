// SPDX-License-Identifier: MIT
// dlock doctor: finds out what in the store, its network, its rights or its configuration could
// break dlock's promise, and says what to do about it.
#include "cmd/claim.hpp"
#include "cmd/commands.hpp"
#include "cmd/doctor_text.hpp"
#include "cmd/json_output.hpp"
#include "cmd/output.hpp"

namespace dlock {

namespace {

constexpr Duration k_takes_at_most = std::chrono::seconds(9);

Result<ExamineTerms> examine_terms(const CommandLine& line, const Settings& settings) {
  auto lease = LeaseTerms::check(settings.ttl, settings.kill_after);
  if (!lease) return lease.error();
  ExamineTerms terms{.lease = *lease,
                     .name = {},
                     .connect_timeout = settings.connect_timeout,
                     .until = BootClock::now() + k_takes_at_most};
  if (line.names.empty()) return terms;
  auto name = LockName::parse(line.names.front());
  if (!name) return name.error();
  terms.name = std::move(*name);
  return terms;
}

// Prints the SQL statements that make the tables, for users who make the tables themselves. No
// server needs to run.
ExitStatus print_tables(const Settings& settings) {
  const auto tables = store_tables(settings);
  if (!tables) return report(tables.error(), settings);
  if (tables->empty()) {
    return report(
        Error{Errc::bad_usage,
              "--ddl: only the databases behind postgresql://, mysql:// and mariadb:// have tables "
              "to make"},
        settings);
  }
  std::string text;
  for (const std::string& statement : *tables)
    text += statement + ";\n";
  if (auto written = write_out(text); !written) return report(written.error(), settings);
  return ExitStatus::ok;
}

}  // namespace

ExitStatus doctor_command(const CommandLine& line, const Settings& settings) {
  if (line.ddl) return print_tables(settings);
  const auto terms = examine_terms(line, settings);
  if (!terms) return report(terms.error(), settings);
  const auto examination = examine_store(settings, *terms);
  if (!examination) return report(examination.error(), settings);
  const Tally tally = tally_of(*examination);
  const bool ok = tally.errors == 0 && (!line.strict || tally.warnings == 0);
  if (!settings.quiet) {
    const auto written =
        write_out(line.json ? examination_json(*examination, ok)
                            : examination_text(*examination, settings.verbose > 0));
    if (!written) return report(written.error(), settings);
  }
  return ok ? ExitStatus::ok : ExitStatus::no;
}

}  // namespace dlock
