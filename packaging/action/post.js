// SPDX-License-Identifier: MIT
// Releases what main.js has taken. It never fails the job: the steps are over, and a lease ends by itself.
'use strict';
const { dlock, note } = require('./dlock.js');

async function post() {
  const { STATE_names: names, STATE_holds: holds } = process.env;
  if (!holds) return; // main.js took nothing
  const answer = await dlock(['release', '--', ...names.split('\n')], { DLOCK_HOLDS: holds });
  if (answer.status === 0) return;
  const said = answer.message || `dlock ended with ${answer.status}`;
  const lost = answer.status === 1 || answer.status === 75;
  note('warning', `${names.split('\n').join(', ')} not released: ${said}` +
    (lost ? '. If no step has released the lock, it was lost, and another job may have run meanwhile.' : ''));
}

post();
