-- The tables of a store, schema 2. A store is one finished run or comparison in one file; backend/store is the only
-- code that writes it. Times are whole nanoseconds; numbers of enumerations are spelled out in enum_name. Types are
-- checked by CHECK and not by STRICT, which SQLite has only since 3.37.
--
-- While a run is going on its parts are shards: stores of this schema, one for the head and one for each process of
-- ranks, with meta.shard = head or rank, meta.collection (the same in all shards of a run), meta.clock = raw or run, and
-- meta.shard_rank and meta.shard_id (unique to the shard). That of a process that spscope attach watches has keys of meta
-- that begin with process, by which the merge decides its rank.

-- What the file is: schema_version, min_reader (the oldest schema version a program must know to read it),
-- tool_version, created_utc, strings_repaired, strings_cut; in a file that holds only the events of a range of time,
-- kept_from_ns and kept_to_ns; of a program that was watched, ranks (what says which rank each of its processes was, for
-- people), and in windows of time, collected_ns: of each its begin and end on the run clock, as 2000000000-3000000000,
-- without an end where nobody saw it.
CREATE TABLE meta (
  key TEXT NOT NULL CHECK (typeof(key) = 'text'),  -- what
  value TEXT NOT NULL CHECK (typeof(value) = 'text'),  -- its value
  PRIMARY KEY (key)
) WITHOUT ROWID;

-- The names of the numbers that other tables hold.
CREATE TABLE enum_name (
  -- which enumeration: the column that holds the number, as table.column
  kind TEXT NOT NULL CHECK (typeof(kind) = 'text'),
  value INTEGER NOT NULL CHECK (typeof(value) = 'integer'),  -- the stored number
  name TEXT NOT NULL CHECK (typeof(name) = 'text'),  -- what it means
  PRIMARY KEY (kind, value)
) WITHOUT ROWID;

-- The machine that the file was made on.
CREATE TABLE machine_fact (
  ordinal INTEGER PRIMARY KEY,  -- order of the facts
  name TEXT NOT NULL CHECK (typeof(name) = 'text'),  -- what: cpu, cores, memory, system and more
  value TEXT NOT NULL CHECK (typeof(value) = 'text')  -- its value
);

-- What was asked of the strategies. Strategies of one workload can be compared.
CREATE TABLE workload (
  workload_id INTEGER PRIMARY KEY,  -- key
  -- the whole config, every default filled in and input paths absolute: it can be run again; of a program that was
  -- observed, its command line
  config_toml TEXT NOT NULL CHECK (typeof(config_toml) = 'text'),
  config_hash TEXT NOT NULL CHECK (typeof(config_hash) = 'text'),  -- in hexadecimal; equal for configs that ask for the same run
  -- every number of network and kernel cost that modelled times rest on
  cluster_toml TEXT NOT NULL CHECK (typeof(cluster_toml) = 'text'),
  model TEXT NOT NULL CHECK (typeof(model) = 'text'),  -- name of the model preset
  pattern TEXT NOT NULL CHECK (typeof(pattern) = 'text'),  -- name of the mask pattern or file
  cluster TEXT NOT NULL CHECK (typeof(cluster) = 'text'),  -- name of the cluster preset
  scope TEXT NOT NULL CHECK (typeof(scope) = 'text'),  -- attention or layer: how much of a layer runs
  tokens INTEGER NOT NULL CHECK (typeof(tokens) = 'integer'),  -- tokens of one sample, text included
  text_tokens INTEGER NOT NULL CHECK (typeof(text_tokens) = 'integer'),  -- of these, text
  blocks INTEGER NOT NULL CHECK (typeof(blocks) = 'integer'),  -- blocks of queries of a mask
  heads INTEGER NOT NULL CHECK (typeof(heads) = 'integer'),  -- attention heads
  head_dim INTEGER NOT NULL CHECK (typeof(head_dim) = 'integer'),  -- channels of a head
  batch INTEGER NOT NULL CHECK (typeof(batch) = 'integer'),  -- samples
  layers INTEGER NOT NULL CHECK (typeof(layers) = 'integer'),  -- layers that ran
  denoise_steps INTEGER NOT NULL CHECK (typeof(denoise_steps) = 'integer'),  -- denoise steps that ran
  model_layers INTEGER NOT NULL CHECK (typeof(model_layers) = 'integer'),  -- layers of the whole model
  -- passes a denoise step, for classifier-free guidance
  forward_passes INTEGER NOT NULL CHECK (typeof(forward_passes) = 'integer'),
  guidance INTEGER NOT NULL CHECK (typeof(guidance) = 'integer'),  -- of these, passes that run at once
  -- bytes that the ranks of a replica send once a denoise step to combine passes that ran at once, by the plan of it
  combine_bytes INTEGER NOT NULL CHECK (typeof(combine_bytes) = 'integer'),
  combine_ns INTEGER NOT NULL CHECK (typeof(combine_ns) = 'integer'),  -- its schedule on the network of the cluster
  ranks INTEGER NOT NULL CHECK (typeof(ranks) = 'integer'),  -- ranks of a plan: those of one guidance pass
  nodes INTEGER NOT NULL CHECK (typeof(nodes) = 'integer'),  -- nodes that they are on
  gpus_per_node INTEGER NOT NULL CHECK (typeof(gpus_per_node) = 'integer'),  -- devices of a node
  -- replicas; the cluster has ranks x guidance x data_parallel
  data_parallel INTEGER NOT NULL CHECK (typeof(data_parallel) = 'integer'),
  dtype INTEGER NOT NULL CHECK (typeof(dtype) = 'integer')  -- storage type of activations
);

