// The overview: what this replica does now, and did lately.

import {ask} from './api.js';
import {chart} from './chart.js';
import {make, section, setText, table} from './dom.js';
import {ago, clock, count, duration, isKey, left, less, now, number, short, tone} from './format.js';

const most = 25; // rows of each list
const seconds = 5; // of a step of /v1/tokens
const spans = [5, 15, 60]; // minutes

export function overview() {
  const figures = tiles();
  const picture = chart();
  const [choice, minutes] = spanChoice(() => view.again());
  const find = finder();
  const attempts = attemptTable();
  const conversations = conversationTable();
  const cooling = coolingTable();
  const refusals = refusalTables();
  const node = make('div', {class: 'view overview'},
    make('h1', {tabindex: '-1'}, 'Overview'),
    figures.node,
    section('tokens', 'Tokens before and after', make('div', {class: 'row'},
      make('p', {class: 'hint'}, 'Of requests that were counted; small ones are let through by their length.'), choice), picture.node),
    section('attempts', 'Attempts', make('p', {class: 'hint'}, 'Of this replica: those that work, then the last that ended.'), attempts.node),
    section('conversations', 'Conversations', make('div', {class: 'row'},
      make('p', {class: 'hint'}, 'Those that this replica touched lately; generation, owner and checkpoints as the store has them.'), find), conversations.node),
    make('div', {class: 'pair'},
      section('cooling', 'Cooldowns', cooling.node),
      section('refusals', 'Refusals by the fence', ...refusals.nodes)));

  const view = {
    title: 'Overview',
    node,
    again: () => {},
    async refresh(signal) {
      const [steps, touched, tried] = await Promise.all([
        ask('GET', `v1/tokens?limit=${minutes() * 60 / seconds}`, {signal}),
        ask('GET', `v1/conversations?limit=${4 * most}&state=1`, {signal}),
        ask('GET', 'v1/attempts?limit=200', {signal}),
      ]);
      picture.update(steps, minutes());
      conversations.update(touched.conversations.slice(0, 4 * most));
      cooling.update(touched.conversations.filter((c) => c.state && (left(c.state.cooldown_until) || left(c.state.blocked_until))));
      attempts.update([...tried.attempts.filter((a) => !a.ended), ...tried.attempts.filter((a) => a.ended)]);
      return touched.conversations.some((c) => c.state === null);
    },
    replica(r) {
      figures.update(r.totals);
      refusals.update(r);
    },
  };
  return view;
}

// tiles are the counts since the start.
function tiles() {
  const names = ['Requests', 'Folded', 'Tokens saved', 'Attempts working', 'Fence refusals', 'Store errors'];
  const values = names.map(() => make('dd', {}, '–'));
  const notes = names.map(() => make('dd', {class: 'sub'}, ''));
  const node = make('dl', {class: 'tiles', 'aria-label': 'Since the replica started'},
    ...names.map((n, i) => make('div', {}, make('dt', {}, n), values[i], notes[i])));
  const add = (counts, ...names) => names.reduce((n, name) => n + (counts[name] ?? 0), 0);
  return {
    node,
    update(t) {
      const all = Object.values(t.folds).reduce((n, k) => n + k, 0);
      const made = add(t.folds, 'reused', 'committed', 'unfenced');
      const refused = t.refusals.reduce((n, r) => n + r.count, 0);
      const ended = Object.values(t.attempts).reduce((n, k) => n + k, 0);
      [
        [number(all), `${number(t.requests_in_flight)} in flight`],
        [number(made + add(t.folds, 'fallback')), `${number(add(t.folds, 'fallback'))} without a model, ${number(add(t.folds, 'unfit'))} unfit`],
        [number(t.tokens_saved), t.tokens_savable ? `${number(t.tokens_savable)} savable` : `${number(t.summary_input_tokens + t.summary_output_tokens)} spent on summaries`],
        [number(t.attempts_running), `${number(ended)} ended, ${number(add(t.attempts, 'failed'))} failed`],
        [number(refused), refused ? 'stale writes that changed nothing' : 'no stale write'],
        [number(t.store_errors), `${count(t.retries, 'request')} sent twice`],
      ].forEach(([value, note], i) => {
        setText(values[i], value);
        setText(notes[i], note);
      });
    },
  };
}

// spanChoice are radio buttons for the time that the chart shows.
function spanChoice(changed) {
  let chosen = spans[0];
  const buttons = spans.map((m) => {
    const input = make('input', {type: 'radio', name: 'span', value: m, checked: m === chosen});
    input.addEventListener('change', () => { chosen = m; changed(); });
    return make('label', {}, input, make('span', {}, m === 60 ? '1 h' : `${m} min`));
  });
  const node = make('fieldset', {class: 'choice'}, make('legend', {class: 'unseen'}, 'Time shown'), ...buttons);
  return [node, () => chosen];
}

