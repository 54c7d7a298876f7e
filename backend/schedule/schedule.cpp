// The engine is a loop over events in time order: the host issues an op, a compute op ends, a barrier ends, a message
// reaches its links, a link may have served a job. All events of one instant are handled before the links that they
// touched are asked for their next end. Shares and rates only change between instants, so the order inside one does not
// matter.
#include "backend/schedule/schedule.h"

#include <algorithm>
#include <vector>

#include "backend/base/check.h"
#include "backend/base/flat_map.h"
#include "backend/base/ids.h"
#include "backend/base/stop_point.h"
#include "backend/schedule/shared_link.h"

namespace spscope {
namespace {

enum class EventKind : std::int32_t {
  kCompute,
  kBarrier,
  kPacked,
  kUnpacked,
  kServe,
  kArrived,
  kLink,
  kIssue,
  kSignal
};

struct Event {
  std::int64_t ns;
  EventKind kind;
  std::int32_t id;                            // rank, op, message or link
  bool operator<(const Event& other) const {  // for a heap with the first event on top
    if (ns != other.ns) return ns > other.ns;
    return kind != other.kind ? kind > other.kind : id > other.id;
  }
};

// Lists by key, flat: items of key k are items[first[k], first[k + 1]).
struct Lists {
  std::vector<std::int32_t> first, items;
  std::span<const std::int32_t> of(std::int32_t key) const {
    return {items.data() + first[at(key)], static_cast<std::size_t>(first[at(key) + 1] - first[at(key)])};
  }
};

class Engine {
 public:
  Engine(const Plan& plan, std::span<const std::int64_t> compute_ns, const Network& network,
         std::span<const std::int64_t> issue_ns);
  Timeline run(const CancelToken* cancelled);

 private:
  struct OpState {
    std::int32_t unmet = 0;          // dependencies and lane predecessor still to end
    std::int32_t messages_left = 0;  // between ranks
    std::int32_t next_on_lane = kNone;
    std::int32_t meeting = kNone;  // of a reduce or barrier: the ops of one group and post
  };
  struct MessageState {
    std::int32_t ends[2] = {kNone, kNone};  // ops that list it
    std::int8_t posts_left = 0, packs_left = 0, links_left = 0;
    std::int64_t earliest_ns = 0;  // by its floor
  };
  struct Running {  // the compute op of a rank
    OpId op = kNone;
    std::int64_t since_ns = 0, end_ns = 0;
    double left_ns = 0;  // of undisturbed compute, at since_ns
  };

  void link_ops();
  void link_messages();
  void gather_meetings();
  void push(std::int64_t ns, EventKind kind, std::int32_t id) {
    events_.push_back({ns, kind, id});
    std::push_heap(events_.begin(), events_.end());
  }
  const Post& post_of(MessageId message) const { return plan_.post_of(plan_.ops[at(messages_[at(message)].ends[0])]); }
  bool on_wire(const Message& message) const { return message.src != message.dst; }
  void handle(const Event& event);
  void post_ready();
  void post(OpId op);
  void post_compute(OpId op);
  void meet(std::int32_t meeting);
  void begin(OpId op) { times_[at(op)].begin_ns = now_ns_; }
  std::int64_t copy_ns(OpId op, int Message::*end) const {
    return exchange_copy_ns(plan_, plan_.ops[at(op)], network_, end);
  }
  void meet_partners(OpId op);
  void start_messages(OpId op);
  void start_message(MessageId message);
  void serve(MessageId message);
  void all_served(MessageId message);
  void end_message(MessageId message);
  void end_op(OpId op);
  void finish(OpId op);
  void occupy(int rank, int by);
  void settle_links();

