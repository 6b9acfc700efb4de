/* SPDX-License-Identifier: BSD-2-Clause */
#include "rec/chunk.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* The line ends show a file that went through a text conversion. */
static const u8 file_magic[8] = "vmspan\r\n";
static const u8 chunk_magic[4] = { 'v', 's', 0xc4, '\n' };
static const u8 trailer_magic[4] = { 'v', 's', 0xe4, '\n' };

enum {
	AT_MAJOR = 8,
	AT_MINOR = 10,
	AT_HEAD_BYTES = 12,
	AT_FLAGS = 16,
	AT_ID = 20,
	AT_CLOCK = 24,
	AT_SEGMENTS = 28,
	AT_SEGMENT_BYTES = 32,
	AT_CYCLES_HZ = 40,
	AT_START_MONO = 48,
	AT_START_REAL = 56,
	AT_HOST = 64,
	AT_TOOL = 128,
	AT_HEAD_CRC = FILE_HEAD - 4,
};

static void put16(u8 *p, u16 v)
{
	p[0] = (u8)v;
	p[1] = (u8)(v >> 8);
}

static void put32(u8 *p, u32 v)
{
	put16(p, (u16)v);
	put16(p + 2, (u16)(v >> 16));
}

static void put64(u8 *p, u64 v)
{
	put32(p, (u32)v);
	put32(p + 4, (u32)(v >> 32));
}

static u16 get16(const u8 *p)
{
	return (u16)(p[0] | p[1] << 8);
}

static u32 get32(const u8 *p)
{
	return get16(p) | (u32)get16(p + 2) << 16;
}

static u64 get64(const u8 *p)
{
	return get32(p) | (u64)get32(p + 4) << 32;
}

static u32 checksum(const u8 *p, size_t n)
{
	return (u32)crc32(0, p, (uInt)n);
}

/* ----------------------------------------------------------- File head -- */

void file_head_put(u8 out[FILE_HEAD], const struct file_head *h)
{
	const struct source_info *i = &h->info;

	memset(out, 0, FILE_HEAD);
	memcpy(out, file_magic, sizeof(file_magic));
	put16(out + AT_MAJOR, h->major);
	put16(out + AT_MINOR, h->minor);
	put32(out + AT_HEAD_BYTES, FILE_HEAD);
	put32(out + AT_FLAGS, h->flags);
	put32(out + AT_ID, h->id);
	put32(out + AT_CLOCK, i->clock);
	put32(out + AT_SEGMENTS, h->segments);
	put64(out + AT_SEGMENT_BYTES, h->segment_bytes);
	put64(out + AT_CYCLES_HZ, i->cycles_hz);
	put64(out + AT_START_MONO, i->start_mono_ns);
	put64(out + AT_START_REAL, i->start_real_ns);
	memcpy(out + AT_HOST, i->host, strnlen(i->host, sizeof(i->host) - 1));
	memcpy(out + AT_TOOL, i->tool, strnlen(i->tool, sizeof(i->tool) - 1));
	put32(out + AT_HEAD_CRC, checksum(out, AT_HEAD_CRC));
}

u32 file_head_id(const struct file_head *h)
{
	u8 bytes[FILE_HEAD];

	file_head_put(bytes, h);
	return get32(bytes + AT_HEAD_CRC);
}

enum file_head_state file_head_get(const u8 *in, size_t len, struct file_head *h)
{
	struct source_info *i = &h->info;
	u32 clock;

	memset(h, 0, sizeof(*h));
	if (len < AT_HEAD_BYTES || memcmp(in, file_magic, sizeof(file_magic)))
		return FILE_HEAD_FOREIGN;
	h->major = get16(in + AT_MAJOR);
	h->minor = get16(in + AT_MINOR);
	if (h->major != FILE_MAJOR && h->major)
		return FILE_HEAD_OTHER;
	if (len < FILE_HEAD || h->major != FILE_MAJOR || get32(in + AT_HEAD_BYTES) != FILE_HEAD ||
	    get32(in + AT_HEAD_CRC) != checksum(in, AT_HEAD_CRC))
		return FILE_HEAD_DAMAGED;
	h->flags = get32(in + AT_FLAGS);
	h->id = get32(in + AT_ID);
	h->segments = get32(in + AT_SEGMENTS);
	h->segment_bytes = get64(in + AT_SEGMENT_BYTES);
	clock = get32(in + AT_CLOCK);
	if (clock != CLOCK_TSC && clock != CLOCK_MONO)
		return FILE_HEAD_DAMAGED;
	i->clock = (enum source_clock)clock;
	i->cycles_hz = get64(in + AT_CYCLES_HZ);
	i->sampled = h->flags & FILE_SAMPLED;
	i->exact = h->flags & FILE_EXACT;
	i->start_mono_ns = get64(in + AT_START_MONO);
	i->start_real_ns = get64(in + AT_START_REAL);
	memcpy(i->host, in + AT_HOST, sizeof(i->host) - 1);
	memcpy(i->tool, in + AT_TOOL, sizeof(i->tool) - 1);
	return FILE_HEAD_GOOD;
}

