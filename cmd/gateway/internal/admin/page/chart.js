// The chart of tokens before and after over time, as SVG.

import {make, setText} from './dom.js';
import {clock, count, less, now, number} from './format.js';

const bars = 60;
const height = 180;
const margin = {top: 10, right: 4, bottom: 24, left: 56};
const space = 'http://www.w3.org/2000/svg';

function draw(tag, attributes, ...children) {
  const node = document.createElementNS(space, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}

// chart returns a figure; update(list, minutes) draws what /v1/tokens answered.
export function chart() {
  const picture = draw('svg', {role: 'img', height, 'aria-labelledby': 'chart-told'});
  const told = make('figcaption', {id: 'chart-told'}, 'Loading …');
  const legend = make('p', {class: 'legend', 'aria-hidden': 'true'},
    make('span', {class: 'swatch before'}), 'before', make('span', {class: 'swatch after'}), 'after');
  const rows = make('tbody');
  const data = make('details', {}, make('summary', {}, 'The same as a table'), make('table', {class: 'plain'},
    make('thead', {}, make('tr', {}, ...['From', 'Requests', 'Before', 'After'].map((h) => make('th', {scope: 'col'}, h)))), rows));
  const node = make('figure', {class: 'chart'}, make('div', {class: 'chart-head'}, told, legend), picture, data);
  let last = null;

  function redraw() {
    if (last) paint(picture, ...last);
  }

  new ResizeObserver(redraw).observe(node);
  return {
    node,
    update(list, minutes) {
      last = [gather(list, minutes), minutes];
      redraw();
      tell(told, rows, ...last);
    },
  };
}

// gather adds steps up to so many bars. The last one ends with the present step.
function gather(list, minutes) {
  const width = Math.max(list.seconds, (minutes * 60) / bars) * 1000;
  const end = (Math.floor(now() / width) + 1) * width;
  const sums = Array.from({length: bars}, (_, i) => ({at: end - (bars - i) * width, requests: 0, before: 0, after: 0}));
  for (const s of list.steps) {
    const bar = sums[bars - Math.ceil((end - Date.parse(s.at)) / width)];
    if (!bar) continue;
    bar.requests += s.requests;
    bar.before += s.before;
    bar.after += s.after;
  }
  return sums;
}

function paint(picture, sums) {
  const width = Math.max(240, Math.floor(picture.parentNode.clientWidth));
  const inside = {width: width - margin.left - margin.right, height: height - margin.top - margin.bottom};
  const top = nice(Math.max(1, ...sums.map((s) => Math.max(s.before, s.after))));
  const y = (n) => margin.top + inside.height * (1 - n / top);
  const wide = inside.width / bars;
  const all = [];
  for (const share of [0, 0.5, 1]) {
    const at = Math.round(y(top * share)) + 0.5;
    all.push(draw('line', {class: share ? 'grid' : 'axis', x1: margin.left, x2: width - margin.right, y1: at, y2: at}));
    all.push(draw('text', {class: 'tick', x: margin.left - 8, y: at + 4, 'text-anchor': 'end'}, number(top * share)));
  }
  sums.forEach((s, i) => {
    if (!s.requests) return;
    const x = margin.left + i * wide;
    const bar = (name, n) => draw('rect', {
      class: name, x: (x + wide * 0.12).toFixed(1), width: (wide * 0.76).toFixed(1), y: y(n).toFixed(1), height: Math.max(1, y(0) - y(n)).toFixed(1),
    });
    const says = `${clock(s.at)}: ${count(s.requests, 'request')}, ${number(s.before)} before, ${number(s.after)} after`;
    all.push(draw('g', {}, draw('title', {}, says), bar('before', s.before), bar('after', s.after)));
  });
  [0, Math.floor(bars / 2), bars - 1].forEach((i, n) => {
    all.push(draw('text', {
      class: 'tick', x: margin.left + (i + (n === 2 ? 1 : n * 0.5)) * wide, y: height - 6, 'text-anchor': ['start', 'middle', 'end'][n],
    }, n === 2 ? 'now' : clock(sums[i].at)));
  });
  picture.setAttribute('width', width);
  picture.setAttribute('viewBox', `0 0 ${width} ${height}`);
  picture.replaceChildren(...all);
}

// nice is the next round number whose half is whole.
function nice(n) {
  const unit = 10 ** Math.max(1, Math.floor(Math.log10(n)));
  return unit * ([1, 2, 3, 4, 6, 8, 10].find((k) => k * unit >= n) ?? 10);
}

// tell says the same in words, and in a table of the bars that are not empty.
function tell(told, rows, sums, minutes) {
  const total = (name) => sums.reduce((n, s) => n + s[name], 0);
  const [requests, before, after] = ['requests', 'before', 'after'].map(total);
  const span = minutes === 60 ? 'hour' : `${minutes} minutes`;
  setText(told, requests === 0 ? `No request was counted in the last ${span}.`
    : `Last ${span}: ${count(requests, 'request')} counted, ${number(before)} tokens before, ${number(after)} after${less(before, after) ? `, ${less(before, after)}` : ''}.`);
  const shown = sums.filter((s) => s.requests).reverse();
  rows.replaceChildren(...shown.map((s) => make('tr', {},
    ...[clock(s.at), number(s.requests), number(s.before), number(s.after)].map((t) => make('td', {}, t)))));
}