// finder opens a conversation by its key.
function finder() {
  const wrong = make('p', {class: 'wrong', role: 'alert', id: 'find-wrong'});
  const input = make('input', {
    id: 'find', type: 'text', placeholder: 'key', spellcheck: 'false', autocomplete: 'off', maxlength: 42, 'aria-describedby': 'find-wrong',
  });
  const form = make('form', {class: 'find'}, make('label', {for: 'find'}, 'Foldgate-Key'), input, make('button', {type: 'submit'}, 'Open'), wrong);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const key = input.value.trim().replaceAll('"', '').toLowerCase();
    setText(wrong, isKey(key) ? '' : 'A key is 40 hexadecimal digits.');
    if (isKey(key)) location.hash = `#/conversation/${key}`;
  });
  return form;
}

const open = (key) => ({text: short(key), title: key, href: `#/conversation/${key}`});

function attemptTable() {
  return table({
    caption: 'Attempts of this replica', limit: most, empty: 'No attempt yet.', key: (a) => a.id,
    columns: [
      {label: 'State', cell: (a) => ({text: a.outcome ?? a.phase, tone: tone(a.outcome ?? a.phase)})},
      {label: 'Conversation', kind: 'mono', cell: (a) => open(a.conversation)},
      {label: 'Generation', kind: 'number', cell: (a) => (a.generation ? number(a.generation) : {text: '0', title: 'unfenced: no store took part'})},
      {label: 'Route', cell: (a) => a.route},
      {label: 'Covers', kind: 'number', cell: (a) => count(a.covered, 'message')},
      {label: 'Began', cell: (a) => ({text: ago(a.started), title: clock(a.started)})},
      {label: 'Took', kind: 'number', cell: (a) => duration((a.ended ? Date.parse(a.ended) : now()) - Date.parse(a.started))},
      {label: 'Reason', cell: (a) => a.reason},
    ],
  });
}

function conversationTable() {
  const owner = (s) => {
    if (!s) return {text: 'not known', title: 'the store could not be asked'};
    if (!s.phase) return 'nobody';
    return {text: s.phase, tone: tone(s.phase), sub: s.cancel_raised ? 'cancel raised' : ''};
  };
  return table({
    caption: 'Conversations that this replica touched lately', limit: most, empty: 'This replica has touched no conversation yet.',
    key: (c) => c.conversation,
    columns: [
      {label: 'Key', kind: 'mono', cell: (c) => open(c.conversation)},
      {label: 'Last request', cell: (c) => ({text: ago(c.last_seen), title: clock(c.last_seen)})},
      {label: 'Fold', cell: (c) => ({text: c.kind, tone: tone(c.kind)})},
      {label: 'Before', kind: 'number', cell: (c) => (c.before ? number(c.before) : '–')},
      {label: 'After', kind: 'number', cell: (c) => (c.after ? {text: number(c.after), sub: less(c.before, c.after)} : '–')},
      {label: 'Generation', kind: 'number', cell: (c) => (c.state ? number(c.state.generation) : '–')},
      {label: 'Owner', cell: (c) => owner(c.state)},
      {label: 'Checkpoints', kind: 'number', cell: (c) => (c.state ? number(c.state.checkpoints) : '–')},
    ],
  });
}

function coolingTable() {
  return table({
    caption: 'Conversations for which no attempt is begun', limit: most, empty: 'No conversation cools down.', key: (c) => c.conversation,
    columns: [
      {label: 'Key', kind: 'mono', cell: (c) => open(c.conversation)},
      {label: 'Why', cell: (c) => (left(c.state.cooldown_until) ? {text: 'cooling', tone: 'warn'} : {text: 'blocked', tone: 'warn'})},
      {label: 'For', kind: 'number', cell: (c) => left(c.state.cooldown_until) || left(c.state.blocked_until)},
      {label: 'Last error', cell: (c) => c.state.last_error ?? (c.state.strikes ? count(c.state.strikes, 'strike') : '')},
    ],
  });
}

// refusalTables are the sums of the metrics, and the last ones one by one.
function refusalTables() {
  const sums = table({
    caption: 'Refusals by the fence since the start', limit: most, empty: 'No write was refused: no stale attempt tried to write.',
    key: (r) => `${r.operation} ${r.answer}`,
    columns: [
      {label: 'Operation', cell: (r) => r.operation},
      {label: 'Answer', cell: (r) => ({text: r.answer, tone: tone(r.answer)})},
      {label: 'Times', kind: 'number', cell: (r) => number(r.count)},
    ],
  });
  const last = make('p', {class: 'hint'});
  return {
    nodes: [sums.node, last],
    update(r) {
      sums.update(r.totals.refusals);
      const [f] = r.refusals;
      setText(last, f ? `The last one: ${f.operation}, ${f.answer}, ${ago(f.at)}. Each was a write with an old fence: it changed nothing.` : '');
    },
  };
}
