/* SPDX-License-Identifier: MIT
 *
 * The protocol of a lease as a model for spin: two hosts, one store, time in ticks.
 *
 * Claim: while a command lives, the store would refuse its lock to anybody else. Whatever the order
 * of things, and although
 *   - every request and every answer can be lost, or be late for as long as it likes; a request can
 *     be carried out after its sender has given it up, has ended, or holds the lock again;
 *   - dlock can be frozen and continued, or die, at any point while its guard is well;
 *   - the guard can be frozen or die at any point while dlock is well, which then replaces it.
 * Also: nobody is told "not yours" while he may still believe in his lease, a release never meets a
 * living command, and no guard kills a command whose lease is kept.
 * Assumed: clocks run at one rate (the margin for drift is not in here), a process that can run does
 * what is due before the next tick, a KILL works at once, and the store forgets nothing.
 *
 * Each of these makes it wrong, and spin has to say so:
 *   -DNO_GUARD           nobody but dlock kills
 *   -DGUARD_TOLD_ONCE    the guard keeps its first deadline: it kills a command whose lease is kept
 *   -DEARLY_RELEASE      the release is asked for before the command is dead
 *   -DFROM_ANSWER        the lease is counted from the answer instead of the request
 *   -DOWNER_PER_HOST     the store tells holds of one host apart by nothing
 *   -DNO_START_RULE      a grant is used however late it came, without a look at the clock
 *   -DHELD_RENEWS        a look at the lock that finds it ours counts as a renewal
 */
#define HOSTS 2
#define OTHER (1 - c)
#define NOBODY HOSTS
#define LEASE 4                 /* ticks, at the store */
#define KILL_AGE (LEASE - 1)    /* of the newest confirmed request: what lives is killed now */
#define START_AGE 1             /* of the grant: what is older is given back */
#define HOLDS(c) (3 - 2 * c)       /* of a host, one after the other */

/* The hosts are alike, and the claims are about one host and the store: one with all the faults, and
 * a rival that takes the lock whenever it can, are enough. -DALL_FAULTS gives them to both. */
#ifdef ALL_FAULTS
#define HAS_FAULTS(c) true
#else
#define HAS_FAULTS(c) (c == 0)
#endif

mtype = { nothing,
          acquire, renew, check, release,       /* asked */
          granted, busy, renewed, held, lost, done, /* answered */
          idle, trying, armed, running, ending, /* a dlock */
          up, frozen, dead };

/* The store. */
byte owner = NOBODY;
byte owner_hold;
byte lease;

/* The hosts. */
mtype process[HOSTS] = up;       /* dlock, for its kernel */
mtype state[HOSTS] = idle;       /* for itself */
byte hold[HOSTS];                /* the number of the present one */
bool command[HOSTS];             /* it lives */
byte age[HOSTS];                 /* since the newest confirmed request was sent */
bool asking[HOSTS];              /* waiting for an answer */
byte asked_age[HOSTS];           /* since that was sent */
bool guard_well[HOSTS];
bool guard_told[HOSTS];          /* of the newest age */
byte guard_age[HOSTS];

/* The network: what is asked, what was given up and is still on its way, what is answered. */
mtype request[HOSTS] = nothing;
mtype stray[HOSTS] = nothing;
byte stray_hold[HOSTS];
mtype answer[HOSTS] = nothing;

#ifdef NO_GUARD
#define GUARD_ACTS(c) false
#else
#define GUARD_ACTS(c) (guard_well[c] && (process[c] == dead || guard_age[c] >= KILL_AGE))
#endif
#define DLOCK_ACTS(c) (process[c] == up && age[c] >= KILL_AGE)
#define DUE(c) (command[c] && (DLOCK_ACTS(c) || GUARD_ACTS(c)))

#ifdef OWNER_PER_HOST
#define OWNS(c, h) (owner == c)
#else
#define OWNS(c, h) (owner == c && owner_hold == h)
#endif