-- One strategy of a workload in one mode.
CREATE TABLE strategy (
  strategy_id INTEGER PRIMARY KEY,  -- key
  workload_id INTEGER NOT NULL REFERENCES workload CHECK (typeof(workload_id) = 'integer'),  -- what was asked
  id TEXT NOT NULL UNIQUE CHECK (typeof(id) = 'text'),  -- unique name in this file and in results: usp-2
  name TEXT NOT NULL CHECK (typeof(name) = 'text'),  -- name of the strategy: usp
  -- short name with the degrees of its layer passes: usp u4 r2, or dbsp u8 / u4 r2 where they differ
  label TEXT NOT NULL CHECK (typeof(label) = 'text'),
  mode INTEGER NOT NULL CHECK (typeof(mode) = 'integer'),  -- executed, projected, simulated or observed
  device TEXT NOT NULL CHECK (typeof(device) = 'text'),  -- what ranks compute on, run.device: cpu
  backend TEXT NOT NULL CHECK (typeof(backend) = 'text'),  -- what ran the ranks, run.backend: threads
  legal INTEGER NOT NULL CHECK (legal IN (0, 1)),  -- 1 when it can run the workload; problem gives the reason
  reason TEXT NOT NULL CHECK (typeof(reason) = 'text')  -- the first problem, empty when legal
);

-- The parameters of a strategy, defaults filled in.
CREATE TABLE strategy_parameter (
  strategy_id INTEGER NOT NULL REFERENCES strategy CHECK (typeof(strategy_id) = 'integer'),  -- strategy
  name TEXT NOT NULL CHECK (typeof(name) = 'text'),  -- name of the parameter
  kind INTEGER NOT NULL CHECK (typeof(kind) = 'integer'),  -- type of the value: bool, integer, real, text
  value TEXT NOT NULL CHECK (typeof(value) = 'text'),  -- the value as text
  PRIMARY KEY (strategy_id, name)
) WITHOUT ROWID;

-- Where the ranks of a strategy are.
CREATE TABLE strategy_node (
  strategy_id INTEGER NOT NULL REFERENCES strategy CHECK (typeof(strategy_id) = 'integer'),  -- strategy
  rank INTEGER NOT NULL CHECK (typeof(rank) = 'integer'),  -- rank
  node INTEGER NOT NULL CHECK (typeof(node) = 'integer'),  -- its node
  PRIMARY KEY (strategy_id, rank)
) WITHOUT ROWID;

-- How a strategy split its ranks into Ulysses groups and rings. One that decides by the masks has a mesh for each split
-- that a layer pass ran with.
CREATE TABLE strategy_mesh (
  strategy_id INTEGER NOT NULL REFERENCES strategy CHECK (typeof(strategy_id) = 'integer'),  -- strategy
  mesh INTEGER NOT NULL CHECK (typeof(mesh) = 'integer'),  -- number of the mesh, in the order of first use
  -- ranks of a Ulysses group; 0 when not known, of programs that were observed
  ulysses INTEGER NOT NULL CHECK (typeof(ulysses) = 'integer'),
  ring INTEGER NOT NULL CHECK (typeof(ring) = 'integer'),  -- ranks of a ring; 0 when not known
  PRIMARY KEY (strategy_id, mesh)
) WITHOUT ROWID;

-- The groups of ranks of a mesh, in group order.
CREATE TABLE strategy_group (
  strategy_id INTEGER NOT NULL REFERENCES strategy CHECK (typeof(strategy_id) = 'integer'),  -- strategy
  mesh INTEGER NOT NULL CHECK (typeof(mesh) = 'integer'),  -- mesh of the strategy
  kind INTEGER NOT NULL CHECK (typeof(kind) = 'integer'),  -- Ulysses group or ring
  group_index INTEGER NOT NULL CHECK (typeof(group_index) = 'integer'),  -- number of the group
  position INTEGER NOT NULL CHECK (typeof(position) = 'integer'),  -- place in the group
  rank INTEGER NOT NULL CHECK (typeof(rank) = 'integer'),  -- the rank at this place
  PRIMARY KEY (strategy_id, mesh, kind, group_index, position)
) WITHOUT ROWID;

