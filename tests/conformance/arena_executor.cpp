#include "tests/conformance/arena_executor.h"

#include <array>
#include <numeric>

#include "backend/base/clock.h"
#include "backend/execute/cpu/cpu_device.h"
#include "backend/execute/cpu/sum_shares.h"
#include "backend/execute/lanes/local_execution.h"
#include "backend/execute/lanes/traffic_counter.h"
#include "backend/execute/measure.h"
#include "backend/execute/program/partner_ops.h"
#include "tests/conformance/arena_device.h"

namespace spscope::testing {
namespace {

// Cells one by one, in the order of their runs.
std::vector<std::pair<BufferId, std::int64_t>> each_cell(const MemoryLayout& layout, std::span<const CellRun> runs) {
  std::vector<std::pair<BufferId, std::int64_t>> cells;
  for (const CellRun& run : runs)
    for (std::int64_t i = 0; i < run.num_cells; ++i)
      cells.emplace_back(run.buffer, run.cell + i * layout.buffer(run.buffer).inner_stride);
  return cells;
}

class MailCommunicator final : public Communicator {
 public:
  MailCommunicator(const Program& program, ArenaDevice& device, RunControl& control)
      : layout_(program.layout()),
        device_(device),
        control_(control),
        partners_(program.plan()),
        mail_(program.plan().messages.size()),
        counter_(program.plan().ranks, [](int) { return 0; }) {}

  void run(const Transfer& transfer, OpTimes& times) override {
    if (two_sided(transfer.kind)) {
      for (const TransferPart& part : transfer.parts)
        if (part.src == transfer.rank) mail_[static_cast<std::size_t>(part.message)] = pack(part.from);
      control_.set_posted(transfer.op);
      for (const int partner : transfer.partners)
        control_.wait_posted(transfer.rank, transfer.lane, partners_.at(transfer.sequence, partner));
    }
    times.begin_ns = now_ns();
    control_.turn(transfer.rank, transfer.lane, LaneState::kTransferring, times.begin_ns);
    for (const TransferPart& part : transfer.parts) {
      if (transfer.kind == PostKind::kReduce || (two_sided(transfer.kind) && part.dst != transfer.rank)) continue;
      const std::vector<std::byte> bytes =
          two_sided(transfer.kind) ? mail_[static_cast<std::size_t>(part.message)] : pack(part.from);
      unpack(part.to, bytes);
      counter_.moved(part.src, part.dst, static_cast<std::int64_t>(bytes.size()));
    }
    if (transfer.kind == PostKind::kReduce) add_up(transfer);
    times.end_ns = now_ns();
  }
  CountedBytes traffic() const override { return counter_.bytes(); }
  std::vector<std::int64_t> staging_peak_bytes() const override { return counter_.staging_peak_bytes(); }
  void reset() override {
    counter_.reset();
    for (std::vector<std::byte>& message : mail_) message.clear();
  }

 private:
  template <typename Visit>
  void for_each_element(std::span<const CellRun> runs, Visit&& visit) const {
    if (runs.empty()) return;
    const BufferLayout& like = layout_.buffer(runs.front().buffer);
    const auto cells = each_cell(layout_, runs);
    for (std::size_t plane = 0; plane < like.planes.size(); ++plane)
      for (int entry = 0; entry < like.batch; ++entry)
        for (const auto& [buffer, cell] : cells)
          visit(buffer, plane, entry, cell,
                static_cast<std::size_t>(like.planes[plane].width * dtype_bytes(like.dtype)));
  }
  std::vector<std::byte> pack(std::span<const CellRun> runs) const {
    std::vector<std::byte> bytes;
    for_each_element(runs, [&](BufferId buffer, std::size_t plane, int entry, std::int64_t cell, std::size_t size) {
      bytes.resize(bytes.size() + size);
      device_.read_cell(buffer, plane, entry, cell, bytes.data() + bytes.size() - size);
    });
    return bytes;
  }
  void unpack(std::span<const CellRun> runs, const std::vector<std::byte>& bytes) {
    const std::byte* next = bytes.data();
    for_each_element(runs, [&](BufferId buffer, std::size_t plane, int entry, std::int64_t cell, std::size_t size) {
      device_.write_cell(buffer, plane, entry, cell, next);
      next += size;
    });
  }
  void add_up(const Transfer& transfer) {
    SumHooks hooks;
    hooks.source_of = [&](const TransferPart& part) {
      return ShareSource{{}, mail_[static_cast<std::size_t>(part.message)]};
    };
    hooks.added = [&](const TransferPart& part, std::int64_t num_bytes) {
      counter_.moved(part.src, part.dst, num_bytes);
    };
    hooks.done = [&](std::int64_t staging_bytes) { counter_.staged(transfer.rank, staging_bytes); };
    sum_shares(device_.seen_by_kernels(), transfer, hooks);
  }

  const MemoryLayout& layout_;
  ArenaDevice& device_;
  RunControl& control_;
  PartnerOps partners_;
  std::vector<std::vector<std::byte>> mail_;  // by message
  TrafficCounter counter_;
};

class ArenaExecution final : public LocalExecution {
 public:
  ArenaExecution(const Plan& plan, const Request& request, const Activations& activations,
                 const ExecuteOptions& options)
      : LocalExecution(plan, activations, options),
        device_(make_device<ArenaDevice>(request, activations.parameters)) {}

  void allocate() override {
    device_.allocate();
    lanes().control = std::make_unique<RunControl>(lanes().program.plan(), lanes().options.recorder);
    lanes().communicator = std::make_unique<MailCommunicator>(lanes().program, device_, *lanes().control);
  }

 private:
  ArenaDevice& device_;  // of the run
};

// A nanosecond for each FLOP.
std::vector<std::vector<std::int64_t>> measure(const Plan& plan, const Request&, const Activations&,
                                               const MeasureOptions& options) {
  std::vector<std::int64_t> ns;
  for (const Op& op : plan.ops) ns.push_back(communicates(plan.kind_of(op)) ? 0 : op.flops);
  return std::vector(static_cast<std::size_t>(options.repeats), ns);
}

}  // namespace

Executor arena_executor() {
  static constexpr std::array<std::string_view, 1> kComms = {"mail"};
  return {.device = "arena",
          .backend = "threads",
          .comms = kComms,
          .ranks_are_processes = false,
          .summary = "an arena for each rank; messages through mail",
          .unavailable = [] { return Problem(); },
          .cannot_run = cpu_cannot_run,
          .prepare = [](const Plan& plan, const Request& request, const Activations& activations,
                        const ExecuteOptions& options) -> std::unique_ptr<Execution> {
            return std::make_unique<ArenaExecution>(plan, request, activations, options);
          },
          .measure = measure};
}

}  // namespace spscope::testing
