-- The tables that version 2 adds: events in chunks, big plans in parts, which process each rank was, how the clocks of
-- the ranks fit together, faults, and pyramids for drawing. While a run is going on its parts are shards: stores of
-- this schema, one for the head and one for each process of ranks, with meta.shard = head or rank, meta.collection (the
-- same in all shards of a run), meta.clock = raw or run, and meta.shard_rank.

-- Events of one stream and run, at most 4,096 a chunk, column by column. A chunk never changes once it is written.
-- Chunks of one kind of a stream follow each other in time; those of different kinds may overlap.
CREATE TABLE chunk (
  chunk_id INTEGER PRIMARY KEY,  -- key, in order of writing
  run_id INTEGER NOT NULL REFERENCES run CHECK (typeof(run_id) = 'integer'),  -- run
  stream_id INTEGER NOT NULL REFERENCES stream CHECK (typeof(stream_id) = 'integer'),  -- stream
  seq INTEGER NOT NULL CHECK (typeof(seq) = 'integer'),  -- number within the stream, from 0 without gaps
  record_kind INTEGER NOT NULL CHECK (typeof(record_kind) = 'integer'),  -- spans, collectives or counters
  record_version INTEGER NOT NULL CHECK (typeof(record_version) = 'integer'),  -- layout of the records: 1 or 2
  codec INTEGER NOT NULL CHECK (typeof(codec) = 'integer'),  -- how data is packed: see backend/store/chunk/chunk_codec.h
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
  UNIQUE (stream_id, seq)
);

-- Chunks of one run, with their bounds, so that finding those of a window touches no chunk.
CREATE INDEX chunk_by_run ON chunk (run_id, stream_id, seq, begin_min_ns, begin_max_ns, end_max_ns, op_min, op_max);

-- The plans of more than 4,096 operations, whose plan.codec is 2 and whose plan.data is empty.
CREATE TABLE plan_part (
  plan_id INTEGER NOT NULL REFERENCES plan CHECK (typeof(plan_id) = 'integer'),  -- plan
  part INTEGER NOT NULL CHECK (typeof(part) = 'integer'),  -- number of the part, from 0
  -- at most 1 MiB of the plan as codec 1 holds it, compressed with zstd
  data BLOB NOT NULL CHECK (typeof(data) = 'blob'),
  PRIMARY KEY (plan_id, part)
);

-- 0: the run was begun and not finished. Its events may be there, its figures are not, and no comparison counts it.
ALTER TABLE run ADD COLUMN finished INTEGER NOT NULL DEFAULT 1 CHECK (finished IN (0, 1));

-- Which process each rank was.
CREATE TABLE rank_process (
  rank INTEGER PRIMARY KEY,  -- rank
  host TEXT NOT NULL CHECK (typeof(host) = 'text'),  -- name of the machine
  node INTEGER NOT NULL CHECK (typeof(node) = 'integer'),  -- number of the machine, from 0
  boot_id TEXT NOT NULL CHECK (typeof(boot_id) = 'text'),  -- of the machine, new at each start; empty when not known
  pid INTEGER NOT NULL CHECK (typeof(pid) = 'integer'),  -- process number
  state_text TEXT NOT NULL CHECK (typeof(state_text) = 'text')  -- why it ended badly, empty when it did not
);

