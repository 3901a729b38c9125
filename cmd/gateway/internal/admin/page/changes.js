// What an operator may change, each behind a dialog that names what is lost.

import {ask, words} from './api.js';
import {make, setText} from './dom.js';
import {count, duration, now, number, quoted, short} from './format.js';

const maxReason = 255; // bytes

// confirm shows a dialog. done(reason) does the change; its problem is shown in the
// dialog, which then stays open. The promise ends with what done answered, or null.
function confirm({title, lost, kept, action, asksReason, done}) {
  return new Promise((resolve) => {
    let result = null;
    const wrong = make('p', {class: 'wrong', role: 'alert'});
    const reason = make('input', {type: 'text', id: 'reason', maxlength: maxReason, autocomplete: 'off'});
    const yes = make('button', {type: 'submit', class: 'danger'}, action);
    const no = make('button', {type: 'button', class: 'quiet', click: () => box.close()}, 'Leave it as it is');
    const form = make('form', {},
      make('h2', {id: 'confirm-title'}, title),
      make('div', {id: 'confirm-lost'}, ...lost.map((t) => make('p', {}, t)), make('p', {class: 'hint'}, kept)),
      asksReason ? make('p', {class: 'field'}, make('label', {for: 'reason'}, 'Reason, for the others (optional)'), reason) : null,
      wrong, make('p', {class: 'buttons'}, no, yes));
    const box = make('dialog', {'aria-labelledby': 'confirm-title', 'aria-describedby': 'confirm-lost'}, form);
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      if (new TextEncoder().encode(reason.value).length > maxReason) {
        setText(wrong, `The reason has at most ${maxReason} bytes.`);
        return;
      }
      busy(true);
      setText(wrong, '');
      try {
        result = await done(reason.value);
        box.close();
      } catch (error) {
        setText(wrong, words(error));
        busy(false);
        yes.focus();
      }
    });
    // While the change is under way the dialog stays: its outcome is told here.
    const busy = (is) => {
      yes.disabled = is;
      no.disabled = is;
    };
    box.addEventListener('cancel', (event) => {
      if (yes.disabled) event.preventDefault();
    });
    box.addEventListener('close', () => {
      box.remove();
      resolve(result);
    });
    document.body.append(box);
    box.showModal();
    no.focus(); // what changes nothing is what Enter does first
  });
}

const path = (c, end = '') => `v1/conversations/${c.conversation}${end}`;

// seen is the owner that the operator saw: the change is refused where it is
// another one by now.
const seen = (c) => (c.owner ? {generation: c.owner.generation, attempt: c.owner.attempt} : {});

export function cancel(c) {
  const o = c.owner;
  return confirm({
    title: `Cancel the attempt of generation ${number(o.generation)}?`,
    lost: [
      `Attempt ${short(o.attempt)} by route ${quoted(o.route)} on replica ${quoted(o.replica)} has worked for ${duration(now() - Date.parse(o.claimed))} on a summary of ${count(o.covered, 'message')}. That work is lost.`,
      'Requests that wait for it are folded without a model.',
    ],
    kept: 'Checkpoints stay. A later request over the trigger begins a new attempt.',
    action: 'Cancel the attempt', asksReason: true,
    done: async (reason) => {
      const answer = await ask('POST', path(c, '/cancel'), {body: JSON.stringify({...seen(c), reason})});
      return `The cancel flag is raised for generation ${number(answer.generation)}, attempt ${short(answer.attempt)}.`;
    },
  });
}

export function restore(c) {
  const [newest, before] = c.checkpoints;
  const works = c.owner?.live ? ` Attempt ${short(c.owner.attempt)} works now: it is superseded, and its work is lost.` : '';
  return confirm({
    title: 'Go one checkpoint back?',
    lost: [
      `The newest checkpoint is taken away: ${number(newest.tokens)} tokens of generation ${number(newest.generation)} that stand for ${count(newest.covered, 'message')}, ${newest.settled ? 'settled' : 'not settled'}.${works}`,
      before
        ? `The next request uses the one before it: ${number(before.tokens)} tokens for ${count(before.covered, 'message')}, of generation ${number(before.generation)}.`
        : 'There is none before it: the next request over the trigger begins a new attempt.',
    ],
    kept: 'The restore takes a generation of its own. It is refused if the owner has changed since you saw it.',
    action: 'Take it away',
    done: async () => {
      const answer = await ask('POST', path(c, '/restore'), {body: JSON.stringify(seen(c))});
      return answer.generation
        ? `Restored under generation ${number(answer.generation)}. Other replicas stop using what they held within 30 seconds.`
        : 'Restored. Somebody claimed the conversation at once.';
    },
  });
}

export function forget(c) {
  const tokens = c.checkpoints.reduce((n, k) => n + k.tokens, 0);
  const works = c.owner?.live ? `Attempt ${short(c.owner.attempt)} works now: it is lost.` : 'Nobody works on it now.';
  return confirm({
    title: 'Forget this conversation?',
    lost: [
      `Lost are ${count(c.checkpoints.length, 'checkpoint')} (${number(tokens)} tokens), the owner record, cooldown and strikes. ${works}`,
      'This cannot be undone. The next request over the trigger begins anew, and pays for a summary again.',
    ],
    kept: `Kept is the counter: generations go on after ${number(c.generation)}.`,
    action: 'Forget it',
    done: async () => {
      await ask('DELETE', path(c));
      return 'The conversation is forgotten, but for its counter.';
    },
  });
}
