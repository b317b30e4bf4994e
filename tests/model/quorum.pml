/* SPDX-License-Identifier: MIT
 *
 * A lock at a quorum of independent servers as a model for spin: three servers, two of them a
 * quorum; two hosts; time in ticks; any number of rounds.
 *
 * Claim: two commands never live at once, and the token of each is larger than that of every one
 * before it. Also: while a command lives, a quorum of servers would refuse its lock to all others.
 * Whatever the order of things, and although
 *   - each request can be lost, or be carried out at any time after it was sent, again and again:
 *     after the round is over, after its release, after a restart; each answer can be lost or late;
 *   - each server can restart and forget everything, at any time, as often as it likes: it then
 *     grants nothing for a lease, except to a host that completes its majority.
 * Assumed: clocks run at one rate; a command is dead at once when it has to be (lease.pml is about
 * that); a server that has forgotten its tokens counts on from a clock that is by then ahead of all
 * tokens given before (so the clocks of servers differ by less than the delay).
 *
 * Left out, for fewer states:
 *   - the number of a token. What is kept is whether the next one of a server is larger than that
 *     of the newest command; so the servers can have started from anything;
 *   - holds of past rounds, and votes of hosts that fail, are all alike: they make a server refuse,
 *     and can come and go at any time;
 *   - one host is slow, with all the faults. Its rival is quick: what it asks is carried out and
 *     answered in the same tick, or lost. It takes the lock whenever it can;
 *   - the line, and all that is a matter of time or order, not of safety: that a hold is released
 *     also where no answer came (else it ends with its lease) cannot be shown here.
 *
 * Each of these makes it wrong, and spin has to say so:
 *   -DONE_SERIAL         all rounds of a host have one serial: a late release ends the next hold
 *   -DNO_WRITE_BACK      the command starts without its token at a quorum
 *   -DHALF_IS_ENOUGH     a quorum is half of the servers
 *   -DFIRST_ANSWER       the lease ends with that of the newest answer, not of the Q-th
 *   -DFROM_ANSWER        a lease is counted from the answer instead of the request
 *   -DNO_START_RULE      the command starts without a look at the clock
 *   -DNO_DELAY           a server that has forgotten all grants at once
 *   -DEXCEPTION_FOR_ALL  a host with one vote completes itself at a server that has just restarted
 *   -DCOMPLETE_TOO_EARLY a host that has lost its majority runs on, and asks for it again
 *   -DTOKENS_FORGOTTEN   a server that has forgotten its tokens counts from anything
 */
#define SERVERS 3
#define SLOW 0                  /* the hosts, as owners */
#define RIVAL 1
#define PAST 2                  /* a round that is over, or a host that fails */
#define NOBODY 3
#ifndef LEASE
#define LEASE 3                 /* ticks, at a server */
#endif
#define DELAY LEASE             /* of a server that has restarted */
#define KILL_AGE (LEASE - 1)    /* of a vote's newest confirmed request: older, it does not count */
#define NO_VOTE KILL_AGE

#ifdef HALF_IS_ENOUGH
#define QUORUM (SERVERS / 2)
#else
#define QUORUM (SERVERS / 2 + 1)
#endif

mtype = { idle, asking, writing, running };

/* The servers. */
byte owner[SERVERS] = NOBODY;
byte lease[SERVERS];
byte young[SERVERS];             /* ticks of the delay that are left */
bool ahead[SERVERS] = true;      /* its next token is larger than that of the newest command */

/* The hosts. */
mtype state[2] = idle;
byte age[6] = NO_VOTE;           /* of the votes: since the newest confirmed request was sent */
#define AGE(c, i) age[SERVERS * (c) + (i)]
bool above_all[2];               /* the largest token of the votes is above the newest command's */

/* The slow host. */
bool open[SERVERS];              /* a question without an answer: acquire, renew or complete */
byte asked_age;                  /* since these were sent, together */
bool above[SERVERS];             /* the token of this vote is above that of the newest command */
bool written[SERVERS];           /* this server has confirmed the largest token */
#ifdef ONE_SERIAL
bool had_round;
#endif

#define SUM(what, c) (what(c, 0) + what(c, 1) + what(c, 2))
#define OWNS(c, i) (owner[i] == c)
#define COUNTS(c, i) (AGE(c, i) < KILL_AGE)
#define REFUSES(c, i) (OWNS(c, i) || young[i] > 0)
#define VOTES(c) SUM(COUNTS, c)
#define REFUSALS(c) SUM(REFUSES, c)
#define WRITTEN (written[0] + written[1] + written[2])
#define IS_OPEN (open[0] || open[1] || open[2])
#define SET_ALL(array, to) array[0] = to; array[1] = to; array[2] = to
#define RUNS(c) (state[c] == running)

