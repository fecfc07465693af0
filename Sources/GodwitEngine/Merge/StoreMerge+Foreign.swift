import GodwitJob
import GodwitModel
import GodwitStore

/// Tables and columns of the parts that no model names. They are left out. The merged store has a place for each row
/// and value, so that they are counted as losses like those of any source.
extension StoreMerge {
  /// The table that stands for a table that no model names.
  static func standIn(for table: String, in schema: StoreSchema) -> String {
    let known = Set((schema.tables.map(\.name) + schema.joinTables.map(\.name)).map { $0.lowercased() })
    return known.contains(table.lowercased()) ? table + "_merged" : table
  }

  /// The column that stands for a column that no model names.
  static func standIn(for column: String, among columns: [String]) -> String {
    columns.contains { $0.lowercased() == column.lowercased() } ? column + "_merged" : column
  }

  /// Makes the tables and columns, before the first row.
  func addForeign(_ looks: [Look], to schema: StoreSchema, _ connection: StoreConnection) throws {
    var added: Set<String> = []
    for look in looks {
      for counted in look.foreign.counted {
        guard !counted.columns.isEmpty else {
          let name = quoted(Self.standIn(for: counted.name, in: schema))
          try connection.execute("CREATE TABLE IF NOT EXISTS main.\(name) (godwit_row)")
          continue
        }
        // Only the columns of objects: a column of links has no place of its own.
        guard let root = look.tables[counted.table],
          let table = schema.tables.first(where: { $0.rootEntityName == root })
        else { continue }
        for column in counted.columns {
          let name = Self.standIn(for: column, among: table.columns.map(\.name))
          guard added.insert("\(table.name).\(name.lowercased())").inserted else { continue }
          try connection.execute("ALTER TABLE main.\(quoted(table.name)) ADD COLUMN \(quoted(name))")
        }
      }
    }
  }
}
