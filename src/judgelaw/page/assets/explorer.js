"use strict";
// The item explorer. Text written by others only ever goes in through textContent.
(() => {
  const PAGE = 10, CLEAR = 2, SVG = "http://www.w3.org/2000/svg";
  const root = document.getElementById("explorer");

  const unpack = async (id) => {
    const packed = atob(document.getElementById(id).textContent);
    const bytes = Uint8Array.from(packed, (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  };
  const once = new Map();
  const load = (id) => once.get(id) || once.set(id, unpack(id)).get(id);

  const make = (tag, traits = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(traits)) {
      if (key in node) node[key] = value; else node.setAttribute(key, value);
    }
    node.append(...children);
    return node;
  };
  const draw = (tag, traits) => {
    const node = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(traits)) node.setAttribute(key, value);
    return node;
  };
  const fixed = (value, digits = 4) => {
    const text = value.toFixed(digits);
    return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "\u2212");
  };
  const figure = (value, path) => {
    if (value === null || value === undefined) return make("span", { className: "absent" }, "\u2014");
    const node = make("data", { value: String(value) }, fixed(value));
    if (path) node.dataset.path = path;
    return node;
  };
  const select = (label, options, change) => {
    const box = make("select", { onchange: (e) => change(e.target.value) });
    for (const [value, text] of options) box.append(make("option", { value }, text));
    return [make("label", {}, `${label} `, box), box];
  };

  let asked = {}, verdict = "", spread = "";
  let all, index = 0, grid, values, page = 0, sort, down = true, words = "", stratum = "";

  const error = (name, i) => {
    const v = values.call_variance && values.call_variance[name][i];
    return v > 0 ? Math.sqrt(v) : null;
  };
  const belief = (name, i) => {
    if (!values.call_variance) return "no error below four repeats";
    const value = values.estimates[name][i], e = error(name, i);
    if (value === null || e === null) return "error not known";
    return value >= CLEAR * e ? "clear of call noise" : "within call noise";
  };
  const focus = () => (sort === "item" ? grid.ranked : sort);
  const rows = () => {
    const wanted = words.toLowerCase();
    const kept = grid.names.map((_, i) => i).filter((i) =>
      (!stratum || grid.strata[i] === stratum) && (!verdict || grid.verdicts[usual(i)] === verdict)
      && (!spread || (spread === "differ") === differs(i)) && texts(i).includes(wanted));
    const key = sort === "item" ? (i) => i : (i) => values.estimates[sort][i] ?? -Infinity;
    return kept.sort((a, b) => (down ? key(b) - key(a) : key(a) - key(b)) || a - b);
  };

  const counts = (i, cell) => {
    const C = grid.verdicts.length, cells = grid.prompts.length * grid.orders.length;
    const start = (i * cells + cell) * C;
    return grid.counts.slice(start, start + C);
  };
  const totals = (i) => {
    const C = grid.verdicts.length, size = grid.prompts.length * grid.orders.length * C;
    const sums = new Array(C).fill(0);
    for (let n = 0; n < size; n += 1) sums[n % C] += grid.counts[i * size + n];
    return sums;
  };
  const usual = (i) => { const sums = totals(i); return sums.indexOf(Math.max(...sums)); };
  const differs = (i) => totals(i).filter(Boolean).length > 1;
  const folded = new Map();
  const texts = (i) => {
    const name = grid.names[i];
    if (!folded.has(name)) {
      const [question, answers] = asked[name] || ["", []];
      folded.set(name, [name, question, ...answers.map(([, text]) => text)].join("\n").toLowerCase());
    }
    return folded.get(name);
  };
  const bar = (n) => {
    const total = n.reduce((a, b) => a + b, 0) || 1;
    const svg = draw("svg", { class: "bar", viewBox: "0 0 100 8", "aria-hidden": "true", preserveAspectRatio: "none" });
    let x = 0;
    n.forEach((count, c) => {
      const width = 100 * count / total;
      if (count) svg.append(draw("rect", { x, y: 0, width, height: 8, class: `r-${grid.roles[c]}` }));
      x += width;
    });
    return svg;
  };
  // Verdict shares of one item: a point for each prompt and order, a line from each to their mean.
  // Scores lie on a line, at their mean; what is no score lies nowhere.
  const law = (i) => {
    if (!grid.corners) return "";
    const { left, right, top, at } = grid.corners, O = grid.orders.length, H = 87;
    const place = (p) => {
      if (at) {
        const sum = (of) => at.reduce((all, x, c) => (x === null ? all : all + of(x) * p[c]), 0);
        const whole = sum(() => 1);
        return whole ? [100 * sum((x) => x) / whole, H] : null;
      }
      const up = top.reduce((sum, c) => sum + p[c], 0);
      return [100 * (p[right] + up / 2), H * (1 - up)];
    };
    const points = Array.from({ length: grid.prompts.length * O }, (_, cell) => {
      const n = counts(i, cell), total = n.reduce((a, b) => a + b, 0) || 1;
      return place(n.map((count) => count / total));
    }).filter(Boolean);
    if (!points.length) return "";
    const [x, y] = [0, 1].map((axis) => points.reduce((sum, p) => sum + p[axis], 0) / points.length);
    const svg = draw("svg", { class: "law", viewBox: "-8 -8 116 110", role: "img", "aria-label": `Verdicts of every prompt${O > 1 ? " and order" : ""} around their mean` });
    svg.append(draw("path", { d: top.length ? `M0,${H}H100L50,0Z` : `M0,${H}H100` }));
    for (const [px, py] of points) svg.append(draw("line", { class: "spoke", x1: x, y1: y, x2: px, y2: py }));
    points.forEach(([cx, cy], cell) => svg.append(draw("circle", { class: `o${cell % O % 3}`, cx, cy, r: 3.2 })));
    svg.append(draw("path", { class: "centre", d: `M${x},${y - 4}l4,4l-4,4l-4,-4Z` }));
    const names = [[grid.verdicts[left], 0, H + 11, "start"], [grid.verdicts[right], 100, H + 11, "end"]];
    for (const [text, tx, ty, anchor] of names) {
      const node = draw("text", { x: tx, y: ty, "text-anchor": anchor });
      node.textContent = text;
      svg.append(node);
    }
    return svg;
  };
  const replies = async (i, cell, place) => {
    const chunk = await load(`text-${index}-${Math.floor(i / grid.chunk)}`);
    const found = chunk[i % grid.chunk][cell];
    const list = make("ol", { className: "replies" });
    for (const [code, text, cut] of found) {
      const head = make("p", { className: "verdict" }, code === null ? "" : grid.verdicts[code]);
      const body = make("pre", {}, text || "(empty)");
      if (cut) body.append(make("em", {}, " \u2026 (cut here)"));
      list.append(make("li", {}, head, body));
    }
    if (!found.length) list.append(make("li", {}, "no reply is kept for this cell"));
    place.replaceChildren(list);
  };
  const question = (i) => {
    const found = asked[grid.names[i]], right = grid.gold && grid.gold[i];
    const link = make("a", { href: `#item=${encodeURIComponent(grid.names[i])}` }, "Link to this item");
    const told = right ? make("span", {}, "Gold: ", make("b", {}, right)) : null;
    const foot = make("p", { className: "about" }, ...[told, link].filter(Boolean));
    if (!found) return make("div", { className: "asked" }, foot);
    const text = (heading, body, mark) => make("section", { className: mark ? "right" : "" }, make("h3", {}, heading, mark ? " (gold)" : ""), make("p", {}, body));
    return make("div", { className: "asked" }, text("Question", found[0]),
      make("div", { className: "answers" }, ...found[1].map(([label, body]) => text(label, body, label === right))), foot);
  };
  const open = (i) => {
    const O = grid.orders.length, place = make("div", { className: "reading" });
    const head = make("tr", {}, make("th", { scope: "col" }, "Prompt"));
    for (const order of grid.orders) head.append(make("th", { scope: "col" }, make("bdi", {}, order)));
    const body = make("tbody");
    grid.prompts.forEach((prompt, k) => {
      const row = make("tr", {}, make("th", { scope: "row" }, make("bdi", {}, prompt)));
      for (let o = 0; o < O; o += 1) {
        const cell = k * O + o, n = counts(i, cell);
        const said = n.map((count, c) => `${grid.verdicts[c]} ${count}`).join(", ");
        const inner = [bar(n), make("span", {}, n.join(" / "))];
        const content = grid.chunk
          ? make("button", { type: "button", className: "cell", title: said, "aria-label": `${prompt}, ${grid.orders[o]}: ${said}. Read the replies`, onclick: () => replies(i, cell, place) }, ...inner)
          : make("span", { className: "cell", title: said }, ...inner);
        row.append(make("td", {}, content));
      }
      body.append(row);
    });
    const key = make("p", { className: "key" }, ...grid.verdicts.map((v, c) =>
      make("span", {}, make("i", { className: `swatch r-${grid.roles[c]}` }), v)));
    const table = make("div", { className: "scroll" }, make("table", { className: "grid" }, make("thead", {}, head), body));
    return make("div", { className: "opened" }, question(i), key, make("div", { className: "pair" }, table, law(i)), place);
  };

  const status = make("p", { className: "status", role: "status" });
  const body = make("tbody");
  const header = make("tr");
  const table = make("table", { className: "items" }, make("thead", {}, header), body);
  const before = make("button", { type: "button", onclick: () => turn(-1) }, "\u2190 earlier");
  const after = make("button", { type: "button", onclick: () => turn(1) }, "later \u2192");

  const line = (i) => {
    const toggle = make("button", { type: "button", className: "open", "aria-expanded": "false" },
      make("bdi", {}, grid.names[i]));
    const row = make("tr", {}, make("th", { scope: "row" }, toggle));
    if (grid.strata) row.append(make("td", { className: "off" }, make("bdi", {}, grid.strata[i])));
    for (const [name] of grid.components) {
      const cell = make("td", { className: name === focus() ? "n" : "n off" }, figure(values.estimates[name][i], `${grid.path}.${name}[${i}]`));
      const e = name === sort ? error(name, i) : null;
      if (e !== null) cell.append(make("small", {}, ` \u00b1\u2009${fixed(e)}`));
      row.append(cell);
    }
    row.append(make("td", { className: "belief" }, belief(focus(), i)));
    let detail = null;
    toggle.onclick = () => {
      if (detail) { detail.remove(); detail = null; }
      else {
        history.replaceState(null, "", `#item=${encodeURIComponent(grid.names[i])}`);
        detail = make("tr", { className: "detail" }, make("td", { colSpan: row.children.length }, open(i)));
        row.after(detail);
      }
      toggle.setAttribute("aria-expanded", String(Boolean(detail)));
    };
    row.dataset.index = i;
    return row;
  };
  const column = (key, text, numeric) => {
    const active = key === sort;
    const button = make("button", { type: "button", onclick: () => {
      if (active) down = !down; else { sort = key; down = key !== "item"; }
      page = 0; show();
    } }, text, active ? (down ? " \u2193" : " \u2191") : "");
    const cell = make("th", { scope: "col", className: numeric ? (key === focus() ? "n" : "n off") : "" }, button);
    if (active) cell.setAttribute("aria-sort", down ? "descending" : "ascending");
    return cell;
  };
  const show = () => {
    const found = rows(), last = Math.max(0, Math.ceil(found.length / PAGE) - 1);
    page = Math.min(page, last);
    header.replaceChildren(column("item", "Item"));
    if (grid.strata) header.append(make("th", { scope: "col", className: "off" }, "Stratum"));
    for (const [key, text] of grid.components) header.append(column(key, text, true));
    header.append(make("th", { scope: "col" }, "How far to believe it"));
    const from = page * PAGE, part = found.slice(from, from + PAGE);
    body.replaceChildren(...part.map(line));
    status.textContent = found.length
      ? `${from + 1}\u2013${from + part.length} of ${found.length} items` : "no item fits";
    before.disabled = page === 0;
    after.disabled = page === last;
  };
  // `#item=NAME` shows the item, on whatever page of the list it stands.
  const follow = () => {
    const found = /^#item=(.*)$/.exec(location.hash);
    if (!found) return;
    let name;
    try { name = decodeURIComponent(found[1]); } catch { return; }
    const i = grid.names.indexOf(name);
    if (i < 0) return;
    words = search.value = ""; stratum = strata.value = ""; verdict = usuals.value = ""; spread = spreads.value = "";
    page = Math.floor(rows().indexOf(i) / PAGE);
    show();
    const row = body.querySelector(`[data-index="${i}"]`);
    row.querySelector(".open").click();
    row.scrollIntoView({ block: "start" });
  };
  const turn = (by) => { page += by; show(); table.scrollIntoView({ block: "start" }); };

  const enter = async (j) => {
    index = j;
    grid = await load(`grid-${j}`);
    const part = all.judges[grid.judge];
    values = part.item_values;
    sort = grid.ranked; down = true; page = 0; stratum = verdict = spread = "";
    folded.clear();
    const kinds = grid.strata ? [...new Set(grid.strata)].sort() : [];
    strata.replaceChildren(make("option", { value: "" }, "all"), ...kinds.map((s) => make("option", { value: s }, s)));
    strataLabel.hidden = kinds.length < 2;
    usuals.replaceChildren(make("option", { value: "" }, "any"), ...grid.verdicts.map((v) => make("option", { value: v }, v)));
    spreads.value = "";
    show();
  };
  const search = make("input", { type: "search", oninput: (e) => { words = e.target.value; page = 0; show(); } });
  const [strataLabel, strata] = select("Stratum", [], (value) => { stratum = value; page = 0; show(); });

  const [usualLabel, usuals] = select("Usual verdict", [], (value) => { verdict = value; page = 0; show(); });
  const [spreadLabel, spreads] = select("Verdicts", [["", "any"], ["differ", "differ"], ["same", "always the same"]], (value) => { spread = value; page = 0; show(); });

  const start = async () => {
    all = await load("analysis");
    if (document.getElementById("questions")) asked = await load("questions");
    const grids = await Promise.all(Object.keys(all.judges).map((_, j) => load(`grid-${j}`)));
    const [judgeLabel] = select("Judge", grids.map((g, j) => [j, g.shown]), (j) => enter(Number(j)));
    judgeLabel.hidden = grids.length < 2;
    root.replaceChildren(
      make("div", { className: "controls" }, make("label", {}, "Find ", search), strataLabel, usualLabel, spreadLabel, judgeLabel),
      make("div", { className: "scroll" }, table),
      make("div", { className: "pager" }, before, status, after));
    await enter(0);
    root.hidden = false;
    follow();
    addEventListener("hashchange", follow);
  };
  const save = document.getElementById("save");
  save.hidden = false;
  save.onclick = async () => {
    const text = JSON.stringify(await load("analysis"), null, 1);
    const link = make("a", { href: URL.createObjectURL(new Blob([text], { type: "application/json" })), download: "analysis.json" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  start();
})();