-- How `all` in run.strategies came to the parameters of a strategy, by schedules of a few layers on the cluster.
CREATE TABLE strategy_pick (
  strategy_id INTEGER PRIMARY KEY REFERENCES strategy,  -- strategy
  settings INTEGER NOT NULL CHECK (typeof(settings) = 'integer'),  -- settings compared; 0 when it cannot run
  -- ns: makespan of a layer under the picked setting, modelled in every mode
  predicted_ns INTEGER NOT NULL CHECK (typeof(predicted_ns) = 'integer'),
  -- short name of the second best setting; empty when none comes near
  next_label TEXT NOT NULL CHECK (typeof(next_label) = 'text'),
  next_ns INTEGER NOT NULL CHECK (typeof(next_ns) = 'integer')  -- ns: its makespan of a layer
);

-- Why a strategy cannot run the workload.
CREATE TABLE problem (
  strategy_id INTEGER NOT NULL REFERENCES strategy CHECK (typeof(strategy_id) = 'integer'),  -- strategy
  ordinal INTEGER NOT NULL CHECK (typeof(ordinal) = 'integer'),  -- order of the problems
  code INTEGER NOT NULL CHECK (typeof(code) = 'integer'),  -- stable number: 14 is SPS-014
  field TEXT NOT NULL CHECK (typeof(field) = 'text'),  -- the setting at fault
  message TEXT NOT NULL CHECK (typeof(message) = 'text'),  -- what is wrong
  hint TEXT NOT NULL CHECK (typeof(hint) = 'text'),  -- how to mend it
  file TEXT NOT NULL CHECK (typeof(file) = 'text'),  -- config file, or empty
  line INTEGER NOT NULL CHECK (typeof(line) = 'integer'),  -- line in it, 0 when not known
  line_column INTEGER NOT NULL CHECK (typeof(line_column) = 'integer'),  -- column in the line, 0 when not known
  PRIMARY KEY (strategy_id, ordinal)
) WITHOUT ROWID;

-- What every rank does for one layer, stored once per content.
CREATE TABLE plan (
  plan_id INTEGER PRIMARY KEY,  -- key
  hash TEXT NOT NULL UNIQUE CHECK (typeof(hash) = 'text'),  -- content hash, 16 hexadecimal digits
  -- layout of data: 1 is the one of backend/store/plan_codec.h
  codec INTEGER NOT NULL CHECK (typeof(codec) = 'integer'),
  ranks INTEGER NOT NULL CHECK (typeof(ranks) = 'integer'),  -- ranks
  lanes INTEGER NOT NULL CHECK (typeof(lanes) = 'integer'),  -- lanes of a rank; lane 0 computes
  num_ops INTEGER NOT NULL CHECK (typeof(num_ops) = 'integer'),  -- operations
  -- messages between ranks and copies inside them
  num_messages INTEGER NOT NULL CHECK (typeof(num_messages) = 'integer'),
  data BLOB NOT NULL CHECK (typeof(data) = 'blob')  -- the plan, encoded
);

-- The operations of plans of at most 4,096 operations, for SQL; larger plans are in plan.data only.
CREATE TABLE plan_op (
  plan_id INTEGER NOT NULL REFERENCES plan CHECK (typeof(plan_id) = 'integer'),  -- plan
  op_id INTEGER NOT NULL CHECK (typeof(op_id) = 'integer'),  -- operation: joins with event.op_id
  rank INTEGER NOT NULL CHECK (typeof(rank) = 'integer'),  -- rank that runs it
  lane INTEGER NOT NULL CHECK (typeof(lane) = 'integer'),  -- lane it runs on
  -- step of the plan; one post has an operation on each rank that takes part
  post INTEGER NOT NULL CHECK (typeof(post) = 'integer'),
  kind INTEGER NOT NULL CHECK (typeof(kind) = 'integer'),  -- what it does
  name TEXT NOT NULL CHECK (typeof(name) = 'text'),  -- kernel, or kind and tensors
  ring_step INTEGER NOT NULL CHECK (typeof(ring_step) = 'integer'),  -- of an attention: step of its ring
  group_ranks TEXT NOT NULL CHECK (typeof(group_ranks) = 'text'),  -- ranks that take part, in group order, or empty
  tiles INTEGER NOT NULL CHECK (typeof(tiles) = 'integer'),  -- active tiles of the (possibly refined) mask
  flops INTEGER NOT NULL CHECK (typeof(flops) = 'integer'),  -- floating point operations
  bytes_sent INTEGER NOT NULL CHECK (typeof(bytes_sent) = 'integer'),  -- bytes to other ranks
  bytes_received INTEGER NOT NULL CHECK (typeof(bytes_received) = 'integer'),  -- bytes from other ranks
  PRIMARY KEY (plan_id, op_id)
) WITHOUT ROWID;

