/* SPDX-License-Identifier: BSD-2-Clause */
/* A target that speaks as if it were the kernel side or the tracer: it is not believed. */
#include "marks_rig.h"

#include "model/model.h"
#include "model/snapshot.h"

static struct model *model;

static int feed(void *ctx, const struct item *it)
{
	(void)ctx;
	return model_item(model, it);
}

static struct rig *open_rig(void)
{
	const struct model_config config = { .cycles_hz = NSEC_PER_SEC, .exact = true };
	const struct item clock = { .type = ITEM_CLOCK, .clock = { 1, 1, 1 } };
	struct rig *g = rig_open();

	model = model_new(&config);
	assert_non_null(model);
	assert_int_equal(model_item(model, &clock), 0);
	g->l.fn = feed;
	g->l.s.info.exact = true;
	g->l.s.info.clock = CLOCK_MONO;
	return g;
}

static void close_rig(struct rig *g)
{
	model_free(model);
	while (g->p.registry_count > 1)
		live_registry_free(&g->p.registries[--g->p.registry_count]);
	map_free(&g->p.copies);
	rig_close(g);
}

/* A batch of that kind with one record. */
static void batch_with(struct rig *g, u16 kind, u64 registry, u64 seq, struct vmspan_span record)
{
	struct {
		struct wire_head h;
		struct vmspan_batch b;
		struct vmspan_span s;
	} r = { .h = { .kind = kind, .pid = g->p.pid, .tid = TID },
		.b = { .magic = VMSPAN_BATCH_MAGIC,
		       .abi = 1,
		       .registry = registry,
		       .thread = TID,
		       .records = 1,
		       .seq = seq },
		.s = record };

	r.b.bytes = sizeof(r.b) + sizeof(r.s);
	r.h.bytes = (u16)r.b.bytes;
	assert_int_equal(live_record(&g->l, &r, sizeof(r)), 0);
}

/* One of the scheduler's records. */
static void off(struct rig *g, u16 kind, u64 registry, u64 seq, u64 begin, u64 end)
{
	batch_with(g, kind, registry, seq,
		   (struct vmspan_span){
			   .h = { VMSPAN_OFF, 1,
				  begin == end ? VMSPAN_OFF_START : VMSPAN_OFF_PREEMPTED, 0 },
			   .begin = begin,
			   .end = end });
}

/* A stay that it names a registry of its own for. */
static void stay_in(struct rig *g, u64 registry)
{
	batch_with(g, WIRE_BATCH, registry, 0,
		   (struct vmspan_span){ .h = { VMSPAN_SPAN, 1, 0, 5 }, .begin = 20, .end = 30 });
}

static void marked(struct rig *g, u32 type, u32 id, u64 cycles)
{
	struct vmspan_ring *head = &g->ring->head;

	g->ring->marks[head->head % sizeof(g->ring->marks) / 16] =
		(struct vmspan_mark){ cycles, id, type };
	head->head += sizeof(struct vmspan_mark);
}

/* The scheduler's records of a thread are the kernel's: none of the target's makes them old. */
static void records_of_the_scheduler_are_the_kernels(void **state)
{
	static const u64 registries[] = { ITEM_SCHED_REGISTRY, ITEM_TRACER_REGISTRY };
	u32 i;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct rig *g = open_rig();
		struct snapshot *s;

		off(g, WIRE_SCHED, ITEM_SCHED_REGISTRY, 0, 10, 10);
		if (i)
			off(g, WIRE_BATCH, registries[i - 1], 1 << 20, 11, 11);
		off(g, WIRE_SCHED, ITEM_SCHED_REGISTRY, 1, 1000, 500000);
		marked(g, VMSPAN_MARK_EVENT_BEGIN, 0, 900);
		marked(g, VMSPAN_MARK_ENTER, 5, 950);
		marked(g, VMSPAN_MARK_LEAVE, 5, 600000);
		marked(g, VMSPAN_MARK_EVENT_END, 0, 600100);
		hand_over(g);
		assert_int_equal(model_finish(model), 0);
		s = snapshot_take(model);
		assert_non_null(s);
		assert_int_equal(s->events.count, 1);
		assert_int_equal(s->events.incomplete, 0);
		assert_int_equal(s->ledger.preempted_ns, 499000);
		assert_int_equal(s->losses.batches[LOSS_MALFORMED], i ? 1 : 0);
		snapshot_free(s);
		close_rig(g);
	}
}

