// What goes on from an answer of `spscope advise`: the run that it saves, and the commands it names.
#pragma once

#include <string>
#include <vector>

#include "backend/cli/advise_question.h"
#include "backend/study/advice.h"

namespace spscope {

// Throws Error(kOutputPlace), before an answer is made, where --save can write no file or would replace one that is not
// of an earlier answer.
void require_place_of_advice(const std::string& path);
// Writes flags.save: the run of the fastest and of what it is compared with, as a config.
void save_advice(const AdviseFlags& flags, const Job& job, const Advice& advice);
// Commands as they are typed: to keep the run, to run it, and to ask what if.
std::vector<std::string> next_commands(const AdviseFlags& flags, const Job& job);

}  // namespace spscope
