extension SpillReader {
  /// Hands on every pair in order of the source keys; equal keys in the order in which they were appended.
  ///
  /// Frames that overlap are merged. Memory: the cache, and one decoded group (4 KiB) for each frame that overlaps at
  /// the current key. That is as many as there are chunks over the same keys; where their frames do not fit into the
  /// cache, frames are decompressed again for each group.
  package func forEachPair(_ body: (_ source: Int64, _ destination: Int64) throws -> Void) throws {
    try merge(order, body)
  }

  /// Merges some frames, given in order of their first source key and then file order.
  func merge(_ order: [Int], _ body: (Int64, Int64) throws -> Void) throws {
    var pending = 0
    var heap = MergeHeap()
    while true {
      // A frame is opened when the smallest open key reaches it, not before.
      while pending < order.count {
        let frame = order[pending]
        if let top = heap.cursors.first, top.source < frames[frame].firstSource { break }
        heap.push(try MergeCursor(self, frame))
        pending += 1
      }
      guard let cursor = heap.cursors.first else { return }
      var limit = heap.secondKey
      if pending < order.count { limit = min(limit ?? .max, frames[order[pending]].firstSource) }
      repeat {
        try body(cursor.source, cursor.destination)
        try cursor.advance(self)
      } while !cursor.isAtEnd && limit.map { cursor.source < $0 } ?? true
      heap.restoreTop()
    }
  }
}

/// A place in one frame.
private final class MergeCursor {
  let frame: Int
  private var group = 0
  private var buffer = GroupBuffer()
  private var position = 0
  private(set) var isAtEnd = false
  private(set) var source: Int64 = 0
  private(set) var destination: Int64 = 0

  init(_ reader: SpillReader, _ frame: Int) throws(SpillError) {
    self.frame = frame
    try load(reader)
  }

  func advance(_ reader: SpillReader) throws(SpillError) {
    position += 1
    if position < buffer.count {
      source = buffer.sources[position]
      destination = buffer.destinations[position]
    } else {
      group += 1
      try load(reader)
    }
  }

  private func load(_ reader: SpillReader) throws(SpillError) {
    let block = try reader.block(frame)
    position = 0
    guard group < block.groups.count else {
      isAtEnd = true
      return
    }
    try reader.decode(block, group, of: frame, into: &buffer)
    source = buffer.sources[0]
    destination = buffer.destinations[0]
  }

  static func precedes(_ left: MergeCursor, _ right: MergeCursor) -> Bool {
    left.source != right.source ? left.source < right.source : left.frame < right.frame
  }
}

/// A binary heap of cursors, the smallest key first.
private struct MergeHeap {
  private(set) var cursors: [MergeCursor] = []

  /// The smallest key apart from the top's.
  var secondKey: Int64? {
    switch cursors.count {
    case 0, 1: nil
    case 2: cursors[1].source
    default: min(cursors[1].source, cursors[2].source)
    }
  }

  mutating func push(_ cursor: MergeCursor) {
    cursors.append(cursor)
    var child = cursors.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard MergeCursor.precedes(cursors[child], cursors[parent]) else { return }
      cursors.swapAt(child, parent)
      child = parent
    }
  }

  /// Puts the top where it belongs after it moved, or drops it at its end.
  mutating func restoreTop() {
    if cursors.first?.isAtEnd == true {
      cursors.swapAt(0, cursors.count - 1)
      cursors.removeLast()
    }
    var parent = 0
    while true {
      var smallest = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < cursors.count {
        if MergeCursor.precedes(cursors[child], cursors[smallest]) { smallest = child }
      }
      if smallest == parent { return }
      cursors.swapAt(parent, smallest)
      parent = smallest
    }
  }
}
