/// Looks up pairs in a spill file, and streams them in order of their source keys.
///
/// Opening reads the record headers only: about 84 bytes of memory for each frame of 65,536 pairs. A frame is proved
/// and decompressed when it is first needed, and kept in a cache of bounded size. Pairs with the same source key keep
/// the order in which they were appended.
///
/// For one thread at a time. A lookup that stays in the current group of 256 pairs allocates nothing, so probes in
/// ascending order decode each group once.
package final class SpillReader {
  package let path: String
  /// The mark up to which the file was opened.
  package let mark: SpillMark
  /// All pairs in the file.
  package let pairCount: Int64
  /// The frames in the file.
  package var frameCount: Int { frames.count }

  let frames: [SpillRecord]
  /// Frame indices by first source key, then file order.
  let order: [Int]
  /// For each place in `order`, the greatest last source key up to there.
  private let reach: [Int64]

  private let file: SpillFile
  private let decompressor = LZ4Decompressor()
  private var cache: FrameCache
  @exclusivity(unchecked) private var hot = HotGroup()

  /// Opens a file up to its mark; without a mark, all of it.
  ///
  /// - Parameter cacheBytes: how many bytes of decompressed frames to keep; one frame is kept whatever the number.
  /// - Throws: `.missing`; `.damaged` when a header is not sound or the headers are not those of the mark.
  package init(path: String, mark: SpillMark? = nil, cacheBytes: Int = 8 << 20) throws(SpillError) {
    let file = try SpillFile.open(path)
    let length = try file.length()
    let end = mark?.length ?? length
    guard end >= 0, end <= length else {
      throw .damaged(path, at: length, expected: "\(end) committed bytes", found: "\(length)")
    }
    var frames: [SpillRecord] = []
    var pairs: Int64 = 0
    let found = try file.forEachRecord(to: end) { record throws(SpillError) in
      frames.append(record)
      pairs += Int64(record.pairCount)
    }
    if let mark, mark != found {
      throw .damaged(path, at: 0, expected: "the checksum of the mark", found: "another")
    }
    let order = frames.indices.sorted { (frames[$0].firstSource, $0) < (frames[$1].firstSource, $1) }
    var reach: [Int64] = []
    var last = Int64.min
    for index in order {
      last = max(last, frames[index].lastSource)
      reach.append(last)
    }
    self.path = path
    self.file = file
    self.mark = found
    self.frames = frames
    self.order = order
    self.reach = reach
    pairCount = pairs
    cache = FrameCache(frames: frames.count, bytesMax: cacheBytes)
  }

  /// The first destination key of a source key; nil without one.
  ///
  /// The cost grows with the number of frames whose keys reach over `source`.
  /// - Throws: `.damaged` or `.io` when a frame cannot be read.
  package func lookup(source: Int64) throws(SpillError) -> Int64? {
    if source >= hot.low && source <= hot.high { return hot.find(source) }
    return try lookupElsewhere(source)
  }

  /// All destination keys of a source key, in the order in which they were appended.
  package func destinations(of source: Int64) throws(SpillError) -> [Int64] {
    var result: [Int64] = []
    for frame in candidates(source).sorted() {
      let block = try block(frame)
      var group = block.firstGroup(reaching: source)
      var buffer = GroupBuffer()
      while group < block.groups.count, block.groups[group].firstSource <= source {
        try decode(block, group, of: frame, into: &buffer)
        var position = buffer.lowerBound(source)
        while position < buffer.count, buffer.sources[position] == source {
          result.append(buffer.destinations[position])
          position += 1
        }
        group += 1
      }
    }
    return result
  }

  /// Closes the file; lookups fail from then on, apart from cached frames.
  package func close() throws(SpillError) { try file.close() }

  // MARK: - Frames

  /// The frames that may hold a source key, in no order.
  private func candidates(_ source: Int64) -> [Int] {
    var result: [Int] = []
    var place = places(upTo: source) - 1
    while place >= 0, reach[place] >= source {
      if frames[order[place]].lastSource >= source { result.append(order[place]) }
      place -= 1
    }
    return result
  }

  /// How many places in `order` start at or before a source key.
  private func places(upTo source: Int64) -> Int {
    order.indices.firstPlace { frames[order[$0]].firstSource > source }
  }

  private func lookupElsewhere(_ source: Int64) throws(SpillError) -> Int64? {
    let end = places(upTo: source)
    var place = end - 1
    var best: Int?
    var bestDestination: Int64?
    while place >= 0, reach[place] >= source {
      let frame = order[place]
      if frames[frame].lastSource >= source, best.map({ frame < $0 }) ?? true {
        let block = try block(frame)
        let group = block.firstGroup(reaching: source)
        if group < block.groups.count, block.groups[group].firstSource <= source {
          try warm(block, group, of: frame, place: place)
          if let found = hot.find(source) {
            best = frame
            bestDestination = found
          }
        }
      }
      place -= 1
    }
    return bestDestination
  }

  /// Makes a group the current one, with the range of keys that it alone answers.
  private func warm(_ block: AssociationBlock, _ index: Int, of frame: Int, place: Int) throws(SpillError) {
    let group = block.groups[index]
    if hot.frame != frame || hot.group != index {
      hot.low = .max
      hot.high = .min
      hot.frame = -1
      if !group.isArithmetic { try decode(block, index, of: frame, into: &hot.buffer) }
      hot.frame = frame
      hot.group = index
      hot.position = 0
      hot.first = group.firstSource
      hot.last = group.lastSource
      hot.firstDestination = group.firstDestination
      hot.isArithmetic = group.isArithmetic
    }
    var low = group.firstSource
    var high = group.lastSource
    var isAlone = true
    // The first key may have earlier pairs in the group or frame before; then it is looked up the long way.
    let before = index > 0 ? block.groups[index - 1].lastSource : place > 0 ? reach[place - 1] : nil
    if let before, before >= low {
      let (next, overflow) = low.addingReportingOverflow(1)
      low = next
      isAlone = !overflow
    }
    // Another frame that reaches into these keys forbids the short way.
    if place > 0, reach[place - 1] >= low { isAlone = false }
    if place + 1 < order.count {
      let next = frames[order[place + 1]].firstSource
      if next <= high { high = next == .min ? .min : next - 1 }
    }
    hot.low = isAlone ? low : .max
    hot.high = isAlone ? high : .min
  }

  func decode(
    _ block: AssociationBlock, _ group: Int, of frame: Int, into buffer: inout GroupBuffer
  ) throws(SpillError) {
    guard block.decode(group, into: &buffer) else {
      throw .damaged(
        path, at: frames[frame].framePosition, expected: "a group as its directory says", found: "other bytes")
    }
  }

  /// The proved content of a frame.
  func block(_ frame: Int) throws(SpillError) -> AssociationBlock {
    if let block = cache.block(frame) { return block }
    let record = frames[frame]
    func damaged(_ expected: String, _ found: String) -> SpillError {
      .damaged(path, at: record.framePosition, expected: expected, found: found)
    }
    let bytes = try file.read(at: record.framePosition, count: record.frameBytes)
    guard bytes.count == record.frameBytes else { throw damaged("a whole frame", "the end of the file") }
    guard bytes.withUnsafeBytes({ FNV1a.hash($0) }) == record.frameChecksum else {
      throw damaged("the frame's checksum", "another")
    }
    let content = try decompressor.decompress(bytes, contentBytes: record.contentBytes) { damaged("an LZ4 frame", $0) }
    let block = try AssociationBlock(content: content, of: record, path: path)
    cache.insert(block, for: frame)
    return block
  }
}

