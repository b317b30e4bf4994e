// SPDX-License-Identifier: MIT
// Clients take one lock at a quorum of servers that restart, with clocks that differ, over a
// network that loses and delays: never two believe that they hold it, tokens grow, and in the end
// the lock is free. DLOCK_QUORUM="SEED [WORLDS]" plays other worlds.
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
