/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel side of stock VMs: which event a thread is in, it says when it is asked, and changes nothing of it. */
#include "bpf_vm_host.h"

enum {
	NOW = 1000, /* of the machine */
	BARE = sizeof(struct wire_open) + WIRE_TURN_BARE,
};

static struct vm_thread state;

static void *with_state(void *map, const void *key)
{
	return map == &vm_threads ? &state : more(map, key);
}

static int machine(void **unused)
{
	machine_make();
	memset(&state, 0, sizeof(state));
	host.more = with_state;
	host.current = &host.thread;
	open_before = 500;
	return 0;
}

/* What it says: bytes. */
static __u32 asked(void)
{
	struct bpf_iter_meta meta = { 0 };
	struct bpf_iter__task all = { .meta = &meta, .task = &host.thread };

	host.written_len = 0;
	assert_int_equal(vm_open(&all), 0);
	return host.written_len;
}

static struct wire_turn said(void)
{
	struct wire_turn w;

	memset(&w, 0, sizeof(w));
	memcpy(&w, host.written + sizeof(struct wire_open),
	       host.written_len - sizeof(struct wire_open));
	return w;
}

static struct wire_open opened(void)
{
	struct wire_open o;

	memcpy(&o, host.written, sizeof(o));
	return o;
}

static __u64 waits_since(void)
{
	return opened().waits_since;
}

static void what_a_thread_is_in_is_said_as_if_it_ended(void **s)
{
	struct vm_thread before;
	struct wire_turn w;

	assert_int_equal(asked(), 0);
	host.cpu = 3;
	turn_open(&state, &host.thread, TURN_LOOP, 100);
	state.iteration = 7;
	state.off_total += 40;
	state.stolen = 5;
	before = state;
	host.cpu = 1;
	assert_int_equal(asked(), BARE);
	w = said();
	assert_int_equal(w.h.kind, WIRE_VM_TURN);
	assert_int_equal(w.h.bytes, WIRE_TURN_BARE - sizeof(w.h));
	assert_int_equal(w.h.pid, TRACED);
	assert_int_equal(w.begin, 100);
	assert_int_equal(w.end, NOW);
	assert_int_equal(w.off_ns, 45);
	assert_int_equal(w.stolen_ns, 5);
	assert_int_equal(w.iteration, 7);
	assert_int_equal(w.kind, TURN_LOOP);
	assert_int_equal(w.cpu_begin, 3);
	assert_int_equal(w.cpu_end, 3);
	assert_int_equal(w.ended, 0);
	/* It goes on as if nobody had asked. */
	assert_memory_equal(&state, &before, sizeof(state));
	assert_int_equal(host.records, 0);
	assert_int_equal(waits_since(), 0);
	/* It has no CPU, and wants one, or waits. */
	state.off_at = 900;
	state.preempted = 1;
	asked();
	assert_int_equal(said().off_ns, 145);
	assert_int_equal(waits_since(), 0);
	state.preempted = 0;
	asked();
	assert_int_equal(said().off_ns, 145);
	assert_int_equal(waits_since(), 900);
	/* Since before its event: nobody has followed it. */
	state.off_at = 90;
	asked();
	assert_int_equal(said().off_ns, 45);
	assert_int_equal(waits_since(), 0);
	state.off_at = 0;
	turn_close(&state, &host.thread, (struct ids){ TRACED, TRACED }, NOW);
	assert_int_equal(asked(), 0);
}

/* A collection under way is said with since when it has been in that event. */
static void what_collects_is_said_with_since_when(void **s)
{
	turn_open(&state, &host.thread, TURN_LOOP, 100);
	asked();
	assert_int_equal(opened().gc_since, 0);
	assert_int_equal(opened().sweep_since, 0);
	state.gc = (struct gc_stay){ .begin = 300, .depth = 2, .epoch = gc_epoch };
	asked();
	assert_int_equal(opened().gc_since, 300);
	assert_int_equal(opened().sweep_since, 0);
	/* Of one that began before the event the rest lies in that. */
	state.gc.depth = 0;
	state.sweep = (struct gc_stay){ .begin = 50, .depth = 1, .epoch = sweep_epoch };
	asked();
	assert_int_equal(opened().gc_since, 0);
	assert_int_equal(opened().sweep_since, 100);
	/* Nobody has heard whether it goes on. */
	state.sweep.epoch++;
	asked();
	assert_int_equal(opened().sweep_since, 0);
}

/* Of stays on the CPU whoever asks knows what they are a part of. */
static void the_young_are_not_said_but_for_stays(void **s)
{
	turn_open(&state, &host.thread, TURN_REQUEST, 500);
	assert_int_equal(asked(), BARE);
	state.turn_begin = 501;
	assert_int_equal(asked(), 0);
	state.turn_kind = TURN_BURST;
	assert_int_equal(asked(), BARE);
	/* It has begun since: nothing can be said of it. */
	state.turn_begin = NOW + 1;
	assert_int_equal(asked(), 0);
}

static void texts_are_said_where_there_are_any(void **s)
{
	struct wire_turn w;

	turn_open(&state, &host.thread, TURN_REQUEST, 100);
	strcpy(state.text, "/slow");
	state.text_len = 5;
	strcpy(state.title, "title");
	state.title_len = 5;
	assert_int_equal(asked(), sizeof(struct wire_open) + sizeof(w));
	w = said();
	assert_int_equal(w.h.bytes, sizeof(w) - sizeof(w.h));
	assert_int_equal(w.text_len, 5);
	assert_string_equal(w.text, "/slow");
	assert_int_equal(w.title_len, 5);
	assert_string_equal(w.title, "title");
}

#define TEST(name) cmocka_unit_test_setup(name, machine)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_a_thread_is_in_is_said_as_if_it_ended),
		TEST(what_collects_is_said_with_since_when),
		TEST(the_young_are_not_said_but_for_stays),
		TEST(texts_are_said_where_there_are_any),
	};

	return cmocka_run_group_tests_name("bpf_open", tests, NULL, NULL);
}