/* The Q-th largest lease is over, or fewer than Q can be ours: it is killed at once. */
#ifdef COMPLETE_TOO_EARLY
#define DUE(c) (RUNS(c) && VOTES(c) == 0)
#else
#define DUE(c) (RUNS(c) && VOTES(c) < QUORUM)
#endif

#ifdef EXCEPTION_FOR_ALL
#define MAY_COMPLETE(c) (RUNS(c) || VOTES(c) > 0)
#else
#define MAY_COMPLETE(c) RUNS(c)
#endif

inline set_free(i) { owner[i] = NOBODY; lease[i] = 0 }

/* One script of a server: it grants, or renews, or has a reason to refuse. */
inline carry_out(c, i) {
  if
  :: OWNS(c, i) -> lease[i] = LEASE
  :: owner[i] == NOBODY && (young[i] == 0 || MAY_COMPLETE(c)) ->
     owner[i] = c; lease[i] = LEASE;
     if
     :: c == SLOW && state[SLOW] == asking -> above[i] = ahead[i]
     :: else
     fi
  :: else
  fi
}

inline start(c) {
  assert(!RUNS(1 - c));
  assert(above_all[c]);
  SET_ALL(above, false); SET_ALL(written, false);
  above_all[SLOW] = false; above_all[RIVAL] = false; /* another's token may be below this one */
  state[c] = running
}

/* Its command, if there is one, is dead. Each release is carried out, or late, or lost. */
inline give_back_at(c, i) {
  if
  :: OWNS(c, i) -> set_free(i)
#ifdef ONE_SERIAL
  :: OWNS(c, i)
#else
  :: OWNS(c, i) -> owner[i] = PAST; lease[i] = 0
#endif
  :: else
  fi;
  AGE(c, i) = NO_VOTE
}

inline give_back(c) {
  give_back_at(c, 0); give_back_at(c, 1); give_back_at(c, 2);
  above_all[c] = false; state[c] = idle
}

inline ask() { SET_ALL(open, true); asked_age = 0 }
inline give_up() { SET_ALL(open, false); asked_age = 0 }

inline close(i) {
  open[i] = false;
  if
  :: !IS_OPEN -> asked_age = 0
  :: else
  fi
}

inline confirm_vote(i, confirmed_age) {
  AGE(SLOW, i) = confirmed_age;
#ifdef FIRST_ANSWER
  if :: COUNTS(SLOW, 0) -> AGE(SLOW, 0) = confirmed_age :: else fi;
  if :: COUNTS(SLOW, 1) -> AGE(SLOW, 1) = confirmed_age :: else fi;
  if :: COUNTS(SLOW, 2) -> AGE(SLOW, 2) = confirmed_age :: else fi
#endif
}

/* Between the slow host and a server. */
proctype Network(byte i) {
end:
  do
  /* Requests of this round, since its beginning. */
  :: atomic { state[SLOW] != idle -> carry_out(SLOW, i) }
  /* Requests and releases of past ones. */
#ifdef ONE_SERIAL
  :: atomic { had_round && owner[i] == NOBODY -> owner[i] = SLOW; lease[i] = LEASE }
  :: atomic { had_round && OWNS(SLOW, i) -> set_free(i) }
#else
  :: atomic { owner[i] == NOBODY -> owner[i] = PAST }
  :: atomic { owner[i] == PAST -> owner[i] = NOBODY }
#endif

  /* Yes: the lease shows that it was carried out since it was sent. */
  :: atomic { open[i] && !DUE(SLOW) && OWNS(SLOW, i) && lease[i] + asked_age >= LEASE ->
#ifdef FROM_ANSWER
       confirm_vote(i, 0);
#else
       confirm_vote(i, asked_age);
#endif
       close(i) }
  /* Lost. "Busy" is no news: as good as no answer. */
  :: atomic { open[i] && !DUE(SLOW) && !OWNS(SLOW, i) && RUNS(SLOW) ->
       AGE(SLOW, i) = NO_VOTE; close(i) }
  /* The largest token is written back, or the vote is lost. */
  :: atomic { state[SLOW] == writing && COUNTS(SLOW, i) ->
       if
       :: OWNS(SLOW, i) -> written[i] = true
       :: else -> AGE(SLOW, i) = NO_VOTE
       fi }
  od
}

#ifdef NO_WRITE_BACK
#define IS_WRITTEN true
#else
#define IS_WRITTEN (WRITTEN >= QUORUM)
#endif
#ifdef NO_START_RULE
#define IS_IN_TIME true
#else
#define IS_IN_TIME (VOTES(SLOW) >= QUORUM)
#endif

