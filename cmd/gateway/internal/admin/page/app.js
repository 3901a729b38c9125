// The page: who is asked, what is shown, and what is said when nobody answers.

import {ask, Gone, hasToken, Problem, setToken, words} from './api.js';
import {conversation} from './conversation.js';
import {announce, make, pill, setText} from './dom.js';
import {fold} from './fold.js';
import {clock, isKey, now, partSays, partTone, setClock} from './format.js';
import {overview} from './overview.js';
import {poll} from './poll.js';

const main = document.getElementById('main');
const drop = document.getElementById('drop-token');
let view = null;
let asking = null;
let answered = null; // when the replica last did, by its own clock

// route shows the view that the address names.
function route() {
  const [, name, key] = location.hash.split('/');
  document.querySelectorAll('dialog').forEach((d) => d.close());
  if (name === 'conversation' && isKey(key)) show(conversation(key), 'conversation');
  else if (name === 'conversation') show(noKey(), '');
  else if (name === 'fold') show(fold(), 'fold');
  else show(overview(), 'overview');
}

function noKey() {
  const node = make('div', {class: 'view'}, make('p', {class: 'back'}, make('a', {href: '#/'}, '← Overview')),
    make('h1', {tabindex: '-1'}, 'No conversation'), make('p', {}, 'The address names no conversation: a key is 40 hexadecimal digits.'));
  return {title: 'No conversation', node, async refresh() {}, replica() {}};
}

function show(next, name) {
  const first = view === null;
  view?.leave?.();
  asking?.stop();
  view = next;
  document.title = `${view.title} · Foldgate`;
  for (const a of document.querySelectorAll('[data-view]')) {
    if (a.dataset.view === name) a.setAttribute('aria-current', 'page');
    else a.removeAttribute('aria-current');
  }
  main.replaceChildren(view.node);
  if (!first) main.querySelector('h1').focus();
  asking = poll(refresh, told);
  view.again = asking.now;
}

// refresh asks for the replica and for what the view shows, which tells whether the
// store could not be asked.
async function refresh(signal) {
  const shown = view;
  const r = await ask('GET', 'v1/replica', {signal});
  setClock(r.now);
  showReplica(r);
  shown.replica(r);
  // The replica calls its store down after some calls that failed; the view may have
  // met the first of them.
  const missed = await shown.refresh(signal);
  banner('store', missed || partTone(r.parts.store ?? '') === 'bad'
    ? 'The store is down. Requests are served without it; generations, checkpoints and changes cannot be asked for until it is back.' : '');
}

function showReplica(r) {
  setText(document.getElementById('who'), r.mode === 'fold' ? r.replica : `${r.replica}, mode ${r.mode}`);
  document.getElementById('who').title = `version ${r.version}, up since ${clock(r.started)}`;
  const parts = Object.entries(r.parts).sort(([a], [b]) => (a < b ? -1 : 1));
  const states = [['replica', r.status, r.status === 'ready' ? 'good' : 'warn'], ...parts.map(([name, says]) => [name, partSays(says), partTone(says)])];
  const list = document.getElementById('parts');
  const was = JSON.stringify(states);
  if (list.dataset.was !== was) {
    list.dataset.was = was;
    list.replaceChildren(...states.map(([name, says, tone]) => make('li', {}, make('span', {class: 'name'}, name), ' ', pill(says, tone))));
  }
  banner('draining', r.status === 'draining' ? 'This replica is draining: it takes no new requests and is about to leave.' : '');
}

// told is called after each try.
function told(error, next) {
  if (error instanceof Problem && error.denied) {
    askToken(hasToken());
    return;
  }
  drop.hidden = !hasToken();
  const fresh = document.getElementById('fresh');
  const gone = error instanceof Gone;
  if (!error) answered = now();
  document.body.classList.toggle('gone', gone);
  setText(fresh, answered ? `as of ${clock(answered)}` : '');
  const again = new Date(next).toTimeString().slice(0, 8);
  banner('gone', gone ? `This replica does not answer.${answered ? ` What is shown is of ${clock(answered)}.` : ''}` : '', gone ? ` Next try at ${again}.` : '');
  banner('failed', error && !gone ? words(error) : '');
}

// banner says what is out of order, as long as it is; said aloud once.
function banner(name, text, beside = '') {
  const box = document.getElementById('banners');
  let node = box.querySelector(`[data-name="${name}"]`);
  if (!text) {
    if (node) {
      node.remove();
      announce(name === 'gone' ? 'The replica answers again.' : '');
    }
    return;
  }
  if (!node) {
    node = make('div', {'data-name': name, class: `banner ${name}`}, make('p', {}, make('span'), make('span')));
    box.append(node);
    announce(text);
  }
  const [said, more] = node.querySelectorAll('span');
  setText(said, text);
  setText(more, beside);
}

// askToken takes the place of everything: without the token nothing is told.
function askToken(wasWrong) {
  asking.stop();
  view?.leave?.();
  view = null;
  setToken('');
  drop.hidden = true;
  document.title = 'Token · Foldgate';
  document.querySelectorAll('dialog').forEach((d) => d.close());
  document.getElementById('banners').replaceChildren();
  const wrong = make('p', {class: 'wrong', role: 'alert', id: 'token-wrong'});
  const input = make('input', {
    id: 'token', type: 'password', autocomplete: 'off', spellcheck: 'false', required: true, 'aria-describedby': 'token-wrong token-hint',
  });
  const form = make('form', {class: 'token'}, make('h1', {tabindex: '-1'}, 'Admin token'),
    make('p', {class: 'hint', id: 'token-hint'}, 'This replica asks for one. It stays in the memory of this page: a reload, or closing it, forgets it.'),
    make('p', {class: 'field'}, make('label', {for: 'token'}, 'Token'), input), wrong, make('button', {type: 'submit', class: 'main'}, 'Continue'));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (!input.value) return;
    setToken(input.value);
    view = {};
    route();
  });
  main.replaceChildren(form);
  input.focus();
  // After it stands on the page: an alert that is there from the start is not read.
  if (wasWrong) setText(wrong, 'That token is not the right one, or not any more.');
}

drop.addEventListener('click', () => askToken(false));
window.addEventListener('hashchange', () => { if (view) route(); });
route();
