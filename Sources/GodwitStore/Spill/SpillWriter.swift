import SystemPackage

/// Writes pairs of keys to a spill file, chunk by chunk.
///
/// 1. `init` opens the file, proves the committed bytes, and cuts off what was never committed.
/// 2. `append` takes the pairs of a chunk in order of their source keys; whole frames are written as they fill.
/// 3. `flushChunk` writes the rest, syncs if the file is synced, and returns the mark that the ledger must commit with
///    the chunk.
/// 4. `close`, or after a failure: drop the writer and resume from the last committed mark.
///
/// Memory is bounded: one frame of 65,536 pairs, about 4 MB with its coded forms. For one thread at a time.
package final class SpillWriter {
  package let path: String
  /// The last mark that `flushChunk` returned, or the one resumed from.
  package private(set) var mark: SpillMark

  private let isSynced: Bool
  private let file: SpillFile
  private var written: SpillMark
  @exclusivity(unchecked) private var sources: [Int64] = []
  @exclusivity(unchecked) private var destinations: [Int64] = []
  @exclusivity(unchecked) private var lastSource = Int64.min
  @exclusivity(unchecked) private var failure: SpillError?

  /// Opens or creates the file, and cuts it back to a mark.
  ///
  /// Without a mark, or with an empty one, the file starts empty. The cost is one read of the committed bytes.
  /// - Parameter isSynced: Whether the bytes that `flushChunk` has written outlive a power cut.
  /// - Throws: `.missing` when the mark is not empty and the file is gone; `.damaged` when the committed bytes are
  ///   fewer than the mark says, or not the same.
  package init(path: String, resumingAt mark: SpillMark? = nil, isSynced: Bool = true) throws(SpillError) {
    let mark = mark ?? .empty
    guard mark.length >= 0 else {
      throw .damaged(path, at: 0, expected: "a mark with a length", found: "\(mark.length)")
    }
    let file = try SpillFile.openForWriting(path, creating: mark.length == 0, isSynced: isSynced)
    let length = try file.length()
    guard length >= mark.length else {
      throw .damaged(path, at: length, expected: "\(mark.length) committed bytes", found: "\(length)")
    }
    let found = try file.forEachRecord(to: mark.length) { record throws(SpillError) in
      var checksum = FNV1a.basis
      var offset = record.framePosition
      let end = offset + Int64(record.frameBytes)
      while offset < end {
        let bytes = try file.read(at: offset, count: Int(min(end - offset, 65536)))
        guard !bytes.isEmpty else { throw .damaged(path, at: offset, expected: "a frame", found: "the end") }
        checksum = bytes.withUnsafeBytes { FNV1a.hash($0, from: checksum) }
        offset += Int64(bytes.count)
      }
      guard checksum == record.frameChecksum else {
        throw .damaged(path, at: record.framePosition, expected: "the frame's checksum", found: "another")
      }
    }
    guard found == mark else {
      throw .damaged(path, at: 0, expected: "the checksum of the mark", found: "another")
    }
    if length != mark.length { try file.truncate(to: mark.length) }
    self.path = path
    self.isSynced = isSynced
    self.file = file
    self.mark = mark
    written = mark
  }

  /// Takes one pair; within a chunk, source keys must not decrease.
  ///
  /// - Throws: `.misuse` when the key is before the last one; `.io` when a full frame cannot be written.
  package func append(source: Int64, destination: Int64) throws(SpillError) {
    if let failure { throw failure }
    guard source >= lastSource else {
      throw fail(.misuse(path, "cannot append a pair: expected keys in order, found one before the last"))
    }
    lastSource = source
    sources.append(source)
    destinations.append(destination)
    if sources.count >= AssociationBlock.pairsMax { try writeFrame() }
  }

  /// Ends the chunk: writes the buffer as whole frames, and syncs them if the file is synced.
  ///
  /// An empty chunk adds no bytes. The next chunk may start with any key.
  package func flushChunk() throws(SpillError) -> SpillMark {
    if let failure { throw failure }
    if !sources.isEmpty { try writeFrame() }
    lastSource = .min
    if written != mark {
      do { if isSynced { try file.sync() } } catch { throw fail(error) }
      mark = written
    }
    return mark
  }

  /// Closes the file; pairs since the last flush are lost, as intended.
  package func close() throws(SpillError) { try file.close() }

  private func writeFrame() throws(SpillError) {
    let content = AssociationBlock.encode(sources: sources, destinations: destinations)
    guard let frame = LZ4Frame.compress(content), let first = sources.first, let last = sources.last else {
      throw fail(.io(path, "compress a frame of", Errno.noMemory))
    }
    let record = SpillRecord(
      position: written.length, pairCount: sources.count, firstSource: first, lastSource: last,
      contentBytes: content.count, frame: frame)
    let header = record.encoded()
    do { try file.write(header + frame, at: written.length) } catch { throw fail(error) }
    written.length += Int64(header.count + frame.count)
    written.checksum = header.withUnsafeBytes { FNV1a.hash($0, from: written.checksum) }
    sources.removeAll(keepingCapacity: true)
    destinations.removeAll(keepingCapacity: true)
  }

  /// After a failure the bytes behind the mark are unknown, so every later call fails in the same way.
  private func fail(_ error: SpillError) -> SpillError {
    failure = error
    return error
  }
}
