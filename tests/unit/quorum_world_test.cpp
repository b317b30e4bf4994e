// SPDX-License-Identifier: MIT
// Clients acquire one lock at a quorum. The servers restart, their clocks differ, and the network
// loses and delays messages. Never do two clients believe that they hold the lock, tokens grow, and
// at the end the lock is free. DLOCK_QUORUM="SEED [WORLDS]" plays other worlds.
#include "support/quorum_world.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <sstream>

namespace dlock::test {

TEST_CASE("quorum: in random worlds at most one client believes that it holds the lock") {
  unsigned seed = 1;
  unsigned worlds = 100;
  if (const char* given = std::getenv("DLOCK_QUORUM")) std::istringstream(given) >> seed >> worlds;
  unsigned grants = 0;
  unsigned completed = 0;
  unsigned restarted = 0;
  unsigned jumped = 0;
  for (unsigned i = 0; i < worlds; ++i) {
    CAPTURE(seed + i);
    QuorumWorld world(seed + i);
    const bool free_at_last = world.play();
    REQUIRE(world.judge().violation == "");
    REQUIRE(free_at_last);
    grants += world.judge().grants;
    completed += world.completed;
    restarted += world.restarted;
    jumped += world.jumped;
  }
  MESSAGE(grants << " grants, " << completed << " completed, " << restarted << " restarts, "
                 << jumped << " jumps");
  CHECK(grants > 5 * worlds);
  CHECK(completed > worlds / 10);
  CHECK(restarted > worlds / 2);
  CHECK(jumped > worlds / 2);
}

}  // namespace dlock::test