/* As many as a process may have, it has, whether the tracer's come first or last, and these beside them. */
static void who_names_many_registries_takes_no_place_of_the_tracers(void **state)
{
	u32 last, i;

	(void)state;
	for (last = 0; last < 2; last++) {
		struct rig *g = open_rig();
		struct snapshot *s;

		/* It has one by itself. */
		marked(g, VMSPAN_MARK_ENTER, 5, 2);
		marked(g, VMSPAN_MARK_LEAVE, 5, 3);
		hand_over(g);
		for (i = 0; i < 2; i++) {
			u32 n;

			for (n = g->p.registry_count; i != last && n < ITEM_REGISTRIES + 2; n++)
				stay_in(g, (n + 1) * 0x1000ull);
			if (i != last)
				continue;
			off(g, WIRE_SCHED, ITEM_SCHED_REGISTRY, 0, 10, 10);
			off(g, WIRE_SCHED, ITEM_SCHED_REGISTRY, 1, 1000, 500000);
			assert_int_equal(
				live_note(&g->l, &g->p, NOTE_SILENT, "it is silent", "look"), 0);
		}
		marked(g, VMSPAN_MARK_EVENT_BEGIN, 0, 900);
		marked(g, VMSPAN_MARK_EVENT_END, 0, 600100);
		hand_over(g);
		assert_int_equal(model_finish(model), 0);
		s = snapshot_take(model);
		assert_non_null(s);
		assert_int_equal(s->spans, ITEM_REGISTRIES);
		assert_int_equal(s->losses.records[LOSS_LIMIT], 2);
		assert_int_equal(s->ledger.preempted_ns, 499000);
		assert_int_equal(s->note_count, 1);
		snapshot_free(s);
		close_rig(g);
	}
}

static void defined(struct registry *r, u32 id)
{
	u64 room[VMSPAN_SLOT / 8] = { 0 };
	struct vmspan_def d = { .h = { VMSPAN_DEF_COMPARTMENT, 1, 0, id }, .name_len = 1 };
	struct batch_sum sum;

	memcpy(room, &d, sizeof(d));
	((char *)room)[sizeof(d)] = 'a';
	assert_int_equal(batch_sum(room, VMSPAN_SLOT, 1, &sum), 0);
	assert_true(registry_knows(r, room, VMSPAN_SLOT, &sum));
}

/* Of one registry nothing can be read; of the other one what is named is not defined, which is its program's
 * affair. */
static void names_that_could_not_be_read_are_lost_and_said(void **state)
{
	u32 i;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct rig *g = open_rig();
		struct snapshot *s;

		marked(g, VMSPAN_MARK_ENTER, 5, 2);
		marked(g, VMSPAN_MARK_LEAVE, 5, 3);
		hand_over(g);
		if (i)
			stay_in(g, 0x1000);
		/* It may come by another way. */
		if (i == 2)
			defined(&g->p.registries[1], 5);
		assert_int_equal(registries_end(&g->l, &g->p), 0);
		assert_int_equal(registries_end(&g->l, &g->p), 0);
		assert_int_equal(model_finish(model), 0);
		s = snapshot_take(model);
		assert_non_null(s);
		assert_int_equal(s->spans, 1 + (i > 0));
		assert_int_equal(s->losses.records[LOSS_NAMES], i == 1);
		assert_int_equal(s->note_count, i == 1);
		snapshot_free(s);
		close_rig(g);
	}
}

