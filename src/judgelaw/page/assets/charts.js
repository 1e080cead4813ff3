"use strict";
// Hover, focus and arrow keys for static charts. Every mark that carries an aria-label can be
// reached; what it says is shown beside it. Nothing here is needed to read the page.
(() => {
  const tip = document.getElementById("tip");
  const hide = () => { tip.hidden = true; };
  const show = (mark) => {
    tip.textContent = mark.getAttribute("aria-label");
    tip.hidden = false;
    const box = mark.getBoundingClientRect();
    const wide = tip.offsetWidth, high = tip.offsetHeight;
    const left = Math.min(Math.max(8, box.left + box.width / 2 - wide / 2), innerWidth - wide - 8);
    const above = box.top - high - 10;
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${(above > 4 ? above : box.bottom + 10) + scrollY}px`;
  };
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

  const bring = (svg) => {
    const marks = [...svg.querySelectorAll(".mark")];
    if (!marks.length) return;
    let at = -1;
    const go = (to) => {
      at = (to + marks.length) % marks.length;
      marks[at].setAttribute("tabindex", "-1");
      marks[at].focus({ preventScroll: false });
    };
    svg.setAttribute("tabindex", "0");
    svg.addEventListener("keydown", (event) => {
      if (event.key in steps) go(at < 0 && steps[event.key] < 0 ? marks.length - 1 : at + steps[event.key]);
      else if (event.key === "Home") go(0);
      else if (event.key === "End") go(marks.length - 1);
      else if (event.key === "Escape") { hide(); at = -1; svg.focus(); }
      else return;
      event.preventDefault();
    });
    svg.addEventListener("focusin", (event) => {
      const found = marks.indexOf(event.target);
      if (found >= 0) { at = found; show(event.target); }
    });
    svg.addEventListener("focusout", hide);
    svg.addEventListener("pointerover", (event) => {
      const mark = event.target.closest(".mark");
      if (mark) show(mark); else hide();
    });
    svg.addEventListener("pointerleave", hide);
  };
  document.querySelectorAll("svg.chart").forEach(bring);
  // A link into a part that is closed opens it.
  const unfold = () => {
    const id = location.hash.slice(1);
    const found = /^[\w-]+$/.test(id) && document.getElementById(id);
    for (let part = found; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    if (found) found.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();
})();
