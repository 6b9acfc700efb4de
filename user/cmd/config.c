/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/config.h"
#include "base/intern.h"
#include "base/text.h"
#include "cmd/option_set.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Values of text options live here, for good. */
static struct intern *kept;

struct parse {
	const struct command *c;
	struct options *o;
	bool general; /* [all] is applied now, else the command's section */
	/* Of the first bad line. */
	bool bad;
	bool section; /* it is the section's name that is bad */
	char word[80], why[256], hint[384];
};

static int bad(struct parse *p, const char *word, const char *why, const char *hint)
{
	char clean[80];

	if (p->bad)
		return 0;
	p->bad = true;
	snprintf(p->word, sizeof(p->word), "%s", word);
	snprintf(p->why, sizeof(p->why), why, text_clean(clean, sizeof(clean), word, strlen(word)));
	snprintf(p->hint, sizeof(p->hint), "%s", hint);
	return 0;
}

static int no_such_section(struct parse *p, const char *section)
{
	struct nearest near = { .word = section };
	const struct command *c;
	char hint[128] = "sections are [all] and the names of the commands";

	for (c = commands; c->name; c++)
		nearest_try(&near, c->name);
	if (near.best)
		snprintf(hint, sizeof(hint), "did you mean [%s]?", near.best);
	p->section = !p->bad && section[0];
	return section[0] ? bad(p, section, "no such section: %s", hint)
			  : bad(p, "", "an option before the first section", hint);
}

struct near_option {
	struct nearest near;
	char best[32];
};

static void try_option(void *ctx, const struct option_text *t)
{
	struct near_option *n = ctx;

	nearest_try(&n->near, t->name);
	if (n->near.best == t->name)
		snprintf(n->best, sizeof(n->best), "%s", t->name);
}

static int no_such_option(struct parse *p, const struct command *c, const char *key)
{
	struct near_option n = { .near.word = key };
	char hint[128] = "options go by their long names, without dashes";

	if (c)
		options_each(c, try_option, &n);
	if (n.best[0])
		snprintf(hint, sizeof(hint), "did you mean %s?", n.best);
	return bad(p, key, "no option that may stand here: %s", hint);
}

static int apply(struct parse *p, const char *key, const char *value)
{
	struct err e = { 0 };
	s64 id;

	if (!kept)
		kept = intern_new();
	id = kept ? intern_put(kept, value, strlen(value)) : -ENOMEM;
	if (id < 0)
		return bad(p, key, "no memory for %s", "");
	if (!options_set(p->c, p->o, key, intern_get(kept, (u32)id, NULL), &e))
		return 1;
	if (!p->bad) {
		bad(p, value, "%s", e.hint);
		snprintf(p->why, sizeof(p->why), "%s", e.what);
	}
	return 0;
}

static int take(void *ctx, const char *section, const char *key, const char *value)
{
	struct parse *p = ctx;
	const struct command *c;

	if (!strcmp(section, "all")) {
		if (options_known(p->c, key))
			return p->general ? apply(p, key, value) : 1;
		for (c = commands; c->name; c++)
			if (options_known(c, key))
				return 1;
		return no_such_option(p, NULL, key);
	}
	c = command_find(section);
	if (!c)
		return no_such_section(p, section);
	if (!options_known(c, key))
		return no_such_option(p, c, key);
	return c == p->c && !p->general ? apply(p, key, value) : 1;
}

/* The line with a caret below the word that is wrong. A line inih cannot read
 * is not handed to take(), so the complaint at hand may be of a later one. */
