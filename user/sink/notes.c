/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/notes.h"
#include "sink/words.h"

#include <string.h>

static u32 lines_of(const struct snapshot *s, bool left_out, struct note_line to[NOTE_LINES])
{
	u32 i, k, n = 0;

	for (i = 0; i < s->note_count; i++) {
		if (left_out && !s->notes[i].left_out)
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

u32 note_lines(const struct snapshot *s, struct note_line to[NOTE_LINES])
{
	return lines_of(s, false, to);
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

void notes_left_out(struct out *o, const struct snapshot *s)
{
	struct note_line lines[NOTE_LINES];
	u32 n = lines_of(s, true, lines), i;

	for (i = 0; i < n; i++) {
		note_text(o, s, &lines[i]);
		out_puts(o, "\n");
		if (note_advice(o, &lines[i]))
			out_puts(o, "\n");
	}
}