-- One (layer, denoise step) of a strategy.
CREATE TABLE run (
  run_id INTEGER PRIMARY KEY,  -- key
  strategy_id INTEGER NOT NULL REFERENCES strategy CHECK (typeof(strategy_id) = 'integer'),  -- strategy
  layer INTEGER NOT NULL CHECK (typeof(layer) = 'integer'),  -- layer of the model
  denoise_step INTEGER NOT NULL CHECK (typeof(denoise_step) = 'integer'),  -- denoise step
  mesh INTEGER NOT NULL CHECK (typeof(mesh) = 'integer'),  -- mesh of the strategy that it ran with
  plan_id INTEGER CHECK (typeof(plan_id) IN ('integer', 'null')),  -- what the ranks did
  -- whether compute times were measured or modelled
  compute_source INTEGER NOT NULL CHECK (typeof(compute_source) = 'integer'),
  -- whether network times were measured or modelled
  network_source INTEGER NOT NULL CHECK (typeof(network_source) = 'integer'),
  timing INTEGER NOT NULL CHECK (typeof(timing) = 'integer'),  -- clean, or oversubscribed: more threads than cores
  -- here stand the columns of backend/store/figures.def
  -- whether the strategy decided anew from known masks at this step; null: it never keeps a decision
  decided INTEGER CHECK (decided IN (0, 1) OR decided IS NULL),
  -- outputs against the reference: skipped, passed, failed
  verdict INTEGER NOT NULL CHECK (typeof(verdict) = 'integer'),
  max_error REAL CHECK (typeof(max_error) IN ('real', 'null')),  -- largest error of an output
  error_metric TEXT NOT NULL CHECK (typeof(error_metric) = 'text'),  -- what max_error measures
  -- 0: the run was begun and not finished. Its events may be there, its figures are not, and no comparison counts it.
  finished INTEGER NOT NULL DEFAULT 1 CHECK (finished IN (0, 1)),
  UNIQUE (strategy_id, layer, denoise_step)
);

-- What each rank did in a run.
CREATE TABLE rank_usage (
  run_id INTEGER NOT NULL REFERENCES run CHECK (typeof(run_id) = 'integer'),  -- run
  rank INTEGER NOT NULL CHECK (typeof(rank) = 'integer'),  -- rank
  tiles REAL NOT NULL CHECK (typeof(tiles) = 'real'),  -- active tiles computed, unrefined, by area
  flops INTEGER NOT NULL CHECK (typeof(flops) = 'integer'),  -- floating point operations
  -- bytes to ranks of the same node
  bytes_sent_intra_node INTEGER NOT NULL CHECK (typeof(bytes_sent_intra_node) = 'integer'),
  -- bytes to ranks of other nodes
  bytes_sent_inter_node INTEGER NOT NULL CHECK (typeof(bytes_sent_inter_node) = 'integer'),
  bytes_received INTEGER NOT NULL CHECK (typeof(bytes_received) = 'integer'),  -- bytes from other ranks
  messages INTEGER NOT NULL CHECK (typeof(messages) = 'integer'),  -- messages sent
  memory_peak_bytes INTEGER NOT NULL CHECK (typeof(memory_peak_bytes) = 'integer'),  -- largest sum of live buffers
  -- limit for every legal execution, 0 when not computed
  memory_bound_bytes INTEGER NOT NULL CHECK (typeof(memory_bound_bytes) = 'integer'),
  -- 1 when bytes and messages were counted by the communicator, 0 when they are the plan's
  counted INTEGER NOT NULL CHECK (counted IN (0, 1)),
  -- mean time in which the host enqueues the work of the rank's GPU, for each post of the plan; null: not executed on GPUs
  host_post_ns INTEGER CHECK (typeof(host_post_ns) IN ('integer', 'null')),
  PRIMARY KEY (run_id, rank)
) WITHOUT ROWID;

-- What went from one rank to another, by tensor.
CREATE TABLE traffic (
  run_id INTEGER NOT NULL REFERENCES run CHECK (typeof(run_id) = 'integer'),  -- run
  src INTEGER NOT NULL CHECK (typeof(src) = 'integer'),  -- sending rank
  dst INTEGER NOT NULL CHECK (typeof(dst) = 'integer'),  -- receiving rank
  -- q, k, v, o, hidden, exchange, text, norm, metadata or boundary
  tensor TEXT NOT NULL CHECK (typeof(tensor) = 'text'),
  messages INTEGER NOT NULL CHECK (typeof(messages) = 'integer'),  -- messages
  bytes INTEGER NOT NULL CHECK (typeof(bytes) = 'integer'),  -- bytes
  PRIMARY KEY (run_id, src, dst, tensor)
) WITHOUT ROWID;

-- One pass over the plan of a run.
CREATE TABLE repeat (
  run_id INTEGER NOT NULL REFERENCES run CHECK (typeof(run_id) = 'integer'),  -- run
  repeat INTEGER NOT NULL CHECK (typeof(repeat) = 'integer'),  -- number of the pass, from 0
  begin_ns INTEGER NOT NULL CHECK (typeof(begin_ns) = 'integer'),  -- run clock at the start of the layer
  end_ns INTEGER NOT NULL CHECK (typeof(end_ns) = 'integer'),  -- run clock at the end of its last operation
  -- last end minus first begin; of layers that were scheduled one after the other, last end minus that of the layer before
  makespan_ns INTEGER NOT NULL CHECK (typeof(makespan_ns) = 'integer'),
  -- how long before the end of the layer before the first rank began this one; 0 where ranks meet between layers
  lead_ns INTEGER NOT NULL CHECK (typeof(lead_ns) = 'integer'),
  has_timeline INTEGER NOT NULL CHECK (has_timeline IN (0, 1)),  -- 1 when the events of this pass are stored
  PRIMARY KEY (run_id, repeat)
) WITHOUT ROWID;

