# SPDX-License-Identifier: BSD-2-Clause
# Writes changed copies of a 64-bit ELF file, for what a tracer must not fall for:
#   patch_elf.py FROM TO version NUMBER   another value in Py_Version
#   patch_elf.py FROM TO build-id         another build id
#   patch_elf.py FROM TO hide SYMBOL      a symbol by another name
#   patch_elf.py FROM TO notes COUNT      only the content of a section of COUNT
#                                         probe notes of a provider nobody wants
import struct, sys

source, target, what, *rest = sys.argv[1:]
data = bytearray(open(source, "rb").read())
shoff, = struct.unpack_from("<Q", data, 40)
size, count, names = struct.unpack_from("<HHH", data, 58)
sections = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + i * size) for i in range(count)]
strings = sections[names][4]


def name_of(s):
    begin = strings + s[0]
    return bytes(data[begin:data.index(0, begin)]).decode()


named = {name_of(s): s for s in sections}
if what == "build-id":
    data[named[".note.gnu.build-id"][4] + 16] ^= 0xff
elif what == "notes":
    site = named[".text"][3]
    body = struct.pack("<QQQ", site, 0, 0) + b"nobody\0nothing\0\0"
    one = struct.pack("<III", 8, len(body), 3) + b"stapsdt\0" + body + b"\0" * (-len(body) % 4)
    old = named[".note.stapsdt"]
    data = one * int(rest[0]) + data[old[4]:old[4] + old[5]]
elif what == "hide":
    for table in ".dynstr", ".strtab":
        s = named.get(table, (0,) * 6)
        at = data.find(b"\0" + rest[0].encode() + b"\0", s[4], s[4] + s[5])
        if at >= 0:
            data[at + 1] ^= 1
else:
    s, text = named[".dynsym"], named[".dynstr"][4]
    for at in range(s[4], s[4] + s[5], 24):
        name, value = struct.unpack_from("<I4xQ", data, at)
        if data[text + name:data.index(0, text + name)] == b"Py_Version":
            for o in sections:
                if o[1] != 8 and o[3] and o[3] <= value < o[3] + o[5]:
                    struct.pack_into("<Q", data, value - o[3] + o[4], int(rest[0], 0))
open(target, "wb").write(data)