-- How the raw clock of each rank became the run clock:
-- run_ns = (raw_ns - raw_zero_ns) * (1 + drift) + offset_ns, off by at most bound_ns.
CREATE TABLE clock_fit (
  rank INTEGER PRIMARY KEY,  -- rank
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

-- When each rank began and ended each pass over a plan. The events of a pass are those inside its window. Shards have
-- the rows; a finished file has them in rank_repeat_chunk.
CREATE TABLE rank_repeat (
  run_id INTEGER NOT NULL REFERENCES run CHECK (typeof(run_id) = 'integer'),  -- run
  repeat INTEGER NOT NULL CHECK (typeof(repeat) = 'integer'),  -- number of the pass, from 0
  rank INTEGER NOT NULL CHECK (typeof(rank) = 'integer'),  -- rank
  -- when the pass began: raw clock of the rank in a shard, run clock in a finished file
  begin_ns INTEGER NOT NULL CHECK (typeof(begin_ns) = 'integer'),
  end_ns INTEGER NOT NULL CHECK (typeof(end_ns) = 'integer'),  -- when it ended, on the same clock
  PRIMARY KEY (run_id, repeat, rank)
) WITHOUT ROWID;

-- The passes of ranks over the plan of one run, in order, packed as a chunk of spans is: op_id is the number of the pass,
-- name and flags are 0.
CREATE TABLE rank_repeat_chunk (
  run_id INTEGER NOT NULL REFERENCES run CHECK (typeof(run_id) = 'integer'),  -- run
  rank INTEGER NOT NULL CHECK (typeof(rank) = 'integer'),  -- first rank
  ranks INTEGER NOT NULL CHECK (typeof(ranks) = 'integer'),  -- 1 to 16 ranks from this one on that began and ended together
  repeat_min INTEGER NOT NULL CHECK (typeof(repeat_min) = 'integer'),  -- smallest number of a pass
  repeat_max INTEGER NOT NULL CHECK (typeof(repeat_max) = 'integer'),  -- largest one
  record_version INTEGER NOT NULL CHECK (typeof(record_version) = 'integer'),  -- as in chunk
  codec INTEGER NOT NULL CHECK (typeof(codec) = 'integer'),  -- as in chunk
  count INTEGER NOT NULL CHECK (typeof(count) = 'integer'),  -- passes, 1 to 4,096
  begin_min_ns INTEGER NOT NULL CHECK (typeof(begin_min_ns) = 'integer'),  -- smallest begin, run clock
  begin_max_ns INTEGER NOT NULL CHECK (typeof(begin_max_ns) = 'integer'),  -- largest begin
  end_max_ns INTEGER NOT NULL CHECK (typeof(end_max_ns) = 'integer'),  -- largest end
  crc32c INTEGER NOT NULL CHECK (typeof(crc32c) = 'integer'),  -- CRC-32C of data
  data BLOB NOT NULL CHECK (typeof(data) = 'blob'),  -- the passes
  PRIMARY KEY (run_id, rank, repeat_min)
);

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

-- What a pyramid is of: one stream, or all streams of a rank together.
CREATE TABLE lod_track (
  track_id INTEGER PRIMARY KEY,  -- key
  rank INTEGER NOT NULL CHECK (typeof(rank) = 'integer'),  -- rank
  stream_id INTEGER CHECK (typeof(stream_id) IN ('integer', 'null')),  -- stream, null for the whole rank
  base_shift INTEGER NOT NULL CHECK (typeof(base_shift) = 'integer'),  -- shift of the finest level
  UNIQUE (rank, stream_id)
);

-- Sums over buckets of time: bucket k of a level is [k << shift, (k + 1) << shift) nanoseconds of the run clock.
CREATE TABLE lod_level (
  track_id INTEGER NOT NULL REFERENCES lod_track CHECK (typeof(track_id) = 'integer'),  -- track
  shift INTEGER NOT NULL CHECK (typeof(shift) = 'integer'),  -- width of a bucket: 1 << shift nanoseconds
  first_bucket INTEGER NOT NULL CHECK (typeof(first_bucket) = 'integer'),  -- bucket that data begins with
  num_buckets INTEGER NOT NULL CHECK (typeof(num_buckets) = 'integer'),  -- buckets in data
  data BLOB NOT NULL CHECK (typeof(data) = 'blob'),  -- the buckets, as the reader of pyramids tells
  PRIMARY KEY (track_id, shift, first_bucket)
);

-- The same in one byte a bucket, for every shift.
CREATE TABLE lod_strip (
  track_id INTEGER NOT NULL REFERENCES lod_track CHECK (typeof(track_id) = 'integer'),  -- track
  shift INTEGER NOT NULL CHECK (typeof(shift) = 'integer'),  -- width of a bucket: 1 << shift nanoseconds
  first_bucket INTEGER NOT NULL CHECK (typeof(first_bucket) = 'integer'),  -- bucket that data begins with
  num_buckets INTEGER NOT NULL CHECK (typeof(num_buckets) = 'integer'),  -- buckets in data
  data BLOB NOT NULL CHECK (typeof(data) = 'blob'),  -- the buckets, as the reader of pyramids tells
  PRIMARY KEY (track_id, shift, first_bucket)
);

-- Events are in chunks.
DROP INDEX event_row_by_run;
DROP TABLE event_row;
