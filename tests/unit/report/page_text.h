// Reads an HTML page as a strict reader would: what it says under each heading, and each fault of its markup.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace spscope {

struct PageSection {
  std::string heading, text;
};

struct PageText {
  std::vector<PageSection> sections;  // the first is what stands before any <h2> or <h3>
  std::vector<std::string> faults;  // a tag that is not closed where it must be, a bad entity, an id that occurs twice
};

class PageReader {
 public:
  explicit PageReader(std::string_view page) : page_(page) {
    page_text_.sections.emplace_back();
    while (at_ < page_.size()) page_[at_] == '<' ? read_tag() : read_text();
    for (const std::string& name : open_) page_text_.faults.push_back("<" + name + "> is never closed");
  }
  PageText take() { return std::move(page_text_); }

 private:
  static bool is_void(const std::string& name) {
    return name == "meta" || name == "link" || name == "input" || name == "img" || name == "br" || name == "hr";
  }
  static bool is_heading(const std::string& name) { return name == "h2" || name == "h3"; }

  // Quotes of attributes hide a '>'.
  std::size_t end_of_tag() const {
    char quote = 0;
    for (std::size_t i = at_; i < page_.size(); ++i) {
      const char c = page_[i];
      if (quote == 0 && c == '>') return i;
      if (quote == 0 ? c == '"' || c == '\'' : c == quote) quote = quote == 0 ? c : 0;
    }
    return page_.size();
  }

  void read_tag() {
    const std::size_t end = end_of_tag();
    if (end == page_.size()) page_text_.faults.emplace_back("a tag has no end");
    const std::string tag(page_.substr(at_ + 1, end - at_ - 1));
    at_ = std::min(end + 1, page_.size());
    if (tag.starts_with("!doctype")) return;
    const bool closes = tag.starts_with('/');
    const std::string name = tag.substr(closes, tag.find_first_of(" /", closes) - closes);
    if (closes) return close(name);
    note_id(tag);
    if (is_void(name) || tag.ends_with('/')) return;
    open_.push_back(name);
    if (is_heading(name)) page_text_.sections.emplace_back();
    if (name == "style" || name == "script") at_ = std::min(page_.find("</" + name, at_), page_.size());
  }

  void close(const std::string& name) {
    if (open_.empty() || open_.back() != name)
      page_text_.faults.push_back("</" + name + "> closes " + (open_.empty() ? "nothing" : open_.back()));
    else
      open_.pop_back();
  }

  void note_id(const std::string& tag) {
    const std::size_t at = tag.find(" id=\"");
    if (at == tag.npos) return;
    const std::string id = tag.substr(at + 5, tag.find('"', at + 5) - at - 5);
    if (!ids_.insert(id).second) page_text_.faults.push_back("two elements have the id " + id);
  }

  void read_text() {
    const std::size_t end = std::min(page_.find('<', at_), page_.size());
    std::string text(page_.substr(at_, end - at_));
    at_ = end;
    constexpr std::string_view kEntities[][2] = {
        {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}};
    for (std::size_t i = text.find('&'); i != text.npos; i = text.find('&', i + 1)) {
      const auto* entity =
          std::ranges::find_if(kEntities, [&](const auto& e) { return text.compare(i, e[0].size(), e[0]) == 0; });
      if (entity == std::end(kEntities)) {
        page_text_.faults.push_back("no entity: " + text.substr(i, 10));
      } else {
        text.replace(i, (*entity)[0].size(), (*entity)[1]);
      }
    }
    PageSection& section = page_text_.sections.back();
    (!open_.empty() && is_heading(open_.back()) ? section.heading : section.text) += text;
  }

  std::string_view page_;
  std::size_t at_ = 0;
  std::vector<std::string> open_;
  std::set<std::string> ids_;
  PageText page_text_;
};

inline PageText read_page(std::string_view page) { return PageReader(page).take(); }

}  // namespace spscope
