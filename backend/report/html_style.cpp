// The style sheet of a report. No fonts, images or scripts from elsewhere: the page is one file.
#include <fmt/format.h>

#include <cstdint>

#include "backend/report/html.h"

namespace spscope {

namespace {

struct TokenRow {
  std::string_view name;
  std::uint32_t light, dark;
};
constexpr TokenRow kTokens[] = {
#define TOKEN(name, css, light, dark) {css, light, dark},
#include "backend/report/style_tokens.def"
#undef TOKEN
};

// ":root { ... }": colours that are opaque from the table, those of hatching and shadows from `rest`.
std::string root(std::uint32_t TokenRow::*color, std::string_view rest) {
  std::string text = ":root {";
  for (const TokenRow& row : kTokens) text += fmt::format(" --{}: #{:06x};", row.name, row.*color);
  return fmt::format("{} {} }}\n", text, rest);
}

// Print is always light.
std::string colors() {
  return root(&TokenRow::light,
              "--stripe: rgba(255, 255, 255, .38); --shade: rgba(26, 31, 41, .22); color-scheme: light dark;") +
         "@media screen and (prefers-color-scheme: dark) {\n" +
         root(&TokenRow::dark, "--stripe: rgba(10, 14, 20, .36); --shade: rgba(0, 0, 0, .75);") + "}\n";
}

constexpr std::string_view kStyle = R"css(
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; padding: 2.5rem 1.25rem 4rem; background: var(--page); color: var(--ink);
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
}
main, header.page, footer { max-width: 1200px; margin: 0 auto; }
a { color: var(--accent); text-underline-offset: .18em; }
.eyebrow { margin: 0; color: var(--muted); font-size: .8rem; letter-spacing: .06em; text-transform: uppercase; }
h1, h2 { overflow-wrap: anywhere; text-wrap: balance; }
h1 { margin: .15rem 0 1rem; font-size: 1.75rem; line-height: 1.2; letter-spacing: -.015em; }
h2 { margin: 2.25rem 0 .25rem; font-size: 1.2rem; line-height: 1.35; letter-spacing: -.005em; }
h2:first-child { margin-top: 0; }
h2 + p.subtitle { margin: 0 0 1rem; color: var(--muted); }
h3 { margin: 0 0 .9rem; font-size: 1.05rem; }
nav { margin: 0 0 1rem; display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; font-size: .88rem; }
nav a { text-decoration: none; }
nav a:hover { text-decoration: underline; }
section {
  margin: 0 0 1.25rem; padding: 1.4rem 1.5rem 1.5rem; background: var(--surface); border: 1px solid var(--rule);
  border-radius: 10px;
}
section > :last-child { margin-bottom: 0; }
p { margin: 0 0 .9rem; max-width: 110ch; overflow-wrap: anywhere; text-wrap: pretty; }
p.note { color: var(--muted); }
p.warning {
  padding: .6rem .85rem; border-left: 4px solid var(--warn); border-radius: 0 6px 6px 0; background: var(--warn-back);
  color: var(--warn);
}
p.conclusion { margin: 0; padding: .1rem 0 .1rem .9rem; border-left: 4px solid var(--accent); font-size: 1.08rem; }
p.reason { margin: 0; padding: .1rem 0 .1rem .9rem; border-left: 4px solid var(--accent); }
p.conclusion + :not(p.conclusion, p.reason), p.reason + :not(p.reason) { margin-top: 1.1rem; }
ul.badges { display: flex; flex-wrap: wrap; gap: .4rem; margin: 0 0 1rem; padding: 0; list-style: none; }
ul.badges li { padding: .1rem .6rem; border: 1px solid; border-radius: 99px; font-size: .8rem; font-weight: 600; }
ul.badges a { color: inherit; text-decoration: none; }
li.measured { color: var(--measured); background: var(--measured-back); }
li.modelled { color: var(--modelled); background: var(--modelled-back); border-style: dashed !important; }
.scroll {
  overflow-x: auto; margin: 0 0 1.1rem;
  background: linear-gradient(to right, var(--surface) 30%, transparent) left / 40px 100% no-repeat local,
    linear-gradient(to left, var(--surface) 30%, transparent) right / 40px 100% no-repeat local,
    linear-gradient(to right, var(--shade), transparent) left / 14px 100% no-repeat scroll,
    linear-gradient(to left, var(--shade), transparent) right / 14px 100% no-repeat scroll;
}
table { width: 100%; border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
caption { padding: 0 0 .35rem; color: var(--muted); font-size: .88rem; text-align: left; }
th, td { padding: .42rem .5rem; border-bottom: 1px solid var(--rule); text-align: right; white-space: nowrap; }
th { position: relative; color: var(--muted); font-size: .8rem; font-weight: 600; line-height: 1.3; vertical-align: bottom; white-space: normal; }
table:where(.stack-1180) { font-size: .84rem; }
:where(.stack-1180) th { font-size: .76rem; }
:where(.stack-1180) :is(th, td) { padding: .38rem .28rem; }
th a { color: inherit; text-decoration: underline dotted; }
th.left, td.left { text-align: left; }
:where(:not(.left)) + th.left, :where(:not(.left)) + td.left { padding-left: 1.2rem; }
th:first-child, td:first-child { padding-left: .5rem; }
tbody tr:last-child td { border-bottom: 0; }
tr.best td { background: var(--best); font-weight: 600; }
tr.aside td { color: var(--muted); font-style: italic; }
td:first-child.left { min-width: 8rem; white-space: normal; }
td.long { white-space: normal; min-width: 18rem; overflow-wrap: anywhere; }
td .spread { color: var(--muted); font-size: .75em; font-weight: 400; }
td.failed { color: var(--warn); font-weight: 700; }
td.skipped { color: var(--muted); }
.tag { margin-left: .5rem; padding: .05rem .45rem; border-radius: 99px; background: var(--accent); color: var(--surface);
  font-size: .72rem; font-weight: 600; vertical-align: .08em; }
figure { margin: 0 0 1.2rem; }
figcaption { margin: 0 0 .5rem; color: var(--muted); font-size: .88rem; }
svg { display: block; overflow: visible; }
.rows { display: grid; grid-template-columns: max-content 1fr max-content; gap: .55rem .9rem; align-items: center; }
.rows .row { display: contents; }
.rows .name { max-width: 22ch; overflow-wrap: anywhere; font-size: .9rem; }
.rows .value { min-width: 5em; text-align: right; font-size: .9rem; font-variant-numeric: tabular-nums; }
svg.bar, svg.columns { width: 100%; }
svg text { font-size: 11.5px; text-anchor: middle; dominant-baseline: central; font-variant-numeric: tabular-nums;
  pointer-events: none; }
.part0 { fill: var(--compute); } .part1 { fill: var(--late); } .part2 { fill: var(--wire); } .part3 { fill: var(--other); }
.on0 { fill: var(--on-compute); stroke: var(--compute); } .on1 { fill: var(--on-late); stroke: var(--late); }
.on2 { fill: var(--on-wire); stroke: var(--wire); } .on3 { fill: var(--on-other); stroke: var(--other); }
.on0, .on1, .on2, .on3 { paint-order: stroke; stroke-width: 4px; stroke-linejoin: round; }
.hatch { fill: url(#hatching); pointer-events: none; }
.patch { pointer-events: none; }
.stripe { fill: var(--stripe); }
.mark { stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 3 3; }
.axis { stroke: var(--rule); }
text.tick { fill: var(--muted); font-size: 10.5px; }
text.tick.first { text-anchor: start; } text.tick.last { text-anchor: end; }
svg.defs { position: absolute; }
ul.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: .8rem 0 0; padding: 0; list-style: none; font-size: .84rem; }
ul.legend li { display: flex; align-items: center; gap: .4rem; }
ul.legend a { color: inherit; text-decoration: underline dotted; }
ul.legend .note { color: var(--muted); }
.swatch { width: 14px; height: 14px; }
.ranks { display: grid; grid-template-columns: repeat(auto-fill, minmax(250px, 1fr)); gap: 1.2rem 1.6rem; margin: 0 0 1.1rem; }
.ranks figure { margin: 0; }
.ranks figcaption { margin: 0; color: var(--ink); font-weight: 600; }
.ranks figcaption span { color: var(--muted); font-weight: 400; }
ul.legend.above { margin: 0 0 .9rem; }
.ranks .top { color: var(--muted); font-size: .72rem; line-height: 1.6; }
.falls { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 430px), 1fr)); gap: 1.2rem 2.4rem; margin: 0 0 1.2rem; }
.falls figure { margin: 0; }
.falls figcaption { color: var(--ink); font-weight: 600; }
.falls .rows { gap: .2rem .8rem; }
.falls .name, .falls .value { font-size: .84rem; }
.falls .name a { color: inherit; text-decoration: underline dotted; }
rect.whole { fill: var(--muted); }
rect.less { fill-opacity: .35; stroke: var(--ink); stroke-dasharray: 3 2; }
.timeline .band { display: grid; grid-template-columns: 4.2rem minmax(0, 1fr); column-gap: .6rem; margin: 0 0 .7rem; }
.timeline .head, .masks .head { margin: 0 0 .15rem; font-size: .9rem; }
.timeline .head { grid-column: 2; }
.timeline .names { grid-column: 1; width: 100%; }
.timeline .names text { text-anchor: end; fill: var(--muted); font-size: 10.5px; }
.timeline .pan { grid-column: 2; overflow-x: auto; overflow-y: hidden; border-left: 1px solid var(--rule); scrollbar-width: none; }
.timeline.zoomed .band:last-of-type .pan { scrollbar-width: thin; }
.timeline svg.lanes { width: calc(100% * var(--zoom, 1)); overflow: hidden; }
.timeline .end { stroke: var(--ink); stroke-width: 1.5; }
.timeline .axis-ends { display: flex; max-width: none; justify-content: space-between; margin: 0 0 0 4.8rem; color: var(--muted); font-size: .76rem; }
.timeline.zoomed .axis-ends { display: none; }
.tools { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem; margin: 0 0 .7rem; font-size: .88rem; }
.tools button, .tools select { min-width: 2.2rem; padding: .2rem .6rem; border: 1px solid var(--rule); border-radius: 6px; background: var(--surface);
  color: var(--ink); font: inherit; cursor: pointer; }
