// HeadWriter: the head of a run as each of its processes has it. What is given to it is written in the one process that
// has the head, that of rank 0, and is nothing elsewhere.
#pragma once

#include <functional>

#include "backend/execute/agree.h"
#include "backend/store/store_writer.h"

namespace spscope {

class HeadWriter {
 public:
  // `head`: nullptr in the other processes. `world`: nullptr where this process is the only one.
  HeadWriter(StoreWriter* head, RankWorld* world) : head_(head), world_(world) {}

  // Whether this process has the head. The outputs of all ranks come together here, too.
  bool is_here() const { return head_ != nullptr; }
  // Every process of the run calls it: the Error of writing is thrown in all of them.
  void write(const std::function<void(StoreWriter&)>& rows) const {
    together([&] {
      if (head_ != nullptr) rows(*head_);
    });
  }
  // The same for what any of them does and the others must know the end of.
  void together(const std::function<void()>& step) const {
    if (world_ == nullptr) return step();
    throw_agreed(*world_, failure_of(step));
  }

 private:
  StoreWriter* head_;
  RankWorld* world_;
};

}  // namespace spscope
