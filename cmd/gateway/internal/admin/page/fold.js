// The dry run: a pasted request, and side by side what a fold without a model makes
// of it. The request goes to this replica and is not kept, here or there.

import {ask, Gone, words} from './api.js';
import {bands} from './bands.js';
import {announce, make, section, setText} from './dom.js';
import {count, duration, less, number} from './format.js';

const patience = 60000; // milliseconds: a large request takes a while to send and fold

export function fold() {
  const request = make('textarea', {
    id: 'request', rows: 10, spellcheck: 'false', autocomplete: 'off', 'aria-describedby': 'request-hint', placeholder: '{"model": "…", "messages": [ … ]}',
  });
  const window_ = make('input', {id: 'window', type: 'text', inputmode: 'numeric', autocomplete: 'off', placeholder: 'as known', 'aria-describedby': 'window-hint'});
  const file = make('input', {type: 'file', id: 'file', accept: '.json,application/json'});
  const go = make('button', {type: 'submit', class: 'main'}, 'Fold it');
  const wrong = make('p', {class: 'wrong', role: 'alert'});
  const form = make('form', {class: 'ask'},
    make('p', {class: 'field'}, make('label', {for: 'request'}, 'Chat request'), request,
      make('span', {class: 'hint', id: 'request-hint'}, 'The JSON body that a client sends. Nothing is forwarded, claimed or kept.')),
    make('div', {class: 'row'},
      make('p', {class: 'field'}, make('label', {for: 'file'}, 'Or from a file'), file),
      make('p', {class: 'field'}, make('label', {for: 'window'}, 'Window in tokens'), window_,
        make('span', {class: 'hint', id: 'window-hint'}, 'TOTAL or TOTAL/INPUT')),
      go),
    wrong);
  const out = make('div', {class: 'outcome'});
  const node = make('div', {class: 'view fold'}, make('h1', {tabindex: '-1'}, 'Dry run'), form, out);
  let asked = null;

  file.addEventListener('change', async () => {
    const [chosen] = file.files;
    if (chosen) request.value = await chosen.text();
  });
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    asked?.abort();
    asked = new AbortController();
    const mine = asked;
    setText(wrong, '');
    out.replaceChildren(make('p', {class: 'empty'}, 'Folding …'));
    try {
      const began = performance.now();
      const query = window_.value.trim() ? `?window=${encodeURIComponent(window_.value.trim())}` : '';
      const report = await ask('POST', `v1/fold${query}`, {body: request.value, signal: mine.signal, wait: patience});
      const heading = make('h2', {id: 'outcome', tabindex: '-1'}, headline(report));
      out.replaceChildren(make('section', {'aria-labelledby': 'outcome'}, heading, summary(report, performance.now() - began)),
        section('sides', 'Side by side', bands(request.value, report)));
      heading.focus();
      announce(headline(report));
    } catch (error) {
      if (mine.signal.aborted) return;
      out.replaceChildren();
      setText(wrong, error instanceof Gone ? words(error) : `It is not folded. ${words(error)}`);
    }
  });
  return {
    title: 'Dry run', node, again: () => {}, replica: () => {},
    async refresh() {}, // nothing here changes by itself
    leave: () => asked?.abort(),
  };
}

function headline(r) {
  if (r.kind === 'none') return `Goes on as it came: ${number(r.before)} tokens, not over the trigger of ${number(r.trigger)}`;
  return `${number(r.before)} tokens before, ${number(r.after)} after${less(r.before, r.after) ? `: ${less(r.before, r.after)}` : ''}`;
}

// summary is the fold in numbers.
function summary(r, whole) {
  const fates = (fate) => r.outline.messages.filter((m) => m.fate === fate).length;
  const put = [r.outline.handoff && 'a handoff', r.recalled && count(r.recalled, 'recalled passage')].filter(Boolean).join(' and ');
  const tiles = [
    ['Fold', r.kind, r.reason ? `reason: ${r.reason}` : ''],
    ['Model', r.model || '–', `window ${number(r.window)} (${r.source})`],
    ['Messages kept', number(fates('head') + fates('kept')), `${number(r.head)} of them the head`],
    ['Messages folded', number(r.covered), put ? `in their place ${put}` : 'nothing was replaced'],
    ['Messages shrunk', number(r.shrunk), r.shrunk ? 'by the exit gate, to fit' : 'the exit gate changed nothing'],
    ['Time', duration(r.took_ms), `${duration(whole)} with the way there and back`],
  ];
  return make('div', {}, scale(r), make('dl', {class: 'tiles'},
    ...tiles.map(([name, value, note]) => make('div', {}, make('dt', {}, name), make('dd', {}, value), make('dd', {class: 'sub'}, note)))));
}

// scale shows both sizes beside what the window leaves.
function scale(r) {
  const top = Math.max(r.before, r.window, 1);
  const bar = (name, n) => {
    const filled = make('span', {class: `filled ${name}`});
    filled.style.width = `${(100 * n) / top}%`;
    return make('p', {class: 'bar'}, make('span', {class: 'name'}, name), make('span', {class: 'track'}, filled, ...marks()), make('span', {class: 'number'}, number(n)));
  };
  const marks = () => [r.trigger, r.usable].map((n, i) => {
    const mark = make('span', {class: i ? 'mark usable' : 'mark trigger'});
    mark.style.left = `${Math.min(100, (100 * n) / top)}%`;
    return mark;
  });
  return make('div', {class: 'scale'}, bar('before', r.before), bar('after', r.after),
    make('p', {class: 'hint'}, `Marks: the trigger at ${number(r.trigger)}, usable at ${number(r.usable)} of a window of ${number(r.window)} tokens.`));
}
