extension AssociationBlock {
  /// The content of a frame.
  ///
  /// The arrays are equally long, not empty, at most `pairsMax` long, and sorted by source.
  static func encode(sources: [Int64], destinations: [Int64]) -> [UInt8] {
    let pairs = min(sources.count, destinations.count, pairsMax)
    let groupCount = (pairs + groupPairs - 1) / groupPairs
    let capacity = 4 + groupCount * entryBytes + pairs * 20
    return [UInt8](unsafeUninitializedCapacity: capacity) { bytes, length in
      sources.withUnsafeBufferPointer { sources in
        destinations.withUnsafeBufferPointer { destinations in
          let raw = UnsafeMutableRawBufferPointer(bytes)
          raw.storeBytes(of: UInt32(groupCount).littleEndian, toByteOffset: 0, as: UInt32.self)
          var position = 4 + groupCount * entryBytes
          for index in 0..<groupCount {
            let start = index * groupPairs
            let end = min(start + groupPairs, pairs)
            let offset = position
            let isArithmetic = countsUp(sources, start, end) && countsUp(destinations, start, end)
            if !isArithmetic {
              for pair in (start + 1)..<max(end, start + 1) {
                put(UInt64(bitPattern: sources[pair] &- sources[pair - 1]), bytes, &position)
                let delta = destinations[pair] &- destinations[pair - 1]
                put(UInt64(bitPattern: (delta << 1) ^ (delta >> 63)), bytes, &position)
              }
            }
            let entry = 4 + index * entryBytes
            raw.storeBytes(of: sources[start].littleEndian, toByteOffset: entry, as: Int64.self)
            raw.storeBytes(of: sources[end - 1].littleEndian, toByteOffset: entry + 8, as: Int64.self)
            raw.storeBytes(of: destinations[start].littleEndian, toByteOffset: entry + 16, as: Int64.self)
            raw.storeBytes(of: UInt32(position - offset).littleEndian, toByteOffset: entry + 24, as: UInt32.self)
            raw.storeBytes(of: UInt16(end - start).littleEndian, toByteOffset: entry + 28, as: UInt16.self)
            raw.storeBytes(of: UInt16(isArithmetic ? 1 : 0).littleEndian, toByteOffset: entry + 30, as: UInt16.self)
          }
          length = position
        }
      }
    }
  }

  private static func countsUp(_ keys: UnsafeBufferPointer<Int64>, _ start: Int, _ end: Int) -> Bool {
    for index in (start + 1)..<max(end, start + 1) {
      let (next, overflow) = keys[index - 1].addingReportingOverflow(1)
      if overflow || keys[index] != next { return false }
    }
    return true
  }

  @inline(__always)
  private static func put(_ value: UInt64, _ bytes: UnsafeMutableBufferPointer<UInt8>, _ position: inout Int) {
    var rest = value
    while rest >= 0x80 {
      bytes[position] = UInt8(truncatingIfNeeded: rest) | 0x80
      position += 1
      rest >>= 7
    }
    bytes[position] = UInt8(truncatingIfNeeded: rest)
    position += 1
  }
}
