import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// A model with every type of attribute and every kind of relationship.
private func everything(_ name: String, transformer: String? = nil) throws -> ManagedObjectModel {
  let types: [(String, AttributeType)] = [
    ("mark", .string), ("i16", .integer16), ("i32", .integer32), ("i64", .integer64), ("wage", .decimal),
    ("size", .double), ("weight", .float), ("note", .string), ("isOn", .boolean), ("bornAt", .date), ("blob", .binary),
    ("key", .uuid), ("site", .uri), ("colour", .transformable),
  ]
  var attributes = types.map { AttributeDescription(name: $0.0, type: $0.1) }
  attributes[types.count - 1].valueTransformerName = transformer
  var outside = AttributeDescription(name: "photo", type: .binary)
  outside.allowsExternalBinaryDataStorage = true
  attributes.append(outside)
  return try ManagedObjectModel(
    name: name,
    entities: [
      EntityDescription(
        name: "Thing", isAbstract: true, attributes: attributes,
        relationships: [
          .toOne("box", "Box", inverse: "things"), .toMany("parts", "Thing", inverse: "whole", ordered: true),
          .toOne("whole", "Thing", inverse: "parts"), .toMany("likes", "Thing", inverse: "likedBy"),
          .toMany("likedBy", "Thing", inverse: "likes", ordered: true), .toOne("twin", "Thing", inverse: "twinOf"),
          .toOne("twinOf", "Thing", inverse: "twin"),
        ]),
      EntityDescription(name: "Tool", superentityName: "Thing", attributes: [.init(name: "isSharp", type: .boolean)]),
      EntityDescription(
        name: "Toy", superentityName: "Thing", relationships: [.toMany("fans", "Box", inverse: "toys")]),
      EntityDescription(
        name: "Box", attributes: [.init(name: "mark", type: .string)],
        relationships: [
          .toMany("things", "Thing", inverse: "box"), .toMany("toys", "Toy", inverse: "fans", ordered: true),
        ]),
    ])
}

private let strings = [
  "", " both ends ", "tab\t lf\n cr\r crlf\r\n end", "<&>\"' ]]> &amp; <!-- -->",
  "e\u{301} \u{E9} \u{1F600} \u{202E}\u{7F}\u{85}",
  String(repeating: "large ü ", count: 10_000),
  #"\ \\ \\\ \u3c00 \u \"#, "\u{FFFE}\u{FFFF}" + (0...31).map { String(UnicodeScalar($0)) }.joined(),
]
private let doubles = [0.1, -0.0, .leastNonzeroMagnitude, 1.7976931348623157e308, 1 / 3.0, -123456789.123456789, 1e-30]

/// An archive of an object with a class of its own, which leads to itself, and of numbers that change with the order.
private func colour(_ place: Int) -> [UInt8] {
  var made = ArchiveFixture()
  let root = made.reserve()
  let name = made.string("red \(place)")
  let space = made.object("NSColorSpace", ["NSID": .integer(Int64(place)), "NSModel": name])
  // An argument that changes the fixture would not be in the archive.
  let top = made.object(
    "NSColor", ["NSRGB": .data([0, 255, UInt8(place)]), "NSCustomColorSpace": space, "owner": root, "name": name],
    at: root)
  return made.archive(top)
}