static int show(const struct parse *p, const char *text, const char *name, int line, struct err *e)
{
	const char *s = text, *header = NULL, *end, *at;
	int i, n, column = 0, header_line = 0;
	char clean[100];

	for (i = 1; i < line && (end = strchr(s, '\n')); i++) {
		if (*s == '[') {
			header = s;
			header_line = i;
		}
		s = end + 1;
	}
	/* The option below it was what inih complained of. */
	if (p->section && header) {
		s = header;
		line = header_line;
	}
	n = (int)min_u64(strcspn(s, "\n"), 80);
	text_clean(clean, sizeof(clean), s, (size_t)n);
	at = p->bad && p->word[0] ? strstr(clean, p->word) : NULL;
	if (at)
		column = (int)(at - clean);
	err_set_status(e, -EINVAL, EXIT_USAGE, "%s:%d: %s", name, line,
		       p->bad && (at || !p->word[0]) ? p->why : "not a line of a configuration");
	err_hint(e, "%s\n  %*s^\n  %s", clean, column, "",
		 p->bad && p->hint[0] ? p->hint : "lines are [section], or option = value");
	return -EINVAL;
}

int config_parse(const char *text, const char *name, const struct command *c, struct options *o,
		 struct err *e)
{
	struct parse p = { .c = c, .o = o };
	u32 rules;
	int line = 0, pass;

	/* What is said of the one command holds, wherever in the file it stands. */
	for (pass = 0; pass < 2 && !line; pass++) {
		rules = o->watch.rule_count;
		p.general = !pass;
		line = ini_parse_string(text, take, &p);
		rules_hold(o, rules);
	}
	if (line < 0)
		return err_set(e, -ENOMEM, "%s: no memory to read it", name);
	return line ? show(&p, text, name, line, e) : 0;
}

/* The whole file, zero-terminated, to free(). NULL: 0 or an error in *rc. */
static char *load(const char *path, bool must, int *rc, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char *text = NULL;
	struct stat st;
	ssize_t n;

	*rc = 0;
	if (fd < 0) {
		if (must || (errno != ENOENT && errno != EACCES && errno != ENOTDIR))
			*rc = err_set(e, -errno, "%s cannot be read: %s", path, strerror(errno));
		return NULL;
	}
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		*rc = err_set(e, -EINVAL, "%s is no file", path);
	} else if (st.st_size > CONFIG_BYTES_MAX) {
		*rc = err_set(e, -EFBIG, "%s is no configuration: larger than %u bytes", path,
			      CONFIG_BYTES_MAX);
	} else {
		text = calloc(1, CONFIG_BYTES_MAX + 1);
		n = text ? read(fd, text, CONFIG_BYTES_MAX) : -1;
		if (n < 0)
			*rc = err_set(e, -EIO, "%s cannot be read", path);
		else if (memchr(text, 0, (size_t)n))
			*rc = err_set(e, -EINVAL, "%s is no configuration: it holds zero bytes",
				      path);
	}
	close(fd);
	if (*rc) {
		free(text);
		return NULL;
	}
	return text;
}

static int read_file(const char *path, bool must, const struct command *c, struct options *o,
		     struct err *e)
{
	char clean[256];
	int rc;
	char *text = load(path, must, &rc, e);

	if (!text) {
		if (rc)
			err_hint(e, "choose another file with --config, or none with --no-config");
		return rc;
	}
	rc = config_parse(text, text_clean(clean, sizeof(clean), path, strlen(path)), c, o, e);
	free(text);
	return rc;
}

/* The user's own. False: there is no place for one. */
static bool own_path(char path[4096])
{
	const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	int n = -1;

	if (base && base[0] == '/')
		n = snprintf(path, 4096, "%s/vmspan/config", base);
	else if (home && home[0] == '/')
		n = snprintf(path, 4096, "%s/.config/vmspan/config", home);
	return n > 0 && n < 4096;
}

int config_read(const struct command *c, struct options *o, struct err *e)
{
	char path[4096];
	int rc;

	if (o->config.none)
		return 0;
	if (o->config.file)
		return read_file(o->config.file, true, c, o, e);
	rc = read_file(CONFIG_SYSTEM, false, c, o, e);
	return rc || !own_path(path) ? rc : read_file(path, false, c, o, e);
}

/* ---- Saving ---- */