proctype Slow() {
end:
  do
  :: atomic { state[SLOW] == idle -> state[SLOW] = asking; ask() }
  :: atomic { state[SLOW] == asking && VOTES(SLOW) >= QUORUM ->
       above_all[SLOW] = (COUNTS(SLOW, 0) && above[0]) || (COUNTS(SLOW, 1) && above[1]) ||
         (COUNTS(SLOW, 2) && above[2]);
#ifdef NO_WRITE_BACK
       if /* only the server that gave it knows the largest token */
       :: COUNTS(SLOW, 0) && above[0] -> written[0] = true
       :: COUNTS(SLOW, 1) && above[1] -> written[1] = true
       :: COUNTS(SLOW, 2) && above[2] -> written[2] = true
       :: else
       fi;
#endif
       SET_ALL(above, false);
       state[SLOW] = writing }
  :: atomic { state[SLOW] == writing && IS_WRITTEN && IS_IN_TIME ->
       ahead[0] = written[0]; ahead[1] = written[1]; ahead[2] = written[2];
       start(SLOW) }
  /* Renewals for those that it holds, completion at the others. A real host completes only when a
   * quorum has just confirmed; this one does whenever it holds one by its clock. */
  :: atomic { RUNS(SLOW) && !DUE(SLOW) && SUM(AGE, SLOW) > 0 -> ask() }
  /* It ends by itself, or is killed, or there is no majority, or it takes too long. */
  :: atomic { state[SLOW] != idle ->
       give_back(SLOW); give_up(); SET_ALL(above, false); SET_ALL(written, false);
#ifdef ONE_SERIAL
       had_round = true
#endif
     }
  od
}

/* What the rival asks of a server. */
inline reach(i) {
  if
  :: carry_out(RIVAL, i);
     if
     :: OWNS(RIVAL, i) -> AGE(RIVAL, i) = 0
     :: else -> AGE(RIVAL, i) = NO_VOTE
     fi
  :: true
  fi
}

#define CONFIRMS(c, i) (COUNTS(c, i) && OWNS(c, i))

proctype Rival() {
  byte missed = SERVERS; /* a server that the writing back does not reach */
end:
  do
  :: atomic { state[RIVAL] == idle ->
       reach(0); reach(1); reach(2);
       if
       :: VOTES(RIVAL) >= QUORUM ->
          above_all[RIVAL] = (COUNTS(RIVAL, 0) && ahead[0]) || (COUNTS(RIVAL, 1) && ahead[1]) ||
            (COUNTS(RIVAL, 2) && ahead[2]);
          state[RIVAL] = writing
       :: else -> give_back(RIVAL)
       fi }
  :: atomic { state[RIVAL] == writing && SUM(CONFIRMS, RIVAL) >= QUORUM ->
       if
       :: SUM(CONFIRMS, RIVAL) > QUORUM -> missed = 0
       :: SUM(CONFIRMS, RIVAL) > QUORUM -> missed = 1
       :: SUM(CONFIRMS, RIVAL) > QUORUM -> missed = 2
       :: true
       fi;
       ahead[0] = CONFIRMS(RIVAL, 0) && missed != 0;
       ahead[1] = CONFIRMS(RIVAL, 1) && missed != 1;
       ahead[2] = CONFIRMS(RIVAL, 2) && missed != 2;
       missed = SERVERS;
       start(RIVAL) }
  :: atomic { RUNS(RIVAL) && !DUE(RIVAL) && SUM(AGE, RIVAL) > 0 -> reach(0); reach(1); reach(2) }
  :: atomic { state[RIVAL] != idle -> give_back(RIVAL) }
  od
}

proctype Restarts(byte i) {
end:
  do
  :: atomic { true ->
       set_free(i);
#ifdef TOKENS_FORGOTTEN
       ahead[i] = false;
#else
       ahead[i] = true;
#endif
#ifndef NO_DELAY
       young[i] = DELAY
#endif
     }
  od
}

inline older(c) {
  older_vote(c, 0); older_vote(c, 1); older_vote(c, 2)
}

inline older_vote(c, i) {
  if
  :: AGE(c, i) < NO_VOTE -> AGE(c, i)++
  :: else
  fi
}

inline older_server(i) {
  if
  :: young[i] > 0 -> young[i]--
  :: else
  fi;
  if
  :: lease[i] > 1 -> lease[i]--
  :: lease[i] == 1 -> set_free(i)
  :: else
  fi
}

/* A tick, once all that is due has been done. */
proctype Clock() {
end:
  do
  :: atomic { !DUE(SLOW) && !DUE(RIVAL) ->
       older(SLOW); older(RIVAL);
       older_server(0); older_server(1); older_server(2);
       if
       :: IS_OPEN && asked_age < KILL_AGE - 1 -> asked_age++
       :: IS_OPEN && asked_age == KILL_AGE - 1 -> give_up() /* no answer is of use any more */
       :: else
       fi;
       assert(!RUNS(SLOW) || REFUSALS(SLOW) >= QUORUM);
       assert(!RUNS(RIVAL) || REFUSALS(RIVAL) >= QUORUM) }
  od
}

init {
  atomic {
    run Clock(); run Slow(); run Rival();
    run Network(0); run Network(1); run Network(2);
    run Restarts(0); run Restarts(1); run Restarts(2)
  }
}
