"use strict";
// What both pages share. Text written by others only ever goes in through textContent.
// The page may stand under a path of a proxy: where it is, and not where it was sent from, counts.
const base = new URL(document.body.dataset.base, location.href).pathname;
const make = (tag, traits = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(traits)) {
    if (key in node && key !== "list") node[key] = value; else node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
};
const ask = async (path, sent) => {
  const answer = await fetch(base + path, sent === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(sent),
  });
  const text = await answer.text();
  let said = null;
  try { said = JSON.parse(text); } catch { /* words in plain text, or the page of a proxy */ }
  if (!answer.ok || said === null) {
    const plain = (answer.headers.get("Content-Type") || "").startsWith("text/plain") ? text.slice(0, 300) : "";
    throw Object.assign(new Error((said && said.error) || plain || `the server answers ${answer.status}`), { said, status: answer.status });
  }
  return said;
};
const grouped = (n) => Math.round(n).toLocaleString("en");
const decimal = (value, digits = 4) => {
  const text = value.toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "\u2212");
};
const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)}%`;
const money = (usd) => (usd === null || usd === undefined ? "—" : `${usd.toFixed(usd < 1 ? 4 : 2)} USD`);
const duration = (seconds) => {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "—";
  const whole = Math.round(seconds), h = Math.floor(whole / 3600), m = Math.floor(whole / 60) % 60;
  const pad = (n) => String(n).padStart(2, "0");
  if (h >= 24) return `${Math.floor(h / 24)} d ${h % 24} h`;
  return h ? `${h}:${pad(m)}:${pad(whole % 60)}` : `${m}:${pad(whole % 60)}`;
};
const clock = (seconds) => new Date(1000 * seconds).toLocaleString();