.tools button:disabled { color: var(--muted); cursor: default; opacity: .6; }
.tools input { width: min(22rem, 60vw); accent-color: var(--accent); }
ol.heads { display: grid; grid-template-columns: repeat(auto-fill, minmax(74px, 1fr)); gap: .7rem .5rem; margin: 0 0 1rem; padding: 0; list-style: none; }
ol.heads li { position: relative; font-size: .78rem; line-height: 1.3; }
ol.heads svg { width: 64px; height: 64px; overflow: hidden; outline: 1px solid var(--rule); image-rendering: pixelated; }
ol.heads small { color: var(--muted); font-size: .95em; }
.scrubbed .step .head { display: none; }
.scale { display: flex; align-items: center; gap: 0; margin: 0; color: var(--muted); font-size: .78rem; }
.scale span { margin: 0 .5rem; white-space: nowrap; } .scale span:first-child { margin-left: 0; }
.scale i { flex: 0 1 14px; height: 12px; } .scale i.empty { outline: 1px solid var(--rule); }
a.named, span.named { color: inherit; text-decoration: underline; text-decoration-color: var(--accent); text-decoration-thickness: 1.5px; }
a.named:hover, a.named.lit { background: var(--best); }
.sort-by { display: none; align-items: center; gap: .5rem; color: var(--muted); font-size: .84rem; }
.sort-by select { min-width: 0; max-width: 16rem; padding: .25rem .4rem; border: 1px solid var(--rule); border-radius: 6px; background: var(--surface); color: inherit; font: inherit; }
button.sort { margin: 0 0 0 .2rem; padding: 0 .1rem; border: 0; background: none; color: inherit; font: inherit; opacity: .55; cursor: pointer; }
button.sort::before { content: "↕"; }
/* In the space between columns, so that headings need no second line for it. */
th:not(.left) button.sort { position: absolute; right: 0; bottom: .42rem; margin: 0; padding: 0; font-size: .66rem; }
th:not(.left) button.sort::after { content: ""; position: absolute; inset: -.4rem 0 -.3rem -.3rem; }
[aria-sort] button.sort, button.sort:hover, button.sort:focus-visible { opacity: 1; }
[aria-sort="ascending"] button.sort::before { content: "↑"; } [aria-sort="descending"] button.sort::before { content: "↓"; }
.linked svg g[data-s]:not(.lit), .linked .names text:not(.lit), .linked .falls figure:not(.lit), .linked .rows > .row[data-s]:not(.lit) > * { opacity: .3; }
.linked tr.lit td { background: var(--best); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.facts { columns: 3 300px; column-gap: 2.5rem; }
.facts + .scroll { margin-top: 1.1rem; }
.facts > div { break-inside: avoid; }
.facts h4, details summary { margin: 0 0 .4rem; font-size: .88rem; font-weight: 600; color: var(--muted); }
dl.fact { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 0 0 1.1rem; font-size: .9rem; }
dl.fact dt { color: var(--muted); }
dl.fact dd { margin: 0; overflow-wrap: anywhere; }
details { margin: 0 0 .7rem; }
details summary { cursor: pointer; }
pre { margin: 0; padding: .9rem 1rem; overflow-x: auto; background: var(--page); border: 1px solid var(--rule);
  border-radius: 6px; font: 12.5px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
.definitions { display: grid; grid-template-columns: repeat(auto-fill, minmax(320px, 1fr)); gap: 1.1rem 2rem; }
.definitions article { scroll-margin-top: 1rem; padding-left: .7rem; border-left: 3px solid transparent; }
.definitions article:target { border-color: var(--accent); }
.definitions h4 { margin: 0 0 .15rem; font-size: .95rem; }
.definitions p { margin: 0 0 .2rem; font-size: .88rem; }
.definitions .not { color: var(--muted); }
footer { padding: .5rem .25rem; color: var(--muted); font-size: .82rem; }
@media (max-width: 1160px) {
  section { padding: 1.2rem 1.1rem; }
  table { font-size: .84rem; }
  th { font-size: .76rem; }
  th, td { padding: .38rem .28rem; }
  thead th { padding-top: .95rem; }
  th:not(.left) button.sort { top: .05rem; bottom: auto; right: .28rem; }
  .tag { display: none; }
}
@media (max-width: 640px) {
  body { padding: 1.2rem .6rem 2rem; }
  section { padding: 1rem .9rem; border-radius: 8px; }
  .rows { display: block; }
  .rows .row { display: grid; grid-template-columns: 1fr max-content; gap: .15rem .9rem; margin: 0 0 .7rem; }
  .rows .name { max-width: none; }
  .rows .bar { grid-column: 1 / -1; grid-row: 2; }
  svg.bar text, svg.bar .patch { display: none; }
  .falls .rows { display: grid; grid-template-columns: 6.5rem 1fr max-content; }
  .falls .rows .row { display: contents; }
  .falls .rows .bar { grid-column: auto; grid-row: auto; }
}
@media print {
  :root { --page: #ffffff; --surface: #ffffff; --ink: #000000; --muted: #444444; --rule: #cccccc; }
  html { font-size: 11px; }
  body { padding: 0; font-size: 1rem; }
  main, header.page, footer { max-width: none; }
  nav, .tools, .sort-by.sort-by.sort-by, button.sort { display: none; }
  .scrubbed .step .head { display: block; }
  section { padding: 0 0 .5rem; border: 0; }
  table, figure, article, dl { break-inside: avoid; }
  h2, h3, caption, h3 + p { break-after: avoid; }
  .scroll { overflow: visible; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
)css";

}  // namespace

std::string html_style() {
  return "\n" + colors() + std::string(kStyle.substr(1)) + html_table_style() + html_owner_style();
}

}  // namespace spscope
