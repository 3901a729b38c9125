// One conversation: as the store has it, and what this replica's attempts did.

import {ask, Problem, words} from './api.js';
import {cancel, forget, restore} from './changes.js';
import {announce, facts, make, section, setText, table} from './dom.js';
import {clock, count, left, number, quoted, short, tone} from './format.js';
import {gather, timeline} from './timeline.js';

export function conversation(key) {
  const told = make('p', {class: 'told', role: 'status'});
  const state = facts(['Generation', 'Owner', 'Replica', 'Lease', 'Cancel flag', 'Cooldown', 'Last error']);
  const buttons = changeButtons();
  const course = timeline();
  const checkpoints = checkpointTable(key);
  const node = make('div', {class: 'view conversation'},
    make('p', {class: 'back'}, make('a', {href: '#/'}, '← Overview')),
    make('h1', {tabindex: '-1'}, 'Conversation'), make('p', {class: 'mono key'}, key),
    told,
    section('state', 'As the store has it', state.node, buttons.node),
    section('course', 'Attempts', course.node),
    section('checkpoints', 'Checkpoints', ...checkpoints.nodes));
  let shown = null; // as the store had it last

  const view = {
    title: `Conversation ${short(key)}`,
    node,
    again: () => {},
    async refresh(signal) {
      const [stored, tried] = await Promise.allSettled([
        ask('GET', `v1/conversations/${key}`, {signal}),
        ask('GET', `v1/attempts?conversation=${key}&limit=200`, {signal}),
      ]);
      if (tried.status === 'rejected') throw tried.reason;
      const missing = stored.status === 'rejected' ? stored.reason : null;
      if (missing && !(missing instanceof Problem && [404, 503].includes(missing.status))) throw missing;
      if (!missing) shown = stored.value;
      else if (missing.status === 404) shown = null;
      node.classList.toggle('stale', Boolean(missing));
      state.update(shown ? describe(shown) : [words(missing), ...Array(6).fill('–')]);
      buttons.update(missing ? null : shown);
      checkpoints.update(shown?.checkpoints ?? []);
      course.update(gather(shown, tried.value.attempts));
      return missing?.status === 503;
    },
    replica(r) {
      buttons.configured(r.token_configured);
      checkpoints.configured(r.token_configured);
    },
  };
  buttons.chosen = async (change) => {
    const result = await change(shown);
    if (result === null) return;
    setText(told, result);
    announce(result);
    view.again();
  };
  return view;
}

// describe are the facts, in the order of their names above.
function describe(c) {
  const o = c.owner;
  const cooling = left(c.cooldown_until);
  const blocked = left(c.blocked_until);
  return [
    number(c.generation),
    o ? {text: o.phase, tone: tone(o.phase), sub: `generation ${number(o.generation)}, ${short(o.attempt)}`} : 'nobody',
    o ? o.replica || 'an operator' : '–',
    !o || o.phase !== 'working' ? '–' : o.live ? {text: 'runs', tone: 'live', sub: `until ${clock(o.lease_end)}`} : {text: 'ran out', tone: 'bad', sub: clock(o.lease_end)},
    c.cancel ? {text: 'raised', tone: 'warn', sub: `${clock(c.cancel.raised)}: ${quoted(c.cancel.reason)}`} : 'not raised',
    cooling ? {text: 'cooling', tone: 'warn', sub: `for ${cooling}`} : blocked ? {text: 'blocked', tone: 'warn', sub: `for ${blocked}, ${count(c.strikes, 'strike')}`} : 'none',
    c.last_error ?? 'none',
  ];
}

// changeButtons are offered where the change can be made; else they say why not.
function changeButtons() {
  const all = [
    {name: 'Cancel the attempt …', change: cancel, why: (c) => (!c.owner || c.owner.phase !== 'working' ? 'No attempt works.' : c.cancel ? 'It is cancelled already.' : '')},
    {name: 'Restore …', change: restore, guarded: true, why: (c) => (c.checkpoints.length ? '' : 'There is no checkpoint to take back.')},
    {name: 'Forget …', change: forget, guarded: true, why: (c) => (c.owner || c.checkpoints.length ? '' : 'There is nothing but the counter.')},
  ];
  const it = {chosen: () => {}, known: null, open: false};
  const rows = all.map((b, i) => {
    const why = make('span', {class: 'hint', id: `why-${i}`});
    const button = make('button', {type: 'button', 'aria-describedby': why.id, click: () => {
      if (button.getAttribute('aria-disabled') !== 'true') it.chosen(b.change);
    }}, b.name);
    return {...b, button, reason: why};
  });
  function update() {
    for (const r of rows) {
      const reason = !it.known ? 'The store’s answer is missing.' : r.guarded && it.open ? 'Needs admin_token to be configured.' : r.why(it.known);
      setText(r.reason, reason);
      // Not "disabled": a button that is would lose the focus under the keyboard.
      r.button.setAttribute('aria-disabled', String(reason !== ''));
    }
  }
  it.node = make('div', {class: 'changes'}, ...rows.map((r) => make('p', {}, r.button, r.reason)));
  it.update = (c) => { it.known = c; update(); };
  it.configured = (yes) => { it.open = !yes; update(); };
  update();
  return it;
}

// checkpointTable also shows the handoffs, once they are asked for.
function checkpointTable(key) {
  const list = table({
    caption: 'Checkpoints, newest first', limit: 4, empty: 'There is no checkpoint.', key: (k) => `${k.generation} ${k.attempt}`,
    columns: [
      {label: 'Generation', kind: 'number', cell: (k) => number(k.generation)},
      {label: 'Covers', kind: 'number', cell: (k) => count(k.covered, 'message')},
      {label: 'Handoff', kind: 'number', cell: (k) => count(k.tokens, 'token')},
      {label: 'State', cell: (k) => (k.settled ? {text: 'settled', tone: 'good'} : {text: 'provisional', tone: 'warn'})},
      {label: 'Route', cell: (k) => k.route},
      {label: 'Created', cell: (k) => clock(k.created)},
      {label: 'Digest', kind: 'mono', cell: (k) => ({text: short(k.digest), title: k.digest})},
    ],
  });
  const texts = make('div', {class: 'handoffs', role: 'region', 'aria-label': 'Texts of the handoffs', tabindex: '-1'});
  const wrong = make('p', {class: 'wrong', role: 'alert'});
  const button = make('button', {type: 'button', click: show}, 'Show the handoffs’ text');
  const why = make('span', {class: 'hint'}, 'Each look is a line in the audit log.');
  async function show() {
    if (button.getAttribute('aria-disabled') === 'true') return;
    setText(wrong, '');
    try {
      const c = await ask('GET', `v1/conversations/${key}?handoff=1`);
      texts.replaceChildren(...c.checkpoints.map((k) => make('figure', {},
        make('figcaption', {}, `Generation ${number(k.generation)}, ${count(k.tokens, 'token')}`), make('pre', {tabindex: '0'}, k.handoff))));
      texts.focus();
    } catch (error) {
      setText(wrong, words(error));
    }
  }
  return {
    nodes: [list.node, make('p', {class: 'changes'}, button, why), wrong, texts],
    update(checkpoints) {
      list.update(checkpoints);
      button.parentNode.hidden = checkpoints.length === 0;
      if (checkpoints.length === 0) texts.replaceChildren();
    },
    configured(yes) {
      setText(why, yes ? 'Each look is a line in the audit log.' : 'Needs admin_token to be configured.');
      button.setAttribute('aria-disabled', String(!yes));
    },
  };
}