-- Block masks, stored once per content.
CREATE TABLE mask (
  mask_id INTEGER PRIMARY KEY,  -- key
  hash TEXT NOT NULL UNIQUE CHECK (typeof(hash) = 'text'),  -- content hash, 16 hexadecimal digits
  -- config that generates it again, empty when data holds the bits
  recipe TEXT NOT NULL CHECK (typeof(recipe) = 'text'),
  heads INTEGER NOT NULL CHECK (typeof(heads) = 'integer'),  -- heads
  tokens INTEGER NOT NULL CHECK (typeof(tokens) = 'integer'),  -- tokens
  blocks INTEGER NOT NULL CHECK (typeof(blocks) = 'integer'),  -- blocks of queries, and of keys
  density REAL NOT NULL CHECK (typeof(density) = 'real'),  -- active share, 0 to 1
  -- layout of data: 0 none, 1 the one of backend/store/mask_codec.h
  codec INTEGER NOT NULL CHECK (typeof(codec) = 'integer'),
  data BLOB NOT NULL CHECK (typeof(data) = 'blob')  -- block borders and bits, empty with a recipe
);

-- A small picture of each head of a mask, whatever its size.
CREATE TABLE mask_thumbnail (
  mask_id INTEGER NOT NULL REFERENCES mask CHECK (typeof(mask_id) = 'integer'),  -- mask
  head INTEGER NOT NULL CHECK (typeof(head) = 'integer'),  -- head
  side INTEGER NOT NULL CHECK (typeof(side) = 'integer'),  -- cells a side
  -- one byte a cell, row by row (queries down, keys across): 0 is empty, 255 is full
  cells BLOB NOT NULL CHECK (typeof(cells) = 'blob'),
  PRIMARY KEY (mask_id, head)
) WITHOUT ROWID;

-- Which mask runs where.
CREATE TABLE mask_place (
  workload_id INTEGER NOT NULL REFERENCES workload CHECK (typeof(workload_id) = 'integer'),  -- workload
  denoise_step INTEGER NOT NULL CHECK (typeof(denoise_step) = 'integer'),  -- denoise step
  layer INTEGER NOT NULL CHECK (typeof(layer) = 'integer'),  -- layer
  axis INTEGER NOT NULL CHECK (typeof(axis) = 'integer'),  -- axis that attention runs along
  mask_id INTEGER NOT NULL REFERENCES mask CHECK (typeof(mask_id) = 'integer'),  -- mask
  PRIMARY KEY (workload_id, denoise_step, layer, axis)
) WITHOUT ROWID;

-- Names of events. Key 0 is the empty name.
CREATE TABLE string (
  string_id INTEGER PRIMARY KEY,  -- key
  value TEXT NOT NULL CHECK (typeof(value) = 'text')  -- the name, valid UTF-8, at most 64 KiB
);

-- What events hang on: a row of events that never overlap, each beginning at or after the end of the one before, or the
-- samples of one counter.
CREATE TABLE track (
  track_id INTEGER PRIMARY KEY,  -- key
  -- lane of a rank, device stream, host thread, counter, or a row of another program's trace
  kind INTEGER NOT NULL CHECK (typeof(kind) = 'integer'),
  name TEXT NOT NULL CHECK (typeof(name) = 'text'),  -- for people; of a counter, what is counted; '' for lanes of ranks
  process TEXT CHECK (typeof(process) IN ('text', 'null')),  -- program or process, null when it is that of the rank
  device TEXT CHECK (typeof(device) IN ('text', 'null')),  -- device, null for none
  rank INTEGER CHECK (typeof(rank) IN ('integer', 'null')),  -- rank, null for none
  -- lane of the rank, 0 computes; null for all but lanes of ranks
  lane INTEGER CHECK (typeof(lane) IN ('integer', 'null') AND (kind = 0 OR lane IS NULL)),
  slot INTEGER NOT NULL CHECK (typeof(slot) = 'integer'),  -- row within the lane
  -- 1 for the one track of a lane that takes what finds no slot
  overlapping INTEGER NOT NULL CHECK (overlapping IN (0, 1))
);
CREATE UNIQUE INDEX track_by_lane ON track (rank, lane, slot) WHERE kind = 0;

-- The ranks that a collective joins on a lane.
CREATE TABLE communicator (
  communicator_id INTEGER PRIMARY KEY,  -- key
  lane INTEGER NOT NULL CHECK (typeof(lane) = 'integer'),  -- lane
  ranks TEXT NOT NULL CHECK (typeof(ranks) = 'text'),  -- ranks in group order, separated by spaces
  UNIQUE (lane, ranks)
);

