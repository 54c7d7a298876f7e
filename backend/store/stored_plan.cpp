#include "backend/store/stored_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "backend/store/plan_codec.h"
#include "backend/store/sqlite/value_text.h"
#include "backend/store/sqlite/zstd_blob.h"
#include "backend/store/timeline_events.h"

namespace spscope {

namespace {

void store_ops(Database& db, PlanId id, const Plan& plan) {
  Statement insert(
      db,
      "INSERT INTO plan_op (plan_id, op_id, rank, lane, post, kind, name, ring_step, group_ranks, tiles, flops, "
      "bytes_sent, bytes_received) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (std::size_t op_id = 0; op_id < plan.ops.size(); ++op_id) {
    const Op& op = plan.ops[op_id];
    const Post& post = plan.post_of(op);
    const OpBytes bytes = op_bytes(plan, op);
    std::string group;
    if (op.group != kNone) group = fmt::format("{}", fmt::join(plan.group(op.group), " "));
    insert.run(id, op_id, op.rank, post.lane, op.post, post.kind, op_name(plan, op), post.ring_step, group, op.tiles,
               op.flops, bytes.sent, bytes.received);
  }
}

void store_parts(Database& db, PlanId id, std::span<const std::uint8_t> data) {
  Statement insert(db, "INSERT INTO plan_part (plan_id, part, data) VALUES (?, ?, ?)");
  for (std::size_t part = 0; part * kMaxPlanPartBytes < data.size(); ++part) {
    const std::size_t first = part * kMaxPlanPartBytes;
    const std::vector<std::uint8_t> compressed =
        compress(data.subspan(first, std::min(kMaxPlanPartBytes, data.size() - first)));
    insert.run(id, part, std::span<const std::uint8_t>(compressed));
  }
}

// All parts together. Their whole size is known before any is decompressed.
std::vector<std::uint8_t> load_parts(Database& db, PlanId id) {
  constexpr std::string_view kWhat = "a part of a plan";
  Statement rows(db, "SELECT part, data FROM plan_part WHERE plan_id = ? ORDER BY part");
  std::size_t parts = 0, bytes = 0;
  for (rows.bind_all(id); rows.step(); ++parts) {
    if (rows.integer(0) != static_cast<std::int64_t>(parts)) db.throw_damaged("a plan lacks a part");
    bytes += decompressed_bytes(rows.blob(1), kMaxPlanPartBytes, kWhat);
    if (bytes > kMaxPlanBytes) db.throw_damaged(fmt::format("a plan has more than {} bytes", kMaxPlanBytes));
  }
  std::vector<std::uint8_t> data;
  data.reserve(bytes);
  for (rows.bind_all(id); rows.step();) decompress(rows.blob(1), kMaxPlanPartBytes, kWhat, data);
  return data;
}

}  // namespace

PlanId store_plan(Database& db, const Plan& plan, std::uint64_t hash) {
  const std::vector<std::uint8_t> data = encode_plan(plan);
  const bool in_parts = plan.ops.size() > kMaxPlanOpRows;
  Statement(db,
            "INSERT INTO plan (hash, codec, ranks, lanes, num_ops, num_messages, data) VALUES (?, ?, ?, ?, ?, ?, ?)")
      .run(hash_text(hash), in_parts ? kPlanCodecParts : kPlanCodec, plan.ranks, plan.lanes, plan.ops.size(),
           plan.messages.size(), in_parts ? std::span<const std::uint8_t>() : std::span<const std::uint8_t>(data));
  const PlanId id{db.last_insert_id()};
  if (in_parts)
    store_parts(db, id, data);
  else
    store_ops(db, id, plan);
  return id;
}

Plan load_plan(Database& db, PlanId id) {
  Statement row(db, "SELECT codec, data, hash FROM plan WHERE plan_id = ?");
  if (!row.bind_all(id).step()) db.throw_damaged("it has no such plan");
  const bool in_parts = row.integer(0, kPlanCodec, kPlanCodecParts) == kPlanCodecParts;
  Plan plan = in_parts ? decode_plan(load_parts(db, id)) : decode_plan(row.blob(1));
  if (row.text(2) != hash_text(plan_hash(plan))) db.throw_damaged("a plan does not have the hash it was stored under");
  return plan;
}

}  // namespace spscope
