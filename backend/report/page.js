// What a report adds where scripts run: tables that sort, marks of one strategy and rank that light up together, a
// timeline that zooms, denoise steps to go through. The page is complete without it. It is inlined, so it loads nothing,
// and its hash is in the page's content security policy.
"use strict";
(() => {
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  const make = (name, properties, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };

  // -- tables: a button in each heading sorts by its column, up, then down; rows that are no items stay below
  for (const table of all("table")) {
    const body = table.tBodies[0];
    if (!body || body.rows.length < 3) continue;
    const headings = all("th", table);
    const choice = make("select", {}, make("option", { value: "", textContent: "as it was written", disabled: true, selected: true }));
    const sort = (column, down) => {
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      headings[column].setAttribute("aria-sort", down ? "descending" : "ascending");
      choice.value = column + (down ? "d" : "u");
      const value = (row) => row.cells[column]?.dataset.v ?? row.cells[column]?.textContent ?? "";
      const compare = (a, b) => {
        const x = value(a), y = value(b), numbers = x !== "" && y !== "" && !isNaN(x) && !isNaN(y);
        if ((x === "") !== (y === "")) return x === "" ? 1 : -1;  // unknown ones last, either way
        return (down ? -1 : 1) * (numbers ? x - y : x.localeCompare(y, "en", { numeric: true }));
      };
      const rows = [...body.rows], items = rows.filter((row) => !row.matches(".aside"));
      body.append(...items.sort(compare), ...rows.filter((row) => row.matches(".aside")));
    };
    headings.forEach((heading, column) => {
      const name = heading.textContent;
      const button = make("button", { type: "button", className: "sort", title: "Sort by " + name });
      button.setAttribute("aria-label", "Sort by " + name);
      heading.append(button);
      button.addEventListener("click", () => sort(column, heading.getAttribute("aria-sort") === "ascending"));
      choice.append(make("option", { value: column + "u", textContent: name + " ↑" }), make("option", { value: column + "d", textContent: name + " ↓" }));
    });
    // Cards, which have no headings, are sorted by a choice above them.
    choice.addEventListener("change", () => sort(parseInt(choice.value), choice.value.endsWith("d")));
    table.before(make("label", { className: "sort-by" }, "Sort by ", choice));
  }

  // -- what is of the strategy, and the rank, under the pointer or the focus stands out in every chart of its part
  const linked = all("[data-s], [data-r]");
  const part = (element) => element.closest("[data-part]");
  const light = (target) => {
    const from = target instanceof Element ? target.closest("[data-s], [data-r]") : null;
    document.body.classList.toggle("linked", from !== null);
    for (const element of linked) {
      const agree = (key) => from?.dataset[key] === undefined || element.dataset[key] === undefined || from.dataset[key] === element.dataset[key];
      element.classList.toggle("lit", from !== null && part(from) === part(element) && agree("s") && agree("r"));
    }
  };
  let shown = null;
  const follow = (event) => {
    const from = event.target instanceof Element ? event.target.closest("[data-s], [data-r]") : null;
    if (from !== shown) light(shown = from);
  };
  document.addEventListener("pointerover", follow);
  document.addEventListener("focusin", follow);

  // -- timeline: wider by buttons, + and - keys and Ctrl+wheel; all bands scroll together
  for (const figure of all("figure.timeline")) {
    const pans = all(".pan", figure);
    if (pans.length === 0) continue;
    let zoom = 1;
    const to = (factor, x = pans[0].clientWidth / 2) => {
      const old = zoom, at = pans[0].scrollLeft + x;
      zoom = Math.min(64, Math.max(1, factor));
      figure.style.setProperty("--zoom", zoom);
      const left = (at * zoom) / old - x;
      for (const pan of pans) pan.scrollLeft = left;
      fit.disabled = less.disabled = zoom === 1;
      figure.classList.toggle("zoomed", zoom > 1);
    };
    const button = (text, label, run) => {
      const made = make("button", { type: "button", textContent: text, title: label });
      made.setAttribute("aria-label", label);
      made.addEventListener("click", run);
      return made;
    };
    const less = button("−", "Zoom out (-)", () => to(zoom / 2));
    const more = button("+", "Zoom in (+)", () => to(zoom * 2));
    const fit = button("Fit", "Show all (0)", () => to(1));
    fit.disabled = less.disabled = true;
    figure.querySelector("figcaption").after(make("p", { className: "tools" }, less, more, fit));
    for (const pan of pans) {
      pan.tabIndex = 0;
      pan.addEventListener("scroll", () => { for (const other of pans) if (other.scrollLeft !== pan.scrollLeft) other.scrollLeft = pan.scrollLeft; });
      pan.addEventListener("wheel", (event) => {
        if (!event.ctrlKey) return;
        event.preventDefault();
        to(zoom * (event.deltaY < 0 ? 1.25 : 0.8), event.clientX - pan.getBoundingClientRect().left);
      }, { passive: false });
    }
    figure.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "+" || event.key === "=") to(zoom * 2);
      else if (event.key === "-") to(zoom / 2);
      else if (event.key === "0") to(1);
      else return;
      event.preventDefault();
    });
  }

  // -- heads: one denoise step at a time
  for (const figure of all("figure.masks")) {
    const steps = all(".step", figure), tools = make("p", { className: "tools" });
    if (steps.length > 1) {
      const label = make("output", {});
      const slider = make("input", { type: "range", min: 0, max: steps.length - 1, value: Math.max(0, steps.findIndex((step) => "chosen" in step.dataset)) });
      slider.setAttribute("aria-label", "Denoise step");
      const show = () => {
        steps.forEach((step, i) => { step.hidden = i !== +slider.value; });
        label.textContent = steps[slider.value].dataset.label;
      };
      slider.addEventListener("input", show);
      figure.classList.add("scrubbed");
      show();
      tools.append(slider, label);
    }
    if (tools.childNodes.length > 0) figure.querySelector("figcaption").after(tools);
  }
})();
