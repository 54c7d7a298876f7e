// What goes on from an answer of `spscope advise`: the run that it saves, and the commands it names.
#pragma once

#include <string>
#include <vector>

#include "backend/cli/advise_question.h"
#include "backend/study/advice.h"

namespace spscope {

// Writes flags.save: the run of the fastest and of what it is compared with, as a config. Throws Error(kOutputPlace)
// where the file is not one of an earlier answer.
void save_advice(const AdviseFlags& flags, const Job& job, const Advice& advice);
// Commands as they are typed: to keep the run, to run it, and to ask what if.
std::vector<std::string> next_commands(const AdviseFlags& flags, const Job& job);

}  // namespace spscope
