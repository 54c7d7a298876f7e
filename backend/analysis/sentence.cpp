#include "backend/analysis/sentence.h"

namespace spscope {

SentenceBuilder& SentenceBuilder::add(std::string_view words) {
  sentence_.text += words;
  return *this;
}

SentenceBuilder& SentenceBuilder::add(const Sentence& sentence) {
  const std::size_t before = sentence_.text.size();
  sentence_.text += sentence.text;
  for (const Mention& m : sentence.mentions)
    sentence_.mentions.push_back({before + m.begin, before + m.end, m.subject});
  return *this;
}

SentenceBuilder& SentenceBuilder::name(std::string_view words, Subject subject) {
  const std::size_t begin = sentence_.text.size();
  sentence_.text += words;
  if (!words.empty() && !subject.empty())
    sentence_.mentions.push_back({begin, sentence_.text.size(), std::move(subject)});
  return *this;
}

Sentence listed(const std::vector<Sentence>& names) {
  SentenceBuilder list;
  for (std::size_t i = 0; i < names.size(); ++i)
    list.add(i == 0 ? "" : i + 1 < names.size() ? ", " : " and ").add(names[i]);
  return list.take();
}

}  // namespace spscope
