import Foundation
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport

/// Stores that contain their model, as Core Data writes them, for the pages about stores of others.
enum ExaminedStore {
  static let uuid = UUID(uuidString: "7C0A0B1E-0000-4000-8000-000000000001") ?? UUID()

  private static func relationship(
    _ name: String, to entity: String, inverse: String, isToMany: Bool, in archive: inout ArchiveFixture
  ) -> (String, PropertyListValue) {
    let fields: [String: PropertyListValue] = [
      "NSPropertyName": archive.string(name), "_NSDestinationEntityName": archive.string(entity),
      "_NSInverseRelationshipName": archive.string(inverse), "NSMaxCount": .integer(isToMany ? 0 : 1),
      "NSMinCount": .integer(0), "NSDeleteRule": .integer(1), "NSIsOptional": .boolean(true),
    ]
    return (name, archive.object("NSRelationshipDescription", fields))
  }

  private static func write(
    _ archive: [UInt8], to path: String, uuid: UUID = UUID(), fill: (StoreBuilder) throws -> Void
  ) throws {
    let model = try ManagedObjectModel(compiled: archive, name: "")
    let builder = try StoreBuilder(path: path, model: model, metadata: StoreMetadata(model: model, uuid: uuid))
    try fill(builder)
    try builder.finish()
    let store = try StoreConnection(path: path)
    try store.execute("CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)")
    try store.execute("INSERT INTO Z_MODELCACHE VALUES (?1)", [.blob(archive.deflated)])
    try store.close()
  }

  /// A store of `Person` with ages and friends.
  static func people(at path: String) throws {
    var archive = ArchiveFixture()
    let properties = [
      archive.attribute("age", .integer16), archive.attribute("name", .string),
      relationship("friends", to: "Person", inverse: "friendOf", isToMany: true, in: &archive),
      relationship("friendOf", to: "Person", inverse: "friends", isToMany: true, in: &archive),
    ]
    let person = archive.entity("Person", properties)
    try write(archive.model([person]), to: path) { store in
      try store.insert(
        "Person", attributes: ["age": .integer(40), "name": .init("Ann")], relationships: ["friends": [2]])
      try store.insert("Person", attributes: ["age": .integer(12), "name": .init("Bo")])
      try store.insert(
        "Person", attributes: ["age": .integer(30), "name": .init("Cy")], relationships: ["friends": [1]])
    }
  }

  private static let history = """
    CREATE TABLE ACHANGE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCHANGETYPE INTEGER, \
    ZENTITY INTEGER, ZENTITYPK INTEGER, ZTRANSACTIONID INTEGER, ZCOLUMNS BLOB );
    CREATE TABLE ATRANSACTION ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZAUTHORTS INTEGER, \
    ZTIMESTAMP FLOAT, ZAUTHOR VARCHAR );
    CREATE TABLE ATRANSACTIONSTRING ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR );
    INSERT INTO ATRANSACTIONSTRING VALUES (1, 16003, 1, 'app');
    INSERT INTO ATRANSACTION VALUES (1, 16002, 1, 1, 757425600, NULL), (2, 16002, 1, NULL, 757425660.5, NULL);
    INSERT INTO ACHANGE VALUES (1, 16001, 1, 0, 2, 1, 1, NULL), (2, 16001, 1, 1, 2, 1, 2, NULL), \
    (3, 16001, 1, 2, 2, 4, 2, NULL);
    INSERT INTO Z_PRIMARYKEY VALUES (16001, 'CHANGE', 0, 3), (16002, 'TRANSACTION', 0, 2), \
    (16003, 'TRANSACTIONSTRING', 0, 1);
    """

  /// A store of `Chat` and `Message` in a folder: with its model, a history, an external file, and a log that has the
  /// last message.
  static func chat(in folder: String) throws {
    var archive = ArchiveFixture()
    let chat = archive.entity(
      "Chat",
      [
        archive.attribute("title", .string),
        relationship("messages", to: "Message", inverse: "chat", isToMany: true, in: &archive),
      ])
    let message = archive.entity(
      "Message",
      [
        archive.attribute("photo", .binary, ["NSFlagsKey": .integer(4)]), archive.attribute("sentAt", .date),
        archive.attribute("text", .string),
        relationship("chat", to: "Chat", inverse: "messages", isToMany: false, in: &archive),
      ])
    let identifiers = archive.array([archive.string("Chats 3")], "NSSet")
    let scratch = try TemporaryFolder("godwit-chat")
    let path = scratch.file("chat.sqlite")
    try write(archive.model([chat, message], ["NSVersionIdentifiers": identifiers]), to: path, uuid: uuid) { store in
      for title in ["Family", "Work"] { try store.insert("Chat", attributes: ["title": .init(title)]) }
      for (key, text) in [(1, "Happy new year"), (2, "And to you"), (3, "Back on Monday")] as [(Int64, String)] {
        try store.insert(
          "Message", key: key,
          attributes: ["sentAt": .date(757_425_600 + Double(key - 1) * 3600), "text": .init(text)],
          relationships: ["chat": [key < 3 ? 1 : 2]])
      }
    }
    let file = "00000000-0000-4000-8000-00000000000A"
    let store = try StoreConnection(path: path)
    for statement in history.split(separator: "\n").map(String.init) { try store.execute(statement) }
    let name = [2] + Array(file.utf8) + [0]
    try store.execute("UPDATE ZMESSAGE SET ZPHOTO = ?1 WHERE Z_PK = 2", [.blob(name)])
    _ = try store.value("PRAGMA journal_mode = WAL")
    // The fourth message was deleted. The fifth is in the log alone.
    try store.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = 5 WHERE Z_NAME = 'Message'")
    _ = try store.value("PRAGMA wal_checkpoint(TRUNCATE)")
    try store.execute(
      "INSERT INTO ZMESSAGE (Z_PK, Z_ENT, Z_OPT, ZCHAT, ZSENTAT, ZTEXT) VALUES (5, 2, 1, 2, 757500000, 'In the log')")
    let manager = FileManager.default
    try manager.createDirectory(
      atPath: folder + "/.chat_SUPPORT/_EXTERNAL_DATA", withIntermediateDirectories: true)
    try Data("not a picture".utf8).write(to: URL(filePath: folder + "/.chat_SUPPORT/_EXTERNAL_DATA/" + file))
    for suffix in ["", "-wal"] { try manager.copyItem(atPath: path + suffix, toPath: folder + "/chat.sqlite" + suffix) }
    try store.close()
  }
}
