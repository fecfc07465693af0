#!/usr/bin/env bash
# Foundation on Linux divides a decimal by a decimal of 39 digits, and the quotient keeps 8 digits.
#
# Guess: a quotient has 38 digits, whatever the divisor, as NSDecimalNumber's documentation promises.
# Seen: Swift 6.3.1: 0.123456789 / (1234.5678 * 1000000000 / 7) is 7.0000005e-13. Python's decimal with 38 digits says
# 7.0000005103000418446034312574813631134e-13. With a divisor of 14 digits the quotient has 33 of them.
# A policy that divides twice must not use `Decimal`, or must round between the divisions.
set -euo pipefail
version=6.3.1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
swift --version 2>/dev/null | grep -q "Swift version $version" || { echo "changed: not Swift $version"; exit 1; }
cat >quotient.swift <<'SWIFT'
import Foundation
let divisor = Decimal(string: "1234.5678")! * Decimal(1_000_000_000) / Decimal(7)
print(divisor)
print(Decimal(string: "0.123456789")! / divisor)
print(Decimal(string: "0.123456789")! / Decimal(string: "176366828571.43")!)
SWIFT
swiftc quotient.swift -o quotient
{
  ./quotient
  python3 -c "
from decimal import *
getcontext().prec = 38
divisor = Decimal('1234.5678') * 1000000000 / 7
print(Decimal('0.123456789') / divisor, Decimal('0.123456789') / Decimal('176366828571.43'))"
} | tee seen
diff seen - <<'SEEN' || { echo 'changed'; exit 1; }
176366828571.428571428571428571428571428
0.00000000000070000005
0.000000000000700000051029998514459464842688149
7.0000005103000418446034312574813631134E-13 7.0000005102999851445946484268814997876E-13
SEEN
