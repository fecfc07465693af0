package import GodwitModel

extension ObjectReader {
  /// The text that one core has written of a range of keys.
  private struct Piece {
    var text = ""
    /// The keys that it left: those from the first object on that has an error, or text above the limit.
    var rest: ClosedRange<Int64>?
    /// The error behind the last object of the range.
    var error: (any Error)?
  }

  private struct PieceIsFull: Error {}

  private static let limitPieceBytes = 1 << 19
  private static let piecesAtOnce = 32
  private static let budget = ByteCount.mebibytes(64)

  /// Hands on what a writer makes of each object, in the order of keys, until `send` returns false.
  ///
  /// A large table is cut into ranges of keys, which all processors write. The calling thread writes the rest in its
  /// turn: objects with large values, and those behind an error. Memory holds 32 pieces of at most 512 KiB.
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
        if goesOn, let error = piece.error { throw error }
      }
    }
  }

  /// The objects of a range of keys as text, as far as a core can write it.
  private func piece(
    of entities: [String], where condition: FilterPredicate?, keys: ClosedRange<Int64>,
    _ write: (Object, (String) throws -> Void) throws -> Void
  ) -> Piece {
    var piece = Piece()
    var next: Int64? = keys.lowerBound
    do {
      try forEachObject(of: entities, where: condition, keys: keys) { object in
        let key = object.reference.key
        next = key
        var record = ""
        try write(object) { text in
          record += text
          guard piece.text.utf8.count + record.utf8.count <= Self.limitPieceBytes else { throw PieceIsFull() }
        }
        piece.text += record
        next = key < keys.upperBound ? key + 1 : nil
        return true
      }
    } catch {
      if let next { piece.rest = next...keys.upperBound } else { piece.error = error }
    }
    return piece
  }

  /// The ranges of keys of a large table; nil for one that is not worth it, or that cannot be counted: the objects before
  /// the damage are written all the same.
  private func spans(of entities: [String], _ rowsPerPiece: Int64) throws -> KeySpans? {
    guard ReaderPool.processors > 1, let first = entities.first, let table = schema.table(of: first),
      let other = try connection.anotherReader(cache: .init(bytes: 1 << 16))
    else { return nil }
    try other.close()
    let name = "\(StoreConnection.sourceSchema).\(StoreSchema.identifier(table.name))"
    guard let keys = try? connection.keys(of: name), let rows = try? connection.integer("SELECT COUNT(*) FROM \(name)"),
      rows / rowsPerPiece > 1,
      // Links without an index are copied, for one connection.
      try isIndexed(entities, in: table)
    else { return nil }
    return KeySpans(keys, rows: rows, rowsPerSpan: rowsPerPiece)
  }
}
