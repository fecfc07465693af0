import GodwitModel

extension StoreSchema {
  /// The most columns that a table of SQLite has, as SQLite is built everywhere.
  package static let columnsMaximum = 2000

  /// The highest `Z_ENT` of a model's entity. Core Data's own tables, such as the tables of persistent history, have
  /// higher numbers, and an entity of the model may have the name of one of them.
  package static let lastEntityNumber = 16_000

  /// The tables of persistent history.
  package static let historyTables = ["ACHANGE", "ATRANSACTION", "ATRANSACTIONSTRING"]

  /// - Throws: `.dataWrong` (65) naming the entity whose table would have more columns than SQLite allows.
  package func checkColumns() throws {
    for table in tables where table.columns.count > Self.columnsMaximum {
      throw GodwitError(
        .dataWrong,
        "cannot make a table for entity '\(table.rootEntityName)' of model '\(model.name)' and its subentities: expected at most \(Self.columnsMaximum) columns, found \(table.columns.count)",
        remedy: "move attributes to another entity; SQLite allows no more columns")
    }
  }
}
