import Foundation

/// The identities of a `unique-by` mapping that have a key, held in memory as far as there is room.
///
/// It knows the keys that were added. If it is not whole, an identity that it lacks may still have a key.
final class UniqueKeyMap {
  private struct Entry {
    var hash: UInt64
    var start: Int
    var count: Int
    var key: Int64
  }

  private let limitBytes: Int
  // Random for each map, so that an attacker cannot choose values that collide.
  private let seed = UInt64.random(in: .min ... .max)
  @exclusivity(unchecked) private var entries: [Entry] = []
  @exclusivity(unchecked) private var bytes: [UInt8] = []
  /// By hash, one more than the place among the entries; 0 for a free slot. The size is a power of two, and at most
  /// half of the slots are used.
  @exclusivity(unchecked) private var slots = [UInt32](repeating: 0, count: 1024)
  /// Places of the entries that `takeNew` will hand out.
  private var new: [Int] = []
  /// Whether it has every identity with a key.
  private(set) var isWhole: Bool

  /// - Parameters:
  ///   - limitBytes: The most memory it may use. While it grows, it uses half as much again for a moment.
  ///   - isWhole: Whether no identity has a key yet.
  init(limitBytes: Int, isWhole: Bool) {
    self.limitBytes = limitBytes
    self.isWhole = isWhole
  }

  var count: Int { entries.count }

  /// The key of an identity, if it was added.
  func key(of identity: UnsafeRawBufferPointer) -> Int64? {
    let hash = hash(of: identity)
    var slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
    while slots[slot] != 0 {
      let entry = entries[Int(slots[slot]) - 1]
      if entry.hash == hash, entry.count == identity.count, isEqual(entry, identity) { return entry.key }
      slot = (slot + 1) & (slots.count - 1)
    }
    return nil
  }

  private func isEqual(_ entry: Entry, _ identity: UnsafeRawBufferPointer) -> Bool {
    guard let start = identity.baseAddress, entry.count > 0 else { return true }
    return bytes.withUnsafeBytes { bytes in
      bytes.baseAddress.map { memcmp($0 + entry.start, start, entry.count) == 0 } ?? false
    }
  }

  /// Adds an identity that it lacks.
  ///
  /// - Parameter isNew: Whether `takeNew` is to hand it out.
  /// - Returns: false when it is full; then it is no longer whole.
  @discardableResult
  func add(_ identity: UnsafeRawBufferPointer, key: Int64, isNew: Bool) -> Bool {
    if entries.count * 2 >= slots.count { grow() }
    let each = MemoryLayout<Entry>.stride + MemoryLayout<Int>.stride
    let room = limitBytes - slots.count * 4 - entries.count * each - bytes.count
    guard entries.count * 2 < slots.count, room >= each + identity.count else {
      isWhole = false
      return false
    }
    let entry = Entry(hash: hash(of: identity), start: bytes.count, count: identity.count, key: key)
    bytes.append(contentsOf: identity)
    entries.append(entry)
    place(entries.count - 1)
    if isNew { new.append(entries.count - 1) }
    return true
  }

  /// Passes the identities added since the last call to `body`, in the order of their bytes.
  func takeNew(_ body: ([UInt8], Int64) throws -> Void) rethrows {
    bytes.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      new.sort {
        let (one, other) = (entries[$0], entries[$1])
        let order = memcmp(start + one.start, start + other.start, min(one.count, other.count))
        return order < 0 || order == 0 && one.count < other.count
      }
    }
    for place in new {
      let entry = entries[place]
      try body(Array(bytes[entry.start..<entry.start + entry.count]), entry.key)
    }
    new = []
  }

  private func place(_ index: Int) {
    var slot = Int(truncatingIfNeeded: entries[index].hash) & (slots.count - 1)
    while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
    slots[slot] = UInt32(index + 1)
  }

  private func grow() {
    let count = slots.count * 2
    guard count * 4 < limitBytes / 2, count < 1 << 31 else { return }
    slots = [UInt32](repeating: 0, count: count)
    for index in entries.indices { place(index) }
  }

  private func hash(of identity: UnsafeRawBufferPointer) -> UInt64 {
    func mixed(_ state: UInt64, _ word: UInt64) -> UInt64 {
      let (high, low) = (state ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
      return high ^ low
    }
    var state = seed &+ UInt64(identity.count)
    var position = 0
    while position + 8 <= identity.count {
      state = mixed(state, identity.loadUnaligned(fromByteOffset: position, as: UInt64.self))
      position += 8
    }
    var rest: UInt64 = 0
    while position < identity.count {
      rest = rest << 8 | UInt64(identity[position])
      position += 1
    }
    return mixed(mixed(state, rest), seed)
  }
}