  const Plan& plan_;
  std::span<const std::int64_t> compute_ns_;
  const Network& network_;
  std::int64_t now_ns_ = 0;
  std::vector<OpTimes> times_;
  std::vector<OpState> ops_;
  std::vector<MessageState> messages_;
  Lists dependents_;
  Lists meetings_;                       // ops of each
  std::vector<std::int32_t> absent_;     // of each meeting: members that have not posted
  std::vector<Running> running_;         // by rank
  std::vector<std::int32_t> two_sided_;  // by rank: exchanges and reduces between post and end
  std::vector<SharedLink> links_;
  std::vector<std::int64_t> link_event_ns_;  // the earliest event queued for each link; -1: none
  std::vector<std::int32_t> touched_;        // links to ask again at the end of this instant
  std::vector<bool> is_touched_;
  std::vector<Event> events_;
  std::vector<OpId> ready_;
  std::vector<MessageId> served_;
  std::size_t num_ended_ = 0;
};

Engine::Engine(const Plan& plan, std::span<const std::int64_t> compute_ns, const Network& network,
               std::span<const std::int64_t> issue_ns)
    : plan_(plan), compute_ns_(compute_ns), network_(network) {
  SPSCOPE_CHECK(compute_ns.size() == plan.ops.size());
  SPSCOPE_CHECK(network.ranks == plan.ranks);
  times_.resize(plan.ops.size());
  ops_.resize(plan.ops.size());
  messages_.resize(plan.messages.size());
  running_.resize(at(plan.ranks));
  two_sided_.resize(at(plan.ranks));
  links_.resize(at(network.num_links()));
  link_event_ns_.assign(links_.size(), -1);
  is_touched_.assign(links_.size(), false);
  link_ops();
  link_messages();
  gather_meetings();
  SPSCOPE_CHECK(issue_ns.empty() || issue_ns.size() == plan.ops.size());
  for (std::size_t id = 0; id < issue_ns.size(); ++id) {
    if (issue_ns[id] <= 0) continue;
    ++ops_[id].unmet;
    push(issue_ns[id], EventKind::kIssue, static_cast<OpId>(id));
  }
}

// Counts the dependencies of every op and lists its dependents.
void Engine::link_ops() {
  dependents_.first.assign(plan_.ops.size() + 1, 0);
  for (OpId d : plan_.dep_refs) ++dependents_.first[at(d) + 1];
  for (std::size_t i = 1; i < dependents_.first.size(); ++i) dependents_.first[i] += dependents_.first[i - 1];
  dependents_.items.resize(plan_.dep_refs.size());
  std::vector<std::int32_t> fill(dependents_.first.begin(), dependents_.first.end() - 1);
  std::vector<OpId> last_on_lane(at(plan_.ranks) * at(plan_.lanes), kNone);
  for (OpId id = 0; id < static_cast<OpId>(plan_.ops.size()); ++id) {
    const Op& op = plan_.ops[at(id)];
    for (OpId d : plan_.deps(op)) dependents_.items[at(fill[at(d)]++)] = id;
    ops_[at(id)].unmet = op.deps.size();
    OpId& last = last_on_lane[at(op.rank) * at(plan_.lanes) + at(plan_.post_of(op).lane)];
    if (last != kNone) {
      ops_[at(last)].next_on_lane = id;
      ++ops_[at(id)].unmet;
    }
    last = id;
  }
}

void Engine::link_messages() {
  for (OpId id = 0; id < static_cast<OpId>(plan_.ops.size()); ++id) {
    const Op& op = plan_.ops[at(id)];
    if (!communicates(plan_.kind_of(op))) continue;
    for (MessageId m : plan_.messages_of(op)) {
      if (!on_wire(plan_.messages[at(m)])) continue;
      MessageState& message = messages_[at(m)];
      message.ends[message.ends[0] == kNone ? 0 : 1] = id;
      ++message.posts_left;
      ++message.packs_left;
      ++ops_[at(id)].messages_left;
    }
  }
}

void Engine::gather_meetings() {
  FlatMap<std::int32_t> ids;
  std::vector<OpId> members;
  for (OpId id = 0; id < static_cast<OpId>(plan_.ops.size()); ++id) {
    const Op& op = plan_.ops[at(id)];
    const PostKind kind = plan_.kind_of(op);
    if (kind != PostKind::kReduce && kind != PostKind::kBarrier) continue;
    const std::uint64_t key = static_cast<std::uint64_t>(op.post) << 32 | static_cast<std::uint32_t>(op.group);
    const std::int32_t meeting = ids.insert(key, static_cast<std::int32_t>(absent_.size()));
    if (at(meeting) == absent_.size()) absent_.push_back(0);
    ++absent_[at(meeting)];
    ops_[at(id)].meeting = meeting;
    members.push_back(id);
  }
  meetings_.first.assign(absent_.size() + 1, 0);
  for (std::size_t m = 0; m < absent_.size(); ++m) meetings_.first[m + 1] = meetings_.first[m] + absent_[m];
  meetings_.items.resize(members.size());
  std::vector<std::int32_t> fill(meetings_.first.begin(), meetings_.first.end() - 1);
  for (OpId id : members) meetings_.items[at(fill[at(ops_[at(id)].meeting)]++)] = id;
}

Timeline Engine::run(const CancelToken* cancelled) {
  constexpr std::int64_t kEventsPerLook = 4096;
  std::int64_t handled = 0;
  for (OpId id = 0; id < static_cast<OpId>(ops_.size()); ++id)
    if (ops_[at(id)].unmet == 0) ready_.push_back(id);
  post_ready();
  settle_links();
  while (!events_.empty()) {
    now_ns_ = events_.front().ns;
    while (!events_.empty() && events_.front().ns == now_ns_) {
      while (!events_.empty() && events_.front().ns == now_ns_) {
        const Event event = events_.front();
        std::pop_heap(events_.begin(), events_.end());
        events_.pop_back();
        handle(event);
        stop_point();
        if (++handled % kEventsPerLook == 0 && cancelled != nullptr) cancelled->require_going();
        post_ready();
      }
      settle_links();
    }
  }
  SPSCOPE_CHECK(num_ended_ == plan_.ops.size());
  return Timeline{std::move(times_)};
}

void Engine::handle(const Event& event) {
  switch (event.kind) {
    case EventKind::kCompute: {
      Running& running = running_[at(event.id)];
      if (running.op == kNone || running.end_ns != event.ns) break;  // the rate changed meanwhile
      const OpId op = running.op;
      running.op = kNone;
      finish(op);
      break;
    }
    case EventKind::kBarrier:
      finish(event.id);
      break;
    case EventKind::kPacked:
      start_messages(event.id);
      break;
    case EventKind::kUnpacked:
      end_op(event.id);
      break;
    case EventKind::kServe:
      serve(event.id);
      break;
    case EventKind::kIssue:
    case EventKind::kSignal:
      if (--ops_[at(event.id)].unmet == 0) ready_.push_back(event.id);
      break;
    case EventKind::kArrived:
      end_message(event.id);
      break;
    case EventKind::kLink:
      if (link_event_ns_[at(event.id)] != event.ns) break;
      link_event_ns_[at(event.id)] = -1;
      if (!is_touched_[at(event.id)]) touched_.push_back(event.id);
      is_touched_[at(event.id)] = true;
      break;
  }
}

void Engine::post_ready() {
  while (!ready_.empty()) {
    const OpId op = ready_.back();
    ready_.pop_back();
    post(op);
  }
}

void Engine::post(OpId id) {
  times_[at(id)].post_ns = now_ns_;
  const Op& op = plan_.ops[at(id)];
  const PostKind kind = plan_.kind_of(op);
  if (!communicates(kind)) return post_compute(id);
  const bool idle = ops_[at(id)].messages_left == 0;
  if (two_sided(kind) && !idle) occupy(op.rank, 1);
  if (ops_[at(id)].meeting != kNone) {
    if (--absent_[at(ops_[at(id)].meeting)] == 0) meet(ops_[at(id)].meeting);
    return;
  }
  begin(id);  // of an exchange: moved on by each partner that posts later
  if (idle) return finish(id);
  meet_partners(id);
  const std::int64_t pack_ns = copy_ns(id, &Message::src);
  if (pack_ns > 0) return push(now_ns_ + pack_ns, EventKind::kPacked, id);
  start_messages(id);
}

// This rank has posted: begins the ops of messages whose other end has posted too.
void Engine::meet_partners(OpId id) {
  for (MessageId m : plan_.messages_of(plan_.ops[at(id)])) {
    if (!on_wire(plan_.messages[at(m)]) || --messages_[at(m)].posts_left > 0) continue;
    for (OpId end : messages_[at(m)].ends)
      if (end != kNone) begin(end);
  }
}

void Engine::post_compute(OpId id) {
  begin(id);
  const int rank = plan_.ops[at(id)].rank;
  Running& running = running_[at(rank)];
  SPSCOPE_CHECK(running.op == kNone);
  const std::int64_t work_ns = compute_ns_[at(id)];
  running = {id, now_ns_, now_ns_ + work_ns, static_cast<double>(work_ns)};
  if (two_sided_[at(rank)] > 0 && network_.compute_slowdown != 1)
    running.end_ns = now_ns_ + whole_ns(running.left_ns * network_.compute_slowdown);
  push(running.end_ns, EventKind::kCompute, rank);
}

// All members of a reduce or a barrier have posted.
void Engine::meet(std::int32_t meeting) {
  const std::span<const OpId> members = meetings_.of(meeting);
  std::int64_t latency_ns = 0;
  const int first_rank = plan_.ops[at(members.front())].rank;
  for (OpId id : members) {
    begin(id);
    if (id != members.front())
      latency_ns = std::max(latency_ns, network_.latency_ns(first_rank, plan_.ops[at(id)].rank));
  }
  for (OpId id : members) {
    const bool barrier = plan_.kind_of(plan_.ops[at(id)]) == PostKind::kBarrier;
    if (barrier && latency_ns > 0)
      push(now_ns_ + latency_ns, EventKind::kBarrier, id);
    else if (ops_[at(id)].messages_left == 0)
      finish(id);
    else
      start_messages(id);
  }
}

// This rank is ready: starts the messages whose other end is, too.
void Engine::start_messages(OpId id) {
  for (MessageId m : plan_.messages_of(plan_.ops[at(id)]))
    if (on_wire(plan_.messages[at(m)]) && --messages_[at(m)].packs_left == 0) start_message(m);
}

void Engine::start_message(MessageId m) {
  const Message& message = plan_.messages[at(m)];
  const Post& post = post_of(m);
  messages_[at(m)].earliest_ns = now_ns_ + network_.floor_ns(post.collective, post.collective_steps);
  const std::int64_t t0_ns = network_.t0_ns(post.collective, post.collective_steps, message.src, message.dst);
  if (t0_ns > 0) return push(now_ns_ + t0_ns, EventKind::kServe, m);
  serve(m);
}

void Engine::serve(MessageId m) {
  const Message& message = plan_.messages[at(m)];
  const Op& end = plan_.ops[at(messages_[at(m)].ends[0])];
  const Collective collective = plan_.post_of(end).collective;
  const int group = end.group == kNone ? 2 : plan_.groups[at(end.group)].size();
  const Route route = network_.route(collective, message.src, message.dst);
  if (route.num_links == 0) return all_served(m);
  messages_[at(m)].links_left = static_cast<std::int8_t>(route.num_links);
  for (int link : route.used()) {
    links_[at(link)].add(now_ns_, network_.service_ns(link, collective, group, static_cast<double>(message.bytes)), m);
    if (!is_touched_[at(link)]) touched_.push_back(link);
    is_touched_[at(link)] = true;
  }
}

void Engine::all_served(MessageId m) {
  const std::int64_t earliest_ns = messages_[at(m)].earliest_ns;
  if (now_ns_ < earliest_ns) return push(earliest_ns, EventKind::kArrived, m);
  end_message(m);
}

void Engine::end_message(MessageId m) {
  for (OpId end : messages_[at(m)].ends) {
    if (end == kNone || --ops_[at(end)].messages_left > 0) continue;
    const std::int64_t unpack_ns = copy_ns(end, &Message::dst);
    if (unpack_ns > 0)
      push(now_ns_ + unpack_ns, EventKind::kUnpacked, end);
    else
      end_op(end);
  }
}

// All messages of a communication have arrived.
void Engine::end_op(OpId id) {
  const Op& op = plan_.ops[at(id)];
  if (two_sided(plan_.kind_of(op))) occupy(op.rank, -1);
  finish(id);
}

void Engine::finish(OpId id) {
  times_[at(id)].end_ns = now_ns_;
  ++num_ended_;
  const auto release = [&](OpId next) {
    if (--ops_[at(next)].unmet == 0) ready_.push_back(next);
  };
  const int rank = plan_.ops[at(id)].rank;
  for (OpId next : dependents_.of(id)) {
    const int other = plan_.ops[at(next)].rank;
    const std::int64_t signal_ns = other == rank ? 0 : network_.latency_ns(rank, other);
    if (signal_ns > 0)
      push(now_ns_ + signal_ns, EventKind::kSignal, next);
    else
      release(next);
  }
  if (ops_[at(id)].next_on_lane != kNone) release(ops_[at(id)].next_on_lane);
}

// Two-sided communication starts (by = 1) or ends (-1) on a rank: compute that runs there changes its rate.
void Engine::occupy(int rank, int by) {
  const bool was_slow = two_sided_[at(rank)] > 0;
  two_sided_[at(rank)] += by;
  const bool is_slow = two_sided_[at(rank)] > 0;
  Running& running = running_[at(rank)];
  const double slowdown = network_.compute_slowdown;
  if (was_slow == is_slow || running.op == kNone || slowdown == 1) return;
  running.left_ns -= static_cast<double>(now_ns_ - running.since_ns) / (was_slow ? slowdown : 1);
  running.left_ns = std::max(running.left_ns, 0.0);
  running.since_ns = now_ns_;
  running.end_ns = now_ns_ + whole_ns(running.left_ns * (is_slow ? slowdown : 1));
  push(running.end_ns, EventKind::kCompute, rank);
}

// Takes the jobs that have ended on the links touched in this instant, and queues their next events. The ends of these
// messages may touch links again, in the same instant.
void Engine::settle_links() {
  while (!touched_.empty()) {
    const std::int32_t link = touched_.back();
    touched_.pop_back();
    is_touched_[at(link)] = false;
    served_.clear();
    links_[at(link)].take_ended(now_ns_, served_);
    if (links_[at(link)].busy()) {
      const std::int64_t next_ns = links_[at(link)].next_end_ns();
      // A later event stays queued and finds nothing to do; one that is already due sooner asks again then.
      if (link_event_ns_[at(link)] < 0 || next_ns < link_event_ns_[at(link)]) {
        link_event_ns_[at(link)] = next_ns;
        push(next_ns, EventKind::kLink, link);
      }
    }
    for (MessageId m : served_)
      if (--messages_[at(m)].links_left == 0) all_served(m);
    post_ready();
  }
}

}  // namespace

std::int64_t exchange_copy_ns(const Plan& plan, const Op& op, const Network& network, int Message::*end) {
  const Post& post = plan.post_of(op);
  if (network.pack_ns_per_byte == 0 || !packs(post)) return 0;
  std::int64_t cells = 0;
  bool idle = true;
  for (MessageId m : plan.messages_of(op)) {
    const Message& message = plan.messages[at(m)];
    idle = idle && message.src == message.dst;
    if (message.*end == op.rank) cells += volume(*plan.sets, message.box);
  }
  if (idle) return 0;
  const std::int64_t bytes = cells * plan.cell_bytes(plan.values[at(post.src)]);
  return whole_ns(static_cast<double>(bytes) * network.pack_ns_per_byte);
}

Timeline schedule(const Plan& plan, std::span<const std::int64_t> compute_ns, const Network& network,
                  std::span<const std::int64_t> issue_ns, const CancelToken* cancelled) {
  return Engine(plan, compute_ns, network, issue_ns).run(cancelled);
}

}  // namespace spscope
