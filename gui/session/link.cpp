#include "gui/session/link.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace spscope::gui {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("%,#?&=+ :").find(c) != std::string_view::npos || static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::optional<int> whole_number(std::string_view text) {
  int value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::string key_text(const StrategyKey& key) {
  return key.file == 0 ? escaped(key.id) : fmt::format("{}:{}", key.file, escaped(key.id));
}
StrategyKey parse_key(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos)
    if (const auto file = whole_number(text.substr(0, colon))) return {*file, unescaped(text.substr(colon + 1))};
  return {0, unescaped(text)};
}

Error bad(std::string_view key, std::string_view value, std::string_view wanted) {
  return Error(ErrorCode::kUsage, fmt::format("the link says {}={}, which is not {}", key, value, wanted),
               "a link looks like RUN.db#timeline?s=dbsp&layer=3&step=1&t=1.2ms..1.9ms&rank=5&op=12");
}

// Sets one part of the link; an error when its value makes no sense.
std::optional<Error> set_part(Link& link, std::string_view key, std::string_view value) {
  const std::array<std::pair<std::string_view, std::optional<int>*>, 7> numbers = {{{"file", &link.scope.file},
                                                                                    {"layer", &link.scope.layer},
                                                                                    {"step", &link.scope.step},
                                                                                    {"repeat", &link.scope.repeat},
                                                                                    {"rank", &link.selection.rank},
                                                                                    {"op", &link.selection.op},
                                                                                    {"head", &link.selection.head}}};
  for (const auto& [name, place] : numbers) {
    if (key != name) continue;
    *place = whole_number(value);
    return *place ? std::nullopt : std::optional(bad(key, value, "a whole number from 0"));
  }
  if (key == "s") {
    for (const std::string_view id : split(value, ',')) link.scope.strategies.push_back(parse_key(id));
  } else if (key == "of") {
    link.selection.strategy = parse_key(value);
  } else if (key == "whatif") {
    const std::size_t comma = value.find(',');
    const auto edit = comma == std::string_view::npos ? std::nullopt : find_time_edit(value.substr(comma + 1));
    if (!edit) return bad(key, value, "a strategy, a comma and one of " + time_edit_keys());
    link.scope.what_if = WhatIf{parse_key(value.substr(0, comma)), *edit};
  } else if (key == "name") {
    link.selection.name = unescaped(value);
  } else if (key == "t") {
    const std::size_t dots = value.find("..");
    const auto begin = parse_time(value.substr(0, dots));
    const auto end = dots == std::string_view::npos ? std::nullopt : parse_time(value.substr(dots + 2));
    if (!begin || !end || *begin > *end) return bad(key, value, "a range of times such as 1.2ms..1.9ms");
    link.selection.time = TimeRange{*begin, *end};
  } else if (key == "time") {
    if (value != "file" && value != "pass") return bad(key, value, "file or pass");
    link.scope.whole_file = value == "file";
  } else if (key == "counters") {
    for (const std::string_view number : split(value, ',')) {
      const auto group = whole_number(number);
      if (!group) return bad(key, value, "numbers of groups of counters such as 0,1");
      link.scope.counters.push_back(*group);
    }
    std::ranges::sort(link.scope.counters);
    std::vector<int>& counters = link.scope.counters;  // clang 14 cannot read ranges::unique
    counters.erase(std::unique(counters.begin(), counters.end()), counters.end());
  } else if (key == "tile") {
    const std::vector<std::string_view> parts = split(value, ',');
    const auto q = whole_number(parts.front());
    const auto k = parts.size() == 2 ? whole_number(parts.back()) : std::nullopt;
    if (!q || !k) return bad(key, value, "two block numbers such as 12,40");
    link.selection.tile = {*q, *k};
  } else {
    return Error(
        ErrorCode::kUsage, fmt::format("the link has a part \"{}\" that is not known", key),
        "parts are file, s, layer, step, repeat, time, counters, whatif, t, of, rank, op, head, tile and name");
  }
  return std::nullopt;
}

}  // namespace

