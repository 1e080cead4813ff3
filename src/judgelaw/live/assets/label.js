"use strict";
// One item at a time. A label counts once the server has it on the disk; only then the page goes on. Until
// then the label is kept here and sent again; the server takes the same label twice as one.
(() => {
  const main = document.getElementById("main");
  const KEYS = "123456789abcdefghijklmopqrstvwyz";
  const AGAIN_MS = 2000;
  let state, busy = false, kept = null, keys = new Map();

  const person = () => new URLSearchParams(location.search).get("as") || "";
  const status = make("p", { className: "wait", role: "status" }, "");
  const note = make("input", { type: "text", id: "note", placeholder: "optional note (n)", autocomplete: "off" });
  const tell = (text) => {
    status.className = text ? "problem" : "wait";
    status.textContent = text;
  };
  const enable = (choices, undoing) => {
    for (const button of main.querySelectorAll(".choices button")) button.disabled = !choices;
    for (const button of main.querySelectorAll(".after button")) button.disabled = !undoing;
  };
  const why = (error) => (error.status ? error.message : "no connection to `judgelaw label`; if it has ended, start it again and open its new address, where this item comes again");
  // The server refuses what was sent for good; anything else may pass.
  const refused = (error) => error.status >= 400 && error.status < 500 && ![403, 408, 429].includes(error.status);
  const settled = (found, text) => {
    kept = null;
    delete document.body.dataset.kept;
    if (found) show(found); else enable(true, state.undo !== null);
    tell(text);
  };
  const deliver = async () => {
    if (busy || !kept) return;
    busy = true;
    document.body.dataset.busy = "yes";
    const sent = kept;
    const answer = await ask(sent.path, sent.body).then((found) => ({ found }), (error) => ({ error }));
    busy = false;
    delete document.body.dataset.busy;
    if (kept !== sent) deliver();
    else if (answer.found) settled(answer.found, (answer.found.news || []).join(" "));
    else if (refused(answer.error)) settled(answer.error.said && answer.error.said.total ? answer.error.said : null, answer.error.message);
    else {
      kept.failed = true;
      document.body.dataset.kept = "yes";
      enable(false, sent.shown);
      tell(sent.shown
        ? `Not saved yet: ${why(answer.error)}. Your label (${sent.shown}) is kept in this page and sent again every 2 seconds; u takes it back.`
        : `Not undone yet: ${why(answer.error)}. It is tried again every 2 seconds.`);
      setTimeout(deliver, AGAIN_MS);
    }
  };
  const send = (path, item, more, shown) => {
    if (kept) return;
    kept = { path, shown, body: { labeller: state.labeller, item, ...more } };
    deliver();
  };
  const label = (value, shown) => send("api/label", state.next.item, { label: value, note: note.value }, shown);
  const undo = () => {
    // The server may have a label that it could not answer for: it is taken back there too.
    if (kept && kept.failed && kept.shown) kept = { path: "api/undo", body: kept.body };
    else if (state.undo !== null) send("api/undo", state.undo);
  };
  const keyOf = (choice, n, all) => (all.every((c) => /^\d$/.test(c.shown)) ? choice.shown : KEYS[n]);

  const choices = (next) => {
    keys = new Map();
    const buttons = next.choices.map((choice, n) => {
      const key = keyOf(choice, n, next.choices);
      keys.set(key, () => label(choice.label, choice.shown));
      return make("button", { type: "button", onclick: () => label(choice.label, choice.shown) }, make("kbd", {}, key), ` ${choice.shown}`);
    });
    const unsure = () => label("", "Cannot tell");
    keys.set("x", unsure);
    keys.set("?", unsure);
    buttons.push(make("button", { type: "button", className: "quiet", onclick: unsure }, make("kbd", {}, "x"), " Cannot tell"));
    return make("div", { className: "choices", role: "group", "aria-label": "Label" }, ...buttons);
  };
  const piece = ([text, marked]) => (marked ? make("mark", {}, text) : text);
  const block = ([heading, text]) => make("section", { className: "text" }, make("h2", {}, heading), make("p", { className: "body" }, ...(Array.isArray(text) ? text.map(piece) : [text])));
  const item = (next) => [
    ...next.texts.map(block),
    next.answers.length ? make("div", { className: "answers" }, ...next.answers.map(block)) : null,
    choices(next),
    make("p", { className: "after" }, note, make("button", { type: "button", className: "quiet", disabled: state.undo === null, onclick: undo }, make("kbd", {}, "u"), " Undo the last one")),
  ];
  const done = () => [
    make("h1", {}, "Every item has your label"),
    make("p", {}, `All ${state.total} are in ${state.file}. End the command in the terminal with Ctrl-C; it names what to do next.`),
    make("p", { className: "after" }, make("button", { type: "button", className: "quiet", disabled: state.undo === null, onclick: undo }, make("kbd", {}, "u"), " Undo the last one")),
  ];
  const show = (found) => {
    state = found;
    keys = new Map();
    note.value = "";
    const others = Object.entries(state.others).map(([name, n]) => `${name} ${n}`).join(", ");
    const name = make("input", { type: "text", value: state.labeller, maxLength: 80, "aria-label": "Your name", onchange: (e) => { location.search = new URLSearchParams({ as: e.target.value }); } });
    main.replaceChildren(...[
      make("header", { className: "bar" },
        make("label", {}, "You are ", name),
        make("span", { id: "count" }, `${state.done} of ${state.total} labelled`),
        make("progress", { value: state.done, max: state.total, "aria-label": "labelled" }),
        others ? make("span", { className: "quiet" }, `others: ${others}`) : null),
      status,
      state.next ? make("h1", { className: "unseen" }, "Label this item") : null,
      ...(state.next ? item(state.next) : done()),
    ].filter(Boolean));
    document.body.dataset.item = state.next ? state.next.item : "";
    document.body.dataset.ready = "yes";
    window.scrollTo(0, 0);
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.target.tagName === "INPUT") {
      if (event.key === "Enter" || event.key === "Escape") event.target.blur();
      return;
    }
    if (event.key === "n") { event.preventDefault(); note.focus(); return; }
    if (event.key === "u") { undo(); return; }
    const act = keys.get(event.key);
    if (act) act();
  });
  window.addEventListener("beforeunload", (event) => { if (kept && kept.shown) event.preventDefault(); });
  ask(`api/next${person() ? `?as=${encodeURIComponent(person())}` : ""}`).then(show, (error) => {
    main.replaceChildren(status);
    tell(why(error));
  });
})();
