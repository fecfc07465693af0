#!/usr/bin/env bash
# Foundation on Linux gives other doubles for a third of all decimals with three digits than the parser of doubles.
#
# Guess: `NSDecimalNumber(string: "0.003").doubleValue` is the nearest Double, 0.003.
# Seen: Swift 6.3.1: of 0.000 to 9.999, 3,335 of 10,000 differ in the last bit. The other way, `Decimal(0.1)` is 0.1,
# but 2,544 of 10,000 such doubles become a decimal with more digits, as the documentation of `Decimal` warns.
# A comparison of a migrated price with `==` fails for a store whose attribute changed from Decimal to Double. Text
# between the two keeps the value.
set -euo pipefail
version=6.3.1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
swift --version 2>/dev/null | grep -q "Swift version $version" || { echo "changed: not Swift $version"; exit 1; }
cat >doubles.swift <<'SWIFT'
import Foundation
let texts = (0..<10_000).map { "\($0 / 1000).\(String(1000 + $0 % 1000).dropFirst())" }
print("to double", texts.count { NSDecimalNumber(string: $0).doubleValue != Double($0)! })
print("to decimal", texts.count { Decimal(Double($0)!) != Decimal(string: $0)! })
print("through text", texts.count { Double("\(Decimal(string: $0)!)")! != Double($0)! })
SWIFT
swiftc doubles.swift -o doubles
./doubles | tee seen
diff seen - <<'SEEN' || { echo 'changed'; exit 1; }
to double 3335
to decimal 2544
through text 0
SEEN