/* -------------------------------------------------------------- Frames -- */

void chunk_head_put(u8 out[CHUNK_HEAD], const struct chunk_head *h)
{
	memcpy(out, chunk_magic, sizeof(chunk_magic));
	out[4] = h->kind;
	out[5] = h->packing;
	put16(out + 6, h->flags);
	put64(out + 8, h->number);
	put64(out + 16, h->first_record);
	put32(out + 24, h->records);
	put32(out + 28, h->stored);
	put32(out + 32, h->raw);
	put32(out + 36, h->crc);
	put32(out + 40, h->id);
	put32(out + 44, checksum(out, 44));
}

bool chunk_head_get(const u8 in[CHUNK_HEAD], u32 id, struct chunk_head *h)
{
	if (memcmp(in, chunk_magic, sizeof(chunk_magic)) || get32(in + 40) != id ||
	    get32(in + 44) != checksum(in, 44))
		return false;
	*h = (struct chunk_head){
		.kind = in[4],
		.packing = in[5],
		.flags = get16(in + 6),
		.number = get64(in + 8),
		.first_record = get64(in + 16),
		.records = get32(in + 24),
		.stored = get32(in + 28),
		.raw = get32(in + 32),
		.crc = get32(in + 36),
		.id = id,
	};
	return h->stored <= CHUNK_STORED_MAX && h->raw <= CHUNK_RAW_MAX;
}

size_t chunk_search(const u8 *p, size_t len)
{
	const u8 *at = memmem(p, len, chunk_magic, sizeof(chunk_magic));

	return at ? (size_t)(at - p) : len;
}

int chunk_unpack(const struct chunk_head *h, const u8 *stored, u8 *out)
{
	uLongf raw = h->raw;
	uLong used = h->stored;

	switch (h->packing) {
	case CHUNK_PLAIN:
		if (h->raw != h->stored)
			return -EBADMSG;
		memcpy(out, stored, h->raw);
		return 0;
	case CHUNK_DEFLATED:
		if (uncompress2(out, &raw, stored, &used) != Z_OK || raw != h->raw ||
		    used != h->stored)
			return -EBADMSG;
		return 0;
	}
	return -EBADMSG;
}

void file_trailer_put(u8 out[FILE_TRAILER], u32 id, const struct file_trailer *t)
{
	memcpy(out, trailer_magic, sizeof(trailer_magic));
	put32(out + 4, id);
	put64(out + 8, t->index_offset);
	put64(out + 16, t->file_bytes);
	put32(out + 24, t->chunks);
	put32(out + 28, checksum(out, 28));
}

bool file_trailer_get(const u8 in[FILE_TRAILER], u32 id, struct file_trailer *t)
{
	if (memcmp(in, trailer_magic, sizeof(trailer_magic)) || get32(in + 4) != id ||
	    get32(in + 28) != checksum(in, 28))
		return false;
	*t = (struct file_trailer){ get64(in + 8), get64(in + 16), get32(in + 24) };
	return true;
}

/* ------------------------------------------------------ Bytes of a file -- */

int file_create(const char *path, const struct file_made *made, struct err *err)
{
	int fd = file_open_place(path, O_WRONLY | O_CREAT | O_NOCTTY | O_NONBLOCK, made), rc;
	struct stat st;

	if (fd < 0)
		errno = -fd;
	if (fd < 0 || fstat(fd, &st)) {
		/* A FIFO that nobody reads. */
		rc = errno == ENXIO ? -ESPIPE : -errno;
	} else if ((!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode)) || lseek(fd, 0, SEEK_CUR) < 0) {
		rc = -ESPIPE;
	} else if (S_ISREG(st.st_mode) && ftruncate(fd, 0)) {
		rc = -errno;
	} else {
		return fd;
	}
	if (fd >= 0)
		close(fd);
	if (rc == -ESPIPE) {
		err_set(err, rc, "cannot record to %s: it is not a regular file", path);
		err_hint(err, "A recording is written at several offsets, so it cannot go through "
			      "a pipe: record to a file, and read that one.");
	} else {
		err_set(err, rc, "cannot create the recording %s: %s", path, file_why(rc));
		err_hint(err, "Choose another place with -o FILE.");
	}
	return rc;
}

int file_open(const char *path, u64 *size, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), rc;
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		rc = err_set(err, -errno, "cannot open the recording %s: %s", path,
			     strerror(errno));
	} else if (!S_ISREG(st.st_mode)) {
		rc = err_set(err, -ESPIPE, "cannot read %s: it is not a regular file", path);
		err_hint(err, "A recording is read at several offsets: save it to a file first.");
	} else {
		*size = (u64)st.st_size;
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return rc;
}
