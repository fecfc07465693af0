import GodwitStore
import Testing

/// The tables, indexes and entities that a store's file defines, spelt alike whoever wrote it.
///
/// `Z_MODELCACHE` is left out: it is a cache, which Core Data fills when it opens a store without one.
struct StoreStructure: Hashable {
  /// A difference from Core Data's own store that does no harm. One that a test lists must be there.
  enum Difference: Sendable, Hashable {
    /// Framework versions before 851 named the indexes of attributes otherwise, made a uniqueness constraint part of
    /// its table, and indexed join tables one way only. Which columns are indexed is compared all the same.
    case olderIndexes
    /// An index that a former version of the model asked for, left by a migration in place.
    case surplusIndex(String)
    /// `Z_PRIMARYKEY` keeps a name after a migration in place.
    case formerName(String, of: String)
    /// The same tables in another order, which means nothing to Core Data.
    case tableOrder
  }

  var tables: [String] = []
  var indexes: Set<String> = []
  var triggers: Set<String> = []
  /// Number, name and super of every entity.
  var entities: [String] = []

  init(_ path: String) throws {
    let connection = try StoreConnection.openStore(readingAt: path)
    defer { try? connection.close() }
    let statements = try connection.rows(
      "SELECT type, sql FROM source.sqlite_master WHERE sql NOT NULL AND name <> 'Z_MODELCACHE' ORDER BY rowid")
    for row in statements {
      let sql = Self.normalised(row[1].plain)
      switch row[0].plain {
      case "table": tables.append(sql)
      case "index": indexes.insert(sql)
      default: triggers.insert(sql)
      }
    }
    entities = try connection.rows(
      "SELECT Z_ENT, Z_NAME, Z_SUPER FROM source.Z_PRIMARYKEY WHERE Z_ENT < 16000 ORDER BY 1"
    ).map { $0.map(\.plain).joined(separator: " ") }
  }

  private static func normalised(_ sql: String) -> String {
    sql.replacing("\"", with: "").replacing(#/\s+/#, with: " ").replacing("( ", with: "(").replacing(" )", with: ")")
      .replacing(" ,", with: ",")
  }

  /// Compares with the store of this version that Core Data wrote.
  func expectEqual(to apple: StoreStructure, but differences: [Difference], _ comment: Comment) {
    var (made, apple) = (self, apple)
    for difference in differences {
      let before = apple
      switch difference {
      case .olderIndexes:
        made.spellIndexesByColumns()
        apple.spellIndexesByColumns()
        let oneWay = made.indexes.filter { $0.contains(#/ON Z_\d/#) }
        #expect(oneWay.isDisjoint(with: apple.indexes), comment)
        made.indexes.subtract(oneWay)
      case .surplusIndex(let name):
        apple.indexes = apple.indexes.filter { !$0.contains(" INDEX \(name) ON ") }
      case .formerName(let former, let name):
        apple.entities = apple.entities.map { $0.replacing(" \(former) ", with: " \(name) ") }
      case .tableOrder:
        #expect(made.tables != apple.tables, comment)
        made.tables.sort()
        apple.tables.sort()
      }
      #expect(before != apple, "\(difference) is no difference of \(comment)")
    }
    #expect(made.tables == apple.tables, comment)
    #expect(made.indexes == apple.indexes, comment)
    #expect(made.triggers == apple.triggers, comment)
    #expect(made.entities == apple.entities, comment)
  }

  /// Indexes without their names and collations, constraints of tables among them.
  private mutating func spellIndexesByColumns() {
    var spelt: Set<String> = []
    tables = tables.map { sql in
      guard let match = sql.firstMatch(of: #/^CREATE TABLE (\w+) .*(, CONSTRAINT \w+ UNIQUE (\([^)]*\)))\)$/#) else {
        return sql
      }
      spelt.insert("UNIQUE ON \(match.1) \(match.3)")
      return sql.replacing(match.2, with: "")
    }
    for sql in indexes {
      let plain = sql.replacing(" COLLATE BINARY ASC", with: "")
      spelt.insert(plain.replacing(#/^CREATE (UNIQUE |)INDEX \w+ ON/#) { "\($0.1.isEmpty ? "INDEX" : "UNIQUE") ON" })
    }
    indexes = spelt
  }
}
