-- What are the events called? As the table of this name in an export of Nsight Systems.
CREATE TEMP VIEW StringIds AS
SELECT
  string_id AS id,  -- key
  value  -- the name
FROM main.string;
