// Sentences that say what they speak of: while the words are put together, the bytes that name a strategy, a rank, a
// layer pass or a cause are noted with what they name. Pages link them and windows make them places to click; nothing
// searches the text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spscope {

// What words or marks of a chart are about. Empty and absent members: not said.
struct Subject {
  std::string strategy = {};  // StrategyResult::id
  std::optional<int> rank = {}, layer = {}, denoise_step = {};
  std::string cause = {};  // cause_name: "late_rank"

  bool empty() const { return *this == Subject{}; }
  friend bool operator==(const Subject&, const Subject&) = default;
};

// The bytes [begin, end) of a text name `subject`.
struct Mention {
  std::size_t begin = 0, end = 0;
  Subject subject;
  friend bool operator==(const Mention&, const Mention&) = default;
};

struct Sentence {
  std::string text;
  std::vector<Mention> mentions = {};  // by begin; they do not overlap
};

// Puts a sentence together: SentenceBuilder().name("ring r8", {.strategy = "ring"}).add(" waits").take().
class SentenceBuilder {
 public:
  SentenceBuilder& add(std::string_view words);
  SentenceBuilder& add(const Sentence& sentence);  // with its mentions
  // No mention where words or subject are empty.
  SentenceBuilder& name(std::string_view words, Subject subject);
  Sentence take() { return std::move(sentence_); }

 private:
  Sentence sentence_;
};

// "ring r4, snake u4 and usp u2 r2", each naming its subject.
Sentence listed(const std::vector<Sentence>& names);

}  // namespace spscope