/// - Parameter hasArchives: Whether transformable values are archives, as a binary store needs.
private func fill(_ store: StoreBuilder, hasArchives: Bool) throws {
  for key: Int64 in 1...4 { try store.insert("Box", key: key, attributes: ["mark": .init("box \(key)")]) }
  for key: Int64 in 1...14 {
    let place = Int(key)
    var attributes: [String: AttributeValue] = ["mark": .init("thing \(key)")]
    if key > 1 {
      attributes["i16"] = .integer(key.isMultiple(of: 2) ? -32768 : 32767)
      attributes["i32"] = .integer(key.isMultiple(of: 2) ? -2_147_483_648 : 2_147_483_647)
      attributes["i64"] = .integer(key.isMultiple(of: 2) ? .min : .max)
      // Whole decimals beyond what floating point tells apart.
      let large = key == 6 ? Decimal(9_007_199_254_740_993 as Int64) : Decimal(Int64.max - key)
      attributes["wage"] = .decimal(key == 5 ? .nan : key == 6 || key == 7 ? large : Decimal(place) / 100 - 1)
      attributes["size"] = .double(doubles[place % doubles.count])
      // Doubles that no float equals, some with few digits.
      let weights = [Double(Float(0.1)), 123_456_789, 16_777_217.5, -9_007_199_254_740_991, 1e39, 0.5, 1.25e-46]
      attributes["weight"] = .double(place.isMultiple(of: 2) ? weights[place / 2 % 7] : doubles[place % doubles.count])
      attributes["note"] = .init(strings[place % strings.count])
      attributes["isOn"] = .boolean(place.isMultiple(of: 3))
      attributes["bornAt"] = .date([336_046_917.001641989, 0.1, -1e10, 1e-30][place % 4])
      attributes["blob"] = .data((0..<place * 40).map { UInt8($0 % 256) })
      attributes["photo"] = .data([1, 2, UInt8(place)])
      attributes["key"] = .uuid(UUID())
      attributes["site"] = .uri(Text("https://example.org/\u{E9}?a=1&b=<\(place)>"))
      attributes["colour"] = .data(hasArchives ? colour(place) : [0, 255, UInt8(place)])
    }
    var links: [String: [Int64]] = ["likes": [key % 14 + 1, key]]
    if key > 4 { links["whole"] = [key % 4 + 1] }
    if key > 2 { links["box"] = [key % 4 + 1] }
    if key == 1 { links["parts"] = [12, 8] }
    if key < 3 { (links["twin"], links["twinOf"]) = ([3 - key], [3 - key]) }
    if !key.isMultiple(of: 2) { links["fans"] = [3, 1] }
    try store.insert(key.isMultiple(of: 2) ? "Tool" : "Toy", key: key, attributes: attributes, relationships: links)
  }
}

/// The content of a store, by the marks of its objects: keys may differ.
private func content(_ path: String, _ model: ManagedObjectModel) throws -> [String: [String]] {
  let reader = try ObjectReader(path: path, model: model)
  var marks: [ObjectReader.Reference: String] = [:]
  func each(_ body: (ObjectReader.Object) throws -> Void) throws {
    for entities in [["Tool", "Toy"], ["Box"]] {
      try reader.forEachObject(of: entities) {
        try body($0)
        return true
      }
    }
  }
  try each { object in
    for case ("mark", .attribute(.string(let mark), _)) in object.properties { marks[object.reference] = mark.string }
  }
  var found: [String: [String]] = [:]
  try each { object in
    found[marks[object.reference] ?? ""] = object.properties.map { name, value in
      switch value {
      case .attribute(.data(let bytes), let attribute) where attribute.type == .transformable:
        "\(name) \((try? ArchivedGraph(archive: bytes).archive.binaryPropertyList) ?? bytes)"
      case .attribute(let value, _): "\(name) \(value)"
      case .missingFile, .large: "\(name) missing"
      case .toOne(let other): "\(name) \(other.flatMap { marks[$0] } ?? "nil")"
      case .toMany(let others):
        "\(name) "
          + (["parts", "likedBy", "toys"].contains(name)
          ? others.map { marks[$0] ?? "?" } : others.map { marks[$0] ?? "?" }.sorted()).joined(separator: ",")
      }
    }
  }
  return found
}

private func copies() throws -> [EntityMapping] {
  try ["Box", "Tool", "Toy"].map { try .make($0, $0, kind: .copy) }
}

