// Moves the progress of an experiment that is under way, and brings in its new verdicts. The page is complete without it.
"use strict";

(() => {
  const REFRESH_MS = 4000; // verdicts change slowly; a report is made for each refresh
  const live = document.querySelector("[data-events]");
  if (!live || !window.EventSource) return;

  const field = (name) => live.querySelector(`[data-live="${name}"]`);
  const write = (name, text) => {
    const element = field(name);
    if (element) element.textContent = text;
  };

  const span = (ms) => {
    const s = Math.round(ms / 1000);
    if (s < 60) return `${s} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
    return `${Math.floor(s / 3600)} h ${Math.floor(s / 60) % 60} min`;
  };

  const show = (progress) => {
    const part = (n) => (progress.trials ? (100 * n) / progress.trials : 0);
    const svg = live.querySelector("svg");
    svg.querySelector(".over").setAttribute("width", part(progress.over));
    svg.querySelector(".failure").setAttribute("width", part(progress.failed));
    svg.setAttribute("aria-label", `${progress.over} of ${progress.trials} trials are over, ${progress.failed} failed`);
    for (const name of ["over", "trials", "round", "failed"]) write(name, progress[name]);
    write("percent", Math.floor(part(progress.over)));
    write("left", progress.eta_ms === null ? "time left not known yet" : `about ${span(progress.eta_ms)} left`);
    field("now").replaceChildren(
      ...progress.now.map((line) => {
        const item = document.createElement("li");
        item.textContent = line;
        return item;
      }),
    );
  };

  let shown = 0; // trials over in the report that is on the page
  let busy = false;
  const refresh = async (progress) => {
    if (busy || progress.over === shown) return;
    busy = true;
    try {
      const answer = await fetch(location.pathname);
      if (answer.ok) {
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
        for (const selector of [".verdict", "#report"]) {
          const [old, next] = [document.querySelector(selector), fresh.querySelector(selector)];
          if (old && next) old.replaceWith(document.adoptNode(next));
        }
        shown = progress.over;
      }
    } finally {
      setTimeout(() => (busy = false), REFRESH_MS);
    }
  };

  const events = new EventSource(live.dataset.events);
  events.onmessage = (event) => {
    const progress = JSON.parse(event.data);
    if (progress.state === "finished" || progress.state === "cancelled") {
      events.close();
      location.reload();
      return;
    }
    show(progress);
    refresh(progress).catch(() => {}); // the next event tries again
  };
})();
