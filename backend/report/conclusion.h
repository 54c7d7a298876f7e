// Conclusions: the fastest strategy and what makes the others slower, as sentences.
#pragma once

#include <string>
#include <vector>

#include "backend/analysis/judgement.h"
#include "backend/report/section.h"

namespace spscope {

// The fastest strategy of one mode, then for each other one why it is slower, fastest first. Of plans, what is balanced
// best and what sends least. Empty without comparable times and when other programs disturbed them.
std::vector<Sentence> conclusions(const ModeGroup& group);

// The latter alone: "ring r8 is 19.9 ms slower: ...", strategies with equal words in one.
std::vector<Sentence> reason_sentences(const Judgement& judgement, OfPasses of);

// Which times these are: "By the model", "Measured", ...
std::string kind_of_times(const ModeGroup& group, const Judgement& judgement);
// "5.8 % of a whole layer", below which the model cannot tell strategies apart. REQUIRES: the judgement has an error.
std::string limit_text(const Judgement& judgement);
// What times of attention alone leave out, and who answers for the whole; "" of other times.
std::string attention_note(const Judgement& judgement);
// "Too close to call: ring r4 and usp u2 r2 are slower by less than 5.8 % of a whole layer", of those that the model
// cannot tell from the fastest. REQUIRES: the judgement has an error.
Sentence too_close_words(const std::vector<Sentence>& names, const Judgement& judgement);
// " On hosts with the fastest network ring r4 is fastest, with 67.4 ms.", of one that too_close_words() does not name;
// "": none.
std::string at_ends_words(const Judgement& judgement, OfPasses of);
// " (predicted)" where no measurement supports the difference between the first and the second, else "".
std::string support_mark(const Judgement& judgement);
// Why no measurement supports the first, and what its times assume; "" where nothing is to be said.
std::string unmeasured_text(const Judgement& judgement);
// "This ranking is a prediction: WHY."; "" without a reason, and of a tie.
std::string prediction_sentence(const Judgement& judgement, const std::string& why);
std::string unmeasured_sentence(const Judgement& judgement);  // of unmeasured_text()
// "The fastest strategy of each layer pass would save 0.1 % over usp u4 in all."; "" where saved_by_pass() is absent.
std::string by_pass_sentence(const Judgement& judgement);

// How far these can be trusted: what supports the difference, and up to which one strategies are not ranked.
std::vector<std::string> support_of_conclusions(const ModeGroup& group);

}  // namespace spscope
