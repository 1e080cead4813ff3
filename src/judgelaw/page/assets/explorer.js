"use strict";
// The items. Text written by others only ever goes in through textContent.
(() => {
  const PAGE = 10, CLEAR = 2, WRONG = 0.5, SVG = "http://www.w3.org/2000/svg";
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
    node.append(...children.filter((child) => child !== null));
    return node;
  };
  const draw = (tag, traits, ...children) => {
    const node = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(traits)) node.setAttribute(key, value);
    node.append(...children);
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

  let asked = {}, verdict = "", kept = "all";
  let all, index = 0, grid, values, page = 0, sort = "first", down = true, words = "", stratum = "", place;

  const error = (name, i) => {
    const v = values.call_variance && values.call_variance[name][i];
    return v > 0 ? Math.sqrt(v) : null;
  };
  const belief = (name, i) => {
    if (!values.call_variance) return "no error below four repeats";
    const value = values.estimates[name][i], e = error(name, i);
    if (value === null || e === null) return "error not known";
    return value >= CLEAR * e ? "clear of chance" : "within chance";
  };
  const counts = (i, cell) => {
    const C = grid.verdicts.length, cells = grid.prompts.length * grid.orders.length;
    const start = (i * cells + cell) * C;
    return grid.counts.slice(start, start + C);
  };
  const summed = [];
  const totals = (i) => {
    if (!summed[i]) {
      const C = grid.verdicts.length, size = grid.prompts.length * grid.orders.length * C;
      summed[i] = new Array(C).fill(0);
      for (let n = 0; n < size; n += 1) summed[i][n % C] += grid.counts[i * size + n];
    }
    return summed[i];
  };
  const usual = (i) => { const sums = totals(i); return sums.indexOf(Math.max(...sums)); };
  const differs = (i) => totals(i).filter(Boolean).length > 1;
  const wrong = (i) => Boolean(grid.right) && grid.right[i] !== null && grid.right[i] < WRONG;
  const kinds = { all: () => true, wrong, often: (i) => Boolean(grid.contested[i]), same: (i) => !differs(i) };
  const folded = new Map();
  const texts = (i) => {
    const name = grid.names[i];
    if (!folded.has(name)) {
      const [question, answers] = asked[name] || ["", []];
      folded.set(name, [name, question, ...answers.map(([, text]) => text)].join("\n").toLowerCase());
    }
    return folded.get(name);
  };
  const rows = () => {
    const wanted = words.toLowerCase();
    const found = grid.names.map((_, i) => i).filter((i) => kinds[kept](i)
      && (!stratum || grid.strata[i] === stratum) && (!verdict || grid.verdicts[usual(i)] === verdict)
      && texts(i).includes(wanted));
    const key = sort === "first" ? (i) => -place[i] : sort === "item" ? (i) => -i : (i) => values.estimates[sort][i] ?? -Infinity;
    return found.sort((a, b) => (down ? key(b) - key(a) : key(a) - key(b)) || a - b);
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
  // One square for each prompt (across) and order (down), filled as far as its calls are right, or
  // agree with the item's usual verdict where no right one is known.
  const squares = (i, said) => {
    const K = grid.prompts.length, O = grid.orders.length, gold = grid.gold && grid.gold[i];
    const code = gold ? grid.verdicts.indexOf(gold) : usual(i);
    const side = Math.max(5, Math.min(18, Math.floor(240 / K) - 4)), step = side + 4;
    const svg = draw("svg", { class: "squares", width: K * step, height: O * step, role: "img", "aria-label": said });
    for (let k = 0; k < K; k += 1) for (let o = 0; o < O; o += 1) {
      const n = counts(i, k * O + o), total = n.reduce((a, b) => a + b, 0) || 1;
      const high = side * (code < 0 ? 0 : n[code]) / total;
      svg.append(draw("rect", { x: k * step + 0.5, y: o * step + 0.5, width: side, height: side, class: "off" }));
      if (high) svg.append(draw("rect", { x: k * step + 1, y: o * step + 1 + (side - high), width: side - 1, height: Math.max(0, high - 1), class: gold ? "hit" : "agree" }));
    }
    return svg;
  };
  const told = (i) => {
    const sums = totals(i), calls = sums.reduce((a, b) => a + b, 0), gold = grid.gold && grid.gold[i];
    const listed = sums.map((n, c) => [n, grid.verdicts[c]]).filter(([n]) => n).sort((a, b) => b[0] - a[0]);
    const text = `${calls} calls: ${listed.map(([n, v]) => `${n} \u00d7 ${v}`).join(", ")}`;
    const code = gold && !grid.scored ? grid.verdicts.indexOf(gold) : -1;
    return code < 0 ? text : `right in ${sums[code]} of ${text}`;
  };
  // A point for each prompt and order, a line from each to their mean. Scores lie on a line.
  const law = (i) => {
    if (!grid.corners) return "";
    const { left, right, top, at } = grid.corners, O = grid.orders.length, H = 87;
    const spot = (p) => {
      if (at) {
        const sum = (of) => at.reduce((every, x, c) => (x === null ? every : every + of(x) * p[c]), 0);
        const whole = sum(() => 1);
        return whole ? [100 * sum((x) => x) / whole, H] : null;
      }
      const up = top.reduce((sum, c) => sum + p[c], 0);
      return [100 * (p[right] + up / 2), H * (1 - up)];
    };
    const points = Array.from({ length: grid.prompts.length * O }, (_, cell) => {
      const n = counts(i, cell), total = n.reduce((a, b) => a + b, 0) || 1;
      return spot(n.map((count) => count / total));
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
  const replies = async (i, cell, where) => {
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
    where.replaceChildren(list);
  };
  const answers = (i) => {
    const found = asked[grid.names[i]], right = grid.gold && grid.gold[i];
    if (!found) return [right ? make("p", { className: "gold" }, "Right: ", make("b", {}, right)) : null];
    const named = found[1].some(([label]) => label === right);
    const text = ([label, body]) => [make("dt", { className: label === right ? "right" : "" }, make("bdi", {}, label), label === right ? " (right)" : ""), make("dd", {}, body)];
    return [
      make("p", { className: "question" }, found[0]),
      found[1].length ? make("dl", { className: "answers" }, ...found[1].flatMap(text)) : null,
      right && !named ? make("p", { className: "gold" }, "Right: ", make("b", {}, right)) : null,
    ];
  };
  const open = (i) => {
    const O = grid.orders.length, reading = make("div", { className: "reading" });
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
          ? make("button", { type: "button", className: "cell", title: said, "aria-label": `${prompt}, ${grid.orders[o]}: ${said}. Read the replies`, onclick: () => replies(i, cell, reading) }, ...inner)
          : make("span", { className: "cell", title: said }, ...inner);
        row.append(make("td", {}, content));
      }
      body.append(row);
    });
    const key = make("p", { className: "key" }, ...grid.verdicts.map((v, c) =>
      make("span", {}, make("i", { className: `swatch r-${grid.roles[c]}` }), v)));
    const table = make("div", { className: "scroll", tabIndex: 0, role: "group", "aria-label": "Verdicts by prompt" }, make("table", { className: "grid" }, make("thead", {}, head), body));
    const link = make("a", { href: `#item=${encodeURIComponent(grid.names[i])}` }, "Link to this item");
    return make("div", { className: "opened" }, key, make("div", { className: "pair" }, table, law(i)), make("p", { className: "about" }, link), reading);
  };
  const estimate = (i) => {
    if (!(sort in values.estimates)) return null;
    const title = grid.components.find(([name]) => name === sort)[1], e = error(sort, i);
    return make("p", { className: "estimate" }, `${title} `, figure(values.estimates[sort][i], `${grid.path}.${sort}[${i}]`),
      e === null ? null : make("small", {}, ` \u00b1\u2009${fixed(e)}`), " ", make("span", { className: "belief" }, belief(sort, i)));
  };

  const card = (i) => {
    const tags = [wrong(i) && (grid.scored ? "far off" : "mostly wrong"), grid.contested[i] && "changes often", !differs(i) && "never changed", ...grid.moved[i]].filter(Boolean);
    const said = told(i);
    const toggle = make("button", { type: "button", className: "open", "aria-expanded": "false" }, make("bdi", {}, grid.names[i]));
    const head = make("h3", {}, toggle, ...(grid.strata ? [" ", make("small", {}, make("bdi", {}, grid.strata[i]))] : []), ...tags.map((tag) => make("i", { className: "tag" }, tag)));
    const left = make("div", {}, head, ...answers(i));
    const side = make("div", { className: "side" }, squares(i, said), make("p", { className: "said" }, said), estimate(i));
    const item = make("article", { className: "item" }, left, side);
    let detail = null;
    toggle.onclick = () => {
      if (detail) { detail.remove(); detail = null; }
      else {
        history.replaceState(null, "", `#item=${encodeURIComponent(grid.names[i])}`);
        detail = open(i);
        item.append(detail);
      }
      item.classList.toggle("whole", Boolean(detail));
      toggle.setAttribute("aria-expanded", String(Boolean(detail)));
    };
    item.dataset.index = i;
    return item;
  };

  const legend = make("p", { className: "prose" });
  const status = make("p", { className: "status", role: "status" });
  const list = make("div", { className: "cards" });
  const before = make("button", { type: "button", onclick: () => turn(-1) }, "\u2190 earlier");
  const after = make("button", { type: "button", onclick: () => turn(1) }, "later \u2192");
  const show = () => {
    const found = rows(), last = Math.max(0, Math.ceil(found.length / PAGE) - 1);
    page = Math.min(page, last);
    const from = page * PAGE, part = found.slice(from, from + PAGE);
    list.replaceChildren(...part.map(card));
    status.textContent = found.length
      ? `${from + 1}\u2013${from + part.length} of ${found.length} items` : "no item fits";
    before.disabled = page === 0;
    after.disabled = page === last;
  };
  const again = () => { page = 0; show(); };
  // `#item=NAME` shows the item, on whatever page of the list it stands.
  const follow = () => {
    const found = /^#item=(.*)$/.exec(location.hash);
    if (!found) return;
    let name;
    try { name = decodeURIComponent(found[1]); } catch { return; }
    const i = grid.names.indexOf(name);
    if (i < 0) return;
    words = search.value = ""; stratum = strata.value = ""; verdict = usuals.value = ""; keep("all");
    page = Math.floor(rows().indexOf(i) / PAGE);
    show();
    const item = list.querySelector(`[data-index="${i}"]`);
    item.querySelector(".open").click();
    item.scrollIntoView({ block: "start" });
  };
  const turn = (by) => { page += by; show(); root.scrollIntoView({ block: "start" }); };

  const filters = make("fieldset", { className: "filters" });
  const keep = (kind) => {
    kept = kind;
    for (const box of filters.querySelectorAll("input")) box.checked = box.value === kind;
  };
  const offer = () => {
    const said = { all: "All", ...(grid.right ? { wrong: grid.scored ? "Far off" : "Mostly wrong" } : {}), often: "Change often", same: "Never changed" };
    filters.replaceChildren(make("legend", {}, "Show"), ...Object.entries(said).map(([kind, text]) => {
      const many = grid.names.filter((_, i) => kinds[kind](i)).length;
      const box = make("input", { type: "radio", name: "kept", value: kind, onchange: () => { kept = kind; again(); } });
      return make("label", {}, box, ` ${text} ${many}`);
    }));
    keep("all");
  };
  const enter = async (j) => {
    index = j;
    grid = await load(`grid-${j}`);
    values = grid.keys.reduce((found, key) => found[key], all.judges).item_values;
    place = []; grid.first.forEach((i, rank) => { place[i] = rank; });
    sort = "first"; down = true; page = 0; stratum = verdict = "";
    folded.clear(); summed.length = 0; legend.textContent = grid.legend;
    const groups = grid.strata ? [...new Set(grid.strata)].sort() : [];
    strata.replaceChildren(make("option", { value: "" }, "all"), ...groups.map((s) => make("option", { value: s }, s)));
    strataLabel.hidden = groups.length < 2;
    usuals.replaceChildren(make("option", { value: "" }, "any"), ...grid.verdicts.map((v) => make("option", { value: v }, v)));
    sorts.replaceChildren(
      make("option", { value: "first" }, grid.right ? "wrong and contested first" : "contested first"), make("option", { value: "item" }, "as in the study"),
      ...[["", "largest"], ["-", "smallest"]].flatMap(([sign, way]) => grid.components.map(([name, text]) => make("option", { value: sign + name }, `${way}: ${text.toLowerCase()}`))));
    offer();
    show();
  };
  const search = make("input", { type: "search", oninput: (e) => { words = e.target.value; again(); } });
  const [strataLabel, strata] = select("Stratum", [], (value) => { stratum = value; again(); });
  const [usualLabel, usuals] = select("Usual verdict", [], (value) => { verdict = value; again(); });
  const [sortLabel, sorts] = select("Order", [], (value) => { down = !value.startsWith("-"); sort = value.replace("-", ""); again(); });

  const start = async () => {
    all = await load("analysis");
    if (document.getElementById("questions")) asked = await load("questions");
    const grids = [];
    while (document.getElementById(`grid-${grids.length}`)) grids.push(await load(`grid-${grids.length}`));
    const [judgeLabel] = select("Judge", grids.map((g, j) => [j, g.shown]), (j) => enter(Number(j)));
    judgeLabel.hidden = grids.length < 2;
    root.replaceChildren(legend, filters,
      make("div", { className: "controls" }, make("label", {}, "Find ", search), sortLabel, strataLabel, usualLabel, judgeLabel),
      list, make("div", { className: "pager" }, before, status, after));
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
