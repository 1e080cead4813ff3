"use strict";
// One item at a time. A label counts once the server has it on the disk; only then the page goes on.
(() => {
  const main = document.getElementById("main");
  const KEYS = "123456789abcdefghijklmopqrstvwyz";
  let state, busy = false, keys = new Map();

  const person = () => new URLSearchParams(location.search).get("as") || "";
  const status = make("p", { className: "wait", role: "status" }, "");
  const note = make("input", { type: "text", id: "note", maxLength: 2000, placeholder: "optional note (n)", autocomplete: "off" });
  const send = async (path, sent) => {
    if (busy) return;
    busy = true;
    document.body.dataset.busy = "yes";
    try {
      show(await ask(path, { labeller: state.labeller, ...sent }));
      status.textContent = "";
    } catch (error) {
      if (error.said && error.said.total) show(error.said);
      status.textContent = error.said ? error.message : "Not saved: no connection to `judgelaw label`. Start it again; everything before is on the disk.";
    } finally {
      busy = false;
      delete document.body.dataset.busy;
    }
  };
  const label = (value) => send("api/label", { item: state.next.item, label: value, note: note.value });
  const undo = () => { if (state.undo) send("api/undo", {}); };
  const keyOf = (choice, n, all) => (all.every((c) => /^\d$/.test(c.shown)) ? choice.shown : KEYS[n]);

  const choices = (next) => {
    keys = new Map();
    const buttons = next.choices.map((choice, n) => {
      const key = keyOf(choice, n, next.choices);
      keys.set(key, () => label(choice.label));
      return make("button", { type: "button", onclick: () => label(choice.label) }, make("kbd", {}, key), ` ${choice.shown}`);
    });
    keys.set("x", () => label(""));
    keys.set("?", () => label(""));
    buttons.push(make("button", { type: "button", className: "quiet", onclick: () => label("") }, make("kbd", {}, "x"), " Cannot tell"));
    return make("div", { className: "choices", role: "group", "aria-label": "Label" }, ...buttons);
  };
  const block = ([heading, text]) => make("section", { className: "text" }, make("h2", {}, heading), make("p", { className: "body" }, text));
  const item = (next) => [
    ...next.texts.map(block),
    next.answers.length ? make("div", { className: "answers" }, ...next.answers.map(block)) : null,
    choices(next),
    make("p", { className: "after" }, note, make("button", { type: "button", className: "quiet", disabled: !state.undo, onclick: undo }, make("kbd", {}, "u"), " Undo the last one")),
  ];
  const done = () => [
    make("h1", {}, "Every item has your label"),
    make("p", {}, `All ${state.total} are in ${state.file}. End the command in the terminal with Ctrl-C; it names what to do next.`),
    make("p", { className: "after" }, make("button", { type: "button", className: "quiet", disabled: !state.undo, onclick: undo }, make("kbd", {}, "u"), " Undo the last one")),
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
  ask(`api/next${person() ? `?as=${encodeURIComponent(person())}` : ""}`).then(show);
})();
