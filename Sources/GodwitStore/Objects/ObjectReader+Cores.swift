package import GodwitModel

extension ObjectReader {
  /// What one core has written of a range of keys.
  private struct Piece {
    var text = ""
    /// The keys that it left: those from the first object on that has an error, or text above the limit.
    var rest: ClosedRange<Int64>?
  }

  private struct PieceIsFull: Error {}

  private static let limitPieceBytes = 1 << 19
  private static let piecesAtOnce = 32
  private static let budget = ByteCount.mebibytes(64)

  /// Hands on what a writer makes of each object, in the order of keys, until `send` returns false.
  ///
  /// A large table is cut into ranges of keys, which all processors write. What cannot be written so is written in its
  /// turn: large values, and objects with an error. Memory holds 32 pieces of at most 512 KiB.
  ///
  /// - Parameters:
  ///   - entities: Entities of one inheritance tree.
  ///   - condition: See `forEachObject`.
  ///   - rowsPerPiece: The rows of a range, about.
  ///   - writer: Makes the writer of one core, which gives its text to the closure in pieces of any size.
  /// - Throws: `.dataWrong` when a value does not fit its attribute, when all objects before it are sent; the errors of
  ///   `send`.
  package func write(
    objectsOf entities: [String], where condition: FilterPredicate? = nil, rowsPerPiece: Int64 = 1000,
    with writer: @escaping (ObjectReader) -> (Object, (String) throws -> Void) throws -> Void,
    send: (String) throws -> Bool
  ) throws {
    let write = writer(self)
    var goesOn = true
    func writeHere(_ keys: ClosedRange<Int64>) throws {
      try forEachObject(of: entities, where: condition, keys: keys) { object in
        try write(object) { if goesOn { goesOn = try send($0) } }
        return goesOn
      }
    }
    guard var spans = try spans(of: entities, rowsPerPiece)?[...] else { return try writeHere(.min...(.max)) }
    let pool = ReaderPool(connection, budget: Self.budget)
    while goesOn, !spans.isEmpty {
      let part = Array(spans.prefix(Self.piecesAtOnce))
      spans = spans.dropFirst(part.count)
      let pieces = try pool.map(part, isWorthThreads: true) { [self] connection in
        let reader = connection === self.connection ? self : ObjectReader(self, connection)
        return (reader: reader, write: writer(reader))
      } _: { core, keys in
        core.reader.piece(of: entities, where: condition, keys: keys, core.write)
      }
      for piece in pieces where goesOn {
        if !piece.text.isEmpty { goesOn = try send(piece.text) }
        if goesOn, let rest = piece.rest { try writeHere(rest) }
      }
    }
  }

  /// The objects of a range of keys as text, as far as a core can write it.
  private func piece(
    of entities: [String], where condition: FilterPredicate?, keys: ClosedRange<Int64>,
    _ write: (Object, (String) throws -> Void) throws -> Void
  ) -> Piece {
    var piece = Piece()
    var (begin, next) = (piece.text.endIndex, keys.lowerBound)
    do {
      try forEachObject(of: entities, where: condition, keys: keys) { object in
        (begin, next) = (piece.text.endIndex, object.reference.key)
        try write(object) { text in
          piece.text += text
          guard piece.text.utf8.count <= Self.limitPieceBytes else { throw PieceIsFull() }
        }
        (begin, next) = (piece.text.endIndex, object.reference.key &+ 1)
        return true
      }
    } catch {
      piece.text.removeSubrange(begin...)
      piece.rest = next...keys.upperBound
    }
    return piece
  }

  /// The ranges of keys of a large table; nil for one that is not worth it.
  private func spans(of entities: [String], _ rowsPerPiece: Int64) throws -> KeySpans? {
    guard let first = entities.first, let table = schema.table(of: first) else { return nil }
    let name = "\(StoreConnection.sourceSchema).\(StoreSchema.identifier(table.name))"
    guard let keys = try connection.keys(of: name), ReaderPool.processors > 1,
      let other = try connection.anotherReader(cache: .init(bytes: 1 << 16))
    else { return nil }
    try other.close()
    let rows = try connection.integer("SELECT COUNT(*) FROM \(name)") ?? 0
    // Links without an index are copied for one connection.
    guard rows / rowsPerPiece > 1, try isIndexed(entities, in: table) else { return nil }
    return KeySpans(keys, rows: rows, rowsPerSpan: rowsPerPiece)
  }
}
