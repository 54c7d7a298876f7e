// Uses a report as people do, for demo.sh: frame `scripts` runs its script, frame `none` may not. `compared` is what
// `compare --json` says.
addEventListener("load", async () => {
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

  // What compare gives by rank is a mean here, in whole nanoseconds and bytes.
  const mean = (numbers) => numbers.reduce((a, b) => a + b, 0) / numbers.length;
  const figures = { "makespan": (s) => s.makespan_ns, "vs ulysses": (s) => s.speedup, "compute": (s) => mean(s.compute_ns),
    "late peer": (s) => mean(s.wait_late_peer_ns), "wire": (s) => mean(s.wire_ns), "other": (s) => mean(s.other_ns),
    "imbalance": (s) => s.imbalance_ratio, "barrier": (s) => s.barrier_imbalance_ratio, "sent/rank": (s) => mean(s.bytes_sent),
    "end to end": (s) => s.end_to_end_ns };
  for (const strategy of compared.strategies) {
    const row = [...table.tBodies[0].rows].find((row) => row.cells[0].firstChild.textContent === strategy.label);
    for (const [name, of] of Object.entries(figures)) {
      const cell = [...row.cells].find((one) => one.dataset.column === name), wanted = of(strategy);
      if (cell === undefined) continue;  // a range takes the room of some
      const shown = +cell.dataset.v;
      check(Math.abs(shown - wanted) <= (wanted > 1000 ? 1 : 1e-9), name + " of " + strategy.label + " is " + shown + ", not " + wanted);
    }
  }

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

  // Rules of paper and of a dark window hold here, too, when their conditions are taken away.
  const lightness = (color) => mean(color.match(/\d+/g).slice(0, 3).map(Number)) / 255;
  const dark = () => lightness(view.getComputedStyle(page.body).color) > 0.7 && lightness(view.getComputedStyle(page.body).backgroundColor) < 0.3;
  const within = (condition, test) => {
    const rules = [...page.styleSheets].flatMap((sheet) => [...sheet.cssRules]).filter((rule) => rule.media?.mediaText.includes(condition));
    const before = rules.map((rule) => rule.media.mediaText);
    rules.forEach((rule) => { rule.media.mediaText = "all"; });
    test();
    rules.forEach((rule, i) => { rule.media.mediaText = before[i]; });
  };
  check(!dark(), "the page is dark");
  within("dark", () => check(dark(), "there is no dark page"));
  within("print", () => check(!every(page, "nav, .tools, button").some(shown), "controls are printed"));

  const steps = every(page, "figure.masks .step"), slider = page.querySelector("figure.masks input[type=range]");
  check(steps.length === 3 && steps.filter(shown).length === 1, "not one of three denoise steps is shown");
  slider.value = 2;
  slider.dispatchEvent(new view.Event("input"));
  check(shown(steps[2]) && !shown(steps[0]), "the slider does not go to the last step");
  const pictures = every(page, "figure.masks .step:not([hidden]) use.plain");
  check(pictures.length === 40 && pictures.every((picture) => picture.getBoundingClientRect().width === 64), "pictures of heads are not there");
  const load = (data) => new Promise((done) => { const image = new Image(); image.onload = () => done(image.naturalWidth); image.onerror = () => done(0); image.src = data; });
  const sizes = await Promise.all(every(page, "figure.masks image").map((image) => load(image.getAttribute("href"))));
  check(sizes.length === 120 && sizes.every((width) => width === 64), "pictures of heads do not load");

  // Choosing a strategy colours each head by rank; every head says the ranks in words, too.
  const owners = (document, where) => {
    const choices = every(document, "figure.masks .pick input");
    check(choices.length === 6 && choices[0].checked, where + ": not density and five strategies to choose from");
    const colours = (head) => every(document, head.getAttribute("href") + " path").length;
    const drawn = () => every(document, "figure.masks .step:not([hidden]) use.own").filter(shown);
    const heads = every(document, "figure.masks .step:not([hidden]) li").length;
    check(drawn().length === 0, where + ": owners are there before they are chosen");
    for (const [label, ranks] of [["ulysses u8", 1], ["ring r8 cyclic", 1]]) {
      choices.find((choice) => choice.parentElement.textContent.endsWith(label)).checked = true;
      check(drawn().length === heads && drawn().every((head) => colours(head) === ranks), where + ": heads of " + label + " have not " + ranks + " colours");
      check(!every(document, "figure.masks use.plain").some(shown), where + ": the density shows through");
    }
    const words = every(document, "figure.masks .step:not([hidden]) small.own").filter(shown).map((small) => small.textContent);
    check(words.length === heads && words.every((text) => text === "several ranks"), where + ": heads do not say their ranks: " + words[0]);
    choices[0].checked = true;
    check(drawn().length === 0 && every(document, "figure.masks use.plain").some(shown), where + ": density does not come back");
  };
  owners(page, "scripts");
  lines.push("used the page with scripts");

  const still = documentOf("none");
  check(every(still, "button, input:not([type=radio])").length === 0, "controls that do nothing are shown");
  check(every(still, "section").every(shown) && every(still, "section").length === every(page, "section").length, "a section is missing");
  check(every(still, "figure.masks .step").length === 3 && every(still, "figure.masks .step").every(shown), "not all denoise steps are shown");
  check(every(still, "figure.timeline svg.lanes rect").length > 100, "the timeline is empty");
  owners(still, "no scripts");
  lines.push("saw the page without scripts");
  document.getElementById("found").textContent = lines.join("\n");
});
