// One conversation's attempts, the newest first: those that this replica remembers,
// the owner, and those that only their checkpoint tells of.

import {make, pill} from './dom.js';
import {clock, count, duration, now, number, quoted, tone} from './format.js';

const most = 50;

// gather puts together what is known of each attempt, by its id.
export function gather(conversation, attempts) {
  const all = new Map();
  const of = (id, generation) => {
    if (!all.has(id)) all.set(id, {id, generation});
    return all.get(id);
  };
  for (const a of attempts) Object.assign(of(a.id, a.generation), {here: a, began: a.started});
  for (const k of conversation?.checkpoints ?? []) {
    const one = of(k.attempt, k.generation);
    Object.assign(one, {checkpoint: k, began: one.began ?? k.created});
  }
  const o = conversation?.owner;
  if (o) {
    const one = of(o.attempt, o.generation);
    Object.assign(one, {owner: o, began: one.began ?? o.claimed});
  }
  const order = (a, b) => (a.generation && b.generation ? b.generation - a.generation : Date.parse(b.began) - Date.parse(a.began));
  return [...all.values()].sort(order);
}

// stateOf is what the store says where it says something, else what this replica
// knows.
function stateOf(a) {
  if (a.owner) return a.owner.phase;
  if (a.checkpoint) return a.checkpoint.settled ? 'settled' : 'committed';
  return a.here.outcome ?? a.here.phase;
}

// timeline returns the list; update(attempts) brings it up to date in place.
export function timeline() {
  const list = make('ol', {class: 'timeline'});
  const note = make('p', {class: 'empty'}, 'Loading …');
  const node = make('div', {}, list, note);
  const items = new Map();
  return {
    node,
    update(attempts) {
      const shown = attempts.slice(0, most);
      const keep = new Set(shown.map((a) => a.id));
      for (const [id, item] of items) {
        if (keep.has(id)) continue;
        item.node.remove();
        items.delete(id);
      }
      shown.forEach((a, i) => {
        const told = tell(a);
        const was = JSON.stringify(told);
        let item = items.get(a.id);
        if (!item) {
          item = {node: make('li'), was: ''};
          items.set(a.id, item);
        }
        if (item.was !== was) {
          item.was = was;
          item.node.className = told.tone;
          item.node.replaceChildren(...show(told));
        }
        if (list.children[i] !== item.node) list.insertBefore(item.node, list.children[i] ?? null);
      });
      const more = attempts.length - shown.length;
      note.hidden = shown.length > 0 && more === 0;
      note.textContent = shown.length ? `${more} older ones are not shown.` : 'No attempt is known.';
    },
  };
}

// tell says in texts what there is to show of an attempt.
function tell(a) {
  const state = stateOf(a);
  const o = a.owner;
  const h = a.here;
  const ended = h?.ended ?? a.checkpoint?.created;
  const works = state === 'working';
  const lines = [];
  if (h || o?.route) lines.push(`Route ${quoted((h ?? o).route)}, covers ${count((h ?? o).covered, 'message')}.`);
  if (o && !o.replica) lines.push('An operator’s: a restore takes a generation of its own.');
  if (o?.replica) lines.push(`Replica ${quoted(o.replica)}${o.deaths ? `, after ${count(o.deaths, 'owner')} that died` : ''}.`);
  if (works && o) lines.push(`Last progress ${clock(o.progress)}; lease until ${clock(o.lease_end)}, ceiling ${clock(o.ceiling)}.`);
  if (a.checkpoint) {
    lines.push(`Checkpoint: ${number(a.checkpoint.tokens)} tokens stand for ${count(a.checkpoint.covered, 'message')}${a.checkpoint.settled ? '; an upstream took it' : '; not settled yet'}.`);
  }
  if (h?.reason) lines.push(`Reason: ${quoted(h.reason)}.`);
  if (!h) lines.push('Not an attempt of this replica, or one that it no longer remembers.');
  const took = h && (works || h.ended) ? duration((h.ended ? Date.parse(h.ended) : now()) - Date.parse(h.started)) : '';
  return {
    state, tone: tone(state), generation: a.generation ? `Generation ${number(a.generation)}` : 'Unfenced', id: a.id, lines,
    when: [clock(a.began), ended && h ? clock(ended) : ''].filter(Boolean).join(' – '), took, current: Boolean(o),
  };
}

function show(told) {
  return [
    make('p', {class: 'head'}, make('strong', {}, told.generation), ' ', pill(told.state, told.tone), told.current ? pill('owner') : null,
      make('span', {class: 'when'}, told.when + (told.took ? `, ${told.took}` : ''))),
    make('p', {class: 'mono id'}, told.id),
    ...told.lines.map((l) => make('p', {}, l)),
  ];
}
