// A comparison made by hand: four ranks on two nodes, three strategies that ran and one that is refused. Figures are
// invented, but consistent: the parts of each rank's time add up to the makespan.
#pragma once

#include "backend/analysis/comparison.h"

namespace spscope {

inline StrategyResult sample_strategy(std::string id, std::string label, std::int64_t makespan_ns,
                                      std::int64_t spread_ns, std::int64_t attention_ns) {
  StrategyResult s;
  s.id = std::move(id);
  s.name = label.substr(0, label.find(' '));
  s.label = std::move(label);
  s.mode = RunMode::kProject;
  s.device = "cpu", s.backend = "threads";
  s.provenance = RunProvenance{Source::kMeasured, Source::kModelled, Timing::kClean};
  s.repeats = 5;
  s.makespan_ns = makespan_ns, s.makespan_spread_ns = spread_ns, s.attention_ns = attention_ns;
  s.end_to_end_ns = 2000 * makespan_ns;  // 40 layers in 50 steps
  s.rank_map = {0, 0, 1, 1};
  s.bound_ns = 45'200'000;
  s.parameter_bytes = 0;
  s.tiles = 1'000'000, s.tiles_redundant = 0;
  s.times.other_ns = {500'000, 500'000, 500'000, 500'000};
  s.planning_ns = 1'234'000;
  s.memory_peak_bytes = {812'000'000, 812'000'000, 790'000'000, 790'000'000};
  s.verify = "passed";
  s.error_metric = "nmse";
  return s;
}

inline LayerResult sample_layer(std::int64_t makespan_ns, double imbalance, double barrier, double coupled,
                                std::optional<double> planned, double max_error) {
  LayerResult layer;
  layer.layer = 3;
  layer.makespan_ns = makespan_ns;
  layer.density = 0.41;
  layer.tiles = 1e6;
  layer.imbalance_ratio = imbalance;
  layer.barrier_imbalance_ratio = barrier;
  layer.coupled_imbalance_ratio = coupled;
  layer.planned_imbalance_ratio = planned;
  layer.verify = "passed";
  layer.max_error = max_error;
  return layer;
}

// Terms that add up to the means of the times.
inline TimeTerms sample_terms(std::int64_t launch_ns, std::int64_t tiles_ns, std::int64_t late_ns,
                              std::int64_t inside_ns, std::int64_t between_ns) {
  TimeTerms terms;
  terms[TimeTerm::kLaunch] = launch_ns;
  terms[TimeTerm::kTiles] = tiles_ns;
  terms[TimeTerm::kLatePeer] = late_ns;
  terms[TimeTerm::kWireInside] = inside_ns;
  terms[TimeTerm::kWireBetween] = between_ns;
  terms[TimeTerm::kIdle] = 500'000;
  return terms;
}

inline StrategyResult sample_ulysses() {
  StrategyResult s = sample_strategy("ulysses", "ulysses u4", 61'200'000, 400'000, 57'000'000);
  s.parameters.set("ranks", std::string("contiguous"));
  s.meshes = {{4, 1, {{0, 1, 2, 3}}, {{0}, {1}, {2}, {3}}}};
  s.imbalance_ratio = s.barrier_imbalance_ratio = s.coupled_imbalance_ratio = 1.355;
  s.planned_imbalance_ratio = 1.31;
  s.bytes_sent = s.bytes_received = {339'000'000, 339'000'000, 339'000'000, 339'000'000};
  s.bytes_sent_intra_node = {113'000'000, 113'000'000, 113'000'000, 113'000'000};
  s.bytes_sent_inter_node = {226'000'000, 226'000'000, 226'000'000, 226'000'000};
  s.bytes_by_tensor = {{"q", 339'000'000}, {"k", 339'000'000}, {"v", 339'000'000}, {"o", 339'000'000}};
  s.messages = 48;
  s.moved_fraction = 0.75;
  s.tiles_by_rank = {220'000, 221'000, 338'750, 220'250};
  s.times.compute_ns = {40'000'000, 40'100'000, 58'600'000, 40'500'000};
  s.times.wire_ns = {2'100'000, 2'100'000, 2'100'000, 2'100'000};
  s.times.wait_late_peer_ns = {18'600'000, 18'500'000, 0, 18'100'000};
  s.times.exposed_comm_ns = {20'700'000, 20'600'000, 2'100'000, 20'200'000};
  s.max_error = 2.9e-6;
  s.terms = sample_terms(10'000, 44'790'000, 13'800'000, 600'000, 1'500'000), s.attention_launches = 4;
  s.waited_for_ns = {0, 100'000, 55'000'000, 100'000};
  s.rank_waits = {{0, 2, "exchange o", 0, 18'600'000}, {1, 2, "exchange o", 0, 18'400'000}};
  s.heads_by_rank = {"0-9", "10-19", "20-29", "30-39"};
  s.by_layer = {sample_layer(61'200'000, 1.355, 1.355, 1.355, 1.31, 2.9e-6)};
  return s;
}

inline StrategyResult sample_ring() {
  StrategyResult s = sample_strategy("ring", "ring r4", 58'800'000, 500'000, 48'000'000);
  s.meshes = {{1, 4, {{0}, {1}, {2}, {3}}, {{0, 1, 2, 3}}}};
  s.imbalance_ratio = 1.09, s.barrier_imbalance_ratio = 1.255, s.coupled_imbalance_ratio = 1.12;
  s.planned_imbalance_ratio = 1.07;
  s.bytes_sent = s.bytes_received = {1'350'000'000, 1'350'000'000, 1'350'000'000, 1'350'000'000};
  s.bytes_sent_intra_node = {1'350'000'000, 0, 1'350'000'000, 0};
  s.bytes_sent_inter_node = {0, 1'350'000'000, 0, 1'350'000'000};
  s.bytes_by_tensor = {{"k", 2'700'000'000}, {"v", 2'700'000'000}};
  s.messages = 12;
  s.moved_fraction = 0;
  s.tiles_by_rank = {240'000, 242'000, 272'500, 245'500};
  s.times.compute_ns = {43'000'000, 43'400'000, 48'700'000, 44'900'000};
  s.times.wire_ns = {12'000'000, 11'800'000, 9'000'000, 11'200'000};
  s.times.wait_late_peer_ns = {3'300'000, 3'100'000, 600'000, 2'200'000};
  s.times.exposed_comm_ns = {15'300'000, 14'900'000, 9'600'000, 13'400'000};
  s.max_error = 3.1e-6;
  s.terms = sample_terms(40'000, 44'960'000, 2'300'000, 1'000'000, 10'000'000), s.attention_launches = 16;
  s.waited_for_ns = {600'000, 0, 8'600'000, 0};
  s.by_layer = {sample_layer(58'800'000, 1.09, 1.255, 1.12, 1.07, 3.1e-6)};
  return s;
}

inline StrategyResult sample_usp() {
  StrategyResult s = sample_strategy("usp", "usp u2 r2", 47'000'000, 300'000, 44'000'000);
  s.meshes = {{2, 2, {{0, 1}, {2, 3}}, {{0, 2}, {1, 3}}}};
  s.imbalance_ratio = 1.017, s.barrier_imbalance_ratio = 1.031, s.coupled_imbalance_ratio = 1.018;
  s.bytes_sent = s.bytes_received = {502'000'000, 502'000'000, 502'000'000, 502'000'000};
  s.bytes_sent_intra_node = {226'000'000, 226'000'000, 226'000'000, 226'000'000};
  s.bytes_sent_inter_node = {276'000'000, 276'000'000, 276'000'000, 276'000'000};
  s.bytes_by_tensor = {{"q", 226'000'000}, {"k", 778'000'000}, {"v", 778'000'000}, {"o", 226'000'000}};
  s.messages = 32;
  s.moved_fraction = 0.5;
  s.tiles_by_rank = {254'250, 250'000, 248'000, 247'750};
  s.times.compute_ns = {44'700'000, 43'900'000, 43'600'000, 43'500'000};
  s.times.wire_ns = {1'700'000, 1'900'000, 2'000'000, 2'000'000};
  s.times.wait_late_peer_ns = {100'000, 700'000, 900'000, 1'000'000};
  s.times.exposed_comm_ns = {1'800'000, 2'600'000, 2'900'000, 3'000'000};
  s.max_error = 3.0e-6;
  s.terms = sample_terms(20'000, 43'905'000, 675'000, 900'000, 1'000'000), s.attention_launches = 8;
  s.waited_for_ns = {2'600'000, 0, 100'000, 0};
  s.by_layer = {sample_layer(47'000'000, 1.017, 1.031, 1.018, std::nullopt, 3.0e-6)};
  return s;
}

inline StrategyResult sample_refused() {
  StrategyResult s;
  s.id = "ulysses-2";
  s.name = "ulysses";
  s.label = "ulysses u16";
  s.mode = RunMode::kProject;
  s.device = "cpu", s.backend = "threads";
  s.problems = {{ErrorCode::kStrategyIllegal,
                 "strategy.ulysses",
                 "16 ranks exceed the 12 heads of wan2.1-t2v-1.3b",
                 "use at most 12 ranks, or usp with ulysses = 8 and ring = 2",
                 {}}};
  s.pick.emplace();  // of all strategies; nobody named it
  return s;
}

inline Comparison sample_comparison() {
  Comparison c;
  c.tool_version = "0.1.0", c.created_utc = "2026-01-31T12:00:00Z";
  c.config_hash = "0123456789abcdef";
  c.file = "runs/today.db";
  c.machine = {{"cpu", "Example CPU"}, {"cores", "8"}, {"memory", "31.2 GiB"}, {"system", "Linux 6.1"}};
  c.workload.model = "wan2.1-t2v-14b";
  c.workload.pattern = "paro";
  c.workload.cluster = "a800x8";
  c.workload.dtype = Dtype::kBf16;
  c.workload.scope = "attention";
  c.workload.tokens = 75'600;
  c.workload.blocks = 1182;
  c.workload.density = 0.41;
  c.workload.heads = 40;
  c.workload.head_dim = 128;
  c.workload.model_layers = 40;
  c.workload.forward_passes = 2;
  c.workload.ranks = 4;
  c.workload.nodes = 2;
  c.workload.config_toml =
      "[model]\npreset = \"wan2.1-t2v-14b\"\n\n[mask]\npattern = \"paro\"\ndensity = 0.41\n\n[run]\nstrategies = []\n";
  c.workload.cluster_toml = "[network]\nlink_gbps = 200.0\n";
  c.cluster = ClusterFigures{312, 156, 2039, 160, 25, "modelled", "modelled", "", "", "", ""};
  c.workload.layer_passes_done = 1;
  c.workload.model_denoise_steps = 50;
  c.strategies = {sample_ulysses(), sample_ring(), sample_usp(), sample_refused()};
  set_speedups(c.strategies);
  return c;
}

}  // namespace spscope