private func job(
  _ source: String, to destination: String, _ type: StoreType, rows: Int = 5, second: ManagedObjectModel? = nil
) throws -> MigrationJob {
  var job = MigrationJob(
    name: "x", sourcePath: source, destinationPath: destination, sourceModel: try everything("1"),
    destinationModel: try second ?? everything("2"), mappingModels: [MappingModel(entityMappings: try copies())],
    chunkRows: rows)
  job.destinationType = type
  return job
}

private func migrate(_ job: MigrationJob) throws {
  #expect(try MigrationManager(job).run().outcome == .finished)
  let report = try Verifier(job: job).run()
  #expect(report.isClean, "\(report)")
  #expect(try !WorkFolder.exists(forDestination: job.destinationPath))
}

private let atomicTypes = [StoreType.xml, .binary]

@Suite struct AtomicMigrationTests {
  @Test(arguments: atomicTypes)
  func `a date and a decimal that only SQLite holds exactly are proved as the store has them`(type: StoreType) throws {
    let item = EntityDescription.make("Item", ["due": .date, "price": .decimal])
    let fixture = try MigrationFixture([item], to: [item])
    fixture.mappings = [try .make("Item", "Item", kind: .copy)]
    try fixture.build { for key in Int64(1)...2 { try $0.insert("Item", key: key) } }
    try fixture.alter("UPDATE ZITEM SET ZDUE = 9007199254740993, ZPRICE = 1e300 WHERE Z_PK = 1")
    try fixture.alter("UPDATE ZITEM SET ZDUE = 12345678901234567, ZPRICE = 5e-324 WHERE Z_PK = 2")
    var job = try fixture.job
    job.destinationType = type
    try migrate(job)
  }

  /// A store whose file takes several pieces, to be written as one.
  private func longJob(_ folder: TemporaryFolder, _ type: StoreType) throws -> MigrationJob {
    let builder = try StoreBuilder(path: folder.file("long.sqlite"), model: everything("1"))
    for key: Int64 in 1...4000 { try builder.insert("Box", key: key, attributes: ["mark": .init("box \(key)")]) }
    try builder.finish()
    return try job(folder.file("long.sqlite"), to: folder.file("long.atomic"), type, rows: 500)
  }

  @Test(arguments: atomicTypes, ["text", "zero", "key"])
  func `verify sees a text, a number or a key of a transformable that only looks like the source's`(
    type: StoreType, changed: String
  ) throws {
    func archive(_ isChanged: Bool) -> SQLValue {
      let look = isChanged ? "e\u{301}" : "\u{E9}"
      var made = ArchiveFixture()
      let top = made.object(
        "App.Colour",
        [
          "name": made.string(changed == "text" ? look : "red"),
          "red": .real(changed == "zero" && isChanged ? -0.0 : 0), changed == "key" ? look : "key": .integer(1),
        ])
      return .blob(made.archive(top))
    }
    let folder = try TemporaryFolder()
    let builder = try StoreBuilder(path: folder.file("s.sqlite"), model: everything("1"))
    try builder.insert("Toy", key: 1, attributes: [:])
    try builder.finish()
    let store = try StoreConnection(path: folder.file("s.sqlite"))
    func set(_ isChanged: Bool) throws {
      try store.execute("UPDATE ZTHING SET ZCOLOUR = ?1", [archive(isChanged)])
    }
    try set(false)
    let job = try job(folder.file("s.sqlite"), to: folder.file("d.atomic"), type)
    try migrate(job)
    try set(true)
    let found = try Verifier(job: job).run().findings
    #expect(found.contains { $0.property == "colour" }, "\(found)")
    try store.close()
  }

  @Test(arguments: atomicTypes)
  func `writing an atomic store has a fixed share of the progress`(type: StoreType) throws {
    let folder = try TemporaryFolder()
    var shown: [MigrationProgress] = []
    let job = try longJob(folder, type)
    try MigrationManager(job).run { shown.append($0) }
    #expect(shown.map(\.percent) == shown.map(\.percent).sorted())
    let writing = shown.filter { $0.stage == "write" && $0.percent < 100 }
    #expect(writing.map(\.rows) == [0, 1024, 2048, 3072] && writing.allSatisfy { $0.totalRows == 4000 })
    #expect(writing.allSatisfy { $0.percent >= 60 && $0.name == "store" })
    #expect(shown.filter { $0.stage != "write" }.allSatisfy { $0.percent <= 60 })
    #expect(shown.last?.percent == 100 && shown.filter { $0.percent == 100 }.count == 1)
  }

