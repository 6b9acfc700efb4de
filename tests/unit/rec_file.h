/* SPDX-License-Identifier: BSD-2-Clause */
/* A recording in a directory of its own, a stream to fill it, ways to read it. */
#ifndef REC_FILE_H
#define REC_FILE_H

#include "rec_util.h"
#include "temp.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

struct file {
	char dir[TEMP_PATH], path[TEMP_PATH + 16], copy[TEMP_PATH + 16];
	struct log written, read;
	struct err err;
	char note[256];
};

static inline int setup(void **state)
{
	struct file *f = calloc(1, sizeof(*f));

	temp_template(f->dir);
	if (!mkdtemp(f->dir))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/a.vmspan", f->dir);
	snprintf(f->copy, sizeof(f->copy), "%s/b.vmspan", f->dir);
	*state = f;
	return 0;
}

static inline int teardown(void **state)
{
	struct file *f = *state;

	unlink(f->path);
	unlink(f->copy);
	rmdir(f->dir);
	log_free(&f->written);
	log_free(&f->read);
	free(f);
	return 0;
}

/* ------------------------------------------------------------ Streams -- */

/* A stream into a writer (may be NULL) and a log. */
struct stream {
	struct rec_writer *w;
	struct log *log;
	struct gen g;
	u32 pid;
	int rc; /* the first error of rec_item */
};

static inline void stream_item(struct stream *s, const struct item *it)
{
	if (s->w && !s->rc)
		s->rc = rec_item(s->w, it);
	if (s->log)
		log_item(s->log, it);
}

static inline int stream_batch(void *ctx, struct gen *g)
{
	struct stream *s = ctx;
	struct item it = batch_item(s->pid, g);

	stream_item(s, &it);
	return 0;
}

static inline void stream_begin(struct stream *s, u64 seed)
{
	struct buf defs = { 0 };
	struct item it;
	char name[32];
	u32 i, group;

	s->pid = 4242;
	s->g = (struct gen){
		.seed = seed, .sigma = 0.2, .now = 1ull << 40, .batch = stream_batch, .ctx = s
	};
	it = clock_item(s->g.now);
	stream_item(s, &it);
	it = process_item(PROCESS_SEEN, s->pid, 1, "demohost");
	stream_item(s, &it);
	it = thread_item(s->pid, s->pid, "main", false);
	stream_item(s, &it);
	for (i = 1; i <= GEN_COMPARTMENTS; i++) {
		snprintf(name, sizeof(name), "add-on %u", i);
		put_def(&defs, VMSPAN_DEF_GROUP, i, VMSPAN_ADDON, NULL, 0, name);
		group = i;
		snprintf(name, sizeof(name), "https://site%u.example/frame", i);
		put_def(&defs, VMSPAN_DEF_COMPARTMENT, i, 0, &group, 1, name);
	}
	it = defs_item(s->pid, &defs);
	stream_item(s, &it);
	buf_free(&defs);
}

/* `events` turns, a clock each 10 ms of them. */
static inline void stream_events(struct stream *s, u32 events)
{
	u64 clock = s->g.now;
	struct item it;
	u32 i;

	for (i = 0; i < events && !s->rc; i++) {
		gen_event(&s->g);
		if (s->g.now - clock < 10000 * GEN_CYCLES_PER_US)
			continue;
		clock = s->g.now;
		it = clock_item(clock);
		stream_item(s, &it);
	}
}

static inline struct rec_writer *create(struct file *f, const struct rec_options *o)
{
	struct rec_writer *w = rec_create(f->path, test_info(), o, &f->err);

	if (!w)
		fail_msg("%s", f->err.what);
	return w;
}

/* A recording of a few chunks: rec_sync ends one. */
static inline void write_small(struct file *f, u32 chunks, u32 events, bool no_deflate)
{
	struct rec_options o = { .no_deflate = no_deflate };
	struct stream s = { .w = create(f, &o), .log = &f->written };
	u32 i;

	stream_begin(&s, 11);
	for (i = 0; i < chunks; i++) {
		stream_events(&s, events);
		assert_int_equal(rec_sync(s.w, &f->err), 0);
	}
	assert_int_equal(s.rc, 0);
	assert_int_equal(rec_close(s.w, &f->err), 0);
}

static inline u8 *slurp(const char *path, size_t *len)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	u8 *p;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	*len = (size_t)st.st_size;
	p = malloc(*len + 1);
	assert_int_equal(read(fd, p, *len + 1), *len);
	close(fd);
	return p;
}

static inline void spill(const char *path, const void *p, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, p, len), len);
	close(fd);
}

static inline int read_copy(struct file *f)
{
	log_free(&f->read);
	f->err = (struct err){ 0 };
	return read_all(f->copy, &f->read, f->note, &f->err);
}

static inline int read_back(struct file *f)
{
	log_free(&f->read);
	f->err = (struct err){ 0 };
	return read_all(f->path, &f->read, f->note, &f->err);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
