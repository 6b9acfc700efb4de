# SPDX-License-Identifier: BSD-2-Clause
# Installing, as the GNU conventions have it:
#   make install DESTDIR=/tmp/image prefix=/usr
#   make uninstall, with the same variables
# Manual pages and completion are written by the program that was built, so a
# cross build needs them from a native one: HOST_VMSPAN.
prefix ?= /usr/local
exec_prefix ?= $(prefix)
bindir ?= $(exec_prefix)/bin
datarootdir ?= $(prefix)/share
mandir ?= $(datarootdir)/man
man1dir ?= $(mandir)/man1
docdir ?= $(datarootdir)/doc/vmspan
includedir ?= $(prefix)/include
libdir ?= $(exec_prefix)/lib
libpkgconfigdir ?= $(libdir)/pkgconfig
unitdir ?= $(exec_prefix)/lib/systemd/system
# Holds no program, so no architecture either.
pkgconfigdir ?= $(datarootdir)/pkgconfig
completiondir ?= $(datarootdir)/bash-completion/completions
INSTALL ?= install
HOST_VMSPAN ?= $(B)/vmspan

# Under their own paths, so that what one says of another is found.
DOCS := LICENSE $(wildcard *.md docs/*.md docs/*.svg docs/images/* user/*/*.md) \
	user/sdk/example.c user/lib/example/example.c

.PHONY: install uninstall man

# The manual pages, to look at or to pack: $(B)/man.
man: $(B)/vmspan
	$(Q)rm -rf $(B)/man && mkdir -p $(B)/man
	$(Q)$(HOST_VMSPAN) --generate man > $(B)/man/vmspan.1
	$(Q)set -e; for c in $$($(HOST_VMSPAN) --generate commands); do \
		$(HOST_VMSPAN) --generate man $$c > $(B)/man/vmspan-$$c.1; done

$(B)/vmspan-sdk.pc: VERSION tools/install.mk
	$(call say,GEN )
	$(Q)printf '%s\n' 'prefix=$(prefix)' 'includedir=$(includedir)/vmspan' '' \
		'Name: vmspan-sdk' 'Description: probes for vmspan in language VMs, header only' \
		'Version: $(VERSION)' 'Cflags: -I$${includedir}' 'Libs: -pthread' > $@
$(B)/libvmspan.pc: user/lib/libvmspan.pc.in VERSION
	$(call say,GEN )
	$(Q)sed -e 's|@prefix@|$(prefix)|' -e 's|@libdir@|$(libdir)|' \
		-e 's|@includedir@|$(includedir)|' -e 's|@version@|$(VERSION)|' $< > $@

$(B)/vmspan-metrics@.service: tools/systemd/vmspan-metrics@.service.in
	$(call say,GEN )
	$(Q)sed -e 's|@bindir@|$(bindir)|' $< > $@
# The folders may have changed since they were made.
.PHONY: $(B)/vmspan-sdk.pc $(B)/libvmspan.pc $(B)/vmspan-metrics@.service

install: $(B)/vmspan $(B)/vmspan-sdk.pc $(B)/lib/libvmspan.a $(B)/libvmspan.pc \
		$(B)/vmspan-metrics@.service man
	$(INSTALL) -d $(DESTDIR)$(bindir) $(DESTDIR)$(man1dir) $(DESTDIR)$(includedir)/vmspan \
		$(DESTDIR)$(pkgconfigdir) $(DESTDIR)$(libpkgconfigdir) $(DESTDIR)$(unitdir) $(DESTDIR)$(completiondir)
	$(INSTALL) -m 755 $(B)/vmspan $(DESTDIR)$(bindir)/vmspan
	$(INSTALL) -m 644 $(B)/man/*.1 $(DESTDIR)$(man1dir)
	$(INSTALL) -m 644 user/sdk/vmspan.h $(DESTDIR)$(includedir)/vmspan/vmspan.h
	$(INSTALL) -m 644 $(B)/vmspan-sdk.pc $(DESTDIR)$(pkgconfigdir)/vmspan-sdk.pc
	$(INSTALL) -m 644 $(B)/lib/libvmspan.a $(DESTDIR)$(libdir)/libvmspan.a
	$(INSTALL) -m 644 user/lib/libvmspan.h $(DESTDIR)$(includedir)/libvmspan.h
	$(INSTALL) -m 644 $(B)/libvmspan.pc $(DESTDIR)$(libpkgconfigdir)/libvmspan.pc
	$(INSTALL) -m 644 $(B)/vmspan-metrics@.service $(DESTDIR)$(unitdir)/vmspan-metrics@.service
	$(Q)set -e; for f in $(DOCS); do $(INSTALL) -D -m 644 $$f $(DESTDIR)$(docdir)/$$f; done
	$(HOST_VMSPAN) --generate completion > $(DESTDIR)$(completiondir)/vmspan
	chmod 644 $(DESTDIR)$(completiondir)/vmspan

# Only what install puts there; folders of others stay.
uninstall:
	rm -f $(DESTDIR)$(bindir)/vmspan $(DESTDIR)$(man1dir)/vmspan.1 $(DESTDIR)$(man1dir)/vmspan-*.1
	rm -f $(DESTDIR)$(includedir)/vmspan/vmspan.h $(DESTDIR)$(pkgconfigdir)/vmspan-sdk.pc
	rm -f $(DESTDIR)$(libdir)/libvmspan.a $(DESTDIR)$(includedir)/libvmspan.h \
		$(DESTDIR)$(libpkgconfigdir)/libvmspan.pc \
		$(DESTDIR)$(unitdir)/vmspan-metrics@.service
	rm -f $(DESTDIR)$(completiondir)/vmspan
	rm -rf $(DESTDIR)$(docdir)
	-rmdir $(DESTDIR)$(includedir)/vmspan 2>/dev/null
