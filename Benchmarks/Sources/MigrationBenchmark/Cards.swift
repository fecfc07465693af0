import Foundation
import Godwit
import GodwitModel
import GodwitStore

/// Cards of which two have each email. The workloads differ in their mapping alone: compare their times of `godwit`.
protocol CardWorkload: Workload {
  /// The value of `name`.
  static var text: String { get }
  /// The value of `name` in the source, in SQL.
  static var given: String { get }
  /// Whether cards with one email become one, in which order, and whether a nil is filled.
  static var unique: (isUnique: Bool, order: [EntityMapping.SortDescriptor], fillsNil: Bool) { get }
}

extension CardWorkload {
  static var ways: [Way] { [.sql, .godwit] }
  static var text: String { "$source.name" }
  static var given: String { "'person number ' || i" }
  static var unique: (isUnique: Bool, order: [EntityMapping.SortDescriptor], fillsNil: Bool) { (false, [], false) }
  static var checks: [String] { ["SELECT COUNT(*) FROM ZCARD WHERE typeof(ZNAME) <> 'text'"] }

  static func source() throws -> ManagedObjectModel { try model("1", []) }
  static func destination() throws -> ManagedObjectModel { try model("2", [attribute("more", .string)]) }

  private static func model(_ name: String, _ more: [AttributeDescription]) throws -> ManagedObjectModel {
    let attributes = ["email", "name", "phone"].map { attribute($0, .string) } + [attribute("stamp", .integer64)]
    return try ManagedObjectModel(
      name: name, entities: [EntityDescription(name: "Card", attributes: attributes + more)])
  }

  static func mappings() throws -> [EntityMapping] {
    var card = try mapping(
      "Card", "Card", uniqueBy: unique.isUnique ? ["email"] : [],
      attributes: [
        "email": "$source.email", "name": text, "phone": "$source.phone", "stamp": "$source.stamp",
      ])
    (card.uniqueOrder, card.fillsNil) = (unique.order, unique.fillsNil)
    return [card]
  }

  static func fill(_ connection: StoreConnection, rows: Int64) throws {
    try connection.execute(
      """
      \(numbers(rows)) INSERT INTO ZCARD (Z_PK, Z_ENT, Z_OPT, ZEMAIL, ZNAME, ZPHONE, ZSTAMP) SELECT i, 1, 1, \
      'user' || ((i * 7919) % \(max(1, rows / 2))) || '@example.org', \(given), \
      CASE WHEN i % 3 THEN '+49 ' || i END, (i * 104729) % 1000003 FROM n
      """)
  }

  /// The floor: all cards as they are.
  static func insert(_ connection: StoreConnection) throws {
    try connection.execute(
      """
      INSERT INTO ZCARD (Z_PK, Z_ENT, Z_OPT, ZEMAIL, ZNAME, ZPHONE, ZSTAMP) \
      SELECT Z_PK, 1, 1, ZEMAIL, ZNAME, ZPHONE, ZSTAMP FROM source.ZCARD ORDER BY Z_PK
      """)
  }
}

enum UniqueCards: CardWorkload {
  static let name = "unique"
  static var unique: (isUnique: Bool, order: [EntityMapping.SortDescriptor], fillsNil: Bool) { (true, [], false) }
}

enum OrderedCards: CardWorkload {
  static let name = "unique-ordered"
  static var unique: (isUnique: Bool, order: [EntityMapping.SortDescriptor], fillsNil: Bool) {
    (true, [.init("stamp", ascending: false)], false)
  }
}

/// `uppercase:` in the object lane.
enum UppercaseCards: CardWorkload {
  static let name = "uppercase"
  static var text: String { "{uppercase:($source.name), ''}[FIRST]" }
}

enum MethodCards: CardWorkload {
  static let name = "methods"
  static var text: String {
    "FUNCTION($source.name, 'stringByReplacingOccurrencesOfString:withString:', 'number', 'no.')"
  }
}

enum DateCards: CardWorkload {
  static let name = "dates"
  static var text: String { "text:format:(CAST($source.stamp, 'NSDate'), 'yyyy-MM-dd')" }
}

/// Texts with a time, of which no two are alike.
enum DateTextCards: CardWorkload {
  static let name = "date-texts"
  static var given: String { "strftime('%Y-%m-%d %H:%M:%S', i * 4919, 'unixepoch')" }
  static var text: String {
    "TERNARY(date:format:($source.name, 'yyyy-MM-dd HH:mm:ss') == nil, '', $source.name)"
  }
}

enum UUIDCards: CardWorkload {
  static let name = "uuids"
  static var text: String { "newUUID().UUIDString" }
}
