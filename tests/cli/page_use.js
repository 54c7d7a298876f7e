// Uses a report as people do, for report-page-script.sh: frame `scripts` runs its script, frame `none` may not.
addEventListener("load", () => {
  const lines = [];
  const check = (holds, what) => { if (!holds) lines.push("fault: " + what); };
  const documentOf = (name) => document.querySelector("iframe[name=" + name + "]").contentDocument;
  const every = (page, selector) => [...page.querySelectorAll(selector)];
  const shown = (element) => element.getClientRects().length > 0;

  const page = documentOf("scripts"), view = page.defaultView;
  const table = every(page, "section[id$=summary] table")[0];
  const heading = every(table, "th").find((th) => th.textContent.startsWith("makespan"));
  const column = [...heading.parentNode.children].indexOf(heading);
  const times = () => [...table.tBodies[0].rows].filter((row) => !row.matches(".aside")).map((row) => +row.cells[column].dataset.v);
  const up = [...times()].sort((a, b) => a - b);
  check(up.length === 5 && up[0] > 0, "the summary has no five times");
  heading.querySelector("button.sort").click();
  check(String(times()) === String(up), "a first click does not sort up: " + times());
  heading.querySelector("button.sort").click();
  check(String(times()) === String([...up].reverse()), "a second click does not sort down: " + times());
  check([...table.tBodies[0].rows].at(-1).matches(".aside"), "the bound is not below");

  const late = every(page, "a.named[data-s=ulysses][data-r='5']")[0];
  check(late !== undefined, "no sentence names rank 5 of ulysses");
  late.dispatchEvent(new view.Event("pointerover", { bubbles: true }));
  const lanes = every(page, "figure.timeline svg.lanes g");
  check(lanes.length === 40, lanes.length + " rows of the timeline, not 5 x 8");
  check(lanes.filter((lane) => lane.matches(".lit")).length === 1 && lanes.find((lane) => lane.matches(".lit")).dataset.r === "5", "the late rank does not stand out");
  check(page.querySelector(late.getAttribute("href") + " figure.timeline") !== null, "its link does not lead to the timeline");

  const timeline = page.querySelector("figure.timeline"), lane = timeline.querySelector("svg.lanes");
  const width = lane.getBoundingClientRect().width;
  timeline.dispatchEvent(new view.KeyboardEvent("keydown", { key: "+", bubbles: true }));
  check(Math.abs(lane.getBoundingClientRect().width - 2 * width) < 2, "+ does not zoom the timeline");
  timeline.dispatchEvent(new view.KeyboardEvent("keydown", { key: "0", bubbles: true }));
  check(Math.abs(lane.getBoundingClientRect().width - width) < 2, "0 does not show all again");

  const steps = every(page, "figure.masks .step"), slider = page.querySelector("figure.masks input[type=range]");
  check(steps.length === 3 && steps.filter(shown).length === 1, "not one of three denoise steps is shown");
  slider.value = 2;
  slider.dispatchEvent(new view.Event("input"));
  check(shown(steps[2]) && !shown(steps[0]), "the slider does not go to the last step");
  const pictures = every(page, "figure.masks .step:not([hidden]) img");
  check(pictures.length >= 40 && pictures.every((image) => image.naturalWidth > 0), "pictures of heads do not load");
  lines.push("used the page with scripts");

  const still = documentOf("none");
  check(every(still, "button, input").length === 0, "controls that do nothing are shown");
  check(every(still, "section").every(shown) && every(still, "section").length === every(page, "section").length, "a section is missing");
  check(every(still, "figure.masks .step").length === 3 && every(still, "figure.masks .step").every(shown), "not all denoise steps are shown");
  check(every(still, "figure.timeline svg.lanes rect").length > 100, "the timeline is empty");
  lines.push("saw the page without scripts");
  document.getElementById("found").textContent = lines.join("\n");
});
