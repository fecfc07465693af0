import Foundation
import Godwit
import GodwitModel
import GodwitStore

/// Wide rows: a blob of 1 to 32 KiB in each, one attribute renamed and one computed.
enum Documents: Workload {
  static let name = "documents"
  static let ways: [Way] = [.sql, .godwit]

  static func source() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      name: "1",
      entities: [
        EntityDescription(
          name: "Document",
          attributes: [attribute("body", .binary), attribute("headline", .string), attribute("pages", .integer32)])
      ])
  }

  static func destination() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      name: "2",
      entities: [
        EntityDescription(
          name: "Document",
          attributes: [attribute("body", .binary), attribute("title", .string), attribute("sheets", .integer32)])
      ])
  }

  static func mappings() throws -> [EntityMapping] {
    [
      try mapping(
        "Document", "Document",
        attributes: ["body": "$source.body", "title": "$source.headline", "sheets": "$source.pages * 2"])
    ]
  }

  static func fill(_ connection: StoreConnection, rows: Int64) throws {
    try connection.execute(
      """
      \(numbers(rows)) INSERT INTO ZDOCUMENT (Z_PK, Z_ENT, Z_OPT, ZPAGES, ZHEADLINE, ZBODY) \
      SELECT i, 1, 1, i % 500, 'document ' || i, randomblob(1024 + (i * 7919) % 31744) FROM n
      """)
  }

  static func insert(_ connection: StoreConnection) throws {
    try connection.execute(
      """
      INSERT INTO ZDOCUMENT (Z_PK, Z_ENT, Z_OPT, ZSHEETS, ZTITLE, ZBODY) \
      SELECT Z_PK, 1, 1, ZPAGES * 2, ZHEADLINE, ZBODY FROM source.ZDOCUMENT ORDER BY Z_PK
      """)
  }

  static let checks = ["SELECT COUNT(*) FROM ZDOCUMENT WHERE typeof(ZSHEETS) <> 'integer'"]
}