std::string time_text(std::int64_t ns) {
  constexpr std::array<std::pair<std::int64_t, std::string_view>, 4> kUnits = {
      {{1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "us"}, {1, "ns"}}};
  const std::int64_t length_ns = ns < 0 ? -ns : ns;
  for (const auto& [unit, name] : kUnits) {
    if (length_ns < unit && unit > 1) continue;
    std::string digits = fmt::format("{}", length_ns % unit + unit).substr(1);  // with leading zeros
    while (!digits.empty() && digits.back() == '0') digits.pop_back();
    return fmt::format("{}{}{}{}{}", ns < 0 ? "-" : "", length_ns / unit, digits.empty() ? "" : ".", digits, name);
  }
  return "0ns";
}

std::optional<std::int64_t> parse_time(std::string_view text) {
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || !std::isfinite(value)) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  const double size = unit == "ns"                   ? 1
                      : unit == "us" || unit == "µs" ? 1e3
                      : unit == "ms"                 ? 1e6
                      : unit == "s"                  ? 1e9
                                                     : 0;
  if (size == 0 || std::abs(value * size) > 9e18) return std::nullopt;
  return std::llround(value * size);
}

std::string link_text(const Link& link) {
  std::string text;
  for (const std::string& file : link.files) {
    if (!text.empty()) text += ',';
    text += escaped(file);
  }
  text += "#" + link.view;
  char separator = '?';
  const auto part = [&](std::string_view key, const std::string& value) {
    text += fmt::format("{}{}={}", separator, key, value);
    separator = '&';
  };
  const auto number = [&](std::string_view key, std::optional<int> value) {
    if (value) part(key, fmt::format("{}", *value));
  };
  number("file", link.scope.file);
  std::string keys;
  for (const StrategyKey& key : link.scope.strategies) keys += (keys.empty() ? "" : ",") + key_text(key);
  if (!keys.empty()) part("s", keys);
  number("layer", link.scope.layer);
  number("step", link.scope.step);
  number("repeat", link.scope.repeat);
  if (link.scope.whole_file) part("time", "file");
  if (!link.scope.counters.empty()) part("counters", fmt::format("{}", fmt::join(link.scope.counters, ",")));
  if (const auto& w = link.scope.what_if) part("whatif", key_text(w->strategy) + "," + time_edit_key({w->edit}));
  const Selection& s = link.selection;
  if (s.time) part("t", time_text(s.time->begin_ns) + ".." + time_text(s.time->end_ns));
  if (s.strategy) part("of", key_text(*s.strategy));
  number("rank", s.rank);
  number("op", s.op);
  number("head", s.head);
  if (s.tile) part("tile", fmt::format("{},{}", s.tile->first, s.tile->second));
  if (!s.name.empty()) part("name", escaped(s.name));
  return text;
}

Result<Link> parse_link(std::string_view text) {
  Link link;
  const std::size_t hash = text.find('#');
  if (const std::string_view files = text.substr(0, hash); !files.empty()) {
    if (hash == std::string_view::npos) {
      link.files.emplace_back(files);  // a path alone is taken as it is
    } else {
      for (const std::string_view file : split(files, ',')) link.files.push_back(unescaped(file));
    }
  }
  if (hash == std::string_view::npos) return link;
  const std::string_view place = text.substr(hash + 1);
  const std::size_t question = place.find('?');
  link.view = std::string(place.substr(0, question));
  if (question == std::string_view::npos || question + 1 == place.size()) return link;
  for (const std::string_view pair : split(place.substr(question + 1), '&')) {
    const std::size_t equals = pair.find('=');
    const std::string_view value = equals == std::string_view::npos ? "" : pair.substr(equals + 1);
    if (auto fault = set_part(link, pair.substr(0, equals), value)) return *fault;
  }
  return link;
}

}  // namespace spscope::gui
