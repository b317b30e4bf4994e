// SPDX-License-Identifier: MIT
// Takes the lock, and leaves its hold for the later steps and for post.js.
'use strict';
const { dlock, input, leave, note } = require('./dlock.js');

const modes = new Map([['', []], ['plain', []], ['shared', ['--shared']], ['exclusive', ['--exclusive']]]);

function fail(status, text) {
  note('error', text);
  process.exitCode = status;
}

async function main() {
  const names = input('name').split('\n').map((line) => line.trim()).filter(Boolean);
  const mode = modes.get(input('mode'));
  if (names.length === 0) return fail(64, 'the input "name" is empty');
  if (!mode) return fail(64, `the input "mode" is "${input('mode')}": plain, shared or exclusive`);
  const words = ['acquire', '--json', ...mode];
  for (const option of ['ttl', 'wait', 'slots']) {
    if (input(option)) words.push(`--${option}=${input(option)}`);
  }
  const answer = await dlock([...words, '--', ...names]);
  if (answer.status !== 0) {
    if (answer.signal) process.exitCode = answer.status; // the job was cancelled
    else fail(answer.status, `${names.join(', ')} not acquired: ` +
      (answer.message || `dlock ended with ${answer.status}`));
    return;
  }
  const granted = JSON.parse(answer.out);
  // First of all: what post.js knows of will be released.
  try {
    leave('GITHUB_STATE', { names: names.join('\n'), holds: granted.holds });
  } catch (error) {
    await dlock(['release', '--', ...names], { DLOCK_HOLDS: granted.holds });
    return fail(1, `released ${names.join(', ')}, as no state can be left for the end of the job: ${error.message}`);
  }
  const each = (member) => granted.locks.map((lock) => lock[member] ?? '').join(' ');
  const told = {
    DLOCK_OWNER: each('owner'),
    DLOCK_TOKEN: each('token'),
    DLOCK_TTL_MS: granted.ttl_ms,
    DLOCK_HOLDS: granted.holds,
  };
  // Without slots an inherited slot is of another lock.
  if (input('slots') || process.env.DLOCK_SLOT) told.DLOCK_SLOT = each('slot');
  leave('GITHUB_ENV', told);
  leave('GITHUB_OUTPUT', { owner: told.DLOCK_OWNER, token: told.DLOCK_TOKEN });
}

main();
