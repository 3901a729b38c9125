// Nodes. Whatever came from a request, a store or an operator goes in as text:
// nothing here, or anywhere on this page, makes HTML of a string.

// make returns an element. Attributes that are null or false are left out;
// children are nodes or texts.
export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'click') node.addEventListener('click', value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? '' : String(value));
  }
  node.append(...children.filter((c) => c !== null && c !== undefined));
  return node;
}

// setText changes a text only where it differs, so that a selection in it stays.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// pill is a state: a word, and a colour that says nothing more than the word.
export function pill(text, tone = 'plain') {
  return make('span', {class: `pill ${tone}`}, text);
}

// announce tells who cannot see the page of what changed by itself.
export function announce(text) {
  setText(document.getElementById('said'), text);
}

// fill writes a cell. A spec is a text, or {text, href, tone, title, sub, mono}.
function fill(cell, spec) {
  const s = typeof spec === 'object' && spec !== null ? spec : {text: spec};
  const text = String(s.text ?? '');
  let shown = text;
  if (s.href) shown = make('a', {href: s.href, title: s.title}, text);
  else if (s.tone) shown = pill(text, s.tone);
  else if (s.title) shown = make('span', {title: s.title}, text);
  cell.replaceChildren(shown, s.sub ? make('small', {}, s.sub) : '');
}

// table returns a table that is brought up to date in place: rows are told apart by
// key, and a cell is touched only when its content changed. So the focus, and the
// place of the eye, stay where they are while the page asks again and again.
// columns are {label, cell, kind}; kind is "number", "mono" or empty.
export function table({caption, columns, key, limit, empty}) {
  const body = make('tbody', {role: 'rowgroup'});
  const heads = columns.map((c) => make('th', {scope: 'col', role: 'columnheader', class: c.kind}, c.label));
  const node = make('table', {role: 'table'}, make('caption', {class: 'unseen'}, caption),
    make('thead', {role: 'rowgroup'}, make('tr', {role: 'row'}, ...heads)), body);
  const note = make('p', {class: 'empty'}, 'Loading …');
  const box = make('div', {class: 'table'}, node, note);
  node.hidden = true;
  const rows = new Map();

  function update(items) {
    const shown = items.slice(0, limit);
    const keep = new Set();
    shown.forEach((item, i) => {
      const name = key(item);
      keep.add(name);
      const row = rows.get(name) ?? addRow(name);
      columns.forEach((c, k) => {
        const spec = c.cell(item);
        const was = JSON.stringify(spec ?? '');
        if (row.was[k] === was) return;
        row.was[k] = was;
        fill(row.cells[k], spec);
      });
      if (body.children[i] !== row.node) body.insertBefore(row.node, body.children[i] ?? null);
    });
    for (const [name, row] of rows) {
      if (keep.has(name)) continue;
      row.node.remove();
      rows.delete(name);
    }
    node.hidden = shown.length === 0;
    const more = items.length - shown.length;
    note.hidden = shown.length > 0 && more === 0;
    setText(note, shown.length === 0 ? empty : `${more} more are not shown.`);
  }

  function addRow(name) {
    const cells = columns.map((c) => make('td', {role: 'cell', 'data-label': c.label, class: c.kind}));
    const row = {node: make('tr', {role: 'row'}, ...cells), cells, was: []};
    rows.set(name, row);
    return row;
  }

  return {node: box, update};
}

// section is a part of a view with its heading.
export function section(id, title, ...children) {
  return make('section', {'aria-labelledby': id, class: id}, make('h2', {id}, title), ...children);
}

// facts is a list of names and values that is brought up to date in place.
export function facts(names) {
  const values = names.map(() => make('dd'));
  const node = make('dl', {class: 'facts'}, ...names.map((n, i) => make('div', {}, make('dt', {}, n), values[i])));
  const was = [];
  return {
    node,
    update(specs) {
      specs.forEach((spec, i) => {
        const now = JSON.stringify(spec ?? '');
        if (was[i] === now) return;
        was[i] = now;
        fill(values[i], spec);
      });
    },
  };
}
