# SPDX-License-Identifier: BSD-2-Clause
# Slow turns that are planted in a stock VM, and the truth of each: a line of JSON with "kind", the "group" that
# is to blame, and times of CLOCK_MONOTONIC around it. Between them are turns that are quick, for 0.4 s at least.
#   planter.py SEED COUNT KINDS asyncio            this program: modules a0 to a3 are its plugins
#   planter.py SEED COUNT KINDS php PORT           requests to index.php (planter.php), which has the same
#   planter.py SEED COUNT KINDS postgres DB...     statements to databases, by psql
# KINDS, by commas; the N-th slow turn is of the N-th kind, and so on in a circle:
#   burns     a plugin uses the CPU
#   sleeps    it waits
#   calls     it calls another one, which uses the CPU
#   collects  a collection runs in it (asyncio)
# Prints "ready PID", waits for a line, ends with "done", and then with its input.
import asyncio, gc, importlib, json, os, random, subprocess, sys, time, urllib.request

PLUGINS = ["a0", "a1", "a2", "a3"]


def say(*words):
    print(*words, flush=True)


class Asyncio:
    prefix = "package:"
    who = PLUGINS

    def __init__(self):
        self.plugins = {name: importlib.import_module(name) for name in PLUGINS}
        gc.disable()
        self.heap = [[] for _ in range(500_000)]  # something to collect in
        self.loop = asyncio.new_event_loop()

    def turn(self, work):
        async def woken():
            await asyncio.sleep(0.003)
            work()

        self.loop.run_until_complete(woken())

    def quick(self, names):
        self.turn(lambda: [self.plugins[name].work(300) for name in names])

    def slow(self, kind, name, other, ms):
        self.turn(lambda: getattr(self.plugins[name], kind)(ms, self.plugins[other]))


class Php:
    prefix = "plugin:"
    who = PLUGINS

    def __init__(self, port):
        self.url = f"http://127.0.0.1:{port}/?"

    def get(self, query):
        with urllib.request.urlopen(self.url + query) as answer:
            if answer.read().split()[-1:] != [b"answer"]:
                raise RuntimeError("no answer to " + query)

    def quick(self, names):
        self.get("quick=" + ",".join(names))
        time.sleep(0.003)

    def slow(self, kind, name, other, ms):
        self.get(f"kind={kind}&name={name}&other={other}&ms={ms}")


class Postgres:
    prefix = "tenant:"

    def __init__(self, *databases):
        self.who = list(databases)
        self.clients = {d: subprocess.Popen(["psql", "-qAt", d], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            text=True, bufsize=1) for d in databases}

    def ask(self, name, sql):
        client = self.clients[name]
        client.stdin.write(sql + ";\n\\echo answered\n")
        for line in client.stdout:
            if line == "answered\n":
                return
        raise RuntimeError("psql has ended")

    def quick(self, names):
        for name in names:
            self.ask(name, "select 1")
        time.sleep(0.003)

    def slow(self, kind, name, other, ms):
        self.ask(name, f"select burn({ms / 1000})" if kind == "burns" else f"select pg_sleep({ms / 1000})")


def main():
    seed, count, kinds, of = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3].split(","), sys.argv[4]
    chance = random.Random(seed)
    target = {"asyncio": Asyncio, "php": Php, "postgres": Postgres}[of](*sys.argv[5:])
    quick = lambda: target.quick(chance.sample(target.who, min(3, len(target.who))))
    quick()
    say("ready", os.getpid())
    sys.stdin.readline()
    for n in range(count):
        until = time.monotonic() + chance.uniform(0.4, 0.6)
        while time.monotonic() < until:
            quick()
        kind, ms = kinds[n % len(kinds)], chance.randint(150, 500)
        name, other = chance.sample(target.who, 2)
        begin = time.monotonic_ns()
        target.slow(kind, name, other, ms)
        verb = " SELECT" if of == "postgres" else ""
        say(json.dumps({"kind": kind, "group": target.prefix + (other if kind == "calls" else name) + verb,
                        "begin_ns": begin, "end_ns": time.monotonic_ns(), "held_ns": ms * 1_000_000}))
    for _ in range(100):
        quick()
    say("done")
    sys.stdin.read()


main()
