<?php
// SPDX-License-Identifier: BSD-2-Clause
// The page of planter.py: ?quick=NAME,NAME...; ?kind=KIND&name=NAME&other=NAME&ms=MS is a slow one.
foreach (['a0', 'a1', 'a2', 'a3'] as $p)
    require_once __DIR__ . "/wp-content/plugins/$p/$p.php";
foreach (explode(',', $_GET['quick'] ?? '') as $name)
    if ($name)
        ($name . '_work')(3000);
if (isset($_GET['kind']))
    ($_GET['name'] . '_' . $_GET['kind'])((int)$_GET['ms'], $_GET['other']);
echo "answer\n";