  @Test(arguments: atomicTypes)
  func `a run stopped while it writes an atomic store continues from its last percent`(type: StoreType) throws {
    let folder = try TemporaryFolder()
    let job = try longJob(folder, type)
    let control = MigrationControl()
    var highest = 0.0
    let stopped = try MigrationManager(job).run(control: control) { progress in
      highest = progress.percent
      if progress.stage == "write", progress.rows >= 2048 { control.stop(reason: "SIGTERM") }
    }
    #expect(stopped.outcome == .stopped && stopped.reason == "SIGTERM" && highest > 75)
    let status = try MigrationManager(job).status()
    #expect(status.state == .unfinished && abs(status.percent - highest) < 1, "\(status)")
    var shown: [Double] = []
    let finished = try MigrationManager(job).run { shown.append($0.percent) }
    #expect(finished.outcome == .finished && shown.last == 100)
    #expect(shown == shown.sorted() && (shown.first ?? 0) > highest - 1, "\(shown)")
    #expect(!FileManager.default.fileExists(atPath: folder.file("long.atomic.godwit")))
  }

  private func sample(_ type: StoreType = .xml) throws -> (TemporaryFolder, String) {
    let folder = try TemporaryFolder()
    let path = folder.file("a.sqlite")
    let builder = try StoreBuilder(path: path, model: everything("1"))
    try fill(builder, hasArchives: type == .binary)
    try builder.finish()
    return (folder, path)
  }

