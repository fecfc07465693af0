/// Identifies the committed part of a spill file: its length and checksum.
///
/// The ledger stores the mark in the transaction that commits the chunk. Bytes behind the mark's
/// length belong to a chunk that was never committed.
package struct SpillMark: Sendable, Hashable, Codable {
  /// Committed bytes, from the start of the file.
  package var length: Int64
  /// FNV-1a (64 bit) over the record headers, in file order; each header holds its frame's checksum.
  package var checksum: UInt64

  package init(length: Int64, checksum: UInt64) {
    self.length = length
    self.checksum = checksum
  }

  /// The mark of a file without a record.
  package static let empty = SpillMark(length: 0, checksum: FNV1a.basis)
}

/// FNV-1a with 64 bits.
///
/// Each step is a bijection of the state, so a change of one byte always changes the result.
enum FNV1a {
  static let basis: UInt64 = 0xcbf2_9ce4_8422_2325

  static func hash(_ bytes: UnsafeRawBufferPointer, from state: UInt64 = basis) -> UInt64 {
    var hash = state
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return hash
  }
}
