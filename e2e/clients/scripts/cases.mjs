// What the scripts have in common: the cases' frame and the long conversation.
import assert from 'node:assert/strict';

export const baseURL = process.env.BASE_URL;
export const apiKey = process.env.API_KEY;
export const large = 'gpt-4o-mini'; // a model with a window that is never reached here
export const small = 'small'; // one with 8,000 tokens, configured at the gateway
export const unknown = 'unknown'; // the same, and the gateway does not know

export const pixel =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
export const pictureURL = 'https://example.com/harbour.png';

// run drives the cases one after the other and prints a line of JSON for each.
// A case answers {said, seen, header?}.
export async function run(cases) {
  for (const [name, drive] of Object.entries(cases)) {
    let line;
    try {
      line = { case: name, ok: true, ...(await drive(name)) };
    } catch (error) {
      line = { case: name, ok: false, wrong: String(error?.stack ?? error) };
    }
    await new Promise((done) => process.stdout.write(JSON.stringify(line) + '\n', done));
  }
  process.exit(0); // what a client keeps open is not waited for
}

// answered is the outcome of a case in which a text came back.
export function answered(text, seen = {}, header) {
  assert.equal(text, 'Hello from the model.');
  return { said: 'answer', seen: { text, ...seen }, header };
}

// failing is the error that something ends with.
export async function failing(something) {
  try {
    await something();
  } catch (error) {
    return error;
  }
  throw new Error('it succeeded and should have failed');
}

// talk is a conversation of about 13,000 tokens whose last message names a scenario.
export function talk(scenario) {
  const messages = [{ role: 'system', content: 'You know harbours.' }];
  for (let i = 0; i < 40; i++) {
    messages.push({ role: 'user', content: `Question ${i}: what of harbour number ${i}? ` + words(i, 140) });
    messages.push({ role: 'assistant', content: `Harbour number ${i} has ${i + 3} berths. ` + words(i + 1000, 140) });
  }
  messages.push({ role: 'user', content: `And now? @${scenario}` });
  return messages;
}

// tooLong is one message that no fold can make fit: one that only the model server
// can tell (unfit), or one that the gateway knows to be too long (unfit-far).
export const tooLong = (scenario) => words(7, scenario === 'unfit' ? 12000 : 60000) + ` @${scenario}`;

const list = 'alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november oscar papa'.split(' ');

function words(seed, count) {
  let state = (seed * 2654435761 + 1013904223) >>> 0;
  const all = [];
  for (let i = 0; i < count; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    all.push(list[state >>> 28]);
  }
  return all.join(' ');
}

// header is a fetch response's header as an object.
export const header = (response) => Object.fromEntries(response.headers.entries());