-- Where the events of each track went: sent = stored + dropped + unreadable + lost.
CREATE TABLE ledger (
  track_id INTEGER PRIMARY KEY,  -- track
  sent INTEGER NOT NULL CHECK (typeof(sent) = 'integer'),  -- events that the program made
  stored INTEGER NOT NULL CHECK (typeof(stored) = 'integer'),  -- events in this file
  dropped INTEGER NOT NULL CHECK (typeof(dropped) = 'integer'),  -- found no room in a buffer
  unreadable INTEGER NOT NULL CHECK (typeof(unreadable) = 'integer'),  -- were written but could not be read back
  lost INTEGER NOT NULL CHECK (typeof(lost) = 'integer')  -- were sent and never seen again
);

-- Events of one track and run, at most 4,096 a chunk, column by column. A chunk never changes once it is written.
-- Chunks of one kind of a track follow each other in time; those of different kinds may overlap.
CREATE TABLE chunk (
  chunk_id INTEGER PRIMARY KEY,  -- key, in order of writing
  run_id INTEGER REFERENCES run CHECK (typeof(run_id) IN ('integer', 'null')),  -- run, null for none
  track_id INTEGER NOT NULL REFERENCES track CHECK (typeof(track_id) = 'integer'),  -- track
  seq INTEGER NOT NULL CHECK (typeof(seq) = 'integer'),  -- number within the track, from 0 without gaps
  record_kind INTEGER NOT NULL CHECK (typeof(record_kind) = 'integer'),  -- spans, collectives, counters or work
  codec INTEGER NOT NULL CHECK (typeof(codec) = 'integer'),  -- layout of data: 1, see backend/store/chunk/chunk_codec.h
  count INTEGER NOT NULL CHECK (typeof(count) = 'integer'),  -- events, 1 to 4,096
  -- smallest begin: raw clock of the rank in a shard, run clock in a finished file; likewise all times of events
  begin_min_ns INTEGER NOT NULL CHECK (typeof(begin_min_ns) = 'integer'),
  begin_max_ns INTEGER NOT NULL CHECK (typeof(begin_max_ns) = 'integer'),  -- largest begin
  -- largest end; 9223372036854775807 when an event was unfinished
  end_max_ns INTEGER NOT NULL CHECK (typeof(end_max_ns) = 'integer'),
  op_min INTEGER NOT NULL CHECK (typeof(op_min) = 'integer'),  -- smallest op_id, -1 for none
  op_max INTEGER NOT NULL CHECK (typeof(op_max) = 'integer'),  -- largest op_id
  crc32c INTEGER NOT NULL CHECK (typeof(crc32c) = 'integer'),  -- CRC-32C of data
  data BLOB NOT NULL CHECK (typeof(data) = 'blob'),  -- the events
  UNIQUE (track_id, seq)
);

-- Chunks of one run, with their bounds, so that finding those of a window touches no chunk.
CREATE INDEX chunk_by_run ON chunk (run_id, track_id, seq, begin_min_ns, begin_max_ns, end_max_ns, op_min, op_max);

-- The plans of more than 4,096 operations, whose plan.codec is 2 and whose plan.data is empty.
CREATE TABLE plan_part (
  plan_id INTEGER NOT NULL REFERENCES plan CHECK (typeof(plan_id) = 'integer'),  -- plan
  part INTEGER NOT NULL CHECK (typeof(part) = 'integer'),  -- number of the part, from 0
  -- at most 1 MiB of the plan as codec 1 holds it, compressed with zstd
  data BLOB NOT NULL CHECK (typeof(data) = 'blob'),
  PRIMARY KEY (plan_id, part)
);

-- Which process each rank was.
CREATE TABLE rank_process (
  rank INTEGER PRIMARY KEY,  -- rank
  host TEXT NOT NULL CHECK (typeof(host) = 'text'),  -- name of the machine
  node INTEGER NOT NULL CHECK (typeof(node) = 'integer'),  -- number of the machine, from 0
  boot_id TEXT NOT NULL CHECK (typeof(boot_id) = 'text'),  -- of the machine, new at each start; empty when not known
  pid INTEGER NOT NULL CHECK (typeof(pid) = 'integer'),  -- process number
  state_text TEXT NOT NULL CHECK (typeof(state_text) = 'text')  -- why it ended badly, empty when it did not
);