static bool is_section(const char *line, size_t n, const char *section)
{
	size_t len = strlen(section);

	return n >= len + 2 && line[0] == '[' && !memcmp(line + 1, section, len) &&
	       line[len + 1] == ']';
}

static bool is_key(const char *line, size_t n, const char *key)
{
	size_t len = strlen(key), at;

	if (n < len || memcmp(line, key, len) != 0)
		return false;
	for (at = len; at < n && (line[at] == ' ' || line[at] == '\t'); at++)
		;
	return at < n && (line[at] == '=' || line[at] == ':');
}

/* Goes on with the value of the key before it, as inih reads it. */
static bool is_more(const char *line, size_t lead, size_t n, bool keyed)
{
	return keyed && lead && lead < n && !strchr(";#", line[lead]);
}

static void put_changed(struct out *to, const char *text, const char *section, const char *key,
			const char *value)
{
	/* In the section; the key is written; a key came before; it was ours. */
	bool inside = false, done = false, keyed = false, ours = false;

	while (*text) {
		size_t n = strcspn(text, "\n"), lead = min_u64(strspn(text, " \t\r\v\f"), n);
		bool more = is_more(text, lead, n, keyed);

		if (!more && text[lead] == '[') {
			if (inside && !done) {
				out_printf(to, "%s = %s\n", key, value);
				done = true;
				/* Indented it would go on with that value. */
				text += lead;
				n -= lead;
				lead = 0;
			}
			inside = is_section(text + lead, n - lead, section);
			keyed = ours = false;
		} else if (!more && lead < n && !strchr(";#", text[lead])) {
			keyed = true;
			ours = inside && is_key(text + lead, n - lead, key);
			/* Written where it stood; once more would be a second one. */
			if (ours && !done)
				out_printf(to, "%s = %s\n", key, value);
			done |= ours;
			more = ours;
		}
		if (!more || !ours)
			out_printf(to, "%.*s\n", (int)n, text);
		text += n + (text[n] == '\n');
	}
	if (!done)
		out_printf(to, "%s%s%s%s = %s\n", inside ? "" : "[", inside ? "" : section,
			   inside ? "" : "]\n", key, value);
}

static int make_folders(char *path)
{
	char *slash;

	for (slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		int rc;

		*slash = 0;
		rc = mkdir(path, 0777) && errno != EEXIST ? -errno : 0;
		*slash = '/';
		if (rc)
			return rc;
	}
	return 0;
}

static int replace(const char *path, const struct out *text)
{
	char real[4096], temporary[4096 + 8];
	ssize_t n;
	int fd, rc = 0;

	/* A link stays one. */
	snprintf(temporary, sizeof(temporary), "%s.XXXXXX",
		 realpath(path, real) ? real : strcpy(real, path));
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = write(fd, text->buf.data, text->buf.len);
	if (n < 0 || (size_t)n != text->buf.len)
		rc = n < 0 ? -errno : -ENOSPC;
	if (!rc && fchmod(fd, 0644))
		rc = -errno;
	if (close(fd) && !rc)
		rc = -errno;
	if (!rc && rename(temporary, real))
		rc = -errno;
	if (rc)
		unlink(temporary);
	return rc;
}

int config_save(const struct options *o, const char *section, const char *key, const char *value,
		char path[4096], struct err *e)
{
	struct out text;
	char *old;
	int rc;

	if (o->config.file)
		snprintf(path, 4096, "%s", o->config.file);
	else if (!own_path(path))
		return err_set(e, -ENOENT, "neither XDG_CONFIG_HOME nor HOME says where to");
	old = load(path, false, &rc, e);
	if (rc)
		return rc;
	out_open_memory(&text);
	put_changed(&text, old ? old : "", section, key, value);
	free(old);
	rc = text.error ? text.error : make_folders(path);
	if (!rc)
		rc = replace(path, &text);
	out_close(&text);
	return rc ? err_set(e, rc, "%s cannot be written: %s", path, strerror(-rc)) : 0;
}