/// The current group, and the keys that it answers without a look elsewhere.
private struct HotGroup {
  var low = Int64.max
  var high = Int64.min
  var frame = -1
  var group = -1
  var first: Int64 = 0
  var last: Int64 = 0
  var firstDestination: Int64 = 0
  var isArithmetic = false
  var buffer = GroupBuffer()
  /// The end of the last probe, from which an ascending probe continues.
  var position = 0

  mutating func find(_ source: Int64) -> Int64? {
    if isArithmetic {
      guard source >= first, source <= last else { return nil }
      return firstDestination &+ (source &- first)
    }
    // The next key or the one after is the usual answer; the key before must be smaller, or an earlier pair is first.
    var place = position
    if place >= buffer.count || place == 0 || buffer.sources[place - 1] >= source || buffer.sources[place] < source {
      place += 1
      if place >= buffer.count || buffer.sources[place - 1] >= source || buffer.sources[place] < source {
        place = buffer.lowerBound(source)
      }
    }
    position = place
    guard place < buffer.count, buffer.sources[place] == source else { return nil }
    return buffer.destinations[place]
  }
}

/// Decompressed frames, the least recently used of which go first.
private struct FrameCache {
  private struct Entry {
    var frame: Int
    var block: AssociationBlock
    var bytes: Int
    var lastUse: UInt64
  }

  private let bytesMax: Int
  private var bytes = 0
  private var tick: UInt64 = 0
  private var entries: [Entry] = []
  /// The entry of each frame, or -1.
  private var places: [Int32]

  init(frames: Int, bytesMax: Int) {
    self.bytesMax = bytesMax
    places = Array(repeating: -1, count: frames)
  }

  mutating func block(_ frame: Int) -> AssociationBlock? {
    let place = Int(places[frame])
    guard place >= 0 else { return nil }
    tick += 1
    entries[place].lastUse = tick
    return entries[place].block
  }

  mutating func insert(_ block: AssociationBlock, for frame: Int) {
    let size = block.content.count + block.groups.count * MemoryLayout<AssociationBlock.Group>.stride + 128
    while !entries.isEmpty, bytes + size > bytesMax { evict() }
    tick += 1
    places[frame] = Int32(truncatingIfNeeded: entries.count)
    entries.append(Entry(frame: frame, block: block, bytes: size, lastUse: tick))
    bytes += size
  }

  private mutating func evict() {
    var oldest = 0
    for index in entries.indices where entries[index].lastUse < entries[oldest].lastUse { oldest = index }
    bytes -= entries[oldest].bytes
    places[entries[oldest].frame] = -1
    entries.swapAt(oldest, entries.count - 1)
    entries.removeLast()
    if oldest < entries.count { places[entries[oldest].frame] = Int32(truncatingIfNeeded: oldest) }
  }
}
