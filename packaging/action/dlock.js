// SPDX-License-Identifier: MIT
// What main.js and post.js share: the inputs, the files and commands of the runner, and a run of dlock.
'use strict';
const { spawn } = require('node:child_process');
const { randomBytes } = require('node:crypto');
const { appendFileSync } = require('node:fs');
const { constants } = require('node:os');

const input = (name) => (process.env[`INPUT_${name.toUpperCase()}`] || '').trim();
const random = () => randomBytes(16).toString('hex');

// Writes variables to a file of the runner (GITHUB_ENV, GITHUB_STATE, GITHUB_OUTPUT). No value can hold
// the line that ends it, as that is random; so no value can set another variable.
function leave(file, values) {
  const texts = Object.entries(values).map(([name, value]) => {
    const end = random();
    return `${name}<<${end}\n${value}\n${end}\n`;
  });
  appendFileSync(process.env[file], texts.join(''));
}

// A note at the job: kind is error or warning.
function note(kind, text) {
  const escaped = text.replace(/%/g, '%25').replace(/\r/g, '%0D').replace(/\n/g, '%0A');
  process.stdout.write(`::${kind} title=dlock::${escaped}\n`);
}

// Runs dlock and shows its messages at once. Answers its exit status, the signal that ended it, what it
// wrote to standard output, and its last message.
async function dlock(words, variables = {}) {
  const env = { ...process.env, ...variables };
  // In the environment, as other users can read the words of a process.
  if (input('url')) env.DLOCK_URL = input('url');
  // A message has the holder's reason, which anybody may have written: it must be no command of the
  // runner. The messages go to standard output, as the runner does not read two streams in order.
  const program = input('path') || 'dlock';
  const resume = random();
  let messages = '';
  process.stdout.write(`::stop-commands::${resume}\n`);
  const answer = await new Promise((ended) => {
    const child = spawn(program, words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (text) => { out += text; });
    child.stderr.setEncoding('utf8').on('data', (text) => {
      messages += text;
      process.stdout.write(text);
    });
    child.on('error', (error) => ended({
      status: 127,
      out,
      message: `cannot start ${program}: ${error.code}; install it in an earlier step, or set "path"`,
    }));
    child.on('close', (code, signal) => ended({
      status: code ?? 128 + constants.signals[signal],
      signal,
      out,
      message: messages.trimEnd().split('\n').pop().replace(/^dlock: /, ''),
    }));
  });
  const unfinished = messages !== '' && !messages.endsWith('\n');
  process.stdout.write(`${unfinished ? '\n' : ''}::${resume}::\n`);
  return answer;
}

module.exports = { dlock, input, leave, note };
