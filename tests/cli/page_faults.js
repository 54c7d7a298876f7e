// Faults in the layout of a report, for report-page-width.sh: one line each, added to the element `found` of the page
// that shows the report in a frame.
const faults = [];
const width = document.documentElement.clientWidth;
const named = (element) => element.tagName + "." + element.getAttribute("class") + " \"" + element.textContent.trim().slice(0, 40) + "\"";
const box = (element) => element.getBoundingClientRect();
const meet = (a, b) => a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom - 0.5 && b.top < a.bottom - 0.5;

if (document.documentElement.scrollWidth > width) faults.push("the page is " + document.documentElement.scrollWidth + " px wide");
for (const element of document.querySelectorAll("body *:not(svg *)"))
  if (!element.closest("pre") && box(element).right > width + 0.5) faults.push("beyond the window: " + named(element));
for (const element of document.querySelectorAll(".scroll"))
  if (element.scrollWidth > element.clientWidth + 1) faults.push("cut: " + named(element));

// Texts that could run into each other: names and values beside bars, labels of ranks, cells of a row, facts.
for (const group of document.querySelectorAll(".rows, svg.columns, svg.bar, tr, dl")) {
  const texts = [...group.querySelectorAll(".name, .value, svg.bar, text, td, dt, dd")].filter(
    (element) => box(element).width > 0 && !(group.matches(".rows") && element.tagName === "text"));
  texts.forEach((text, i) => {
    for (const other of texts.slice(i + 1)) if (meet(box(text), box(other))) faults.push("overlap: " + named(text) + " and " + named(other));
  });
}
// A bar comes before the next strategy's name.
const bars = [...document.querySelectorAll(".rows svg.bar")];
for (const bar of bars) {
  const row = bar.closest(".row"), next = row.nextElementSibling;
  if (next && box(bar).top >= box(next.querySelector(".name")).bottom) faults.push("below the next name: the bar of " + named(row));
}
window.parent.document.getElementById("found").textContent +=
  "looked at " + bars.length + " bars of " + window.name + " in a window of " + width + " px\n" + faults.map((fault) => "fault: " + fault + "\n").join("");