-- What collectors took for themselves, and those that could not collect (spscope list collectors).
CREATE TABLE collector (
  -- lowest rank of the process that it ran in; -1: one of no rank
  first_rank INTEGER NOT NULL CHECK (typeof(first_rank) = 'integer'),
  -- the process, as tracks name it; '' in runs of plans, where the rank says it, and for the host as a whole
  process TEXT NOT NULL CHECK (typeof(process) = 'text'),
  name TEXT NOT NULL CHECK (typeof(name) = 'text'),  -- which collector
  -- CPU time of its own threads
  thread_ns INTEGER NOT NULL CHECK (typeof(thread_ns) = 'integer' AND thread_ns >= 0),
  -- time of the program's threads in its callbacks, where it measures that
  callback_ns INTEGER NOT NULL CHECK (typeof(callback_ns) = 'integer' AND callback_ns >= 0),
  memory_bytes INTEGER NOT NULL CHECK (typeof(memory_bytes) = 'integer' AND memory_bytes >= 0),  -- most at once
  records INTEGER NOT NULL CHECK (typeof(records) = 'integer' AND records >= 0),  -- that it handed over
  dropped INTEGER NOT NULL CHECK (typeof(dropped) = 'integer' AND dropped >= 0),  -- that it or its source lost
  notes TEXT NOT NULL CHECK (typeof(notes) = 'text'),  -- what it did not collect and why, a line each
  -- complete, or cut off: nobody saw its end, as its process was killed or lived on, so that the figures are of a second
  -- before that at most and records and dropped the least, or not started: it could not collect, and notes say why
  outcome INTEGER NOT NULL CHECK (typeof(outcome) = 'integer'),
  PRIMARY KEY (first_rank, process, name)
) WITHOUT ROWID;

-- How the raw clock of each rank became the run clock:
-- run_ns = (raw_ns - raw_zero_ns) * (1 + drift) + offset_ns, off by at most bound_ns.
CREATE TABLE clock_fit (
  rank INTEGER PRIMARY KEY,  -- rank; in a shard that is of no rank, -1: the clock of all its tracks
  raw_zero_ns INTEGER NOT NULL CHECK (typeof(raw_zero_ns) = 'integer'),  -- raw clock that the fit counts from
  offset_ns INTEGER NOT NULL CHECK (typeof(offset_ns) = 'integer'),  -- run clock at that time
  drift REAL NOT NULL CHECK (typeof(drift) = 'real'),  -- how much faster the run clock goes: 50e-6 is 50 ppm
  bound_ns INTEGER NOT NULL CHECK (typeof(bound_ns) = 'integer' AND bound_ns >= 0),  -- largest error
  exchanges INTEGER NOT NULL CHECK (typeof(exchanges) = 'integer')  -- exchanges that the fit rests on
);

-- Exchanges of times with the process that keeps the run clock, on which the fit of a rank's clock rests.
CREATE TABLE clock_exchange (
  rank INTEGER NOT NULL CHECK (typeof(rank) = 'integer'),  -- rank
  ordinal INTEGER NOT NULL CHECK (typeof(ordinal) = 'integer'),  -- order of the exchanges
  sent_ns INTEGER NOT NULL CHECK (typeof(sent_ns) = 'integer'),  -- raw clock of the rank when it asked
  remote_ns INTEGER NOT NULL CHECK (typeof(remote_ns) = 'integer'),  -- run clock when it was answered
  received_ns INTEGER NOT NULL CHECK (typeof(received_ns) = 'integer'),  -- raw clock of the rank when the answer came
  PRIMARY KEY (rank, ordinal)
) WITHOUT ROWID;

-- When ranks began and ended each repeat of a run: a row for all ranks of a process, which begin and end together. The
-- events of a repeat are those that begin inside its window.
CREATE TABLE rank_repeat (
  run_id INTEGER NOT NULL REFERENCES run CHECK (typeof(run_id) = 'integer'),  -- run
  rank INTEGER NOT NULL CHECK (typeof(rank) = 'integer'),  -- first rank of the process
  repeat INTEGER NOT NULL CHECK (typeof(repeat) = 'integer'),  -- number of the repeat, from 0
  ranks INTEGER NOT NULL CHECK (typeof(ranks) = 'integer' AND ranks > 0),  -- how many ranks, from that one on
  -- when the repeat began: raw clock of the rank in a shard, run clock in a finished file
  begin_ns INTEGER NOT NULL CHECK (typeof(begin_ns) = 'integer'),
  end_ns INTEGER NOT NULL CHECK (typeof(end_ns) = 'integer'),  -- when it ended, on the same clock
  PRIMARY KEY (run_id, repeat, rank)
) WITHOUT ROWID;

-- What went wrong while ranks ran, the first cause first.
CREATE TABLE incident (
  ordinal INTEGER PRIMARY KEY,  -- order
  rank INTEGER NOT NULL CHECK (typeof(rank) = 'integer'),  -- rank, -1 when it concerns none
  lane INTEGER NOT NULL CHECK (typeof(lane) = 'integer'),  -- lane, -1 when it concerns none
  op_id INTEGER NOT NULL CHECK (typeof(op_id) = 'integer'),  -- operation of the run's plan, -1 for none
  run_id INTEGER CHECK (typeof(run_id) IN ('integer', 'null')),  -- run, null for none
  kind INTEGER NOT NULL CHECK (typeof(kind) = 'integer'),  -- failed, hung, stopped, killed, lost or interrupted
  message TEXT NOT NULL CHECK (typeof(message) = 'text')  -- what happened, for people
);