  @Test(arguments: atomicTypes)
  func `a migration from SQLite to an atomic store to another one to SQLite keeps everything`(type: StoreType) throws {
    let (folder, path) = try sample(type)
    let model = try everything("1")
    let before = try content(path, model)
    #expect(before.count == 18)
    try migrate(job(path, to: folder.file("b.atomic"), type))
    let bytes = try Data(contentsOf: URL(filePath: folder.file("b.atomic")))
    try migrate(job(folder.file("b.atomic"), to: folder.file("c.atomic"), type))
    try migrate(job(folder.file("c.atomic"), to: folder.file("d.sqlite"), .sqlite))
    for name in ["b.atomic", "c.atomic", "d.sqlite"] {
      let after = try content(folder.file(name), model)
      #expect(after.count == before.count)
      for (mark, values) in before { #expect(after[mark] == values, "\(name) \(mark)") }
    }
    #expect(try Data(contentsOf: URL(filePath: folder.file("b.atomic"))) == bytes, "the source was altered")
    let metadata = try ["a.sqlite", "b.atomic", "c.atomic", "d.sqlite"].map {
      try StoreMetadata(readingStoreAt: folder.file($0))
    }
    #expect(Set(metadata.map(\.uuid)).count == 1)
    #expect(metadata.map { $0.values[MigrationManager.jobsKey]?.array?.count ?? 0 } == [0, 1, 2, 3])
    #expect(metadata[1].values["GodwitKeyOffsets"] != nil)
    #expect(metadata[3].values["GodwitKeyOffsets"] == nil)
    #expect(metadata[1].entityVersionHashes == model.versionHashes)
  }

  @Test(arguments: atomicTypes)
  func `an object is traced to the one of an atomic source`(type: StoreType) throws {
    let (folder, path) = try sample(type)
    try migrate(job(path, to: folder.file("b.atomic"), type))
    let last = try job(folder.file("b.atomic"), to: folder.file("c.sqlite"), .sqlite)
    try migrate(last)
    var boxes: [Int64] = []
    try ObjectReader(path: folder.file("c.sqlite"), model: everything("2")).forEachObject(of: ["Box"]) {
      boxes.append($0.reference.key)
      return true
    }
    let trace = try MigrationManager(last).trace("Box/p\(try #require(boxes.last))")
    #expect(trace.associations.map { $0.source.attributes["mark"] } == [trace.object.attributes["mark"]])
    #expect(trace.object.attributes["mark"] == .init("box \(boxes.count)"))
  }

  @Test(arguments: atomicTypes)
  func `an object of an atomic destination is traced by its number in the file`(type: StoreType) throws {
    let (folder, path) = try sample(type)
    let job = try job(path, to: folder.file("b.atomic"), type)
    try migrate(job)
    // Keys that two tables have in common are moved in the file.
    #expect(try StoreMetadata(readingStoreAt: job.destinationPath).values["GodwitKeyOffsets"] != nil)
    let reader = try ObjectReader(path: job.destinationPath, model: job.destinationModel)
    var marks: [String: AttributeValue] = [:]
    for entities in [["Tool", "Toy"], ["Box"]] {
      try reader.forEachObject(of: entities) { object in
        guard case .attribute(let mark, _)? = object.properties.first(where: { $0.name == "mark" })?.value else {
          return true
        }
        marks[reader.uri(of: object.reference)] = mark
        return true
      }
    }
    #expect(marks.count == 18)
    let manager = MigrationManager(job)
    // Every third object, among them some of each entity.
    for (uri, mark) in marks.sorted(by: { $0.key < $1.key }).enumerated().filter({ $0.offset % 3 == 0 }).map(\.element)
    {
      let trace = try manager.trace(uri, in: .destination)
      #expect(trace.object.uri == uri && uri.hasSuffix("/p\(trace.object.key)"))
      #expect(trace.object.attributes["mark"] == mark && trace.remarks.isEmpty, "\(uri): \(trace.remarks)")
      let links = trace.object.relationships.values.joined()
      #expect(!links.isEmpty && links.allSatisfy { marks[$0] != nil }, "\(uri): \(links.joined(separator: " "))")
      #expect(trace.associations.map { $0.source.attributes["mark"] } == [mark], "\(uri)")
      let source = try #require(trace.associations.first?.source)
      let forth = try manager.trace("\(source.entityName)/p\(source.key)", in: .source)
      #expect(forth.associations.map(\.destinationURI) == [uri])
      #expect(forth.associations.map { $0.destination?.attributes["mark"] } == [mark])
    }
    #expect(throws: GodwitError.self) { try manager.trace("Box/p1000", in: .destination) }
  }

  @Test func `an application's own value transformer is named where a binary store meets another`() throws {
    let (folder, path) = try sample(.binary)
    func notes(_ type: StoreType, transformer: String?) throws -> [MigrationNote] {
      let job = try job(path, to: folder.file("b.atomic"), type, second: everything("2", transformer: transformer))
      return try MigrationManager(job).plan().codedNotes.filter { $0.code == .transformerAssumed }
    }
    #expect(try notes(.binary, transformer: "NSSecureUnarchiveFromData").isEmpty)
    #expect(try notes(.sqlite, transformer: "ColourTransformer").isEmpty)
    let found = try notes(.binary, transformer: "ColourTransformer")
    #expect(found.count == 1 && found.first?.text.contains("'Thing.colour'") == true)
  }

  @Test func `an XML destination is what Foundation reads too, its bytes do not depend on chunks`() throws {
    let (folder, path) = try sample()
    try migrate(job(path, to: folder.file("b.xml"), .xml))
    try migrate(job(path, to: folder.file("c.xml"), .xml, rows: 1))
    #expect(
      try Data(contentsOf: URL(filePath: folder.file("b.xml"))) == Data(contentsOf: URL(filePath: folder.file("c.xml")))
    )
    let found = try XMLStoreContent(path: folder.file("b.xml"))
    #expect(found.objects.count == 18)
    #expect(found.info["version"] == "134481920")
    let numbers = found.objects.compactMap { Int($0.id.dropFirst()) }
    #expect(Set(numbers).count == 18)
    #expect(numbers.max() ?? .max <= Int(found.info["nextObjectID"] ?? "") ?? 0)
    let thing = try #require(found.objects.first { $0.attributes["mark"] == "thing 3" })
    #expect(thing.type == "TOY")
    #expect(thing.attributes["note"] == strings[3])
    #expect(thing.attributes["site"] == "https://example.org/\u{E9}?a=1&b=<3>")
    #expect(thing.types["ison"] == "bool" && thing.attributes["ison"] == "1")
    #expect(thing.attributes["i64"] == "9223372036854775807")
    let one = try #require(found.objects.first { $0.attributes["mark"] == "thing 1" })
    #expect(Set(one.attributes.keys) == ["mark"], "nil is left out")
    let byID = found.byID
    #expect(
      try #require(one.relationships["parts"]).prefix(2).map { byID[$0]?.attributes["mark"] } == [
        "thing 12", "thing 8",
      ])
    #expect(one.relationships["whole"] == [])
  }

  @Test(arguments: atomicTypes)
  func `a finished atomic destination is recognised, and a changed source makes another job`(type: StoreType) throws {
    let (folder, path) = try sample(type)
    let first = try job(path, to: folder.file("b.atomic"), type)
    try migrate(first)
    #expect(try MigrationManager(first).run().outcome == .alreadyFinished)
    #expect(try MigrationManager(first).isFinished())
    #expect(try MigrationManager(first).status().state == .finished)
    let other = try job(path, to: folder.file("b.atomic"), .sqlite)
    #expect(try #require(throws: GodwitError.self) { try MigrationManager(other).run() }.code == .cannotCreate)
    let second = try job(folder.file("b.atomic"), to: folder.file("c.sqlite"), .sqlite)
    try migrate(second)
    let handle = try #require(FileHandle(forWritingAtPath: folder.file("b.atomic")))
    try handle.seekToEnd()
    try handle.write(contentsOf: Data("\n".utf8))
    try handle.close()
    #expect(try #require(throws: GodwitError.self) { try MigrationManager(second).run() }.code == .cannotCreate)
  }

  @Test(arguments: atomicTypes)
  func `an atomic source that changes during the run stops it`(type: StoreType) throws {
    let (folder, path) = try sample(type)
    try migrate(job(path, to: folder.file("b.atomic"), type))
    let second = try job(folder.file("b.atomic"), to: folder.file("c.sqlite"), .sqlite)
    let error = try #require(throws: GodwitError.self) {
      try MigrationManager(second).run { progress in
        try? Data("<database/>".utf8).write(to: URL(filePath: folder.file("b.atomic")))
      }
    }
    #expect(error.code == .stopped)
    #expect(!FileManager.default.fileExists(atPath: folder.file("c.sqlite")))
  }

  @Test(arguments: atomicTypes)
  func `a stopped run from an atomic store resumes with the converted store`(type: StoreType) throws {
    let (folder, path) = try sample(type)
    try migrate(job(path, to: folder.file("b.atomic"), type))
    let second = try job(folder.file("b.atomic"), to: folder.file("c.atomic"), type, rows: 4)
    try migrate(job(folder.file("b.atomic"), to: folder.file("whole.atomic"), type))
    var runs = 0
    while try MigrationManager(second).run(maximumSeconds: 0).outcome == .stopped {
      runs += 1
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.file("c.atomic.godwit"))
      #expect(names.count { $0.hasPrefix("source-") && $0 != "source-partial.sqlite" } == 1)
      // What a run that died meanwhile may leave.
      for name in ["source-partial.sqlite", "store.\(type.manifestName)"] {
        try Data("half".utf8).write(to: URL(filePath: folder.file("c.atomic.godwit/\(name)")))
      }
      try #require(runs < 500)
    }
    #expect(runs > 10)
    #expect(
      try Data(contentsOf: URL(filePath: folder.file("c.atomic")))
        == Data(contentsOf: URL(filePath: folder.file("whole.atomic"))))
    #expect(try Verifier(job: second).run().isClean)
  }

  @Test func `a text that is not UTF-8 is refused with its object`() throws {
    let folder = try TemporaryFolder()
    let builder = try StoreBuilder(path: folder.file("a.sqlite"), model: everything("1"))
    try builder.insert("Tool", key: 3, attributes: ["mark": .string(Text(utf8: [0x61, 0xFF]))])
    try builder.finish()
    let job = try job(folder.file("a.sqlite"), to: folder.file("b.xml"), .xml)
    let error = try #require(throws: GodwitError.self) { try MigrationManager(job).run() }
    #expect(error.code == .dataWrong)
    #expect(error.message.contains("XML cannot hold"))
    #expect(error.context == "attribute 'mark' of Tool p3")
    #expect(!FileManager.default.fileExists(atPath: folder.file("b.xml")))
  }

  @Test(arguments: [
    (
      "<attribute name=\"mark\" type=\"string\">thing 4</attribute>",
      "<attribute name=\"mark\" type=\"string\">thing 44</attribute>"
    ),
    (" idrefs=\"", " x=\""), ("type=\"TOY\"", "type=\"TOOL\""), ("GodwitJobs", "OtherJobs"),
    (">-32768<", ">-32767<"), ("\\u3c00", "\\u3e00"),
  ]) func `the verifier sees a change of an XML destination`(text: String, change: String) throws {
    let (folder, path) = try sample()
    let first = try job(path, to: folder.file("b.xml"), .xml)
    try migrate(first)
    let made = try String(contentsOf: URL(filePath: folder.file("b.xml")), encoding: .utf8)
    let place = try #require(made.range(of: text))
    try made.replacingCharacters(in: place, with: change).write(
      to: URL(filePath: folder.file("b.xml")), atomically: true, encoding: .utf8)
    do {
      let report = try Verifier(job: first).run()
      #expect(!report.isClean, "\(text)")
    } catch let error as GodwitError {
      #expect(error.code == .dataWrong)
    }
  }

  /// A text of an object, a value of an archive inside, an entity, and the application's metadata.
  @Test(arguments: [("thing 4", "thing 5"), ("red 4", "red 5"), ("Toy", "Tob"), ("GodwitJobs", "OtherrJobs")])
  func `the verifier sees a change of a binary destination`(text: String, change: String) throws {
    let (folder, path) = try sample(.binary)
    let first = try job(path, to: folder.file("b.binary"), .binary)
    try migrate(first)
    var made = try Data(contentsOf: URL(filePath: folder.file("b.binary")))
    let place = try #require(made.range(of: Data(text.utf8)))
    made.replaceSubrange(place, with: Data(change.utf8))
    try made.write(to: URL(filePath: folder.file("b.binary")))
    do {
      let report = try Verifier(job: first).run()
      #expect(!report.isClean, "\(text)")
    } catch let error as GodwitError {
      #expect(error.code == .dataWrong && text == "Toy", "\(error)")
    }
  }

  @Test(arguments: atomicTypes)
  func `reading verbs leave nothing beside an atomic store`(type: StoreType) throws {
    let (folder, path) = try sample(type)
    try migrate(job(path, to: folder.file("b.atomic"), type))
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    let second = try job(folder.file("b.atomic"), to: folder.file("c.sqlite"), .sqlite)
    #expect(try MigrationManager(second).plan().totalRows > 0)
    #expect(try StoreSummary(readingStoreAt: folder.file("b.atomic")).entities.compactMap(\.rows).reduce(0, +) == 18)
    let changes = try ModelChange.changes(
      from: everything("1"), to: ManagedObjectModel(name: "3", entities: []), countingInStoreAt: folder.file("b.atomic")
    )
    #expect(!changes.isEmpty)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == names)
  }
}
