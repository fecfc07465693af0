import Foundation
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

/// A folder with a small job that runs, for tests that break one thing in it.
///
/// | file | what it is |
/// |---|---|
/// | `job.yaml` | the manifest; `destination` is `out/library.sqlite` |
/// | `library.mapping.yaml` | authors are copied, books are mapped property by property |
/// | `Library.xcdatamodeld` | `Library`, and the current `Library 2`: a title is required, an ISBN unique |
/// | `library.sqlite` | 3 authors and 300 books; every text value contains `secret` |
struct BreakableJob: Sendable {
  static let secret = "Sesame"
  static let books: Int64 = 300

  static let manifest = """
    godwit: 1
    source: library.sqlite
    destination: out/library.sqlite
    models: Library.xcdatamodeld
    destination-model: Library 2
    mappings: library.mapping.yaml
    chunks:
      rows: 100
    memory: 32 MiB

    """

  static let mapping = """
    godwit-mapping: 1
    source-model: Library
    destination-model: Library 2
    entity-mappings:
      - name: AuthorToAuthor
        type: copy
        source: Author
        destination: Author
      - name: BookToBook
        source: Book
        destination: Book
        filter: pages >= 0 OR pages == nil
        attributes:
          title: $source.title
          pages: $source.pages
          isbn: $source.isbn
        relationships:
          author: { mapping: AuthorToAuthor, key-path: author }

    """

  private let folder: TemporaryFolder

  var path: String { folder.path }
  func file(_ name: String) -> String { folder.file(name) }

  /// A fresh copy of the job.
  init() throws {
    let template = try Self.template.get()
    folder = try TemporaryFolder("godwit-bad-input")
    for name in try FileManager.default.contentsOfDirectory(atPath: template.path) {
      try FileManager.default.copyItem(atPath: template.file(name), toPath: folder.file(name))
    }
  }

  private static let template = Result { try makeTemplate() }

  private static func makeTemplate() throws -> TemporaryFolder {
    let folder = try TemporaryFolder("godwit-bad-input-template")
    let models = try models()
    let bundle = folder.file("Library.xcdatamodeld")
    for model in models {
      let version = bundle + "/\(model.name).xcdatamodel"
      try FileManager.default.createDirectory(atPath: version, withIntermediateDirectories: true)
      try Data(model.xcodeContents.utf8).write(to: URL(filePath: version + "/contents"))
    }
    let marker = try PropertyListSerialization.data(
      fromPropertyList: ["_XCCurrentVersionName": "Library 2.xcdatamodel"], format: .xml, options: 0)
    try marker.write(to: URL(filePath: bundle + "/.xccurrentversion"))
    try Data(manifest.utf8).write(to: URL(filePath: folder.file("job.yaml")))
    try Data(mapping.utf8).write(to: URL(filePath: folder.file("library.mapping.yaml")))
    let store = try StoreBuilder(path: folder.file("library.sqlite"), model: models[0])
    for key in Int64(1)...3 {
      try store.insert(
        "Author", key: key, attributes: ["name": value("\(secret) author \(key)"), "born": .integer(1900)])
    }
    for key in 1...books {
      // Long titles, so that the table has leaf pages of its own.
      let title = "\(secret) book \(key) " + String(repeating: "x", count: 80)
      try store.insert(
        "Book", key: key,
        attributes: ["title": value(title), "pages": .integer(key), "isbn": value("\(secret)-\(key)")],
        relationships: ["author": [key % 3 + 1]])
    }
    try store.finish()
    return folder
  }

  private static func value(_ text: String) -> AttributeValue { AttributeValue(text) }

  private static func models() throws -> [ManagedObjectModel] {
    var title = AttributeDescription(name: "title", type: .string)
    let others = [
      AttributeDescription(name: "pages", type: .integer32), AttributeDescription(name: "isbn", type: .string),
    ]
    let author = EntityDescription(
      name: "Author",
      attributes: [
        AttributeDescription(name: "name", type: .string), AttributeDescription(name: "born", type: .integer16),
      ],
      relationships: [
        RelationshipDescription(name: "books", destinationEntityName: "Book", inverseName: "author", isToMany: true)
      ])
    var link = RelationshipDescription(name: "author", destinationEntityName: "Author", inverseName: "books")
    link.maxCount = 1
    let book = EntityDescription(name: "Book", attributes: [title] + others, relationships: [link])
    title.isOptional = false
    var newBook = EntityDescription(name: "Book", attributes: [title] + others, relationships: [link])
    newBook.uniquenessConstraints = [["isbn"]]
    // Only in the table of a hierarchy does the entity number of a row count.
    let editor = EntityDescription(name: "Editor", superentityName: "Author")
    let thing = EntityDescription(
      name: "Thing", isAbstract: true, attributes: [AttributeDescription(name: "label", type: .string)])
    return [
      try ManagedObjectModel(name: "Library", entities: [author, book, editor]),
      try ManagedObjectModel(name: "Library 2", entities: [author, newBook, editor, thing]),
    ]
  }

