// What the processes of ranks do when only some of them meet an Error.
#pragma once

#include <optional>

#include "backend/base/result.h"
#include "backend/execute/rank_world.h"

namespace spscope {

// Every rank calls it. Throws the Error of the lowest rank that has one, in all of them.
inline void throw_agreed(RankWorld& world, const std::optional<Error>& mine) {
  if (const std::optional<Error> error = world.agree(mine)) throw *error;
}

// What failed at this process's host, for people who look on at another one.
inline Error at_host(const RankWorld& world, const Error& error) {
  return Error(error.code(), "host " + world.place(world.rank()).host + ": " + error.what(), error.hint());
}

}  // namespace spscope
