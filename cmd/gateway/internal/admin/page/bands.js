// A fold side by side: on the left the request as it came, on the right what would
// be forwarded, in bands of messages that belong together.

import {make, pill} from './dom.js';
import {bytes, count, number} from './format.js';

const page = 30; // messages that are shown at once in a band
const glance = 240; // characters of a text before it is opened
const longGlance = 1200; // of what was put in: it begins with a frame
const longest = 20000; // characters of a text that are shown at all

const tones = {head: 'plain', folded: 'warn', kept: 'good', shrunk: 'bad', handoff: 'live', recalled: 'live'};

// bands compares what was pasted with the report of POST /v1/fold. Texts are read
// from the two bodies; what became of each message is the report's word.
export function bands(original, report) {
  const o = report.outline;
  const came = messagesOf(original);
  const goes = messagesOf(report.body);
  const all = o.messages.map((m, i) => ({...m, number: i, text: textOf(came[i]), after: m.position < 0 ? '' : textOf(goes[m.position])}));
  const of = (...fates) => all.filter((m) => fates.includes(m.fate));
  const folded = of('folded');
  const rest = of('kept', 'shrunk');
  const asker = o.recall ? rest.findLast((m) => m.role === 'user') : null;
  const node = make('div', {class: 'bands'},
    make('p', {class: 'side', 'aria-hidden': 'true'}, 'As it came'), make('p', {class: 'side', 'aria-hidden': 'true'}, 'As it would be forwarded'));
  if (of('head').length) node.append(...band('Head: always kept', of('head'), pair));
  if (folded.length) node.append(...replaced(folded, o));
  if (rest.length) node.append(...band(folded.length ? 'Rest' : 'Messages', rest, (m) => pair(strip(m, o, folded.length > 0 && m === rest[0], m === asker), m === asker ? recallCard(report) : null)));
  if (!all.length) node.append(make('p', {class: 'empty wide'}, 'The body holds no messages that could be read.'));
  return node;
}

// strip takes off what the fold put before a message's own text: that is shown as a
// card of its own.
function strip(m, o, carriesHandoff, carriesRecall) {
  let after = m.after;
  if (carriesHandoff && o.carrier === 'first') after = without(after, o.handoff);
  if (carriesRecall) after = without(after, o.recall);
  return {...m, after};
}

function without(text, put) {
  const at = put ? text.indexOf(put) : -1;
  return at < 0 ? text : (text.slice(0, at) + text.slice(at + put.length)).trimStart();
}

// band is a heading across both sides and a row for each message, some at a time.
function band(title, messages, row) {
  const heading = make('h3', {class: 'wide'}, `${title} (${count(messages.length, 'message')})`);
  const rows = make('div', {class: 'rows wide'});
  return [heading, rows, more(messages, (m) => rows.append(...row(m)))];
}

// more shows the first messages, and then some more each time it is asked.
function more(messages, show) {
  let shown = 0;
  const button = make('button', {type: 'button', class: 'quiet', click: next});
  const node = make('p', {class: 'wide more'}, button);
  function next() {
    messages.slice(shown, shown + page).forEach(show);
    shown = Math.min(messages.length, shown + page);
    const left = messages.length - shown;
    button.textContent = `Show ${Math.min(left, page)} more of ${left}`;
    node.hidden = left === 0;
  }
  next();
  return node;
}

// replaced is the band of the folded messages: all of them on the left, what stands
// for them on the right.
function replaced(folded, o) {
  const list = make('div', {class: 'stack'});
  const where = {
    own: 'in a user message of its own', first: 'before the text of the first message of the rest', copy: 'in a copy of the last user message that was folded',
  }[o.carrier];
  const handoff = make('div', {class: 'stack standing'}, card('handoff', 'Handoff', `stands ${where}`, o.handoff));
  const left = make('div', {class: 'stack'}, list, more(folded, (m) => list.append(card('folded', title(m), bytes(m.bytes), m.text))));
  return [make('h3', {class: 'wide'}, `Folded (${count(folded.length, 'message')})`), make('div', {class: 'rows wide'}, left, handoff)];
}

function recallCard(report) {
  return card('recalled', 'Recalled', `${count(report.recalled, 'passage')} of the folded messages, before the text of the last user message`, report.outline.recall);
}

// pair is one message on both sides.
function pair(m, before = null) {
  const note = m.fate === 'shrunk' ? `${count(m.text.length, 'character')} of text before, ${number(m.after.length)} after` : 'as it came';
  const right = make('div', {class: 'stack'}, ...(before ? [before] : []), card(m.fate, title(m), note, m.after));
  return [card(m.fate, title(m), bytes(m.bytes), m.text), right];
}

const title = (m) => `#${m.number} ${m.role}`;

// card is a text at a glance, and all of it when it is opened.
function card(fate, name, note, text) {
  const most = fate === 'handoff' || fate === 'recalled' ? longGlance : glance;
  const shown = make('p', {class: 'text'}, glimpse(text, most));
  const node = make('article', {class: `card ${fate}`}, make('p', {class: 'head'}, make('strong', {}, name), pill(fate, tones[fate]), make('span', {class: 'when'}, note)), shown);
  if (text.length > most) {
    const button = make('button', {type: 'button', class: 'quiet', 'aria-expanded': 'false', click: () => {
      const open = button.getAttribute('aria-expanded') === 'false';
      button.setAttribute('aria-expanded', String(open));
      button.textContent = open ? 'Less' : 'All of it';
      shown.textContent = open ? whole(text) : glimpse(text, most);
    }}, 'All of it');
    node.append(button);
  }
  return node;
}

function glimpse(text, most) {
  return text.length > most ? `${text.slice(0, most).trimEnd()} …` : text || '(no text)';
}

function whole(text) {
  return text.length > longest ? `${text.slice(0, longest)} … (${count(text.length - longest, 'character')} more)` : text;
}

function messagesOf(body) {
  try {
    const {messages} = JSON.parse(body);
    return Array.isArray(messages) ? messages : [];
  } catch {
    return [];
  }
}

// textOf is what a message says: its texts, its calls, and a word for the rest.
function textOf(m) {
  const parts = typeof m?.content === 'string' ? [m.content] : Array.isArray(m?.content) ? m.content.map(partText) : [];
  for (const c of m?.tool_calls ?? []) parts.push(`→ ${c?.function?.name ?? c?.type ?? 'call'}(${c?.function?.arguments ?? ''})`);
  return parts.join('\n');
}

function partText(p) {
  return typeof p?.text === 'string' ? p.text : `[${String(p?.type ?? 'part')}]`;
}
