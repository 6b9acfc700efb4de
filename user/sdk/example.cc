// SPDX-License-Identifier: BSD-2-Clause
// The C++ side: stays and turns end with their scope, exceptions included.
// c++ -O2 example.cc -o example
#include "vmspan.h"
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>

class plugin
{
      public:
	plugin(const std::string &name, std::function<unsigned(unsigned)> code)
	    : code_(std::move(code))
	{
		const vmspan_u32 group = vmspan_group(VMSPAN_PLUGIN, name.c_str());
		compartment_ = vmspan_compartment(name.c_str(), &group, 1);
	}
	unsigned operator()(unsigned n) const
	{
		const vmspan::stopwatch in(compartment_);
		return code_(n);
	}

      private:
	std::function<unsigned(unsigned)> code_;
	vmspan_u32 compartment_;
};

int main(int argc, char **argv)
{
	const unsigned turns =
		argc > 1 ? static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)) : 1000;
	const vmspan_u32 tick = vmspan_label("tick");
	const plugin parser("parser", [](unsigned n) {
		if (n % 10 == 0)
			throw std::invalid_argument("bad input");
		return n;
	});
	const plugin reader("reader", [&](unsigned n) { return parser(n) + 1; });
	unsigned good = 0, bad = 0;

	for (unsigned turn = 1; turn <= turns; turn++) {
		const vmspan::event loop(tick);
		try {
			good += reader(turn) > 0;
		} catch (const std::invalid_argument &) {
			bad++;
		}
	}
	std::printf("%u good, %u bad\n", good, bad);
	return 0;
}
