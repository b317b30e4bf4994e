// SPDX-License-Identifier: MIT
// The clock of the machine, which all its containers share, and the test whether a file was written
// in an earlier boot, so that its leases have ended. All times that local:// and sqlite:// write
// are times of this clock: CLOCK_BOOTTIME without the offset of a time namespace.
//
// A container may hide the kernel's boot id; a file that it writes then has no boot id. But the
// clock is the same for all containers and never goes back within a boot: a time that is later than
// now was written in an earlier boot. Promises, in any container: a lease of this boot is never
// taken for one of an earlier boot. A lease of an earlier boot lasts at most as long as it would
// have without the reboot, and ends with the reboot if both boot ids are known.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "store/state_json.hpp"
#include "store/table/stored_lock.hpp"
#include "sys/boot.hpp"

#include <utility>

namespace dlock::local {

class Machine {
 public:
  // Returns the machine that this process is on. Returns the errors of this_boot().
  static Result<Machine> here();
  explicit Machine(Boot boot) : boot_(std::move(boot)) {}

  lease_table::StoreTime now() const;
  lease_table::Moment moment(Time sent_at) const;
  BootStamp stamp() const;  // the stamp for files that are written now

 private:
  Boot boot_;
};

// Returns whether `file` was written in another boot than the present one. `now` is a stamp that
// was taken after the file was read. A file of dlock 0.1 has no time in it, and its boot id may be
// a container's own. For such a file the answer depends on its leases: if they cannot have begun in
// this boot, the file is of another boot.
bool is_of_another_boot(const StateFile& file, const BootStamp& now);

}  // namespace dlock::local
