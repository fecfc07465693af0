import GodwitModel
package import GodwitStore

extension StoreDump {
  /// The content of a store for a reader that asks for columns by name, as Core Data does. It leaves out the order of
  /// columns, counters of edits, entity numbers in tables of one entity, and the digests of jobs.
  package init(byColumnName path: String, schema: StoreSchema) throws {
    let connection = try StoreConnection.openStore(readingAt: path)
    defer { try? connection.close() }
    var lines: [String] = []
    let alone = Set(
      schema.tables.filter { schema.fillsTable($0.rootEntityName) }.map(\.name))
    for pragma in ["page_size", "auto_vacuum", "encoding", "user_version", "application_id"] {
      lines.append("\(pragma) \(Self.text(try connection.value("PRAGMA source.\(pragma)") ?? .null))")
    }
    for row in try connection.rows("SELECT type, name, tbl_name, sql FROM source.sqlite_master ORDER BY 1, 2") {
      guard row[0] == .text(Array("table".utf8)), case .text(let bytes) = row[3] else {
        lines.append(row.map(Self.text).joined(separator: " | "))
        continue
      }
      let sql = String(decoding: bytes, as: UTF8.self)
      guard !sql.contains("PRIMARY KEY ("), let open = sql.firstIndex(of: "("), let close = sql.lastIndex(of: ")")
      else {
        lines.append(sql)
        continue
      }
      let columns = sql[sql.index(after: open)..<close].split(separator: ",").map { $0.filter { $0 != " " } }.sorted()
      lines.append(sql[...open] + columns.joined(separator: ", ") + sql[close...])
    }
    for table in try connection.rows("SELECT name FROM source.sqlite_master WHERE type = 'table' ORDER BY 1") {
      guard case .text(let bytes) = table[0] else { continue }
      let name = String(decoding: bytes, as: UTF8.self)
      guard name != "Z_METADATA" else { continue }
      let columns = try connection.rows("SELECT name FROM pragma_table_info(?1, 'source') ORDER BY name", [table[0]])
        .map { Self.text($0[0]).filter { $0 != "'" } }
        .filter { $0 != "Z_OPT" && !($0 == "Z_ENT" && alone.contains(name)) }
      lines.append("table \(name) (\(columns.joined(separator: ", ")))")
      guard !columns.isEmpty else { continue }
      let list = columns.map(StoreSchema.identifier).joined(separator: ", ")
      lines += try connection.rows("SELECT \(list) FROM source.\(StoreSchema.identifier(name))")
        .map { "  " + $0.map(Self.text).joined(separator: " | ") }.sorted()
    }
    let metadata = try StoreMetadata(reading: connection, path: path)
    lines.append("uuid \(metadata.uuid)")
    for (key, value) in metadata.values.sorted(by: { $0.key < $1.key })
    where !["GodwitJobs", "GodwitMoments"].contains(key) {
      lines.append("metadata \(key) = \(Self.text(value))")
    }
    self.lines = lines
  }
}