/* One script of the store. */
inline carry_out(c, what, h, said) {
  if
  :: what == acquire && owner == NOBODY ->
     assert(!command[OTHER]);
     owner = c; owner_hold = h; lease = LEASE; said = granted
  :: what == acquire && OWNS(c, h) -> lease = LEASE; said = granted
  :: what == acquire && owner != NOBODY && !OWNS(c, h) -> said = busy
  :: what == renew && OWNS(c, h) -> lease = LEASE; said = renewed
  :: what == check && OWNS(c, h) -> said = held
  :: (what == renew || what == check) && !OWNS(c, h) -> said = lost
  :: what == release && OWNS(c, h) ->
     assert(!command[c]);
     owner = NOBODY; lease = 0; said = done
  :: what == release && !OWNS(c, h) -> said = done
  fi
}

inline ask(c, what) { request[c] = what; asking[c] = true; asked_age[c] = 0 }

/* The connection is dropped: no answer comes any more, the request still may. */
inline give_up_question(c) {
  if
  :: request[c] != nothing && HAS_FAULTS(c) -> stray[c] = request[c]; stray_hold[c] = hold[c]
  :: true /* lost, or an earlier one is what still comes */
  fi;
  request[c] = nothing; answer[c] = nothing; asking[c] = false; asked_age[c] = 0
}

inline take_answer(c) { answer[c] = nothing; asking[c] = false; asked_age[c] = 0 }

inline confirm(c) {
#ifdef FROM_ANSWER
  age[c] = 0;
#else
  age[c] = asked_age[c];
#endif
}

/* What has no meaning any more is zero: fewer states. */
inline end_of_running(c) {
  state[c] = ending; age[c] = 0;
  guard_well[c] = false; guard_told[c] = false; guard_age[c] = 0
}

proctype Network(byte c) {
  mtype said;
end:
  do
  :: atomic { request[c] != nothing ->
       carry_out(c, request[c], hold[c], said);
       request[c] = nothing;
       answer[c] = said; said = nothing }
  :: atomic { stray[c] != nothing ->
       carry_out(c, stray[c], stray_hold[c], said);
       stray[c] = nothing; stray_hold[c] = 0; said = nothing }
  od
}

proctype Dlock(byte c) {
end:
  do
  /* Whatever it waits for, it can stop waiting: as good as a lost answer. */
  :: atomic { process[c] == up && asking[c] -> give_up_question(c) }

  :: atomic { process[c] == up && state[c] == idle && !command[c] && hold[c] < HOLDS(c) ->
       hold[c]++; state[c] = trying }
  :: atomic { process[c] == up && state[c] == trying && !asking[c] -> ask(c, acquire) }
  :: atomic { process[c] == up && state[c] == trying && !asking[c] -> state[c] = ending }
  :: atomic { process[c] == up && state[c] == trying && answer[c] == busy -> take_answer(c) }
  :: atomic { process[c] == up && state[c] == trying && answer[c] == granted ->
       confirm(c);
#ifdef NO_START_RULE
       state[c] = armed;
#else
       if
       :: age[c] <= START_AGE -> state[c] = armed
       :: else -> end_of_running(c)
       fi;
#endif
       take_answer(c) }
  /* The guard first; between that and the start anything can happen. */
  :: atomic { process[c] == up && state[c] == armed && !guard_well[c] ->
       guard_well[c] = true; guard_age[c] = age[c]; guard_told[c] = true }
  :: atomic { process[c] == up && state[c] == armed && guard_well[c] ->
#ifdef NO_START_RULE
       command[c] = true; state[c] = running
#else
       if /* the last look at the clock */
       :: age[c] < KILL_AGE -> command[c] = true; state[c] = running
       :: else -> end_of_running(c)
       fi
#endif
     }

  :: atomic { process[c] == up && state[c] == running && command[c] && !DLOCK_ACTS(c) &&
       !asking[c] && age[c] > 0 -> ask(c, renew) }
  /* News of a change can come at any time. */
  :: atomic { process[c] == up && state[c] == running && command[c] && !DLOCK_ACTS(c) &&
       !asking[c] && age[c] > 0 && HAS_FAULTS(c) -> ask(c, check) }
  :: atomic { process[c] == up && state[c] == running && answer[c] == held ->
#ifdef HELD_RENEWS
       confirm(c);
#endif
       take_answer(c) }
  :: atomic { process[c] == up && state[c] == running && answer[c] == renewed ->
       if /* too late is too late: somebody may have been in between */
       :: !DLOCK_ACTS(c) -> confirm(c); guard_told[c] = false
       :: else
       fi;
       take_answer(c) }
  :: atomic { process[c] == up && state[c] == running && !guard_told[c] ->
#ifndef GUARD_TOLD_ONCE
       guard_age[c] = age[c];
#endif
       guard_told[c] = true }
  :: atomic { process[c] == up && state[c] == running && !guard_well[c] ->
       guard_well[c] = true; guard_age[c] = age[c]; guard_told[c] = true }
  :: atomic { process[c] == up && state[c] == running && answer[c] == lost ->
       assert(!command[c] || age[c] >= KILL_AGE);
       command[c] = false; take_answer(c) }
  :: atomic { process[c] == up && state[c] == running && DLOCK_ACTS(c) && command[c] ->
#ifdef EARLY_RELEASE
       if
       :: command[c] = false
       :: end_of_running(c)
       fi
#else
       command[c] = false
#endif
     }
  :: atomic { process[c] == up && state[c] == running && !command[c] && !asking[c] ->
       end_of_running(c) }

  :: atomic { process[c] == up && state[c] == ending && !asking[c] -> ask(c, release) }
  :: atomic { process[c] == up && state[c] == ending && answer[c] == done ->
       take_answer(c); state[c] = idle }
  :: atomic { process[c] == up && state[c] == ending && !asking[c] -> state[c] = idle }
  od
}

