import GodwitStore

/// Which indexes of tables that stay are those that a new store would have, whatever their names.
struct StoreIndexes {
  typealias Kept = (old: String, index: StoreSchema.Index)

  /// The kept indexes by present name; a name may change.
  private(set) var kept: [Kept] = []
  private(set) var dropped: [String] = []
  private(set) var made: [StoreSchema.Index] = []

  /// - Parameters:
  ///   - file: The store before the change.
  ///   - names: New names of the tables that stay, and of their columns, by the present ones.
  init(of destination: StoreSchema, from file: StoreTables, names: [String: (table: String, columns: [String: String])])
  {
    let shapes = destination.indexes.map { Self.shape($0.sql, name: $0.name) }
    var taken: Set<Int> = []
    var left: [(name: String, shape: Shape?)] = []
    func take(_ name: String, _ shape: Shape?, where matches: (StoreSchema.Index) -> Bool) -> Bool {
      guard let shape,
        let place = shapes.indices.first(where: {
          !taken.contains($0) && shapes[$0] == shape && matches(destination.indexes[$0])
        })
      else { return false }
      taken.insert(place)
      kept.append((name, destination.indexes[place]))
      return true
    }
    for index in file.indexes {
      guard let new = names[index.table] else { continue }
      let shape = Self.renamed(index.sql, table: (index.table, new.table), columns: new.columns)
        .flatMap { Self.shape($0, name: index.name) }
      if !take(index.name, shape, where: { $0.name == index.name }) { left.append((index.name, shape)) }
    }
    for (name, shape) in left where !take(name, shape, where: { _ in true }) { dropped.append(name) }
    made = destination.indexes.indices.filter { !taken.contains($0) }.map { destination.indexes[$0] }
  }

  /// The definition of an index without its name.
  struct Shape: Hashable {
    var isUnique: Bool
    /// Table and columns without blanks and quotes.
    var text: String
  }

  /// nil for a statement that Core Data would not write.
  static func shape(_ sql: String, name: String) -> Shape? {
    let text = StoreTables.bare(sql)
    for (head, isUnique) in [("CREATEINDEX", false), ("CREATEUNIQUEINDEX", true)] {
      let start = head + StoreTables.bare(name) + "ON"
      if text.hasPrefix(start) { return Shape(isUnique: isUnique, text: String(text.dropFirst(start.count))) }
    }
    return nil
  }

  /// The statement as SQLite writes it when tables and columns have other names; nil when that cannot be said.
  ///
  /// A column may have the name of its table: the table is before the parenthesis, the columns are within.
  private static func renamed(
    _ sql: String, table: (old: String, new: String), columns: [String: String]
  ) -> String? {
    let columns = columns.filter { $0.key != $0.value }
    guard table.old != table.new || !columns.isEmpty else { return sql }
    // A word inside a text literal is not a name.
    guard !sql.contains("'"), let start = sql.firstIndex(of: "(") else { return nil }
    return replacing(words: [table.old: table.new], in: sql[..<start]) + replacing(words: columns, in: sql[start...])
  }

  private static func replacing(words: [String: String], in text: Substring) -> String {
    var result = ""
    var word = ""
    func flush() {
      result += words[word] ?? word
      word = ""
    }
    for character in text {
      if character.isLetter || character.isNumber || character == "_" {
        word.append(character)
      } else {
        flush()
        result.append(character)
      }
    }
    flush()
    return result
  }
}
