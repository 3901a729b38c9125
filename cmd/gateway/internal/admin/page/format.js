// Numbers, times and states in words.

const whole = new Intl.NumberFormat('en');
const time = new Intl.DateTimeFormat('en-GB', {hour: '2-digit', minute: '2-digit', second: '2-digit'});
const day = new Intl.DateTimeFormat('en-GB', {day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit'});

// The replica's clock decides what "ago" is: this machine's may be wrong.
let ahead = 0; // milliseconds

export function setClock(now) {
  ahead = Date.parse(now) - Date.now();
}

export function now() {
  return Date.now() + ahead;
}

export function number(n) {
  return whole.format(n);
}

// count is a number and what is counted.
export function count(n, one, many = `${one}s`) {
  return `${number(n)} ${n === 1 ? one : many}`;
}

export function bytes(n) {
  if (n < 1024) return count(n, 'byte');
  if (n < 1024 * 1024) return `${number(Math.round(n / 102.4) / 10)} KiB`;
  return `${number(Math.round(n / 104857.6) / 10)} MiB`;
}

// duration is a time span of so many milliseconds.
export function duration(ms) {
  if (!(ms >= 0)) return '';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(ms < 10000 ? 1 : 0)} s`;
  if (ms < 3600000) return `${Math.floor(ms / 60000)} min ${Math.floor(ms / 1000) % 60} s`;
  if (ms < 86400000) return `${Math.floor(ms / 3600000)} h ${Math.floor(ms / 60000) % 60} min`;
  return `${Math.floor(ms / 86400000)} d ${Math.floor(ms / 3600000) % 24} h`;
}

// clock is a moment; the day stands with it where it is another one.
export function clock(moment) {
  if (!moment) return '';
  const at = new Date(moment);
  return at.toDateString() === new Date(now()).toDateString() ? time.format(at) : day.format(at);
}

// ago rounds to whole seconds: what changes all the time is not read.
export function ago(moment) {
  if (!moment) return '';
  const ms = now() - Date.parse(moment);
  return ms < 1000 ? 'now' : `${duration(Math.floor(ms / 1000) * 1000).replace('.0', '')} ago`;
}

// left is the time until a moment; empty when it has passed or there is none.
export function left(moment) {
  const ms = moment ? Date.parse(moment) - now() : 0;
  return ms > 0 ? duration(Math.ceil(ms / 1000) * 1000).replace('.0', '') : '';
}

// short is the beginning of a key or an attempt id: enough to tell those on one
// page apart. Ids begin with the time, so of them the end is shown.
export function short(id) {
  return id.length === 36 ? `…${id.slice(-8)}` : `${id.slice(0, 10)}…`;
}

// less says how much less after is than before.
export function less(before, after) {
  if (!before || after >= before) return '';
  return `${Math.round(100 * (1 - after / before))} % less`;
}

const tones = {
  working: 'live', committed: 'good', settled: 'good', reused: 'good', restored: 'warn', failed: 'bad', ineffective: 'warn',
  cancelled: 'warn', abandoned: 'warn', superseded: 'warn', lost: 'bad', unfenced: 'warn', fallback: 'warn', unfit: 'bad', pending: 'live',
};

// tone is the colour of a phase, an outcome or a kind.
export function tone(word) {
  return tones[word] ?? 'plain';
}

// partTone is the colour of what /readyz says of a part.
export function partTone(says) {
  if (says.startsWith('down')) return 'bad';
  if (says === 'ok' || says === 'in process') return 'good';
  return says === 'trying' ? 'warn' : 'plain';
}

// partSays shortens the moment in "down since …".
export function partSays(says) {
  const [, since] = /^down since (.+)$/.exec(says) ?? [];
  return since ? `down since ${clock(since)}` : says;
}

// quoted keeps a text that somebody else wrote from turning the words around it: a
// mark in it that reverses them ends where the text ends.
export function quoted(text) {
  return `\u2068${text}\u2069`;
}

// isKey tells a conversation's key from anything else.
export function isKey(text) {
  return /^[0-9a-f]{40}$/.test(text);
}
