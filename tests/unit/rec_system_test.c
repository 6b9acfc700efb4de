/* SPDX-License-Identifier: BSD-2-Clause */
/* Recordings where the system does less than it was asked for, or says late that it
 * could not: what it answers is made up here. */
#include <sys/types.h>
#include <unistd.h>

static ssize_t made_up_pwrite(int fd, const void *p, size_t n, off_t offset);
static int made_up_close(int fd);

#define pwrite(fd, p, n, offset) made_up_pwrite(fd, p, n, offset)
#define close(fd) made_up_close(fd)
#include "base/file.c"
#include "rec/writer.c"
#undef pwrite
#undef close

#include "rec_file.h"

static struct {
	size_t most; /* bytes that a write takes */
	u32 writes, interrupted; /* every so many-th takes nothing */
	int close; /* an errno */
	u32 closes;
} answer;

static ssize_t made_up_pwrite(int fd, const void *p, size_t n, off_t offset)
{
	if (answer.interrupted && ++answer.writes % answer.interrupted == 0) {
		errno = EINTR;
		return -1;
	}
	return pwrite(fd, p, answer.most && n > answer.most ? answer.most : n, offset);
}

/* The descriptor is gone, whatever the answer is. */
static int made_up_close(int fd)
{
	int rc = close(fd);

	answer.closes++;
	if (!answer.close)
		return rc;
	errno = answer.close;
	return -1;
}

static int setup_answers(void **state)
{
	memset(&answer, 0, sizeof(answer));
	return setup(state);
}

static void a_write_in_pieces_is_whole(void **state)
{
	struct file *f = *state;

	answer.most = 7;
	answer.interrupted = 3;
	write_small(f, 3, 20, false);
	assert_true(answer.writes > 100);
	assert_int_equal(read_back(f), 0);
	assert_string_equal(f->note, "");
	log_assert_equal(&f->written, &f->read);
}

/* A file system may find out only then that it is full. By then the descriptor's number may be
 * another file's: it is not closed again. */
static void an_error_of_close_is_one_of_the_recording(void **state)
{
	struct file *f = *state;
	struct stream s = { .w = create(f, NULL), .log = &f->written };

	stream_begin(&s, 11);
	stream_events(&s, 20);
	answer.close = ENOSPC;
	assert_int_equal(rec_close(s.w, &f->err), -ENOSPC);
	assert_int_equal(answer.closes, 1);
	assert_non_null(strstr(f->err.what, f->path));
	assert_non_null(strstr(f->err.what, "No space left on device"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_write_in_pieces_is_whole, setup_answers,
						teardown),
		cmocka_unit_test_setup_teardown(an_error_of_close_is_one_of_the_recording,
						setup_answers, teardown),
	};

	return cmocka_run_group_tests_name("rec_system", tests, NULL, NULL);
}