  // MARK: Breaking

  /// Replaces a text that must be there.
  func edit(_ name: String, _ old: String, _ new: String) throws {
    let text = try String(contentsOfFile: file(name), encoding: .utf8)
    try #require(text.contains(old), "'\(old)' is not in \(name): the case would break nothing")
    try write(name, text.replacing(old, with: new))
  }

  func append(_ name: String, _ text: String) throws {
    try write(name, try String(contentsOfFile: file(name), encoding: .utf8) + text)
  }

  func write(_ name: String, _ text: String) throws { try write(name, Data(text.utf8)) }

  func write(_ name: String, _ bytes: Data) throws { try bytes.write(to: URL(filePath: file(name))) }

  func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: file(name)) }

  func makeFolder(_ name: String) throws {
    try FileManager.default.createDirectory(atPath: file(name), withIntermediateDirectories: true)
  }

  func makePipe(_ name: String) throws { try #require(mkfifo(file(name), 0o644) == 0) }

  /// Cuts the file at the number of bytes that `length` makes of its size.
  func cut(_ name: String, _ length: (Int) -> Int) throws {
    let bytes = try Data(contentsOf: URL(filePath: file(name)))
    try write(name, bytes.prefix(length(bytes.count)))
  }

  /// Bytes that are the same every time and look like nothing.
  func writeNoise(_ name: String, count: Int = 8192) throws {
    var random = SeededGenerator(seed: 1)
    try write(name, Data((0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }))
  }

  /// Changes the source store.
  func sql(_ statement: String, _ arguments: [SQLValue] = [], store: String = "library.sqlite") throws {
    let connection = try StoreConnection(path: file(store), create: true)
    try connection.execute(statement, arguments)
    try connection.close()
  }

  /// Changes the source store as an app that is killed does: the change lies in the `-wal` only.
  func sqlInLog(_ statement: String) throws {
    let connection = try StoreConnection(path: file("library.sqlite"), create: true)
    _ = try connection.value("PRAGMA journal_mode = WAL")
    _ = try connection.value("PRAGMA wal_checkpoint(TRUNCATE)")
    try connection.execute(statement)
    var kept: [String: Data] = [:]
    for name in ["library.sqlite", "library.sqlite-wal"] {
      kept[name] = try Data(contentsOf: URL(filePath: file(name)))
    }
    try connection.close()
    for (name, bytes) in kept { try write(name, bytes) }
    try #require(kept["library.sqlite-wal"]?.isEmpty == false)
  }

  /// Overwrites the page that holds a text.
  func spoilPage(with text: String, of name: String = "library.sqlite") throws {
    var bytes = try Data(contentsOf: URL(filePath: file(name)))
    let place = try #require(bytes.range(of: Data(text.utf8))).lowerBound
    let start = place / 4096 * 4096
    bytes.replaceSubrange(start..<(start + 4096), with: Data(repeating: 0xA5, count: 4096))
    try write(name, bytes)
  }

  func setMode(_ name: String, _ mode: Int) throws {
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file(name))
  }

  // MARK: Content of the folder

  /// Every file, folder and link of the folder with its content, by relative path.
  func content() throws -> [String: Data] {
    var content: [String: Data] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: path) {
      let item = file(name)
      let type = try FileManager.default.attributesOfItem(atPath: item)[.type] as? FileAttributeType
      switch type {
      case .typeSymbolicLink: content[name] = Data(try FileManager.default.destinationOfSymbolicLink(atPath: item).utf8)
      // Unreadable where a case made it so and the tests do not run as root.
      case .typeRegular: content[name] = (try? Data(contentsOf: URL(filePath: item))) ?? Data([0])
      default: content[name] = Data()
      }
    }
    return content
  }
}