-- What a device was asked to do, apart from when: events of record kind work refer to it. Numbers that do not apply
-- are 0, of devices, contexts and streams -1.
CREATE TABLE work_detail (
  work_detail_id INTEGER PRIMARY KEY,  -- key
  grid_x INTEGER NOT NULL CHECK (typeof(grid_x) = 'integer'),  -- of a kernel: blocks in x
  grid_y INTEGER NOT NULL CHECK (typeof(grid_y) = 'integer'),  -- blocks in y
  grid_z INTEGER NOT NULL CHECK (typeof(grid_z) = 'integer'),  -- blocks in z
  block_x INTEGER NOT NULL CHECK (typeof(block_x) = 'integer'),  -- threads of a block in x
  block_y INTEGER NOT NULL CHECK (typeof(block_y) = 'integer'),  -- threads of a block in y
  block_z INTEGER NOT NULL CHECK (typeof(block_z) = 'integer'),  -- threads of a block in z
  -- registers that a thread has
  registers_per_thread INTEGER NOT NULL CHECK (typeof(registers_per_thread) = 'integer'),
  -- bytes of shared memory of a block that the kernel declares
  static_shared_bytes INTEGER NOT NULL CHECK (typeof(static_shared_bytes) = 'integer'),
  -- bytes of shared memory of a block that the launch asks for
  dynamic_shared_bytes INTEGER NOT NULL CHECK (typeof(dynamic_shared_bytes) = 'integer'),
  copy_kind INTEGER NOT NULL CHECK (typeof(copy_kind) = 'integer'),  -- of a copy: CUpti_ActivityMemcpyKind
  source_kind INTEGER NOT NULL CHECK (typeof(source_kind) = 'integer'),  -- CUpti_ActivityMemoryKind of its source
  target_kind INTEGER NOT NULL CHECK (typeof(target_kind) = 'integer'),  -- and of its target, also of a memset
  source_device INTEGER NOT NULL CHECK (typeof(source_device) = 'integer'),  -- ordinal of its source
  target_device INTEGER NOT NULL CHECK (typeof(target_device) = 'integer'),  -- ordinal of its target
  -- of a synchronisation: CUpti_ActivitySynchronizationType
  synchronization_kind INTEGER NOT NULL CHECK (typeof(synchronization_kind) = 'integer'),
  device INTEGER NOT NULL CHECK (typeof(device) = 'integer'),  -- ordinal of the device that did it
  context INTEGER NOT NULL CHECK (typeof(context) = 'integer'),  -- its context
  stream INTEGER NOT NULL CHECK (typeof(stream) = 'integer')  -- its stream
);

-- What a pyramid is of: one track, or all lanes of a rank together. Counters have none, nor has what of a lane overlaps.
CREATE TABLE pyramid (
  pyramid_id INTEGER PRIMARY KEY,  -- key
  rank INTEGER CHECK (typeof(rank) IN ('integer', 'null')),  -- rank, null when its track has none
  track_id INTEGER CHECK (typeof(track_id) IN ('integer', 'null')),  -- track, null for all lanes of the rank
  base_shift INTEGER NOT NULL CHECK (typeof(base_shift) = 'integer'),  -- shift of the finest level
  UNIQUE (rank, track_id)
);

-- How long each category was busy in the one or two buckets of the widest strip of a pyramid. Bucket k of a shift is
-- [k << shift, (k + 1) << shift) nanoseconds of the run clock.
CREATE TABLE lod_busy (
  pyramid_id INTEGER NOT NULL REFERENCES pyramid CHECK (typeof(pyramid_id) = 'integer'),  -- pyramid
  shift INTEGER NOT NULL CHECK (typeof(shift) = 'integer'),  -- width of a bucket: 1 << shift nanoseconds
  bucket INTEGER NOT NULL CHECK (typeof(bucket) = 'integer'),  -- bucket
  category INTEGER NOT NULL CHECK (typeof(category) = 'integer'),  -- category of events
  busy_ns INTEGER NOT NULL CHECK (typeof(busy_ns) = 'integer'),  -- time, of overlapping tracks the sum
  PRIMARY KEY (pyramid_id, bucket, category)
) WITHOUT ROWID;

-- Buckets in one byte each: the leading category and how busy, for every shift up to the first with at most two.
CREATE TABLE lod_strip (
  pyramid_id INTEGER NOT NULL REFERENCES pyramid CHECK (typeof(pyramid_id) = 'integer'),  -- pyramid
  shift INTEGER NOT NULL CHECK (typeof(shift) = 'integer'),  -- width of a bucket: 1 << shift nanoseconds
  first_bucket INTEGER NOT NULL CHECK (typeof(first_bucket) = 'integer'),  -- bucket that data begins with
  num_buckets INTEGER NOT NULL CHECK (typeof(num_buckets) = 'integer'),  -- buckets in data
  data BLOB NOT NULL CHECK (typeof(data) = 'blob'),  -- the buckets: backend/store/pyramid/lod_codec.h
  PRIMARY KEY (pyramid_id, shift, first_bucket)
);
