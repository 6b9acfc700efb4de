/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/notes.h"
#include "sink/complete.h"
#include "sink/words.h"

#include <string.h>

enum wanted {
	NOT_REMARKS,
	REMARKS,
	LEFT_OUT
};

static bool is_wanted(const struct snapshot_note *n, enum wanted what)
{
	return what == LEFT_OUT ? n->left_out : n->remark == (what == REMARKS);
}

/* Behind the first n. How many there are then. */
static u32 lines_of(const struct snapshot *s, enum wanted what, struct note_line to[NOTE_LINES],
		    u32 n)
{
	u32 i, k;

	for (i = 0; i < s->note_count; i++) {
		if (!is_wanted(&s->notes[i], what))
			continue;
		/* Equal texts of one snapshot are one string. */
		for (k = 0; k < n && to[k].note->text != s->notes[i].text; k++)
			;
		if (k < n)
			to[k].more++;
		else if (n < NOTE_LINES)
			to[n++] = (struct note_line){ &s->notes[i], 0 };
	}
	return n;
}

/* Who has room for one says what is wrong. */
u32 note_lines(const struct snapshot *s, struct note_line to[NOTE_LINES])
{
	return lines_of(s, REMARKS, to, lines_of(s, NOT_REMARKS, to, 0));
}

void note_text(struct out *o, const struct snapshot *s, const struct note_line *l)
{
	const struct snapshot_process *p = &s->processes[l->note->process];
	char name[64], text[768];

	out_printf(o, "note: %s (%u)", name_text(name, sizeof(name), p->name), p->pid);
	if (l->more)
		out_printf(o, " and %u more process%s", l->more, l->more == 1 ? "" : "es");
	out_printf(o, ": %s", name_text(text, sizeof(text), l->note->text));
}

bool note_advice(struct out *o, const struct note_line *l)
{
	char advice[768];

	if (!l->note->advice[0])
		return false;
	out_printf(o, "  -> %s", name_text(advice, sizeof(advice), l->note->advice));
	return true;
}

void notes_at_end(struct out *o, const struct snapshot *s)
{
	struct note_line lines[NOTE_LINES];
	u32 n = lines_of(s, lost_any(&s->losses) ? NOT_REMARKS : LEFT_OUT, lines, 0), i;

	for (i = 0; i < n; i++) {
		note_text(o, s, &lines[i]);
		out_puts(o, "\n");
		if (note_advice(o, &lines[i]))
			out_puts(o, "\n");
	}
}
