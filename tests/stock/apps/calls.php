<?php
// SPDX-License-Identifier: BSD-2-Clause
// As calls.py.
class Shop
{
    static function nested(int $n): int
    {
        return leaf($n) + leaf($n);
    }
    function deeper(int $n): int
    {
        return $n ? $this->deeper($n - 1) : 0;
    }
}

function leaf(int $n): int
{
    for ($i = 0, $m = $n; $i < $m; $i++)
        $n ^= $i;
    return $n;
}

function numbers(int $n): Generator
{
    for ($i = 0; $i < $n; $i++)
        yield $i;
}

function throws(int $n): int
{
    throw new Exception("$n");
}

function passes(int $n): int
{
    return throws($n);
}

function round_of(int $n): void
{
    static $shop = new Shop;
    Shop::nested($n);
    foreach (numbers(3) as $_);
    try {
        passes($n);
    } catch (Exception $e) {
    }
    $shop->deeper(5);
}

// A generator is entered when it is made, and each time it goes on.
const ROUND = ['round_of' => 1, 'Shop::nested' => 1, 'leaf' => 2, 'numbers' => 5, 'throws' => 1,
    'passes' => 1, 'Shop::deeper' => 6];
$calls = [];

function rounds(int $k, int $n): void
{
    global $calls;
    for ($i = 0; $i < $k; $i++)
        round_of($n);
    $calls['rounds'] = ($calls['rounds'] ?? 0) + 1;
    foreach (ROUND as $name => $each)
        $calls[$name] = ($calls[$name] ?? 0) + $each * $k;
}

function cpu(): int
{
    $u = getrusage();
    return ($u['ru_utime.tv_sec'] + $u['ru_stime.tv_sec']) * 1000000000 +
        ($u['ru_utime.tv_usec'] + $u['ru_stime.tv_usec']) * 1000;
}

function waiting(): bool
{
    $r = [STDIN];
    $w = $e = null;
    return stream_select($r, $w, $e, 0) > 0;
}

echo 'ready ', getmypid(), "\n";
while (($line = fgets(STDIN)) !== false) {
    [$word, $number] = explode(' ', trim($line));
    if ($word == 'end')
        continue;
    $begin = cpu();
    $calls = [];
    if ($word == 'work')
        rounds((int)$number, 3);
    while ($word == 'run' && !waiting())
        rounds(50, (int)$number);
    echo 'answer ', json_encode(['calls' => $calls, 'ns' => cpu() - $begin]), "\n";
}
