// SPDX-License-Identifier: MIT
// Takes and gives back locks of node-redisson, redlock 5 or redlock 4, all over ioredis, as told on
// stdin; tests/interop/interop.bash lists the words.
//
//     driver.js LIBRARY HOST:PORT[,HOST:PORT…] WATCHDOG_MS
'use strict';

const fs = require('node:fs');
const readline = require('node:readline');
const Redis = require('ioredis');

const [library, address, watchdog] = process.argv.slice(2);
const addresses = address.split(',').map((text) => text.split(':'));
const [host, port] = addresses[0];
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
// performance.now() counts from a time that need not be that of the clock the others look at.
const now = () => Date.now() * 1000;
const say = (when, text) => process.stdout.write(`${when} ${text}\n`);

// Each library is a map from a word to a function of (actor, key, argument…).
function nodeRedisson() {
  const { Redisson, TimeUnit } = require('node-redisson');
  const client = new Redisson({
    redis: { options: { host, port } },
    lockWatchdogTimeout: BigInt(watchdog),
  });
  // A lock object is one owner: kept, so that an actor enters again with the same.
  const locks = new Map();
  const lockOf = (actor, key) => {
    const id = `${actor} ${key}`;
    if (!locks.has(id)) locks.set(id, client.getLock(key));
    return locks.get(id);
  };
  const lease = (ms) => (Number(ms) === 0 ? true : BigInt(ms));
  return {
    lock: async (actor, key, ms) => {
      await lockOf(actor, key).lock(lease(ms), TimeUnit.MILLISECONDS);
      return 'acquired';
    },
    try: async (actor, key, wait, ms) => {
      const got = await lockOf(actor, key).tryLock(BigInt(wait), lease(ms), TimeUnit.MILLISECONDS);
      return got ? 'acquired' : 'refused';
    },
    unlock: async (actor, key) => {
      await lockOf(actor, key).unlock();
      return 'released';
    },
    force: (actor, key) => lockOf(actor, key).forceUnlock(),
    locked: (actor, key) => lockOf(actor, key).isLocked(),
    // It hears of a release once its subscription is answered and it has put up a listener.
    parked: (actor, key, other) => {
      const lock = lockOf(other, key);
      return lock.commandExecutor.eventEmitter.listenerCount(lock.getChannelName()) > 0;
    },
    owner: (actor, key) => lockOf(actor, key).getClientName(lockOf(actor, key).clientId),
  };
}

// The two versions of redlock differ in names and shapes: make(settings) gives { acquire, release,
// extend }.
function redlock(make) {
  const often = { retryDelay: 40, retryJitter: 20 };
  const [patient, usual] = [make({ ...often, retryCount: -1 }), make({})];
  const ceaseless = make({ retryCount: -1 });
  const held = new Map();
  const take = async (by, actor, key, ms) => {
    held.set(`${actor} ${key}`, await by.acquire(key, Number(ms) || 60000));
    return 'acquired';
  };
  return {
    lock: (actor, key, ms) => take(patient, actor, key, ms),
    enter: (actor, key) => take(ceaseless, actor, key, 30000),
    try: (actor, key, wait, ms) => {
      const bounded = make({ ...often, retryCount: Math.round(Number(wait) / often.retryDelay) });
      return take(bounded, actor, key, ms).catch(() => 'refused');
    },
    default: (actor, key, ms) =>
      take(usual, actor, key, ms).catch((error) => `refused ${error.constructor.name}`),
    unlock: async (actor, key) => {
      await usual.release(held.get(`${actor} ${key}`));
      return 'released';
    },
    extend: async (actor, key, ms) => {
      const id = `${actor} ${key}`;
      held.set(id, await usual.extend(held.get(id), Number(ms)));
      return 'extended';
    },
  };
}

const servers = () => addresses.map(([host, port]) => {
  const server = new Redis({ host, port });
  server.on('error', () => {}); // it may be dead
  return server;
});
const once = { retryCount: 0 };

function redlock5() {
  const { default: Redlock } = require('redlock');
  return redlock((settings) => {
    const one = new Redlock(servers(), settings);
    one.on('error', () => {}); // each refusal is told there too
    return {
      acquire: (key, ms) => one.acquire([key], ms),
      release: (lock) => one.release(lock, once),
      extend: (lock, ms) => one.extend(lock, ms, once),
    };
  });
}

function redlock4() {
  const Redlock = require('redlock4');
  return redlock((settings) => {
    const one = new Redlock(servers(), settings);
    one.on('clientError', () => {});
    return {
      acquire: (key, ms) => one.lock(key, ms),
      release: (lock) => one.unlock(lock),
      extend: (lock, ms) => one.extend(lock, ms),
    };
  });
}

const words = { 'node-redisson': nodeRedisson, redlock5, redlock4 }[library]();

// Adds 1 to the number in a file, so many times, each time under the lock.
words.add = async (actor, key, file, times) => {
  for (let i = 0; i < Number(times); i++) {
    await words.lock(actor, key, 30000);
    const number = Number(fs.readFileSync(file, 'utf8'));
    await sleep(2);
    fs.writeFileSync(file, `${number + 1}\n`);
    await words.unlock(actor, key);
  }
  return 'done';
};

// Takes the lock with the library's own delays, as often as it needs, holds it and releases it. Says
// when it asked, held, began to release, and had released, in microseconds.
const precisely = () => Math.round((performance.timeOrigin + performance.now()) * 1000);
words.turn = async (actor, key, ms) => {
  const asked = precisely();
  await words.enter(actor, key);
  const held = precisely();
  await sleep(Number(ms));
  const ended = precisely();
  await words.unlock(actor, key);
  return `${asked} ${held} ${ended} ${precisely()}`;
};

async function obey(line) {
  const [actor, verb, key, ...rest] = line.split(' ');
  const called = now();
  let result;
  try {
    if (!words[verb]) throw new SyntaxError(verb);
    result = await words[verb](actor, key, ...rest);
  } catch (error) {
    result = `error ${error.constructor.name}`;
  }
  // A release is over for the others as soon as it is asked for.
  say(/^(unlock|force)/.test(verb) ? called : now(), `${actor} ${verb} ${key} ${result}`);
}

// An actor does one thing after the other; actors do not wait for each other.
const actors = new Map();
readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const actor = line.split(' ')[0];
  actors.set(actor, (actors.get(actor) || Promise.resolve()).then(() => obey(line)));
}).on('close', () => process.exit(0));

say(now(), `- ready - ${library}`);
