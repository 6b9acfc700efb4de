-- SPDX-License-Identifier: BSD-2-Clause
-- burn(SECONDS) uses so much CPU time.
create function cpu() returns float language sql as
	$$ select split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::float / 1e9 $$;
create function burn(seconds float) returns int language plpgsql as $$
	declare n int := 0; until float := cpu() + seconds; begin
		while cpu() < until loop
			for i in 1..10000 loop n := n + i % 3; end loop;
		end loop;
		return n; end $$;