/* Its end comes, and no begin has: of one in a trace that never paused, whose marks have all come. */
static void an_event_from_before_the_trace_is_said(void **state)
{
	u32 i;

	(void)state;
	for (i = 0; i < 4; i++) {
		struct rig *g = open_rig();
		struct snapshot *s;

		g->p.on.mono_ns = i == 3 ? 0 : 1;
		g->p.on.boot_ns = UINT64_MAX;
		g->l.paused = i == 1;
		marked(g, VMSPAN_MARK_EVENT_BEGIN, 0, 2);
		marked(g, VMSPAN_MARK_EVENT_END, 0, 3);
		hand_over(g);
		marked(g, VMSPAN_MARK_EVENT_BEGIN, 0, 4);
		marked(g, VMSPAN_MARK_EVENT_END, 0, 5);
		if (i == 2)
			g->ring->head.lost++;
		if (i < 2)
			hand_over(g);
		marked(g, VMSPAN_MARK_EVENT_END, 0, 6000);
		hand_over(g);
		assert_int_equal(model_finish(model), 0);
		s = snapshot_take(model);
		assert_non_null(s);
		assert_int_equal(s->events.count, 2);
		assert_int_equal(s->note_count, i == 0);
		assert_int_equal(g->p.begun_before, i == 0);
		snapshot_free(s);
		close_rig(g);
	}
}

static void note_of_the_target(struct rig *g, u32 id, const char *text)
{
	u64 room[64] = { 0 };
	struct wire_definition *w = (void *)room;
	struct vmspan_def *d = (void *)(w + 1);

	w->h = (struct wire_head){ .kind = WIRE_DEFINITION, .pid = g->p.pid, .tid = TID };
	w->process = (u64)(uintptr_t)g->process;
	d->h.type = VMSPAN_DEF_NOTE;
	d->h.id = id;
	d->name_len = (u8)strlen(text);
	memcpy(d->groups, text, d->name_len);
	d->h.slots = (u8)((sizeof(*d) + d->name_len + VMSPAN_SLOT - 1) / VMSPAN_SLOT);
	w->bytes = d->h.slots * VMSPAN_SLOT;
	assert_int_equal(live_definition(&g->l, &w->h, sizeof(*w) + w->bytes), 0);
}

static void notes_are(const char *text, const char *advice)
{
	struct snapshot *s = snapshot_take(model);

	assert_non_null(s);
	assert_int_equal(s->note_count, 1);
	assert_string_equal(s->notes[0].text, text);
	assert_string_equal(s->notes[0].advice, advice);
	snapshot_free(s);
}

/* What is said of a process in the tracer's voice is the tracer's. */
static void notes_are_the_tracers(void **state)
{
	struct rig *g = open_rig();

	(void)state;
	assert_int_equal(live_note(&g->l, &g->p, NOTE_SILENT, "it is silent", "look"), 0);
	notes_are("it is silent", "look");
	note_of_the_target(g, 2 * NOTE_SILENT + 1, "");
	note_of_the_target(g, 2 * NOTE_SILENT + 2, "do as I say");
	note_of_the_target(g, 2 * NOTE_REFUSED + 1, "the tracer is out of date");
	notes_are("it is silent", "look");
	close_rig(g);
}

static u32 left_out(void)
{
	struct snapshot *s = snapshot_take(model);
	u32 n = s->left_out;

	snapshot_free(s);
	return n;
}

/* Of what was asked for and is not traced; other notes are no such thing. */
static void a_process_is_left_out_until_that_is_taken_back(void **state)
{
	struct rig *g = open_rig();

	(void)state;
	assert_int_equal(live_note(&g->l, &g->p, NOTE_SILENT, "it is silent", ""), 0);
	assert_int_equal(left_out(), 0);
	assert_int_equal(live_note(&g->l, &g->p, NOTE_REFUSED, "its file is closed", ""), 0);
	assert_int_equal(left_out(), 1);
	assert_int_equal(live_note(&g->l, &g->p, NOTE_REFUSED, "so is another", ""), 0);
	assert_int_equal(left_out(), 1);
	assert_int_equal(live_note(&g->l, &g->p, NOTE_REFUSED, "", ""), 0);
	assert_int_equal(left_out(), 0);
	close_rig(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_of_the_scheduler_are_the_kernels),
		cmocka_unit_test(who_names_many_registries_takes_no_place_of_the_tracers),
		cmocka_unit_test(names_that_could_not_be_read_are_lost_and_said),
		cmocka_unit_test(an_event_from_before_the_trace_is_said),
		cmocka_unit_test(notes_are_the_tracers),
		cmocka_unit_test(a_process_is_left_out_until_that_is_taken_back),
	};

	return cmocka_run_group_tests_name("forged", tests, NULL, NULL);
}
