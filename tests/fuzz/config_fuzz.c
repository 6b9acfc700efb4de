/* SPDX-License-Identifier: BSD-2-Clause */
/* A configuration file is anybody's text: it is read, or told what is wrong,
 * in one line that a terminal may show; what is saved into it can be read. */
#include "user/cmd/config.c"
#include "user/cmd/option_set.c"
#include "user/cmd/options.c"
#include "user/cmd/terminal.c"

#include "reached.h"

/* Nothing is run here. */
#define ROW(name, function, ...) { name, NULL, __VA_ARGS__ },
const struct command commands[] = { COMMANDS(ROW){ 0 } };

static struct reached good = { .what = "good" }, saved_again = { .what = "saved" };

static void check_words(const char *s)
{
	for (; *s; s++)
		if ((u8)*s < 0x20 && *s != '\n')
			abort();
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct table_choice self = { 0 };
	struct options o = { 0 };
	struct err e = { 0 };
	struct out saved;
	const char *bad;
	size_t len;
	char *text;
	int rc;

	/* As load() has it: no zero bytes, terminated. */
	if (size > 4096 || memchr(data, 0, size))
		return 0;
	text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	rc = config_parse(text, "f", command_find("top"), &o, &e);
	if (rc && (!e.what[0] || err_status(&e) != EXIT_USAGE))
		abort();
	if (!rc)
		reach(&good);
	check_words(e.what);
	check_words(e.hint);
	out_open_memory(&saved);
	put_changed(&saved, text, "top", "columns", "self");
	out_write(&saved, "", 1);
	o = (struct options){ 0 };
	/* A file that was good stays so, and says what was saved. */
	if (!rc && !saved.error) {
		if (table_choice_parse(&self, "self", &bad, &len) ||
		    config_parse((const char *)saved.buf.data, "f", command_find("top"), &o, &e))
			abort();
		if (memcmp(&o.screen.columns, &self, sizeof(self)) != 0)
			abort();
		reach(&saved_again);
	}
	out_close(&saved);
	free(text);
	return 0;
}