/* The second executioner. */
proctype Guard(byte c) {
end:
  do
  :: atomic { command[c] && GUARD_ACTS(c) ->
       /* Not for nothing: dlock is dead, held up, or about to do the same. */
       assert(process[c] != up || !guard_told[c] || age[c] >= KILL_AGE);
       command[c] = false }
  od
}

proctype Faults(byte c) {
end:
  do
  :: atomic { command[c] -> command[c] = false } /* no fault: it ends by itself */
  /* Elsewhere nothing hurries dlock, so that being frozen is nothing else than being slow. */
  :: atomic { HAS_FAULTS(c) && process[c] == up && state[c] == running &&
       guard_well[c] -> process[c] = frozen }
  :: atomic { process[c] == frozen -> process[c] = up }
  :: atomic { HAS_FAULTS(c) && process[c] != dead && state[c] != idle &&
       (!command[c] || guard_well[c]) ->
       process[c] = dead; state[c] = idle; age[c] = 0; give_up_question(c) }
  :: atomic { process[c] == dead && !command[c] ->
       process[c] = up; guard_well[c] = false; guard_told[c] = false; guard_age[c] = 0 }
  :: atomic { HAS_FAULTS(c) && process[c] == up && state[c] == running &&
       guard_well[c] -> guard_well[c] = false }
  od
}

inline older(x, counts) {
  if
  :: (counts) && x < LEASE -> x++
  :: else
  fi
}

inline all_older(c) {
  older(age[c], state[c] == armed || state[c] == running);
  older(guard_age[c], guard_well[c]);
  older(asked_age[c], asking[c])
}

/* A tick, once all that is due has been done. */
proctype Clock() {
end:
  do
  :: atomic { !DUE(0) && !DUE(1) ->
       all_older(0);
       all_older(1);
       if
       :: lease > 1 -> lease--
       :: lease == 1 ->
          lease = 0;
          assert(!command[owner]);
          owner = NOBODY
       :: else
       fi;
       assert(!(command[0] && command[1])) }
  od
}

init {
  atomic {
    run Clock();
    run Network(0); run Dlock(0); run Guard(0); run Faults(0);
    run Network(1); run Dlock(1); run Guard(1); run Faults(1)
  }
}
