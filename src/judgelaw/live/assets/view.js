"use strict";
// The runs of a folder: a list, one run live, two runs side by side.
(() => {
  const main = document.getElementById("main");
  const parts = location.pathname.slice(base.length).split("/").filter(Boolean);
  const PARTS = { call: "Dice", prompt: "Prompt", order: "Order", interaction: "Prompt and order", total: "Total" };
  const CHANGES = { ask_again: "Ask again", reword: "Reword", swap: "Swap", both: "Both" };

  const listen = (path, show, status) => {
    const events = new EventSource(base + path);
    events.onmessage = (event) => { status.textContent = "live"; status.className = "live"; show(JSON.parse(event.data)); };
    events.onerror = () => {
      status.textContent = `no connection since ${new Date().toLocaleTimeString()}: is \`judgelaw view\` still running?`;
      status.className = "lost";
    };
  };
  const badge = (run) => make("span", { className: `state ${run.state}` }, run.words);
  const bar = (run) => make("progress", { value: run.completed, max: Math.max(run.planned, 1), "aria-label": `${run.completed} of ${run.planned} calls` });
  // A change is so many of 100 verdicts, or so many points where the judge gives scores.
  const change = (answer, x) => (answer.changes_in ? Math.max(0, x).toFixed(2) : (100 * Math.min(1, Math.max(0, x))).toFixed(0));
  const unit = (answer) => (answer.changes_in ? "points" : "of 100");
  const frequency = (answer, found) => {
    if (!found) return "not varied";
    const range = found.call_interval || found.interval;
    return `${change(answer, found.estimate)} ${unit(answer)}${range ? ` (${change(answer, range[0])} to ${change(answer, range[1])})` : ""}`;
  };
  const wordOf = (answer) => (answer.trust ? make("b", { className: `word ${answer.trust.word.replace(" ", "-")}` }, answer.trust.word) : null);
  const firstNumbers = (run) => {
    const found = Object.entries(run.answers);
    if (!found.length) return make("span", { className: "quiet" }, "—");
    return make("div", {}, ...found.map(([name, answer]) => make("div", { className: "first" },
      found.length > 1 ? make("b", {}, `${name}: `) : null, wordOf(answer), " ",
      answer.changes ? Object.entries(CHANGES).filter(([key]) => answer.changes[key]).map(([key, label]) => `${label.toLowerCase()} ${change(answer, answer.changes[key].estimate)}`).join(", ") + ` ${unit(answer)}`
        : `total ${decimal(answer.components.total.estimate, 3)}`)));
  };

  const list = async () => {
    const rows = new Map(), chosen = new Set();
    const status = make("p", { className: "wait", role: "status" }, "");
    const body = make("tbody"), title = make("h1", {}, "Runs"), about = make("p", { className: "quiet" });
    const pair = make("button", { type: "button", disabled: true, onclick: () => { location.href = `${base}pair/${[...chosen].join("/")}/`; } }, "Show two side by side");
    const words = make("input", { type: "search", placeholder: "name or folder", oninput: () => order() });
    const order = () => {
      const wanted = words.value.toLowerCase();
      const sorted = [...rows.values()].sort((a, b) => (b.run.since || 0) - (a.run.since || 0) || a.run.folder.localeCompare(b.run.folder));
      body.replaceChildren(...sorted.filter(({ run }) => `${run.name} ${run.folder}`.toLowerCase().includes(wanted)).map(({ row }) => row));
    };
    const put = (run) => {
      const box = make("input", { type: "checkbox", checked: chosen.has(run.id), "aria-label": `choose ${run.name}`, onchange: (e) => {
        if (e.target.checked) chosen.add(run.id); else chosen.delete(run.id);
        pair.disabled = chosen.size !== 2;
      } });
      const invalid = run.completed ? percent(run.invalid / run.completed) : "—";
      const row = make("tr", {}, make("td", {}, box),
        make("th", { scope: "row" }, make("a", { href: `${base}run/${run.id}/` }, run.name), make("small", {}, run.folder)),
        make("td", {}, badge(run), run.about ? make("small", {}, run.about) : null),
        make("td", {}, bar(run), make("small", {}, `${grouped(run.completed)} of ${grouped(run.planned)}`)),
        make("td", { className: "n" }, money(run.usd)),
        make("td", { className: "n" }, invalid),
        make("td", {}, firstNumbers(run), ...run.problems.slice(0, 1).map((said) => make("small", { className: "problem" }, said, run.problems.length > 1 ? ` (and ${run.problems.length - 1} more)` : ""))),
        make("td", {}, run.report ? make("a", { href: `${base}report/${run.id}/` }, "report") : make("span", { className: "quiet" }, "—")));
      rows.set(run.id, { run, row });
    };
    const count = (n, folder) => { about.textContent = `${n} ${n === 1 ? "run" : "runs"}${folder ? ` in ${folder}` : ""}`; };
    const heads = ["", "Run", "State", "Calls", "Cost", "Invalid", "What it found", ""];
    main.replaceChildren(title, about, make("div", { className: "controls" }, make("label", {}, "Find ", words), pair, status),
      make("div", { className: "scroll", tabIndex: 0, role: "group", "aria-label": "table" }, make("table", { className: "runs" }, make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))), body)));
    const found = await ask("api/runs");
    found.runs.forEach(put);
    count(found.count, found.folder);
    order();
    if (!found.count) body.replaceChildren(make("tr", {}, make("td", { colSpan: 8 }, "No run here yet. `judgelaw audit STUDY` makes one; it appears by itself.")));
    document.body.dataset.ready = "yes";
    listen("events/runs", (event) => {
      if (event.gone) rows.delete(event.gone); else put(event.run);
      count(event.count, found.folder);
      order();
    }, status);
  };

  const facts = (pairs) => make("dl", { className: "facts" }, ...pairs.filter(Boolean).map(([term, value, more]) =>
    make("div", {}, make("dt", {}, term), make("dd", {}, value, more ? make("small", {}, more) : null))));
  const answerOf = (name, answer, several) => make("section", { className: "answer" },
    several ? make("h3", {}, name) : null,
    answer.trust ? make("p", { className: "verdict" }, wordOf(answer), " ", answer.trust.reason) : null,
    make("p", {}, answer.short || answer.sentence),
    answer.changes ? make("div", { className: "scroll", tabIndex: 0, role: "group", "aria-label": "table" }, make("table", { className: "changes" }, make("caption", {}, answer.changes_in ? "How many points two scores of an item are apart, on these items" : "How many of 100 verdicts change between two calls, on these items"),
      make("tbody", {}, ...Object.entries(CHANGES).map(([key, label]) => make("tr", {}, make("th", { scope: "row" }, label), make("td", {}, frequency(answer, answer.changes[key]))))))) : null,
    make("div", { className: "scroll", tabIndex: 0, role: "group", "aria-label": "table" }, make("table", {}, make("caption", {}, "Parts of the disagreement, with intervals for items like these"),
      make("tbody", {}, ...Object.entries(PARTS).map(([key, label]) => {
        const part = answer.components[key];
        return make("tr", {}, make("th", { scope: "row" }, label), make("td", { className: "n" }, part ? decimal(part.estimate) : "not varied"),
          make("td", { className: "n" }, part && part.interval ? `${decimal(part.interval[0])} to ${decimal(part.interval[1])}` : "—"));
      })))),
    ...(answer.to_do || []).map((x) => make("p", {}, make("b", {}, `${x.do}: `), `${x.because}.`)),
    answer.gold_match === null ? null : make("p", {}, `Matches gold in ${percent(answer.gold_match)} of calls.`));

  const panel = (run) => {
    const judges = Object.entries(run.judges), answers = Object.entries(run.answers);
    const running = run.state === "running";
    return [
      make("h2", {}, make("a", { href: `${base}run/${run.id}/` }, run.name)),
      make("p", {}, badge(run), " ", make("span", { className: "quiet" }, run.about)),
      bar(run),
      facts([
        ["Calls", `${grouped(run.completed)} of ${grouped(run.planned)}`],
        running ? ["Rate", run.rate ? `${run.rate.toFixed(1)} a second` : "—"] : null,
        running ? ["Time left", duration(run.seconds_left)] : null,
        ["Failed attempts", grouped(run.failed), run.last_failure ? `last: ${run.last_failure}` : ""],
        run.orphaned ? ["Lost with a killed process, asked again", grouped(run.orphaned)] : null,
        ["Invalid verdicts", run.completed ? `${percent(run.invalid / run.completed)} (${grouped(run.invalid)})` : "—"],
        ["Spent", money(run.usd)],
        running ? ["Still to spend", money(run.usd_left)] : null,
        run.since ? ["Last session since", clock(run.since)] : null,
      ]),
      judges.length > 1 ? make("div", { className: "scroll", tabIndex: 0, role: "group", "aria-label": "table" }, make("table", {}, make("thead", {}, make("tr", {}, ...["Judge", "Calls", "Invalid", "Spent"].map((head) => make("th", { scope: "col" }, head)))),
        make("tbody", {}, ...judges.map(([name, judge]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", { className: "n" }, `${grouped(judge.completed)} of ${grouped(judge.planned)}`),
          make("td", { className: "n" }, judge.completed ? percent(judge.invalid / judge.completed) : "—"), make("td", { className: "n" }, money(judge.usd))))))) : null,
      ...run.problems.map((said) => make("p", { className: "problem" }, said)),
      ...answers.map(([name, answer]) => answerOf(name, answer, answers.length > 1)),
      run.looks.length ? make("div", { className: "scroll", tabIndex: 0, role: "group", "aria-label": "table" }, make("table", { className: "looks" }, make("caption", {}, "Looks that were declared before the first call"),
        make("thead", {}, make("tr", {}, ...run.look_columns.map((head) => make("th", { scope: "col" }, head)))),
        make("tbody", {}, ...run.looks.map(([judge, ...cells]) => make("tr", {}, make("th", { scope: "row" }, judge), ...cells.map((cell) => make("td", {}, cell))))))) : null,
      answers.length ? null : make("p", { className: "quiet" }, `${run.looks.length ? "What else" : "What"} the calls say is shown once the run is analysed: looking at intervals while they narrow would undo what they promise.`),
      run.report ? make("p", {}, make("a", { href: `${base}report/${run.id}/` }, "Open the report")) : null,
    ].filter(Boolean);
  };
  const live = (ids) => {
    const status = make("p", { className: "wait", role: "status" }, "");
    const places = ids.map(() => make("article"));
    main.replaceChildren(make("h1", { className: "unseen" }, ids.length > 1 ? "Two runs side by side" : "One run"), make("p", { className: "back" }, make("a", { href: base }, "All runs")), status, make("div", { className: ids.length > 1 ? "pair" : "one" }, ...places));
    ids.forEach((id, n) => listen(`events/run/${id}`, (run) => {
      document.title = ids.length > 1 ? "judgelaw: two runs" : `${run.name}: ${percent(run.planned ? run.completed / run.planned : 0)}`;
      places[n].replaceChildren(...panel(run));
      document.body.dataset.ready = "yes";
    }, status));
  };
  if (parts[0] === "run") live([parts[1]]);
  else if (parts[0] === "pair") live(parts.slice(1, 3));
  else list();
})();
