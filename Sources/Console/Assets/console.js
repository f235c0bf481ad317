"use strict";
(() => {
  const $ = (selector, from = document) => from.querySelector(selector);
  const $$ = (selector) => [...document.querySelectorAll(selector)];
  const typing = (element) => /^(INPUT|SELECT|TEXTAREA)$/.test(element.tagName);
  const places = { o: "/", e: "/events", c: "/customers", a: "/attention", h: "/health", u: "/audit" };
  let paused = false, timer = 0, row = -1, asked = 0, prefix = false;

  const button = (text, place, click) => {
    const made = document.createElement("button");
    made.textContent = text;
    made.onclick = () => click(made);
    place.after(made);
  };

  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };

  const prepare = () => {
    row = -1;
    const format = new Intl.DateTimeFormat(undefined, { dateStyle: "short", timeStyle: "medium" });
    $$("time[datetime]:not([title])").forEach((time) => {
      const instant = new Date(time.dateTime);
      time.title = time.textContent;
      time.textContent = format.format(instant);
    });
    $$("[data-copy]").forEach((code) => {
      code.removeAttribute("data-copy");
      button("Copy", code.parentNode, (made) => copy(code.textContent).then(() => { made.textContent = "Copied"; }));
    });
    clearTimeout(timer);
    const seconds = Number($("#main").dataset.refresh);
    if (!seconds) return;
    const words = () => (paused ? "Resume" : "Pause") + " updates";
    button(words(), $("h1"), (made) => { paused = !paused; made.textContent = words(); });
    const tick = () => {
      const busy = document.hidden || paused || $("#main :focus:not(h1 + button), .chosen");
      timer = setTimeout(tick, seconds * 1000);
      if (!busy) load(location.href, false);
    };
    timer = setTimeout(tick, seconds * 1000);
  };

  const load = async (url, isMove) => {
    const main = $("#main"), turn = ++asked;
    try {
      const answer = await fetch(url);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html"), next = $("#main", page);
      if (turn !== asked) return;
      if (!answer.ok || (!isMove && paused)) throw new Error();
      const open = $$("details").map((details) => details.open);
      main.replaceWith(next);
      document.title = page.title;
      if (isMove) {
        history.pushState(null, "", url);
        scrollTo(0, 0);
        next.focus();
      } else $$("details").forEach((details, index) => { details.open = open[index]; });
      prepare();
    } catch {
      if (isMove) location.assign(url);
    }
  };

  addEventListener("click", (event) => {
    const link = event.target.closest(".pager a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    load(link.href, true);
  });
  addEventListener("popstate", () => location.reload());

  const choose = (step) => {
    const all = $$("tbody tr");
    all[row]?.classList.remove("chosen");
    row = Math.max(0, Math.min(all.length - 1, row + step));
    all[row]?.classList.add("chosen");
    all[row]?.scrollIntoView();
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    const key = event.key, chosen = $("tbody tr.chosen"), target = $(`[data-key="${CSS.escape(key)}"]`);
    if (prefix && places[key]) location.assign(places[key]);
    else if (key === "j") choose(1);
    else if (key === "k") choose(-1);
    else if (key === "?") $("#keys").togglePopover();
    else if (chosen && key === "x") $("[type=checkbox]", chosen)?.click();
    else if (chosen && key === "Enter" && event.target === document.body) $("a", chosen)?.click();
    else if (target) {
      event.preventDefault();
      key === "/" ? target.focus() : target.click();
    }
    prefix = key === "g";
  });
  prepare();
})();
